"""HSIC: the Hilbert-Schmidt independence criterion, normalised like a correlation."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.spatial.distance import pdist, squareform

Array = NDArray[np.float64]


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
