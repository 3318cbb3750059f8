"""Any score, averaged over random projections of both sides."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
Score = Callable[[Array, Array], float]


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
