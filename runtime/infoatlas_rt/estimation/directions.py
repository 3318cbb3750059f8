"""Estimates of wide sides in directions that are found in the other half of the samples.

A side of more than D coordinates is reduced to D canonical directions (Hotelling, 1936). They are
the linear combinations of its normal scores that correlate most with the other side. One half of
the samples determines them, and the mutual information of the reduced sides is estimated in the
other half. Then the halves are exchanged, and the two estimates are averaged. A function of a side
has at most the information of the side (the data processing inequality), and samples that did not
determine the directions cannot overfit them. So the result is a lower bound of I(x; y) in
expectation, if the model's estimate of the reduced sides is unbiased.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from ..errors import InputError
from ..inputs.gpu_arrays import Array, to_host
from ..models.model_file import ModelFile
from .canonical import RANK_TOLERANCE, normal_scores
from .large_samples import Evaluate, Timed, average, split
from .prepare import Samples, round_to, varying
from .shuffling import largest_group
from .slicing import GRID

Floats: TypeAlias = NDArray[np.float64]

WAYS = ("random", "canonical")
LARGEST_SEARCH = 20_000  # samples that the directions are found in: bounds time and memory
RIDGE = 0.05  # added to the variances of normal scores, which are about 1


def reduced(samples: Samples, model: ModelFile, seed: int, evaluate: Evaluate) -> Timed:
    """Estimate I(x; y), or a lower bound of it if a side has more than D non-constant coordinates.

    Samples on a GPU are copied to the host, where the directions are found. `seed` is that of the
    halves, and `evaluate` estimates samples unsliced. The seconds are without those of the
    directions.

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
        parts = list(_reduced_halves(samples, halves, model.dim, seed))
        found, seconds = average(samples, halves, model, map(evaluate, parts))
        wide = [
            getattr(part, name).shape[1]
            for part in parts
            for name, side in (("x", x), ("y", y))
            if side.shape[1] > model.dim
        ]
        found = replace(found, k=max(wide), directions="canonical")
    return replace(found, constant_x=constant_x, constant_y=constant_y), seconds


def _varying(side: Array) -> tuple[Floats, tuple[int, ...]]:
    """A side on the host without constant coordinates (one of them if all are), and these."""
    kept, constant = varying(side)
    return to_host(kept if len(constant) < side.shape[1] else side[:, :1]), constant


def _reduced_halves(
    samples: Samples, halves: Sequence[NDArray[np.int64]], dim: int, seed: int
) -> Iterator[Samples]:
    """Both halves, each with its wide sides reduced to directions of the other one."""
    for own, other in (halves, halves[::-1]):
        if len(other) > LARGEST_SEARCH:
            rng = np.random.default_rng([seed, 2])
            other = np.sort(rng.choice(other, LARGEST_SEARCH, replace=False))
        found = canonical(_scores(samples.x[other]), _scores(samples.y[other]), dim)
        half = samples.take(own)
        x, y = (
            along(weights, side) if side.shape[1] > dim else side
            for weights, side in zip(found, (half.x, half.y), strict=True)
        )
        yield replace(half, x=x, y=y)


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


def canonical(x: Floats, y: Floats, k: int) -> tuple[Floats, Floats]:
    """Canonical directions [p, k] and [q, k] of two sides [n, p] and [n, q], the strongest first.

    There are fewer than k if a side has fewer dimensions. If a side is constant, all directions are
    equally good, and the first coordinates are used.
    """
    map_x, map_y = _whitener(x), _whitener(y)
    if min(map_x.shape[1], map_y.shape[1]) == 0:
        return np.eye(x.shape[1], k), np.eye(y.shape[1], k)
    x, y = (x - x.mean(axis=0)) @ map_x, (y - y.mean(axis=0)) @ map_y
    u, _, v = np.linalg.svd(x.T @ y / len(x), full_matrices=False)
    return map_x @ u[:, :k], map_y @ v[:k].T


def _whitener(z: Floats) -> Floats:
    """A map [p, r] to r uncorrelated coordinates, of unit variance where the ridge is small."""
    values, vectors = np.linalg.eigh(np.cov(z, rowvar=False, bias=True).reshape(z.shape[1], -1))
    kept = values > RANK_TOLERANCE * max(values[-1], RANK_TOLERANCE)
    return np.asarray(vectors[:, kept] / np.sqrt(values[kept] + RIDGE))


def along(weights: Floats, samples: Floats) -> Floats:
    """Samples [n, d] along directions [d, k] of their scores, [n, k], in steps of `GRID`.

    The steps keep equal rows equal.
    """
    return np.asarray(np.round(_scores(samples) @ weights / GRID) * GRID)


def _scores(samples: Floats) -> Floats:
    """Normal scores of samples [n, d]."""
    scores: Floats = normal_scores(np.ascontiguousarray(samples.T)).T
    return scores
