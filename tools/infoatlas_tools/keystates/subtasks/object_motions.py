"""Cuts where a tool begins and ceases to move objects: contacts, as those of key states."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from ..bodies import Body
from ..contact import MEDIAN, STAYS, find_motions, running_median
from ..events import EDGE, join
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
        own = motions
        if len(tools) > 1:  # two tools may move one object
            some = [bodies[name] for name in (tool, *objects)]
            own = find_motions(some, states, frequency, markers=False)
        columns: dict[str, dict[int, int]] = {}
        for i, row in enumerate(events):
            mine = {(m.body, m.begin) for m in own[i]}
            seen: Counter[str] = Counter()
            for event in row:
                near = [
                    (max(m.begin - event.step, event.step - m.end), m.begin)
                    for m in motions[i]
                    if m.body == event.body and m.body in objects
                ]
                if near and (event.body, min(near)[1]) in mine:
                    seen[event.name] += 1
                    number = seen[event.name]
                    label = event.name if number == 1 else f"{event.name} {number}"
                    columns.setdefault(label, {})[i] = event.step
        for name, lying in objects.items():
            if name not in moved:
                left = [_leaves(a, b, frequency) for a, b in zip(hands, lying, strict=True)]
                ends = lengths - EDGE * frequency
                columns[f"the tool leaves {name}"] = {
                    i: step for i, step in enumerate(left) if step < ends[i]
                }
        steps = np.full((len(lengths), len(columns)), -1, np.int64)
        for j, column in enumerate(columns.values()):
            steps[list(column), j] = list(column.values())
        found[tool] = make_cuts(np.ma.masked_less(steps, 0), list(columns), lengths)
    return found


def _leaves(tool: Track, body: Track, frequency: float) -> int:
    """The last step before the tool goes away from where it is nearest to a body."""
    away = running_median(tool.position - body.position, MEDIAN * frequency)
    distance = np.linalg.norm(away, axis=1)
    far = STAYS * float(np.linalg.norm(np.ptp(tool.position, axis=0)))
    nearest = int(distance.argmin())
    gone = np.flatnonzero(distance[nearest:] > distance[nearest] + far)
    return nearest + int(gone[0]) - 1 if len(gone) else len(distance) - 1
