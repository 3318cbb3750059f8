"""Pairs of states with their past, over trajectories or environments."""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray


class Pairs(NamedTuple):
    """Samples of (s_t, s_<t-Δt).

    Attributes
    ----------
    x : [n, d]
        States s_t.
    y : [n, history * d]
        s_(t-lag), s_(t-lag-1), ... side by side.
    samples : [n] int64
        Identity of each sample: the same number in two sets of pairs is the same trajectory
        (`ensemble_pairs`) or the same environment and step (`PooledPairs`). The detector
        of extrema matches the samples of two estimates by it.
    """

    x: NDArray[Any]
    y: NDArray[Any]
    samples: NDArray[np.int64]
