"""Recorded steps and working steps: key states do not depend on the rate of recording.

Key states are found on *working steps*: means of `stride` recorded steps each. There are 15 to 30
of them a second if the rate of recording is known and high enough. Windows and tolerances are given
in seconds.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Float = NDArray[np.float64]

FASTEST = 30.0  # working steps a second, at most
NOMINAL = 20.0  # working steps a second if the rate is not known
COHERENT = 8  # working steps over which motion keeps half of its autocovariance, at most
FEWEST = 60  # working steps of a demonstration, at least, if the rate is not known
LONGEST = 64  # largest lag of the autocovariance, in recorded steps


@dataclass(frozen=True)
class Timing:
    """Recorded steps of a working step, and its duration.

    Attributes
    ----------
    stride : int
        Recorded steps of a working step.
    rate : float or None
        Recorded steps a second (Hz), if it is known.
    """

    stride: int = 1
    rate: float | None = None

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


def choose_timing(
    states: Sequence[Float], rate: float | None = None, stride: int | None = None
) -> Timing:
    """Working steps for recordings.

    Parameters
    ----------
    states : sequence of [T_i, p] float64
    rate : float, optional
        Recorded steps a second (Hz). If given, the stride results in at most 30 working steps a
        second. Otherwise the stride is chosen such that motion keeps half of its autocovariance for
        at most 8 working steps (median over coordinates), and demonstrations have 60 working steps
        or more.
    stride : int, optional
        Recorded steps of a working step; used as given.

    Returns
    -------
    Timing
    """
    if stride is not None:
        return Timing(stride, rate)
    if rate is not None:
        return Timing(max(1, int(np.ceil(rate / FASTEST - 0.01))), rate)
    increments = [np.diff(s, axis=0) for s in states if len(s) > LONGEST // 4]
    if not increments:
        return Timing(1, None)
    width, count = increments[0].shape[1], np.zeros(LONGEST)
    covariance = np.zeros((LONGEST, width))
    for d in increments:
        for lag in range(2, min(LONGEST, len(d) - 1)):  # sensor noise is in lags 0 and 1
            covariance[lag] += np.einsum("ij,ij->j", d[lag:], d[:-lag])
            count[lag] += len(d) - lag
    covariance /= np.maximum(count, 1)[:, None]
    top = np.maximum(covariance[2:5].max(axis=0), 1e-300)
    kept = (covariance[2:] >= 0.5 * top) & (count[2:, None] > 0)
    coherent = 2 + np.where(kept.all(axis=0), len(kept), kept.argmin(axis=0))
    most = int(np.median([len(s) for s in states])) // FEWEST
    return Timing(max(1, min(int(np.median(coherent)) // COHERENT, most)), None)
