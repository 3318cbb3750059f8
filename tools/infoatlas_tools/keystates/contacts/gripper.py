"""Switches of grippers: when they close and open."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from ...array_types import Float
from ..motion.durations import ONE_EVENT
from ..motion.smoothing import gaussian_smooth
from .bodies import Gripper

CHANGE = 0.25  # of the usual opening, by which a switch changes it, at least
JITTER = 0.1  # of the usual opening, or of the change of a switch: smaller differences are jitter
QUICK = 0.2  # of the largest speed of a switch: slower steps belong to what precedes or follows it


@dataclass(frozen=True)
class Switch:
    """One change of the opening of a gripper, in recorded steps."""

    gripper: str
    begin: int
    fastest: int
    end: int
    change: float  # of the opening; negative if it becomes smaller
    level: float  # opening after it


def find_switches(
    grippers: Sequence[Gripper], states: Sequence[Float], frequency: float
) -> list[list[Switch]]:
    """Switches of all grippers in order of time, by demonstration."""
    found = []
    for s in states:
        every = [_switches(g.name, g.opening(s), frequency) for g in grippers]
        found.append(sorted((one for own in every for one in own), key=lambda one: one.begin))
    return found


def _switches(name: str, opening: Float, frequency: float) -> list[Switch]:
    """Switches in an opening [T]."""
    smooth = gaussian_smooth(opening[:, None], max(0.5, 0.04 * frequency))[:, 0]  # 0.04 s
    found = []
    for first, last in pairwise(_turning_points(smooth)):
        if abs(smooth[last] - smooth[first]) <= CHANGE:
            continue
        speed = np.abs(np.diff(smooth[first : last + 1]))
        quick = np.flatnonzero(speed > QUICK * speed.max())
        # After a pause it is another switch, as if an object slips out of a closed gripper.
        for part in np.split(quick, np.flatnonzero(np.diff(quick) > ONE_EVENT * frequency) + 1):
            fastest = int(part[speed[part].argmax()])
            runs = np.split(part, np.flatnonzero(np.diff(part) > 1) + 1)
            own = next(run for run in runs if fastest in run)
            begin, end = first + int(own[0]), first + int(own[-1]) + 1
            change = float(smooth[end] - smooth[begin])
            if abs(change) <= CHANGE and fastest != speed.argmax():
                continue
            share = (smooth[begin : end + 1] - smooth[begin]) / change
            begun = begin + int(np.flatnonzero(share <= JITTER)[-1])
            ended = begin + int(np.flatnonzero(share >= 1 - JITTER)[0])
            found.append(Switch(name, begun, first + fastest, ended, change, float(smooth[end])))
    return found


def _turning_points(values: Float) -> list[int]:
    """Steps between which values [T] rise or fall, apart from jitter, with both ends."""
    turns, extreme, direction = [0], 0, 0.0
    for t, value in enumerate(values.tolist()):
        if direction == 0:
            if abs(value - values[0]) > JITTER:
                direction, extreme = float(np.sign(value - values[0])), t
        elif (value - values[extreme]) * direction >= 0:
            extreme = t
        elif (values[extreme] - value) * direction > JITTER:
            turns.append(extreme)
            direction, extreme = -direction, t
    return [*turns, extreme, len(values) - 1]
