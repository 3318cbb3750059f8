"""Draws annotated demonstrations: signals by body, coloured parts with names, key states."""

import re
from collections import defaultdict
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from ..annotations.content import Annotations
from ..columns import short_name
from ..presentation import with_count
from .drawing import INK, draw_heading, new_figure, style_axes
from .keystate_plots import COLOURS
from .label_placement import Label, Place, fit, new_label, place_labels, shorten

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from matplotlib.gridspec import GridSpec

# Lanes and their lines, at most: tools and objects first, then the shortest bursts.
LANES, LINES = 5, 7
POINTS = 1500  # of a line, at most
# Inches: heading, a lane, a row of names of parts, the names of key states, and the end of an
# episode with its axis.
HEADING, LANE, BAND, NAMES, AXIS = 0.72, 0.62, 0.3, 0.34, 0.55
FEW = 1.4  # inches of all lanes, at least
# A coordinate of a position or an orientation, with its body before it.
_ENTRY = re.compile(r"(.+)\[(.*\D.*)\]")  # of a message: "position[joint1]"
_AXIS = re.compile(r"(.+?)[._ ](?:(x|y|z)|(q[wxyz]|r[xyz]|roll|pitch|yaw))$")


def annotation_figure(
    annotations: Annotations, demonstrations: Sequence[int], *, title: str = ""
) -> "Figure":
    """Draw demonstrations below each other.

    Each body has a lane, with a coloured line for each coordinate, which is scaled to its own range
    in all demonstrations. Parts are coloured bands with their names above, one row of bands for
    each tool; key states are vertical lines.
    """
    states = annotations.keystates.trajectories.doubles()
    lanes = _lanes(annotations)
    tools = annotations.subtasks.tools
    lane = max(LANE, FEW / max(len(lanes), 1))
    rows = [BAND] * len(tools) + [NAMES] + [lane] * len(lanes) + [AXIS]
    height = HEADING + sum(rows) * len(demonstrations)
    figure = new_figure(10, height)
    grid = figure.add_gridspec(
        len(rows) * len(demonstrations), 1, height_ratios=rows * len(demonstrations),
        left=0.1, right=0.88, bottom=0, top=1 - HEADING / height, hspace=0,
    )  # fmt: skip
    low, high = (f([getattr(s, side)(axis=0) for s in states], axis=0)
                 for f, side in ((np.min, "min"), (np.max, "max")))  # fmt: skip
    labels: list[Label] = []
    for place, i in enumerate(demonstrations):
        scaled = (states[i] - low) / np.maximum(high - low, 1e-300)
        labels += _draw_episode(figure, grid, place * len(rows), annotations, i, lanes, scaled)
    shown = sum(map(len, lanes.values()))
    note = f"{with_count(len(states), 'demonstration')}; "
    if shown < states[0].shape[1]:
        note += f"{shown} of {states[0].shape[1]} coordinates, "
    note += "lines are scaled to their range"
    if any(annotations.events(i) for i in demonstrations):
        note += "; dashed lines: key states"
    heading = with_count(len(annotations.subtasks.parts), "sub-task")
    draw_heading(figure, heading, note, title=title)
    place_labels(figure, labels)
    return figure


def _lanes(annotations: Annotations) -> dict[str, dict[int, str]]:
    """Lanes by their names: coordinates and the names of their lines.

    The positions of a body are a lane, and so are its angles. Coordinates of other names that
    differ in their beginning or a number, as `joint1.position` and `joint2.position`, are one, too.
    """
    states = annotations.keystates.trajectories
    names = states.names or [str(c) for c in range(states.states.shape[1])]
    motion = np.concatenate([np.abs(np.diff(s, axis=0)) for s in states.doubles()])
    total = motion.sum(axis=0)
    share = motion / np.where(total > 0, total, 1.0)
    burst = (share * np.log(np.maximum(share, 1e-300))).sum(axis=0)  # minus its entropy
    lanes: dict[str, dict[int, str]] = defaultdict(dict)
    parts = annotations.subtasks.parts
    named = {*annotations.subtasks.tools, *(part.reference for part in parts)}
    first = [short_name(name).rpartition(".")[0] in named for name in names]
    for column in np.lexsort((-burst, np.logical_not(first))).tolist():
        name = short_name(names[column])
        if found := _AXIS.match(name):
            body, position, angle = found.groups()
            lane, line = (body, position) if position else (f"{body} turns", angle)
        elif found := _ENTRY.match(name):
            lane, line = found.groups()
        elif "." in name:
            line, lane = name.rsplit(".", 1)
        else:
            lane, line = "states", name
        if total[column] > 0 and (lane in lanes or len(lanes) < LANES) and len(lanes[lane]) < LINES:
            lanes[lane][column] = line
    ordered = sorted(lanes.items(), key=lambda lane: min(lane[1]))
    return {lane: dict(sorted(lines.items())) for lane, lines in ordered}


def _times(annotations: Annotations, i: int) -> np.ndarray:
    """Positions of the steps of a demonstration and of its end, seconds or steps [T + 1]."""
    length = int(annotations.lengths[i])
    return np.arange(length + 1) if annotations.rate is None else annotations.seconds(i)


def _draw_episode(
    figure: "Figure", grid: "GridSpec", first: int, annotations: Annotations, i: int,
    lanes: dict[str, dict[int, str]], scaled: np.ndarray,
) -> list[Label]:  # fmt: skip
    """Draw bands, key states and lanes from a row of the grid on; return labels to place."""
    from matplotlib.ticker import AutoLocator

    tools = len(annotations.subtasks.tools)
    times = _times(annotations, i)
    axes = [figure.add_subplot(grid[first + row, 0]) for row in range(tools + 1 + len(lanes))]
    labels: list[Label] = []
    for panel in axes[: tools + 1]:
        panel.set_axis_off()
        panel.set_ylim(0, 1)
    for panel in axes:
        panel.set_xlim(0, times[-1])
    for row in range(tools):
        labels += _draw_parts(axes, row, annotations, i)
    every = max(1, len(scaled) // POINTS)
    time = times[: len(scaled) : every]
    for panel, (lane, lines) in zip(axes[tools + 1 :], lanes.items(), strict=True):
        style_axes(panel)
        panel.set(ylim=(-0.12, 1.12), yticks=[], xticks=[])
        panel.spines["bottom"].set_visible(False)
        name = panel.set_ylabel(lane, rotation=0, ha="right", va="center", fontsize=8.5, color=INK)
        fit(name, 0.095 * figure.bbox.width)
        for number, (column, line) in enumerate(lines.items()):
            colour = COLOURS[number]
            panel.plot(time, scaled[::every, column], color=colour, linewidth=1.0, zorder=3)
            across, down = divmod(number, 4)
            text = panel.annotate(
                shorten(line, 9 if len(lines) > 4 else 18), (1, 1),
                (6 + 44 * across, -4 - 10 * down), xycoords="axes fraction",
                textcoords="offset points", color=colour, fontsize=7.5, va="top",
            )  # fmt: skip
            fit(text, (0.048 if len(lines) > 4 else 0.11) * figure.bbox.width)
    axes[-1].spines["bottom"].set_visible(True)
    axes[-1].xaxis.set_major_locator(AutoLocator())
    unit = "step" if annotations.rate is None else "seconds"
    label = axes[-1].set_xlabel(f"{unit} of episode {annotations.episodes[i]}", fontsize=9)
    fit(label, axes[-1].bbox.width)
    return labels + _draw_keystates(axes[tools:], annotations, i)


def _draw_parts(axes: "Sequence[Axes]", row: int, annotations: Annotations, i: int) -> list[Label]:
    """Draw the bands of a tool, the first over the signals, too; names beside short ones."""
    subtasks = annotations.subtasks
    labels: list[Label] = []
    panel = axes[row]
    for index, part in enumerate(subtasks.parts):
        if part.tool != subtasks.tools[row] or part.end[i] <= part.start[i]:
            continue
        left, right = _times(annotations, i)[[part.start[i], part.end[i]]].tolist()
        colour = COLOURS[index % len(COLOURS)]
        if row == 0:
            for below in axes[len(subtasks.tools) + 1 :]:
                below.axvspan(left, right, color=colour, alpha=0.13, linewidth=0, zorder=1)
        panel.fill_between([left, right], 0.1, 0.6, color=colour, linewidth=0)
        text = panel.text(
            (left + right) / 2, 0.34, subtasks.names[index], color="white", fontsize=8,
            ha="center", va="center", fontweight="bold",
        )  # fmt: skip
        room = (right - left) / panel.get_xlim()[1] * panel.bbox.width
        if text.get_window_extent().width > 0.96 * room:
            text.remove()
            places: list[Place] = [((0, 2), side, "bottom") for side in ("center", "left", "right")]
            name = shorten(subtasks.names[index], 40)
            style = {"color": INK, "fontsize": 7.5, "annotation_clip": False}
            labels.append(new_label(panel, name, ((left + right) / 2, 0.6), places, **style))
    return labels


def _draw_keystates(axes: "Sequence[Axes]", annotations: Annotations, i: int) -> list[Label]:
    """Draw dashed lines through all lanes; return the names, placed above them later."""
    events = annotations.events(i)
    letters = max(6, 100 // max(len(events), 1))
    labels: list[Label] = []
    for event in events:
        time = float(_times(annotations, i)[event.step])
        for panel in axes[1:]:
            panel.axvline(time, color=INK, linewidth=1.1, linestyle=(0, (4, 2)), zorder=4)
        sides = ("center", "left", "right")
        places: list[Place] = [((0, up), side, "bottom") for up in (1.5, 11.0) for side in sides]
        text = shorten(event.name, letters)
        style = {"color": INK, "fontsize": 7.5, "zorder": 5, "annotation_clip": False}
        labels.append(new_label(axes[0], text, (time, 0), places, **style))
    return labels
