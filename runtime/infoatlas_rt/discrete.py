"""Bounds of an estimate that hold whatever a model makes of the samples.

Mutual information is not negative. Where values repeat (flags, counts, contacts, a robot at rest),
it is also not larger than the entropy of either side, and the sample's own table of values says how
much can have been seen of it. Estimates scatter, also around independence, so the lower bound
leaves room for that: cutting at 0 would make the mean of many estimates of independent samples too
large.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

FLOOR = -0.1  # nats
# Nats by which samples that are alone with their values on both sides, as continuous ones are, can
# exceed log n: as far as models read copies at the least n, see `docs/when-to-trust.md`.
BEYOND = 3.5


@dataclass(frozen=True, eq=False)
class Repeats:
    """Which rows of a side are equal: labels [n], 0, 1, ..., the same for equal rows."""

    x: NDArray[np.int64]
    y: NDArray[np.int64]

    def ceiling(self, pairing: NDArray[np.int64] | None = None) -> float:
        """The most that an estimate of samples with these values can be, nats.

        The least of three: the entropy of each side, and the information of the table of pairs. The
        latter is estimated by the observed frequencies, which is too large on average where a table
        has more cells than its sides explain, and corrected by Miller and Madow's term (1955) only
        where that is positive (as of copies). `BEYOND` is added for the share of samples that are
        alone with their values on both sides.

        Parameters
        ----------
        pairing : [n] int64, optional
            Sample pairing[i] of y belongs to sample i of x; sample i itself unless given.
        """
        n = len(self.x)
        y = self.y if pairing is None else self.y[pairing]
        joint = np.unique(self.x * n + y, return_counts=True)[1]
        x_counts, y_counts = np.bincount(self.x), np.bincount(y)
        plain = [_plain_entropy(counts) for counts in (x_counts, y_counts, joint)]
        missing = (len(x_counts) + len(y_counts) - len(joint) - 1) / (2 * n)
        alone = float(((x_counts[self.x] == 1) & (y_counts[y] == 1)).mean())
        table = plain[0] + plain[1] - plain[2] + max(missing, 0.0) + BEYOND * alone
        return max(min(entropy(x_counts), entropy(y_counts), table), 0.0)


def repeats(x: NDArray[np.float64], y: NDArray[np.float64]) -> Repeats | None:
    """Equal rows of paired samples [n, d]; None if no row of either side repeats.

    Projections of a side have as many distinct rows, so what it bounds holds for all of them.
    """
    if _distinct(x) and _distinct(y):
        return None
    found = Repeats(_labels(x), _labels(y))
    continuous = found.x.max() == found.y.max() == len(x) - 1
    return None if continuous else found


def entropy(counts: NDArray[np.int64]) -> float:
    """Entropy of a distribution whose values were observed so many times: nats.

    Chao and Shen's estimate (2003): values that were observed once show what share of the
    distribution was not observed at all. Infinite if all were.
    """
    n = counts.sum()
    coverage = 1 - (counts == 1).sum() / n
    if coverage == 0:
        return math.inf
    if len(counts) == 1:
        return 0.0
    share = coverage * counts / n
    return float(-(share * np.log(share) / -np.expm1(n * np.log1p(-share))).sum())


def bounded(values: NDArray[np.floating[Any]], ceiling: Any) -> NDArray[np.float64]:
    """Values between `FLOOR` and a ceiling (one, or one each): nats, in float64."""
    return np.clip(values.astype(np.float64), FLOOR, ceiling)


def _plain_entropy(counts: NDArray[np.int64]) -> float:
    share = counts / counts.sum()
    return float(-(share * np.log(share)).sum())


def _distinct(samples: NDArray[np.float64]) -> bool:
    """Whether a coordinate has no ties: nearly always, and found at the first one."""
    for column in samples.T:
        ordered = np.sort(column)
        if (ordered[1:] != ordered[:-1]).all():
            return True
    return False


def _labels(samples: NDArray[np.float64]) -> NDArray[np.int64]:
    if _distinct(samples):
        return np.arange(len(samples))
    rows = np.ascontiguousarray(samples + 0.0)  # -0.0 becomes 0.0
    keys = rows.view(f"V{rows.strides[0]}")[:, 0]
    return np.unique(keys, return_inverse=True)[1].astype(np.int64)
