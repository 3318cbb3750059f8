"""The picture of the page, with a panel for generation and one for policies."""

from collections.abc import Sequence
from typing import Any

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from .. import drawing
from ..drawing import BAND, BLUE, GREEN, GREY, GRID, INK, NAVY, ORANGE, RED, SAND, SKY
from ..measure import one, pick
from .arms import FIVE, FLAGS, FOUND, GRIPPER, MORE, NONE, ONE, RANDOM, SUBTASKS
from .page import TITLES
from .plan import PLAIN, REAL, TEN

Rows = Sequence[dict[str, Any]]
COLOURS = {
    SUBTASKS: BLUE,
    MORE: NAVY,
    FOUND: SKY,
    FLAGS: ORANGE,
    GRIPPER: SAND,
    FIVE: GREEN,
    ONE: RED,
    RANDOM: GREY,
    NONE: INK,
}


def picture(rows: Rows) -> Figure:
    """Rates and 95% intervals: an arm has one colour in both panels."""
    made = [r for r in pick(rows, study="generation", variant=PLAIN) if r["arm"] != MORE]
    learned = pick(rows, study="policies")
    arms = [arm for arm in COLOURS if pick([*made, *learned], arm=arm)]
    trained = [a for a in (TEN, *COLOURS, REAL) if pick(learned, arm=a)]
    tasks = [task for task in TITLES if pick(made, task=task)]
    places = list(dict.fromkeys(row["task"] for row in learned))
    lines = max(len(tasks) * (0.085 * len(arms) + 0.12), 0.24 * len(trained) * max(len(places), 1))
    figure = drawing.canvas(12, 2.0 + lines)
    drawing.heading(
        figure, "From ten demonstrations to a policy", "success in percent, with 95% intervals"
    )
    height = figure.get_figheight()
    left, right = figure.subplots(1, 2)
    figure.subplots_adjust(
        left=0.13, right=0.985, top=1 - 1.25 / height, bottom=0.45 / height, wspace=0.6
    )
    _generation(left, made, tasks, [arm for arm in arms if arm != MORE])
    _policies(right, learned, places, trained)
    marks = [
        Line2D([], [], color=COLOURS[arm], marker="o", markersize=4, lw=2, label=arm)
        for arm in arms
    ]
    drawing.legend(figure, marks, ncols=5, bbox_to_anchor=(0.995, 1 - 0.3 / height), fontsize=8)
    return figure


def _generation(axes: Axes, rows: Rows, tasks: Sequence[str], arms: Sequence[str]) -> None:
    _prepare(axes, "generation: successful attempts")
    for place, task in enumerate(tasks):
        if place % 2:
            axes.axhspan(place - 0.5, place + 0.5, color=BAND, linewidth=0)
        for i, arm in enumerate(arms):
            row = one(rows, task=task, arm=arm)
            if row is not None:
                shift = 0.86 * ((i + 0.5) / len(arms) - 0.5)
                _bar(axes, row, place + shift, COLOURS[arm])
    axes.set_yticks(range(len(tasks)), [TITLES[task] for task in tasks], color=INK)
    axes.set_ylim(max(len(tasks), 1) - 0.5, -0.5)


def _policies(axes: Axes, rows: Rows, tasks: Sequence[str], arms: Sequence[str]) -> None:
    _prepare(axes, "policies on unseen starts (ticks: training seeds)")
    ticks, words, place = [], [], 0.0
    for task in tasks:
        for arm in arms:
            row = one(rows, task=task, arm=arm)
            if row is None:
                continue
            _bar(axes, row, place, COLOURS.get(arm, INK))
            seeds = [100 * rate for rate in row["seeds"]]
            axes.plot(seeds, [place] * len(seeds), "|", color=INK, ms=7, alpha=0.6)
            ticks.append(place)
            words.append(f"{TITLES[task]}: {arm}")
            place += 1
        place += 0.6
    axes.set_yticks(ticks, words, color=INK, fontsize=8)
    axes.set_ylim(max(place, 1) - 0.8, -0.6)


def _prepare(axes: Axes, title: str) -> None:
    drawing.quiet(axes)
    axes.grid(axis="x", color=GRID, linewidth=0.8)
    axes.set_xlim(-1, 101)
    axes.set_title(title, color=INK, fontsize=10, loc="left")


def _bar(axes: Axes, row: dict[str, Any], place: float, colour: str) -> None:
    axes.plot([100 * row["low"], 100 * row["high"]], [place] * 2, color=colour, lw=1.6)
    axes.plot(100 * row["rate"], place, "o", color=colour, ms=4)
