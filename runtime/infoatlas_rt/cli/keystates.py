"""The command keystates: discover key states, compare them with flags, draw them, save them."""

from __future__ import annotations

import json
import re
from argparse import ArgumentParser, Namespace
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..errors import InputError, OutputError
from .arguments import (
    add_estimator,
    add_json,
    add_plot,
    add_topic,
    check_data,
    make_estimator,
)
from .console import check_json, finite, progress, write_json

if TYPE_CHECKING:
    from ..inputs.trajectories import Trajectories
    from ..keystates.result import KeyStates

HELP = "key states that recorded demonstrations share"


def add_arguments(parser: ArgumentParser) -> None:
    """Arguments of this command."""
    parser.add_argument(
        "data",
        metavar="DEMOS",
        help=".npz with states [sum, d] and lengths [N], .csv, ManiSkill's .h5, the folder of a "
        "LeRobot data set, or a folder of ROS bags, one for each demonstration",
    )
    parser.add_argument(
        "--method",
        choices=("auto", "events", "phase", "pointwise"),
        default="auto",
        help="events: changes that recur in other demonstrations, in any order. phase: boundaries "
        "of phases that all demonstrations share. auto: events, and phases where halves of the "
        "demonstrations repeat them. pointwise: minima of the model's local information",
    )
    parser.add_argument(
        "--count",
        metavar="K",
        default="5",
        help="number of key states of a demonstration besides the end, or auto",
    )
    parser.add_argument(
        "--label",
        action="append",
        metavar="DEMO:STEPS",
        help="known steps of a demonstration, as 0:75,150 or 0:grasp=75,release=150; give it for "
        "one to three demonstrations, or once with a .json file of {demo: {name: step}}, and the "
        "others get the same kinds",
    )
    parser.add_argument(
        "--gripper", metavar="COLUMNS", help="coordinates of the gripper: only their changes count"
    )
    parser.add_argument(
        "--ignore", metavar="COLUMNS", help="coordinates to leave out, by number or name"
    )
    parser.add_argument(
        "--orientation",
        action="append",
        metavar="COLUMNS=KIND",
        help="columns of an orientation, as 3:7=quaternion_xyzw, tool.r=rotation_vector or "
        "4=angle_degrees; none: do not look for any (default: recognised)",
    )
    parser.add_argument(
        "--rate", type=float, help="recorded steps a second (default: that of the file)"
    )
    parser.add_argument(
        "--stride", type=int, help="recorded steps of a working step (default: derived)"
    )
    parser.add_argument("--lag", type=int, default=2, help="working steps to the past state")
    parser.add_argument(
        "--resolution",
        type=float,
        nargs="+",
        metavar="R",
        help="smallest difference that the sensors resolve, for all coordinates or for each "
        "(default: none)",
    )
    parser.add_argument(
        "--group",
        action="append",
        metavar="NAME=COLUMNS",
        help="report which groups of coordinates begin or cease to depend on each other at each "
        "key state; give it twice or more, as tool=18:21 or cube=cube. (beginning of names)",
    )
    add_plot(parser)
    parser.add_argument(
        "--save", metavar="FILE", help="file for KeyStateTracker and the ROS 2 node"
    )
    parser.add_argument(
        "--out",
        metavar="FOLDER",
        help="copy of a LeRobot data set's meta and data, with the feature key_state: column of "
        "the newest key state at each frame, -1 before the first",
    )
    add_json(parser)
    add_topic(parser.add_argument_group("a folder of ROS bags"))
    add_estimator(parser, slices=10)


def run(arguments: Namespace) -> None:
    """Run the command."""
    from ..files.lerobot import is_lerobot, write_keystates
    from ..files.load import load_trajectories
    from ..keystates.discovery import discover_keystates
    from ..messages.bags import bags_in, load_demonstrations
    from .flags import compare_keystates, event_steps, load_flags
    from .keystate_text import print_keystates

    check_json(arguments.save)
    check_data(arguments.data, "keystates")
    bags = bool(bags_in(arguments.data))
    for name in () if bags else ("topic", "field", "joints"):
        if getattr(arguments, name) is not None:
            raise InputError(
                f"--{name} is for a folder of ROS bags, and {arguments.data} is none: leave it out"
            )
    count = arguments.count
    if count != "auto" and not count.isdecimal():
        raise InputError(f"--count is {count!r}: pass a number of key states, or auto")
    if arguments.out:  # before minutes of computing, not after
        if not is_lerobot(arguments.data):
            raise InputError(
                f"--out is for the folder of a LeRobot data set, and {arguments.data} is none: "
                "leave it out"
            )
        if Path(arguments.out).exists():
            raise OutputError(f"{arguments.out} exists: choose a folder that does not")
    if bags:
        trajectories = load_demonstrations(
            arguments.data, arguments.topic, arguments.field, arguments.joints or ()
        )
    else:
        trajectories = load_trajectories(arguments.data)
    groups = parse_groups(arguments.group or [], trajectories)
    estimator = make_estimator(arguments)
    with progress("key states") as advance:
        found = discover_keystates(
            trajectories,
            count if count == "auto" else int(count),
            arguments.lag,
            arguments.method,
            rate=arguments.rate,
            stride=arguments.stride,
            labels=parse_labels(arguments.label or []) or None,
            gripper=_listed(arguments.gripper),
            ignore=_listed(arguments.ignore),
            orientation=parse_orientation(arguments.orientation or []),
            resolution=arguments.resolution,
            estimator=estimator,
        )
        advance(0.3)
        information = found.information(estimator)
        advance(0.8)
        changes = found.explain()
        groups_changed = found.explain(groups, estimator=estimator) if groups else []
    if arguments.save:
        found.save(arguments.save)
    if arguments.out:
        write_keystates(found, arguments.data, arguments.out)
    flags = load_flags(arguments.data)
    events = compare_keystates(found, trajectories, event_steps(flags, trajectories.lengths))
    if arguments.plot:
        from .keystate_plots import raster_figure

        title = Path(arguments.data).stem
        raster_figure(found, events, information, title=title).savefig(arguments.plot)
    rank = found.rank
    about = {one.keystate: finite(asdict(one)) for one in information}
    keystates = [
        {
            "steps": found.steps[:, column].tolist(),
            "rank": int(rank[column]),
            "strength": float(found.strength[column]),
            "kind": int(found.kind[column]),
            "name": found.name(column),
            "shared": bool(found.shared[column]),
            **(_followed(found, column) if arguments.save else {}),
            "information": about.get(column, {"local": None, "before": None, "after": None}),
            "coordinates": asdict(changes[column]),
            "groups": [finite(asdict(g)) for g in groups_changed if g.keystate == column],
        }
        for column in range(found.steps.shape[1])
    ]
    result = {
        "data": str(arguments.data),
        "method": found.method,
        "lag": found.lag,
        "stride": found.stride,
        "rate": found.rate,
        "trajectories": len(found.steps),
        **finite({"reproduced": found.reproduced}),
        "evident": found.evident,
        "notes": list(found.notes),
        "warnings": list(found.warnings),
        "next_strengths": list(found.found.following),
        "quality": [finite(asdict(q)) for q in found.quality],
        "keystates": keystates,
        "events": events,
        "model": estimator.model_file.name,
        "slices": arguments.slices,
        "seed": arguments.seed,
        "groups": groups,
    }
    if not write_json(arguments.json, result):
        print_keystates(found, result, arguments)


def parse_groups(texts: list[str], trajectories: Trajectories) -> dict[str, list[int]]:
    """Groups of `--group NAME=COLUMNS`: numbers, ranges as 18:21, or beginnings of names.

    Raises
    ------
    InputError
        No "=", nothing that matches, or a single group.
    """
    groups: dict[str, list[int]] = {}
    for text in texts:
        name, _, columns = text.partition("=")
        if not name or name in groups:
            raise InputError(f"--group {text!r}: give each group a name of its own")
        groups[name] = []
        for part in map(str.strip, columns.split(",")):
            if match := re.fullmatch(r"(\d+)(?::(\d+))?", part):
                first = int(match[1])
                chosen = list(range(first, int(match[2]) if match[2] else first + 1))
            else:
                named = enumerate(trajectories.names)
                chosen = [i for i, column in named if part and column.startswith(part)]
            if not chosen:
                raise InputError(
                    f"--group {text!r}: {part!r} names no columns: pass NAME=18:21 or NAME=tool. "
                    "(the beginning of coordinate names)"
                )
            groups[name] += chosen
    if len(groups) == 1:
        raise InputError("--group was given once: name two groups that may depend on each other")
    return groups


def parse_labels(texts: list[str]) -> dict[int, Any]:
    """Labels of `--label`: steps by demonstration.

    Raises
    ------
    InputError
        Text of another form, or a file that cannot be read.
    """
    way_out = "write 0:75,150 or 0:grasp=75,release=150, or name a .json file of them"
    if len(texts) == 1 and texts[0].endswith(".json"):
        try:
            given = json.loads(Path(texts[0]).read_text(encoding="utf-8"))
            return {int(demonstration): steps for demonstration, steps in given.items()}
        except (OSError, ValueError, AttributeError) as error:
            raise InputError(f"--label {texts[0]} cannot be read ({error}): {way_out}") from error
    labels: dict[int, Any] = {}
    for text in texts:
        demonstration, _, steps = text.partition(":")
        pairs = [part.rpartition("=") for part in steps.split(",")]
        if not demonstration.isdecimal() or not all(step.isdecimal() for *_, step in pairs):
            raise InputError(f"--label {text!r}: {way_out}")
        named = [bool(name) for name, *_ in pairs]
        if any(named) != all(named) or int(demonstration) in labels:
            raise InputError(f"--label {text!r}: {way_out}, each demonstration once")
        labels[int(demonstration)] = (
            {name: int(step) for name, _, step in pairs}
            if all(named)
            else [int(step) for *_, step in pairs]
        )
    return labels


def parse_orientation(texts: list[str]) -> Any:
    """Orientations of `--orientation`: None, "none", or kinds by columns."""
    if texts == ["none"]:
        return "none"
    pairs = [text.rpartition("=") for text in texts]
    for text, (columns, _, kind) in zip(texts, pairs, strict=True):
        if not columns or not kind:
            raise InputError(f"--orientation {text!r}: write COLUMNS=KIND, as 3:7=quaternion_xyzw")
    return {columns: kind for columns, _, kind in pairs} or None


def _listed(text: str | None) -> list[str]:
    """Names or numbers, separated by commas; ranges as 18:21."""
    found: list[str] = []
    for part in (text or "").split(","):
        if match := re.fullmatch(r"(\d+):(\d+)", part.strip()):
            found += map(str, range(int(match[1]), int(match[2])))
        elif part.strip():
            found.append(part.strip())
    return found


def _followed(found: KeyStates, column: int) -> dict[str, Any]:
    """What the tracker can be expected to do with a key state."""
    live = found.live
    figures = {
        name: float(getattr(live, name)[column]) for name in ("recall", "delay", "false_reports")
    }
    return {"followed": bool(live.followed[column]), "live": finite(figures)}
