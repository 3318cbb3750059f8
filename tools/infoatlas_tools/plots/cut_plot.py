"""A picture of a cut recording: a row for each execution, aligned at the starts."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ..cut.executions import Cuts
from ..trajectories import Trajectories
from .drawing import CURVE, RED, draw_heading, new_figure, style_axes

if TYPE_CHECKING:
    from matplotlib.figure import Figure

MOST = 60  # rows, at most: the first ones


def cut_figure(cuts: Cuts, given: Trajectories, *, title: str = "") -> Figure:
    """Coordinates of each execution from its start; red if it is unlike the others."""
    shown = cuts.executions[:MOST]
    height = 1.6 + 0.32 * len(shown)
    figure = new_figure(9.0, height)
    axes = figure.add_axes((0.075, 0.6 / height, 0.9, 1 - 1.5 / height))
    states = np.asarray(given.states, np.float64)
    low, high = np.quantile(states, (0.01, 0.99), axis=0)
    states = ((states - low)[:, high > low] / (high - low)[high > low]).clip(0, 1)
    for row, (own, rows) in enumerate(zip(shown, cuts.rows, strict=False)):
        time = np.arange(len(rows)) / (cuts.rate or 1.0)
        colour = RED if own.remark else CURVE
        axes.plot(time, row + 0.4 - 0.8 * states[rows], color=colour, lw=0.5, alpha=0.6)
        for x, sure in ((time[0], own.sure_start), (time[-1], own.sure_end)):
            axes.text(x, row, "" if sure else "?", color=RED, ha="center", va="center")
    axes.set(ylim=(len(shown) - 0.4, -0.6), xlabel="s" if cuts.rate else "steps")
    axes.set(yticks=range(len(shown)), ylabel="execution")
    style_axes(axes)
    note = "All coordinates, each over its usual range. Red: unlike the others. ?: less sure."
    note += f" Rows: the first {MOST}." * (len(cuts.executions) > MOST)
    draw_heading(figure, f"{len(cuts.executions)} executions", note, title=title)
    return figure
