"""Poses that can be compared at any two steps of a recording, its rests, and its events."""

from typing import NamedTuple

import numpy as np

from infoatlas_rt.errors import InputError
from infoatlas_rt.live.quaternions import ANGLE, quaternions

from ..array_types import Bool, Float, Int
from ..keystates.contacts.bodies import find_bodies
from ..keystates.contacts.contact_events import Event, find_evidence
from ..keystates.contacts.gripper import turning_points
from ..keystates.coordinates import read_coordinates
from ..keystates.motion.durations import NOMINAL, gaussian_smooth
from ..keystates.motion.motion_scales import SLOW
from ..trajectories import Trajectories, episode_names

FREQUENCY = 10.0  # Hz of the poses: a border is known to 0.1 s
SMOOTH = 0.1  # s: sensor noise is no motion


class Motion(NamedTuple):
    """What is searched for executions, in rows of about 0.1 s."""

    poses: Float  # [T, p] of the robot, each coordinate relative to its usual range
    arm: Bool  # [p] coordinates that are of no gripper
    stride: int  # recorded steps of a row
    rate: float  # rows a second
    rests: Int  # [M, 2] rows: begin and end of each rest; the first and last are the ends
    events: list[Event]  # switches of grippers or, without any, contacts


def read_motion(given: Trajectories, marks: list[int]) -> Motion:
    """The motion of one recorded trajectory, with rests at the steps `marks`, too.

    Objects that are moved are left out of the poses, as they lie at other places each time.
    """
    coordinates, states, _, _ = read_coordinates(given)
    rate, names = given.rate or NOMINAL, given.names
    turned = [column for group in coordinates.groups for column in group.columns]
    evidence = find_evidence(names, [states], rate, given.moving_gripper, given.ignore, turned)
    events = [e for e in evidence.events[0] if e.span] or evidence.events[0]
    objects = [b.name for b in find_bodies(names, states, given.ignore) if not b.of_robot]
    moved = {c for c, name in enumerate(names) if any(name.startswith(f"{o}.") for o in objects)}
    plain = [axis for g, axis in coordinates.parts if g < 0]
    plain = [c for c in plain if c not in moved] or plain
    fingers = {c for own in evidence.grippers.values() for c in own}
    found, arm = [states[:, plain]], [c not in fingers for c in plain]
    for group in coordinates.groups:
        values = states[:, group.columns]
        if group.kind != ANGLE:
            values = quaternions(group, values)
            values = values * np.where(values @ values[0] < 0, -1, 1)[:, None]
        if not moved & {*group.columns}:
            found.append(values)
            arm += [True] * values.shape[1]
    stride, smoothed, moves = max(1, round(rate / FREQUENCY)), list[Float](), list[bool]()
    columns = (c[:, None].astype(np.float64) for values in found for c in values.T)
    for column, own in zip(columns, arm, strict=True):
        low, high = np.quantile(column, (0.01, 0.99))
        if high > low:  # column by column: a recording may be long
            every = gaussian_smooth(column / (high - low), max(0.5, SMOOTH * rate))
            smoothed.append(every[::stride].copy())
            moves.append(own)
    if not moves or len(states) < 3 * stride:
        name = episode_names(given)[0]
        raise InputError(
            f"{name}: its {len(states)} steps are too few, or none moves: leave it out"
        )
    poses, of_arm = np.hstack(smoothed), np.array(moves)
    rests = {*_find_rests(poses), *((m // stride, m // stride + 1) for m in marks)}
    rows = np.array(sorted(rests))
    return Motion(poses, of_arm | ~of_arm.any(), stride, rate / stride, rows, events)


def _find_rests(poses: Float) -> list[tuple[int, int]]:
    """Slow rows of poses [T, p], rows where the speed has a clear minimum, and both ends."""
    speed = np.linalg.norm(np.diff(poses, axis=0, append=poses[-1:]), axis=1)
    slow = SLOW * float(np.quantile(speed, 0.9))
    edges = np.flatnonzero(np.diff(np.r_[0, speed < slow, 0]))
    turns = turning_points(speed, slow)
    every = zip(turns, turns[1:], turns[2:], strict=False)
    some = [0, *(t for a, t, b in every if speed[t] < min(speed[a], speed[b])), len(speed) - 1]
    rests = [(a, b) for a, b in edges.reshape(-1, 2).tolist()]
    return [*rests, *((t, t + 1) for t in some if speed[t] >= slow)]
