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
    """All results as Markdown."""
    chosen = [SETS[name].title for name in tasks if SETS[name].chosen_on]
    parts = [
        "# Key states compared with true events",
        "Each method gets the states of all demonstrations of a task and returns K steps of each. "
        "They are compared with the true events of the demonstrations. The end of a trajectory is "
        "given and does not count.",
        "- recall: share of events with a key state within 2 or 5 steps\n"
        "- F1: F1 score, where each event is paired with one key state within 5 steps\n"
        "- `*`: the method uses the names of columns\n"
        "- a dash: the method does not support this (see the end of the page), or was not run (the "
        "ensemble curve on demonstrations of Sawyer and Meta-World)",
        "Settings of `auto` were chosen on these tasks, for Meta-World on other draws. Settings of "
        f"the other methods were chosen on {', '.join(chosen)}.",
        report.byline(about, nats=False),
        "![Recall by task and method](keystates.png)",
        "## Events",
        events(tasks),
    ]
    for count in (5, 3, 1, "auto"):
        if pick(rows, study=MAIN, count=count):
            parts.append(f"## K = {count}" if count != "auto" else "## K chosen by the method")
            parts.append(
                "Cells: recall within 5 steps / recall within 2 steps / F1"
                + (" (mean number of key states)." if count == "auto" else ".")
            )
            show = _found if count == "auto" else _steps
            parts.append(grid(rows, MAIN, count, list(tasks), show))
    parts += [
        "## Tolerances in seconds",
        "Cells: recall within 0.1 s / 0.25 s / 0.5 s at K = 5.",
        grid(rows, MAIN, 5, list(tasks), _seconds),
        "## Tolerances as fractions of the trajectory",
        "Cells: mean error / recall within 0.05 / precision within 0.05 at K = 5. Error and "
        "tolerance are fractions of the trajectory, so the tolerance is wide on long trajectories.",
        grid(rows, MAIN, 5, list(tasks), _fractions),
    ]
    others = [s for s in dict.fromkeys(row["study"] for row in rows) if s not in (MAIN, "online")]
    if others:
        parts.append("## Changed demonstrations")
        parts.append("Cells: recall within 5 steps / recall within 2 steps / F1 at K = 5.")
        kept = [task for task in tasks if task in TASKS and not TASKS[task].people]
        for study in others:
            parts.append(f"### {study}\n\n" + grid(rows, study, 5, kept, _steps))
        automatic = [s for s in others if pick(rows, study=s, count="auto", method=AUTO)]
        if automatic:
            parts.append(
                "### `auto`, K chosen by the method\n\nCells: recall / precision within 5 steps."
            )
            parts.append(across(rows, automatic, kept))
    followed = pick(rows, study="online")
    if followed:
        parts += ["## Online tracking", online(followed)]
    parts += ["## Means by kind of demonstration, and targets", criteria(rows, list(tasks))]
    if about["refused"]:
        whys: dict[str, list[str]] = {}
        for where, why in about["refused"].items():
            method, task, _ = where.split("; ")
            whys.setdefault(f"{method}: {why}", []).append(SETS[task].title)
        parts += [
            "## Unsupported cases",
            "\n".join(f"- {why} ({', '.join(dict.fromkeys(on))})" for why, on in whys.items()),
        ]
    return "\n\n".join(parts)


def events(tasks: dict[str, Demonstrations]) -> str:
    """Table of tasks, with their events and definitions."""
    lines = []
    for name, demos in tasks.items():
        lengths = demos.lengths
        where = np.nanmedian(demos.times / (lengths[:, None] - 1), axis=0)
        meant = {event.name: event.meaning for event in SETS[name].events}
        said = "; ".join(
            event + (f" ({meant[event]})" if event in meant else "") + f", at {place:.2f}"
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
    words = (
        "Each event has its median position as a fraction of the trajectory. Settings of the "
        "methods other than `auto` were chosen on tasks with the mark (settings)."
    )
    head = ["task", "events", "demonstrations", "steps", "columns"]
    return f"{words}\n\n{table(head, lines)}"


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
    rows: Rows, study: str, count: int | str, tasks: Sequence[str], show: Callable[[dict], str]
) -> str:
    """Table with a row for each method and a column for each task."""
    methods = dict.fromkeys(row["method"] for row in pick(rows, study=study, count=count))
    lines = []
    for method in methods:
        own = [one(rows, study=study, count=count, method=method, task=task) for task in tasks]
        lines.append([starred(method), *("-" if r is None else show(r) for r in own)])
    return table(["method", *(SETS[task].title for task in tasks)], lines)


def across(rows: Rows, studies: Sequence[str], tasks: Sequence[str]) -> str:
    """Recall and precision with automatic K, by study and task."""
    lines = []
    for study in studies:
        own = [one(rows, study=study, count="auto", method=AUTO, task=task) for task in tasks]
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
    return table(["data", *(SETS[task].title for task in tasks)], lines)


def online(rows: Rows) -> str:
    """Results of the tracker by task."""
    words = (
        "`KeyStateTracker` is fitted on two thirds of the demonstrations (30 at most, K = 5) and "
        "follows the others step by step. Values are means over three random splits.\n\n- found: "
        "share of events with a report whose time is within 0.5 s of the event\n- found by its key "
        "state: the same, with reports of one key state only: the nearest to the event in the "
        "fitted demonstrations\n- false reports: other reports of that key state, for each "
        "episode\n- delay: median time from the event to its report\n- time of a step: mean time "
        "of `push` on a shared core"
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
    headers = ["task", "event", "episodes", "found", "found by its key state", "false reports"]
    return words + "\n\n" + table([*headers, "delay", "time of a step"], lines)


def criteria(rows: Rows, tasks: Sequence[str]) -> str:
    """Mean recall over kinds of demonstrations at K = 5, and targets."""
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
    methods = dict.fromkeys(row["method"] for row in pick(rows, study=MAIN, count=5))
    lines = []
    for method in methods:
        line = [starred(method)]
        for own in kinds.values():
            for name in ("recall_2_steps", "recall_5_steps"):
                found = [one(rows, study=MAIN, count=5, method=method, task=t) for t in own]
                values = [row[name] for row in found if row is not None]
                part = "" if len(values) == len(own) else f" ({len(values)} of {len(own)})"
                line.append(number(float(np.mean(values)), 2) + part if values else "-")
        lines.append(line)
    goals = ["target"]
    for kind in kinds:
        for name in ("recall_2_steps", "recall_5_steps"):
            goal = asked.get((kind, name))
            goals.append("" if goal is None else number(goal, 2))
    headers = [f"{kind}, within {n} steps" for kind in kinds for n in (2, 5)]
    words = "Mean recall over tasks at K = 5; in brackets the number of tasks that were run."
    return f"{words}\n\n{table(['method', *headers], [*lines, goals])}"
