"""The picture of a curve and its key states. The only module that imports matplotlib."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from .curve import MICurve
from .errors import InputError
from .events import Event
from .keystates import KeyState

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

INK, QUIET, GRID = "#1c2733", "#6b7785", "#e6e9ed"
CURVE = "#1f5f99"
EVENTS = ("#e08a00", "#00936b", "#a8538f", "#7a6a00", "#c2452d")  # told apart by the colour-blind
RED = "#c2262d"
# Of each kind: label, face, edge, colour of the number in it, and of the time beside it.
MARKS = {
    "maximum": ("maximum: key state", RED, "white", "white", RED),
    "minimum": ("minimum", "white", RED, RED, RED),
    "change": ("steepest change", "#8a95a1", "white", "white", QUIET),
}
FORMATS = (".png", ".pdf", ".svg")


def check_file(path: str | os.PathLike[str]) -> None:
    """Raise InputError if a picture cannot be written there, before anything long is computed."""
    _check_matplotlib()
    path = Path(path)
    if path.suffix not in FORMATS:
        raise InputError(f"picture {path}: end its name in one of {', '.join(FORMATS)}")
    if not os.access(path.parent, os.W_OK):
        raise InputError(f"picture {path}: folder {path.parent} is missing or cannot be written")


def _check_matplotlib() -> None:
    try:
        import matplotlib  # noqa: F401
    except ImportError as error:
        raise InputError("a picture needs matplotlib: pip install 'infoatlas-rt[plot]'") from error


def keystates_figure(
    curve: MICurve,
    states: Sequence[KeyState],
    events: Sequence[Event] = (),
    *,
    title: str = "",
    lengths: Sequence[int] = (),
) -> Figure:
    """The curve with its standard error, key states, and when things truly happened.

    Parameters
    ----------
    curve : MICurve
    states : sequence of KeyState
        Of that curve.
    events : sequence of Event
        Drawn as bands (interquartile range) with a line (median), in the units of the curve.
    title : str
    lengths : sequence of int
        Steps of the trajectories, to be told in the picture.

    Returns
    -------
    matplotlib.figure.Figure

    Raises
    ------
    InputError
        matplotlib is not installed.
    """
    _check_matplotlib()
    from matplotlib.figure import Figure  # no pyplot: no window, no global state

    figure = Figure(figsize=(10, 5.8), dpi=160, facecolor="white")
    grid = figure.add_gridspec(
        2, 1, height_ratios=(6, 1), hspace=0.10, left=0.075, right=0.975, top=0.775, bottom=0.105
    )
    main = figure.add_subplot(grid[0])
    below = figure.add_subplot(grid[1], sharex=main)
    for axes in (main, below):
        axes.spines[["top", "right"]].set_visible(False)
        axes.spines[["left", "bottom"]].set_color(QUIET)
        axes.tick_params(colors=QUIET, labelsize=9, length=3)

    low, high = curve.mi - curve.stderr, curve.mi + curve.stderr
    room = float(high.max() - low.min()) or 1.0
    main.set_ylim(float(low.min()) - 0.12 * room, float(high.max()) + 0.12 * room)
    main.grid(axis="y", color=GRID, linewidth=0.8)
    main.set_axisbelow(True)
    _draw_events(main, events)
    main.fill_between(curve.position, low, high, color=CURVE, alpha=0.17, linewidth=0)
    main.plot(curve.position, curve.mi, color=CURVE, linewidth=2, solid_capstyle="round")
    _draw_states(main, curve, states)
    main.set_ylabel("mutual information (nats)", color=INK, fontsize=10)
    main.tick_params(labelbottom=False)

    if states:
        figure.legend(
            loc="center left",
            bbox_to_anchor=(0.068, 0.872),
            ncols=3,
            frameon=False,
            fontsize=9,
            labelcolor=INK,
            borderpad=0,
            handletextpad=0.1,
            columnspacing=1.2,
            markerscale=0.7,
        )
    if events:
        note = "vertical bands: flags of the simulator, first time true (median, quartiles)"
        figure.text(0.975, 0.872, note, color=QUIET, fontsize=9, ha="right", va="center")

    below.fill_between(curve.position, curve.samples, step="mid", color=QUIET, alpha=0.35, lw=0)
    below.set_ylim(0, 1.25 * int(curve.samples.max()))
    below.set_yticks([0, int(curve.samples.max())])
    below.set_ylabel("trajectories", color=INK, fontsize=9)
    span = f"{min(lengths)} to {max(lengths)} steps" if len(lengths) else "different lengths"
    below.set_xlabel(
        "step"
        if curve.mode == "raw"
        else f"normalised time: fraction of each trajectory ({span}, aligned start to end)",
        color=INK,
        fontsize=10,
    )
    edge = 0.015 * (curve.position[-1] - curve.position[0])
    below.set_xlim(min(0.0, curve.position[0]) - edge, curve.position[-1] + edge)

    past = f"s_{{t-{curve.lag}}}"
    if curve.history > 1:
        past = f"s_{{t-{curve.lag}}}, \\ldots, s_{{t-{curve.lag + curve.history - 1}}}"
    heading = f"{title}:  " if title else ""
    figure.text(
        0.075,
        0.962,
        f"{heading}how much of a state is known from its past,  $I(s_t\\,;\\,{past})$",
        color=INK,
        fontsize=13,
        fontweight="bold",
        va="center",
    )
    figure.text(
        0.075,
        0.92,
        f"{int(curve.samples.max())} trajectories · lag {curve.lag} steps · {curve.how} "
        "· band: ± 1 standard error of each point",
        color=QUIET,
        fontsize=9,
        va="center",
    )
    return figure


def _draw_events(axes: Axes, events: Sequence[Event]) -> None:
    """Bands and lines, with labels above the axes: those that are close take turns in height."""
    blend = axes.get_xaxis_transform()
    for i, event in enumerate(sorted(events, key=lambda e: e.median)):
        colour = EVENTS[i % len(EVENTS)]
        axes.axvspan(event.q1, event.q3, color=colour, alpha=0.16, linewidth=0, zorder=0)
        axes.axvline(event.median, color=colour, linewidth=1.3, linestyle=(0, (4, 2)), zorder=1)
        axes.text(
            event.median,
            1.015 + 0.048 * (i % 2),
            event.name,
            transform=blend,
            color=colour,
            fontsize=9,
            fontweight="bold",
            ha="center",
            va="bottom",
        )


def _draw_states(axes: Axes, curve: MICurve, states: Sequence[KeyState]) -> None:
    """Numbered discs with their times; a legend tells the kinds apart."""
    from matplotlib.patheffects import withStroke

    for kind, (label, face, edge, _, _) in MARKS.items():
        chosen = [state for state in states if state.kind == kind]
        if chosen:
            axes.scatter(
                [state.stamp for state in chosen],
                [state.value for state in chosen],
                s=110 if kind == "change" else 190,
                facecolor=face,
                edgecolor=edge,
                linewidth=1.5,
                label=label,
                zorder=5,
            )
    form = "{:.0f}" if curve.mode == "raw" else "{:.2f}"
    for number, state in enumerate(states, start=1):
        _, _, _, inside, outside = MARKS[state.kind]
        small = state.kind == "change"
        axes.annotate(
            str(number),
            (state.stamp, state.value),
            (0, -0.5),
            textcoords="offset points",
            ha="center",
            va="center",
            color=inside,
            fontsize=7 if small else 9,
            fontweight="bold",
            zorder=6,
        )
        # Beside a slope, on the side where the curve is not; above a maximum, below a minimum.
        rising = state.prominence > 0
        offset, across, up = {
            "maximum": ((0, 10), "center", "bottom"),
            "minimum": ((0, -10), "center", "top"),
            "change": ((-9, 2), "right", "bottom") if rising else ((9, 2), "left", "bottom"),
        }[state.kind]
        axes.annotate(
            form.format(state.stamp),
            (state.stamp, state.value),
            offset,
            textcoords="offset points",
            ha=across,
            va=up,
            color=outside,
            fontsize=8.5 if small else 11,
            fontweight="normal" if small else "bold",
            path_effects=[withStroke(linewidth=2.5, foreground="white", alpha=0.85)],
            zorder=6,
        )
    if not states:
        axes.text(
            0.5, 0.03, "no key state stands out", transform=axes.transAxes, color=QUIET, ha="center"
        )
