"""Events of demonstrations: contacts and switches of grippers, joined and named.

A gripper that closes before a body begins to move has grasped it, and it releases the body when it
opens. Contact lasts from the end of the closing to the begin of the opening, so these are the dates
of a grasp and of a release. A switch and a contact within half a second are one event.

Where the states show no event that demonstrations share, a fixed camera may show objects that leave
their places and arrive at others (`cameras/leave_and_arrive.py`).
"""

from collections import Counter
from collections.abc import Sequence
from concurrent.futures import Executor
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any

import numpy as np

from ...array_types import Float
from ...cameras.camera import Camera
from ...cameras.leave_and_arrive import find_changes
from ...clocks.pictures import correct_clock
from ...trajectories import end_to_end
from ..motion.durations import APART, ONE_EVENT, tempo
from .bodies import find_bodies
from .contact import Motion, find_motions
from .event_names import EventKind, What, unnamed_object
from .find_grippers import find_grippers
from .gripper import Gripper, Switch, find_switches
from .keystate_steps import COMMON

HELD = 2.0  # s after a grasp in which the body begins to move, at most: robots wait for the grip
EFFECT = 1.0  # s: a lift after a grasp, or a release after an arrival, is no later
EDGE = 0.1  # s at either end of a demonstration: what happens there is part of how it was cut
SHORT = 0.5  # of the shortest usual grip: a shorter one is a failed attempt
UNPAIRED = range(-1, 2)  # of events, in order of time

Pairing = tuple[EventKind, int]  # kind of an event, and how it is unpaired


@dataclass(frozen=True)
class Event:
    """Something that happens in a demonstration.

    Attributes
    ----------
    step : int
        Recorded step.
    kind : EventKind
    strength : float
        2 for a grasp or a release, plus the share of the usual opening, or of the body's range.
    unpaired : int
        1 for a closing without an opening, -1 for an opening without a closing, or 0.
    """

    step: int
    kind: EventKind
    strength: float
    unpaired: int = 0
    grip: int = 0  # steps for which a gripper is closed, after or before the event
    span: tuple[int, int] | None = None  # of its switch

    @property
    def pairing(self) -> Pairing:
        """Its kind, and how it is unpaired."""
        return self.kind, self.unpaired

    @property
    def begins(self) -> int:
        """Step at which its switch begins; its own step without a switch."""
        return self.span[0] if self.span else self.step

    @property
    def ends(self) -> int:
        """Step at which its switch ends; its own step without a switch."""
        return self.span[1] if self.span else self.step

    def away(self, step: float) -> float:
        """Steps from the event to a step; 0 if that is within its switch."""
        return max(self.begins - step, step - self.ends, 0.0)


@dataclass(frozen=True, eq=False)
class Evidence:
    """What the demonstrations show of contacts."""

    bodies: tuple[str, ...]  # that are moved
    grippers: dict[str, tuple[int, ...]]  # with their columns
    columns: tuple[int, ...]  # of bodies that move others, or of everything that is no gripper
    events: list[list[Event]]  # of each demonstration, in order of time
    motions: list[list[Motion]]
    switches: list[list[Switch]]
    closing: dict[str, float]  # sign of the change of its opening by which each gripper closes
    openings: tuple[Gripper, ...]  # the grippers

    @property
    def common(self) -> bool:
        """Whether half of the demonstrations have one and the same event."""
        seen = Counter(kind for row in self.events for kind in {event.kind for event in row})
        return max(seen.values(), default=0) >= COMMON * len(self.events)

    def by_command(self) -> "Evidence":
        """The same with every event at the begin of its switch, where the command is."""
        rows = [[replace(e, step=e.begins) for e in row] for row in self.events]
        return replace(self, events=[sorted(row, key=lambda e: e.step) for row in rows])

    def spans(self, steps: Any, near: float) -> tuple[Any, Any]:
        """Begins and ends [N, K] of the switches at steps [N, K]; else the steps.

        A switch is at a step if its event is, or if the step is at most `near` from the switch.
        """
        begins, ends = steps.copy(), steps.copy()
        for i, j in np.argwhere(~np.ma.getmaskarray(steps)).tolist():
            step = int(steps[i, j])
            own = [e for e in self.events[i] if e.step == step or e.away(step) <= near]
            if own:
                event = min(own, key=lambda e: abs(e.step - step))
                begins[i, j], ends[i, j] = event.begins, event.ends
        return begins, ends


def find_evidence(
    names: Sequence[str],
    states: Sequence[Float],
    frequency: float,
    gripper: Sequence[int | tuple[int, ...]] = (),
    ignored: Sequence[int] = (),
    rotations: Sequence[int] = (),
    executor: Executor | None = None,
) -> Evidence:
    """Contacts of bodies and switches of grippers.

    `gripper`, `ignored` and `rotations` are columns: those of the gripper, those that are ignored,
    and those of orientations. The frequency (Hz) is of recorded steps.
    """
    bodies = find_bodies(names, end_to_end(states), [*ignored, *rotations])
    places = [column for body in bodies for column in body.columns]
    taken = {*ignored, *places, *rotations}
    grippers = find_grippers(names, states, frequency, gripper, sorted(taken))
    motions = find_motions(bodies, states, frequency)
    switches = find_switches(grippers, states, frequency, executor=executor)
    lengths = [len(s) for s in states]
    events = join(motions, switches, lengths, frequency)
    every = [motion for row in motions for motion in row]
    movers = {name for m in every for name in (m.mover, m.taker) if name}
    fingers = {c for g in grippers for c in g.columns}
    moving = [c for body in bodies if body.name in movers for c in body.columns]
    others = [c for c in range(states[0].shape[1]) if c not in fingers and c not in taken]
    return Evidence(
        tuple(sorted({motion.body for motion in every})),
        {g.name: g.columns for g in grippers},
        tuple(moving or others),
        clearest(events, lengths, frequency),
        motions,
        switches,
        closing_signs(motions, switches, tempo(lengths, frequency) * frequency),
        tuple(grippers),
    )


def add_changes(
    evidence: Evidence,
    camera: Camera,
    states: Sequence[Float],
    names: Sequence[str],
    frequency: float,
) -> tuple[Evidence, list[str]]:
    """`Evidence` with objects that leave their places and arrive before a camera, and notes.

    Where demonstrations share contacts or switches, a change near these in three quarters of the
    demonstrations is their effect, and no event of its own.
    """
    late = correct_clock(camera, states, names, frequency)
    changes, notes = find_changes(camera, states, frequency)
    if evidence.common:
        away: dict[tuple[int, bool], list[float]] = {}
        for own, row in zip(evidence.events, changes, strict=True):
            for c in row:
                least = min((e.away(c.step) for e in own), default=np.inf)
                away.setdefault((c.number, c.leaves), []).append(least)
        far = {k for k, own in away.items() if np.quantile(own, 3 / 4) > EFFECT * frequency}
        changes = [[c for c in row if (c.number, c.leaves) in far] for row in changes]
        notes = notes if far else []
    notes = [*notes, *late]
    numbers = {change.number for row in changes for change in row}
    rows = []
    for own, row in zip(evidence.events, changes, strict=True):
        events = [*own]
        for change in row:
            what = What.LEAVES if change.leaves else What.ARRIVES
            kind = EventKind(what, unnamed_object(change.number, len(numbers) > 1))
            events.append(Event(change.step, kind, 1 + change.agreement))
        rows.append(events)
    return replace(evidence, events=clearest(rows, [len(s) for s in states], frequency)), notes


def join(
    motions: Sequence[Sequence[Motion]],
    switches: Sequence[Sequence[Switch]],
    lengths: Sequence[int],
    frequency: float,
) -> list[list[Event]]:
    """Events of all demonstrations, also at almost the same time."""
    unit = tempo(lengths, frequency) * frequency
    closing = closing_signs(motions, switches, unit)
    held = {motion.body for row in motions for motion in row}

    def joined() -> list[list[Event]]:
        return [
            _join_events(own, those, closing, held, length, unit, frequency)
            for own, those, length in zip(motions, switches, lengths, strict=True)
        ]

    # A body that few demonstrations grasp is pushed or pulled.
    clear = clearest(joined(), lengths, frequency)
    grasped = [{e.kind.body for e in row if e.kind.what is What.GRASP} for row in clear]
    seen = Counter(body for row in grasped for body in row)
    moved = Counter(body for row in motions for body in {motion.body for motion in row})
    held = {body for body in held if seen[body] >= moved[body] / 2}
    return joined()


def closing_signs(
    motions: Sequence[Sequence[Motion]], switches: Sequence[Sequence[Switch]], unit: float
) -> dict[str, float]:
    """Sign of the change of the opening by which each gripper closes; -1 unless bodies show it."""
    votes: Counter[str] = Counter()
    for own, row in zip(motions, switches, strict=True):
        for switch in row:
            after = [m.begin - switch.fastest for m in own]
            begins = any(-ONE_EVENT / 2 * unit <= t <= ONE_EVENT * unit for t in after)
            ends = any(abs(m.end - switch.fastest) <= ONE_EVENT * unit for m in own)
            votes[switch.gripper] += int(np.sign(switch.change)) * (begins - ends)
    return {name: float(np.sign(vote)) or -1.0 for name, vote in votes.items()}


def _join_events(
    motions: Sequence[Motion],
    switches: Sequence[Switch],
    closing: dict[str, float],
    graspable: set[str],
    length: int,
    unit: float,
    frequency: float,
) -> list[Event]:
    """Events of one demonstration."""
    found: list[Event] = []
    # Begins and ends of motions that a switch stands for, or that are pauses of what is held.
    covered: set[tuple[str, int]] = set()
    held: dict[str, str] = {}
    for number, switch in enumerate(switches):
        closes = np.sign(switch.change) == closing[switch.gripper]
        others = switches[number + 1 :] if closes else switches[:number]
        own = [s for s in others if s.gripper == switch.gripper and s.change * switch.change < 0]
        if closes:
            opens = own[0].begin if own else length
            grip = opens - switch.end
            last = min(switch.end + HELD * unit, opens)
            after = [m for m in motions if m.body in graspable and m.begin < last]
            after = [m for m in after if min(m.end, opens) > switch.end + ONE_EVENT * unit]
            body = max(after, key=lambda m: min(m.end, opens) - m.begin).body if after else ""
            held[switch.gripper] = body
            step = switch.end
            if body:
                covered |= _pauses(body, motions, switch.begin, opens)
        else:
            grip = switch.begin - (own[-1].end if own else 0)
            if switch.gripper not in held:  # closed from the start
                ends = [m for m in motions if m.begin < switch.begin <= m.end + ONE_EVENT * unit]
                held[switch.gripper] = next((m.body for m in ends if m.body in graspable), "")
            body = held[switch.gripper]
            step = switch.begin
        if body:
            covered |= {
                (body, m.begin if closes else m.end)
                for m in motions
                if m.body == body
                and abs((m.begin if closes else m.end) - step) <= ONE_EVENT * frequency
            }
        what = What.CLOSES if closes else What.OPENS
        if body:
            what = What.GRASP if closes else What.RELEASE
        kind = EventKind(what, body, switch.gripper if not body or len(closing) > 1 else "")
        strength = abs(switch.change) + (2 if body else 0)
        unpaired = 0 if own else 1 if closes else -1
        before = [s.change for s in switches[:number] if s.gripper == switch.gripper]
        if before and before[-1] * switch.change > 0:  # it closes further, or opens further
            grip = 0
        span = (switch.begin, switch.end)
        found.append(Event(step, kind, strength, unpaired, grip, span))
    for m in motions:
        if m.taker and not switches:
            kind = EventKind(What.PASSES, m.body, f"{m.mover} to {m.taker}")
            found.append(Event(m.taken, kind, 1 + min(m.size, 1.0)))
        for at, what in ((m.begin, What.BEGINS), (m.end, What.RESTS)):
            if (m.body, at) not in covered and at < length:
                found.append(Event(at, EventKind(what, m.body), 1 + min(m.size, 1.0)))
    return found


def clearest(
    events: Sequence[Sequence[Event]], lengths: Sequence[int], frequency: float
) -> list[list[Event]]:
    """Events in order of time, by demonstration; of those at almost the same time, the clearest.

    Events that most demonstrations have at an edge are left out of all of them.
    """
    apart = APART * tempo(lengths, frequency) * frequency
    away: dict[Pairing, list[int]] = {}
    for row, length in zip(events, lengths, strict=True):
        for e in row:
            away.setdefault(e.pairing, []).append(min(e.step, length - e.step))
    inside = {alike for alike, steps in away.items() if np.median(steps) > EDGE * frequency}
    rows = []
    for row in events:
        kept: list[Event] = []
        for event in sorted(row, key=lambda e: -e.strength):
            usable = event.step > 0 and event.pairing in inside
            if usable and all(abs(event.step - e.step) >= apart for e in kept):
                kept.append(event)
        rows.append(sorted(kept, key=lambda e: e.step))
    return rows


def _pauses(body: str, motions: Sequence[Motion], first: int, last: int) -> set[tuple[str, int]]:
    """Ends of a body's motions, and the begins that follow, from `first` to before `last`."""
    own = [m for m in motions if m.body == body and first <= m.begin < last]
    return {(body, step) for one, next_ in pairwise(own) for step in (one.end, next_.begin)}


def chosen_events(
    events: Sequence[Sequence[Event]], count: int
) -> list[list[tuple[Event, EventKind]]]:
    """The `count` clearest events of each demonstration, with the column of each.

    A column is a kind with its occurrence: the second grasp of a body has its own column, and so
    has an opening before the first closing. If a demonstration has more occurrences than most,
    those of short grips are extra, then the first ones. They have the last numbers: failed attempts
    are short and precede what succeeds. What slips out of a closed gripper lets it close further,
    which is no grip. Columns that more demonstrations have, and clearer ones, come first.
    """
    times = [Counter(event.pairing for event in row) for row in events]
    usual: Counter[Pairing] = Counter()
    for kind in {kind for own in times for kind, _ in own}:
        having = [own for own in times if any(own[kind, order] for order in UNPAIRED)]
        for order in UNPAIRED:
            usual[kind, order] = int(np.median([own[kind, order] for own in having]))
    shortest: dict[Pairing, float] = {}
    for key in usual:
        grips = [[e.grip for e in row if e.pairing == key] for row in events]
        shortest[key] = float(np.median([min(g) for g in grips if g and len(g) == usual[key]] or 0))
    columns = []
    strength: dict[EventKind, list[float]] = {}
    for row in events:
        short = [e.grip < SHORT * shortest[e.pairing] for e in row]
        columns.append(list(zip(row, _columns(row, usual, short), strict=True)))
        for event, column in columns[-1]:
            strength.setdefault(column, []).append(event.strength)

    def clear(entry: tuple[Event, EventKind]) -> tuple[bool, float]:
        own = strength[entry[1]]  # of all demonstrations: these choose the same columns
        mean = sum(own) / len(own)
        return mean >= 2, round(len(own) / len(events) + mean / 2, 1)

    best = [sorted(row, key=clear, reverse=True)[:count] for row in columns]
    return [sorted(row, key=lambda entry: entry[0].step) for row in best]


def _columns(
    row: Sequence[Event], usual: Counter[Pairing], short: Sequence[bool]
) -> list[EventKind]:
    """Column of each event of a demonstration, from the usual numbers of events.

    An unpaired event beyond the usual number gets a place that another one leaves. A recording may
    end before the release, or an opening between two closings may be too small to be seen.
    """
    room, left = usual - Counter(e.pairing for e in row), usual.copy()
    taken: dict[int, tuple[EventKind, int | None]] = {}
    for i in sorted(range(len(row)), key=lambda i: (short[i], -i)):
        kind, own = row[i].kind, row[i].pairing
        free = [(kind, order) for order in UNPAIRED if room[kind, order] > 0]
        if free and (not usual[own] or (row[i].unpaired and left[own] <= 0)):
            own = free[0]
            room[own] -= 1
        left[own] -= 1
        taken[i] = own if left[own] >= 0 else (kind, None)
    seen, found = Counter[tuple[EventKind, int | None]](), []
    places = {
        e.kind: sorted(o for kind, o in taken.values() if kind == e.kind and o is not None)
        for e in row
    }
    for i in range(len(row)):
        kind, order = taken[i]
        order = None if order is None else places[kind].pop(0)
        seen[kind, order] += 1
        before = sum(usual[kind, other] for other in UNPAIRED if order is None or other < order)
        found.append(replace(kind, occurrence=before + seen[kind, order]))
    return found
