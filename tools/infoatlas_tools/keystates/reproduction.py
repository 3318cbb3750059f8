"""Checks of key states: reproduction by other demonstrations, and bursts of the motion."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from .changes import Changes, bursts
from .fit_detectors import CENTRED, fit_detectors, make_features
from .segmentation import ranked_cuts

Float = NDArray[np.float64]
Int = NDArray[np.int64]

SPLITS = 2  # random splits into halves
HALVED = 24  # demonstrations that are split, at most
FOUND_AGAIN = 0.25  # seconds within which a key state counts as found again
SAME_CUT = 0.15  # seconds, or PLACE of a demonstration: nearer boundaries are the same
PLACE = 0.02
SURROGATES = 19
LOOKED_AT = 8  # demonstrations that are compared with surrogates, at most
MARGIN = 1.1  # factor by which bursts have to exceed those of every surrogate


def phases_reproduced(
    changes: Changes, states: Sequence[Float], boundaries: Int, lag: int, rest: Float
) -> float:
    """Share of the boundaries of phases [N, J] that fits to halves find again.

    0 with fewer than four demonstrations, or without boundaries.
    """
    if len(states) < 4 or not boundaries.shape[1]:
        return 0.0
    apart, found = changes.timing.steps(SAME_CUT), []
    for half in _halves(len(states)):
        own, _ = ranked_cuts([states[i] for i in half], lag, rest, boundaries.shape[1])
        limit = [max(apart, PLACE * len(states[i])) for i in half]
        if not own.shape[1]:
            found.append(0.0)
            continue
        away = np.abs(boundaries[half][:, :, None] - own[:, None, :]).min(axis=2)
        found.append(float((away <= np.array(limit)[:, None]).mean()))
    return float(np.mean(found))


def steps_reproduced(changes: Changes, states: Sequence[Float], steps: Float) -> float:
    """Share of key states that detectors fitted to other demonstrations find again.

    Parameters
    ----------
    changes : Changes
    states : sequence of N arrays [T_i, p]
    steps : [N, K] float64
        Working steps; NaN where a demonstration lacks a kind.

    Returns
    -------
    float
        Share that is found again within 0.25 s; NaN with a single demonstration. Detectors are
        fitted to halves; with two or three demonstrations, to all except one.
    """
    if len(states) < 2 or np.isnan(steps).all():
        return float("nan")
    features = make_features(changes, states, CENTRED)
    near, hits = changes.timing.steps(FOUND_AGAIN), []
    for held in _halves(len(states)):
        fitted = np.setdiff1d(_compared(len(states)), held)
        rows = [features.compute(states[i]) for i in fitted]
        coefficients, offset = fit_detectors(rows, steps[fitted])
        for i in held:
            there = np.flatnonzero(~np.isnan(steps[i]))
            score = features.compute(states[i]) @ coefficients[there].T + offset[there]
            known = coefficients[there].any(axis=1)
            hits += (known & (np.abs(score.argmax(axis=0) - steps[i, there]) <= near)).tolist()
    return float(np.mean(hits)) if hits else float("nan")


def has_bursts(states: Sequence[Float], rest: Float) -> bool:
    """Whether motion is more intermittent than stationary motion of the same spectrum.

    Under the null hypothesis, the Fourier phases of the increments are random, with the same phases
    in all coordinates. White noise, random walks and a single smooth motion do not reject it. The
    two largest b (`changes.py`) are compared with those of 19 surrogates, in up to 8
    demonstrations.
    """
    rng = np.random.default_rng(0)
    motion = [np.diff(s, axis=0) for s in states if len(s) > 8][:LOOKED_AT]
    if not motion:
        return False

    def largest(of: Sequence[Float]) -> float:
        return float(np.sort(bursts(of, rest**2))[-2:].mean())

    null = max(largest([_surrogate(d, rng) for d in motion]) for _ in range(SURROGATES))
    return largest(motion) > MARGIN * null


def _surrogate(motion: Float, rng: np.random.Generator) -> Float:
    """Increments with the same spectrum and random phases."""
    spectrum = np.fft.rfft(motion, axis=0)
    turn = np.exp(2j * np.pi * rng.random(len(spectrum)))[:, None]
    turn[0] = 1
    if len(motion) % 2 == 0:
        turn[-1] = 1
    return np.asarray(np.fft.irfft(spectrum * turn, len(motion), axis=0))


def _compared(count: int) -> Int:
    return np.sort(np.random.default_rng(0).permutation(count)[:HALVED])


def _halves(count: int) -> list[Int]:
    """Demonstrations that are held out, one set for each fit."""
    compared = _compared(count)
    if count < 4:
        return [np.array([i]) for i in compared]
    rng, halves = np.random.default_rng(1), []
    for _ in range(SPLITS):
        mixed = rng.permutation(compared)
        halves += [np.sort(mixed[: len(mixed) // 2]), np.sort(mixed[len(mixed) // 2 :])]
    return halves
