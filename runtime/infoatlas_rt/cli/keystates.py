"""The command keystates: its arguments, and which module runs it.

Demonstrations (`demonstrations.py`), the curve over them (`curve.py`), or a robot's stream in a bag
(`bag.py`).
"""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from collections.abc import Callable
from pathlib import Path
from typing import Any

from ..errors import InputError

# Options of some kinds of data or methods, and their defaults.
DISCOVERY = {"count": None, "save": None, "group": None, "resolution": None, "out": None}
CURVE = {"time": "auto", "points": 100, "keep_constant": False}
KINDS = {
    "bag": "bags",
    "curve": "trajectories with --method curve",
    "phase": "key states of trajectories",
    "pointwise": "key states of trajectories",
}
EXTREMA = {"history": 1, "z": 3.5, "delay": None}
BAGS = {
    "topic": None,
    "field": None,
    "with_topic": None,
    "with_field": None,
    "joints": None,
    "pair_tolerance": 0.02,
    "window": 100,
    "every": 1,
    "rate_limit": 0.0,
    "lag_seconds": None,
    "tolerance": None,
    "resolution": None,
    "coupling_resolution": [1e-5],
    "reset_after": 1.0,
    "partial": False,
    "stamp_field": "",
}


def add_arguments(parser: ArgumentParser) -> None:
    """Arguments of every kind of data."""
    parser.add_argument(
        "data",
        help="demonstrations: .npz with states [sum, d] and lengths [N], .csv, ManiSkill's .h5, "
        "the folder of a LeRobot data set, or a folder of ROS bags; or one ROS bag (folder, .mcap, "
        ".db3), which is one robot's stream",
    )
    parser.add_argument("--lag", type=int, help="steps to the past state (2; of two topics: 0)")
    parser.add_argument("--plot", metavar="FILE", help="picture (.png, .pdf or .svg)")


def add_groups(parser: ArgumentParser) -> None:
    """Arguments of some kinds of data, in groups."""
    _add_trajectories(parser.add_argument_group("trajectories"))
    _add_curves(parser.add_argument_group("extrema of a curve (--method curve, and bags)"))
    _add_bags(parser.add_argument_group("bags"))


def _add_trajectories(group: Any) -> None:
    group.add_argument(
        "--method",
        choices=("phase", "pointwise", "curve"),
        help="phase: boundaries of phases that all trajectories share. pointwise: minima of the "
        "model's local information. curve: the paper's I(s_t; s_t-lag) over t; its extrema are no "
        "nearer to events than evenly spaced steps (phase)",
    )
    group.add_argument("--count", metavar="K", help="key states besides the end, or auto (5)")
    group.add_argument("--save", metavar="FILE", help="file for KeyStateTracker and the ROS 2 node")
    group.add_argument(
        "--out",
        metavar="FOLDER",
        help="copy of a LeRobot data set's meta and data, with the feature key_state: column of "
        "the newest key state at each frame, -1 before the first",
    )
    group.add_argument(
        "--group",
        action="append",
        metavar="NAME=COLUMNS",
        help="report which groups of coordinates begin or cease to depend on each other at each "
        "key state; give it twice or more, as tool=18:21 or cube=cube. (beginning of names)",
    )


def _add_curves(group: Any) -> None:
    group.add_argument("--history", type=int, help="past states stacked (1)")
    group.add_argument("--z", type=float, help="standard errors for a difference to count (3.5)")
    group.add_argument(
        "--delay",
        type=float,
        help="time within which an extremum is reported: seconds of a bag (2), steps or fractions "
        "of a curve (20 of its points)",
    )
    group.add_argument(
        "--time",
        choices=("auto", "raw", "normalised"),
        help="curve: original steps, or fractions of each trajectory (auto: by whether lengths "
        "differ)",
    )
    group.add_argument("--points", type=int, help="curve: moments in normalised time (100)")
    group.add_argument(
        "--keep-constant",
        action="store_const",
        const=True,
        help="curve: keep coordinates that are constant within every trajectory (goals)",
    )


def _add_bags(group: Any) -> None:
    group.add_argument("--topic", help="the robot's states")
    group.add_argument(
        "--stamp-field",
        metavar="'FIELD UNIT'",
        help="time of a message, and its unit (s, ms, us, ns), as in 'timestamp us' (the header's)",
    )
    group.add_argument(
        "--partial",
        action="store_true",
        default=None,
        help="read the intact part of an .mcap file that was cut off",
    )
    group.add_argument(
        "--field",
        action="append",
        help="as in 'position[:]', 'position[0:6]', pose.position.x; may be given several times "
        "(by the type: joints' positions and velocities, all numbers of a pose, ...)",
    )
    group.add_argument(
        "--joints",
        nargs="+",
        metavar="NAME",
        help="elements of arrays to read, by the names in the messages (all)",
    )
    group.add_argument(
        "--with-topic",
        metavar="TOPIC",
        help="estimate I(topic; past of this one), paired by stamps",
    )
    group.add_argument(
        "--with-field", action="append", metavar="FIELD", help="as --field, of that topic"
    )
    group.add_argument(
        "--pair-tolerance", type=float, metavar="S", help="seconds between two topics (0.02)"
    )
    group.add_argument("--window", type=int, help="steps of the window (100)")
    group.add_argument(
        "--resolution",
        type=float,
        nargs="+",
        metavar="R",
        help="smallest difference that the sensors resolve, for all coordinates or for each (none)",
    )
    group.add_argument(
        "--coupling-resolution",
        type=float,
        nargs="+",
        metavar="R",
        help="of two topics: smallest motion within a step that the sensors resolve, for both or "
        "for each (1e-5)",
    )
    group.add_argument(
        "--reset-after",
        type=float,
        metavar="S",
        help="empty the window when stamps jump back by more than so many seconds (1)",
    )
    group.add_argument(
        "--rate-limit",
        type=float,
        metavar="HZ",
        help="estimates per second of stamps at most (all)",
    )
    group.add_argument("--every", type=int, metavar="N", help="an estimate for each Nth pair (1)")
    group.add_argument(
        "--lag-seconds",
        type=float,
        metavar="S",
        help="duration of lag steps: finds the past by its stamp, also where messages are lost",
    )
    group.add_argument(
        "--tolerance",
        type=float,
        metavar="S",
        help="of a past state's stamp, with --lag-seconds (half a step, or more)",
    )


def run(arguments: Namespace, make_estimator: Callable[[Namespace], Any]) -> None:
    """Run the command; `make_estimator` makes what the arguments ask for."""
    from ..files.lerobot import is_lerobot
    from ..messages.bags import bags_in, is_bag
    from . import bag, curve, demonstrations

    if arguments.plot:
        from .drawing import check_file

        check_file(arguments.plot)  # before minutes of computing, not after
    if not Path(arguments.data).exists():
        raise InputError(f"{arguments.data} does not exist: check the path")
    folder = bool(bags_in(arguments.data))  # demonstrations, one bag each
    one_bag = is_bag(arguments.data) and not folder and not is_lerobot(arguments.data)
    if one_bag and arguments.method is not None:
        raise InputError(
            f"--method is for trajectories, but {arguments.data} is a bag: leave it out"
        )
    method = arguments.method = "bag" if one_bag else arguments.method or "phase"
    takes: dict[str, tuple[dict[str, Any], Callable[..., None]]] = {
        "bag": ({**BAGS, **EXTREMA}, bag.run),
        "curve": ({**CURVE, **EXTREMA}, curve.run),
        "phase": (DISCOVERY, demonstrations.run),
        "pointwise": (DISCOVERY, demonstrations.run),
    }
    options, command = takes[method]
    if folder:
        if method == "curve":
            raise InputError(
                f"--method curve is for files of trajectories, but {arguments.data} is a folder "
                "of bags: leave it out"
            )
        options = {**options, **{name: BAGS[name] for name in ("topic", "field", "joints")}}
    for name in {**DISCOVERY, **CURVE, **EXTREMA, **BAGS}:
        if name not in options and getattr(arguments, name) is not None:
            kinds = [KINDS[kind] for kind in takes if name in takes[kind][0]]
            raise InputError(
                f"--{name.replace('_', '-')} is for {' and '.join(dict.fromkeys(kinds))}, and this "
                f"is {'a bag' if one_bag else f'--method {method}'}: leave it out"
            )
    for name, value in options.items():
        if getattr(arguments, name) is None:
            setattr(arguments, name, value)
    command(arguments, make_estimator)
