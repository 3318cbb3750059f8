"""Arguments of the commands for recordings: the data, what describes them, key states, files."""

from argparse import Action, ArgumentParser, Namespace
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from infoatlas_rt.cli.arguments import Target, add_json
from infoatlas_rt.errors import InputError

from ..files.tables.table_formats import NAMED
from ..presentation import ParameterError

if TYPE_CHECKING:
    from ..bags.any_recording import Recording

DATA_SET = (
    "a LeRobot folder or its id of the Hugging Face Hub, or an .hdf5 of robomimic, MimicGen, Isaac "
    f"Lab, ManiSkill, ALOHA, D4RL or Minari. Or a {' or '.join(NAMED)} table, or an .npz with "
    "states, the rows of all demonstrations, and lengths, the number of rows of each. Or a folder "
    "with one of these files for each demonstration"
)
DEMONSTRATIONS = f"{DATA_SET}. Or a folder of ROS bags, one for each demonstration"
# Options whose names in Python are others.
OPTIONS = {"tools": "tool", "objects": "object", "object_names": "object-name"}


def add_pairs(parser: ArgumentParser, series: str) -> None:
    """The two files of paired samples, --drop-missing and --time-series, which does `series`."""
    parser.add_argument(
        "x", metavar="X", help=f".npy, {' or '.join(NAMED)} [n, d] (or .npz with one array)"
    )
    parser.add_argument("y", metavar="Y", help="the same, row by row")
    parser.add_argument(
        "--drop-missing",
        action="store_true",
        help="leave out pairs with a missing value (NaN; blank row, empty cell, NA or null in a "
        "table), which is an error otherwise",
    )
    parser.add_argument(
        "--time-series",
        action="store_true",
        help="rows of one recording in time order, which depend on their neighbours: "
        f"{series}. For several recordings, pass groups= in Python",
    )


class Once(Action):
    """Stores a value; InputError if the option is given again, which would replace the first."""

    def __call__(self, parser: Any, namespace: Any, values: Any, option: str | None = None) -> None:
        if (before := getattr(namespace, self.dest)) is not None:
            one, two = (" ".join(v) if isinstance(v, list) else v for v in (before, values))
            raise InputError(f"{option} was given twice, {one} and {two}: give it once")
        setattr(namespace, self.dest, values)


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


def add_topic(group: Any) -> None:
    """--topic, --field and --joints: the states in the messages of a bag."""
    group.add_argument(
        "--topic", action=Once, help="topic of the states; without it, the error lists all topics"
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
        action=Once,
        nargs="+",
        metavar="NAME",
        help="elements of arrays to read, by the names in the messages (default: all)",
    )


def add_bodies(parser: ArgumentParser) -> None:
    """--tool and --object."""
    parser.add_argument(
        "--tool",
        action="append",
        metavar="BODY",
        help="coordinates of the tool, written as those of --object; give it once for each arm "
        "(default: the poses of tools and objects in datagen_info of an .hdf5)",
    )
    parser.add_argument(
        "--object",
        action="append",
        metavar="BODY",
        help="coordinates of an object that a sub-task may be about; give it once for each object. "
        "NAME[:KIND][=COLUMNS], where KIND is position, pose or a kind of orientation. Examples: "
        "cube (cube.x to cube.qz), goal:position, cube=28:35, cube:quaternion_wxyz=28:35",
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


def add_loading(parser: ArgumentParser, cuts: bool = False) -> None:
    """Options that choose a part of a data set; `cuts`: also --cuts."""
    group = parser.add_argument_group("data")
    if cuts:
        group.add_argument(
            "--cuts",
            action=Once,
            metavar="FILE",
            help="list of executions that infoatlas-rt cut --json wrote: each is a demonstration. "
            "Results are for a table or a picture, as the data are not divided",
        )
    group.add_argument(
        "--features",
        action=Once,
        nargs="+",
        metavar="NAME",
        help="features of a LeRobot data set to read (default: observation.state), or arrays of an "
        ".hdf5, as robot0_eef_pos or states (default: its observations)",
    )
    group.add_argument(
        "--split",
        action=Once,
        metavar="NAME",
        help="list of demonstrations in `mask` of an .hdf5 (default: all demonstrations)",
    )
    group.add_argument(
        "--task",
        action=Once,
        metavar="NAME",
        help="name or number of the task whose episodes are read, where the data name several "
        "(default: all, and a sentence names them)",
    )
    group.add_argument(
        "--episode-column",
        action=Once,
        metavar="NAME",
        help=f"column of a table ({', '.join(NAMED)}) with the label of each row's demonstration, "
        "or with a counter that restarts in each demonstration. none: all rows are one "
        "demonstration (default: recognised by its name)",
    )


def add_demonstrations(parser: ArgumentParser) -> None:
    """DATA, --camera, --count, --label, --date, --save, --jobs, and options of other commands."""
    parser.add_argument("data", metavar="DATA", help=DEMONSTRATIONS)
    add_loading(parser, cuts=True)
    parser.add_argument(
        "--camera",
        action=Once,
        metavar="NAME",
        help="camera whose images are read, too: a feature of a LeRobot data set, as "
        "observation.images.top or top, or a topic of ROS bags. For other data, a folder with a "
        "video or a folder of images for each demonstration, with its name or number (default: "
        "none)",
    )
    parser.add_argument(
        "--count",
        metavar="K",
        default="auto",
        help="largest number of key states in a demonstration, its end not counted; or auto: those "
        "that demonstrations share",
    )
    parser.add_argument(
        "--label",
        action="append",
        metavar="DEMO:STEPS",
        help="known steps of a demonstration, as 0:75,150 or 0:grasp=75,release=150; "
        "the same kinds are found in the others. Give it for one to three demonstrations, with the "
        "same names, or once with a .json file that infoatlas-rt label wrote, or of {demo: {name: "
        "step}}. DEMO is the number of the demonstration, as 4 of demo_4 or episode_4.csv, or its "
        "name. Where names have no numbers, it is the position, from 0",
    )
    parser.add_argument(
        "--date",
        choices=("contact", "command"),
        default="contact",
        help="date of a switch of a gripper. contact: the end of a closing, the begin of an "
        "opening. command: the begin of either",
    )
    add_description(parser)
    add_plot(parser)
    text = "task file for KeyStateTracker and the ROS 2 node"
    parser.add_argument("--save", action=Target, metavar="FILE", help=text)
    text = "processes at once; the result is the same (default: all cores, of 200 episodes on)"
    parser.add_argument("--jobs", type=int, metavar="N", help=text)
    add_json(parser)
    add_topic(parser.add_argument_group("a folder of ROS bags"))


def add_description(parser: ArgumentParser, stride: bool = True) -> None:
    """--gripper, --ignore, --orientation, --rate and --resolution; `stride`: also --stride."""
    parser.add_argument(
        "--gripper",
        action=Once,
        metavar="COLUMNS",
        help="coordinates of the gripper: only their changes count. A range, as 14:22, is one hand",
    )
    parser.add_argument(
        "--ignore",
        action=Once,
        metavar="COLUMNS",
        help="coordinates to leave out, by number or name",
    )
    parser.add_argument(
        "--orientation",
        action="append",
        metavar="COLUMNS=KIND",
        help="columns of an orientation, as 3:7=quaternion_xyzw, tool.r=rotation_vector or "
        "4=angle_degrees; none: do not look for any (default: recognised)",
    )
    parser.add_argument(
        "--rate", type=float, help="recorded steps per second (default: that of the file)"
    )
    if stride:
        text = "recorded steps in a working step (default: derived from the rate or the motion)"
        parser.add_argument("--stride", type=int, help=text)
    add_resolution(parser)


def opened(arguments: Namespace, one_bag: bool = False) -> "Recording":
    """The recording that the arguments choose and describe; `one_bag`: also one bag."""
    from ..bags.any_recording import open_recording
    from ..columns import listed
    from ..cut.executions import read_cuts

    given = vars(arguments)
    names = ("features", "split", "task", "episode_column", "topic", "field", "joints")
    described = {
        "rate": given.get("rate"),
        "stride": given.get("stride"),
        "gripper": [c.strip() for c in (given.get("gripper") or "").split(",") if c.strip()],
        "ignore": listed(given.get("ignore")),
        "orientation": parse_orientation(given.get("orientation") or []),
        "resolution": given.get("resolution"),
    }
    return open_recording(
        arguments.data,
        camera=given.get("camera") or (),
        one_bag=one_bag,
        cuts=read_cuts(given["cuts"]) if given.get("cuts") else None,
        **{name: given[name] for name in names if name in given},
        **{name: value for name, value in described.items() if value not in (None, [])},
    )


def parse_count(text: str) -> int | str:
    """The number of `--count`, or "auto"; InputError for other text."""
    if text != "auto" and not text.isdecimal():
        raise InputError(f"--count is {text!r}: pass a number of key states, or auto")
    return text if text == "auto" else int(text)


def parse_labels(texts: list[str], names: Sequence[str]) -> Any:
    """Labels of `--label`: a path, or steps by place in the data; None without any.

    `names` are those of the demonstrations. InputError for text of another form, or a
    demonstration that does not exist.
    """
    from ..keystates.marks import placed_labels

    way_out = "write 0:75,150 or 0:grasp=75,release=150, or name a .json file of them"
    if len(texts) == 1 and texts[0].endswith(".json"):
        return texts[0]
    labels: dict[str, Any] = {}
    for text in texts:
        demonstration, _, steps = text.partition(":")
        pairs = [part.rpartition("=") for part in steps.split(",")]
        if not demonstration or not all(step.isdecimal() for *_, step in pairs):
            raise InputError(f"--label {text!r}: {way_out}")
        named = {name: int(step) for name, _, step in pairs}
        plain = set(named) == {""}
        if demonstration in labels or not (plain or ("" not in named and len(named) == len(pairs))):
            raise InputError(
                f"--label {text!r}: {way_out}, each demonstration once, each name once"
            )
        labels[demonstration] = [int(step) for *_, step in pairs] if plain else named
    return placed_labels(labels, names) or None


def parse_orientation(texts: list[str]) -> Any:
    """Orientations of `--orientation`: None, "none", or kinds by columns."""
    if texts == ["none"]:
        return "none"
    pairs = [text.rpartition("=") for text in texts]
    for text, (columns, _, kind) in zip(texts, pairs, strict=True):
        if not columns or not kind:
            raise InputError(f"--orientation {text!r}: write COLUMNS=KIND, as 3:7=quaternion_xyzw")
    return {columns: kind for columns, _, kind in pairs} or None


def refuse_bags(data: str) -> None:
    """Raise InputError for a folder of ROS bags."""
    from ..bags.any_recording import BAGS, kind_of

    if kind_of(data) == BAGS:
        raise InputError(
            f"{data} is a folder of ROS bags: use infoatlas-rt keystates, or infoatlas-rt bag "
            "with one of them"
        )


def check_bag(data: str) -> None:
    """Raise InputError unless the data are one ROS bag."""
    from ..bags.any_recording import BAG, kind_of
    from ..files.formats import open_dataset

    refuse_bags(data)
    if kind_of(data) != BAG:
        open_dataset(data)  # its error has the kind of the file
        raise InputError(
            f"{data} is no ROS bag: pass one, or use infoatlas-rt keystates or infoatlas-rt "
            "curve if it contains demonstrations"
        )


@contextmanager
def options_named() -> Iterator[None]:
    """Let errors name options, where those of Python name parameters."""
    try:
        yield
    except ParameterError as error:
        raise error.as_options(OPTIONS) from error
