"""How far key states can be trusted: what they meet, and whether other demonstrations have them."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from ...array_types import Float, Int
from ..contacts.contact_events import Event, Evidence
from ..contacts.event_names import What
from ..contacts.keystate_steps import ENOUGH, NEARLY_ALL, Steps
from ..fits.fit_detectors import CENTRED, fit_detectors, make_features
from ..motion.durations import NEAR
from ..motion.motion_scales import STRONGEST, MotionScales, bursts

HALVED = 24  # demonstrations that are split into halves, at most: the time grows with them
MARGIN = 1.1  # times the bursts of every copy with random phases, which have to be exceeded
USUAL = 0.5, 600.0  # s that a demonstration lasts; else the rate may be wrong
REPEATS = 0.3  # share of a key state that is found again above chance, from which it repeats


def measure_met(
    events: Sequence[Sequence[Event]],
    steps: Any,
    lengths: Int,
    frequency: float,
    labelled: bool = False,
) -> float:
    """Share of contacts and switches that a key state meets, less that of evenly spaced steps.

    NaN without events. If the key states are `labelled`, it is the share of them that meet a
    contact or a switch, and nothing is subtracted. The steps [N, K] are recorded ones, `frequency`
    (Hz) a second.
    """
    near, hits, chance = NEAR * frequency, list[bool](), [False] * labelled
    for row, own, length in zip(events, steps, lengths.tolist(), strict=True):
        found = own.compressed().astype(np.float64)
        evenly = np.arange(1, len(found) + 1) * (length - 1) / (len(found) + 1)
        if labelled:  # a person may label any step of a switch
            hits += [min((e.away(t) for e in row), default=np.inf) <= near for t in found]
        else:
            for those, counted in ((found, hits), (evenly, chance)):
                counted += [np.abs(those - e.step).min(initial=np.inf) <= near for e in row]
    return float(np.mean(hits) - np.mean(chance)) if hits and any(events) else float("nan")


def repetition(found: Steps, reproduced: Float) -> float:
    """Mean share of the shared key states that other demonstrations find again; NaN if unknown."""
    again = np.maximum(reproduced[found.shared], 0)  # NaN stays
    return float(np.nanmean(again)) if np.isfinite(again).any() else float("nan")


def data_reasons(lengths: Int, rate: float | None, labelled: bool) -> list[str]:
    """Sentences about few demonstrations without labels, or an unlikely rate (Hz)."""
    texts, seconds = [], float(np.median(lengths)) / (rate or np.nan)
    if seconds < USUAL[0] or seconds > USUAL[1]:
        own = f"At {rate:g} Hz, demonstrations last {float(f'{seconds:.2g}'):,g} s (median)"
        texts.append(f"{own}, and motions are looked for in seconds: check the rate (--rate HZ).")
    if len(lengths) == 1 and not labelled:
        own = "All rows are one demonstration, so nothing shows which key states repeat. If they"
        texts.append(f"{own} are several, pass lengths in an .npz, or --episode-column of a table.")
    elif len(lengths) < ENOUGH and not labelled:
        own = f"{len(lengths)} demonstrations are few: they may agree by chance, and say little"
        texts.append(f"{own} about others. What helps: {ENOUGH} or more.")
    return texts


def reasons(found: Steps, evidence: Evidence, reproduced: Float) -> tuple[str, ...]:
    """Reasons not to rely on key states without labels, as sentences."""
    ways = "labels of two demonstrations"
    if not evidence.grippers:
        ways += "; the column of a gripper"
    if not evidence.common:
        return (
            "The states show no contact that demonstrations share: no body that another one moves, "
            "and no switch of a gripper. These key states are guesses from changes of the motion. "
            f"What helps: {ways}; positions of objects with names such as cube.x.",
        )
    texts = []
    passing = sorted({m.body for row in evidence.motions for m in row if m.taker})
    if passing and not evidence.grippers:
        texts.append(
            f"{', '.join(passing)} passes from one mover to another, at a step that only their "
            f"motion shows. What helps: {ways}."
        )
    whats = {event.what for event, own in zip(found.events, found.shared, strict=True) if own}
    if len(whats) == 1 and whats & {What.BEGINS, What.RESTS}:
        texts.append(
            f"All key states are of one kind, {found.names[0]}: the states show how a motion "
            f"begins or ends, and nothing between. What helps: {ways}."
        )
    if repetition(found, reproduced) <= 0:
        texts.append(
            "By their motion, other demonstrations find the key states again no more often than "
            f"evenly spaced steps: their names may stand for different events. What helps: {ways}."
        )
    return tuple(texts)


def measure_reproduced(scales: MotionScales, states: Sequence[Float], steps: Float) -> Float:
    """Share [K] of each key state that detectors fitted to other demonstrations find, above chance.

    It is found again if a detection is within 0.25 s, and corrected for as many evenly spaced steps
    as a demonstration has key states, as in Cohen's kappa. NaN with a
    single demonstration, or if nearly all evenly spaced steps are found. Detectors are fitted to
    halves; with two or three demonstrations, to all except one. `states` [T, p] and `steps` [N, K]
    are in working steps, NaN where a demonstration lacks a kind.
    """
    count = steps.shape[1]
    if len(states) < 2 or not count:
        return np.full(count, np.nan)
    lengths = np.array([len(s) for s in states])
    chance = max(1, round(float((~np.isnan(steps)).sum(axis=1).mean())))
    evenly = np.rint(np.arange(1, chance + 1) * (lengths[:, None] - 1) / (chance + 1))
    features = make_features(scales, states, CENTRED)
    compared = np.sort(np.random.default_rng(0).permutation(len(states))[:HALVED])
    rows = {i: features.compute(states[i]) for i in compared.tolist()}
    both = np.concatenate([steps, evenly], axis=1)
    near, hits = scales.timing.steps(NEAR), np.full((0, both.shape[1]), np.nan)
    for held in _halves(compared):
        fitted = np.setdiff1d(compared, held)
        coefficients, offset = fit_detectors([rows[i] for i in fitted.tolist()], both[fitted])
        best = [(rows[i] @ coefficients.T + offset).argmax(axis=0) for i in held.tolist()]
        own = np.where(coefficients.any(axis=1), np.abs(best - both[held]) <= near, False)
        hits = np.concatenate([hits, np.where(np.isnan(both[held]), np.nan, own)])
    there = ~np.isnan(hits)
    share = np.where(there, hits, 0).sum(axis=0) / np.maximum(there.sum(axis=0), 1)
    own = np.where(there.any(axis=0), share, np.nan)[:count]
    by_chance = share[count:].mean()
    return np.asarray(1 - (1 - own) / (1 - by_chance) if by_chance < NEARLY_ALL else own * np.nan)


def _halves(compared: Int) -> list[Int]:
    """Demonstrations that are held out, one set for each fit."""
    if len(compared) < ENOUGH:
        return [np.array([i]) for i in compared]
    mixed = np.random.default_rng(1).permutation(compared)
    return [np.sort(mixed[: len(mixed) // 2]), np.sort(mixed[len(mixed) // 2 :])]


def has_bursts(states: Sequence[Float], least: Float) -> bool:
    """Whether motion is more intermittent than stationary motion of the same spectrum.

    Under the null hypothesis, the Fourier phases of the increments are random, with the same phases
    in all coordinates. White noise, random walks and a single smooth motion do not reject it. The
    two largest b (`motion_scales.py`) are compared with those of 19 copies with random phases (the
    5% level), in up to 8 demonstrations.
    """
    rng = np.random.default_rng(0)
    motion = [np.diff(s, axis=0) for s in states if len(s) > 8][:8]
    if not motion:
        return False

    def largest(of: Sequence[Float]) -> float:
        return float(np.sort(bursts(of, least**2))[-STRONGEST:].mean())

    null = max(largest([_with_random_phases(d, rng) for d in motion]) for _ in range(19))
    return largest(motion) > MARGIN * null


def _with_random_phases(motion: Float, rng: np.random.Generator) -> Float:
    """Increments with the same spectrum and random phases."""
    spectrum = np.fft.rfft(motion, axis=0)
    turn = np.exp(2j * np.pi * rng.random(len(spectrum)))[:, None]
    turn[0] = 1
    if len(motion) % 2 == 0:
        turn[-1] = 1
    return np.asarray(np.fft.irfft(spectrum * turn, len(motion), axis=0))
