"""Detects that one side is a smooth function of the other, so that the information is infinite.

A local linear regression predicts a sample from its nearest neighbours. Of a smooth function, the
error is its curvature, which decreases with the square of the distance; of noise, it remains. So
the errors with few and with four times as many neighbours are compared.
"""

import numpy as np
from numpy.typing import NDArray

from ..inputs.gpu_arrays import to_host
from .bounds import repeats
from .canonical import clip_outliers, standardise
from .prepare import Samples

LEAST = 1.0  # nats; an estimate below it is not that of a function
MOST = 2_000  # samples that are compared; of more, evenly spaced ones
POINTS = 64  # of these are predicted
WIDER = 4  # times as many neighbours, further away: the error of a function grows with them
DISTINCT = 0.9  # least share of different values of a coordinate that can be a function
PRECISE = 0.2  # largest error that counts, in deviations
# Samples in order of time that are this share of all apart, or closer, are no neighbours: they are
# similar without being dependent.
RECENT = 0.1

Matrix = NDArray[np.float64]


def is_determined(samples: Samples, time_series: bool) -> bool:
    """Whether a coordinate of one side is a smooth function of the other, as far as n can resolve.

    False if values repeat or are rounded: the entropy bounds the information then.
    """
    if samples.resolution_x is not None or samples.resolution_y is not None:
        return False
    samples = samples.take(np.arange(0, len(samples), -(-len(samples) // MOST)))
    if repeats(samples.x, samples.y) is not None:
        return False
    n = len(samples)
    rows = np.random.default_rng(0).permutation(n)[:POINTS]
    if samples.groups is not None:
        close = samples.groups[rows, None] == samples.groups
    else:
        apart = RECENT * n if time_series else 0.0
        close = abs(rows[:, None] - np.arange(n)) <= apart
    x, y = (standardise(clip_outliers(to_host(side))) for side in (samples.x, samples.y))
    return _function(x, y, rows, close) or _function(y, x, rows, close)


def _function(x: Matrix, y: Matrix, rows: NDArray[np.int64], close: NDArray[np.bool_]) -> bool:
    """Whether a column of y [n, dy] without ties is a function of x [n, dx].

    `rows` [m] are predicted from samples that are not `close` [m, n] in time.
    """
    y = y[:, [len(np.unique(column)) > DISTINCT * len(y) for column in y.T]]
    strength, axes = np.linalg.eigh(x.T @ x / len(x))
    kept = strength > 1e-9 * strength[-1]
    x = x @ axes[:, kept]
    d = x.shape[1]
    few = 2 * (d + 1)
    if WIDER * few > (~close).sum(axis=1).min() / 3:
        return False  # the neighbours of a sample would be most of all
    distance = (x**2).sum(axis=1) - 2 * x[rows] @ x.T  # and |x_row|^2, the same in a row
    distance[close] = np.inf
    nearest = np.argpartition(distance, (few, WIDER * few), axis=1)
    error = _error(x, y, rows, nearest[:, :few])
    precise = error < PRECISE
    if not precise.any():
        return False
    wider = _error(x, y[:, precise], rows, nearest[:, : WIDER * few])
    # Distances grow by the factor WIDER^(1/d); the error of a function by its square.
    return bool((error[precise] * WIDER ** (1 / d) < wider).any())


def _error(x: Matrix, y: Matrix, rows: NDArray[np.int64], near: NDArray[np.int64]) -> Matrix:
    """Median error of y [dy] at the rows, predicted linearly from their samples `near` [m, k]."""
    design = np.pad(x[near] - x[rows, None], ((0, 0), (0, 0), (1, 0)), constant_values=1.0)
    predicted = (np.linalg.pinv(design)[:, :1] @ y[near])[:, 0]
    error: Matrix = np.median(abs(predicted - y[rows]), axis=0)
    return error
