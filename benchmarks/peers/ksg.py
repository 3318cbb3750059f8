"""Three classical estimators to compare with: closed form, nearest neighbours, kernels.

They share no code with the library that is judged. Estimators that are trained for each data set
are in neural_peers.py.
"""

from __future__ import annotations

import npeet_plus
import numpy as np
from numpy.typing import NDArray
from scipy.special import digamma, ndtri
from scipy.stats import rankdata


def gaussian_copula(x: NDArray[np.floating], y: NDArray[np.floating]) -> float:
    """Mutual information of the Gaussian copula, in closed form and corrected for its bias.

    As in Ince et al. (2017, doi:10.1002/hbm.23471), "gcmi": each coordinate is mapped to normal
    scores of its ranks; entropies come from log-determinants of the covariance. Without the
    correction it would be too large by about dx * dy / (2n).

    Parameters
    ----------
    x, y : [n, dx], [n, dy]

    Returns
    -------
    float, nats
    """
    n = len(x)
    scores = ndtri(rankdata(np.hstack([x, y]), axis=0) / (n + 1))
    covariance = np.atleast_2d(np.cov(scores, rowvar=False))

    def entropy(block: NDArray[np.floating]) -> float:
        """Up to n-independent terms of d, which cancel."""
        d = len(block)
        bias = digamma((n - np.arange(1, d + 1)) / 2).sum() - d * np.log((n - 1) / 2)
        return (np.linalg.slogdet(block)[1] - bias) / 2

    dx = x.shape[1]
    sides = entropy(covariance[:dx, :dx]) + entropy(covariance[dx:, dx:])
    return float(sides - entropy(covariance))


def ksg(x: NDArray[np.floating], y: NDArray[np.floating], k: int = 5) -> float:
    """Mutual information from distances to k-th neighbours, as npeet-plus has it.

    Kraskov, Stögbauer and Grassberger (2004, doi:10.1103/PhysRevE.69.066138), Eq. 8, with the
    maximum norm, on coordinates of unit variance. Ties are broken by noise of 1e-7 of that, as the
    authors advise; the library's own is smaller, and has no seed.

    Parameters
    ----------
    x, y : [n, dx], [n, dy]
    k : int

    Returns
    -------
    float, nats
    """
    rng = np.random.default_rng(0)
    sides = [(side - side.mean(0)) / side.std(0) for side in (x, y)]
    sides = [side + 1e-7 * rng.standard_normal(side.shape) for side in sides]
    return float(npeet_plus.mi(*sides, k=k, base=np.e))


def kde(x: NDArray[np.floating], y: NDArray[np.floating]) -> float:
    """Mutual information from kernel density estimates of x, y and both.

    Gaussian kernels with the covariance of the data, scaled by Scott's rule n^(-1/(d+4)), as
    scipy's `gaussian_kde` has them. Each density leaves out the sample that it is evaluated at;
    with it the estimate would be far too large (Moon, Rajagopalan and Lall 1995).

    Parameters
    ----------
    x, y : [n, dx], [n, dy]

    Returns
    -------
    float, nats
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
