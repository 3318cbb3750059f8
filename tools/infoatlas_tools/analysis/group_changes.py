"""Information between groups of coordinates before and after key states.

The functions describe key states that are given; they do not move them."""

import operator
import os
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import Executor
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np

from infoatlas_rt.errors import InputError
from infoatlas_rt.estimation.estimator import Estimator, as_estimator
from infoatlas_rt.estimation.parallel import run_jobs
from infoatlas_rt.estimation.prepare import Samples
from infoatlas_rt.estimation.result import INTERVAL
from infoatlas_rt.estimation.shuffling import largest_group

from ..array_types import Float, Int

Rows = list[tuple[int, Int]]  # trajectories, and steps of each

WINDOW = 1.0  # seconds before and after a key state
PAIRS = 400  # samples of one estimate, drawn from all trajectories
PRESENT = 0.5  # nats, as of a correlation of 0.8; motions towards each other have some, too
REST_RANGE = 1e-4  # of a coordinate's range: a smaller increment is rest
SEED = 0
SLICES = 10  # of sides wider than the model; more change the estimates by less than their error


@dataclass(frozen=True)
class GroupChange:
    """Information between the motion of two groups of coordinates around one key state.

    Attributes
    ----------
    keystate : int
        Column of `KeyStates.steps`.
    groups : (str, str)
    before, after : float
        Information between the increments of the two groups, nats, over the second before and the
        second after the key state, or up to its neighbour if that is nearer. With fewer steps than
        the model needs, the Gaussian form is used. NaN if there are too few steps, or if one
        trajectory has nearly half of them.
    before_stderr, after_stderr : float
    change : {"made", "broken", "stays", "absent", "uncertain"}
        A value is clear if it differs from 0.5 nats by 1.645 standard errors, or if one group
        determines a part of the other (then errors are large). "made": `before` is
        clearly less, and `after` is clearly more. "broken": the reverse. "stays": both are clearly
        more. "absent": both are clearly less. "uncertain": one of the two is not clear.
    """

    keystate: int
    groups: tuple[str, str]
    before: float
    before_stderr: float
    after: float
    after_stderr: float
    change: str

    def __str__(self) -> str:
        values = ((self.before, self.before_stderr), (self.after, self.after_stderr))
        numbers = " → ".join(f"{round(mi, 1) + 0.0:.1f} ± {stderr:.1f}" for mi, stderr in values)
        return f"{' and '.join(self.groups)}: {numbers} nats, {self.change}"


def group_changes(
    states: Sequence[Float],
    steps: Any,
    lag: int,
    window: int,
    resolution: Float | None,
    groups: Mapping[str, Sequence[int]],
    estimator: Estimator | str | os.PathLike[str] | None,
    executor: Executor | None,
) -> list[GroupChange]:
    """Changes at the key states `steps` [N, K] of the information between groups of coordinates.

    `lag` and `window` are recorded steps: those of an increment, and those before and after a key
    state.
    """
    columns = _columns(groups, states[0].shape[1])
    low, high = np.quantile(np.concatenate(states), [0.001, 0.999], axis=0)
    limits = np.maximum(REST_RANGE * (high - low), 0.0 if resolution is None else resolution)
    motion = [_increments(s, lag, limits) for s in states]
    estimator = as_estimator(estimator, slices=SLICES)
    spans = _sides(states, steps, lag, window)
    sides = [_subset(own, number) for number, own in enumerate(spans)]
    pairs = list(combinations(columns, 2))
    jobs = []
    for rows in sides:
        moved = np.concatenate([motion[which][own] for which, own in rows])
        jobs += [(moved[:, columns[a]], moved[:, columns[b]], _labels(rows)) for a, b in pairs]
    estimates = iter(run_jobs(_estimate, estimator, jobs, executor))
    found = []
    for column in range(steps.shape[1]):
        before, after = ([next(estimates) for _ in pairs] for _ in range(2))
        found += [
            GroupChange(column, pair, *one[:2], *other[:2], change=_change(one, other))
            for pair, one, other in zip(pairs, before, after, strict=True)
        ]
    return found


def _increments(states: Float, lag: int, rest: Float) -> Float:
    """States [T, d] minus those `lag` steps before; 0 where that is below `rest`, and at first."""
    found = np.zeros(states.shape)
    found[lag:] = states[lag:] - states[:-lag]
    return np.asarray(np.where(np.abs(found) < rest, 0.0, found))


def _sides(
    states: Sequence[Float], steps: Any, lag: int, window: int
) -> Iterator[list[tuple[int, int, int]]]:
    """For each key state, spans (trajectory, first, end) of the increments before and after it.

    Increments over `lag` steps lie within the window, and do not cross a neighbouring key state.
    """
    for column in range(steps.shape[1]):
        before, after = [], []
        for i in np.flatnonzero(~np.ma.getmaskarray(steps)[:, column]).tolist():
            step, others = int(steps[i, column]), steps[i].compressed()
            first = others[others < step].max(initial=max(0, step - window))
            last = others[others > step].min(initial=min(len(states[i]) - 1, step + window))
            before.append((i, int(first) + lag, step + 1))
            after.append((i, step + lag, int(last) + 1))
        yield before
        yield after


def _subset(spans: Sequence[tuple[int, int, int]], number: int) -> Rows:
    """Steps of spans; a random subset if there are more than `PAIRS`."""
    chosen = [(i, np.arange(first, max(first, end))) for i, first, end in spans]
    total = sum(len(rows) for _, rows in chosen)
    if total <= PAIRS:
        return chosen
    rng = np.random.default_rng([SEED, number])
    kept = np.zeros(total, bool)
    kept[rng.choice(total, PAIRS, replace=False)] = True
    parts = np.split(kept, np.cumsum([len(rows) for _, rows in chosen])[:-1])
    return [(which, rows[part]) for (which, rows), part in zip(chosen, parts, strict=True)]


def _labels(rows: Rows) -> Int:
    """Trajectory of each row, numbered 0..G-1; those without rows have no number."""
    counts = np.array([len(steps) for _, steps in rows if len(steps)], np.int64)
    return np.repeat(np.arange(len(counts)), counts)


def _estimate(estimator: Estimator, x: Float, y: Float, labels: Int) -> tuple[float, float, bool]:
    """Information, standard error, and whether one side determines a part of the other.

    The Gaussian form is used if there are too few samples for the model. NaN if one trajectory has
    so many of the samples that few can be paired with others.
    """
    if len(x) < estimator.model_file.n_min:
        known = gaussian_information(x, y, labels) if len(x) else (float("nan"), float("nan"))
        return (*known, False)
    # Steps of one trajectory are not independent. A group has fewer than half of the samples.
    largest = int(np.bincount(labels).max())
    several = largest < len(labels) / 2
    if several and largest > largest_group(len(labels)):
        return float("nan"), float("nan"), False
    x, y = map(np.ascontiguousarray, (x, y))  # selected columns are not contiguous
    groups = labels if several else None
    found = estimator.estimate_checked(Samples(x, y, time_series=not several, groups=groups))
    return found.mi, found.stderr, found.saturated


def _change(before: tuple[float, float, bool], after: tuple[float, float, bool]) -> str:
    """The word of `GroupChange.change`."""
    for mi, stderr, copy in (before, after):
        if not (copy or abs(mi - PRESENT) > INTERVAL * stderr):  # also if one is NaN
            return "uncertain"
    words = {(0, 1): "made", (1, 0): "broken", (1, 1): "stays", (0, 0): "absent"}
    return words[before[0] > PRESENT, after[0] > PRESENT]


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


TOLERANCE = 1e-9  # of the largest variance: a direction below it is constant
COPIES = 0.999999  # largest squared canonical correlation, for copies


def gaussian_information(x: Float, y: Float, groups: Int) -> tuple[float, float]:
    """Mutual information of Gaussians with the covariance of the samples, and its standard error.

    The bias of the log-determinants is removed (Misra, Singh and Demchuk, 2005, J. Multivariate
    Analysis 92). The standard error is from a jackknife over groups; samples of one may depend on
    each other. Both are in nats; NaN if there are too few samples for the dimensions, or a single
    group for the standard error; 0 and 0 if one side is constant.
    """
    if not np.ptp(x, axis=0).any() or not np.ptp(y, axis=0).any():
        return 0.0, 0.0
    mi = _information(x, y)
    names = np.unique(groups)
    if np.isnan(mi) or len(names) < 2:
        return mi, float("nan")
    without = np.array([_information(x[groups != g], y[groups != g]) for g in names])
    without = without[np.isfinite(without)]
    count = len(without)
    if count < 2:
        return mi, float("nan")
    return mi, float(np.sqrt((count - 1) / count * ((without - without.mean()) ** 2).sum()))


def _information(x: Float, y: Float) -> float:
    x, y = _whiten(x), _whiten(y)
    n, dx, dy = len(x), x.shape[1], y.shape[1]
    if not dx or not dy:
        return 0.0
    if n < dx + dy + 3:
        return float("nan")
    squares = np.linalg.svd(x.T @ y, compute_uv=False) ** 2
    mi = -0.5 * np.log1p(-np.minimum(squares, COPIES)).sum()
    bias = 0.5 * (_log_determinant(n, dx) + _log_determinant(n, dy) - _log_determinant(n, dx + dy))
    return float(mi - bias)


def _whiten(x: Float) -> Float:
    """Orthonormal columns that span the centred ones."""
    u, s, _ = np.linalg.svd(x - x.mean(axis=0), full_matrices=False)
    return np.asarray(u[:, s**2 > TOLERANCE * max(s[0] ** 2, 1e-300)])


def _log_determinant(n: int, d: int) -> float:
    """Expectation of the log-determinant of d Gaussians' scatter matrix, up to a constant."""
    return float(sum(_digamma((n - i) / 2) for i in range(1, d + 1)))


def _digamma(x: float) -> float:
    total = 0.0
    while x < 10:
        total -= 1 / x
        x += 1
    square = 1 / (x * x)
    return float(
        total + np.log(x) - 0.5 / x - square * (1 / 12 - square * (1 / 120 - square / 252))
    )
