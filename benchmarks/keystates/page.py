"""The results of `run.py` as Markdown and as a picture."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from matplotlib.figure import Figure

from .. import drawing, report
from ..drawing import (
    BLUE,
    GREEN,
    GREY,
    GRID,
    INK,
    LILAC,
    ORANGE,
    PALE,
    PURPLE,
    QUIET,
    RED,
    SAND,
    SKY,
    TEAL,
)
from ..measure import one, pick
from ..peers.keystate_finders import PEERS
from ..report import number, table
from ..tasks.demonstrations import TASKS, Demonstrations
from .ours import CURVE, PHASE, POINTWISE

Rows = list[dict[str, Any]]
MAIN = "tasks"
OURS = (PHASE, POINTWISE)
COLOURS = {
    PHASE: BLUE,
    POINTWISE: SKY,
    CURVE: PALE,
    "evenly spaced": GREY,
    "ruptures, states": ORANGE,
    "ruptures, increments": SAND,
    "copula curve": RED,
    "velocity minima": GREEN,
    "gripper rule": PURPLE,
    "PerAct's rule": LILAC,
    "AWE's criterion": TEAL,
}


def text(about: dict[str, Any], rows: Rows, tasks: dict[str, Demonstrations]) -> str:
    """Everything that was measured, wins and losses alike."""
    chosen = [TASKS[name].title for name in tasks if TASKS[name].chosen_on]
    parts = [
        "# Key states",
        "How near key states are to the true events of demonstrations. A method sees the states of "
        "all demonstrations of a task and gives K steps of each; the end of a trajectory is known "
        "to every method and counts for none. Distances are to each trajectory's own events, as "
        "fractions of the trajectory; `recall` and `precision` are within 0.05 of it, `2 steps` "
        f"within two steps. Settings of all methods were chosen on {', '.join(chosen)}; the other "
        "tasks were only evaluated. Methods marked * use the names of columns.",
        report.byline(about).replace(" All in nats.", ""),
        "![Errors and recalls by task and method](keystates.png)",
        "## Events",
        events(tasks),
    ]
    for k in (5, 3, 1, "auto"):
        if pick(rows, study=MAIN, k=k):
            parts.append(f"## K = {k}" if k != "auto" else "## K chosen by the method")
            parts.append(
                "Mean error / recall / recall within 2 steps / precision"
                + (" (key states found)." if k == "auto" else ".")
            )
            parts.append(grid(rows, MAIN, k, list(tasks), _four if k != "auto" else _five))
    others = [s for s in dict.fromkeys(row["study"] for row in rows) if s not in (MAIN, "online")]
    if others:
        parts.append("## Other data")
        parts.append("Mean error / recall / recall within 2 steps, K = 5.")
        kept = [task for task in tasks if not TASKS[task].people]
        for study in others:
            parts.append(f"### {study}\n\n" + grid(rows, study, 5, kept, _three))
        automatic = [study for study in others if pick(rows, study=study, k="auto", method=PHASE)]
        if automatic:
            parts.append("### `phase`, K chosen by the method\n\nRecall / precision.")
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


def _three(row: dict[str, Any]) -> str:
    return f"{_show(row['error'], 3)} / {_show(row['recall'])} / {_show(row['recall_steps'])}"


def _four(row: dict[str, Any]) -> str:
    return f"{_three(row)} / {_show(row['precision'])}"


def _five(row: dict[str, Any]) -> str:
    return f"{_four(row)} ({_show(row['found'], 1)})"


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
                    "-" if r is None else f"{_show(r['recall'])} / {_show(r['precision'])}"
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


def picture(rows: Rows, tasks: Sequence[str]) -> Figure:
    """Error and recall at K = 5, and recall against precision where the method chooses K."""
    figure = drawing.canvas(13, 1.9 + 0.62 * len(tasks))
    height = figure.get_figheight()
    panels = figure.subplots(1, 3, gridspec_kw={"width_ratios": (1, 1, 0.9)})
    figure.subplots_adjust(
        left=0.125, right=0.99, top=1 - 1.45 / height, bottom=0.62 / height, wspace=0.13
    )
    drawing.heading(
        figure,
        "Key states against true events",
        "five key states of each demonstration by each method; large dots: this package; hollow "
        "dots use the names of columns",
    )
    for axes, name, title, limit in (
        (panels[0], "error", "mean error, fraction of the trajectory", 0.025),
        (panels[1], "recall", "recall within 0.05", 0.9),
    ):
        axes.axvline(limit, color=INK, linewidth=0.8, linestyle=(0, (2, 2)), zorder=1)
        for i, task in enumerate(tasks):
            axes.axhline(i, color=GRID, linewidth=0.8, zorder=0)
            own = pick(rows, study=MAIN, k=5, task=task)
            for row in sorted(own, key=lambda r: r["method"] in OURS):
                mark(axes, row["method"], min(row[name], 0.2) if name == "error" else row[name], i)
        axes.set_title(title, color=INK, fontsize=10.5, loc="left")
        drawing.quiet(axes)
        axes.set_ylim(len(tasks) - 0.5, -0.5)
        axes.spines["left"].set_visible(False)
    panels[0].set(xlim=(-0.005, 0.205), xticks=(0, 0.05, 0.1, 0.15, 0.2))
    panels[0].set_xticklabels(["0", "0.05", "0.1", "0.15", "≥ 0.2"])
    panels[0].set_yticks(
        range(len(tasks)),
        [TASKS[t].title + (" °" if TASKS[t].chosen_on else "") for t in tasks],
        fontsize=9.5,
        color=INK,
    )
    panels[1].set(xlim=(-0.03, 1.03), yticks=())
    last = panels[2]
    drawing.quiet(last)
    last.grid(color=GRID, linewidth=0.8)
    for row in sorted(pick(rows, study=MAIN, k="auto"), key=lambda r: r["method"] in OURS):
        if row["precision"] is not None:
            mark(last, row["method"], row["recall"], row["precision"])
    last.set(xlim=(-0.03, 1.03), ylim=(-0.03, 1.05), xlabel="recall within 0.05")
    last.set_title("precision, K by the method; a dot a task", color=INK, fontsize=10.5, loc="left")
    figure.text(0.012, 0.13 / height, "° settings were chosen on it", color=QUIET, fontsize=8.5)
    legend(figure, [m for m in COLOURS if pick(rows, study=MAIN, method=m)])
    return figure


def mark(axes: Any, method: str, x: float, y: float) -> None:
    """A dot; hollow for a method that uses the names of columns."""
    knows = method in PEERS and PEERS[method].knows_columns
    axes.scatter(
        x,
        y,
        s=74 if method in OURS else 42,
        facecolors="white" if knows else COLOURS[method],
        edgecolors=COLOURS[method] if knows else "white",
        linewidths=1.4 if knows else 0.7,
        zorder=4 if method in OURS else 3,
    )


def legend(figure: Figure, methods: Sequence[str]) -> None:
    from matplotlib.lines import Line2D

    handles = []
    for method in methods:
        knows = method in PEERS and PEERS[method].knows_columns
        handles.append(
            Line2D(
                [], [], ls="", marker="o", ms=7, color=COLOURS[method], label=method,
                mfc="white" if knows else COLOURS[method], mew=1.4,
            )
        )  # fmt: skip
    figure.legend(
        handles=handles,
        loc="upper left",
        bbox_to_anchor=(0.005, 1 - 0.72 / figure.get_figheight()),
        ncols=len(methods),
        frameon=False,
        fontsize=8,
        labelcolor=INK,
        handletextpad=0.0,
        columnspacing=0.6,
    )
