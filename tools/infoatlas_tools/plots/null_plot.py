"""Draws a test of independence: the estimates of permuted pairings, and that of the given one."""

from typing import TYPE_CHECKING

import numpy as np

from ..analysis.independence import IndependenceResult
from .drawing import CURVE, INK, RED, new_figure, style_axes

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def null_figure(result: IndependenceResult) -> "Figure":
    """Histogram of the estimates of permuted pairings, with that of the given pairing."""
    figure = new_figure(8, 4)
    figure.set_layout_engine("constrained")
    axes = figure.add_subplot()
    style_axes(axes)
    axes.spines["left"].set_visible(False)
    axes.set_yticks([])
    axes.hist(result.null, bins="auto", color=CURVE, alpha=0.45)
    axes.set_ylim(top=1.3 * axes.get_ylim()[1])  # room for the annotation
    axes.axvline(result.mi, color=RED, linewidth=2)
    right = result.mi > np.mean(axes.get_xlim())
    axes.annotate(
        f"given pairing: {result.mi:.3f} nats\np = {result.p_value:.3g}",
        (result.mi, 0.97),
        (-6 if right else 6, 0),
        xycoords=axes.get_xaxis_transform(),
        textcoords="offset points",
        ha="right" if right else "left",
        va="top",
        color=RED,
        fontsize=10,
        fontweight="bold",
    )
    axes.set_xlabel("mutual information (nats)")
    axes.set_title(
        f"{len(result.null)} {result.method}s of {result.samples} samples: the null",
        color=INK,
        fontsize=11,
        loc="left",
    )
    return figure
