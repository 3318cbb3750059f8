"""Recorded steps and working steps: key states do not depend on the rate of recording.

Key states are found and followed on *working steps*: means of `stride` recorded steps each. There
are 15 to 30 of them a second if the rate of recording is known and high enough. Windows and
tolerances are given in seconds.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Float = NDArray[np.float64]

NOMINAL = 20.0  # working steps a second if the rate is not known


@dataclass(frozen=True)
class Timing:
    """Recorded steps of a working step, and its duration."""

    stride: int = 1  # recorded steps of a working step
    rate: float | None = None  # recorded steps a second (Hz), if it is known

    @property
    def frequency(self) -> float:
        """Working steps a second; `NOMINAL` if the rate is not known."""
        return NOMINAL if self.rate is None else self.rate / self.stride

    def steps(self, seconds: float, least: int = 1) -> int:
        """A duration in working steps, at least `least`."""
        return max(least, round(seconds * self.frequency))

    def average(self, states: Float) -> Float:
        """Means [T // stride, p] of recorded states [T, p]; a remainder at the end is left out."""
        if self.stride == 1:
            return states
        count = len(states) // self.stride
        blocks = states[: count * self.stride].reshape(count, self.stride, -1)
        return np.asarray(blocks.mean(axis=1))

    def recorded(self, step: int | NDArray[np.int64]) -> NDArray[np.int64]:
        """The recorded step in the middle of a working step."""
        return np.asarray(step, np.int64) * self.stride + (self.stride - 1) // 2
