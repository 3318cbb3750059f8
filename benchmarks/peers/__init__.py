"""Peers of the models, one module each; they share no code with the library.

Estimators of mutual information and scores of dependence are functions of x [n, dx] and y [n, dy].
The trained ones (`mine`, `infonce`, `knife`) need torch.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from ..extras import missing

try:
    from .gaussian_copula import gaussian_copula
    from .kde import kde
    from .ksg import ksg
except ModuleNotFoundError as error:
    raise missing(error, "bench") from error

Array = NDArray[np.float64]
Score = Callable[[Array, Array], float]

COPULA, KSG, KDE = "Gaussian copula", "KSG (k=5)", "KDE"
PEERS: dict[str, Score] = {COPULA: gaussian_copula, KSG: ksg}
CLASSICAL: dict[str, Score] = {**PEERS, KDE: kde}
