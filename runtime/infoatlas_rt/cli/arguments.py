"""Arguments that several commands share, and the estimator that they describe."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from typing import Any


def add_drop_missing(parser: ArgumentParser) -> None:
    """--drop-missing."""
    parser.add_argument(
        "--drop-missing",
        action="store_true",
        help="leave out pairs in which a value is missing (NaN; blank row, empty cell or NA in a "
        ".csv); without it they are errors",
    )


def add_estimator(parser: ArgumentParser) -> None:
    """Which model, where, and its seed."""
    parser.add_argument("--model", default="edge", help="shipped model or .onnx file (edge)")
    parser.add_argument(
        "--provider",
        default="cpu",
        help="cpu, native, cuda, tensorrt, or auto; of bench also all (cpu)",
    )
    parser.add_argument("--threads", type=int, help="CPU threads")
    parser.add_argument("--seed", type=int, default=0, help="seed of projections and shuffle (0)")


def add_slicing(parser: ArgumentParser) -> None:
    """Projections."""
    parser.add_argument(
        "--k", type=int, help="dimensions of a slice (as many as the model takes: edge, base 5)"
    )
    parser.add_argument("--slices", type=int, help="number of slices, if a side is sliced (40)")
    parser.add_argument(
        "--sides",
        default="auto",
        help="sides to slice: both, x or y (auto: both with --k, else those wider than the model)",
    )


def add_json(parser: ArgumentParser) -> None:
    """--json."""
    parser.add_argument(
        "--json", nargs="?", const="-", metavar="FILE", help="result as JSON (stdout without FILE)"
    )


def make_estimator(arguments: Namespace) -> Any:
    """The estimator that the arguments of `add_estimator` and `add_slicing` describe."""
    from ..estimation.estimator import Estimator

    return Estimator(
        arguments.model,
        provider=arguments.provider,
        threads=arguments.threads,
        k=arguments.k,
        slices=arguments.slices,
        sides=arguments.sides,
        seed=arguments.seed,
    )
