"""Demonstrations in the form that is searched: continuous coordinates in working steps."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from infoatlas_rt.live.timing import Timing

from ...array_types import Bool, Float, Int
from ..coordinates import ReadCoordinates
from .motion_scales import MotionScales

LAG = 2  # working steps between a state and its past


@dataclass(frozen=True, eq=False)
class Recordings:
    """Demonstrations in the form that is searched for key states."""

    coordinates: ReadCoordinates
    scales: MotionScales
    states: list[Float]  # working steps [T, p] of each

    @property
    def timing(self) -> Timing:
        return self.scales.timing

    @property
    def lengths(self) -> Int:
        """Working steps of each demonstration [N]."""
        return np.array([len(s) for s in self.states])

    def reached(self, steps: Any, chosen: Bool) -> Float:
        """Working steps of recorded ones [N, K]; NaN where masked, and in columns not `chosen`."""
        at = np.minimum(steps.filled(0) // self.timing.stride, self.lengths[:, None] - 1)
        return np.where(np.ma.getmaskarray(steps) | ~chosen, np.nan, at)
