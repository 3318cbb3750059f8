"""Compare pictures by their content: axes, series and labels."""

from itertools import combinations

import numpy as np
from matplotlib.text import Text
from matplotlib.transforms import Bbox


def drawn(line):
    """x and y of a line as lists, without the NaN that separate its pieces."""
    x, y = np.asarray(line.get_xdata(), float), np.asarray(line.get_ydata(), float)
    return [x[np.isfinite(y)].tolist(), y[np.isfinite(y)].tolist()]


def series(axes, points):
    """x and y of the only line with that many points."""
    (line,) = [line for line in axes.lines if len(drawn(line)[0]) == points]
    return drawn(line)


def words(axes):
    """All texts in the axes."""
    return [text.get_text() for text in axes.texts]


def texts_drawn(figure):
    """Each text that a drawing of the figure shows, with its box in pixels."""
    found, draw = [], Text.draw

    def record(text, renderer, *rest, **more):
        if text.get_visible() and text.get_text().strip():
            found.append((text.get_text(), text.get_window_extent(renderer)))
        return draw(text, renderer, *rest, **more)

    Text.draw = record
    try:
        figure.draw_without_rendering()
    finally:
        Text.draw = draw
    return found


def crossing(figure):
    """Pairs of texts that overlap, and texts beyond the edge of the picture."""
    shown = texts_drawn(figure)
    pairs = []
    for (one, a), (other, b) in combinations(shown, 2):
        common = Bbox.intersection(a, b)
        if common is not None and min(common.width, common.height) > 1:
            pairs.append((one, other))
    edge = figure.bbox.padded(2)
    outside = [text for text, box in shown if Bbox.intersection(edge, box).bounds != box.bounds]
    return pairs, outside
