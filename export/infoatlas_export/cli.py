"""The command `export`, which writes a checkpoint as an ONNX file and prints a parity table."""

from argparse import ArgumentParser, Namespace
from pathlib import Path

from infoatlas_rt import __version__
from infoatlas_rt.cli.arguments import add_json
from infoatlas_rt.cli.console import check_target, table, write_json
from infoatlas_rt.errors import InputError

HELP = "trained checkpoint, written as one self-describing ONNX file"
DESCRIPTION = (
    "Write a trained checkpoint as a model file, and compare both. "
    "This needs torch and onnx: pip install 'infoatlas-rt[export]'."
)
EXAMPLES = ("export runs/tiny/best.pt --name tiny --out tiny.onnx",)
REQUIRES = ("torch", "onnx", "onnxscript")


def add_arguments(parser: ArgumentParser) -> None:
    """Add the arguments of this command."""
    parser.add_argument(
        "checkpoint",
        metavar="CHECKPOINT",
        help="best.pt of python -m infoatlas_train.pretrain; or a model (a name or an .onnx file), "
        "with --calibration or --precision",
    )
    parser.add_argument("--out", required=True, help="the .onnx file to write")
    parser.add_argument("--name", default="edge", help="name of the model, in its metadata")
    parser.add_argument(
        "--version", default=__version__, help="version of the model, in its metadata"
    )
    parser.add_argument(
        "--calibration",
        metavar="FILE",
        help="constants of the standard error, from python -m infoatlas_train.calibrate",
    )
    parser.add_argument(
        "--precision",
        choices=("fp32", "fp16"),
        default="fp32",
        help="fp16: products of the hypernetwork's layers in FP16, the rest in FP32; for GPUs",
    )
    add_json(parser, "parity figures")


def run(arguments: Namespace) -> None:
    from infoatlas_export import fp16
    from infoatlas_export.onnx import TOLERANCE, content, read_calibration, recalibrated
    from infoatlas_rt.models.model_file import OUTPUTS, available, load

    check_target(Path(arguments.out))
    calibration = read_calibration(arguments.calibration) if arguments.calibration else None
    labels = {"name": arguments.name, "version": arguments.version}
    half = arguments.precision == "fp16"
    rows: list[dict[str, float]] = []
    if Path(arguments.checkpoint).suffix == ".onnx" or arguments.checkpoint in available():
        if calibration is None and not half:
            raise InputError(
                "a model can only be exported with --calibration or --precision fp16: pass one"
            )
        made = load(arguments.checkpoint).bytes
        if calibration is not None:
            made = recalibrated(made, calibration)
    else:
        made, rows = content(arguments.checkpoint, **labels, calibration=calibration)
    what, tolerance = "ONNX Runtime against torch with the exact solve", TOLERANCE
    if half:
        made, rows = fp16.halved(made)
        what, tolerance = "FP16, emulated, against FP32", fp16.TOLERANCE
    Path(arguments.out).write_bytes(made)
    if not write_json(arguments.json, {"parity": rows, "tolerance": tolerance}) and rows:
        sizes = "slices", "samples", "coordinates"
        table(
            f"{what}: largest difference in nats (tolerance {tolerance} on mi)",
            (*sizes, *OUTPUTS),
            [
                (*(str(row[key]) for key in sizes), *(f"{row[key]:.1e}" for key in OUTPUTS))
                for row in rows
            ],
        )
    if arguments.json != "-":
        print(f"wrote {arguments.out}")
