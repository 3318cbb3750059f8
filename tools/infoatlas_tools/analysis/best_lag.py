"""The lag with the largest mutual information, at fractions of a step, with its interval.

Estimates at neighbouring lags share their samples, so their own intervals overlap even where the
lag is certain. A block bootstrap repeats the comparison: it draws blocks of steps, the same ones at
all lags, and adds the mean of their influences to each estimate. Nothing is estimated again.
`benchmarks/lags.py` counts how many intervals contain the true lag.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from infoatlas_rt.estimation.standard_error import sampling_noise

from ..array_types import Float, Int

REPLICATES = 1000
LEVELS = (0.05, 0.95)  # of the 90% interval
TINY = 1e-12  # of 1 - exp(-2 mi)


def best_lag(
    lags: Int, mi: Float, influences: Sequence[Float], dims: int, seed: int
) -> tuple[float, tuple[float, float]]:
    """Lag of the largest estimate and its 90% interval, in steps.

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
