"""The lag with the largest mutual information, at fractions of a step, with its interval.

Estimates at neighbouring lags share their samples, so their own intervals overlap even where the
lag is certain. A block bootstrap repeats the comparison: it draws blocks of steps, the same ones at
all lags, and adds the mean of their influences to each estimate. Nothing is estimated again.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from infoatlas_rt.estimation.standard_error import sampling_noise

REPLICATES = 1000
LEVELS = (0.05, 0.95)  # of the 90% interval
TINY = 1e-12  # nats
PARABOLA = 0.1  # error of a parabola's top, as a share of the distance of the lags

Array = NDArray[np.float64]


def best_lag(
    lags: NDArray[np.int64], mi: Array, influences: Sequence[Array], seed: int
) -> tuple[float, tuple[float, float]]:
    """Lag of the largest estimate and its 90% interval, in steps.

    `lags` [m] ascend, and `mi` [m] is in nats. `influences` are m of [n]: the influence of each
    sample on each estimate, in order of time.
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
    best = float(peaks(lags, mi[None])[0])
    ends = np.quantile(peaks(lags, mi + means - influence.mean(axis=0)), LEVELS)
    shape = PARABOLA * float(np.diff(lags).mean()) if len(lags) > 1 else 0.0
    below, above = (np.hypot(max(side, 0.0), shape) for side in (best - ends[0], ends[1] - best))
    return best, (max(best - below, float(lags[0])), min(best + above, float(lags[-1])))


def peaks(lags: NDArray[np.int64], mi: Array) -> Array:
    """Tops [B] of the parabolas through the largest of mi [B, m] and its two neighbours.

    At the ends of the lags, and between uneven ones, there is none, and the largest is the top.
    """
    top = mi.argmax(axis=1)
    found = lags[top].astype(np.float64)
    step = np.diff(lags)
    even = np.concatenate([[False], step[1:] == step[:-1], [False]])[: len(lags)]
    inner = np.flatnonzero(even[top])
    at = top[inner]
    rise, fall = mi[inner, at] - mi[inner, at - 1], mi[inner, at] - mi[inner, at + 1]
    found[inner] += step[at] * (rise - fall) / (2 * np.maximum(rise + fall, TINY))
    return np.asarray(found)
