"""Draws key states: every trajectory with its key states, and one of them in panels."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from ..columns import short_name
from ..keystates.key_states import KeyStates
from ..presentation import with_count
from ..trajectories import episode_names
from .drawing import GRID, INK, NOTE, QUIET, draw_heading, new_figure, style_axes
from .label_placement import fit, shorten

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

# Distinguishable in colour-blindness (Okabe and Ito).
COLOURS = ("#0072B2", "#E69F00", "#009E73", "#CC79A7", "#56B4E9", "#D55E00", "#8c8c00", "#5b4b9a")
BODIES = ("#1c2733", "#c2262d", "#00936b")
ROW = 0.175  # inches of a row of the legend
PANELS = 8  # key states in the film strip, at most


def raster_figure(found: KeyStates, *, title: str = "") -> "Figure":
    """A line for each trajectory with its key states, and a film strip of one."""
    bodies = _bodies(found.trajectories.names)
    colours = _colours(found)
    figure = new_figure(10, 7.4 if bodies else 5.4)
    grid = figure.add_gridspec(
        2 if bodies else 1, 1,
        height_ratios=(3.0, 1.5) if bodies else (1,),
        left=0.075, right=0.975, bottom=0.07 if bodies else 0.11,
        hspace=0.32,
    )  # fmt: skip
    main = figure.add_subplot(grid[0, 0])
    _draw_raster(main, found, colours)
    rows = _draw_legend(main) if found.steps.shape[1] else 0
    height = figure.get_figheight() + ROW * max(rows - 3, 0)
    figure.set_size_inches(10, height)
    grid.update(top=1 - (NOTE + 0.2 + ROW * rows) / height)
    main.set_position(grid[0, 0].get_position(figure))  # update() moves only axes of pyplot
    if bodies:
        lengths = found.trajectories.lengths
        which = int(np.argsort(lengths, kind="stable")[len(lengths) // 2])
        there = _in_strip(found, which)
        strip = grid[1, :].subgridspec(1, len(there) + 1, wspace=0.08)
        axes = [figure.add_subplot(strip[i]) for i in range(len(there) + 1)]
        _draw_strip(axes, found, which, there, bodies, colours)
    note = with_count(len(found.steps), "demonstration")
    if len(found.order):
        note += f", ordered by {shorten(found.name(found.order[0]), 28)}"
    if found.met <= 0 and not found.labels:
        note += "; key states meet no more contacts and switches than evenly spaced steps"
    elif found.agreement == found.agreement and not found.labels:
        note += f"; agreement {found.agreement:.2f} (0: as evenly spaced steps)"
    heading = with_count(int(found.shared.sum()), "key state")
    draw_heading(figure, heading, note, title=title)
    return figure


def _colours(found: KeyStates) -> dict[int, str]:
    """A colour for each of the most frequent shared key states; the others are grey."""
    often = np.argsort(-found.steps.count(axis=0), kind="stable")
    chosen = sorted([int(j) for j in often if found.shared[j]][: len(COLOURS)])
    return dict(zip(chosen, COLOURS, strict=False))


def _draw_raster(axes: "Axes", found: KeyStates, colours: dict[int, str]) -> None:
    order = np.arange(len(found.steps))
    if len(found.order):
        order = np.argsort(found.steps[:, found.order[0]].filled(-1), kind="stable")
    rows = np.arange(len(order))
    data = found.trajectories
    times = [
        np.arange(n + 1) if data.rate is None else data.seconds(i)
        for i, n in enumerate(data.lengths)
    ]
    last = np.array([times[i][-2] for i in order])
    axes.hlines(rows, 0, last, color=GRID, linewidth=1.0, zorder=1)
    size = float(np.clip(1500 / len(rows), 5, 40))
    rare = [j for j in range(found.steps.shape[1]) if j not in colours]
    counts = found.steps.count(axis=0)
    for column in (*colours, *rare):
        label, steps = shorten(found.name(column), 28), found.steps[:, column].filled(-1)
        if counts[column] < len(rows):
            label += f" in {counts[column]}"
        if column in rare:
            label = f"in few demonstrations: {len(rare)} kinds" if column == rare[0] else ""
        axes.scatter(
            [times[i][t] if t >= 0 else np.nan for i, t in zip(order, steps[order], strict=True)],
            rows,
            s=size if column in colours else size / 2,
            color=colours.get(column, QUIET),
            label=label or None,
            linewidth=0,
            zorder=3,
        )
    unit = "step" if data.rate is None else "seconds"
    axes.set(ylim=(len(rows), -1), xlim=(0, max(own[-1] for own in times)), yticks=[])
    axes.set(xlabel=unit, ylabel=f"{len(rows)} demonstrations")
    style_axes(axes)


def _draw_legend(axes: "Axes") -> int:
    """Draw a legend above the axes, at most as wide; return the number of its rows."""
    entries = len(axes.get_legend_handles_labels()[1])
    for columns in (4, 3, 2, 1):
        legend = axes.legend(
            loc="lower left", bbox_to_anchor=(-0.01, 1.0), ncols=columns, frameon=False, fontsize=8,
            labelcolor=INK, handletextpad=0.1, columnspacing=1.0, borderpad=0.2,
        )  # fmt: skip
        if legend.get_window_extent().width <= 1.02 * axes.bbox.width:
            break
    return -(-entries // columns)


def _in_strip(found: KeyStates, which: int) -> list[int]:
    """Key states of a trajectory in order of time, at most PANELS: those of most trajectories."""
    steps, often = found.steps[which], found.steps.count(axis=0)
    order = np.argsort(steps.filled(-1), kind="stable").tolist()
    own = [j for j in order if steps[j] is not np.ma.masked]
    kept = sorted(own, key=lambda j: -int(often[j]))[:PANELS]
    return [j for j in own if j in kept]


def _draw_strip(
    axes: "Sequence[Axes]",
    found: KeyStates,
    which: int,
    there: Sequence[int],
    bodies: dict[str, list[int]],
    colours: dict[int, str],
) -> None:
    """Side view of one demonstration at each key state: bodies, and their paths since the last."""
    states, columns_of = found.trajectories.doubles()[which], found.steps[which]
    own = [*(int(columns_of[j]) for j in there), len(states) - 1]
    columns = [c for triple in bodies.values() for c in triple]
    points = states[:, columns].reshape(len(states), -1, 3)
    across = int(np.ptp(points[..., 1]) > np.ptp(points[..., 0]))  # the wider one of x and y
    seen = points[..., [across, 2]]
    low, high = seen.min(axis=(0, 1)), seen.max(axis=(0, 1))
    room = 0.12 * (high - low) + 1e-9
    last = 0
    for i, (panel, step) in enumerate(zip(axes, own, strict=True)):
        for body, (name, colour) in enumerate(zip(bodies, BODIES, strict=False)):
            path = seen[last : step + 1, body]
            panel.plot(*path.T, color=colour, linewidth=1.2, alpha=0.5)
            panel.scatter(
                path[-1, 0], path[-1, 1], s=34, color=colour, label=shorten(name, 12), zorder=3,
                linewidth=0,
            )  # fmt: skip
        panel.set_xlim(low[0] - room[0], high[0] + room[0])
        panel.set_ylim(low[1] - room[1], high[1] + room[1])
        panel.set(xticks=[], yticks=[])
        for spine in panel.spines.values():
            spine.set_color(colours.get(there[i], QUIET) if i < len(there) else QUIET)
            spine.set_linewidth(2 if i < len(own) - 1 else 1)
        name = shorten(found.name(there[i]), 160 // len(own)) if i < len(there) else "end"
        data = found.trajectories
        at = f"step {step}" if data.rate is None else f"{data.seconds(which)[step]:.1f} s"
        width = 1.04 * panel.bbox.width
        fit(panel.set_title(f"{name}, {at}", fontsize=8.5, color=INK, pad=3), width)
        last = step
    for size in (8, 7, 6):
        legend = axes[0].legend(
            loc="best", frameon=False, fontsize=size, labelcolor=INK, handletextpad=0.3,
            handlelength=0.8, borderpad=0.2,
        )  # fmt: skip
        if legend.get_window_extent().width <= 0.94 * axes[0].bbox.width:
            break
    axes[0].set_ylabel(
        f"demonstration {episode_names(found.trajectories)[which]}\nfrom the side",
        color=INK,
        fontsize=8.5,
    )


def _bodies(names: Sequence[str]) -> dict[str, list[int]]:
    """Coordinates of at most three bodies whose positions are named NAME.x, NAME.y, NAME.z."""
    place = {name: i for i, name in enumerate(names)}
    found = {}
    for name in names:
        body = name.removesuffix(".x")
        triple = [f"{body}.{axis}" for axis in "xyz"]
        if name.endswith(".x") and "_to_" not in body and all(t in place for t in triple):
            found[short_name(body)] = [place[t] for t in triple]
    return dict(list(found.items())[: len(BODIES)])
