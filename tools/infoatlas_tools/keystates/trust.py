"""How far key states can be trusted: what they meet, and whether other demonstrations have them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .changes import Changes, bursts
from .contact import tempo
from .events import Event
from .fit_detectors import CENTRED, fit_detectors, make_features

Float = NDArray[np.float64]
Int = NDArray[np.int64]

NEAR = 0.25  # seconds within which a key state meets an event; less in quick demonstrations
ROOM = 0.05  # above chance, at least: a share within it of 1 counts as 1
HALVED = 24  # demonstrations that are split, at most
FOUND_AGAIN = 0.25  # seconds within which a key state counts as found again
SURROGATES = 19
LOOKED_AT = 8  # demonstrations that are compared with surrogates, at most
MARGIN = 1.1  # factor by which bursts have to exceed those of every surrogate


def met(
    events: Sequence[Sequence[Event]],
    steps: Any,
    lengths: Int,
    frequency: float,
    labelled: bool = False,
) -> float:
    """Share of contacts and switches that a key state meets, above chance; NaN without events.

    If the key states are `labelled`, it is the share of them that meet a contact or a switch. It is
    0 if as many evenly spaced steps do as well, and 1 if all do. The steps [N, K] are recorded
    ones, `frequency` (Hz) a second.
    """
    near, hits, chance = NEAR * tempo(lengths, frequency) * frequency, list[bool](), list[bool]()
    for row, own, length in zip(events, steps, lengths.tolist(), strict=True):
        found = own.compressed().astype(np.float64)
        evenly = np.arange(1, len(found) + 1) * (length - 1) / (len(found) + 1)
        for those, counted in ((found, hits), (evenly, chance)):
            if labelled:  # a person may label any step of a switch
                counted += [min((e.away(t) for e in row), default=np.inf) <= near for t in those]
            else:
                counted += [np.abs(those - e.step).min(initial=np.inf) <= near for e in row]
    return float(_beyond(np.mean(hits), np.mean(chance))) if hits and any(events) else float("nan")


def _beyond(share: Any, chance: Any) -> Any:
    """A share corrected for chance, as in Cohen's kappa: 0 for the chance, 1 for everything."""
    return 1 - (1 - share) / np.maximum(1 - chance, ROOM)


def reproduced(changes: Changes, states: Sequence[Float], steps: Float) -> Float:
    """Share [K] of each key state that detectors fitted to other demonstrations find, above chance.

    It is found again if a detection is within 0.25 s, and corrected for as many evenly spaced steps
    as a demonstration has key states. NaN with a single demonstration. Detectors are fitted to
    halves; with two or three demonstrations, to all except one. `states` [T, p] and `steps` [N, K]
    are in working steps, NaN where a demonstration lacks a kind.
    """
    count = steps.shape[1]
    if len(states) < 2 or not count:
        return np.full(count, np.nan)
    lengths = np.array([len(s) for s in states])
    chance = max(1, round(float((~np.isnan(steps)).sum(axis=1).mean())))
    evenly = np.rint(np.arange(1, chance + 1) * (lengths[:, None] - 1) / (chance + 1))
    features = make_features(changes, states, CENTRED)
    compared = np.sort(np.random.default_rng(0).permutation(len(states))[:HALVED])
    rows = {i: features.compute(states[i]) for i in compared.tolist()}
    both = np.concatenate([steps, evenly], axis=1)
    near, hits = changes.timing.steps(FOUND_AGAIN), np.full((0, both.shape[1]), np.nan)
    for held in _halves(compared):
        fitted = np.setdiff1d(compared, held)
        coefficients, offset = fit_detectors([rows[i] for i in fitted.tolist()], both[fitted])
        best = [(rows[i] @ coefficients.T + offset).argmax(axis=0) for i in held.tolist()]
        own = np.where(coefficients.any(axis=1), np.abs(best - both[held]) <= near, False)
        hits = np.concatenate([hits, np.where(np.isnan(both[held]), np.nan, own)])
    there = ~np.isnan(hits)
    share = np.where(there, hits, 0).sum(axis=0) / np.maximum(there.sum(axis=0), 1)
    own = np.where(there.any(axis=0), share, np.nan)[:count]
    return np.asarray(_beyond(own, share[count:].mean()))


def _halves(compared: Int) -> list[Int]:
    """Demonstrations that are held out, one set for each fit."""
    if len(compared) < 4:
        return [np.array([i]) for i in compared]
    mixed = np.random.default_rng(1).permutation(compared)
    return [np.sort(mixed[: len(mixed) // 2]), np.sort(mixed[len(mixed) // 2 :])]


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
