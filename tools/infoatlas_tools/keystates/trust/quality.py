"""Unusual properties of demonstrations: grasps, missing events, idle time, faulty recordings."""

from collections import Counter
from collections.abc import Sequence
from concurrent.futures import Executor
from dataclasses import dataclass, replace
from functools import partial

import numpy as np

from ...array_types import Bool, Float
from ...each_episode import each
from ..contacts.contact_events import Event, Evidence
from ..contacts.event_names import LABEL, EventKind, What
from ..contacts.gripper import JITTER, Switch
from ..contacts.keystate_steps import MOST, NEARLY_ALL, Steps
from ..motion.durations import MOMENT
from ..motion.motion_scales import AT_REST, MotionScales

UNLIKE = 3.5  # robust standard deviations from the others: a value that is unlike them
CAUSES = "(failed grasp, end of the recording or frozen sensor)"
IDLE = 0.02  # of the rms increment: idle time; stricter than AT_REST, which slow work meets, too
NEAREST = 2  # steps before and after one that decide with it whether it is at rest


@dataclass(frozen=True)
class Quality:
    """Unusual properties of one demonstration.

    Attributes
    ----------
    attempts : tuple of (int, str)
        Recorded step and reason of each failed attempt to grasp, in order of time. No object
        follows the closed gripper, or it stops at another width than in the others, or closes an
        extra time. Empty if coordinates freeze or are far out, which may be why.
    missing : tuple of str
        Contacts, switches or labelled key states that it has less often than nine of ten; grasps
        and releases, and switches if no object is known, than more than half.
    repeated : tuple of str
        Those that it has more often than nine of ten.
    order : str
        Two events that are in the other order in seven of ten, as "grasp can before grasp cube";
        "" if there are none.
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
    order: str
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
        found += [f"another order: {self.order}"] if self.order else []
        found += [f"lacks {', '.join(self.missing)}"] if self.missing else []
        found += [f"repeats {', '.join(self.repeated)}"] if self.repeated else []
        if self.outliers:
            found.append(f"bad frames at {', '.join(map(str, self.outliers[:5]))}")
        return found


def assess(
    scales: MotionScales,
    states: Sequence[Float],
    evidence: Evidence,
    found: Steps,
    outliers: Sequence[tuple[int, int]],
    faults: Sequence[Sequence[str]],
    equal: Sequence[Sequence[str]],
    executor: Executor | None = None,
) -> tuple[Quality, ...]:
    """Quality of each demonstration, from its working steps [T, p].

    Key states with labels replace the `evidence` in `missing`, `repeated` and `order`.
    `outliers` are (demonstration, recorded step); `faults` and `equal` are those of
    `recording_faults.py`.
    """
    seen = [[event.kind for event in row] for row in evidence.events]
    moved = [[kind for kind in row if kind.body] for row in seen]
    if LABEL in found.source:
        seen = [[found.events[j] for j in own.argsort()[: own.count()]] for own in found.steps]
        moved = seen
    kinds = list(dict.fromkeys(kind for row in seen for kind in row))
    times = np.array([[row.count(kind) for kind in kinds] for row in seen])
    orders = _orders(moved)
    rows = np.sort(times, axis=0)
    others = int(len(times) * (1 - NEARLY_ALL) + 1e-9)
    # A grasp that most demonstrations have is needed; other contacts can be optional.
    needed = [k.what in (What.GRASP, What.RELEASE) or not evidence.bodies for k in kinds]
    least = np.where(needed, rows[(len(rows) - 1) // 2], rows[others])
    most = rows[-1 - others]
    short = [  # with the number of the first one that is not there
        [
            replace(kind, occurrence=n + 1).name
            for kind, n, few in zip(kinds, own.tolist(), least.tolist(), strict=True)
            if n < few and kind not in _find_joined(row)
        ]
        for own, row in zip(times, evidence.events, strict=True)
    ]
    attempts = find_attempts(evidence)
    assessed = []
    for i, still in enumerate(each(partial(at_rest, scales), states, executor=executor)):
        assessed.append(
            Quality(
                () if faults[i] else attempts[i],
                tuple(short[i]),
                tuple(kinds[j].name for j in np.flatnonzero(times[i] > np.maximum(most, 1))),
                orders[i],
                float(still.mean()) if len(still) else 0.0,
                tuple(step for which, step in outliers if which == i),
                (*faults[i], *equal[i]),
            )
        )
    return tuple(assessed)


def _find_joined(events: Sequence[Event]) -> set[EventKind]:
    """Contacts that may be part of a grasp or a release, because they are nearly simultaneous."""
    parts = {What.GRASP: What.BEGINS, What.RELEASE: What.RESTS}
    kinds = [event.kind for event in events if event.kind.what in parts]
    return {EventKind(parts[kind.what], kind.body) for kind in kinds}


def _orders(seen: Sequence[Sequence[EventKind]]) -> list[str]:
    """Two events whose first occurrences are in another order than in most, by demonstration."""
    kinds = list(dict.fromkeys(kind for row in seen for kind in row))
    place = np.array([[row.index(k) if k in row else -1 for k in kinds] for row in seen])
    one, other = place[:, :, None], place[:, None]
    both = (one >= 0) & (other >= 0)
    count = both.sum(axis=0)
    usual = (both & (one < other)).sum(axis=0) >= np.maximum(MOST * count, len(seen) / 2)
    found = []
    for own, wrong in zip(place, both & (one > other) & usual, strict=True):
        pairs = [(own[j], own[i], j, i) for i, j in np.argwhere(wrong).tolist()]
        found.append(" before ".join(kinds[k].name for k in min(pairs)[2:]) if pairs else "")
    return found


def at_rest(scales: MotionScales, states: Float) -> Bool:
    """Whether no coordinate moves from each working step [T, p] to the next [T - 1].

    Most of the steps nearest to a step decide, because sensor noise exceeds any limit at times.
    """
    limit = np.maximum(np.sqrt(scales.rest_energy) * IDLE / AT_REST, 3 * np.sqrt(2) * scales.noise)
    rests = np.abs(np.diff(states, axis=0)) <= np.maximum(limit, scales.least)
    still = (rests | dithers(states, scales.quantum, scales.timing.frequency)).all(axis=1)
    if len(still) <= NEAREST:
        return np.asarray(still)
    padded = np.pad(still, NEAREST, "reflect")
    near = np.lib.stride_tricks.sliding_window_view(padded, 2 * NEAREST + 1)
    return np.asarray(near.mean(axis=1) > 0.5)


def dithers(states: Float, quantum: Float, frequency: float) -> Bool:
    """Whether increments [T - 1, p] of values [T, p] are noise of values in steps of `quantum` [p].

    An increment is at most two steps, and the means before and after it differ by one at most.
    """
    side = max(2, round(MOMENT * frequency))
    padded = np.pad(states, ((side - 1, side - 1), (0, 0)), "edge")
    mean = np.lib.stride_tricks.sliding_window_view(padded, side, axis=0).mean(axis=-1)
    small = np.abs(np.diff(states, axis=0)) <= 2.1 * quantum
    return np.asarray(small & (np.abs(mean[side:] - mean[:-side]) <= 1.05 * quantum))


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
    grasped = any(e.kind.what is What.GRASP for row in evidence.events for e in row)
    for name in evidence.grippers:
        grips = _grips(evidence, name)
        held = [[grip for grip in row if grip.holds] for row in grips]
        empty = [[grip for grip in row if not grip.holds] for row in grips]
        failed: dict[Grip, str] = {}
        usual = _usual(grips)
        if grasped and sum(map(bool, held)) > len(held) / 2:
            # Some grippers close when the arm goes home, in every demonstration.
            nothing = _extra(empty, _usual(empty) or 0)
            failed = dict.fromkeys(nothing, f"no object follows the closed {name} {CAUSES}")
            grips, usual = held, _usual(held)
        elif not evidence.bodies:
            failed = _widths(grips, usual, name)
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


def _usual(grips: Sequence[Sequence[object]]) -> int | None:
    """Number of grips that more than half of the demonstrations have; None if there is none."""
    number, times = Counter(map(len, grips)).most_common(1)[0]
    return number if times > len(grips) / 2 else None


def _extra(grips: Sequence[Sequence[Grip]], usual: int) -> list[Grip]:
    """The shortest grips of demonstrations that have more than `usual`."""
    ordered = [sorted(row, key=lambda grip: grip.duration) for row in grips]
    return [grip for row in ordered for grip in row[: max(len(row) - usual, 0)]]


def _widths(grips: Sequence[Sequence[Grip]], usual: int | None, name: str) -> dict[Grip, str]:
    """Grips at another width than the same one of the others that opens again, or does not.

    If there are more than `usual`, the shortest ones are extra, and compared with the one that
    follows: failed attempts precede what succeeds. Without a usual number, all are compared.
    """
    same: dict[tuple[bool, int], list[Grip]] = {}
    for row in grips:
        extra = _extra([row], usual) if usual else row
        for number, grip in enumerate(row):
            own = number - sum(one in extra for one in row[:number])
            same.setdefault((np.isfinite(grip.duration), own), []).append(grip)
    failed = {}
    for similar in same.values():
        levels = np.array([grip.switch.level for grip in similar])
        typical = float(np.median(levels))
        limit = max(UNLIKE * 1.4826 * float(np.median(np.abs(levels - typical))), JITTER)
        for grip, level in zip(similar, levels.tolist(), strict=True):
            if abs(level - typical) > limit:
                how = f"{'further' if level < typical else 'less'} than usual"
                share = f"{abs(level - typical):.0%} of its usual opening"
                failed[grip] = f"{name} closes {how}, by {share}"
    return failed
