"""Arguments that commands share, with the estimator that they describe."""

import argparse
import textwrap
from argparse import ArgumentParser, Namespace
from pathlib import Path
from typing import Any

from .console import check_target


class HelpFormatter(argparse.HelpFormatter):
    """Adds the default of an option to its help, and keeps the lines of a listing."""

    def _get_help_string(self, action: argparse.Action) -> str:
        return describe_argument(action)

    def _fill_text(self, text: str, width: int, indent: str) -> str:
        if "\n  " in text:
            return text
        return textwrap.fill(" ".join(text.split()), width, break_on_hyphens=False)


def format_list(title: str, lines: list[str]) -> str:
    """A title with indented lines, for the end of a help text."""
    return "\n  ".join([f"{title}:", *lines])


def describe_argument(action: argparse.Action) -> str:
    """The help of an argument, with its default if a user could write that."""
    text, default = action.help or "", action.default
    if isinstance(default, bool) or default in (None, "", argparse.SUPPRESS):
        return text
    values = default if isinstance(default, tuple) else (default,)
    return f"{text} (default: {' '.join(map(str, values))})"


def add_model(parser: Any) -> None:
    """--model."""
    parser.add_argument("--model", default="edge", help="shipped model or .onnx file")


def add_estimator(
    parser: ArgumentParser,
    *,
    providers: str = "native, cpu, cuda, tensorrt, tensorrt-rtx, or auto: the first of cuda, "
    "native and cpu that starts",
    slices: int | None = None,
) -> None:
    """The group of the estimator, which `make_estimator` reads.

    `providers` is the help of --provider, and `slices` the default of --slices, instead of the
    estimator's own (40).
    """
    group = parser.add_argument_group("estimator")
    add_model(group)
    group.add_argument("--provider", default="auto", help=providers)
    group.add_argument("--threads", type=int, help="CPU threads (default: chosen by the runtime)")
    group.add_argument("--seed", type=int, default=0, help="seed of projections and shuffle")
    group.add_argument(
        "--k",
        type=int,
        help="slice both sides, to so many dimensions (default: only sides wider than the model)",
    )
    text = "number of slices, if a side is sliced"
    text += " (default: 40)" if slices is None else "; fewer than elsewhere, for many estimates"
    group.add_argument("--slices", type=int, default=slices, help=text)


def make_estimator(arguments: Namespace) -> Any:
    """The estimator that the arguments of `add_estimator` describe."""
    from ..estimation.estimator import Estimator

    return Estimator(
        arguments.model,
        provider=arguments.provider,
        threads=arguments.threads,
        k=arguments.k,
        slices=arguments.slices,
        seed=arguments.seed,
    )


class Target(argparse.Action):
    """Stores the path of a file to write; InputError if that is impossible, before computing."""

    def __call__(self, parser: Any, namespace: Any, values: Any, option: str | None = None) -> None:
        if values != "-":
            check_target(Path(values))
        setattr(namespace, self.dest, values)


def add_json(parser: ArgumentParser, what: str = "result") -> None:
    """--json."""
    text = f"{what} and warnings as JSON, to stdout without FILE"
    parser.add_argument("--json", action=Target, nargs="?", const="-", metavar="FILE", help=text)
