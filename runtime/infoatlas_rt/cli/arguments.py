"""Arguments that several commands share, with the estimator and the data that they describe."""

from __future__ import annotations

import argparse
import textwrap
from argparse import ArgumentParser, Namespace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..errors import InputError

if TYPE_CHECKING:
    from ..files.formats import Dataset


class HelpFormatter(argparse.HelpFormatter):
    """Adds the default of an option to its help, and keeps the lines of a listing."""

    def _get_help_string(self, action: argparse.Action) -> str:
        return described(action)

    def _fill_text(self, text: str, width: int, indent: str) -> str:
        if "\n  " in text:
            return text
        return textwrap.fill(" ".join(text.split()), width, break_on_hyphens=False)


def listing(title: str, lines: list[str]) -> str:
    """A title with indented lines, for the end of a help text."""
    return "\n  ".join([f"{title}:", *lines])


def described(action: argparse.Action) -> str:
    """The help of an argument, with its default if a user could write that."""
    text, default = action.help or "", action.default
    if isinstance(default, bool) or default in (None, "", argparse.SUPPRESS):
        return text
    values = default if isinstance(default, tuple) else (default,)
    return f"{text} (default: {' '.join(map(str, values))})"


def add_pairs(parser: ArgumentParser) -> None:
    """The two files of paired samples."""
    parser.add_argument(
        "x", metavar="X", help=".npy, .csv or .parquet [n, d] (or .npz with one array)"
    )
    parser.add_argument("y", metavar="Y", help="the same, row by row")


def add_drop_missing(parser: ArgumentParser) -> None:
    """--drop-missing."""
    parser.add_argument(
        "--drop-missing",
        action="store_true",
        help="leave out pairs with a missing value (NaN; blank row, empty cell, NA or null in a "
        "table), which is an error otherwise",
    )


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
    """The group of the estimator: model, provider and slices; `make_estimator` reads it.

    Parameters
    ----------
    parser : ArgumentParser
    providers : str
        Help of --provider.
    slices : int, optional
        Default of --slices; the estimator's own (40) unless given.
    """
    group = parser.add_argument_group("estimator")
    add_model(group)
    group.add_argument("--provider", default="auto", help=providers)
    group.add_argument("--threads", type=int, help="CPU threads (default: chosen by the runtime)")
    group.add_argument("--seed", type=int, default=0, help="seed of projections and shuffle")
    group.add_argument(
        "--k",
        type=int,
        help="dimensions of a slice (default: as many as the model accepts)",
    )
    text = "number of slices, if a side is sliced" + (" (default: 40)" if slices is None else "")
    group.add_argument("--slices", type=int, default=slices, help=text)
    group.add_argument(
        "--sides",
        default="auto",
        help="sides to slice: both, x, y, or auto: both if --k is given, else those wider than the "
        "model",
    )


def make_estimator(arguments: Namespace) -> Any:
    """The estimator that the arguments of `add_estimator` and --directions describe."""
    from ..estimation.estimator import Estimator

    return Estimator(
        arguments.model,
        provider=arguments.provider,
        threads=arguments.threads,
        k=arguments.k,
        slices=arguments.slices,
        sides=arguments.sides,
        directions=getattr(arguments, "directions", "random"),
        seed=arguments.seed,
    )


def add_json(parser: ArgumentParser, what: str = "result") -> None:
    """--json."""
    text = f"{what} as JSON, to stdout without FILE"
    parser.add_argument("--json", nargs="?", const="-", metavar="FILE", help=text)


def add_plot(parser: ArgumentParser, what: str = "picture") -> None:
    """--plot."""
    parser.add_argument("--plot", metavar="FILE", help=f"{what}: .png, .pdf or .svg")


def add_topic(group: Any) -> None:
    """--topic, --field and --joints: the states in the messages of a bag."""
    group.add_argument(
        "--topic", help="topic of the states; without it, the error lists all topics"
    )
    group.add_argument(
        "--field",
        action="append",
        help="coordinates of a state; may be given several times. Examples: 'position[:]', "
        "'position[0:6]', pose.position.x, 'transforms[child_frame_id=tool0].transform', "
        "'[header.frame_id=camera]' (default: the usual ones of the message type, as positions and "
        "velocities of joints)",
    )
    group.add_argument(
        "--joints",
        nargs="+",
        metavar="NAME",
        help="elements of arrays to read, by the names in the messages (default: all)",
    )


def add_extrema(parser: Any, delay: float | None, text: str) -> None:
    """--history, --z and --delay, for the curve and its extrema; `text` describes the delay."""
    parser.add_argument("--history", type=int, default=1, help="number of past states stacked")
    parser.add_argument(
        "--z", type=float, default=3.5, help="smallest significant difference, standard errors"
    )
    parser.add_argument("--delay", type=float, default=delay, help=text)


def check_data(data: str, command: str) -> Dataset | None:
    """The data set of a command; None if it is a ROS bag or a folder of bags.

    Parameters
    ----------
    data : str
    command : {"keystates", "annotate", "curve", "bag"}
        "keystates" and "annotate" are for demonstrations and folders of bags, "curve" is for
        demonstrations, and "bag" for one ROS bag.

    Raises
    ------
    InputError
        The data do not exist, cannot be read, or are for another command.
    """
    from ..files.formats import open_dataset
    from ..messages.bags import SUFFIXES, bags_in

    path = Path(data)
    if not data:
        raise InputError("the path of the data is empty: pass a file or a folder")
    if not path.exists():
        raise InputError(f"{data} does not exist: check the path")
    if bags_in(path):
        if command not in ("keystates", "annotate"):
            raise InputError(
                f"{data} is a folder of ROS bags: use infoatlas-rt keystates, or infoatlas-rt bag "
                "with one of them"
            )
        return None
    inside = [file.name for file in path.glob("*")] if path.is_dir() else [path.name]
    if any(name == "metadata.yaml" or name.endswith(SUFFIXES) for name in inside):
        if command != "bag":
            raise InputError(f"{data} is a ROS bag, one robot's stream: use infoatlas-rt bag")
        return None
    dataset = open_dataset(path)
    if command == "bag":
        raise InputError(
            f"{data} is no ROS bag: pass one, or use infoatlas-rt keystates or infoatlas-rt "
            "curve if it contains demonstrations"
        )
    return dataset
