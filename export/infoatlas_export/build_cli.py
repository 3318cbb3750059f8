"""The command build: model file -> TensorRT engine, on the machine that will run it."""

from __future__ import annotations

import sys
from argparse import ArgumentParser, Namespace
from pathlib import Path

from infoatlas_rt.cli.console import check_target, progress
from infoatlas_rt.errors import InputError
from infoatlas_rt.models.engine_file import NAMED, read

HELP = "build a TensorRT engine on the machine that will run it; one that is there and fits is kept"
REQUIRES = ()  # neither torch nor onnx; TensorRT for `run`, which says how to install it
UNITS = {"": 1, "KiB": 2**10, "MiB": 2**20, "GiB": 2**30}


def add_arguments(parser: ArgumentParser) -> None:
    """Arguments of this command."""
    parser.add_argument(
        "model", metavar="MODEL", help="shipped model or .onnx file (FP16 if the file is)"
    )
    parser.add_argument("--out", metavar="FILE", help="the .engine file (default: MODEL.engine)")
    parser.add_argument(
        "--profile",
        action="append",
        metavar="NAME",
        help=f"{' or '.join(NAMED)}, or smallest:optimal:largest of both axes, as in "
        "slices=1:40:64,samples=32:100:512; may be given several times (default: control)",
    )
    parser.add_argument(
        "--workspace",
        default="1GiB",
        metavar="SIZE",
        help="memory that a kernel may use while it runs, as in 512MiB",
    )
    parser.add_argument(
        "--timing-cache",
        metavar="FILE",
        help="times of kernels, kept between builds: read if it is there, and written",
    )


def run(arguments: Namespace) -> None:
    """Run the command."""
    from infoatlas_export.tensorrt import build

    if arguments.out is not None:
        check_target(Path(arguments.out))
    with progress("build") as advance:
        path, reason = build(
            arguments.model,
            arguments.out,
            profiles=arguments.profile or ["control"],
            workspace=as_bytes(arguments.workspace),
            timing_cache=arguments.timing_cache,
            progress=advance,
        )
    if not reason:
        print(f"{path} fits already: nothing to do")
        return
    print(f"built anew: {reason}", file=sys.stderr)
    engine = read(path)
    print(f"wrote {path} and {path}.json: {engine.model}, {engine.precision}, {engine.gpu}")
    for profile in engine.profiles:
        print(f"  profile {profile}")


def as_bytes(text: str) -> int:
    """Bytes, as in 512MiB.

    Raises
    ------
    InputError
    """
    number = text.rstrip("KMGiB")
    try:
        return int(float(number) * UNITS[text[len(number) :]])
    except (KeyError, ValueError, OverflowError) as error:
        raise InputError(f"workspace is {text!r}: write it as in 512MiB or 1GiB") from error
