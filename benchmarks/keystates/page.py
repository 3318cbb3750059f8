"""The results of `run.py` as Markdown."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from .. import report
from ..measure import one, pick
from ..peers.keystate_finders import PEERS
from ..report import number, table
from ..tasks.demonstrations import TASKS, Demonstrations
from .ours import PHASE, POINTWISE

Rows = list[dict[str, Any]]
MAIN = "tasks"


def text(about: dict[str, Any], rows: Rows, tasks: dict[str, Demonstrations]) -> str:
    """Everything that was measured, wins and losses alike."""
    chosen = [TASKS[name].title for name in tasks if TASKS[name].chosen_on]
    parts = [
        "# Key states",
        "How near key states are to the true events of demonstrations. A method sees the states of "
        "all demonstrations of a task and gives K steps of each; the end of a trajectory is known "
        "to every method and counts for none. Recall is the share of events with a key state "
        "within 2 or 5 steps. F1 pairs each event with one key state within 5 steps. Figures "
        "within a fraction of the trajectory are in a section of their own: they are lax on long "
        f"trajectories. Settings of all methods were chosen on {', '.join(chosen)}; the other "
        "tasks were only evaluated. Methods marked * use the names of columns.",
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
        kept = [task for task in tasks if not TASKS[task].people]
        for study in others:
            parts.append(f"### {study}\n\n" + grid(rows, study, 5, kept, _steps))
        automatic = [study for study in others if pick(rows, study=study, k="auto", method=PHASE)]
        if automatic:
            parts.append(
                "### `phase`, K chosen by the method\n\nWithin 5 steps: recall / precision."
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
            whys.setdefault(f"{method}: {why}", []).append(TASKS[task].title)
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
        said = "; ".join(
            f"{event.name} ({event.meaning}), median at {place:.2f}"
            for event, place in zip(TASKS[name].events, where, strict=True)
        )
        lines.append(
            [
                TASKS[name].title + (" (settings)" if TASKS[name].chosen_on else ""),
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
        lines.append([starred(method), *("refused" if r is None else show(r) for r in own)])
    return table(["", *(TASKS[task].title for task in tasks)], lines)


def across(rows: Rows, studies: Sequence[str], tasks: Sequence[str]) -> str:
    """Recall and precision of the automatic number, by study and task."""
    lines = []
    for study in studies:
        own = [one(rows, study=study, k="auto", method=PHASE, task=task) for task in tasks]
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
    return table(["", *(TASKS[task].title for task in tasks)], lines)


def online(rows: Rows) -> str:
    """The tracker, by task and event."""
    words = (
        "`KeyStateTracker`, fitted on some demonstrations (15; K = 5), follows the others, step by "
        "step; mean of several choices of those fitted. `recall`: a reported step within 2 of the "
        "event's; `in time`: the report itself comes within 2 steps of the event; delays in steps, "
        "over episodes with a report; `false alarms`: reports more than 2 steps before the event. "
        "The time is of a shared core."
    )
    lines = [
        [
            TASKS[row["task"]].title,
            row["event"],
            _show(row["recall"]),
            _show(row["in_time"]),
            _show(row["delay_median"], 1),
            _show(row["delay_90"], 1),
            _show(row["false_alarms"]),
            f"{row['microseconds']:.0f} µs",
        ]
        for row in rows
    ]
    headers = ["task", "event", "recall", "in time", "delay, median", "delay, 90%", "false alarms"]
    return words + "\n\n" + table([*headers, "a step"], lines)


def criteria(rows: Rows, tasks: Sequence[str]) -> str:
    """What was asked of the default settings, by task, and whether it holds."""
    tasks = [task for task in tasks if not TASKS[task].people]

    def value(
        task: str, name: str, study: str = MAIN, k: int | str = 5, method: str = PHASE
    ) -> Any:
        row = one(rows, study=study, k=k, task=task, method=method)
        return None if row is None else row[name]

    def grasp(task: str) -> Any:
        row = one(rows, study="noise 0.3%", k=5, task=task, method=PHASE)
        return row["events"].get("grasp", {}).get("recall") if row else None

    def half(task: str) -> Any:
        mine, even = value(task, "error"), value(task, "error", method="evenly spaced")
        return mine / even if mine is not None and even else None

    asked: list[tuple[str, Callable[[str], Any], Callable[[float], bool]]] = [
        ("K = 5: error, at most 0.025", lambda t: value(t, "error"), lambda v: v <= 0.025),
        ("K = 5: recall, at least 0.90", lambda t: value(t, "recall"), lambda v: v >= 0.9),
        ("K = 5: error over evenly spaced 5, at most 0.5", half, lambda v: v <= 0.5),
        ("K = 3: recall, at least 0.85", lambda t: value(t, "recall", k=3), lambda v: v >= 0.85),
        (
            "K = 3: precision, at least 0.6",
            lambda t: value(t, "precision", k=3),
            lambda v: v >= 0.6,
        ),
        (
            "10 demonstrations, K = 5: recall, at least 0.85",
            lambda t: value(t, "recall", study="10 demonstrations"),
            lambda v: v >= 0.85,
        ),
        ("noise 0.3%, K = 5: recall of grasps, at least 0.90", grasp, lambda v: v >= 0.9),
        ("auto: recall, at least 0.90", lambda t: value(t, "recall", k="auto"), lambda v: v >= 0.9),
        (
            "auto: precision, at least 0.6",
            lambda t: value(t, "precision", k="auto"),
            lambda v: v >= 0.6,
        ),
        (
            "pointwise, K = 5: recall, at least 0.8",
            lambda t: value(t, "recall", method=POINTWISE),
            lambda v: v >= 0.8,
        ),
    ]
    lines = []
    for words, get, holds in asked:
        values = [get(task) for task in tasks]
        cells = [
            "-" if v is None else f"{number(v, 3)} {'yes' if holds(v) else 'no'}" for v in values
        ]
        if any(v is not None for v in values):
            held = sum(v is not None and holds(v) for v in values)
            lines.append([words, *cells, f"{held} of {sum(v is not None for v in values)}"])
    return table(["`phase` unless named", *(TASKS[t].title for t in tasks), "holds"], lines)
