"""Two classical estimators to compare with: closed form and nearest neighbours.

They share no code with the library that is judged.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.spatial import cKDTree
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
    """Mutual information from distances to k-th neighbours.

    Kraskov, Stögbauer and Grassberger (2004, doi:10.1103/PhysRevE.69.066138), Eq. 8, with the
    maximum norm, on coordinates of unit variance.

    Parameters
    ----------
    x, y : [n, dx], [n, dy]
    k : int

    Returns
    -------
    float, nats
    """
    sides = [(side - side.mean(0)) / side.std(0) for side in (x, y)]
    joint = np.hstack(sides)
    # The nearest neighbour of a sample is itself.
    distance = cKDTree(joint).query(joint, k=k + 1, p=np.inf)[0][:, -1]
    strictly_within = np.nextafter(distance, 0)
    total = digamma(k) + digamma(len(x))
    for side in sides:
        # Counts the sample itself, which is the 1 in the paper's psi(n_x + 1).
        count = cKDTree(side).query_ball_point(side, strictly_within, p=np.inf, return_length=True)
        total -= digamma(count).mean()
    return float(total)
