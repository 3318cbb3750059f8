"""Information before, at and after key states, and changes of the motion at them.

The functions describe key states that are given; they do not move them.
"""

from __future__ import annotations

import operator
import os
from collections.abc import Mapping, Sequence
from concurrent.futures import Executor
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np
from numpy.typing import NDArray

from infoatlas_rt.errors import InputError
from infoatlas_rt.estimation.estimator import Estimator, as_estimator
from infoatlas_rt.estimation.parallel import run_jobs
from infoatlas_rt.estimation.prepare import Samples
from infoatlas_rt.estimation.shuffling import largest_group

from .pointwise import local_information
from .segmentation import SHRINKAGE, increments, rest_limits
from .small_samples import gaussian_information

Float = NDArray[np.float64]

PAIRS = 400  # samples of one estimate, drawn from all trajectories
BOUNDED = 8  # lags: key states nearer to another than this do not bound the steps around it
Z = 1.645  # information counts as present if it is above 0 by so many standard errors
SEED = 0
SLICES = 10  # of sides wider than the model; more change the estimates by less than their error


@dataclass(frozen=True)
class Information:
    """Estimates of the information at one key state.

    Attributes
    ----------
    keystate : int
        Column of `KeyStates.steps`.
    local : float
        Local information of the step with its past, nats: the mean over trajectories that are
        longer than two lags. It is low at steps that the past does not determine, and NaN if there
        are too few steps for the model.
    percentile : float
        Percentage of the steps of a trajectory with less local information, 0 to 100; mean over
        trajectories.
    before, after : float
        Sliced I(s_t; s_t-lag), nats: over the steps from the preceding key state to this one, and
        from this one to the next. NaN if there are too few steps, or if one trajectory has nearly
        half of them.
    before_stderr, after_stderr : float
    """

    keystate: int
    local: float
    percentile: float
    before: float
    before_stderr: float
    after: float
    after_stderr: float


@dataclass(frozen=True)
class GroupChange:
    """Information between the motion of two groups of coordinates around one key state.

    Attributes
    ----------
    keystate : int
        Column of `KeyStates.steps`.
    groups : (str, str)
    before, after : float
        Information between the increments of the two groups, nats: over the steps from the
        preceding key state, and up to the next one. With fewer steps than the model needs, the
        Gaussian form is used.
    before_stderr, after_stderr : float
    change : {"made", "broken", "unchanged", "unknown"}
        "made": `after` is above 0 by 1.645 standard errors, `before` is not, and the difference
        exceeds 1.645 of its standard errors. "broken": the reverse. "unknown": `before` or `after`
        is NaN, because there are too few steps or one trajectory has nearly half of them.
    """

    keystate: int
    groups: tuple[str, str]
    before: float
    before_stderr: float
    after: float
    after_stderr: float
    change: str


@dataclass(frozen=True)
class CoordinateChange:
    """The coordinates whose motion changes most at one key state.

    Attributes
    ----------
    keystate : int
        Column of `KeyStates.steps`.
    coordinates : tuple of int
        At most five, largest change first.
    names : tuple of str
        Names of those coordinates, or "column 7" if they have no names.
    nats : tuple of float
        Symmetric Kullback-Leibler divergence of Gaussians fitted to the increments of each
        coordinate before and after the key state.
    """

    keystate: int
    coordinates: tuple[int, ...]
    names: tuple[str, ...]
    nats: tuple[float, ...]


def information(
    states: Sequence[Float],
    steps: Any,
    lag: int,
    local: Sequence[Float] | None,
    estimator: Estimator | str | os.PathLike[str] | None,
    executor: Executor | None,
) -> list[Information]:
    """Information at the key states `steps` [N, K]; arguments are fields of `KeyStates`."""
    estimator = as_estimator(estimator, slices=SLICES)
    if local is None:
        local = _local(states, estimator, lag, executor)
    # Constant coordinates (goals, sizes) are copies of their own past.
    varying = np.any([(s[1:] != s[:-1]).any(axis=0) for s in states], axis=0)
    reduced = [s[:, varying] for s in states]
    keys, sides = _sides(states, steps, lag)
    jobs = []
    for rows in sides:
        past = [(which, rows_of - lag) for which, rows_of in rows]
        jobs.append((_gather(reduced, rows), _gather(reduced, past), _labels(rows)))
    estimates = list(run_jobs(_estimate, estimator, jobs, executor))
    found = []
    for column, (before, after) in enumerate(keys):
        own = [(local[i], step) for i, step in _of_column(steps, column)]
        known = [(curve, step) for curve, step in own if not np.isnan(curve[step])]
        at = [curve[step] for curve, step in known]
        below = [(curve < curve[step]).mean() for curve, step in known]
        found.append(
            Information(
                column,
                float(np.mean(at)) if at else np.nan,
                100 * float(np.mean(below)) if at else np.nan,
                *estimates[before],
                *estimates[after],
            )
        )
    return found


def _local(
    states: Sequence[Float], estimator: Estimator, lag: int, executor: Executor | None
) -> list[Float]:
    """Local information of each step; NaN in trajectories that are too short for two lags.

    NaN everywhere if there are too few pairs for the model, or if no coordinate moves in more than
    0.2% of the steps.
    """
    found = [np.full(len(s), np.nan) for s in states]
    long = [i for i, s in enumerate(states) if len(s) > 2 * lag]
    chosen = [states[i] for i in long]
    pairs = sum(len(s) - 2 * lag for s in chosen)
    if pairs >= estimator.model_file.n_min and rest_limits(chosen).any():
        own = local_information(chosen, estimator, lag, executor)
        for i, values in zip(long, own, strict=True):
            found[i] = values
    return found


def group_changes(
    states: Sequence[Float],
    steps: Any,
    lag: int,
    resolution: Float | None,
    groups: Mapping[str, Sequence[int]],
    estimator: Estimator | str | os.PathLike[str] | None,
    executor: Executor | None,
) -> list[GroupChange]:
    """Changes at the key states `steps` [N, K] of the information between groups of coordinates."""
    columns = _columns(groups, states[0].shape[1])
    limits = rest_limits(states, resolution)
    motion = [np.pad(increments(s, lag, limits), ((lag, 0), (0, 0))) for s in states]
    estimator = as_estimator(estimator, slices=SLICES)
    keys, sides = _sides(states, steps, lag)
    pairs = list(combinations(columns, 2))
    jobs = (
        (*(_gather(motion, rows)[:, columns[group]] for group in pair), _labels(rows))
        for pair in pairs
        for rows in sides
    )
    estimates = list(run_jobs(_estimate, estimator, jobs, executor))
    found = []
    for number, (a, b) in enumerate(pairs):
        own = estimates[number * len(sides) : (number + 1) * len(sides)]
        for column, (one, other) in enumerate(keys):
            before, after = own[one], own[other]
            found.append(
                GroupChange(column, (a, b), *before, *after, change=_change(before, after))
            )
    return sorted(found, key=lambda change: change.keystate)


def coordinate_changes(
    states: Sequence[Float], steps: Any, lag: int, names: Sequence[str]
) -> list[CoordinateChange]:
    """The coordinates whose motion changes most at each of the key states `steps` [N, K]."""
    pooled = np.concatenate([s[lag:] - s[:-lag] for s in states])
    # All trajectories may be shorter than the lag.
    scale = pooled.std(axis=0) if len(pooled) else np.zeros(pooled.shape[1])
    moving = np.flatnonzero(scale > 0)
    keys, sides = _sides(states, steps, lag, most=None)
    moments = []
    for rows in sides:
        motion = _gather(states, rows) - _gather(states, [(w, r - lag) for w, r in rows])
        motion = motion[:, moving] / scale[moving]
        if not len(motion):
            motion = np.zeros((1, len(moving)))
        moments.append((motion.mean(axis=0), motion.var(axis=0) + SHRINKAGE))
    found = []
    for column, (before, after) in enumerate(keys):
        (m0, v0), (m1, v1) = moments[before], moments[after]
        nats = 0.5 * ((v0 / v1 + v1 / v0) / 2 - 1) + 0.25 * (m0 - m1) ** 2 * (1 / v0 + 1 / v1)
        top = np.argsort(-nats, kind="stable")[:5]
        chosen = moving[top].tolist()
        labels = tuple(names[c] if names else f"column {c}" for c in chosen)
        found.append(CoordinateChange(column, tuple(chosen), labels, tuple(nats[top].tolist())))
    return found


def _sides(
    states: Sequence[Float], steps: Any, lag: int, most: int | None = PAIRS
) -> tuple[list[tuple[int, int]], list[list[tuple[int, NDArray[np.int64]]]]]:
    """Steps before and after each key state, up to the next one of the demonstration.

    Returns
    -------
    keys : list of K (int, int)
        For each column, numbers of the steps before and of those after it.
    sides : list of lists of (trajectory, steps)
        Steps that have a past; a random subset if there are more than `most`. Equal sets of steps
        are listed once: the steps after one key state are often those before the next.
    """
    numbers: dict[tuple[tuple[int, int, int], ...], int] = {}
    keys: list[tuple[int, int]] = []
    sides: list[list[tuple[int, NDArray[np.int64]]]] = []
    for column in range(steps.shape[1]):
        own: tuple[list[tuple[int, int, int]], list[tuple[int, int, int]]] = [], []
        for i, step in _of_column(steps, column):
            others = steps[i].compressed()
            previous = others[others < step - BOUNDED * lag].max(initial=lag)
            following = others[others > step + BOUNDED * lag].min(initial=len(states[i]))
            own[0].append((i, max(lag, int(previous)), step))
            own[1].append((i, max(lag, step), int(following)))
        pair = []
        for spans in own:
            number = numbers.setdefault(tuple(spans), len(numbers))
            if number == len(sides):
                sides.append(_subset(spans, most, number))
            pair.append(number)
        keys.append((pair[0], pair[1]))
    return keys, sides


def _of_column(steps: Any, column: int) -> list[tuple[int, int]]:
    """Trajectory and step of a key state, where a trajectory has it."""
    there = np.flatnonzero(~np.ma.getmaskarray(steps)[:, column])
    return [(int(i), int(steps[i, column])) for i in there]


def _subset(
    spans: Sequence[tuple[int, int, int]], most: int | None, number: int
) -> list[tuple[int, NDArray[np.int64]]]:
    chosen = [(i, np.arange(first, max(first, last))) for i, first, last in spans]
    total = sum(len(rows) for _, rows in chosen)
    if most is None or total <= most:
        return chosen
    rng = np.random.default_rng([SEED, number])
    kept = np.zeros(total, bool)
    kept[rng.choice(total, most, replace=False)] = True
    parts = np.split(kept, np.cumsum([len(rows) for _, rows in chosen])[:-1])
    return [(which, rows[part]) for (which, rows), part in zip(chosen, parts, strict=True)]


def _gather(values: Sequence[Float], rows: Sequence[tuple[int, NDArray[np.int64]]]) -> Float:
    return np.concatenate([values[which][steps] for which, steps in rows])


def _labels(rows: Sequence[tuple[int, NDArray[np.int64]]]) -> NDArray[np.int64]:
    """Trajectory of each row, numbered 0..G-1; those without rows have no number."""
    counts = np.array([len(steps) for _, steps in rows if len(steps)], np.int64)
    return np.repeat(np.arange(len(counts)), counts)


def _estimate(
    estimator: Estimator, x: Float, y: Float, labels: NDArray[np.int64]
) -> tuple[float, float]:
    """Information and standard error; the Gaussian form if there are too few for the model.

    NaN if one trajectory has so many of the samples that few can be paired with others.
    """
    if len(x) < estimator.model_file.n_min:
        return gaussian_information(x, y, labels) if len(x) else (float("nan"), float("nan"))
    # Steps of one trajectory are not independent. A group has fewer than half of the samples.
    largest = int(np.bincount(labels).max())
    several = largest < len(labels) / 2
    if several and largest > largest_group(len(labels)):
        return float("nan"), float("nan")
    x, y = map(np.ascontiguousarray, (x, y))  # selected columns are not contiguous
    groups = labels if several else None
    found = estimator.estimate_checked(Samples(x, y, time_series=not several, groups=groups))
    return found.mi, found.stderr


def _change(before: tuple[float, float], after: tuple[float, float]) -> str:
    (low, low_error), (high, high_error) = before, after
    if not np.isfinite([low, low_error, high, high_error]).all():
        return "unknown"
    there = low > Z * low_error, high > Z * high_error
    certain = abs(high - low) > Z * float(np.hypot(low_error, high_error))
    if certain and there == (False, True):
        return "made"
    if certain and there == (True, False):
        return "broken"
    return "unchanged"


def _columns(groups: Mapping[str, Sequence[int]], d: int) -> dict[str, list[int]]:
    """Checked groups of coordinates."""
    if not isinstance(groups, Mapping) or len(groups) < 2:
        raise InputError(
            f"groups is {groups!r}: pass two or more, as {{'tool': [0, 1, 2], 'object': [3, 4, 5]}}"
        )
    checked: dict[str, list[int]] = {}
    for name, columns in groups.items():
        try:
            indices = [operator.index(i) for i in columns]
        except TypeError as error:
            raise InputError(f"group {name!r} is {columns!r}: pass column numbers") from error
        if not indices or not all(0 <= i < d for i in indices):
            raise InputError(f"group {name!r} is {columns!r}: pass columns from 0 to {d - 1}")
        taken = [i for other in checked.values() for i in other]
        if len({*taken, *indices}) < len(taken) + len(indices) or str(name) in checked:
            raise InputError(
                f"group {name!r} is {columns!r}: name each group and each column once, for a "
                "column in two groups is information by itself"
            )
        checked[str(name)] = indices
    return checked
