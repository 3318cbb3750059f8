"""The results of `run.py` as Markdown."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from .. import report
from ..measure import one, pick
from ..peers.keystate_finders import PEERS
from ..report import number, table
from ..tasks.demonstrations import SETS, TASKS, Demonstrations
from .ours import AUTO

Rows = list[dict[str, Any]]
MAIN = "tasks"


def text(about: dict[str, Any], rows: Rows, tasks: dict[str, Demonstrations]) -> str:
    """Everything that was measured, wins and losses alike."""
    chosen = [SETS[name].title for name in tasks if SETS[name].chosen_on]
    parts = [
        "# Key states",
        "How near key states are to the true events of demonstrations. A method sees the states of "
        "all demonstrations of a task and gives K steps of each; the end of a trajectory is known "
        "to every method and counts for none. Recall is the share of events with a key state "
        "within 2 or 5 steps. F1 pairs each event with one key state within 5 steps. Figures "
        "within a fraction of the trajectory are in a section of their own: they are lax on long "
        "trajectories. Settings of `auto` were chosen on these tasks (on other draws of "
        "Meta-World's), "
        f"those of the other methods on {', '.join(chosen)}. Methods marked * use the names of "
        "columns. A dash: not offered (see below), or not run (the model's methods, on "
        "demonstrations of Sawyer and Meta-World).",
        report.byline(about).replace(" All in nats.", ""),
        "![Recalls by task and method](keystates.png)",
        "## Events",
        events(tasks),
    ]
    for k in (5, 3, 1, "auto"):
        if pick(rows, study=MAIN, k=k):
            parts.append(f"## K = {k}" if k != "auto" else "## K chosen by the method")
            parts.append(
                "Recall within 5 steps / recall within 2 steps / F1"
                + (" (key states found)." if k == "auto" else ".")
            )
            parts.append(grid(rows, MAIN, k, list(tasks), _steps if k != "auto" else _found))
    parts += [
        "## In seconds",
        "K = 5. Recall within 0.1 / 0.25 / 0.5 s.",
        grid(rows, MAIN, 5, list(tasks), _seconds),
        "## As fractions of the trajectory",
        "K = 5. Mean error / recall within 0.05 / precision within 0.05.",
        grid(rows, MAIN, 5, list(tasks), _fractions),
    ]
    others = [s for s in dict.fromkeys(row["study"] for row in rows) if s not in (MAIN, "online")]
    if others:
        parts.append("## Other data")
        parts.append("Recall within 5 steps / recall within 2 steps / F1, K = 5.")
        kept = [task for task in tasks if task in TASKS and not TASKS[task].people]
        for study in others:
            parts.append(f"### {study}\n\n" + grid(rows, study, 5, kept, _steps))
        automatic = [study for study in others if pick(rows, study=study, k="auto", method=AUTO)]
        if automatic:
            parts.append(
                "### `auto`, K chosen by the method\n\nWithin 5 steps: recall / precision."
            )
            parts.append(across(rows, automatic, kept))
    followed = pick(rows, study="online")
    if followed:
        parts += ["## Online", online(followed)]
    parts += ["## Targets", criteria(rows, list(tasks))]
    if about["refused"]:
        whys: dict[str, list[str]] = {}
        for where, why in about["refused"].items():
            method, task, _ = where.split("; ")
            whys.setdefault(f"{method}: {why}", []).append(SETS[task].title)
        parts += [
            "## Not offered",
            "\n".join(f"- {why} ({', '.join(dict.fromkeys(on))})" for why, on in whys.items()),
        ]
    return "\n\n".join(parts)


def events(tasks: dict[str, Demonstrations]) -> str:
    """Table of tasks, their events and what these are."""
    lines = []
    for name, demos in tasks.items():
        lengths = demos.lengths
        where = np.nanmedian(demos.times / (lengths[:, None] - 1), axis=0)
        meant = {event.name: event.meaning for event in SETS[name].events}
        said = "; ".join(
            event + (f" ({meant[event]})" if event in meant else "") + f", median at {place:.2f}"
            for event, place in zip(demos.events, where, strict=True)
        )
        lines.append(
            [
                SETS[name].title + (" (settings)" if SETS[name].chosen_on else ""),
                said,
                str(len(lengths)),
                f"{lengths.min()} to {lengths.max()}",
                str(len(demos.names)),
            ]
        )
    return table(["task", "events", "demonstrations", "steps", "columns"], lines)


def _show(value: float | None, digits: int = 2) -> str:
    return "-" if value is None else number(value, digits)


def _steps(row: dict[str, Any]) -> str:
    names = ("recall_5_steps", "recall_2_steps", "f1_5_steps")
    return " / ".join(_show(row[name]) for name in names)


def _found(row: dict[str, Any]) -> str:
    return f"{_steps(row)} ({_show(row['found'], 1)})"


def _seconds(row: dict[str, Any]) -> str:
    names = ("recall_100_ms", "recall_250_ms", "recall_500_ms")
    return " / ".join(_show(row[name]) for name in names)


def _fractions(row: dict[str, Any]) -> str:
    return f"{_show(row['error'], 3)} / {_show(row['recall'])} / {_show(row['precision'])}"


def starred(method: str) -> str:
    return method + ("*" if method in PEERS and PEERS[method].knows_columns else "")


def grid(
    rows: Rows, study: str, k: int | str, tasks: Sequence[str], show: Callable[[dict], str]
) -> str:
    """Methods down, tasks across."""
    methods = dict.fromkeys(row["method"] for row in pick(rows, study=study, k=k))
    lines = []
    for method in methods:
        own = [one(rows, study=study, k=k, method=method, task=task) for task in tasks]
        lines.append([starred(method), *("-" if r is None else show(r) for r in own)])
    return table(["", *(SETS[task].title for task in tasks)], lines)


def across(rows: Rows, studies: Sequence[str], tasks: Sequence[str]) -> str:
    """Recall and precision of the automatic number, by study and task."""
    lines = []
    for study in studies:
        own = [one(rows, study=study, k="auto", method=AUTO, task=task) for task in tasks]
        lines.append(
            [
                study,
                *(
                    "-"
                    if r is None
                    else f"{_show(r['recall_5_steps'])} / {_show(r['precision_5_steps'])}"
                    for r in own
                ),
            ]
        )
    return table(["", *(SETS[task].title for task in tasks)], lines)


def online(rows: Rows) -> str:
    """The tracker, by task."""
    words = (
        "`KeyStateTracker`, fitted on two thirds of the demonstrations (30 at most; K = 5), "
        "follows the others, step by step; mean of three choices of those fitted. An event is "
        "found if any report is dated within 0.5 s of it. The key state of an event is the one "
        "nearest to it in the demonstrations that were fitted, and the figures `own` are of its "
        "reports alone. False reports are those of it that are farther away. The delay is that of "
        "the report. The time is of a shared core."
    )
    lines = [
        [
            SETS[row["task"]].title,
            row["event"],
            f"{row['episodes']:.0f}",
            _show(row["recall"]),
            _show(row["own_recall"]),
            _show(row["false_reports"]),
            _show(row["delay"], 2) + " s",
            f"{row['microseconds']:.0f} µs",
        ]
        for row in rows
    ]
    headers = ["task", "event", "episodes", "found", "own", "own, false reports", "delay, median"]
    return words + "\n\n" + table([*headers, "a step"], lines)


def criteria(rows: Rows, tasks: Sequence[str]) -> str:
    """Means over kinds of demonstrations at K = 5, beside what was asked."""
    kinds = {
        "people": [t for t in tasks if SETS[t].people],
        "Meta-World": [t for t in tasks if t.startswith("mw_")],
        "planners": [t for t in tasks if not SETS[t].people and not t.startswith("mw_")],
    }
    asked = {
        ("people", "recall_5_steps"): 0.75,
        ("people", "recall_2_steps"): 0.60,
        ("Meta-World", "recall_5_steps"): 0.94,
        ("planners", "recall_2_steps"): 0.80,
    }
    methods = dict.fromkeys(row["method"] for row in pick(rows, study=MAIN, k=5))
    lines = []
    for method in methods:
        line = [starred(method)]
        for own in kinds.values():
            for name in ("recall_2_steps", "recall_5_steps"):
                found = [one(rows, study=MAIN, k=5, method=method, task=t) for t in own]
                values = [row[name] for row in found if row is not None]
                part = "" if len(values) == len(own) else f" ({len(values)} of {len(own)})"
                line.append(number(float(np.mean(values)), 2) + part if values else "-")
        lines.append(line)
    goals = ["asked"]
    for kind in kinds:
        for name in ("recall_2_steps", "recall_5_steps"):
            goal = asked.get((kind, name))
            goals.append("" if goal is None else number(goal, 2))
    headers = [f"{kind}, within {n}" for kind in kinds for n in (2, 5)]
    return table(["K = 5, mean recall in steps", *headers], [*lines, goals])
