"""Arguments that the commands for recordings share, and a check of their data."""

from __future__ import annotations

from argparse import ArgumentParser
from pathlib import Path
from typing import TYPE_CHECKING, Any

from infoatlas_rt.cli.arguments import Target
from infoatlas_rt.errors import InputError

from ..files.tables.table_formats import NAMED

if TYPE_CHECKING:
    from ..files.formats import Dataset


def add_pairs(parser: ArgumentParser) -> None:
    """The two files of paired samples."""
    parser.add_argument(
        "x", metavar="X", help=f".npy, {' or '.join(NAMED)} [n, d] (or .npz with one array)"
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


class Picture(Target):
    """Stores the path of a picture, if it can be drawn and written."""

    def __call__(self, parser: Any, namespace: Any, values: Any, option: str | None = None) -> None:
        from ..plots.drawing import check_format

        check_format(values)
        super().__call__(parser, namespace, values, option)


def add_plot(parser: ArgumentParser, what: str = "picture") -> None:
    """--plot."""
    text = f"{what}: .png, .pdf or .svg"
    parser.add_argument("--plot", action=Picture, metavar="FILE", help=text)


def add_save(parser: ArgumentParser) -> None:
    """--save."""
    text = "task file for KeyStateTracker and the ROS 2 node"
    parser.add_argument("--save", action=Target, metavar="FILE", help=text)


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


def add_camera(parser: ArgumentParser) -> None:
    """--camera."""
    parser.add_argument(
        "--camera",
        metavar="NAME",
        help="camera whose images are read, too: a feature of a LeRobot data set, as "
        "observation.images.top or top, or a topic of ROS bags. For other data, a folder with a "
        "video or a folder of images for each demonstration, in the order of their names (default: "
        "none)",
    )


def add_resolution(group: Any) -> None:
    """--resolution."""
    group.add_argument(
        "--resolution",
        type=float,
        nargs="+",
        metavar="R",
        help="smallest difference that the sensors resolve, for all coordinates or for each "
        "(default: none)",
    )


def add_extrema(parser: Any, delay: float | None, text: str) -> None:
    """--z and --delay, for extrema; `text` describes the delay."""
    parser.add_argument(
        "--z", type=float, default=3.5, help="smallest significant difference, standard errors"
    )
    parser.add_argument("--delay", type=float, default=delay, help=text)


def check_data(data: str, command: str) -> Dataset | None:
    """The data set of a command; None if it is a ROS bag or a folder of bags.

    "keystates" and "annotate" are for demonstrations and folders of bags, "curve" is for
    demonstrations, and "bag" for one ROS bag.
    """
    from ..bags.states import SUFFIXES, bags_in
    from ..files.formats import open_dataset

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
