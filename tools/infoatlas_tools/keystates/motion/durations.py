"""Durations, working steps (`live/timing.py`) and smoothing.

Durations within which something counts as one event, or as noise, are in seconds, so that the rate
of recording does not change which key states are found.
"""

from collections.abc import Sequence

import numpy as np

from infoatlas_rt.live.timing import Timing

from ...array_types import Float, Int

ONE_EVENT = 0.5  # s: what happens within it is one event, such as a contact and its switch
NEAR = ONE_EVENT / 2  # s: a key state, label or detection and its event are no farther apart
APART = 0.3  # s between two events, at least; a signature describes as much on either side
PAUSE = APART / 2  # s: a shorter slow motion is no pause
MOMENT = 0.25  # s over which positions are filtered and velocities taken: sensors jitter within it
UNHURRIED = 5.0  # s of a demonstration: durations are shorter in quicker ones
FASTEST = 30  # working steps a second, at most: more would be mostly noise
COHERENT = 8  # working steps over which motion keeps half of its autocovariance, at most
NOMINAL = 20.0  # working steps a second if the rate is not known
WORKING_STEPS = 2 * FASTEST  # of a demonstration, at least, if the rate is not known: 2 s
LONGEST_LAG = 8 * COHERENT  # recorded steps of the autocovariance: for strides of up to 8


def tempo(lengths: Sequence[int] | Int, frequency: float) -> float:
    """Factor of durations, at most 1: demonstrations of less than 5 s are quicker."""
    return min(1.0, float(np.median(lengths)) / frequency / UNHURRIED)


def choose_timing(
    states: Sequence[Float], rate: float | None = None, stride: int | None = None
) -> Timing:
    """Working steps for recordings [T, p].

    A `stride` is used as given. With a `rate` (Hz), the stride results in at most 30 working steps
    a second. Otherwise it is chosen such that motion keeps half of its autocovariance for at most 8
    working steps (median over coordinates), and demonstrations have 60 working steps or more.
    """
    if stride is not None:
        return _timing(stride, rate)
    if rate is not None:
        return _timing(max(1, int(np.ceil(rate / FASTEST - 0.01))), rate)
    increments = [np.diff(s, axis=0) for s in states if len(s) > LONGEST_LAG // 4]
    if not increments:
        return _timing(1, None)
    width, count = increments[0].shape[1], np.zeros(LONGEST_LAG)
    covariance = np.zeros((LONGEST_LAG, width))
    for d in increments:
        for lag in range(2, min(LONGEST_LAG, len(d) - 1)):  # sensor noise is in lags 0 and 1
            covariance[lag] += np.einsum("ij,ij->j", d[lag:], d[:-lag])
            count[lag] += len(d) - lag
    covariance /= np.maximum(count, 1)[:, None]
    top = np.maximum(covariance[2:5].max(axis=0), 1e-300)
    kept = (covariance[2:] >= 0.5 * top) & (count[2:, None] > 0)
    coherent = 2 + np.where(kept.all(axis=0), len(kept), kept.argmin(axis=0))
    most = int(np.median([len(s) for s in states])) // WORKING_STEPS
    return _timing(max(1, min(int(np.median(coherent)) // COHERENT, most)), None)


def _timing(stride: int, rate: float | None) -> Timing:
    return Timing(stride, rate, NOMINAL if rate is None else rate / stride)


def gaussian_smooth(values: Float, deviation: float) -> Float:
    """Values [T, p] smoothed by a Gaussian; `deviation` in steps."""
    reach = max(1, round(4 * deviation))
    kernel = np.exp(-0.5 * (np.arange(-reach, reach + 1) / deviation) ** 2)
    kernel /= kernel.sum()
    padded = np.pad(
        values, ((reach, reach), (0, 0)), "symmetric" if len(values) > reach else "edge"
    )
    return np.asarray(sum(k * padded[i : i + len(values)] for i, k in enumerate(kernel.tolist())))
