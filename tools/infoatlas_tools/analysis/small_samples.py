"""Gaussian estimate of mutual information, for fewer samples than the model needs."""

from __future__ import annotations

import numpy as np

from ..array_types import Float, Int

TOLERANCE = 1e-9  # of the largest variance: a direction below it is constant
COPIES = 0.999999  # largest squared canonical correlation, for copies


def gaussian_information(x: Float, y: Float, groups: Int) -> tuple[float, float]:
    """Mutual information of Gaussians with the covariance of the samples, and its standard error.

    The bias of the log-determinants is removed (Misra, Singh and Demchuk, 2005, J. Multivariate
    Analysis 92). The standard error is from a jackknife over groups; samples of one may depend on
    each other. Both are in nats; NaN if there are too few samples for the dimensions, or a single
    group for the standard error; 0 and 0 if one side is constant.
    """
    if not np.ptp(x, axis=0).any() or not np.ptp(y, axis=0).any():
        return 0.0, 0.0
    mi = _information(x, y)
    names = np.unique(groups)
    if np.isnan(mi) or len(names) < 2:
        return mi, float("nan")
    without = np.array([_information(x[groups != g], y[groups != g]) for g in names])
    without = without[np.isfinite(without)]
    count = len(without)
    if count < 2:
        return mi, float("nan")
    return mi, float(np.sqrt((count - 1) / count * ((without - without.mean()) ** 2).sum()))


def _information(x: Float, y: Float) -> float:
    x, y = _whiten(x), _whiten(y)
    n, dx, dy = len(x), x.shape[1], y.shape[1]
    if not dx or not dy:
        return 0.0
    if n < dx + dy + 3:
        return float("nan")
    squares = np.linalg.svd(x.T @ y, compute_uv=False) ** 2
    mi = -0.5 * np.log1p(-np.minimum(squares, COPIES)).sum()
    bias = 0.5 * (_log_determinant(n, dx) + _log_determinant(n, dy) - _log_determinant(n, dx + dy))
    return float(mi - bias)


def _whiten(x: Float) -> Float:
    """Orthonormal columns that span the centred ones."""
    u, s, _ = np.linalg.svd(x - x.mean(axis=0), full_matrices=False)
    return np.asarray(u[:, s**2 > TOLERANCE * max(s[0] ** 2, 1e-300)])


def _log_determinant(n: int, d: int) -> float:
    """Expectation of the log-determinant of d Gaussians' scatter matrix, up to a constant."""
    return float(sum(_digamma((n - i) / 2) for i in range(1, d + 1)))


def _digamma(x: float) -> float:
    total = 0.0
    while x < 10:
        total -= 1 / x
        x += 1
    square = 1 / (x * x)
    return float(
        total + np.log(x) - 0.5 / x - square * (1 / 12 - square * (1 / 120 - square / 252))
    )
