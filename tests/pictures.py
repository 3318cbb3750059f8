"""Pictures, to be compared by what they contain: axes, series and labels."""

import numpy as np


def drawn(line):
    """x and y of a line as lists, without the NaN that break it at a pause."""
    x, y = np.asarray(line.get_xdata(), float), np.asarray(line.get_ydata(), float)
    return [x[np.isfinite(y)].tolist(), y[np.isfinite(y)].tolist()]


def series(axes, points):
    """x and y of the one line of that many points."""
    (line,) = [line for line in axes.lines if len(drawn(line)[0]) == points]
    return drawn(line)


def words(axes):
    """Every text in the axes."""
    return [text.get_text() for text in axes.texts]
