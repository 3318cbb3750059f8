"""The command annotate: writes key states and sub-tasks into data sets and other formats."""

from __future__ import annotations

import itertools
import re
from argparse import ArgumentParser, Namespace
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from infoatlas_rt.cli.arguments import add_estimator, add_json, make_estimator
from infoatlas_rt.cli.console import check_target, progress, write_json
from infoatlas_rt.errors import InputError

from ..annotate.written_formats import FORMATS
from ..presentation import first_names
from .discovery_options import add_discovery, check_discovery, discover, listed
from .loading import DEMONSTRATIONS, add_loading, load_actions, load_data
from .recording_arguments import add_camera, add_plot, add_save, add_topic, check_data

if TYPE_CHECKING:
    from ..annotate.content import Annotations
    from ..cameras.camera import Camera
    from ..files.formats import Dataset
    from ..trajectories import Trajectories

HELP = "key states and sub-tasks, written into a copy of a data set"
DESCRIPTION = (
    "Find key states and sub-tasks, and write them into a copy of the data set, or as a table. "
    "Options shared with keystates have the same meaning."
)
EXAMPLES = (
    "annotate my_dataset --out my_dataset_annotated",
    "annotate demos.npz --tool tool --object cube --object goal:position --out parts.csv",
)


def add_arguments(parser: ArgumentParser) -> None:
    parser.add_argument("data", metavar="DATA", help=DEMONSTRATIONS)
    parser.add_argument("--out", metavar="COPY", help="file or folder to write; it must not exist")
    parser.add_argument(
        "--in-place",
        action="store_true",
        help="replace DATA by an annotated data set, which is written beside it first",
    )
    parser.add_argument(
        "--format",
        choices=tuple(FORMATS),
        help="what to write (default: by DATA: lerobot, mimicgen, isaaclab, maniskill, mcap for "
        "bags, else csv)",
    )
    add_bodies(parser)
    parser.add_argument(
        "--object-name",
        action="append",
        metavar="N=NAME",
        help="name of an object that --camera sees, as 1=bottle; --plot shows their numbers",
    )
    parser.add_argument(
        "--names", metavar="NAMES", help='names of the sub-tasks, in their order, as "reach,carry"'
    )
    parser.add_argument(
        "--qa",
        action="store_true",
        help="list unusual episodes with the reasons: failed grasps, missing parts, idle time, "
        "faults of the recording; and write them if the format can store them",
    )
    parser.add_argument(
        "--trim",
        action="store_true",
        help="remove frames at the start and end of each episode of a LeRobot data set in which "
        "nothing moves and no action changes",
    )
    parser.add_argument(
        "--language",
        choices=("subtask", "motion"),
        help="also write the names of the sub-tasks as rows of this style of LeRobot's "
        "language_persistent, for LeRobot from 0.6 and its lerobot_collate_fn",
    )
    add_loading(parser)
    add_camera(parser)
    add_discovery(parser)
    add_save(parser)
    add_plot(parser)
    parser.add_argument(
        "--episode",
        action="append",
        metavar="NAME",
        help="episode of the picture or of the recordings for Rerun; may be given several times "
        "(default: the one of median length in the picture, all for Rerun). With --camera, the "
        "picture shows the objects unless this is given",
    )
    add_json(parser)
    add_topic(parser.add_argument_group("a folder of ROS bags"))
    add_estimator(parser, slices=10)


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


def run(arguments: Namespace) -> None:
    from ..annotate.csv_and_json import as_tree
    from .annotate_text import print_annotations

    dataset = check_data(arguments.data, "annotate")
    check_discovery(arguments)
    name = check_format(arguments, dataset)
    trajectories = load_data(arguments, dataset)
    annotations = annotate(arguments, dataset, trajectories)
    if arguments.qa or arguments.trim:
        actions = load_actions(arguments, dataset, trajectories)
        annotations = replace(annotations, actions=actions)
    picture = None
    which = choose_episodes(annotations, arguments.episode or [])
    if arguments.plot and annotations.subtasks.seen and not arguments.episode:
        from ..plots.contact_sheet import contact_sheet

        picture = contact_sheet(annotations.subtasks.seen, title=Path(arguments.data).name)
    elif arguments.plot:
        from ..plots.annotation_plot import annotation_figure

        picture = annotation_figure(annotations, which, title=Path(arguments.data).name)
    live = ""
    if arguments.save:  # first, because it may be refused
        task = annotations.keystates.follow(annotations.subtasks)
        task.save(arguments.save)
        live = task.describe()
    written, notes = None, list[str]()
    if arguments.out or arguments.in_place:
        written, notes = write(annotations, arguments, name)
    if arguments.qa and not FORMATS[name].quality and written:
        notes.append(f"{name} cannot store the result of --qa")
    if picture is not None:
        picture.savefig(arguments.plot)
    result = {
        "data": str(arguments.data),
        "format": name,
        "written": written,
        **as_tree(annotations, quality=arguments.qa),
        "live": live.splitlines(),
        "left_out": notes,
        "model": arguments.model,
        "seed": arguments.seed,
    }
    if not write_json(arguments.json, result):
        print_annotations(annotations, result, arguments, FORMATS[name].written, live)


def check_format(arguments: Namespace, dataset: Dataset | None) -> str:
    """Name of the format to write, checked before the computation; no data set means bags."""
    from ..files.formats import FORMATS as DATA

    own = dataset.format.annotations if dataset else ("mcap",)
    name = arguments.format or next(iter(own), "csv")
    chosen = FORMATS[name]
    kinds = [each.name for each in DATA if name in each.annotations]
    if kinds and name not in own:
        special = {other for each in DATA for other in each.annotations}
        others = [other for other in FORMATS if other in own or other not in special]
        raise InputError(
            f"--format {name} is for data of {' or '.join(kinds)}, and {arguments.data} is "
            f"none: use {', '.join(others)}"
        )
    if arguments.language and name != "lerobot":
        raise InputError(f"--language is for LeRobot, and the format is {name}: leave it out")
    if arguments.trim and name != "lerobot":
        raise InputError(f"--trim is for copies of LeRobot data sets, and the format is {name}")
    if arguments.episode and not arguments.plot and name != "rerun":
        raise InputError("--episode is the one of the picture: pass --plot FILE, or leave it out")
    if arguments.in_place:
        if arguments.out:
            raise InputError("--out and --in-place were both given: choose one")
        if not chosen.in_place:
            raise InputError(f"--format {name} is a file of its own: pass --out FILE")
    elif arguments.out:
        out, data = Path(arguments.out), Path(arguments.data)
        if out.exists() or out.is_symlink():
            raise InputError(f"{out} exists: choose a name that does not")
        check_target(out)
        if out.suffix.lower() not in ("", chosen.suffix or out.suffix.lower()):
            raise InputError(
                f"--out {out}: the format is {name}, so let its name end in {chosen.suffix}, or "
                "choose another --format"
            )
        if data.is_dir() and data.resolve() in out.resolve().parents:
            raise InputError(f"{out} is inside {data}: choose a place outside of it")
    return name


def annotate(
    arguments: Namespace, dataset: Dataset | None, trajectories: Trajectories
) -> Annotations:
    """Key states and sub-tasks of the data."""
    from ..annotate.content import Annotations
    from ..keystates.marks import episode_names

    tools = parse_bodies("--tool", arguments.tool or [], trajectories)
    objects = parse_bodies("--object", arguments.object or [], trajectories)
    if bool(tools) != bool(objects):
        missing, given = ("--object", "--tool") if tools else ("--tool", "--object")
        raise InputError(
            f"{given} is given without {missing}: a sub-task is about both, so name both"
        )
    if not tools:
        tools, objects = known_bodies(dataset, trajectories)
    estimator = make_estimator(arguments)
    named = parse_object_names(arguments.object_name or [])
    if named and not arguments.camera:
        raise InputError("--object-name is for objects that --camera NAME sees: pass it, too")
    if named and objects:
        raise InputError(
            "--object-name is for objects of --camera, and poses are given: leave it out"
        )
    with progress("annotations") as advance:
        if trajectories.camera is not None:
            follow_reading(trajectories.camera, advance)
        found = discover(arguments, trajectories)
        if trajectories.camera is None:
            advance(0.6)
        subtasks = found.subtasks(
            tools or None, objects or None, object_names=named, estimator=estimator
        )
    if arguments.names:
        part_names = tuple(part.strip() for part in arguments.names.split(","))
        if len(part_names) != len(subtasks.parts):
            raise InputError(
                f"--names has {len(part_names)} names, and {len(subtasks.parts)} sub-tasks were "
                f"found ({', '.join(subtasks.names)}): pass one for each"
            )
        subtasks = replace(subtasks, given_names=part_names)
    episodes = episode_names(trajectories)
    return Annotations(found, subtasks, episodes)


def follow_reading(camera: Camera, advance: Callable[[float], None]) -> None:
    """Let each pass over the demonstrations' images complete half of what is left."""
    reads = itertools.count(1)
    camera.on_read = lambda: advance(1 - 0.5 ** (next(reads) / len(camera.lengths)))


def write(annotations: Annotations, arguments: Namespace, name: str) -> tuple[str, list[str]]:
    """Write annotations with these options; return the place, and notes of the format."""
    from ..annotate.replacing import replacing

    options: dict[str, Any] = {"quality": arguments.qa} if FORMATS[name].quality else {}
    if name == "lerobot":
        options |= {"style": arguments.language, "trim": arguments.trim}
    if name == "rerun" and arguments.episode:
        options["episodes"] = arguments.episode
    if name == "mcap":
        options["topic"] = arguments.topic
    target = Path(arguments.data if arguments.in_place else arguments.out)
    with replacing(target, overwrite=arguments.in_place) as new:
        notes = FORMATS[name].write(annotations, Path(arguments.data), new, **options)
    return str(target), list(notes)


def parse_bodies(option: str, texts: list[str], trajectories: Trajectories) -> dict[str, Any]:
    """Bodies of `--tool` and `--object`: NAME[:KIND][=COLUMNS].

    KIND is position, pose, or a kind of orientation as quaternion_wxyz; without it, a body of up to
    three columns is a position. COLUMNS are numbers, ranges as 28:35, or the beginning of names;
    without them, the name is the beginning.
    """
    from ..columns import full_name, short_name
    from ..keystates.subtasks.poses import Pose, Position

    found: dict[str, Any] = {}
    for text in texts:
        left, equals, columns = text.partition("=")
        name, _, kind = left.partition(":")
        if not name or (equals and not columns):
            raise InputError(f"{option} {text!r}: write NAME, NAME:position or NAME=COLUMNS")
        if name in found:
            raise InputError(f"{option} {text!r}: give each body a name of its own")
        numbers = [int(part) for part in listed(columns) if part.isdecimal()]
        if numbers and len(numbers) == len(listed(columns)):
            where: Any = numbers
            count = len(numbers)
        else:
            where = full_name(columns or name, trajectories.names)
            begins = [n for n in trajectories.names if where and n.startswith(where)]
            if not begins:
                # Of tool.x and tool.y, "tool".
                short = map(short_name, trajectories.names)
                bodies = dict.fromkeys(n.rpartition(".")[0] or n for n in short)
                known = first_names(bodies, 12)
                raise InputError(
                    f"{option} {text!r}: no coordinate begins with {columns or name!r}: pass "
                    f"{name if ',' not in name else 'NAME'}=COLUMNS. Names begin with: "
                    f"{known or 'none'}"
                )
            # cube.x to cube.qz, without those of cube_to_goal
            count = sum(bool(re.fullmatch(r"\W*_?\w\w?\W?", n[len(where) :])) for n in begins)
            count = count or len(begins)
        if kind == "position" or (not kind and count <= 3):
            found[name] = Position(where)
        else:
            found[name] = Pose(where) if kind in ("", "pose") else Pose(where, kind)
    return found


def parse_object_names(texts: list[str]) -> dict[int, str]:
    """Names of `--object-name` by the numbers of objects."""
    found = {}
    for text in texts:
        number, _, name = text.partition("=")
        if not number.isdecimal() or not name:
            raise InputError(f"--object-name {text!r}: write NUMBER=NAME, as 1=bottle")
        found[int(number)] = name
    return found


def known_bodies(
    dataset: Dataset | None, trajectories: Trajectories
) -> tuple[dict[str, Any], dict[str, Any]]:
    """Tools and objects with poses in a file of MimicGen or Isaac Lab; otherwise empty."""
    from ..files.hdf5.robomimic import EEF_POSE, pose_names
    from ..keystates.subtasks.poses import Pose

    if dataset is None or "mimicgen" not in dataset.format.annotations:
        return {}, {}
    tools, objects = (
        [name for name in names if any(n.startswith(f"{name}.") for n in trajectories.names)]
        for names in pose_names(dataset.path, trajectories.episodes[0])
    )
    if not tools or not objects:
        return {}, {}
    return (
        {name.removeprefix(f"{EEF_POSE}."): Pose(name) for name in tools},
        {name: Pose(name) for name in objects},
    )


def choose_episodes(annotations: Annotations, names: list[str]) -> list[int]:
    """Demonstrations for the picture: those that are named, or the one of median length."""
    if not names:
        order = annotations.lengths.argsort(kind="stable")
        return [int(order[len(order) // 2])]
    for name in names:
        if name not in annotations.episodes:
            shown = first_names(annotations.episodes, 8)
            raise InputError(f"--episode {name!r}: there is none of this name but {shown}")
    return [annotations.episodes.index(name) for name in names]
