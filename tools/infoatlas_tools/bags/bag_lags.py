"""Finds at which lag two topics depend on each other, over a part of a bag.

The detector of couplings compares motions at equal times in a short window. A force that precedes a
motion, or a late response, is found here, by `lag_scan` of velocities and forces. Positions are not
compared: they drift, so they depend on each other by chance, at all lags. Long rests are left out:
their noise is ranked to full scale, and then the estimates at several lags are nearly the same.
"""

import re
from collections.abc import Callable, Iterator, Sequence
from copy import copy
from itertools import product
from operator import attrgetter
from typing import Any

import numpy as np
from numpy.typing import NDArray

from infoatlas_rt.errors import InputError
from infoatlas_rt.estimation.estimator import Estimator
from infoatlas_rt.estimation.result import FLAGS
from infoatlas_rt.inputs.checks import as_seconds
from infoatlas_rt.messages.receiver import Receiver
from infoatlas_rt.messages.sync import Pair, Synchroniser

from ..analysis.independence import LEVEL
from ..analysis.screening import lag_scan
from ..analysis.screening_results import LagScan
from ..presentation import nulls
from .part_samples import PartSamples

SIDES = attrgetter("a"), attrgetter("b")
LAGS = 10  # lags of each sign, at most
ROWS = 1500  # states of a topic that are compared, at most
SLICES = 10  # of wide sides: a lag scan has hundreds of permutations
Z = 3.5  # noise that a significant dependence exceeds, too
PAUSE = 3.0  # intervals without a pair, from which on no lag reaches across
INDEPENDENT = 15.0  # pairs of states; with fewer, drifts agree by chance
REST = 0.25  # of the 95% quantile of a quantity's magnitude: smaller values are at rest
# What the names of coordinates say about them. Others are positions, or values without a meaning.
FORCE = re.compile("force|torque|effort|wrench|current", re.IGNORECASE)
SPEED = re.compile("velocit|twist|speed|accel|angular", re.IGNORECASE)
PLACE = re.compile("pos|transl|orient|rotat|point", re.IGNORECASE)

Array = NDArray[np.float64]


def has_places(names: Sequence[str]) -> bool:
    """Whether some coordinates, if any are known, are neither forces nor velocities by name."""
    return not names or not all(FORCE.search(name) or SPEED.search(name) for name in names)


def scan_lags(
    samples: PartSamples,
    receivers: Sequence[Receiver],
    sync: Synchroniser,
    step: float | None,
    seconds: float,
    estimator: Estimator,
    progress: Callable[[float], None],
) -> dict[str, Any]:
    """Scan the lags of the quantities of two topics, up to `seconds` of both signs.

    `sync` pairs the states of both, and `step` is the interval of the slower topic, seconds. Wide
    sides have SLICES slices unless the estimator's number is given. `progress` is called with the
    completed share, 0 to 1.

    The result is JSON-safe. Its "step" (s) is that of the lags, "span" (s) the time that was
    compared. The list "scans" has a dict for each pair of quantities: their names, the number of
    steps that were compared, and whether the largest value is significant. It also has the values
    of the `LagScan` with lags in seconds, or "why" there are none. A lag is positive if the second
    topic is ahead of the first.
    """
    seconds = as_seconds(seconds, "lags")
    if step is None:
        raise InputError("--lags needs stamps that increase, and these do not: leave it out")
    grid = step * max(1, round(seconds / LAGS / step))
    most = round(seconds / grid)
    if not most:
        raise InputError(f"--lags {seconds:g} is less than a step, {grid:.3g} s: choose more")
    if estimator.slices is None:
        estimator = copy(estimator)
        estimator.slices = SLICES
    for receiver in receivers:
        receiver.forget()
    pairs = list(_pairs(samples, sync, ROWS * grid))
    parts = list(_on_grid(pairs, grid, max(PAUSE * step, grid)))
    rows = sum(max(len(part[0]) - 1 - most, 0) for part in parts)
    if rows < estimator.model_file.n_min:
        raise InputError(
            f"--lags {seconds:g}: the recording has {rows} steps of {grid:.3g} s with pairs at "
            f"all lags, and {estimator.model_file.n_min} are needed: choose smaller lags, or a "
            "longer part"
        )
    first, second = (
        _quantities([part[side] for part in parts], receivers[side].extractor.names, grid)
        for side in (0, 1)
    )
    asked = list(product(first, second))
    scans = []
    for number, names in enumerate(asked):
        x, y, steps = moving(second[names[1]], first[names[0]], most)
        scan: dict[str, Any] = {"quantities": names, "steps": steps, "significant": False}
        scans.append(scan)
        if steps < estimator.model_file.n_min:
            scan["why"] = f"both move near {steps} steps only"
            continue
        if "force" in names and independent_pairs(x, y) < INDEPENDENT:
            scan["why"] = "they drift"
            continue

        def report(done: int, total: int, before: int = number) -> None:
            progress((before + done / total) / len(asked))

        found = lag_scan(x, y, range(-most, most + 1), estimator, repeated=False, progress=report)
        values = ("mi", "stderr", "noise", "p_adjusted", *FLAGS)
        scan |= {
            "significant": significant(found),
            "lag": (found.lags * grid).tolist(),
            **{name: getattr(found, name).tolist() for name in values},
            "at_least": nulls(found.at_least),
            "top": found.top,
            "best": found.best * grid,
            "interval": [end * grid for end in found.interval],
        }
    span = sum(len(part[0]) * grid for part in parts)
    return {"seconds": seconds, "step": grid, "span": span, "scans": scans}


def moving(
    x: Sequence[Array], y: Sequence[Array], most: int
) -> tuple[list[Array], list[Array], int]:
    """Parts of trajectories x and y [n, d] for a `lag_scan` from -most to most, without long rests.

    The third value is the number of steps that it compares: both move within its lags of them.
    """
    before, after = -(-most // 2), most // 2  # a pair of the scan is around its step
    kept, steps = [], 0
    motions = zip(_near_motion(x, before), _near_motion(y, before), strict=True)
    for a, b, (first, second) in zip(x, y, motions, strict=True):
        own = np.flatnonzero((first & second)[before : len(a) - after])
        steps += len(own)
        for run in np.split(own, np.flatnonzero(np.diff(own) > 1) + 1):
            if len(run):
                part = slice(run[0], run[-1] + most + 1)
                kept.append((a[part], b[part]))
    return [a for a, _ in kept], [b for _, b in kept], steps


def _near_motion(parts: Sequence[Array], steps: int) -> Iterator[NDArray[np.bool_]]:
    """Whether a trajectory moves within some steps of each step [n]."""
    sizes = [np.linalg.norm(part, axis=1) for part in parts]
    least = REST * np.quantile(np.concatenate(sizes), 0.95)
    for size in sizes:
        at, step = np.flatnonzero(size > least), np.arange(len(size))
        yield np.searchsorted(at, step + steps, "right") > np.searchsorted(at, step - steps)


def independent_pairs(x: Sequence[Array], y: Sequence[Array]) -> float:
    """Number of independent pairs that correlate as much by chance as the states of x and y do.

    Bartlett's formula, with the mean autocorrelation of the coordinates of each side.
    """
    first, second = _autocorrelation(x), _autocorrelation(y)
    return (len(first) + 1) / max(1.0, 1 + 2 * float(first @ second))


def _autocorrelation(parts: Sequence[Array]) -> Array:
    """Mean autocorrelation [n - 1] of the coordinates, from lag 1 on."""
    values = np.concatenate(parts)
    n, spread = len(values), values.std(axis=0)
    values = (values - values.mean(axis=0)) / np.where(spread > 0, spread, 1)
    power = np.abs(np.fft.rfft(values, 2 * n, axis=0)) ** 2
    return np.asarray(np.fft.irfft(power, axis=0)[1:n].mean(axis=1) / n)


def significant(found: LagScan) -> bool:
    """Whether two quantities depend on each other at the lag with the largest estimate."""
    best = found.top
    # Of few steps there are few shifts, so that no p is below `least_adjusted`.
    rare = found.p_adjusted[best] <= max(LEVEL, found.least_adjusted)
    return bool(rare and found.mi[best] > Z * found.noise[best])


def _pairs(samples: PartSamples, sync: Synchroniser, span: float) -> Iterator[Pair]:
    """Pairs of usable states of one size, of the first `span` seconds; last is the own stamp."""
    first: Pair | None = None
    for sample in samples:
        if sample.fault or sample.stamp is None or not np.isfinite(sample.state).all():
            continue
        for pair in sync.push(np.r_[sample.state, sample.stamp], sample.stamp, sample.side):
            first = first or pair
            if (len(pair.a), len(pair.b)) == (len(first.a), len(first.b)):
                yield pair
            if pair.stamp - first.stamp > span:
                return


def _on_grid(pairs: Sequence[Pair], grid: float, pause: float) -> Iterator[tuple[Array, Array]]:
    """States [n, d] and [n, d'] of trajectories without a pause, interpolated at a grid of times.

    Each side has its own stamps. With those of the pairs, an offset between the topics would be a
    lag, and the jitter of their steps a dependence.
    """
    stamps = np.array([pair.stamp for pair in pairs])
    cuts = np.flatnonzero((np.diff(stamps) > pause) | (np.diff(stamps) <= 0)) + 1
    for part in np.split(np.arange(len(stamps)), cuts):
        if len(part) < 2:
            continue
        ticks = np.arange(stamps[part[0]], stamps[part[-1]] + grid / 2, grid)
        one, other = (
            np.stack([np.interp(ticks, own[:, -1], column) for column in own.T[:-1]], axis=1)
            for own in (np.stack([side(pairs[i]) for i in part]) for side in SIDES)
        )
        yield one, other


def _quantities(
    parts: Sequence[Array], names: Sequence[str], grid: float
) -> dict[str, list[Array]]:
    """Trajectories [n - 1, d] of each quantity in the states of a topic, by its name.

    A value is of the interval between two states: a mean, or the difference of positions.
    """
    force = [i for i, name in enumerate(names) if FORCE.search(name)]
    speed = [i for i, name in enumerate(names) if SPEED.search(name) and i not in force]
    other = [i for i in range(len(names)) if i not in force + speed]
    found = {}
    if speed:
        found["velocity"] = [_means(part[:, speed]) for part in parts]
    elif other:
        placed = all(PLACE.search(names[i]) for i in other)
        changes = [np.diff(part[:, other], axis=0) / grid for part in parts]
        found["velocity" if placed else "change"] = changes
    if force:
        found["force"] = [_means(part[:, force]) for part in parts]
    return found


def _means(states: Array) -> Array:
    return (states[1:] + states[:-1]) / 2
