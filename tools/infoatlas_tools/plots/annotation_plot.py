"""Draws annotated demonstrations: signals, coloured parts with names, key states."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from ..annotate.content import Annotations
from .drawing import INK, draw_heading, new_figure, style_axes
from .keystate_plots import COLOURS
from .label_placement import Label, Place, fit, new_label, place_labels, renderer, shorten

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from matplotlib.text import Text

SIGNALS = 14  # lines of a demonstration, at most: those that move in the shortest bursts
POINTS = 1500  # of a line, at most
TOP, STRIP = 1.04, 0.2  # upper end of the signals, and the height of the names of key states
STILL = 0.03  # of its range in all demonstrations: a coordinate that moves less is not drawn in one


def annotation_figure(
    annotations: Annotations, demonstrations: Sequence[int], *, title: str = ""
) -> Figure:
    """Draw demonstrations below each other.

    Every coordinate is a thin line, scaled to its own range in all demonstrations. Parts are
    coloured bands with their names above, one row of bands for each tool; key states are vertical
    lines.

    """
    states = annotations.keystates.trajectories.split()
    count, tools = len(demonstrations), len(annotations.subtasks.tools)
    height = 1.4 + count * (2.5 + 0.3 * tools)
    figure = new_figure(10, height)
    grid = figure.add_gridspec(
        count, 1, left=0.075, right=0.975, bottom=0.55 / height,
        top=1 - (0.85 + 0.28 * tools) / height, hspace=0.35 + 0.14 * tools,
    )  # fmt: skip
    columns = _moving(annotations)
    low, high = (f([getattr(s, side)(axis=0) for s in states], axis=0)
                 for f, side in ((np.min, "min"), (np.max, "max")))  # fmt: skip
    labels: list[Label] = []
    for row, i in enumerate(demonstrations):
        axes = figure.add_subplot(grid[row, 0])
        scaled = (states[i] - low) / np.maximum(high - low, 1e-300)
        _draw_signals(axes, annotations, i, scaled[:, columns])
        _draw_parts(axes, annotations, i)
        labels += _draw_keystates(axes, annotations, i)
        style_axes(axes)
        label = axes.set_ylabel(f"episode {annotations.episodes[i]}", fontsize=9)
        fit(label, 1.1 * axes.bbox.height, upright=True)
    unit = "step" if annotations.rate is None else "seconds"
    axes.set_xlabel(unit)
    names = len(annotations.subtasks.parts)
    note = (
        f"{len(states)} demonstrations; lines: up to {len(columns)} of {states[0].shape[1]} "
        "coordinates, each scaled to its range"
    )
    if any(annotations.events(i) for i in demonstrations):
        note += "; vertical lines: key states"
    draw_heading(figure, f"{names} sub-tasks", note, title=title)
    place_labels(figure, labels)
    return figure


def _moving(annotations: Annotations) -> list[int]:
    """Coordinates to draw, in their order: those that move in the shortest bursts."""
    states = annotations.keystates.trajectories.split()
    motion = np.concatenate([np.abs(np.diff(s, axis=0)) for s in states])
    total = motion.sum(axis=0)
    share = motion / np.where(total > 0, total, 1.0)
    entropy = -(share * np.log(np.maximum(share, 1e-300))).sum(axis=0)
    burst = np.where(total > 0, np.log(max(len(motion), 2)) - entropy, -1.0)
    chosen = np.argsort(-burst, kind="stable")[:SIGNALS]
    return sorted(int(c) for c in chosen if burst[c] >= 0)


def _times(annotations: Annotations, steps: np.ndarray) -> np.ndarray:
    return np.asarray(steps if annotations.rate is None else annotations.seconds(steps))


def _draw_signals(axes: Axes, annotations: Annotations, i: int, scaled: np.ndarray) -> None:
    every = max(1, len(scaled) // POINTS)
    time = _times(annotations, np.arange(len(scaled)))[::every]
    moving = np.ptp(scaled, axis=0) > STILL
    axes.plot(time, scaled[::every, moving], color=INK, linewidth=0.6, alpha=0.55, zorder=3)
    axes.set_xlim(0, float(_times(annotations, np.array([len(scaled)]))[0]))
    axes.set_ylim(-0.04, TOP + (STRIP if annotations.events(i) else 0))
    axes.set_yticks([])


def _draw_parts(axes: Axes, annotations: Annotations, i: int) -> None:
    """Draw bands of the first tool over the signals, and a row of names above for each tool."""
    subtasks = annotations.subtasks
    place = axes.get_xaxis_transform()
    for row, tool in enumerate(subtasks.tools):
        own = [
            (index, int(part.start[i]), int(part.end[i]))
            for index, part in enumerate(subtasks.parts)
            if part.tool == tool and part.end[i] > part.start[i]
        ]
        bottom = 1.03 + 0.13 * (len(subtasks.tools) - 1 - row)
        for index, start, end in own:
            left, right = _times(annotations, np.array([start, end])).tolist()
            colour = COLOURS[index % len(COLOURS)]
            if row == 0:
                axes.axvspan(left, right, color=colour, alpha=0.16, linewidth=0, zorder=1)
            axes.fill_between(
                [left, right], bottom, bottom + 0.1, color=colour, linewidth=0, transform=place,
                clip_on=False, alpha=0.9,
            )  # fmt: skip
            text = axes.text(
                (left + right) / 2, bottom + 0.045, subtasks.names[index], color="white",
                fontsize=8, ha="center", va="center", transform=place, fontweight="bold",
            )  # fmt: skip
            _fit_band(text, (right - left) / axes.get_xlim()[1] * axes.bbox.width, index)


def _fit_band(text: Text, pixels: float, index: int) -> None:
    """Fit the name of a part, or its number in the list of parts if the name is too long."""
    figure: Any = text.figure
    measure = renderer(figure)
    for name in (text.get_text(), str(index + 1), ""):
        text.set_text(name)
        if not name or text.get_window_extent(measure).width <= 0.96 * pixels:
            return


def _draw_keystates(axes: Axes, annotations: Annotations, i: int) -> list[Label]:
    """Draw vertical lines; return their names or numbers, which are placed above them later."""
    events = annotations.events(i)
    letters = max(6, 100 // max(len(events), 1))
    labels: list[Label] = []
    for event in events:
        time = float(_times(annotations, np.array([event.step]))[0])
        axes.plot(
            [time, time], [axes.get_ylim()[0], TOP], color=INK, linewidth=1.1,
            linestyle=(0, (4, 2)), zorder=4,
        )  # fmt: skip
        sides = ("center", "left", "right")
        places: list[Place] = [((0, up), side, "bottom") for up in (1.5, 11.0) for side in sides]
        text = shorten(event.name.removeprefix("key state "), letters)
        style = {"color": INK, "fontsize": 7.5, "zorder": 5}
        labels.append(new_label(axes, text, (time, TOP), places, **style))
    return labels
