"""Estimates of wide sides in directions that are found in the other half of the samples.

A side of more than D coordinates is reduced to D canonical directions (Hotelling, 1936). They are
the linear combinations of its normal scores that correlate most with the other side. One half of
the samples determines them, and the mutual information of the reduced sides is estimated in the
other half. Then the halves are exchanged, and the two estimates are averaged. A function of a side
has at most the information of the side (the data processing inequality), and samples that did not
determine the directions cannot overfit them. So the average is a lower bound of I(x; y) in
expectation, if the model's estimate of the reduced sides is unbiased.

With enough samples, Gaussian dependence outside the directions is added (`_with_remainder`).
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from ..errors import InputError
from ..inputs.gpu_arrays import to_host
from ..models.model_file import ModelFile
from .bounds import repeats
from .canonical import RANK_TOLERANCE, normal_scores
from .large_samples import Evaluate, Timed, average, split
from .prepare import Samples, drop_constants, round_to, without_redundant
from .result import Estimate
from .shuffling import largest_group
from .slicing import GRID
from .standard_error import with_error

Floats: TypeAlias = NDArray[np.float64]
Rows: TypeAlias = Sequence[NDArray[np.int64]]  # of both halves

WAYS = ("random", "canonical")
LARGEST_SEARCH = 20_000  # samples that the directions are found in: bounds time and memory
RIDGE = 0.05  # added to the variances of normal scores, which are about 1


def estimate_by_directions(
    samples: Samples, model: ModelFile, seed: int, evaluate: Evaluate
) -> Timed:
    """Estimate I(x; y), by directions if `drop_redundant` keeps more than D of a side.

    Samples on a GPU are copied to the host, where the directions are found. `seed` is that of the
    halves, and `evaluate` estimates samples unsliced. The seconds are without those of the
    directions.

    Raises
    ------
    InputError
        A half has fewer samples than the model's n_min, or a group is too large for its half.
    """
    samples, left_out = drop_redundant(samples, model.dim)
    x, y = to_host(samples.x), to_host(samples.y)
    if max(x.shape[1], y.shape[1]) <= model.dim:
        found, seconds = evaluate(samples)
    else:
        samples = replace(samples, x=x, y=y)
        halves = _halves(samples, model, seed)
        most, rng = LARGEST_SEARCH, np.random.default_rng([seed, 2])
        searched = [h[np.sort(rng.permutation(len(h))[:most])] for h in halves]
        parts = list(_reduce_halves(samples, zip(halves, searched[::-1], strict=True), model.dim))
        found, seconds = average(samples, halves, model, map(evaluate, parts))
        found = _with_remainder(found, samples, searched, model)
        sides = ((own, side) for part in parts for own, side in ((part.x, x), (part.y, y)))
        widths = [own.shape[1] for own, side in sides if side.shape[1] > model.dim]
        found = replace(found, k=max(widths), directions="canonical")
    return replace(found, **left_out), seconds


def drop_redundant(samples: Samples, dim: int) -> tuple[Samples, dict[str, Any]]:
    """If a side has more than `dim` coordinates: both without constant and redundant ones.

    The latter are the fields of `Estimate`. A side that is constant keeps one coordinate.
    """
    if max(samples.x.shape[1], samples.y.shape[1]) <= dim:
        return samples, {}
    sides, left_out = [], dict[str, Any]()
    for name in ("x", "y"):
        side = round_to(getattr(samples, f"resolution_{name}"), getattr(samples, name), name)
        kept, constant = drop_constants(side)
        still = len(constant) == side.shape[1]
        kept, out = without_redundant(kept, not still, constant, None)
        sides.append(kept[:, :1] if still else kept)
        left_out |= {f"constant_{name}": constant, f"redundant_{name}": out}
    found = replace(samples, x=sides[0], y=sides[1], resolution_x=None, resolution_y=None)
    return found, left_out


def _reduce_halves(samples: Samples, halves: Iterable[Rows], dim: int) -> Iterator[Samples]:
    """Both halves, each with its wide sides reduced to directions of the other one."""
    for own, other in halves:
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


def _whitener(z: Floats, ridge: float = RIDGE) -> Floats:
    """A map [p, r] to r uncorrelated coordinates, of unit variance where the ridge is small."""
    values, vectors = np.linalg.eigh(np.cov(z, rowvar=False, bias=True).reshape(z.shape[1], -1))
    kept = values > RANK_TOLERANCE * max(values[-1], RANK_TOLERANCE)
    return np.asarray(vectors[:, kept] / np.sqrt(values[kept] + ridge))


def _with_remainder(found: Estimate, samples: Samples, halves: Rows, model: ModelFile) -> Estimate:
    """The estimate of the directions, with Gaussian dependence of all other ones added.

    That is the information of the Gaussian copula of all coordinates less that of the directions,
    `found.gaussian`, if it is positive. Repeated rows bound it.
    """
    copula = None if found.degenerate else _copula(samples, halves)
    equal = repeats(samples.x, samples.y)
    most = np.inf if equal is None else equal.ceiling() - found.mi
    if copula is None or (remainder := min(copula[0] - found.gaussian, most)) <= 0:
        return found
    # The part of its local information that the influence of the model does not explain.
    influence = found.influence - found.influence.mean()
    local = copula[1] - influence * (copula[1] @ influence / max(influence @ influence, 1e-300))
    added = replace(
        found,
        mi=found.mi + remainder,
        per_slice=found.per_slice + remainder,
        pointwise=found.pointwise + remainder + local,
        influence=found.influence + local,
        gaussian=copula[0],
        predicted_error=float(np.hypot(found.predicted_error, copula[2])),
    )
    return with_error(added, model, samples.time_series, samples.groups)


def _copula(samples: Samples, halves: Rows) -> tuple[float, Floats, float] | None:
    """Gaussian copula of all coordinates; None if samples are too few, or a half determines one.

    Returns its information, the local one less the mean [n], and the error for independent sides,
    nats. The bias is that of normal samples times a factor for heavy tails and dependent samples:
    by how much more the covariances of two halves differ.
    """
    rows, m = np.concatenate(halves), min(map(len, halves))
    x, y = (_scores(side) for side in (samples.x, samples.y))
    x, y = (z @ _whitener(z[rows], ridge=0.0) for z in (x, y))
    dx, dy, n = x.shape[1], y.shape[1], len(rows)
    if m < 2 * (dx + dy):
        return None
    both = np.hstack([x, y]) - np.hstack([x, y])[rows].mean(axis=0)
    joint = both[rows].T @ both[rows] / n
    correlations = np.linalg.svd(joint[:dx, dx:], compute_uv=False)
    first, second = (np.cov(both[half], rowvar=False) for half in halves)
    least = min(np.linalg.eigvalsh(half)[0] for half in (first, second))
    if 1 - correlations[0] ** 2 < 1 / n or least < RANK_TOLERANCE:
        return None
    difference = normal = 0.0  # of the covariances of two halves
    for block, sign in ((slice(None), 1), (slice(dx), -1), (slice(dx, None), -1)):
        a, b = first[block, block], second[block, block]
        difference += sign * np.trace(np.linalg.solve(a, b) + np.linalg.solve(b, a)) / 2
        normal += sign * len(a) * (m - 1) / (m - len(a) - 2)
    factor = max(difference / normal, 1.0)
    # Means of the log-determinants of sample covariances of 1, 2, ... normal coordinates.
    i = np.arange(1, dx + dy + 1)
    logs = np.cumsum(np.log((n - i) / (n - 1)) - 1 / (n - i))
    bias = factor * float(logs[dx - 1] + logs[dy - 1] - logs[-1]) / 2
    local = (both * (both - np.linalg.solve(joint, both.T).T)).sum(axis=1) / 2
    information = -0.5 * float(np.log1p(-np.square(correlations)).sum())
    return information - bias, local - local.mean(), factor * float(np.sqrt(dx * dy / 2)) / n


def along(weights: Floats, samples: Floats) -> Floats:
    """Samples [n, d] along directions [d, k] of their scores, [n, k], in steps of `GRID`.

    The steps keep equal rows equal.
    """
    return np.asarray(np.round(_scores(samples) @ weights / GRID) * GRID)


def _scores(samples: Floats) -> Floats:
    """Normal scores of samples [n, d]."""
    scores: Floats = normal_scores(np.ascontiguousarray(samples.T)).T
    return scores
