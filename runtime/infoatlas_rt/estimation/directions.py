"""Estimates of wide sides in directions that are found in the other half of the samples.

A side of more than D coordinates is reduced to D linear combinations of its normal scores or
features. One half of the samples determines those most related to the other side. The mutual
information of the reduced sides is estimated in the other half. Then the halves are exchanged, and
the two estimates are averaged. A function of a side has at most the information of the side (the
data processing inequality), and samples that did not determine the directions cannot overfit them.
So the result is a lower bound of I(x; y) in expectation, if the model's estimate of the reduced
sides is unbiased.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from ..errors import InputError
from ..inputs.gpu_arrays import Array, to_host
from ..models.model_file import ModelFile
from . import direction_search
from .canonical import normal_scores
from .direction_search import Floats
from .parts import Evaluate, Samples, Timed, average, split
from .prepare import round_to, varying
from .shuffling import largest_group
from .slicing import GRID

WAYS = ("random", "canonical", "features")
MOST = 20_000  # samples that the directions are found in, at most: bounds time and memory


@dataclass(frozen=True, eq=False)
class Reduction:
    """A side reduced to a few directions.

    Attributes
    ----------
    weights : [p, k] float64
        Directions among p = d normal scores, or among p = d + 1 with the log radius.
    radius : bool
        Whether the log radius of the normal scores is among them.
    """

    weights: Floats
    radius: bool

    def __call__(self, samples: Floats) -> Floats:
        """Reduce samples [n, d] to [n, k], in steps of `GRID`: equal rows stay equal."""
        return np.asarray(np.round(_features(samples, self.radius) @ self.weights / GRID) * GRID)


def reduced(samples: Samples, model: ModelFile, way: str, seed: int, evaluate: Evaluate) -> Timed:
    """Estimate I(x; y), or a lower bound of it if a side has more than D non-constant coordinates.

    Samples on a GPU are copied to the host, where the directions are found.

    Parameters
    ----------
    samples : Samples
    model : ModelFile
    way : {"canonical", "features"}
        How directions are found: `direction_search.canonical` or `direction_search.features`.
    seed : int
        Seed of the halves, and of the permutation that the directions of features are compared
        with.
    evaluate : callable
        Function that estimates samples unsliced.

    Returns
    -------
    Estimate
    dict of float
        Seconds of its stages, without those of the directions.

    Raises
    ------
    InputError
        A half has fewer samples than the model's n_min, or a group is too large for its half.
    """
    if max(samples.x.shape[1], samples.y.shape[1]) <= model.dim:
        return evaluate(samples)
    x, constant_x = _varying(round_to(samples.resolution_x, samples.x, "x"))
    y, constant_y = _varying(round_to(samples.resolution_y, samples.y, "y"))
    samples = replace(samples, x=x, y=y, resolution_x=None, resolution_y=None)
    if max(x.shape[1], y.shape[1]) <= model.dim:
        found, seconds = evaluate(samples)
    else:
        halves = _halves(samples, model, seed)
        parts = list(_reduced_halves(samples, halves, model.dim, way, seed))
        found, seconds = average(samples, halves, model, map(evaluate, parts))
        wide = [
            getattr(part, name).shape[1]
            for part in parts
            for name, side in (("x", x), ("y", y))
            if side.shape[1] > model.dim
        ]
        found = replace(found, k=max(wide), directions=way)
    return replace(found, constant_x=constant_x, constant_y=constant_y), seconds


def _varying(side: Array) -> tuple[Floats, tuple[int, ...]]:
    """A side on the host without constant coordinates (one of them if all are), and these."""
    kept, constant = varying(side)
    return to_host(kept if len(constant) < side.shape[1] else side[:, :1]), constant


def _reduced_halves(
    samples: Samples, halves: Sequence[NDArray[np.int64]], dim: int, way: str, seed: int
) -> Iterator[Samples]:
    """Both halves, each with its wide sides reduced to directions of the other one."""
    for own, other in (halves, halves[::-1]):
        rng = np.random.default_rng([seed, 2])
        if len(other) > MOST:
            other = np.sort(rng.choice(other, MOST, replace=False))
        radius = way == "features"
        x, y = (_features(side[other], radius) for side in (samples.x, samples.y))
        if way == "canonical":
            weights = direction_search.canonical(x, y, dim)
        else:
            order = _unrelated(len(other), samples.time_series, rng)
            weights = direction_search.features(x, y, dim, order)
        half = samples.take(own)
        reduced_x, reduced_y = (
            Reduction(found, radius)(side) if side.shape[1] > dim else side
            for found, side in zip(weights, (half.x, half.y), strict=True)
        )
        yield replace(half, x=reduced_x, y=reduced_y)


def _halves(samples: Samples, model: ModelFile, seed: int) -> list[NDArray[np.int64]]:
    """Two halves, as independent of each other as the samples allow.

    They are random; for a time series, the earlier and the later samples; with groups, complete
    groups. Otherwise directions that overfit one half would also fit dependent samples in the
    other.
    """
    n, groups = len(samples), samples.groups
    if groups is not None:
        halves = _halves_of_groups(groups, seed)
    elif samples.time_series:
        halves = [np.arange(n // 2), np.arange(n // 2, n)]
    else:
        halves = split(n, 2, None, seed)
    least = min(map(len, halves))
    if least < model.n_min:
        raise InputError(
            f"directions are found in one half of the samples and used in the other. Half of {n} "
            f"samples is {least}, and model {model.name} needs {model.n_min}: collect at least "
            f"{2 * model.n_min}, or leave out directions"
        )
    if groups is not None:
        for half in halves:
            largest, most = int(np.bincount(groups[half]).max()), largest_group(len(half))
            if largest > most:
                raise InputError(
                    f"directions are found in one half of the groups and used in the other. A "
                    f"group has {largest} of the {len(half)} samples of its half, and {most} can "
                    "be paired with other groups: collect six or more equal groups, or leave out "
                    "directions"
                )
    return halves


def _halves_of_groups(groups: NDArray[np.int64], seed: int) -> list[NDArray[np.int64]]:
    """Complete groups, the largest first, each into the half with fewer samples."""
    sizes = np.bincount(groups)
    order = np.random.default_rng([seed, 3]).permutation(len(sizes))
    order = order[np.argsort(-sizes[order], kind="stable")]
    second, filled = np.zeros(len(sizes), bool), [0, 0]
    for group in order.tolist():
        second[group] = filled[1] < filled[0]
        filled[int(second[group])] += int(sizes[group])
    return [np.flatnonzero(second[groups] == half) for half in (False, True)]


def _unrelated(n: int, time_series: bool, rng: np.random.Generator) -> NDArray[np.int64]:
    """An order of one side that leaves it unrelated to the other: random, or shifted in time."""
    if not time_series:
        return rng.permutation(n)
    return np.roll(np.arange(n), int(rng.integers(n // 4, n - n // 4)))


def _features(samples: Floats, radius: bool) -> Floats:
    """Normal scores [n, d], and [n, d + 1] with the logarithm of their radius."""
    scores: Floats = normal_scores(np.ascontiguousarray(samples.T)).T
    if not radius:
        return scores
    # The deviation of the logarithm is sqrt(2 / d) if the scores are independent, so it becomes 1.
    # The small constant bounds rows in which all coordinates have their median.
    squared = np.mean(scores * scores, axis=1, keepdims=True)
    scale = np.sqrt(scores.shape[1] / 2)
    return np.concatenate([scores, scale * np.log(squared + 1e-3)], axis=1)
