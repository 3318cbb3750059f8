"""Bounds to which an estimate of the model is clipped.

Mutual information is not negative. If values repeat (flags, counts, contacts, a robot at rest), it
is also at most the entropy of either side. The table of observed pairs of values gives another
upper bound. Estimates of independent samples scatter around 0. A lower bound of 0 would bias their
mean upwards, so the bound is `FLOOR`.
"""

from __future__ import annotations

import logging
import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..inputs.gpu_arrays import Array, array_namespace, to_host

log = logging.getLogger(__name__)
FLOOR = -0.1  # nats
# Nats by which an estimate of continuous samples (unique values on both sides) can exceed log n:
# the largest excess of models on copies at the smallest n.
MOST_BEYOND = 3.5


@dataclass(frozen=True, eq=False)
class Repeats:
    """Labels [n] of the rows of both sides, 0, 1, ...; equal rows have the same label."""

    x: NDArray[np.int64]
    y: NDArray[np.int64]

    @property
    def copies(self) -> int:
        """Rows that repeat an earlier one, if equal rows of either side are equal in both."""
        kinds = len(np.unique(self.x * len(self.x) + self.y))
        return len(self.x) - kinds if kinds == self.x.max() + 1 == self.y.max() + 1 else 0

    def ceiling(self, pairing: NDArray[np.int64] | None = None) -> float:
        """Upper bound of an estimate of samples with these values, nats.

        The smallest of three values: the entropy of each side, and the mutual information of the
        table of pairs. The latter is estimated from the observed frequencies, which is too large on
        average if the table has more cells than its sides explain. The correction of Miller and
        Madow (1955) is added only if it is positive (as for copies). `MOST_BEYOND` is added for the
        share of samples with unique values on both sides.

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
        table = plain[0] + plain[1] - plain[2] + max(missing, 0.0) + MOST_BEYOND * alone
        return max(min(entropy(x_counts), entropy(y_counts), table), 0.0)


def repeats(x: Array, y: Array) -> Repeats | None:
    """Find equal rows of paired samples [n, d]; None if no row of either side repeats.

    Samples on a GPU are compared there, exactly; labels come to the host if a row repeats.

    A projection of a side has as many distinct rows, so the bounds are valid for all slices.
    """
    if _distinct(x) and _distinct(y):
        return None
    found = Repeats(_labels(x), _labels(y))
    continuous = found.x.max() == found.y.max() == len(x) - 1
    return None if continuous else found


def warn_of_copies(x: Array, y: Array) -> None:
    """Log a warning if rows of paired samples [n, d] are copies of others: chance then repeats."""
    rows = repeats(x, y) if len(x) == len(y) else None
    if rows is not None and rows.copies:
        log.warning(
            "%d of %d rows are exact copies of others, and copies look like dependence: leave out "
            "rows that were recorded twice. Classes, counts, zeros, limits and codes for lost "
            "values are no such copies.", rows.copies, len(x),
        )  # fmt: skip


def entropy(counts: NDArray[np.int64]) -> float:
    """Entropy of a distribution from the counts of its observed values, nats.

    Estimator of Chao and Shen (2003): the share of values that were observed once estimates the
    share of the distribution that was not observed. Infinite if all values were observed once.
    """
    n = counts.sum()
    coverage = 1 - (counts == 1).sum() / n
    if coverage == 0:
        return math.inf
    if len(counts) == 1:
        return 0.0
    share = coverage * counts / n
    return float(-(share * np.log(share) / -np.expm1(n * np.log1p(-share))).sum())


def clip_to_bounds(values: NDArray[np.floating[Any]], ceiling: Any) -> NDArray[np.float64]:
    """Clip values to `FLOOR` and a ceiling (one, or one for each), nats, in float64."""
    return np.clip(values.astype(np.float64), FLOOR, ceiling)


def _plain_entropy(counts: NDArray[np.int64]) -> float:
    share = counts / counts.sum()
    return float(-(share * np.log(share)).sum())


def _distinct(samples: Array) -> bool:
    """Whether any coordinate has no ties; in most data the first one has none."""
    xp = array_namespace(samples)
    for column in samples.T:
        ordered = xp.sort(column, stable=False)
        if (ordered[1:] != ordered[:-1]).all():
            return True
    return False


def _labels(samples: Array) -> NDArray[np.int64]:
    if _distinct(samples):
        return np.arange(len(samples))
    rows = samples + 0.0  # -0.0 becomes 0.0
    if not isinstance(samples, np.ndarray):
        return to_host(_labels_by_sorting(rows))
    rows = np.ascontiguousarray(rows)
    keys = rows.view(f"V{rows.strides[0]}")[:, 0]
    return np.unique(keys, return_inverse=True)[1].astype(np.int64)


def _labels_by_sorting(rows: Array) -> Array:
    """Labels of rows [n, d] with the array API alone: sorted by all coordinates, neighbours equal.

    It needs d sorts, so NumPy's comparison of rows as bytes is faster on the host.
    """
    xp = array_namespace(rows)
    order = xp.argsort(rows[:, -1], stable=True)
    for column in range(rows.shape[1] - 2, -1, -1):
        order = order[xp.argsort(rows[order, column], stable=True)]
    ordered = rows[order]
    new = xp.any(ordered[1:] != ordered[:-1], axis=1)
    labels = xp.zeros_like(order)
    labels[order[1:]] = xp.cumulative_sum(xp.astype(new, labels.dtype))
    return labels
