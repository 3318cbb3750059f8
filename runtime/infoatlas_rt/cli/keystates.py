"""The command keystates: discover key states, compare them with flags, draw them, save them."""

from __future__ import annotations

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
from .console import check_json, finite, progress, table, write_json

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
        choices=("phase", "pointwise"),
        default="phase",
        help="phase: boundaries of phases that all demonstrations share. pointwise: minima of the "
        "model's local information",
    )
    parser.add_argument(
        "--count", metavar="K", default="5", help="number of key states besides the end, or auto"
    )
    parser.add_argument("--lag", type=int, default=2, help="steps to the past state")
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
    p_value = found.computed_p_value
    keystates = [
        {
            "steps": found.steps[:, column].tolist(),
            "rank": int(rank[column]),
            "strength": float(found.strength[rank[column] - 1]),
            "p_value": None if p_value is None else float(p_value[rank[column] - 1]),
            "information": finite(asdict(information[column])),
            "coordinates": asdict(changes[column]),
            "groups": [finite(asdict(g)) for g in groups_changed if g.keystate == column],
        }
        for column in range(found.steps.shape[1])
    ]
    result = {
        "data": str(arguments.data),
        "method": found.method,
        "lag": found.lag,
        "trajectories": len(found.steps),
        "keystates": keystates,
        "events": events,
        "model": estimator.model_file.name,
        "slices": arguments.slices,
        "seed": arguments.seed,
        "groups": groups,
    }
    if not write_json(arguments.json, result):
        _print(found, result, arguments)


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


def _print(found: KeyStates, result: dict[str, Any], arguments: Namespace) -> None:
    import numpy as np

    from ..keystates.discovery import LEVEL

    unit = "nats/step" if found.method == "phase" else "nats"
    rows = []
    for number, state in enumerate(result["keystates"], start=1):
        low, middle, high = np.percentile(state["steps"], [25, 50, 75])
        i = state["information"]
        change = " → ".join(
            "-" if i[side] is None else f"{i[side]:.1f}" for side in ("before", "after")
        )
        rows.append(
            (
                str(number),
                f"{middle:.0f} ({low:.0f} to {high:.0f})",
                str(state["rank"]),
                f"{state['strength']:.1f}",
                *([] if state["p_value"] is None else [f"{state['p_value']:.2f}"]),
                "-" if i["local"] is None else f"{i['local']:.1f} ({i['percentile']:.0f}%)",
                change,
                ", ".join(state["coordinates"]["names"][:2]),
            )
        )
    table(
        f"{len(rows)} key states of {result['trajectories']} trajectories in {result['data']} "
        f"(method {found.method}, lag {found.lag})",
        (
            *("", "step", "rank", unit),
            *([] if found.computed_p_value is None else ["p"]),
            *("local nats", "I before → after", "coordinates that change most"),
        ),
        rows,
    )
    if found.computed_p_value is not None and found.computed_p_value[0] > LEVEL:
        print(f"No boundary is significant (p = {found.computed_p_value[0]:.2f}).")
    for name, columns in result["groups"].items():
        print(
            f"Group {name}: {', '.join(found.names[c] if found.names else str(c) for c in columns)}"
        )
    print(
        "step: median (quartiles) over trajectories; rank: by strength. local: information of the"
    )
    print(
        "step with its past, and the share of steps with less of it. I: of states with their past."
    )
    for state in result["keystates"]:
        for g in state["groups"]:
            if g["before"] is not None and g["after"] is not None:
                number = g["keystate"] + 1
                a, b = g["groups"]
                print(
                    f"Key state {number}: {a} and {b} {g['change']}, "
                    f"{g['before']:.2f} → {g['after']:.2f} nats"
                )
    if result["events"]:
        headers = ["event", "trajectories"]
        headers += ["found", "within 2", "evenly spaced", "within 2", "slowest", "within 2"]
        table(
            "Distance of each event to the nearest key state, in steps "
            "(flags; the end counts as a key state)",
            headers,
            [
                (
                    e["name"],
                    str(e["count"]),
                    *(
                        text
                        for method in ("found", "even", "slow")
                        for text in (f"{e[method]['error']:.1f}", f"{e[method]['within_2']:.0%}")
                    ),
                )
                for e in result["events"]
            ],
        )
    if arguments.save:
        print(f"Saved: {arguments.save} (KeyStateTracker and the ROS 2 node read it)")
    if arguments.out:
        print(f"Copy: {arguments.out} (feature key_state; videos/ and images/ are not copied)")
    if arguments.plot:
        print(f"Picture: {arguments.plot}")
