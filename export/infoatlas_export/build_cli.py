"""The command `build`, which makes an engine of TensorRT or TensorRT-RTX from a model file."""

import sys
from argparse import ArgumentParser, Namespace
from dataclasses import asdict

from infoatlas_rt.cli.arguments import add_json
from infoatlas_rt.cli.console import progress, write_json
from infoatlas_rt.errors import InputError
from infoatlas_rt.models.engine_file import memory_text

HELP = "engine of a model file, by TensorRT or TensorRT-RTX"
DESCRIPTION = (
    "Build an engine: with TensorRT on the machine that will run it, or with TensorRT-RTX on any "
    "machine, for GeForce and RTX boards. An engine that is there and fits is kept. "
    "TensorRT-RTX comes with: pip install 'infoatlas-rt[tensorrt-rtx]'."
)
EXAMPLES = (
    "build edge --profile control",
    "build edge --backend rtx --compute-capability 8.9 --profile control",
)
REQUIRES = ()  # no torch or onnx; `run` reports how to install TensorRT if it is missing
UNITS = {"": 1, "KiB": 2**10, "MiB": 2**20, "GiB": 2**30}
BACKENDS = {"tensorrt": "tensorrt", "rtx": "tensorrt-rtx"}
PRECISIONS = "fp32", "fp16"


def add_arguments(parser: ArgumentParser) -> None:
    """Add the arguments of this command."""
    parser.add_argument(
        "model", metavar="MODEL", help="shipped model or .onnx file (FP16 if the file is)"
    )
    parser.add_argument(
        "--backend",
        choices=BACKENDS,
        default="tensorrt",
        help="tensorrt: for this machine's GPU (Jetson, servers); rtx: TensorRT-RTX, for GeForce "
        "and RTX boards, built without one",
    )
    parser.add_argument(
        "--compute-capability",
        action="append",
        metavar="X.Y",
        help="with --backend rtx: of the GPU that will run the engine, as in 8.9; may be given "
        "several times (default: all that TensorRT-RTX builds for)",
    )
    parser.add_argument("--out", metavar="FILE", help="the .engine file (default: MODEL.engine)")
    parser.add_argument(
        "--precision",
        choices=PRECISIONS,
        help="fp16: make the FP16 graph of an FP32 file first; this lasts a minute and needs "
        "infoatlas-rt[export] (default: the file's own)",
    )
    parser.add_argument(
        "--profile",
        action="append",
        metavar="NAME",
        help="control or batch, or smallest:optimal:largest of both axes, as in "
        "slices=1:40:64,samples=32:100:512; may be given several times (default: control)",
    )
    parser.add_argument(
        "--workspace",
        metavar="SIZE",
        help="limit of the engine's working memory, as in 4GiB; the build fails if a profile needs "
        "more (default: no limit)",
    )
    parser.add_argument(
        "--timing-cache",
        metavar="FILE",
        help="with --backend tensorrt: times of kernels, kept between builds; read if it is there, "
        "and written",
    )
    add_json(parser, "the engine's description")


def run(arguments: Namespace) -> None:
    from infoatlas_export.tensorrt import build

    with progress("build") as advance:
        built = build(
            arguments.model,
            arguments.out,
            library=BACKENDS[arguments.backend],
            compute_capabilities=arguments.compute_capability or (),
            profiles=arguments.profile or ["control"],
            workspace=None if arguments.workspace is None else as_bytes(arguments.workspace),
            timing_cache=arguments.timing_cache,
            precision=arguments.precision,
            progress=advance,
        )
    engine, size = built.engine, built.path.stat().st_size
    values = {"path": str(built.path), "bytes": size, "seconds": round(built.seconds, 2)}
    values |= {"built": bool(built.reason), "reason": built.reason, "layers": built.layers}
    if write_json(arguments.json, {**values, "engine": asdict(engine)}):
        return
    if not built.reason:
        print(f"{built.path} fits already: nothing to do")
        return
    print(f"built because {built.reason}", file=sys.stderr)
    where = engine.gpu or f"compute capability {', '.join(engine.compute_capabilities)}"
    print(f"wrote {built.path} and {built.path}.json: {engine.model}, {engine.precision}, {where}")
    print(
        f"  {built.layers} layers in {built.seconds:.1f} s, {size / 1e6:.0f} MB; tensors: "
        + ", ".join(f"{count} {kind}" for kind, count in engine.tensors.items())
    )
    for profile, memory in zip(engine.profiles, engine.memory, strict=True):
        print(f"  profile {profile}: up to {memory_text(memory)} of working memory")


def as_bytes(text: str) -> int:
    """Parse a number of bytes with its unit, as in 512MiB."""
    number = text.rstrip("KMGiB")
    try:
        return int(float(number) * UNITS[text[len(number) :]])
    except (KeyError, ValueError, OverflowError) as error:
        raise InputError(f"workspace is {text!r}: write it as in 512MiB or 4GiB") from error
