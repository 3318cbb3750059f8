"""Draws the objects that a camera sees: their crops, their places and their information."""

from __future__ import annotations

from collections.abc import Sequence
from textwrap import wrap
from typing import TYPE_CHECKING, Any

import numpy as np

from ..keystates.subtasks.subtask_results import SeenObjects
from ..presentation import with_count
from .drawing import GRID, INK, QUIET, draw_heading, new_figure, style_axes
from .keystate_plots import COLOURS
from .label_placement import shorten

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

SHOWN = 6  # demonstrations, evenly spaced; and objects at most
CELL, GAP = 1.3, 0.07  # inches
NAMES, CHART, LABELS = 1.15, 2.0, 1.15  # inches: widths of names, bars, and names of the cuts
TOP, BOTTOM = 1.2, 0.55  # inches above and below the cells
CONTEXT = 2.4  # side of a crop in sides of the object
SMALLEST_CROP = 0.2  # of the height of an image: objects are too small to recognise in less
AFTER = 0.45  # of the side of a crop: the same place in the last image
LINE = 0.19  # inches of a bar
LOWEST = -0.6  # nats: lower end of the bars, as only values above 0 matter
BARS = 4  # room for so many at least, which bounds their height


def contact_sheet(seen: SeenObjects, *, title: str = "", episodes: Sequence[str] = ()) -> Figure:
    """Draw a row for each object: its crops in some demonstrations, and bars of its information.

    A column is a demonstration; its first image is at the top, with numbered boxes. Objects whose
    information never exceeds its error are left out, except where all are such. `episodes` are
    names of the demonstrations, by their places unless given.
    """
    count = len(seen.images)
    shown = np.unique(np.linspace(0, count - 1, min(SHOWN, count)).round().astype(int)).tolist()
    # The largest ones if none is informative.
    objects = sorted((seen.informative or list(range(len(seen.names))))[:SHOWN])
    image = CELL * seen.images.shape[1] / seen.images.shape[2]
    row = max(CELL, LINE * len(seen.cuts) + 0.1)
    left = NAMES + (CELL + GAP) * SHOWN
    width = left + LABELS + CHART + 0.25
    height = TOP + image + (row + GAP) * len(objects) + BOTTOM
    figure = new_figure(width, height)

    def place(x: float, y: float, w: float, h: float) -> Axes:
        """Axes at inches from the left and upper edges."""
        return figure.add_axes((x / width, 1 - (y + h) / height, w / width, h / height))

    for k, i in enumerate(shown):
        x = NAMES + k * (CELL + GAP)
        axes = place(x, TOP, CELL, image)
        _draw_first_image(axes, seen, i, objects)
        axes.set_title(
            f"demonstration {episodes[i] if episodes else i}", fontsize=8, color=QUIET, pad=3
        )
        for r, o in enumerate(objects):
            _draw_crop(place(x, TOP + image + GAP + r * (row + GAP), CELL, CELL), seen, i, o)
    charts = []
    for r, o in enumerate(objects):
        y = TOP + image + GAP + r * (row + GAP)
        _write_name(place(0, y, NAMES - 0.1, CELL), seen, o)
        charts.append(place(left + LABELS, y, CHART, row))
        _draw_information(charts[-1], seen, o)
    _share_scale(charts, seen)
    named = sum(r in seen.names for r in seen.references)
    heading = f"{with_count(len(objects), 'object')}, camera {shorten(seen.camera, 32)}"
    if len(objects) < len(seen.names):
        heading += f" ({len(seen.names) - len(objects)} more with less information)"
    note = (
        "Columns: first images of some demonstrations, and the objects there. Bars: how much the "
        "joints at each key state depend on the object's place then, with standard errors; "
        "below 0: not at all."
    )
    more = (
        "Coloured bar with a dot: the motion until this key state is about this object "
        f"({named} of {len(seen.cuts)} key states). Small crop: the same place in the last image. "
        "Name objects by number: --object-name 1=bottle"
    )
    draw_heading(figure, heading, note, more, title=title)
    return figure


def _colour(o: int) -> str:
    return COLOURS[o % len(COLOURS)]


def _write_name(axes: Axes, seen: SeenObjects, o: int) -> None:
    """The number of an object, as in the images, its name, and how often its place changes."""
    axes.set_axis_off()
    badge = {"facecolor": _colour(o), "edgecolor": "none", "pad": 2.5}
    axes.text(
        0.93, 0.68, str(seen.numbers[o]), color="white", fontsize=12, fontweight="bold", ha="right",
        va="center", bbox=badge,
    )  # fmt: skip
    lines = wrap(shorten(seen.names[o], 48), 14)
    axes.text(0.97, 0.5, "\n".join(lines), color=INK, fontsize=10, ha="right", va="top")
    if _changes(seen, o):
        share = f"place changes\nin {seen.left[:, o].max():.0%}"
        axes.text(0.97, 0.02, share, color=QUIET, fontsize=8, ha="right", va="bottom")


def _changes(seen: SeenObjects, o: int) -> bool:
    """Whether the place of an object shows something else after a cut that is about it."""
    own = [name == seen.names[o] for name in seen.references]
    return bool((seen.left[own, o] > 0).any())


def _bare(axes: Axes) -> None:
    axes.set(xticks=[], yticks=[])
    for spine in axes.spines.values():
        spine.set_color(GRID)


def _draw_box(axes: Axes, box: Sequence[int], o: int) -> None:
    """A box around an object, white outside, in its colour inside."""
    from matplotlib.patches import Rectangle

    x, y, w, h = box
    for colour, line in (("white", 2.2), (_colour(o), 1.2)):
        axes.add_patch(Rectangle((x - 1.5, y - 1.5), w + 2, h + 2, fill=False, ec=colour, lw=line))


def _draw_first_image(axes: Axes, seen: SeenObjects, i: int, objects: Sequence[int]) -> None:
    """The first image of a demonstration, with a numbered box around each object."""
    axes.imshow(seen.images[i], interpolation="bilinear")
    _bare(axes)
    for o in objects:  # smaller ones over larger ones
        x, y, w, h = seen.boxes[i, o].tolist()
        if not w:
            continue
        _draw_box(axes, (x, y, w, h), o)
        above = y > 0.12 * seen.images.shape[1]
        axes.text(
            x + w / 2, y - 3 if above else y + h + 3, str(seen.numbers[o]), color="white",
            fontsize=6.5, fontweight="bold", ha="center", va="bottom" if above else "top",
            bbox={"facecolor": _colour(o), "edgecolor": "none", "pad": 0.9},
        )  # fmt: skip


def _draw_crop(axes: Axes, seen: SeenObjects, i: int, o: int) -> None:
    """An object in one demonstration, at the same scale in all."""
    _bare(axes)
    x, y, w, h = seen.boxes[i, o].tolist()
    if not w:
        axes.set_facecolor(GRID)
        axes.text(0.5, 0.5, "not seen", color=QUIET, fontsize=9, ha="center", va="center")
        return
    rows, columns = seen.images.shape[1:3]
    sizes = seen.boxes[:, o, 2:].max(axis=1)
    half = max(CONTEXT * np.median(sizes[sizes > 0]), SMALLEST_CROP * rows) / 2
    half = min(half, min(rows, columns) / 2)
    middle_x = min(max(x + w / 2, half), columns - half)
    middle_y = min(max(y + h / 2, half), rows - half)
    _draw_box(axes, (x, y, w, h), o)
    shown = [(axes, seen.images[i])]
    if _changes(seen, o):
        shown.append((axes.inset_axes((1 - AFTER, 0, AFTER, AFTER)), seen.after[i]))
    for own, image in shown:
        _bare(own)
        own.imshow(image, interpolation="bilinear")
        own.set_xlim(middle_x - half - 0.5, middle_x + half - 0.5)
        own.set_ylim(middle_y + half - 0.5, middle_y - half - 0.5)


def _draw_information(axes: Axes, seen: SeenObjects, o: int) -> None:
    """Bars of one object's information about the joints at each cut."""
    style_axes(axes)
    for c, reference in enumerate(seen.references):
        nats, error, chosen = seen.nats[c, o], seen.stderr[c, o], reference == seen.names[o]
        if np.isnan(nats):
            axes.text(0, c, " seen in too few demonstrations", color=QUIET, fontsize=7, va="center")
            continue
        axes.barh(c, nats, height=0.62, color=_colour(o) if chosen else "#c9d0d7", zorder=2)
        axes.errorbar(nats, c, xerr=error, color=INK, elinewidth=0.9, capsize=2, zorder=3)
        if chosen:
            axes.plot(nats, c, "o", color=INK, markersize=3.5, zorder=4)
    axes.axvline(0, color=QUIET, linewidth=0.8, zorder=1)
    axes.set_yticks(range(len(seen.cuts)), [shorten(cut, 18) for cut in seen.cuts], fontsize=7.5)
    for tick, reference in zip(axes.get_yticklabels(), seen.references, strict=True):
        if reference == seen.names[o]:
            tick.set(color=INK, fontweight="bold")
    axes.tick_params(axis="y", length=0)
    axes.set_ylim(max(len(seen.cuts), BARS) - 0.4, -0.6)
    axes.grid(axis="x", color=GRID, linewidth=0.8, zorder=0)
    axes.set_axisbelow(True)


def _share_scale(charts: list[Any], seen: SeenObjects) -> None:
    """The same nats in all charts; numbers at the lowest."""
    if not charts:
        return
    low = max(np.nanmin(np.append(seen.nats - seen.stderr, 0)), LOWEST)
    high = np.nanmax(np.append(seen.nats + seen.stderr, 0.5))
    room = 0.05 * (high - low)
    for axes in charts:
        axes.set_xlim(low - room, high + room)
        axes.tick_params(axis="x", labelbottom=axes is charts[-1], labelsize=8)
    charts[-1].set_xlabel("information, nats", fontsize=9)
