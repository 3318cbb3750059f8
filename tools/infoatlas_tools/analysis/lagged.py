"""Rows of two series at several lags, within trajectories; labels of sides; and the best lag."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from infoatlas_rt.errors import InputError
from infoatlas_rt.estimation.standard_error import sampling_noise
from infoatlas_rt.inputs.arrays import column_names
from infoatlas_rt.inputs.checks import as_samples

from ..array_types import Float, Int

NAMED = 3  # columns that a label lists, at most


def lagged_rows(
    x: Any, y: Any, lags: Sequence[Sequence[int]]
) -> tuple[NDArray[Any], NDArray[Any], NDArray[Any], NDArray[np.int64]]:
    """States of x and y at several lags behind each step t, and the trajectory of each row.

    x and y are series [T] or [T, d], or lists of such trajectories. `lags` are those of x, of y,
    and a second set of lags of y; a negative lag is ahead of t. Rows have the states side by side,
    as [n, len(lags[0]) dx]. Trajectories [n] are 0..N-1, ascending; only those with rows count.
    InputError if the series do not fit together, or none is longer than the lags.
    """
    reach = max(0, *(max(some, default=0) for some in lags))
    ahead = max(0, *(-min(some, default=0) for some in lags))
    parts: list[list[NDArray[np.float64]]] = []
    pairs = _pairs(x, y)
    for a, b in pairs:
        steps = np.arange(reach, len(a) - ahead)
        if len(steps):
            sides = zip((a, b, b), lags, strict=True)
            states = (side[steps[:, None] - np.array(some, np.int64)] for side, some in sides)
            parts.append([own.reshape(len(steps), -1) for own in states])
    if not parts:
        longest = max(len(a) for a, _ in pairs)
        raise InputError(
            f"the lags need more than {reach + ahead} steps, and the longest series has "
            f"{longest}: pass smaller lags, or longer series"
        )
    one, two, three = (np.concatenate(side) for side in zip(*parts, strict=True))
    return one, two, three, np.repeat(np.arange(len(parts)), [len(part[0]) for part in parts])


def _pairs(x: Any, y: Any) -> list[tuple[NDArray[np.float64], NDArray[np.float64]]]:
    """The trajectories of both series, checked."""
    if _is_list(x) != _is_list(y):
        raise InputError(
            "one of x and y is a list of trajectories and the other is not: pass two lists, or "
            "two series"
        )
    if not _is_list(x):
        x, y = [x], [y]
    if len(x) != len(y):
        raise InputError(f"x has {len(x)} trajectories and y has {len(y)}: pass as many of each")
    where = [f" of trajectory {i}" if len(x) > 1 else "" for i in range(len(x))]
    sides = [
        # A shift of each trajectory by its own first integer would remove offsets between them.
        [as_samples(part, name + at, len(x) == 1) for part, at in zip(side, where, strict=True)]
        for name, side in (("x", x), ("y", y))
    ]
    for name, side in (("x", x), ("y", y)):
        columns = [column_names(part) for part in side]
        for i, other in enumerate(columns):
            if other != columns[0]:
                raise InputError(
                    f"{name} of trajectory {i} has the columns {', '.join(other or ()) or 'none'}, "
                    f"and that of trajectory 0 {', '.join(columns[0] or ()) or 'none'}: pass the "
                    "same ones in the same order"
                )
    pairs = list(zip(*sides, strict=True))
    for (a, b), at in zip(pairs, where, strict=True):
        if len(a) != len(b):
            raise InputError(
                f"x{at} has {len(a)} steps and y{at} has {len(b)}: pass as many of each"
            )
        if (a.shape[1], b.shape[1]) != (pairs[0][0].shape[1], pairs[0][1].shape[1]):
            raise InputError(
                f"x and y{at} have {a.shape[1]} and {b.shape[1]} coordinates, those of trajectory "
                f"0 {pairs[0][0].shape[1]} and {pairs[0][1].shape[1]}: pass the same ones"
            )
    return pairs


def _is_list(values: Any) -> bool:
    """Whether values are a list of arrays or tables, not one array as lists of numbers."""
    return isinstance(values, list | tuple) and bool(values) and hasattr(values[0], "shape")


def side_label(values: Any, name: str) -> str:
    """Names of the columns of a side, if they are few; otherwise `name`."""
    columns = column_names(values)
    if not columns and isinstance(getattr(values, "name", None), str):
        columns = (values.name,)  # of a Series
    return ", ".join(columns) if 0 < len(columns) <= NAMED else name


def series_label(values: Any, name: str) -> str:
    """`side_label` of a series, or of the first of a list of trajectories."""
    return side_label(values[0] if _is_list(values) else values, name)


REPLICATES = 1000
LEVELS = (0.05, 0.95)  # of the 90% interval
TINY = 1e-12  # of 1 - exp(-2 mi)


def best_lag(
    lags: Int, mi: Float, influences: Sequence[Float], dims: int, seed: int
) -> tuple[float, tuple[float, float]]:
    """Lag of the largest estimate and its 90% interval, in fractions of steps.

    Estimates at neighbouring lags share their samples, so their own intervals overlap even where
    the lag is certain. A block bootstrap repeats the comparison: it draws blocks of steps, the same
    ones at all lags, and adds the mean of their influences to each estimate. Nothing is estimated
    again. `benchmarks/lags.py` counts how many intervals contain the true lag.

    `lags` [m] ascend, and `mi` [m] is in nats, of sides with `dims` coordinates. `influences` are m
    of [n]: the influence of each sample on each estimate, in order of time.
    """
    influence = np.stack(influences, axis=1)
    n = len(influence)
    effective = min(
        sampling_noise(own, np.zeros(1), time_series=True).effective_samples for own in influences
    )
    length = int(np.clip(max(2 * n / effective, n ** (1 / 3)), 1, max(n // 5, 1)))
    draws = np.random.default_rng(seed).integers(n, size=(REPLICATES, -(-n // length)))
    # Sums of all blocks; those at the end continue at the start.
    total = np.concatenate([0 * influence[:1], influence, influence[: length - 1]]).cumsum(axis=0)
    blocks = total[length:] - total[:-length]
    means = blocks[draws].sum(axis=1) / (draws.shape[1] * length)
    low, best, high = peaks(lags, mi[None], dims)[0]
    # Of 150 samples, differences of estimates vary 1.3 (d = 1) to 1.6 times (d = 3) as much as the
    # influences say. The factor sqrt(1 + d) is above these.
    tops = peaks(lags, mi + np.sqrt(1 + dims) * (means - influence.mean(axis=0)), dims)
    ends = np.quantile(tops[:, 0], LEVELS[0]), np.quantile(tops[:, 2], LEVELS[1])
    return float(best), (float(min(low, ends[0])), float(max(high, ends[1])))


def peaks(lags: Int, mi: Float, dims: int) -> Float:
    """Tops [B, 3] of curves through the largest of mi [B, m] and its two neighbours, ascending.

    The mutual information of d coordinates with one correlation is -d/2 log(1 - rho²), a cusp at
    the true lag if there is little noise. Around it, rho² is a parabola if the series are smooth,
    and two lines if they are rough. The tops of both are the outer values, and their mean
    the other one. At the ends of the lags, and between uneven ones, there are no curves: the
    largest is the top, and the outer values are half-way to its neighbours.
    """
    mi = -np.exp(-2 / dims * mi)
    top = mi.argmax(axis=1)
    middle = np.concatenate([lags[:1], (lags[1:] + lags[:-1]) / 2, lags[-1:]])
    found = np.stack([middle[top], lags[top], middle[top + 1]], axis=1)
    step = np.diff(lags)
    even = np.concatenate([[False], step[1:] == step[:-1], [False]])[: len(lags)]
    inner = np.flatnonzero(even[top])
    at = top[inner]
    rise, fall = mi[inner, at] - mi[inner, at - 1], mi[inner, at] - mi[inner, at + 1]
    half = step[at] * (rise - fall) / 2
    parabola = half / np.maximum(rise + fall, TINY)
    straight = half / np.maximum(np.maximum(rise, fall), TINY)
    curves = np.stack([parabola, (parabola + straight) / 2, straight], axis=1)
    found[inner] = lags[at, None] + np.sort(curves, axis=1)
    return found
