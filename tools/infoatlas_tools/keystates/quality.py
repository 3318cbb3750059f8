"""Unusual properties of each demonstration: idle time, missing or repeated kinds, bad frames."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from .changes import Changes
from .fit_detectors import CENTRED, fit_detectors, make_features
from .steps import Steps

Float = NDArray[np.float64]

COMMON = 0.9  # share of the demonstrations with a kind, from which it is missing in the others
UNLIKE = 3.5  # robust standard deviations below the others
FITTED = 20  # demonstrations of a half that detectors are fitted to, at most
IDLE = 0.02  # of the rms increment: a coordinate is at rest


@dataclass(frozen=True)
class Quality:
    """Unusual properties of one demonstration.

    Attributes
    ----------
    idle : float
        Share of the working steps at which every coordinate is at rest.
    missing : tuple of int
        Columns of `KeyStates.steps` that most demonstrations have and this one lacks.
    repeated : tuple of str
        Names of kinds that it has more often than most.
    outliers : tuple of int
        Recorded steps that were outliers and have been replaced.
    likeness : float
        Similarity of its key states to those of the other demonstrations: the mean score of
        detectors fitted to others, about 1 if similar, 0 if not. NaN with fewer than four
        demonstrations.
    unlike : bool
        Its likeness is far below that of the others.
    """

    idle: float
    missing: tuple[int, ...]
    repeated: tuple[str, ...]
    outliers: tuple[int, ...]
    likeness: float
    unlike: bool


def assess(
    changes: Changes,
    states: Sequence[Float],
    steps: Float,
    found: Steps,
    outliers: Sequence[tuple[int, int]],
) -> tuple[Quality, ...]:
    """Quality of each demonstration.

    Parameters
    ----------
    changes : Changes
    states : sequence of N arrays [T_i, p]
        Working steps.
    steps : [N, K] float64
        Working steps of the key states; NaN where a demonstration lacks one.
    found : Steps
    outliers : sequence of (demonstration, recorded step)
    """
    there = ~np.isnan(steps)
    common = found.shared & (there.mean(axis=0) >= COMMON)
    kinds = np.unique(found.kind[found.shared])
    times = np.zeros((len(kinds), len(states)), np.int64)
    for row, kind in zip(times, kinds, strict=True):
        row[:] = there[:, found.shared & (found.kind == kind)].sum(axis=1)
    usual = np.median(times, axis=1)
    first = [int(np.flatnonzero(found.kind == kind)[0]) for kind in kinds]
    called = np.array([found.names[j] for j in first], dtype=object)
    likeness = _likeness(changes, states, np.where(found.shared, steps, np.nan))
    middle = np.nanmedian(likeness) if not np.isnan(likeness).all() else np.nan
    scale = 1.4826 * np.nanmedian(np.abs(likeness - middle)) if not np.isnan(middle) else np.nan
    assessed = []
    for i, s in enumerate(states):
        still = at_rest(changes, s)
        assessed.append(
            Quality(
                idle=float(still.mean()) if len(still) else 0.0,
                missing=tuple(np.flatnonzero(common & ~there[i]).tolist()),
                repeated=tuple(called[times[:, i] > np.maximum(usual, 1)].tolist()),
                outliers=tuple(step for which, step in outliers if which == i),
                likeness=float(likeness[i]),
                unlike=bool(likeness[i] < middle - max(UNLIKE * scale, 0.15)),
            )
        )
    return tuple(assessed)


def at_rest(changes: Changes, states: Float) -> NDArray[np.bool_]:
    """Whether no coordinate moves from each working step [T, p] to the next [T - 1]."""
    limit = np.maximum(np.sqrt(changes.rest) * IDLE / 0.1, 3 * changes.noise)
    return np.asarray((np.abs(np.diff(states, axis=0)) <= limit).all(axis=1))


def _likeness(changes: Changes, states: Sequence[Float], steps: Float) -> Float:
    """Mean score of a demonstration's key states by detectors fitted to others [N]."""
    found = np.full(len(states), np.nan)
    if len(states) < 4 or np.isnan(steps).all():
        return found
    features = make_features(changes, states, CENTRED)
    mixed = np.random.default_rng(0).permutation(len(states))
    for half in (0, 1):
        fitted = mixed[half::2][:FITTED]
        rows = [features.compute(states[i]) for i in fitted.tolist()]
        coefficients, offset = fit_detectors(rows, steps[fitted])
        for i in mixed[1 - half :: 2].tolist():
            there = np.flatnonzero(~np.isnan(steps[i]))
            at = features.compute(states[i], steps[i, there].astype(np.int64))
            if len(there):
                score = np.einsum("ij,ij->i", at, coefficients[there]) + offset[there]
                found[i] = float(score.mean())
    return found
