"""Cuts where a tool begins and ceases to move objects: contacts, as those of key states."""

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np

from ...array_types import Float
from ..contacts.bodies import Body
from ..contacts.contact import REST, STAYS, Motion, find_motions, running_median
from ..contacts.contact_events import Event, chosen_events, clearest, join
from ..contacts.event_names import EventKind, What
from ..contacts.gripper import Switch
from ..contacts.keystate_steps import as_columns
from ..motion.durations import MOMENT
from .cuts import Cuts, make_cuts
from .poses import Track


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
    to it. `bodies` are tools and objects, `switches` those of the grippers; the frequency (Hz) is
    of recorded steps.
    """
    lengths = [len(s) for s in states]
    bodies = {name: replace(body, of_robot=name in tools) for name, body in bodies.items()}
    motions = find_motions(list(bodies.values()), states, frequency, markers=False)
    events = join(motions, switches, lengths, frequency)
    moved = {motion.body for row in motions for motion in row}
    found = {}
    for tool, hands in tools.items():
        # Two tools may move one object, so each is compared with each object alone, too.
        pairs = [find_motions([bodies[tool], bodies[name]], states, frequency) for name in objects]
        wanted: list[list[Event]] = []
        for i, row in enumerate(events):
            own = {(m.body, m.begin) for rows in pairs for m in rows[i]}
            nearest = [(e, _nearest(e, motions[i])) for e in row if e.kind.body in objects]
            wanted.append(
                [
                    replace(e, strength=e.strength + 2 * (m.mover == tool))
                    for e, m in nearest
                    if m.mover == tool or (m.body, m.begin) in own
                ]
            )
            still = {name: lying[i] for name, lying in objects.items() if name not in moved}
            wanted[i] += _visits(hands[i], still, frequency)
        columns: dict[EventKind, dict[int, int]] = {}
        every = chosen_events(clearest(wanted, lengths, frequency), max(map(len, wanted)))
        for i, chosen in enumerate(every):
            for event, column in chosen:
                columns.setdefault(column, {})[i] = event.step
        steps = as_columns(list(columns.values()), len(states))
        found[tool] = make_cuts(steps, list(columns), np.array(lengths, np.int64))
    return found


def _nearest(event: Event, motions: Sequence[Motion]) -> Motion:
    """The motion of the event's body that is nearest in time."""
    own = [m for m in motions if m.body == event.kind.body]
    return min(own, key=lambda m: max(m.begin - event.step, event.step - m.end))


def _visits(tool: Track, objects: Mapping[str, Track], frequency: float) -> list[Event]:
    """The last steps before the tool goes away from where it is nearest to each object.

    It has to be away as long as a body has to rest. The nearest objects are the clearest ones.
    """
    extent, found = float(np.linalg.norm(np.ptp(tool.position, axis=0))), []
    for name, body in objects.items():
        away = running_median(tool.position - body.position, MOMENT * frequency)
        distance = np.linalg.norm(away, axis=1)
        nearest = int(distance.argmin())
        gone = np.flatnonzero(distance[nearest:] > distance[nearest] + 2 * STAYS * extent)
        if len(gone) > REST * frequency:
            step, strength = nearest + int(gone[0]) - 1, 1 / (1 + float(distance.min()))
            found.append(Event(step, EventKind(What.LEFT, name), strength))
    return found
