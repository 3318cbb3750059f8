"""Text output of the command keystates."""

from __future__ import annotations

from argparse import Namespace
from typing import Any

import numpy as np

from infoatlas_rt.cli.console import table

from ..columns import short_name
from ..keystates.key_states import SIMILAR, KeyStates
from ..keystates.quality import Quality
from ..keystates.steps import kind_letter


def print_keystates(found: KeyStates, result: dict[str, Any], arguments: Namespace) -> None:
    """Print key states as a table, with notes and warnings."""
    rows = []
    for number, state in enumerate(result["keystates"], start=1):
        own = [step for step in state["steps"] if step is not None]
        low, middle, high = np.percentile(own, [25, 50, 75])
        i = state["information"]
        change = " → ".join(
            "-" if i[side] is None else f"{i[side]:.1f}" for side in ("before", "after")
        )
        kind = kind_letter(state["kind"]) if state["shared"] else "-"
        rows.append(
            (
                f"{number} {state['name']}".strip(),
                kind,
                f"{middle:.0f} ({low:.0f} to {high:.0f})",
                f"{len(own)}/{result['trajectories']}",
                str(state["rank"]),
                f"{state['strength']:.1f}",
                "-" if i["local"] is None else f"{i['local']:.1f} ({i['percentile']:.0f}%)",
                change,
                ", ".join(map(short_name, state["coordinates"]["names"][:2])),
            )
        )
    data, stride = found.trajectories, found.recordings.timing.stride
    pace = "" if stride == 1 else f", working steps of {stride}"
    pace += "" if data.rate is None else f", {data.rate:g} Hz"
    table(
        f"{len(rows)} key states of {result['trajectories']} trajectories in {result['data']} "
        f"(method {found.method}{pace})",
        (
            *("", "kind", "step", "in", "rank", "strength"),
            *("local nats", "I before → after", "coordinates that change most"),
        ),
        rows,
    )
    print(
        "step: median (quartiles). in: trajectories that have it. kind: one letter is one kind, "
        "-: like no other.\nlocal: information of the step with its past, and the share of steps "
        "with less of it.\nI: of states with their past."
    )
    if result["reproduced"] is not None:
        print(f"Found again by detectors of other demonstrations: {found.reproduced:.0%}.")
    _print_next(found, arguments)
    for text in (*data.notes, *found.notes, *found.warnings):
        print(text)
    for i, q in enumerate(found.quality):
        unusual = _unusual(q)
        if unusual:
            name = result["episodes"][i] if result["episodes"] else i
            print(f"Demonstration {name}: {unusual}.")
    for name, columns in result["groups"].items():
        print(
            f"Group {name}: {', '.join(data.names[c] if data.names else str(c) for c in columns)}"
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
    if arguments.save:
        _print_live(found)
        print(f"Saved: {arguments.save} (a task for KeyStateTracker and the ROS 2 node)")
    if arguments.plot:
        print(f"Picture: {arguments.plot}")


def _print_next(found: KeyStates, arguments: Namespace) -> None:
    """Print the strengths that come next, if they are nearly as large."""
    following = found.found.following
    weakest = found.strength[found.shared].min(initial=float("inf"))
    if following and arguments.count != "auto" and following[0] > SIMILAR * weakest:
        more = int(arguments.count) + len(following)
        listed = ", ".join(f"{strength:.1f}" for strength in following)
        print(f"The next are nearly as strong ({listed}): --count {more}")


def _unusual(quality: Quality) -> str:
    """Text about unusual properties of a demonstration; empty if there are none."""
    found = []
    if quality.missing:
        found.append("lacks " + ", ".join(f"key state {j + 1}" for j in quality.missing))
    if quality.repeated:
        kinds = ", ".join(kind_letter(kind) for kind in quality.repeated)
        found.append(f"repeats kind {kinds}")
    if quality.outliers:
        found.append(f"bad frames at {', '.join(map(str, quality.outliers[:5]))}")
    if quality.unlike:
        found.append(f"unlike the others (likeness {quality.likeness:.2f})")
    if quality.idle > 0.3:
        found.append(f"idle {quality.idle:.0%} of the time")
    return "; ".join(found)


def _print_live(found: KeyStates) -> None:
    """Print how well key states were followed in held-out demonstrations."""
    live = found.detectors
    table(
        "Live, in demonstrations left out (0.5 s)",
        ("", "followed", "found", "median delay", "false reports an episode"),
        [
            (
                f"{j + 1} {found.name(j)}".strip(),
                "yes" if live.followed[j] else "no",
                *(
                    "-" if value != value else text.format(value)
                    for text, value in (
                        ("{:.0%}", live.recall[j]),
                        ("{:.2f} s", live.delay[j]),
                        ("{:.1f}", live.false_reports[j]),
                    )
                ),
            )
            for j in range(len(live.offset))
        ],
    )
