"""Draws a curve of trajectories with its extrema; has functions that pictures of curves share."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from infoatlas_rt.streams.extrema import Extremum

from ..curves.ensemble_curve import MICurve
from . import drawing
from .label_placement import Label, Place, new_label, place_labels

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

# For each kind: label, face, edge, colour of the number in it, and of the time beside it.
MARKS = {
    "maximum": ("maximum", drawing.RED, "white", "white", drawing.RED),
    "minimum": ("minimum", "white", drawing.RED, drawing.RED, drawing.RED),
    "change": ("steepest change", "#8a95a1", "white", "white", drawing.QUIET),
}
CROWD = 20  # extrema that can be numbered in one picture, at most


def curve_figure(
    curve: MICurve, extrema: Sequence[Extremum], *, title: str = "", lengths: Sequence[int] = ()
) -> "Figure":
    """The curve with its noise and its extrema.

    `lengths` are steps of the trajectories, for the label of the time axis.
    """
    figure = drawing.new_figure(10, 6)
    main, below = draw_axes(figure, (6, 1))
    draw_curve(main, curve.position, curve.mi, curve.noise)
    numbers, times = draw_extrema(main, extrema, "{:.0f}" if curve.mode == "raw" else "{:.2f}")
    if extrema:
        drawing.draw_legend(figure)

    below.fill_between(
        curve.position, curve.samples, step="mid", color=drawing.QUIET, alpha=0.35, lw=0
    )
    most = int(curve.samples.max())
    below.set(ylim=(0, 1.25 * most), yticks=[0, most])
    below.set_ylabel("trajectories", fontsize=9)
    span = f"{min(lengths)} to {max(lengths)} steps" if len(lengths) else "different lengths"
    normalised = f"normalised time: fraction of each trajectory ({span}, aligned start to end)"
    below.set_xlabel("step" if curve.mode == "raw" else normalised)
    edge = 0.015 * (curve.position[-1] - curve.position[0])
    below.set_xlim(min(0.0, curve.position[0]) - edge, curve.position[-1] + edge)

    drawing.draw_heading(
        figure,
        f"information of a state with its past,  "
        f"$I(s_t\\,;\\,{past_label('s', curve.lag, curve.history)})$",
        f"{most} trajectories · lag {curve.lag} steps · {curve.how} "
        "· band: ± noise (samples and slices) of each point",
        title=title,
    )
    place_extrema(figure, numbers, times)
    return figure


def draw_axes(figure: "Figure", heights: Sequence[float]) -> "list[Axes]":
    """Axes below each other with a common time; room for two rows of labels above the first."""
    top = 1 - (drawing.LEGEND + 0.48) / figure.get_figheight()
    figure.subplots_adjust(hspace=0.10, left=0.075, right=0.975, top=top, bottom=0.105)
    all_axes = figure.subplots(len(heights), sharex=True, height_ratios=heights)
    for axes in all_axes:
        drawing.style_axes(axes)
    return list(all_axes)


def draw_curve(axes: "Axes", time: Any, mi: Any, noise: Any) -> None:
    low, high = mi - noise, mi + noise
    bottom, top = float(np.nanmin(low)), float(np.nanmax(high))
    room = top - bottom or 1.0
    axes.set_ylim(bottom - 0.12 * room, top + 0.12 * room)
    axes.grid(axis="y", color=drawing.GRID, linewidth=0.8)
    axes.set_axisbelow(True)
    axes.fill_between(time, low, high, color=drawing.CURVE, alpha=0.17, linewidth=0)
    axes.plot(time, mi, color=drawing.CURVE, linewidth=2, solid_capstyle="round")
    axes.set_ylabel("mutual information (nats)")


def draw_extrema(
    axes: "Axes", extrema: Sequence[Extremum], form: str
) -> tuple[list[Label], list[Label]]:
    """Draw numbered discs with their times, or dots if there are many, with labels for a legend.

    Returns the labels of numbers and of times, for `place_extrema`.
    """
    from matplotlib.patheffects import withStroke

    crowded = len(extrema) > CROWD
    for kind, (label, face, edge, _, _) in MARKS.items():
        chosen = [found for found in extrema if found.kind == kind]
        if chosen:
            axes.scatter(
                [found.stamp for found in chosen],
                [found.value for found in chosen],
                s=(110 if kind == "change" else 190) / (5 if crowded else 1),
                facecolor=face,
                edgecolor=edge,
                linewidth=0.8 if crowded else 1.5,
                label=label,
                zorder=5,
            )
    numbers: list[Label] = []
    times: list[Label] = []
    for number, found in enumerate([] if crowded else extrema, start=1):
        _, _, _, inside, outside = MARKS[found.kind]
        small = found.kind == "change"
        point = found.stamp, found.value
        size = (7 if small else 9) - (1.5 if number > 9 else 0)  # two digits are wider
        style: dict[str, Any] = {"fontsize": size, "fontweight": "bold", "zorder": 6}
        middle: list[Place] = [((0, -0.5), "center", "center")]
        numbers.append(new_label(axes, str(number), point, middle, color=inside, **style))
        # Above a maximum, below a minimum, and beside a slope on the side without the curve.
        rising = found.prominence > 0
        above, below = ((0.0, 10.0), "center", "bottom"), ((0.0, -10.0), "center", "top")
        left, right = ((-9.0, 2.0), "right", "bottom"), ((9.0, 2.0), "left", "bottom")
        places = {
            "maximum": [above, left, right],
            "minimum": [below, left, right],
            "change": [left, right] if rising else [right, left],
        }[found.kind]
        style |= {"fontsize": 8.5, "fontweight": "normal"} if small else {"fontsize": 11}
        style["path_effects"] = [withStroke(linewidth=2.5, foreground="white", alpha=0.85)]
        text = form.format(found.stamp)
        times.append(new_label(axes, text, point, places, color=outside, **style))
    if not extrema:
        axes.text(
            0.5,
            0.03,
            "no extremum above the noise",
            transform=axes.transAxes,
            color=drawing.QUIET,
            ha="center",
        )
    return numbers, times


def place_extrema(figure: "Figure", numbers: Sequence[Label], times: Sequence[Label]) -> None:
    """Place numbers in their discs, and times where there is neither a text nor another disc."""
    from matplotlib.transforms import Bbox

    place_labels(figure, numbers)
    radius = 7 * figure.dpi / 72
    centres = [label.axes.transData.transform(label.xy) for label, _ in numbers if label.axes]
    discs = [Bbox([centre - radius, centre + radius]) for centre in centres]
    place_labels(figure, times, discs)


def past_label(name: str, lag: int, history: int, seconds: float | None = None) -> str:
    def state(steps: int) -> str:
        if seconds is None:
            return f"{name}_{{t-{steps}}}" if steps else f"{name}_t"
        return f"{name}_{{t-{seconds * steps / lag:.3g}\\,\\mathrm{{s}}}}"

    return state(lag) if history == 1 else f"{state(lag)}, \\ldots, {state(lag + history - 1)}"
