"""KSG: mutual information from distances to nearest neighbours, from npeet-plus."""

from __future__ import annotations

import npeet_plus
import numpy as np
from numpy.typing import NDArray


def ksg(x: NDArray[np.floating], y: NDArray[np.floating], k: int = 5) -> float:
    """Mutual information (nats) from distances to k-th neighbours, from npeet-plus.

    Kraskov, Stögbauer and Grassberger (2004, doi:10.1103/PhysRevE.69.066138), Eq. 8, with the
    maximum norm, on coordinates of unit variance. Ties are broken by noise of 1e-7 of that, as the
    authors advise; the library's own is smaller, and has no seed.
    """
    rng = np.random.default_rng(0)
    sides = [(side - side.mean(0)) / side.std(0) for side in (x, y)]
    sides = [side + 1e-7 * rng.standard_normal(side.shape) for side in sides]
    return float(npeet_plus.mi(*sides, k=k, base=np.e))
