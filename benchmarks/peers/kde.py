"""KDE: mutual information from kernel density estimates of x, y and both."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray


def kde(x: NDArray[np.floating], y: NDArray[np.floating]) -> float:
    """Mutual information (nats) from kernel density estimates of x, y and both.

    Gaussian kernels with the covariance of the data, scaled by Scott's rule n^(-1/(d+4)), as
    scipy's `gaussian_kde` does. Each density leaves out the sample at which it is evaluated;
    otherwise the estimate would be far too large (Moon, Rajagopalan and Lall 1995).
    """
    noise = 1e-6 * np.random.default_rng(0).standard_normal((len(x), x.shape[1] + y.shape[1]))
    both = np.hstack([x, y])
    both = both + noise * both.std(0)  # a copied coordinate has no covariance to invert
    dx = x.shape[1]
    own, other, joint = (_log_density(part) for part in (both[:, :dx], both[:, dx:], both))
    return float((joint - own - other).mean())


def _log_density(z: NDArray[np.floating]) -> NDArray[np.float64]:
    """Leave-one-out log-density at each of z [n, d]: [n], nats."""
    n, d = z.shape
    factor = np.linalg.cholesky(np.atleast_2d(np.cov(z, rowvar=False))) * n ** (-1 / (d + 4))
    z = np.linalg.solve(factor, (z - z.mean(0)).T).T
    norm = np.square(z).sum(1)
    log_sum = np.empty(n)
    for first in range(0, n, 500):
        part = slice(first, first + 500)
        log_kernel = z[part] @ z.T - (norm[part, None] + norm) / 2
        rows = np.arange(len(log_kernel))
        log_kernel[rows, rows + first] = -np.inf
        largest = log_kernel.max(1)
        log_kernel -= largest[:, None]
        log_sum[part] = largest + np.log(np.exp(log_kernel, out=log_kernel).sum(1))
    constant = d / 2 * np.log(2 * np.pi) + np.log(np.diag(factor)).sum() + np.log(n - 1)
    return log_sum - constant
