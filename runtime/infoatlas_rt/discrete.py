"""Bounds of an estimate that hold whatever a model makes of the samples.

Mutual information is not negative, and not larger than the entropy of either side. The entropy of a
side whose values repeat (flags, counts, contacts, a robot at rest) can be estimated from how often
they do. Estimates scatter, also around independence, so the lower bound leaves room for that:
cutting at 0 would make the mean of many estimates of independent samples too large.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

FLOOR = -0.1  # nats


def entropy(samples: NDArray[np.float64]) -> float:
    """Entropy of the distinct rows of a sample, nats; infinite if no row repeats.

    Chao and Shen's estimate (2003): the rows that were seen once show what share of the
    distribution was not seen at all. Where nearly all were seen once (a continuous side with a few
    ties), it is so large that it bounds nothing.

    Parameters
    ----------
    samples : [n, d] float64
        Projections of the side have as many distinct rows, so it bounds all of them.

    Returns
    -------
    float, not negative
    """
    n = len(samples)
    for column in samples.T:
        ordered = np.sort(column)
        if (ordered[1:] != ordered[:-1]).all():  # nearly always: continuous
            return math.inf
    rows = np.ascontiguousarray(samples + 0.0)  # -0.0 becomes 0.0
    _, counts = np.unique(rows.view(f"V{rows.strides[0]}"), return_counts=True)
    coverage = 1 - (counts == 1).sum() / n
    if coverage == 0:
        return math.inf
    share = coverage * counts / n
    seen = -np.expm1(n * np.log1p(-share)) if len(counts) > 1 else 1.0
    return float(-(share * np.log(share) / seen).sum()) + 0.0


def bounded(values: NDArray[np.floating[Any]], ceiling: float) -> NDArray[np.float64]:
    """Values between `FLOOR` and `ceiling`, the entropy of a side: nats, in float64."""
    return np.clip(values.astype(np.float64), FLOOR, ceiling)
