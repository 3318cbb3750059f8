"""The results of `run.py` as a picture."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from matplotlib.figure import Figure

from .. import drawing
from ..drawing import (
    BLUE,
    GREEN,
    GREY,
    GRID,
    INK,
    LILAC,
    ORANGE,
    PURPLE,
    QUIET,
    RED,
    SAND,
)
from ..measure import pick
from ..peers.keystate_finders import PEERS
from ..tasks.demonstrations import SETS
from .ours import AUTO
from .page import EVENTS, MAIN, Rows

COLOURS = {
    AUTO: BLUE,
    "evenly spaced": GREY,
    "ruptures, states": ORANGE,
    "ruptures, increments": SAND,
    "second difference": INK,
    "BOCPD": RED,
    "velocity minima": GREEN,
    "gripper rule": PURPLE,
    "PerAct's rule": LILAC,
    "AWE's criterion": QUIET,
}


def picture(rows: Rows, tasks: Sequence[str]) -> Figure:
    """Recall at K = 5, F1 of segments, and precision over recall with K chosen by the method."""
    figure = drawing.canvas(13, 1.9 + 0.62 * len(tasks))
    height = figure.get_figheight()
    panels = figure.subplots(1, 3, gridspec_kw={"width_ratios": (1, 1, 0.9)})
    figure.subplots_adjust(
        left=0.2, right=0.99, top=1 - 1.7 / height, bottom=0.62 / height, wspace=0.13
    )
    drawing.heading(
        figure,
        "Key states compared with true events",
        "large dots: this package; hollow dots: methods that use the names of columns; "
        "right panel: a dot for each method and task",
    )
    for axes, name, count, title in (
        (panels[0], "recall_250_ms", 5, "recall within 0.25 s, K = 5"),
        (panels[1], "f1_50", EVENTS, "F1@50 of segments, K = number of events"),
    ):
        for i, task in enumerate(tasks):
            axes.axhline(i, color=GRID, linewidth=0.8, zorder=0)
            own = pick(rows, study=MAIN, count=count, task=task)
            for row in sorted(own, key=lambda r: r["method"] == AUTO):
                mark(axes, row["method"], row[name], i)
        axes.set_title(title, color=INK, fontsize=10.5, loc="left")
        drawing.quiet(axes)
        axes.set(xlim=(-0.03, 1.03), ylim=(len(tasks) - 0.5, -0.5), yticks=())
        axes.spines["left"].set_visible(False)
    panels[0].set_yticks(
        range(len(tasks)),
        [SETS[t].title + (" °" if SETS[t].chosen_on else "") for t in tasks],
        fontsize=9.5,
        color=INK,
    )
    last = panels[2]
    drawing.quiet(last)
    last.grid(color=GRID, linewidth=0.8)
    for row in sorted(pick(rows, study=MAIN, count="auto"), key=lambda r: r["method"] == AUTO):
        if row["precision_5_steps"] is not None:
            mark(last, row["method"], row["recall_5_steps"], row["precision_5_steps"])
    last.set(xlim=(-0.03, 1.03), ylim=(-0.03, 1.05), xlabel="recall within 5 steps")
    last.set_title("precision, K by the method", color=INK, fontsize=10.5, loc="left")
    figure.text(
        0.012,
        0.13 / height,
        "° settings of methods other than auto were chosen on it; those of auto on all tasks",
        color=QUIET,
        fontsize=8.5,
    )
    legend(figure, [m for m in COLOURS if pick(rows, study=MAIN, method=m)])
    return figure


def mark(axes: Any, method: str, x: float, y: float) -> None:
    """A dot, hollow if the method uses the names of columns."""
    knows = method in PEERS and PEERS[method].knows_columns
    axes.scatter(
        x,
        y,
        s=74 if method == AUTO else 42,
        facecolors="white" if knows else COLOURS[method],
        edgecolors=COLOURS[method] if knows else "white",
        linewidths=1.4 if knows else 0.7,
        zorder=4 if method == AUTO else 3,
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
        ncols=-(-len(methods) // 2),
        frameon=False,
        fontsize=8,
        labelcolor=INK,
        handletextpad=0.0,
        columnspacing=0.6,
    )
