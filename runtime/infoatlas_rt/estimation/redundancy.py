"""Coordinates of a side that others determine: copies, sums and differences.

A projection weighs all coordinates equally, so one with copies counts several times, and sliced
information rises while information does not (Semenenko et al., 2026, arXiv 2506.04053).
"""

import numpy as np
from numpy.typing import NDArray

from ..inputs.gpu_arrays import Array, array_namespace, to_host

# Largest share of a coordinate's variance that others may leave unexplained: above the rounding of
# float32, and below what smooth motion leaves in short windows (about 1e-3).
UNEXPLAINED = 1e-8
RIDGE = 1e-10  # keeps the factorisation of copies possible


def redundant(samples: Array) -> tuple[int, ...]:
    """Coordinates of samples [n, d] that those before determine linearly; not constant ones."""
    n, d = samples.shape
    if d < 2 or n < d + 2:  # so few samples determine nothing
        return ()
    centred = samples - array_namespace(samples).mean(samples, axis=0)
    covariance = to_host(centred.T @ centred)
    deviation = np.sqrt(np.diagonal(covariance))
    deviation = np.where(deviation > 0, deviation, 1.0)  # constant coordinates
    correlation = covariance / deviation / deviation[:, None]
    correlation[np.diag_indices(d)] = 1 + RIDGE
    # The squared diagonal is the share of variance that the coordinates before leave unexplained.
    unexplained = np.diagonal(np.linalg.cholesky(correlation)) ** 2
    return tuple(np.flatnonzero(unexplained < UNEXPLAINED).tolist())


class StreamRedundancy:
    """Redundant coordinates of one side of a stream.

    A coordinate is decided in the first window in which it varies. If a later window contradicts
    (every tenth is checked), it is used from then on. So estimates of a stream remain comparable.
    """

    def __init__(self) -> None:
        self._undecided = self._out = np.ones(1, bool)  # of any coordinate
        self._updates = 0

    def update(self, window: NDArray[np.float64]) -> tuple[int, ...]:
        """Redundant coordinates, given the samples [n, d] of the newest window."""
        varies = (window != window[0]).any(axis=0)
        new, known = varies & self._undecided, self._out & ~self._undecided
        self._updates += 1
        if new.any() or (self._updates % 10 == 0 and (known & varies).any()):
            found = np.isin(np.arange(len(varies)), redundant(window))
            known = np.where(new, found, known & (found | ~varies))
        self._undecided, self._out = self._undecided & ~varies, known
        return tuple(np.flatnonzero(known).tolist())
