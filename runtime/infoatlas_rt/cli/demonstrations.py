"""The command keystates for demonstrations: discover, compare with flags, draw, save."""

from __future__ import annotations

import re
from argparse import Namespace
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np

from ..errors import InputError, OutputError
from ..files.lerobot import is_lerobot, write_keystates
from ..files.load import load_trajectories
from ..inputs.trajectories import Trajectories
from ..keystates.discovery import LEVEL, discover_keystates
from ..keystates.explanation import SLICES
from ..keystates.result import KeyStates
from ..messages.bags import bags_in, load_demonstrations
from .console import check_json, finite, progress, table, write_json
from .events import distances, evenly_spaced, event_steps, load_flags, slowest


def run(arguments: Namespace, make_estimator: Callable[[Namespace], Any]) -> None:
    """Run the command."""
    check_json(arguments.save)
    count = "5" if arguments.count is None else arguments.count
    if count != "auto" and not count.isdecimal():
        raise InputError(f"--count is {count!r}: pass a number of key states, or auto")
    lag = 2 if arguments.lag is None else arguments.lag
    if arguments.out:  # before minutes of computing, not after
        if not is_lerobot(arguments.data):
            raise InputError(
                f"--out is for the folder of a LeRobot data set, and {arguments.data} is none: "
                "leave it out"
            )
        if Path(arguments.out).exists():
            raise OutputError(f"{arguments.out} exists: choose a folder that does not")
    if bags_in(arguments.data):
        trajectories = load_demonstrations(
            arguments.data, arguments.topic, arguments.field, arguments.joints or ()
        )
    else:
        trajectories = load_trajectories(arguments.data)
    groups = parse_groups(arguments.group or [], trajectories)
    if arguments.slices is None:
        arguments.slices = SLICES
    estimator = make_estimator(arguments)
    with progress("key states") as advance:
        found = discover_keystates(
            trajectories,
            count if count == "auto" else int(count),
            lag,
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
    events = compare(found, trajectories, event_steps(flags, trajectories.lengths))
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


def compare(
    found: KeyStates, trajectories: Trajectories, times: dict[str, Any]
) -> list[dict[str, Any]]:
    """Distances of events to the nearest key state, beside as many baseline steps.

    Returns
    -------
    list of dict
        "name", "count" of trajectories, "steps" [N] (None where it does not happen), and for
        "found", "even" (evenly spaced) and "slow" (slowest moments): "error" (mean distance in
        steps) and "within_2" (share of the events within two steps).
    """
    lengths, k = trajectories.lengths, found.steps.shape[1]
    methods = {
        "found": list(found.steps),
        "even": evenly_spaced(lengths, k),
        "slow": slowest(trajectories.states, lengths, k),
    }
    rows = []
    for name, at in times.items():
        row: dict[str, Any] = {
            "name": name,
            "count": int(np.isfinite(at).sum()),
            "steps": [None if np.isnan(t) else int(t) for t in at],
        }
        for method, steps in methods.items():
            apart = distances(steps, at, lengths)
            row[method] = {
                "error": float(np.nanmean(apart)),
                "within_2": float((apart[np.isfinite(apart)] <= 2).mean()),
            }
        rows.append(row)
    return rows


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
