"""Demonstrations in the form that is searched: continuous coordinates in working steps."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from infoatlas_rt.live.timing import Timing

from ..coordinates import ReadCoordinates
from .motion_scales import MotionScales

Float = NDArray[np.float64]
Int = NDArray[np.int64]

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
