"""Increments of trajectories. Those too small to mean anything are rest: exactly 0.

Ranks would scale the numerical noise of a robot at rest up to the size of its motion.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

STILL = 1e-4  # of a coordinate's range: a smaller increment is rest

Float = NDArray[np.float64]


def rest_limits(states: Sequence[Float], resolution: Float | None = None) -> Float:
    """Increments below these count as rest.

    Parameters
    ----------
    states : sequence of [T_i, d]
        All trajectories.
    resolution : [d], optional
        What the sensors resolve, in the units of the states.

    Returns
    -------
    [d]
        The resolution, or `STILL` of the coordinate's range, whichever is larger.
    """
    low = np.min([s.min(axis=0) for s in states], axis=0)
    high = np.max([s.max(axis=0) for s in states], axis=0)
    limits = STILL * (high - low)
    return np.asarray(limits if resolution is None else np.maximum(limits, resolution))


def without_rest(increments: Float, limits: Float) -> Float:
    """The same increments, with 0 where they are below the limits of their coordinates."""
    return np.where(np.abs(increments) < limits, 0.0, increments)


def increments(states: Float, lag: int, limits: Float) -> Float:
    """States [T, d] minus those `lag` steps before, without rest: [T - lag, d]."""
    return without_rest(states[lag:] - states[:-lag], limits)
