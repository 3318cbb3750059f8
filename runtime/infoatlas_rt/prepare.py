"""From checked samples to the slices that are read: preparation, shuffle and shifts."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from . import slicing
from .bundle import Bundle
from .discrete import Repeats, repeats
from .errors import InputError
from .inputs import as_resolution
from .preprocess import clip_outliers, rounded, standardise

MAX_SAMPLES = 1_000_000
# Pairs of samples (slices x samples x shifts) evaluated at once; more slices run one after another.
CHUNK_PAIRS = 1_000_000
LEAST_SHIFTS = 4  # that the graph takes


@dataclass(frozen=True, eq=False)
class Entry:
    """Samples on their way into the graph.

    Attributes
    ----------
    plan : Slicing
    x, y : [n, dx], [n, dy] float64
        Prepared and shuffled; without constant coordinates, unless there are no others.
    order : [n] int64
        Position i holds sample order[i] of the input.
    shifts : [M] int64
    sequence : [n] int64
        Position sequence[t] holds the sample of time t; 0..n-1 unless they are a time series.
    groups : [n] int64, or None
        Group of each sample, 0..G-1, in the order of the input.
    constant_x, constant_y : tuple of int
        Constant coordinates of the input.
    degenerate : bool
        Whether a whole side is constant.
    repeats : Repeats or None
        Which rows are equal, in the order of `x` and `y`; None if none are.
    """

    plan: slicing.Slicing
    x: NDArray[np.float64]
    y: NDArray[np.float64]
    order: NDArray[np.int64]
    shifts: NDArray[np.int64]
    sequence: NDArray[np.int64]
    groups: NDArray[np.int64] | None
    constant_x: tuple[int, ...]
    constant_y: tuple[int, ...]
    degenerate: bool
    repeats: Repeats | None

    @property
    def ceiling(self) -> float:
        """The most that an estimate of these samples can be, nats; infinite if no row repeats."""
        return math.inf if self.repeats is None else self.repeats.ceiling()

    @property
    def chunk(self) -> int:
        """How many slices fit into one call of the backend."""
        return max(1, CHUNK_PAIRS // (len(self.order) * len(self.shifts)))

    def parts(self) -> Iterator[slice]:
        """All slices, a chunk at a time."""
        for first in range(0, self.plan.slices, self.chunk):
            yield slice(first, min(first + self.chunk, self.plan.slices))

    def slices(self, part: slice) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Slices [S, n, k] of both sides; one without projections enters each of them whole."""
        sides = (self.x, self.plan.x), (self.y, self.plan.y)
        x, y = (
            np.broadcast_to(samples, (part.stop - part.start, *samples.shape))
            if projections is None
            else slicing.project(samples, projections[part])
            for samples, projections in sides
        )
        return x, y


def check_lengths(nx: int, ny: int, bundle: Bundle) -> None:
    """Raise InputError unless there are as many samples of each side, and not too few or many."""
    if nx != ny:
        raise InputError(f"x has {nx} samples and y has {ny}: pass pairs, as many of each")
    if nx < bundle.n_min:
        raise InputError(
            f"{nx} samples are fewer than the {bundle.n_min} that model "
            f"{bundle.name} was trained for: collect more, or use a longer window"
        )
    if nx > MAX_SAMPLES:
        raise InputError(
            f"{nx} samples are more than the {MAX_SAMPLES} that fit at once: "
            "pass a random subset, or average the estimates of several"
        )


def make_entry(
    x: NDArray[np.float64],
    y: NDArray[np.float64],
    plan: slicing.Slicing,
    shifts: int,
    seed: int,
    time_series: bool,
    resolution_x: Any,
    resolution_y: Any,
    groups: NDArray[np.int64] | None = None,
) -> Entry:
    """Shuffle samples [n, d], and prepare the sides that are projected.

    Constant coordinates are left out before anything depends on how many coordinates there are.
    """
    n = len(x)
    # Fewer pairs in all keep huge samples within memory.
    shifts = min(shifts, n - 1, max(LEAST_SHIFTS, CHUNK_PAIRS // n))
    order, place, offsets = shuffle(n, shifts, seed, groups)
    sequence = place if time_series else np.arange(n)
    x, constant_x = _varying(_rounded(x, resolution_x, "x"))
    y, constant_y = _varying(_rounded(y, resolution_y, "y"))
    degenerate = bool((x == x[0]).all() or (y == y[0]).all())
    if constant_x or constant_y:
        plan = slicing.of_what_moves(plan, x.shape[1], y.shape[1], seed)
    equal = repeats(x[order], y[order])
    # For a projection; a side that enters whole is left as it is, because only its ranks count, and
    # those are exact for any scale and any heavy tail.
    with np.errstate(over="ignore"):  # deviations beyond the range of floats limit nothing
        x = x if plan.x is None else standardise(clip_outliers(x))
        y = y if plan.y is None else standardise(clip_outliers(y))
    if groups is not None:
        streams = np.random.SeedSequence(seed).spawn(5)[3:]
        x, y = (
            samples if sliced is not None else _untied(samples, groups, np.random.default_rng(own))
            for samples, sliced, own in ((x, plan.x, streams[0]), (y, plan.y, streams[1]))
        )
    return Entry(
        plan,
        x[order],
        y[order],
        order,
        offsets,
        sequence,
        groups,
        constant_x,
        constant_y,
        degenerate,
        equal,
    )


def shuffle(
    n: int, shifts: int, seed: int, groups: NDArray[np.int64] | None = None
) -> tuple[NDArray[np.int64], ...]:
    """The order in which pairs enter the graph [n], where each then is [n], and the shifts [M]."""
    if groups is None:
        return _shuffle(n, shifts, seed)
    return _shuffle_groups(groups, shifts, seed)


@lru_cache(maxsize=8)
def _shuffle(n: int, shifts: int, seed: int) -> tuple[NDArray[np.int64], ...]:
    """As `shuffle`, of independent samples.

    Neighbours in time are alike; shuffled, a cyclic shift pairs any two samples.
    """
    rng = np.random.default_rng(np.random.SeedSequence(seed).spawn(3)[2])
    order = rng.permutation(n)
    offsets = rng.choice(n - 1, shifts, replace=False) + 1
    place = np.argsort(order)
    order.flags.writeable = place.flags.writeable = offsets.flags.writeable = False
    return order, place, offsets


def _shuffle_groups(
    groups: NDArray[np.int64], shifts: int, seed: int
) -> tuple[NDArray[np.int64], ...]:
    """As `shuffle`; no shift pairs samples of one group; groups [n], 0..G-1.

    Groups enter one after the other, in random order. A cyclic shift by at least the size of the
    largest group, forward and backward, then leaves every group.
    """
    n, largest = len(groups), int(np.bincount(groups).max())
    allowed = n - 2 * largest + 1
    if allowed < LEAST_SHIFTS:
        raise InputError(
            f"the largest group has {largest} of {n} samples, and samples of different groups can "
            f"be paired up to {(n + 1 - LEAST_SHIFTS) // 2}: leave some of its samples out, "
            "collect more groups, or leave out groups if the samples are independent"
        )
    rng = np.random.default_rng(np.random.SeedSequence(seed).spawn(3)[2])
    order = rng.permutation(n)
    rank = rng.permutation(groups.max() + 1)
    order = order[np.argsort(rank[groups[order]], kind="stable")]
    offsets = rng.choice(allowed, min(shifts, allowed), replace=False) + largest
    return order, np.argsort(order), offsets


def _rounded(samples: NDArray[np.float64], resolution: Any, name: str) -> NDArray[np.float64]:
    """Samples [n, d] as multiples of their resolution, where one is given."""
    step = as_resolution(resolution, samples.shape[1], f"resolution_{name}")
    if step is None:
        return samples
    with np.errstate(over="ignore", invalid="ignore"):
        found: NDArray[np.float64] = rounded(samples, step)
    if not np.isfinite(found).all():
        raise InputError(
            f"resolution_{name} {resolution!r} is too small for values up to "
            f"{np.abs(samples).max():.3g}: give it in the units of {name}"
        )
    return found


def _untied(
    samples: NDArray[np.float64], groups: NDArray[np.int64], rng: np.random.Generator
) -> NDArray[np.float64]:
    """Samples [n, d] of a side that is not projected, coordinates constant within groups as ranks.

    Such a coordinate has as many independent values as there are groups. Average ranks would place
    each of them as exactly as n samples do, and where both sides have it, no pair of different
    groups comes near the given ones: the bound has no limit then. So its ties are broken at random,
    in each side on its own.
    """
    first = np.unique(groups, return_index=True)[1]
    tied = (samples == samples[first][groups]).all(axis=0) & (samples != samples[0]).any(axis=0)
    if not tied.any():
        return samples
    found = samples.copy()
    for column in np.flatnonzero(tied):
        order = np.lexsort((rng.random(len(samples)), samples[:, column]))
        found[order, column] = np.arange(len(samples))
    return found


def _varying(samples: NDArray[np.float64]) -> tuple[NDArray[np.float64], tuple[int, ...]]:
    """Samples [n, d] without constant coordinates (all, if there are no others), and which."""
    same = (samples == samples[0]).all(axis=0)
    constant = tuple(np.flatnonzero(same).tolist())
    if not constant or len(constant) == len(same):
        return samples, constant
    return np.ascontiguousarray(samples[:, ~same]), constant
