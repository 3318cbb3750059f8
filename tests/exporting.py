"""Run the command `export` in this process; its errors are raised."""

from __future__ import annotations

from argparse import ArgumentParser
from collections.abc import Sequence

from infoatlas_export import cli


def export(arguments: Sequence[str]) -> None:
    parser = ArgumentParser()
    cli.add_arguments(parser)
    cli.run(parser.parse_args(arguments))
