"""Estimates of sides in which many samples share a value: constants for lost values, limits, zeros.

Such a value is an atom of a coordinate whose other values are continuous. Let M be the pattern of
atoms of y: which coordinates are at which of their atoms. The pattern is a function of y, so

    I(x; y) = I(x; M) + sum of P(m) I(x; the other coordinates of y | M = m).

A graph that sees all of y at once underestimates it if there are many patterns. A rare pattern
borrows all samples in which the same coordinates have no atom. This is exact if values are lost at
random, and otherwise an approximation.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from ..inputs.gpu_arrays import to_host
from .determined import LEAST, MOST, is_determined
from .prepare import Prepared, Samples
from .result import INTERVAL, Estimate
from .unresolved import least_information

MANY = 12  # patterns from which an estimate that does not take them apart is flagged
LEAST_WIDTH = 0.75  # least half-width of a flagged 90% interval, as a share of the estimate
FARTHEST = 1000.0  # interquartile ranges, beyond which tails are heavy
PATTERNS = 8  # from so many patterns on; with fewer, the sum has a larger error than the graph
# Samples, and share of all, that an atom has at least. Of patterns with a smaller share, the atoms
# of the other side are not taken apart.
LEAST_COUNT, LEAST_SHARE = 5, 0.01
MOST_ATOMS = 3  # of a coordinate: two limits and a code; with more it has levels
CONTINUOUS = 0.9  # least share of different values among the others
LEAST_OTHERS = 20
LEAST_MI = 0.25  # nats; of weaker dependence the graph loses little
# Of all. With 300, three of five 90% intervals contained the truth where values are lost because of
# what they are; with 500, all of twelve did.
LEAST_SAMPLES = 500
OWN = 200  # samples from which a pattern borrows none
# If the pattern depends on the other side, borrowed samples differ from a pattern's own. Error per
# nat of this dependence, where all are borrowed.
DEPENDENT = 0.25

Estimating = Callable[[Samples], Estimate]


def find_atoms(side: NDArray[np.float64]) -> NDArray[np.int8]:
    """Number of the atom of each value, 0 if it has none: [n, d]."""
    atoms = np.zeros(side.shape, np.int8)
    for column, out in zip(side.T, atoms.T, strict=True):
        values, place, count = np.unique(column, return_inverse=True, return_counts=True)
        common = np.flatnonzero(count >= max(LEAST_COUNT, LEAST_SHARE * len(column)))
        others = len(column) - count[common].sum()
        distinct = len(values) - len(common)
        if len(common) <= MOST_ATOMS and distinct >= max(LEAST_OTHERS, CONTINUOUS * others):
            numbers = np.zeros(len(values), np.int8)
            numbers[common] = np.arange(1, len(common) + 1)
            out[:] = numbers[place.ravel()]
    return atoms


def count_patterns(side: NDArray[np.float64]) -> int:
    """Number of patterns of atoms among samples [n, d]; 1 if there are no atoms."""
    return len(np.unique(find_atoms(side), axis=0))


def with_flags(
    samples: Samples, found: Estimate, prepare: Callable[[Samples], Prepared] | None
) -> Estimate:
    """The estimate, flagged, with a bound or a larger error where its kind of data misleads it.

    Without `prepare`, whether one side is a function of the other is not tested.
    """
    if found.k is not None:
        return found
    if prepare is not None and found.saturated:
        some = prepare(samples.take(np.arange(0, len(samples), -(-len(samples) // MOST))))
        found = replace(found, at_least=max(least_information(some.x, some.y, some.order), 0.0))
    elif prepare is not None and found.mi > LEAST:
        in_order = samples.time_series or found.autocorrelated
        found = replace(found, saturated=is_determined(samples, in_order))
    if found.patterns or found.mi < LEAST_MI:
        return found
    sides = [np.asarray(to_host(side)) for side in (samples.x, samples.y)]
    ranked = [np.sort(side, axis=0) for side in sides]
    tied = [side for side, r in zip(sides, ranked, strict=True) if (r[1:] == r[:-1]).any()]
    atoms = max(map(count_patterns, tied), default=0)
    heavy = found.mi > LEAST and all(map(_has_heavy_tails, ranked))
    if atoms < MANY and not heavy:
        return found
    stderr = max(found.stderr, LEAST_WIDTH / INTERVAL * found.mi)
    return replace(found, stderr=stderr, atoms=atoms * (atoms >= MANY), heavy_tails=heavy)


def _has_heavy_tails(ranked: NDArray[np.float64]) -> bool:
    """Whether a coordinate, sorted [n, d], has values far beyond its quartiles."""
    n = len(ranked)
    least, low, high, most = ranked[[0, n // 4, (3 * n) // 4, n - 1]] / 2  # differences are finite
    beyond = np.maximum(low - least, most - high)
    return bool(((beyond / FARTHEST > high - low) & (high > low)).any())


@dataclass
class _Sum:
    """Parts of the sum: means, the samples' own parts [n], and errors."""

    mi: float
    error: NDArray[np.float64]  # [3] stderr, noise, predicted error
    pointwise: NDArray[np.float64]
    influence: NDArray[np.float64]


def estimate_by_patterns(samples: Samples, estimating: Estimating, found: Estimate) -> Estimate:
    """The estimate as a sum over patterns of atoms; `found` itself if they are few, or it is weak.

    `estimating` makes an estimate of some samples, and `found` is its estimate of all.
    """
    if found.mi < LEAST_MI:
        return found
    atoms = [find_atoms(side) for side in (samples.x, samples.y)]
    patterns = max(len(np.unique(side, axis=0)) for side in atoms)
    if patterns < PATTERNS:
        return found
    total = _chained(samples, atoms, (1, 0), estimating)
    stderr, noise, predicted = total.error
    return replace(
        found, mi=total.mi, stderr=float(stderr), noise=float(noise), patterns=patterns,
        predicted_error=float(predicted), per_slice=np.array([total.mi]), clipped=False,
        pointwise=total.pointwise, influence=total.influence,
    )  # fmt: skip


def _chained(
    samples: Samples, atoms: list[NDArray[np.int8]], order: tuple[int, ...], estimating: Estimating
) -> _Sum:
    """The sum over patterns of the first side of `order` that has many, then of the others."""
    split = [s for s in order if len(np.unique(atoms[s], axis=0)) >= PATTERNS]
    if not split:
        return _directly(samples, estimating)
    side, rest = split[0], tuple(split[1:])
    own = atoms[side]
    columns = own[:, np.ptp(own, axis=0) > 0]
    total = _directly(_with(samples, side, columns.astype(np.float64)), estimating)
    kinds, kind = np.unique(own, axis=0, return_inverse=True)
    known: dict[bytes, tuple[NDArray[np.int64], _Sum]] = {}
    error, conditional, borrowed = np.zeros(3), np.zeros(len(own)), 0.0
    of_pattern = max(total.mi, 0.0)
    for number, pattern in enumerate(kinds):
        here = np.flatnonzero(kind.ravel() == number)
        kept, rows = _rows(own, pattern, here)
        if not kept.any():
            continue
        key = rows.tobytes() + kept.tobytes()
        if key not in known:
            values = (samples.x, samples.y)[side][:, kept]
            part = _with(samples, side, values).take(rows)
            inner = [a[rows] for a in atoms]
            inner[side] = np.zeros((len(rows), 1), np.int8)
            further = rest if len(here) >= LEAST_SHARE * len(own) else ()
            known[key] = rows, _chained(part, inner, further, estimating)
        rows, found = known[key]
        at = np.searchsorted(rows, here)  # own samples are among those that were used
        for name in ("pointwise", "influence"):
            values = getattr(found, name)[at]
            getattr(total, name)[here] += values + found.mi - values.mean()
        conditional[here] = found.mi
        total.mi += len(here) / len(own) * found.mi
        error += len(here) / len(own) * found.error
        borrowed += (len(here) < len(rows)) * len(here) / len(own)
    sampled = conditional.std() / np.sqrt(len(own))  # the shares of the patterns
    differing = DEPENDENT * borrowed * of_pattern
    # Errors of the parts are added, because they share samples and the errors of the model.
    squares = total.error**2 + error**2 + np.array([sampled, sampled, 0.0]) ** 2
    total.error = np.sqrt(squares + np.array([differing, 0.0, differing]) ** 2)
    return total


def _rows(
    own: NDArray[np.int8], pattern: NDArray[np.int8], here: NDArray[np.int64]
) -> tuple[NDArray[np.bool_], NDArray[np.int64]]:
    """Coordinates without an atom in a pattern, and the ascending samples that estimate it.

    Coordinates are left out until enough samples have all of the others.
    """
    kept = pattern == 0
    if len(here) >= OWN:
        return kept, here
    free = own == 0
    while kept.any():
        rows = np.flatnonzero(free[:, kept].all(axis=1))
        if len(rows) >= min(OWN, len(own) // 4):
            return kept, rows
        kept = kept & (np.arange(len(kept)) != np.where(kept, free.sum(axis=0), np.inf).argmin())
    return kept, here


def _with(samples: Samples, side: int, values: NDArray[np.float64]) -> Samples:
    """The samples with other values of one side."""
    values = np.ascontiguousarray(values)
    return replace(samples, y=values) if side else replace(samples, x=values)


def _directly(samples: Samples, estimating: Estimating) -> _Sum:
    found = estimating(samples)
    error = np.array([found.stderr, found.noise, found.predicted_error])
    return _Sum(found.mi, error, found.pointwise.copy(), found.influence.copy())
