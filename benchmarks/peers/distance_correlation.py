"""Squared distance correlation, corrected for bias (Székely and Rizzo 2014), from dcor."""

import numpy as np
from numpy.typing import NDArray
from scipy.spatial.distance import cdist

from ..extras import needs

with needs("bench"):
    import dcor


def distance_correlation(x: NDArray[np.float64], y: NDArray[np.float64]) -> float:
    """Squared distance correlation of x [n, dx] and y [n, dy] from U-centred distances.

    Near zero, of either sign, for independent sides; 1 for sides that are geometrically similar.
    """
    # The value of dcor.u_distance_correlation_sqr; but dcor 0.7 computes distances without scipy
    # where array-api-compat wraps numpy, which is ten times slower.
    a, b = (dcor.u_centered(cdist(side, side)) for side in (x, y))
    return float(dcor.u_product(a, b) / np.sqrt(dcor.u_product(a, a) * dcor.u_product(b, b)))
