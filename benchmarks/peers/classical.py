"""Estimators and scores of dependence without training."""

from collections.abc import Callable

import npeet_plus
import numpy as np
from numpy.typing import NDArray
from scipy.spatial.distance import pdist, squareform
from scipy.special import digamma, ndtri
from scipy.stats import rankdata

from ..extras import needs

with needs("bench"):
    from sklearn.covariance import ledoit_wolf

Array = NDArray[np.floating]
Score = Callable[[Array, Array], float]


def ksg(x: Array, y: Array, k: int = 5) -> float:
    """Mutual information (nats) from distances to k-th neighbours, from npeet-plus.

    Kraskov, Stögbauer and Grassberger (2004, doi:10.1103/PhysRevE.69.066138), Eq. 8, with the
    maximum norm, on coordinates of unit variance. Ties are broken by noise of 1e-7 of that, as the
    authors advise; the library's own is smaller, and has no seed.
    """
    rng = np.random.default_rng(0)
    sides = [(side - side.mean(0)) / side.std(0) for side in (x, y)]
    sides = [side + 1e-7 * rng.standard_normal(side.shape) for side in sides]
    return float(npeet_plus.mi(*sides, k=k, base=np.e))


def kde(x: Array, y: Array) -> float:
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


def _log_density(z: Array) -> Array:
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


def gaussian_copula(x: Array, y: Array) -> float:
    """Mutual information (nats) of the Gaussian copula, in closed form and corrected for its bias.

    As in Ince et al. (2017, doi:10.1002/hbm.23471), "gcmi": each coordinate is mapped to normal
    scores of its ranks; entropies come from log-determinants of the covariance. Without the
    correction it would be too large by about dx * dy / (2n).
    """
    n = len(x)
    scores = ndtri(rankdata(np.hstack([x, y]), axis=0) / (n + 1))
    covariance = np.atleast_2d(np.cov(scores, rowvar=False))

    def entropy(block: Array) -> float:
        """Entropy up to terms that depend on d only, which cancel."""
        d = len(block)
        bias = digamma((n - np.arange(1, d + 1)) / 2).sum() - d * np.log((n - 1) / 2)
        return (np.linalg.slogdet(block)[1] - bias) / 2

    dx = x.shape[1]
    sides = entropy(covariance[:dx, :dx]) + entropy(covariance[dx:, dx:])
    return float(sides - entropy(covariance))


def shrunk_copula(x: Array, y: Array, ridge: float = 0.0) -> float:
    """Mutual information (nats) of the Gaussian copula, covariance after Ledoit and Wolf (2004).

    `ridge` is added to the diagonal of the covariance.
    """
    scores = ndtri(rankdata(np.hstack([x, y]), axis=0) / (len(x) + 1))
    covariance = ledoit_wolf(scores, assume_centered=True)[0]
    covariance = covariance + ridge * np.eye(len(covariance))
    dx = x.shape[1]
    blocks = covariance[:dx, :dx], covariance[dx:, dx:], covariance
    one, other, both = (np.linalg.slogdet(block)[1] for block in blocks)
    return float(one + other - both) / 2


def hsic(x: Array, y: Array) -> float:
    """Hilbert-Schmidt independence criterion (Gretton et al. 2005) of x [n, dx] and y [n, dy].

    Gaussian kernels whose width is the median distance, centred; between 0 and 1.
    """
    a, b = _centred_kernel(x), _centred_kernel(y)
    return float((a * b).sum() / np.sqrt((a * a).sum() * (b * b).sum()))


def _centred_kernel(side: Array) -> Array:
    """[n, n]"""
    squared = pdist(side, "sqeuclidean")
    kernel = squareform(np.exp(-squared / (2 * np.median(squared))))
    np.fill_diagonal(kernel, 1)
    means = kernel.mean(0)
    return kernel - means - means[:, None] + means.mean()


def projections(d: int, k: int, slices: int, rng: np.random.Generator) -> Array:
    """Orthonormal columns, uniform directions: [slices, d, k]."""
    return np.linalg.qr(rng.standard_normal((slices, d, k)))[0]


def sliced(score: Score, k: int, slices: int, seed: int = 0) -> Score:
    """The mean of `score` over random projections of both sides, the same ones at each call."""

    def mean(x: Array, y: Array) -> float:
        rng = np.random.default_rng(seed)
        x, y = ((side - side.mean(0)) / side.std(0) for side in (x, y))
        pairs = zip(
            projections(x.shape[1], k, slices, rng),
            projections(y.shape[1], k, slices, rng),
            strict=True,
        )
        return float(np.mean([score(x @ a, y @ b) for a, b in pairs]))

    return mean
