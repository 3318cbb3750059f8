"""Unusual properties of demonstrations: failed grasps, missing events, idle time, bad frames."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from .changes import Changes
from .events import LABEL, Evidence
from .gripper import Switch
from .steps import Steps

Float = NDArray[np.float64]

COMMON = 0.9  # share of the demonstrations that counts as most of them
UNLIKE = 3.5  # robust standard deviations from the others
WIDTH = 0.1  # of the usual opening, by which the width of a failed grasp differs, at least
IDLE = 0.02  # of the rms increment: a coordinate is at rest


@dataclass(frozen=True)
class Quality:
    """Unusual properties of one demonstration.

    Attributes
    ----------
    attempts : tuple of (int, str)
        Recorded step and reason of each failed attempt to grasp, in order of time: a gripper closes
        on nothing, stops at another width than in the others, or closes an extra time.
    missing : tuple of str
        Contacts, switches or labelled key states that it has less often than most demonstrations.
    repeated : tuple of str
        Those that it has more often than most.
    idle : float
        Share of the working steps at which every coordinate is at rest.
    outliers : tuple of int
        Recorded steps that were outliers and have been replaced.
    """

    attempts: tuple[tuple[int, str], ...]
    missing: tuple[str, ...]
    repeated: tuple[str, ...]
    idle: float
    outliers: tuple[int, ...]

    @property
    def failures(self) -> list[str]:
        """Text of each failed attempt, as "gripper closes on nothing at step 84"."""
        return [f"{reason} at step {step}" for step, reason in self.attempts]


def assess(
    changes: Changes,
    states: Sequence[Float],
    evidence: Evidence,
    found: Steps,
    outliers: Sequence[tuple[int, int]],
) -> tuple[Quality, ...]:
    """Quality of each demonstration.

    Parameters
    ----------
    changes : Changes
    states : sequence of N arrays [T_i, p]
        Working steps.
    evidence : Evidence
    found : Steps
        Key states; those with labels take the place of the evidence in `missing` and `repeated`.
    outliers : sequence of (demonstration, recorded step)
    """
    there = ~np.ma.getmaskarray(found.steps)
    seen = [Counter(event.name for event in row) for row in evidence.events]
    if LABEL in found.source:
        seen = [Counter(np.array(found.names)[row].tolist()) for row in there]
    names = list(dict.fromkeys(name for row in seen for name in row))
    times = np.array([[row[name] for name in names] for row in seen]).reshape(len(seen), -1)
    rows = np.sort(times, axis=0)
    others = int(len(times) * (1 - COMMON) + 1e-9)
    least, most = rows[others], rows[-1 - others]
    attempts = find_attempts(evidence)
    assessed = []
    for i, s in enumerate(states):
        still = at_rest(changes, s)
        assessed.append(
            Quality(
                attempts[i],
                tuple(names[j] for j in np.flatnonzero(times[i] < least)),
                tuple(names[j] for j in np.flatnonzero(times[i] > np.maximum(most, 1))),
                float(still.mean()) if len(still) else 0.0,
                tuple(step for which, step in outliers if which == i),
            )
        )
    return tuple(assessed)


def at_rest(changes: Changes, states: Float) -> NDArray[np.bool_]:
    """Whether no coordinate moves from each working step [T, p] to the next [T - 1]."""
    limit = np.maximum(np.sqrt(changes.rest) * IDLE / 0.1, 3 * changes.noise)
    return np.asarray((np.abs(np.diff(states, axis=0)) <= limit).all(axis=1))


@dataclass(frozen=True)
class Grip:
    """A gripper closes.

    Attributes
    ----------
    demonstration : int
    switch : Switch
    duration : float
        Steps until the gripper opens again; infinite if it stays closed.
    holds : bool
        A body moves in that time.
    """

    demonstration: int
    switch: Switch
    duration: float
    holds: bool


def find_attempts(evidence: Evidence) -> list[tuple[tuple[int, str], ...]]:
    """Step and reason of each failed attempt to grasp, by demonstration."""
    found: list[list[tuple[int, str]]] = [[] for _ in evidence.switches]
    for name in evidence.grippers:
        grips = _grips(evidence, name)
        failed: dict[Grip, str] = {}
        if sum(grip.holds for grip in grips) > len(grips) / 2:
            failed = {g: f"{name} closes on nothing" for g in grips if not g.holds}
        elif grips and not evidence.bodies:
            levels = np.array([grip.switch.level for grip in grips])
            usual = float(np.median(levels))
            away = np.abs(levels - usual)
            limit = max(UNLIKE * 1.4826 * float(np.median(away)), WIDTH)
            for j in np.flatnonzero(away > limit).tolist():
                level = max(grips[j].switch.level, 0.0)
                failed[grips[j]] = f"{name} stops {level:.0%} open (usually {usual:.0%})"
        for grip in _extra([grip for grip in grips if grip not in failed], len(found)):
            failed[grip] = f"{name} closes an extra time"
        for grip, reason in failed.items():
            found[grip.demonstration].append((grip.switch.end, reason))
    return [tuple(sorted(row)) for row in found]


def _grips(evidence: Evidence, name: str) -> list[Grip]:
    """All times that a gripper closes."""
    found = []
    for i, (row, motions) in enumerate(zip(evidence.switches, evidence.motions, strict=True)):
        own = [switch for switch in row if switch.gripper == name]
        closes = [np.sign(switch.change) == evidence.closing[name] for switch in own]
        for j, switch in enumerate(own):
            if closes[j] and not any(closes[j + 1 : j + 2]):  # closing in two moves counts once
                until = own[j + 1].begin if j + 1 < len(own) else np.inf
                holds = any(m.begin < until and m.end > switch.end for m in motions)
                found.append(Grip(i, switch, until - switch.end, holds))
    return found


def _extra(grips: Sequence[Grip], demonstrations: int) -> list[Grip]:
    """The shortest grips of demonstrations that have more than most have."""
    counts = np.bincount([grip.demonstration for grip in grips], minlength=demonstrations)
    usual = int(np.median(counts))
    if usual == 0 or (counts == usual).mean() <= 0.5:
        return []
    found = []
    for i in np.flatnonzero(counts > usual).tolist():
        own = sorted((g for g in grips if g.demonstration == i), key=lambda g: g.duration)
        found += own[: len(own) - usual]
    return found
