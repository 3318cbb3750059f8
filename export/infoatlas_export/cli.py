"""infoatlas-rt export: checkpoint -> ONNX, with a parity table."""

from __future__ import annotations

import argparse
from collections.abc import Sequence

from infoatlas_export.critic import export_critic
from infoatlas_export.onnx import TOLERANCE, export, read_calibration, recalibrate
from infoatlas_rt import __version__
from infoatlas_rt.bundle import OUTPUTS
from infoatlas_rt.console import table, write_json
from infoatlas_rt.errors import InputError


def main(argv: Sequence[str] | None = None) -> None:
    """Run the command; errors are infoatlas_rt.errors'."""
    p = argparse.ArgumentParser(
        prog="infoatlas-rt export",
        description="Export a pretrained checkpoint to one self-describing ONNX file.",
    )
    p.add_argument(
        "checkpoint",
        help="best.pt, as python -m infoatlas_train.pretrain wrote it; "
        "or an .onnx file, to write again with --calibration",
    )
    p.add_argument("--out", required=True, help="the .onnx file to write")
    p.add_argument("--name", default="edge", help="name of the model, in its metadata")
    p.add_argument("--version", default=__version__, help="version of the model, in its metadata")
    p.add_argument(
        "--calibration",
        metavar="FILE",
        help="constants of the standard error, as python -m infoatlas_train.calibrate wrote them",
    )
    p.add_argument(
        "--critic",
        action="store_true",
        help="write the graph that returns a critic to keep, instead of the estimator's",
    )
    p.add_argument("--json", nargs="?", const="-", metavar="FILE", help="parity figures as JSON")
    arguments = p.parse_args(argv)
    calibration = read_calibration(arguments.calibration) if arguments.calibration else None
    if arguments.checkpoint.endswith(".onnx"):
        if calibration is None:
            raise InputError("an .onnx file is written again with --calibration: pass it")
        recalibrate(arguments.checkpoint, arguments.out, calibration)
        print(f"wrote {arguments.out}")
        return
    if arguments.critic:
        worst = export_critic(
            arguments.checkpoint, arguments.out, name=arguments.name, version=arguments.version
        )
        print(f"wrote {arguments.out}; largest difference to torch {worst:.1e} nats")
        return
    rows = export(
        arguments.checkpoint,
        arguments.out,
        name=arguments.name,
        version=arguments.version,
        calibration=calibration,
    )
    if not write_json(arguments.json, {"parity": rows, "tolerance": TOLERANCE}):
        sizes = "slices", "samples"
        table(
            f"ONNX Runtime against torch with the exact solve: largest difference in nats "
            f"(tolerance {TOLERANCE} on mi)",
            (*sizes, *OUTPUTS),
            [
                (*(str(row[key]) for key in sizes), *(f"{row[key]:.1e}" for key in OUTPUTS))
                for row in rows
            ],
        )
        print(f"wrote {arguments.out}")
