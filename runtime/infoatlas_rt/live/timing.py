"""Recorded steps and working steps: key states do not depend on the rate of recording.

Key states are found and followed on *working steps*: means of `stride` recorded steps each. There
are 15 to 30 of them a second if the rate of recording is known and high enough. Windows and
tolerances are given in seconds.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .json_file import floats, integer, number

Float = NDArray[np.float64]


@dataclass(frozen=True)
class Timing:
    """Recorded steps of a working step, and its duration."""

    stride: int  # recorded steps of a working step
    rate: float | None  # recorded steps a second (Hz), if it is known
    frequency: float  # working steps a second; a usual number if the rate is not known

    @classmethod
    def from_dict(cls, values: dict[str, Any]) -> "Timing":
        """From the values of a file; ValueError, KeyError or TypeError if they do not fit."""
        rate = None if values["rate"] is None else number(values, "rate")
        return cls(integer(values, "stride", 1), rate, number(values, "frequency"))

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


@dataclass(frozen=True)
class StreamRate:
    """How the rate of a running stream is found, and how its states become working steps."""

    stamps_kept: int  # newest states of an episode whose stamps are kept
    stamps_for_rate: int  # first states, from whose stamps the rate is estimated
    # Least and largest step of these stamps that counts, as a share of the median one: the others
    # are pauses and lost states.
    usual: tuple[float, float]
    # Rates between these shares of that of the demonstrations count as equal to it.
    same: tuple[float, float]
    # States of a working step from which they are averaged; with fewer, working steps are
    # interpolated.
    averaged: float

    @classmethod
    def from_dict(cls, values: dict[str, Any]) -> "StreamRate":
        """From the values of a file; ValueError, KeyError or TypeError if they do not fit."""
        first = integer(values, "stamps_for_rate", 2)
        least, most = floats(values, "usual", 2).tolist()
        below, above = floats(values, "same", 2).tolist()
        return cls(
            integer(values, "stamps_kept", first), first, (least, most), (below, above),
            number(values, "averaged"),
        )  # fmt: skip
