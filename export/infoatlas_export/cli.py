"""infoatlas-rt export: checkpoint -> ONNX, with a parity table."""

from __future__ import annotations

import argparse
from collections.abc import Sequence

from infoatlas_export.onnx import TOLERANCE, export
from infoatlas_rt import __version__
from infoatlas_rt.console import table, write_json


def main(argv: Sequence[str] | None = None) -> None:
    """Run the command; errors are infoatlas_rt.errors'."""
    p = argparse.ArgumentParser(
        prog="infoatlas-rt export",
        description="Export a pretrained checkpoint to one self-describing ONNX file.",
    )
    p.add_argument("checkpoint", help="best.pt, as python -m infoatlas_train.pretrain wrote it")
    p.add_argument("--out", required=True, help="the .onnx file to write")
    p.add_argument("--name", default="edge", help="name of the model, in its metadata")
    p.add_argument("--version", default=__version__, help="version of the model, in its metadata")
    p.add_argument("--json", nargs="?", const="-", metavar="FILE", help="parity figures as JSON")
    arguments = p.parse_args(argv)
    rows = export(
        arguments.checkpoint, arguments.out, name=arguments.name, version=arguments.version
    )
    if not write_json(arguments.json, {"parity": rows, "tolerance": TOLERANCE}):
        sizes, differences = ("slices", "samples"), ("mi", "pointwise", "influence")
        table(
            f"ONNX Runtime against torch with the exact solve: largest difference in nats "
            f"(tolerance {TOLERANCE} on mi)",
            (*sizes, *differences),
            [
                (*(str(row[key]) for key in sizes), *(f"{row[key]:.1e}" for key in differences))
                for row in rows
            ],
        )
        print(f"wrote {arguments.out}")
