"""Disjoint parts of samples: each is estimated separately, and the estimates are averaged.

A model is trained on at most n_max samples; with more, its estimates rise with n. So a larger
sample is estimated in parts of at most n_max (`by_parts`). `directions.py` averages its two halves
in the same way.
"""

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from ..errors import InputError
from ..models.model_file import ModelFile
from .prepare import Samples, autocorrelated, drop_constants
from .result import Estimate
from .shuffling import largest_group
from .standard_error import with_error

Timed: TypeAlias = tuple[Estimate, dict[str, float]]  # an estimate, with the seconds of its stages
Evaluate: TypeAlias = Callable[[Samples], Timed]


def by_parts(samples: Samples, model: ModelFile, seed: int, evaluate: Evaluate) -> Timed:
    """Estimate all samples at once if they are at most n_max, else in parts of equal size.

    `seed` is that of the assignment to parts. The seconds of the stages are sums over parts.
    """
    parts = max(1, min(math.ceil(len(samples) / model.n_max), len(samples) // model.n_min))
    if parts == 1:
        return evaluate(samples)
    rows = split(len(samples), parts, samples.groups, seed)
    if samples.groups is not None:
        _check_groups(samples.groups, rows)
    return average(samples, rows, model, (evaluate(samples.take(own)) for own in rows))


def _check_groups(groups: NDArray[np.int64], rows: Sequence[NDArray[np.int64]]) -> None:
    """Raise InputError if a group is too large for one of the parts."""
    for own in rows:
        if int(np.bincount(groups[own]).max()) > largest_group(len(own)):
            n, largest = len(groups), int(np.bincount(groups).max())
            raise InputError(
                f"the largest group has {largest} of {n} samples. They are estimated in "
                f"{len(rows)} parts, and in each a group can have at most "
                f"{largest_group(len(own))} of {len(own)}: leave some of its samples out, or pass "
                "more groups"
            )


def split(
    n: int, parts: int, groups: NDArray[np.int64] | None, seed: int
) -> list[NDArray[np.int64]]:
    """Assign samples to parts, one of each `parts` consecutive ones, at random: [n_p] each.

    So every part covers the entire recording. A series that drifts, or is of several robots, is
    divided into parts of the same distribution. Neighbours within a part are further apart in time,
    so a part has more independent samples than a block of the same length. (Every `parts`-th sample
    could be in the same phase of a periodic motion.) Groups [n] are divided in the same way: each
    part has samples of all groups, in the same shares up to one sample.
    """
    order = np.arange(n) if groups is None else np.argsort(groups, kind="stable")
    rng = np.random.default_rng(np.random.SeedSequence(seed).spawn(6)[5])
    part = rng.permuted(np.tile(np.arange(parts), (math.ceil(n / parts), 1)), axis=1).ravel()
    rest = n % parts
    if rest:  # the last samples: one each for some of the parts
        part[n - rest : n] = rng.permutation(parts)[:rest]
    return [np.sort(order[part[:n] == p]) for p in range(parts)]


def average(
    samples: Samples,
    rows: Sequence[NDArray[np.int64]],
    model: ModelFile,
    estimates: Iterable[Timed],
) -> Timed:
    """Average the estimates of disjoint parts by their sizes; `rows` are the samples of each part.

    Sampling noise follows from the influences of all samples together, so it decreases with n, and
    a long-run or a clustered variance includes dependence between samples of different parts. The
    predicted error and the noise of ranks are averaged, but not divided by the root of the number
    of parts. They describe errors of the model on this kind of data, which all parts share. A flag
    is set if it is set in any part; `degenerate`, if it is set in all.
    """
    n = len(samples)
    pointwise, influence = np.empty(n), np.empty(n)
    found: list[Estimate] = []
    total: dict[str, float] = {}
    for own, (estimate, seconds) in zip(rows, estimates, strict=True):
        pointwise[own], influence[own] = estimate.pointwise, estimate.influence
        found.append(replace(estimate, pointwise=np.empty(0), influence=np.empty(0)))
        total = {stage: total.get(stage, 0.0) + spent for stage, spent in seconds.items()}
    sizes = [len(own) for own in rows]

    def mean(name: str) -> Any:
        return np.average([getattr(one, name) for one in found], axis=0, weights=sizes)

    per_slice = mean("per_slice")
    combined = replace(
        found[0],
        mi=float(per_slice.mean()),
        predicted_error=float(mean("predicted_error")),
        gaussian=float(mean("gaussian")),
        beyond_gaussian=float(mean("beyond_gaussian")),
        rank_noise=float(mean("rank_noise")),
        per_slice=per_slice,
        pointwise=pointwise,
        influence=influence,
        samples=n,
        saturated=any(one.saturated for one in found),
        degenerate=all(one.degenerate for one in found),
        clipped=any(one.clipped for one in found),
        rank_x=float(mean("rank_x")),
        rank_y=float(mean("rank_y")),
        autocorrelated=not samples.time_series
        and samples.groups is None
        and autocorrelated(drop_constants(samples.x)[0], drop_constants(samples.y)[0]),
        constant_x=_in_all(one.constant_x for one in found),
        constant_y=_in_all(one.constant_y for one in found),
        redundant_x=_in_all(one.redundant_x for one in found),
        redundant_y=_in_all(one.redundant_y for one in found),
        parts=sum(one.parts for one in found),
    )
    return with_error(combined, model, samples.time_series, samples.groups), total


def _in_all(coordinates: Iterable[tuple[int, ...]]) -> tuple[int, ...]:
    """Coordinates that are left out in all parts."""
    return tuple(sorted(set.intersection(*map(set, coordinates))))
