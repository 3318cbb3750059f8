"""Gaussian copula with a shrunk covariance, which stays finite where n is below dx + dy."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtri
from scipy.stats import rankdata

from ..extras import missing

try:
    from sklearn.covariance import ledoit_wolf
except ModuleNotFoundError as error:
    raise missing(error, "bench") from error

Array = NDArray[np.float64]


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
