"""Cuts where a tool begins and ceases to move objects: contacts, as those of key states."""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Container, Mapping, Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from ..bodies import Body
from ..contact import MEDIAN, REST, STAYS, Motion, find_motions, running_median
from ..events import CONTACT, Event, clearest, join
from ..gripper import Switch
from .cuts import Cuts, make_cuts
from .poses import Track

Float = NDArray[np.float64]


def object_cuts(
    bodies: Mapping[str, Body],
    tools: Mapping[str, Sequence[Track]],
    objects: Mapping[str, Sequence[Track]],
    states: Sequence[Float],
    switches: Sequence[Sequence[Switch]],
    frequency: float,
) -> dict[str, Cuts]:
    """Steps at which most demonstrations begin or cease to move an object, by tool.

    For an object that is never moved, the step is that at which the tool leaves the place nearest
    to it.

    Parameters
    ----------
    bodies : dict of str to Body
        Tools and objects.
    tools, objects : dict of str to sequence of N Track
    states : sequence of N arrays [T_i, d] of float64
    switches : sequence of N sequences of Switch
        Of the grippers.
    frequency : float
        Recorded steps a second, Hz.
    """
    lengths = np.array([len(s) for s in states], np.int64)
    motions = find_motions(list(bodies.values()), states, frequency, markers=False)
    events = join(motions, switches, lengths.tolist(), True, frequency)
    moved = {motion.body for row in motions for motion in row}
    found = {}
    for tool, hands in tools.items():
        own = _moved_with(bodies[tool], [bodies[name] for name in objects], states, frequency)
        wanted: list[list[Event]] = [[] for _ in states]
        for i, row in enumerate(events):
            for event in row:
                if event.body in objects:
                    motion = _nearest(event, motions[i])
                    mover = _mover(motion, motions[i], tools)
                    if mover == tool:  # clearer than what two tools move
                        wanted[i].append(replace(event, strength=event.strength + 2))
                    elif mover and (motion.body, motion.begin) in own[i]:
                        wanted[i].append(event)
            still = {name: lying[i] for name, lying in objects.items() if name not in moved}
            wanted[i] += _visits(hands[i], still, frequency)
        columns: dict[str, dict[int, int]] = {}
        for i, row in enumerate(clearest(wanted, lengths.tolist(), frequency)):
            seen: Counter[str] = Counter()
            for event in row:
                seen[event.name] += 1
                number = seen[event.name]
                label = event.name if number == 1 else f"{event.name} {number}"
                columns.setdefault(label, {})[i] = event.step
        steps = np.full((len(lengths), len(columns)), -1, np.int64)
        for j, column in enumerate(columns.values()):
            steps[list(column), j] = list(column.values())
        found[tool] = make_cuts(np.ma.masked_less(steps, 0), list(columns), lengths)
    return found


def _moved_with(
    tool: Body, objects: Sequence[Body], states: Sequence[Float], frequency: float
) -> list[set[tuple[str, int]]]:
    """Objects, and begins of their motions, that go the same way as a tool, by demonstration."""
    each = [find_motions([tool, body], states, frequency) for body in objects]
    return [{(m.body, m.begin) for m in itertools.chain(*rows)} for rows in zip(*each, strict=True)]


def _nearest(event: Event, motions: Sequence[Motion]) -> Motion:
    """The motion of the event's body that is nearest in time."""
    own = [m for m in motions if m.body == event.body]
    return min(own, key=lambda m: max(m.begin - event.step, event.step - m.end))


def _mover(motion: Motion, motions: Sequence[Motion], tools: Container[str]) -> str:
    """The tool that moves an object, or moves what moves it; or ""."""
    while motion.mover not in tools:
        above = [
            m
            for m in motions
            if m.body == motion.mover and m.begin < motion.end and motion.begin < m.end
        ]
        if not above:
            return ""
        motion = above[0]
    return motion.mover


def _visits(tool: Track, objects: Mapping[str, Track], frequency: float) -> list[Event]:
    """The last steps before the tool goes away from where it is nearest to each object.

    It has to be away as long as a body has to rest. The nearest objects are the clearest ones.
    """
    extent, found = float(np.linalg.norm(np.ptp(tool.position, axis=0))), []
    for name, body in objects.items():
        away = running_median(tool.position - body.position, MEDIAN * frequency)
        distance = np.linalg.norm(away, axis=1)
        nearest = int(distance.argmin())
        gone = np.flatnonzero(distance[nearest:] > distance[nearest] + 2 * STAYS * extent)
        if len(gone) > REST * frequency:
            step, strength = nearest + int(gone[0]) - 1, 1 / (1 + float(distance.min()))
            found.append(Event(step, f"the tool leaves {name}", CONTACT, strength, name))
    return found
