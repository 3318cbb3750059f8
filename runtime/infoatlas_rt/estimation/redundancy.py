"""Coordinates of a side that others determine: copies, sums and differences.

A random projection weighs all coordinates equally. A coordinate with copies would count as often as
it is repeated, and sliced information rises although no information was added (Semenenko et al.,
arXiv 2506.04053). The information of the side is the same without them.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ..inputs.gpu_arrays import Array, array_namespace, to_host

# Largest share of a coordinate's variance that others may leave unexplained: above the rounding of
# float32, and below what smooth motion leaves in short windows (about 1e-3).
UNEXPLAINED = 1e-8
RIDGE = 1e-10  # keeps the factorisation of copies possible


def redundant(samples: Array) -> tuple[int, ...]:
    """Coordinates of samples [n, d] that those before them determine linearly; not constant ones.

    With at most d + 1 samples nothing can be concluded, and the result is empty.
    """
    n, d = samples.shape
    if n <= d + 1:
        return ()
    centred = samples - array_namespace(samples).mean(samples, axis=0)
    covariance = to_host(centred.T @ centred)
    deviation = np.sqrt(np.diagonal(covariance))
    deviation = np.where(deviation > 0, deviation, 1.0)
    correlation = covariance / deviation / deviation[:, None]
    correlation[np.diag_indices(d)] = 1 + RIDGE
    # The squared diagonal is the share of variance that the coordinates before leave unexplained.
    unexplained = np.diagonal(np.linalg.cholesky(correlation)) ** 2
    return tuple(np.flatnonzero(unexplained < UNEXPLAINED).tolist())


class StreamRedundancy:
    """Redundant coordinates of one side of a stream.

    A coordinate is decided in the first window in which it varies. If a later window contradicts,
    the coordinate is used from then on. So the set changes only when motion becomes less
    restricted, and estimates of a stream remain comparable otherwise.
    """

    def __init__(self) -> None:
        self._decided = self._out = np.zeros(0, bool)

    def update(self, window: NDArray[np.float64]) -> tuple[int, ...]:
        """Redundant coordinates, given the samples [n, d] of the newest window."""
        varies = (window != window[0]).any(axis=0)
        if len(self._out) != len(varies):
            self._decided = self._out = np.zeros(len(varies), bool)
        new = varies & ~self._decided
        if new.any() or (self._out & varies).any():
            found = np.isin(np.arange(len(varies)), redundant(window))
            self._out = np.where(new, found, self._out & (found | ~varies))
            self._decided = self._decided | new
        return tuple(np.flatnonzero(self._out).tolist())
