"""Unusual properties of demonstrations: grasps, missing events, idle time, faulty recordings."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from .changes import Changes
from .events import GRASP, LABEL, RELEASE, Evidence
from .gripper import Switch
from .steps import Steps

Float = NDArray[np.float64]

COMMON = 0.9  # share of the demonstrations that counts as most of them
UNLIKE = 3.5  # robust standard deviations from the others
WIDTH = 0.1  # of the usual opening, by which the width of a failed grasp differs, at least
CAUSES = "(failed grasp, end of the recording or frozen sensor)"
IDLE = 0.02  # of the rms increment: a coordinate is at rest


@dataclass(frozen=True)
class Quality:
    """Unusual properties of one demonstration.

    Attributes
    ----------
    attempts : tuple of (int, str)
        Recorded step and reason of each failed attempt to grasp, in order of time: no object
        follows the closed gripper, or it stops at another width than in the others, or closes an
        extra time. Empty if coordinates freeze or are far out, which may be why.
    missing : tuple of str
        Contacts, switches or labelled key states that it has less often than nine of ten; grasps
        and releases, and switches if no object is known, than more than half.
    repeated : tuple of str
        Those that it has more often than nine of ten.
    idle : float
        Share of the working steps at which every coordinate is at rest.
    outliers : tuple of int
        Recorded steps that were outliers and have been replaced.
    faults : tuple of str
        Coordinates that freeze or are far out, and frames that are those of another demonstration.
    """

    attempts: tuple[tuple[int, str], ...]
    missing: tuple[str, ...]
    repeated: tuple[str, ...]
    idle: float
    outliers: tuple[int, ...]
    faults: tuple[str, ...]

    @property
    def failures(self) -> list[str]:
        """Text of each failed attempt, as "at step 84, gripper closes an extra time"."""
        return [f"at step {step}, {reason}" for step, reason in self.attempts]

    @property
    def reasons(self) -> list[str]:
        """What is unusual, apart from idle time, as "lacks grasp cube"; empty if nothing is."""
        found = [*self.faults, *self.failures]
        found += [f"lacks {', '.join(self.missing)}"] if self.missing else []
        found += [f"repeats {', '.join(self.repeated)}"] if self.repeated else []
        if self.outliers:
            found.append(f"bad frames at {', '.join(map(str, self.outliers[:5]))}")
        return found


def assess(
    changes: Changes,
    states: Sequence[Float],
    evidence: Evidence,
    found: Steps,
    outliers: Sequence[tuple[int, int]],
    faults: Sequence[Sequence[str]],
    equal: Sequence[Sequence[str]],
) -> tuple[Quality, ...]:
    """Quality of each demonstration, from its working steps [T, p].

    Key states with labels take the place of the evidence in `missing` and `repeated`. `outliers`
    are (demonstration, recorded step); `faults` and `equal` are those of `recording_faults.py`.
    """
    there = ~np.ma.getmaskarray(found.steps)
    seen = [Counter(event.name for event in row) for row in evidence.events]
    if LABEL in found.source:
        seen = [Counter(np.array(found.names)[row].tolist()) for row in there]
    names = list(dict.fromkeys(name for row in seen for name in row))
    times = np.array([[row[name] for name in names] for row in seen])
    rows = np.sort(times, axis=0)
    others = int(len(times) * (1 - COMMON) + 1e-9)
    # A grasp that most demonstrations have is needed; other contacts can be optional.
    needed = [name.startswith((GRASP, RELEASE)) or not evidence.bodies for name in names]
    least = np.where(needed, rows[(len(rows) - 1) // 2], rows[others])
    most = rows[-1 - others]
    attempts = find_attempts(evidence)
    assessed = []
    for i, s in enumerate(states):
        still = at_rest(changes, s)
        assessed.append(
            Quality(
                () if faults[i] else attempts[i],
                tuple(names[j] for j in np.flatnonzero(times[i] < least)),
                tuple(names[j] for j in np.flatnonzero(times[i] > np.maximum(most, 1))),
                float(still.mean()) if len(still) else 0.0,
                tuple(step for which, step in outliers if which == i),
                (*faults[i], *equal[i]),
            )
        )
    return tuple(assessed)


def at_rest(changes: Changes, states: Float) -> NDArray[np.bool_]:
    """Whether no coordinate moves from each working step [T, p] to the next [T - 1]."""
    limit = np.maximum(np.sqrt(changes.rest) * IDLE / 0.1, 3 * changes.noise)
    return np.asarray((np.abs(np.diff(states, axis=0)) <= limit).all(axis=1))


@dataclass(frozen=True)
class Grip:
    """A gripper closes."""

    demonstration: int
    switch: Switch
    duration: float  # steps until the gripper opens again; infinite if it stays closed
    holds: bool  # a body moves in that time


def find_attempts(evidence: Evidence) -> list[tuple[tuple[int, str], ...]]:
    """Step and reason of each failed attempt to grasp, by demonstration."""
    found: list[list[tuple[int, str]]] = [[] for _ in evidence.switches]
    grasped = any(event.name.startswith(GRASP) for row in evidence.events for event in row)
    for name in evidence.grippers:
        grips = _grips(evidence, name)
        held = [[grip for grip in row if grip.holds] for row in grips]
        empty = [[grip for grip in row if not grip.holds] for row in grips]
        failed: dict[Grip, str] = {}
        if grasped and sum(map(bool, held)) > len(held) / 2:
            # Some grippers close when the arm goes home, in every demonstration.
            nothing = _extra(empty, _usual(empty) or 0)
            failed = dict.fromkeys(nothing, f"no object follows the closed {name} {CAUSES}")
            grips = held
        elif not evidence.bodies:
            failed = _widths([grip for row in grips for grip in row], name)
        usual = _usual(grips)
        for grip in _extra(grips, max(usual, 1)) if usual is not None else []:
            failed.setdefault(grip, f"{name} closes an extra time")
        for grip, reason in failed.items():
            found[grip.demonstration].append((grip.switch.end, reason))
    return [tuple(sorted(row)) for row in found]


def _grips(evidence: Evidence, name: str) -> list[list[Grip]]:
    """All times that a gripper closes, by demonstration."""
    found = []
    for i, (switches, motions) in enumerate(zip(evidence.switches, evidence.motions, strict=True)):
        own = [switch for switch in switches if switch.gripper == name]
        closes = [np.sign(switch.change) == evidence.closing[name] for switch in own]
        row = []
        for j, switch in enumerate(own):
            if closes[j] and not any(closes[j + 1 : j + 2]):  # closing in two moves counts once
                until = own[j + 1].begin if j + 1 < len(own) else np.inf
                holds = any(m.begin < until and m.end > switch.end for m in motions)
                row.append(Grip(i, switch, until - switch.end, holds))
        found.append(row)
    return found


def _usual(grips: Sequence[Sequence[Grip]]) -> int | None:
    """Number of grips that more than half of the demonstrations have; None if there is none."""
    number, times = Counter(map(len, grips)).most_common(1)[0]
    return number if times > len(grips) / 2 else None


def _extra(grips: Sequence[Sequence[Grip]], usual: int) -> list[Grip]:
    """The shortest grips of demonstrations that have more than `usual`."""
    ordered = [sorted(row, key=lambda grip: grip.duration) for row in grips]
    return [grip for row in ordered for grip in row[: max(len(row) - usual, 0)]]


def _widths(grips: Sequence[Grip], name: str) -> dict[Grip, str]:
    """Grips at another width than the others that open again, or than those that do not."""
    failed = {}
    for opens in (True, False):
        similar = [grip for grip in grips if np.isfinite(grip.duration) == opens]
        levels = np.array([grip.switch.level for grip in similar] or [0.0])
        usual = float(np.median(levels))
        limit = max(UNLIKE * 1.4826 * float(np.median(np.abs(levels - usual))), WIDTH)
        for grip in similar:
            level = grip.switch.level
            if abs(level - usual) > limit:
                failed[grip] = f"{name} stops {max(level, 0):.0%} open (usually {usual:.0%})"
    return failed
