"""Key states by the model alone: minima of the local information of a state with its past.

At a contact, a release or a change of plan, the past is least informative about the present: the
local mutual information of a state with its past is low. All (trajectory, step) pairs are pooled,
and the model evaluates them in one forward pass for each of two views of the same moment:

- states: I(s_t+lag/2 ; s_t-lag/2), low if the state is improbable after the earlier state,
- increments: I(s_t+lag - s_t ; s_t - s_t-lag), low if the motion is improbable after the earlier
  motion.

The curve is the mean of both in nats, dated to the middle of the lag and smoothed over `lag` steps.
It detects more events than either: states alone miss the contact of a push, increments alone miss
grasps.

A minimum of a single trajectory can be noise, but an event occurs in all of them. So the K places
(fractions of a trajectory) with the deepest minima over all trajectories are found first. Then
dynamic programming selects minima of each trajectory near those places, in the same order.

Local values of pooled pairs rank the steps. They are not calibrated, because pairs of one
trajectory are not independent (`groups` of `Estimator.estimate`).
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from concurrent.futures import Executor

import numpy as np
from numpy.typing import NDArray

from infoatlas_rt.errors import InputError
from infoatlas_rt.estimation.estimator import Estimator, as_estimator
from infoatlas_rt.estimation.parallel import run_jobs
from infoatlas_rt.estimation.prepare import Samples

from .segmentation import increments, rest_limits

Float = NDArray[np.float64]

# Chosen on three tasks of scripted demonstrations.
K_SLICE, SLICES = 5, 10  # of each view; 20 slices found no more key states
SPREAD = 0.1  # standard deviation of an event's place between trajectories, of their length
ROUNDS = 20


def discover(
    states: Sequence[Float],
    *,
    count: int,
    lag: int = 2,
    estimator: Estimator | str | os.PathLike[str] | None = None,
    executor: Executor | None = None,
) -> tuple[NDArray[np.int64], list[Float], Float]:
    """Find K key states in each trajectory.

    Parameters
    ----------
    states : list of [T_i, d] float64
        Each longer than 2 lag and than K + 1 steps.
    count : int
        K.
    lag : int
        Steps between a state and its past.
    estimator : Estimator, or name or path of a model, optional
        An estimator with slices; "edge" unless given. A model has 10 slices of 5 dimensions.
    executor : concurrent.futures.Executor, optional
        Evaluates the two views side by side.

    Returns
    -------
    steps : [N, K] int64
        Ascending; neither the first nor the last step of a trajectory is among them. Column j is
        the same event in all trajectories, by its place. In a trajectory without a minimum there,
        it is the step at the median place of the event.
    local : list of N arrays [T_i] float64
        Local information in nats, not smoothed; see `local_information`.
    depth : [K] float64
        Nats by which the smoothed local information at an event is below the median of its
        trajectory; mean over trajectories. depth[j] belongs to column j.

    Raises
    ------
    InputError
        A trajectory is too short, there are too few pairs for the model, or all coordinates are
        constant.
    """
    shortest = min(map(len, states), default=0)
    if shortest < count + 2:
        raise InputError(
            f"the shortest trajectory has {shortest} steps, and {count} key states between its "
            f"first and last step take {count + 2}: "
            f"{'ask for fewer, or ' if count > 1 and shortest > 2 else ''}leave that trajectory out"
        )
    local = local_information(states, estimator, lag, executor)
    curves = [smooth(values, lag) for values in local]
    steps = minima(curves, count, 2 * lag)
    depth = [np.median(curve) - curve[own] for curve, own in zip(curves, steps, strict=True)]
    return steps, local, np.mean(depth, axis=0)


def local_information(
    trajectories: Sequence[Float],
    estimator: Estimator | str | os.PathLike[str] | None = None,
    lag: int = 2,
    executor: Executor | None = None,
) -> list[Float]:
    """Local information of each step with its past, pooled over all trajectories.

    Parameters
    ----------
    trajectories : list of [T_i, d] float64
    estimator : Estimator, optional
        As in `discover`.
    lag : int
    executor : concurrent.futures.Executor, optional
        As in `discover`.

    Returns
    -------
    list of N arrays [T_i] float64
        Nats: the mean of the two views. The value of step t compares the `lag` steps after it with
        the `lag` steps before it. The first and last steps, where one side is missing, have the
        value of the nearest step that has both.

    Raises
    ------
    InputError
        As in `discover`.
    """
    lengths = [len(states) for states in trajectories]
    shortest = min(lengths, default=0)
    if shortest <= 2 * lag:
        raise InputError(
            f"the shortest of {len(lengths)} trajectories has {shortest} steps, and lag {lag} "
            f"needs {2 * lag + 1}: leave that trajectory out"
        )
    limits = rest_limits(trajectories)
    columns = np.flatnonzero(limits > 0)
    if len(columns) == 0:
        if not any(np.ptp(states, axis=0).any() for states in trajectories):
            raise InputError(
                f"all {len(limits)} coordinates are constant within every trajectory: record "
                "states that move"
            )
        raise InputError(
            f"each of {len(limits)} coordinates has one value in 99.8% of the steps: use "
            "method='events', or record states that move for longer"
        )
    estimator = as_estimator(estimator, k=min(K_SLICE, len(columns)), slices=SLICES)
    moving = [states[:, columns] for states in trajectories]
    motion = [increments(states, lag, limits[columns]) for states in moving]
    jobs = [
        (np.concatenate([s[lag:] for s in sides]), np.concatenate([s[:-lag] for s in sides]))
        for sides in (moving, motion)
    ]
    views = []
    for found, sides, middle in zip(
        run_jobs(_pointwise, estimator, jobs, executor),
        (moving, motion),
        (lag / 2, float(lag)),
        strict=True,
    ):
        rows = np.split(found, np.cumsum([len(s) - lag for s in sides])[:-1])
        views.append(
            [
                np.interp(np.arange(steps), np.arange(len(row)) + middle, row)
                for row, steps in zip(rows, lengths, strict=True)
            ]
        )
    return [(first + second) / 2 for first, second in zip(*views, strict=True)]


def minima(local: Sequence[Float], count: int, apart: int = 1) -> NDArray[np.int64]:
    """K steps of each trajectory: minima of its curve, at places that trajectories share.

    Parameters
    ----------
    local : list of N arrays [T_i] float64
        Smoothed curves.
    count : int
        K; every curve has at least K + 2 values.
    apart : int
        Smallest distance between two steps of a trajectory; smaller if the trajectory is too short
        for it.

    Returns
    -------
    [N, K] int64, ascending
    """
    scores = [_depths(curve) for curve in local]
    places = _places(scores, count, apart)
    for _ in range(ROUNDS):
        steps = np.array([_assign(score, places, apart) for score in scores])
        last = np.array([len(score) - 1 for score in scores])
        moved = np.median(steps / last[:, None], axis=0)
        if np.array_equal(moved, places):
            break
        places = moved
    return steps


def smooth(values: Float, width: float) -> Float:
    """A curve [T] under a Gaussian of `width` steps, mirrored at its ends."""
    reach = min(int(np.ceil(4 * width)), len(values) - 1)
    weights = np.exp(-0.5 * (np.arange(-reach, reach + 1) / width) ** 2)
    return np.convolve(np.pad(values, reach, mode="reflect"), weights / weights.sum(), "valid")


def _pointwise(estimator: Estimator, x: Float, y: Float) -> Float:
    # Selected columns are not contiguous.
    samples = Samples(np.ascontiguousarray(x), np.ascontiguousarray(y))
    return estimator.estimate_checked(samples).pointwise


def _depths(curve: Float) -> Float:
    """Depths of minima below the curve's median [T]; 0 elsewhere and above the median."""
    depth = np.zeros(len(curve))
    inner = curve[1:-1]
    lowest = (inner < curve[:-2]) & (inner <= curve[2:])
    depth[1:-1] = np.where(lowest, np.maximum(np.median(curve) - inner, 0), 0)
    return depth


def _places(scores: list[Float], count: int, apart: int) -> Float:
    """Fractions [K] of a trajectory, ascending, with the largest sum of depths of minima."""
    grid = np.linspace(0, 1, 201)
    left = [score.copy() for score in scores]
    places = []
    for _ in range(count):
        near = [_near(score, grid) for score in left]  # each [201, T_i]
        place = grid[np.argmax(sum(weighted.max(axis=1) for weighted in near))]
        places.append(place)
        for score in left:  # a minimum counts for one place only
            weighted = _near(score, np.array([place]))[0]
            best = int(weighted.argmax())
            if weighted[best] > 0:
                score[max(0, best - apart + 1) : best + apart] = 0
    return np.sort(places)


def _near(score: Float, places: Float) -> Float:
    """Depths [T] under Gaussian weights around places [P], half of `SPREAD` wide: [P, T]."""
    at = np.arange(len(score)) / (len(score) - 1)
    return score * np.exp(-0.5 * ((at - places[:, None]) / (SPREAD / 2)) ** 2)


def _assign(score: Float, places: Float, apart: int) -> NDArray[np.int64]:
    """Steps [K] of one trajectory, one for each place, in order, with the largest sum of depths."""
    last, count = len(score) - 1, len(places)
    apart = max(1, min(apart, (last - 1) // count))
    off = (np.arange(1, last) / last) - places[:, None]
    # Steps that are no minimum have no depth; among those, the nearest to the place is best.
    worth = score[1:-1] * np.exp(-0.5 * (off / SPREAD) ** 2) - 1e-3 * np.abs(off)
    total = worth[0]
    choices = []
    for row in worth[1:]:
        best = np.maximum.accumulate(total)
        # Where the best so far was reached: the last step at which the running maximum rose.
        rose = np.r_[True, best[1:] > best[:-1]]
        reached = np.maximum.accumulate(np.where(rose, np.arange(last - 1), 0))
        choices.append(np.r_[np.zeros(min(apart, last - 1), np.int64), reached[:-apart]])
        before = np.r_[np.full(min(apart, last - 1), -np.inf), best[:-apart]]
        total = row + before
    steps = np.empty(count, np.int64)
    steps[-1] = int(np.argmax(total))
    for j in range(count - 1, 0, -1):
        steps[j - 1] = choices[j - 1][steps[j]]
    return steps + 1
