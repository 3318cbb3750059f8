"""Fits what a grasp is like: opening, place in the task, and the object that moves with it.

A test of grasps is used only if no demonstration fails it by the limits of the others.
"""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from infoatlas_rt.live.outcome import CLOSING, HOLDING, OPEN, Gripper, GripperFilter

from ...array_types import Float
from ..contacts import gripper as contacts
from ..contacts.contact_events import Evidence
from ..motion.durations import MOMENT, PAUSE
from ..motion.motion_scales import Recordings

FEWEST = 9  # demonstrations: if none of them fails, at most 1 in 10 executions like them does
EMPTY = 0.5  # of the usual opening: a gripper that closes further is empty
MARGIN, LEAST_MARGIN = 0.5, 0.05  # of the range of progress, and of the task, before which is early
SLIPS, LEAST_SLIP = 2.0, 0.02  # times the largest slip of demonstrations, and metres
MOVES = 4.0  # times the slip: the distance of tool and object changes by more before the grasp
NEVER = {"least": -1e9, "slip": 1e9, "early": -1e9}  # a grasp passes these limits
TESTS = {
    "least": "closes to less than half of the usual opening",
    "slip": "moves without the object",
    "early": "opens earlier in the task",
}


class Closing(NamedTuple):
    """A closing of a gripper in a demonstration, in working steps."""

    begin: int
    settled: int
    end: int  # step at which it opens, or the length of the demonstration
    opening: float  # the smallest one from `settled` on


def fit_grippers(
    recordings: Recordings,
    evidence: Evidence,
    apart: Sequence[Float],
    followed: Sequence[Float] | None,
) -> tuple[tuple[Gripper, ...], list[str]]:
    """Grippers that close equally often in all demonstrations, and a text about each.

    `apart` [T, pairs] are distances of tools and objects in working steps.
    """
    at = {c: j for j, (group, c) in enumerate(recordings.coordinates.parts) if group < 0}
    found, lines = [], []
    for opening in evidence.openings:
        columns = [at.get(c, -1) for c in opening.columns]
        sign = evidence.closing.get(opening.name, 0.0)
        switches = [s for row in evidence.switches for s in row if s.gripper == opening.name]
        sizes = [abs(s.change) for s in switches if s.change * sign > 0]
        if min(columns) < 0 or not sizes:
            continue
        own = _opening(opening, -sign, columns, recordings.states, float(np.median(sizes)))
        own = replace(own, settle=recordings.timing.steps(PAUSE, 2))
        rows = [_closings(own, states) for states in recordings.states]
        tests = list[str]()
        if len(rows) >= FEWEST and len({len(row) for row in rows}) == 1:
            places: Sequence[Float | None] = [None] * len(rows)
            if followed is not None and followed[0].shape[2] == 1:  # the gripper's tool
                places = [own[0, :, 0] for own in followed]
            grasps = zip(*rows, strict=True)
            moment = recordings.timing.steps(MOMENT)
            limits = [_limits(row, apart, places, moment) for row in grasps]
            tests = [TESTS[t] for t in TESTS if any(row[t] != NEVER[t] for row in limits)]
        if tests:
            values: dict[str, Any] = {k: np.array([row[k] for row in limits]) for k in limits[0]}
            found.append(replace(own, **values | {"usual": tuple(values["usual"].tolist())}))
        text = ", ".join(tests) or "is not judged: few or unlike demonstrations"
        lines.append(f"failed: {opening.name} {text}")
    return tuple(found), lines


def _opening(
    opening: contacts.Gripper, sign: float, columns: list[int], states: Sequence[Float], size: float
) -> Gripper:
    """A gripper without grasps; its opening is 0 where the recorded value is, if that is closed."""
    weights = sign * opening.weights
    sums = np.concatenate([s[:, columns] for s in states]) @ weights
    low, high = np.quantile(sums, (0.02, 0.98))
    zero = 0.0 if sums.min() >= -0.02 * (high - low) and high > 0 else float(low)
    unit, none, index = float(high - zero) or 1.0, np.empty(0), np.empty(0, np.int64)
    return Gripper(
        opening.name, np.array(columns), weights / unit, zero / unit, 0.5 * size / unit,
        contacts.JITTER * size / unit, 1, (), none, none, index, none, index,
    )  # fmt: skip


def _closings(gripper: Gripper, states: Float) -> list[Closing]:
    """Closings in a demonstration, as a filter follows them that judges none."""
    n, row, none = len(states), np.zeros(1, np.int64), np.full(len(states), -1)
    limits: dict[str, Any] = {name: np.full(n, value) for name, value in NEVER.items()}
    own = GripperFilter(replace(gripper, pair=none, part=none, usual=("",) * n, **limits), 1)
    found: list[list[int]] = []
    before, begin = OPEN, 0
    for t in range(n):
        own.push(states[t : t + 1], np.empty((1, 0)), np.array([t]), row)
        state = int(own.state[0])
        if (before, state) == (OPEN, CLOSING):
            begin = t
        elif (before, state) == (CLOSING, HOLDING):
            found.append([begin, t, n])
        elif (before, state) == (HOLDING, OPEN):
            found[-1][2] = t
        before = state
    opening = states[:, gripper.columns] @ gripper.weights - gripper.zero
    return [Closing(a, b, c, float(opening[b:c].min())) for a, b, c in found]


def _limits(
    row: Sequence[Closing], apart: Sequence[Float], places: Sequence[Float | None], moment: int
) -> dict[str, Any]:
    """Limits of one grasp, by its closings in all demonstrations."""
    openings = np.array([closing.opening for closing in row])
    least = EMPTY * np.sort(openings)[:2]
    own: dict[str, Any] = {**NEVER, "pair": -1, "part": 0}
    own["usual"] = f"{100 * openings.min():.0f} to {100 * openings.max():.0f}%"
    if np.ptp(openings) < least[0] and openings.min() >= least[1]:
        own["least"] = float(least[0])
    if apart[0].shape[1]:
        both = list(zip(row, apart, strict=True))
        slip = np.array([np.abs(d[c.settled : c.end] - d[c.settled]).max(0) for c, d in both])
        way = np.median([np.ptp(d[: c.settled + 1], axis=0) for c, d in both], axis=0)
        largest = np.sort(slip, axis=0)[::-1]
        limit = np.maximum(SLIPS * largest, LEAST_SLIP)
        best = int((way / limit[0]).argmax())
        if way[best] * SLIPS > MOVES * limit[0, best] and largest[0, best] <= limit[1, best]:
            own |= {"pair": best, "slip": float(limit[0, best])}
    known = [(c, p) for c, p in zip(row, places, strict=True) if p is not None and p[0, 0] >= 0]
    if known:
        own["part"] = int(np.median([p[max(c.begin - moment, 0), 0] for c, p in known]))
    ends = [c.end < len(d) for c, d in zip(row, apart, strict=True)]
    opened = np.sort([p[c.end, 1] for c, p in known]) if all(ends) else np.empty(0)
    if len(opened) == len(row):
        early = opened[:2] - np.maximum(MARGIN * (opened[-1] - opened[:2]), LEAST_MARGIN)
        if opened[0] >= early[1]:
            own["early"] = float(early[0])
    return own
