"""Peers of the models; they share no code with the library.

Estimators of mutual information and scores of dependence are functions of x [n, dx] and y [n, dy].
Those of `trained` need torch.
"""

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from ..extras import needs

with needs("bench"):
    from .classical import gaussian_copula, kde, ksg

Array = NDArray[np.float64]
Score = Callable[[Array, Array], float]

COPULA, KSG, KDE = "Gaussian copula", "KSG (k=5)", "KDE"
PEERS: dict[str, Score] = {COPULA: gaussian_copula, KSG: ksg}
CLASSICAL: dict[str, Score] = {**PEERS, KDE: kde}
