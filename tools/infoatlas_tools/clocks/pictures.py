"""The clock of a camera: the change of small grey pictures against the speed of the joints."""

import re
from collections.abc import Callable, Sequence
from time import monotonic
from typing import NamedTuple

import numpy as np

from infoatlas_rt.messages.camera_lag import WIDTH
from infoatlas_rt.streams.offsets import WINDOW, Offset, find_offset, picture_change, speeds

from ..array_types import Bool, Float
from ..cameras.camera import Camera
from ..columns import GRIPPER

EQUAL = 0.02  # mean grey levels by which equal pictures differ, at most
BUDGET = 30.0  # seconds for the images of a camera
# Columns that are no arm: fingers have other units, and velocities are no positions.
OTHERS = re.compile(rf"{GRIPPER.pattern}|hand|finger|thumb|veloc|effort|torque|current|force", re.I)


class CameraClock(NamedTuple):
    """What the pictures of a camera say about its clock."""

    offset: Offset  # of the episodes that were read
    episodes: tuple[int, ...]
    pictures: int  # of steps at which the robot moves
    equal: int  # of these pictures, those equal to the one before
    moved: list[Float]  # speed of the joints [T - window] of each of these episodes
    changed: list[Float]  # and change of the pictures


def arm_columns(names: Sequence[str], width: int) -> list[int]:
    """Columns of joints or poses; all if the names say nothing."""
    found = [i for i, name in enumerate(names) if not OTHERS.search(name)]
    return found or [*range(width)]


def camera_clock(
    camera: Camera,
    states: Sequence[Float],
    names: Sequence[str],
    rate: float,
    budget: float = BUDGET,
    progress: Callable[[float], object] = lambda share: None,
) -> CameraClock:
    """The offset of a camera against states [T, d] at `rate` Hz: above 0, pictures are late.

    Episodes that are apart are read first, until `budget` seconds have passed. `progress` is called
    with the completed share. The camera keeps the result, which is that of its images as recorded.
    """
    if isinstance(camera.clock, CameraClock):
        return camera.clock
    window = max(1, round(WINDOW * rate))
    begin, count = monotonic(), len(states)
    read: list[int] = []
    changed: list[Float] = []
    equal: list[Bool] = []
    order = np.argsort(np.arange(count) * 0.618034 % 1, kind="stable").tolist()
    wanted = [(i, range(len(states[i]))) for i in order if len(states[i]) > window]
    for (i, _), images in zip(wanted, camera.read_each(wanted, WIDTH), strict=True):
        grey = images.mean(axis=-1, dtype=np.float32)
        read.append(i)
        changed.append(picture_change(grey, window))
        equal.append(np.abs(np.diff(grey, axis=0)).mean(axis=(1, 2)) <= EQUAL)
        spent = (monotonic() - begin) / budget
        progress(min(max(spent, len(read) / count), 1.0))
        if spent >= 1:
            break
    columns = arm_columns(names, np.shape(states[0])[1])
    used = [states[i] for i in read]
    moved = speeds(used, window, columns) if used else []
    fast = speeds(used, 1, columns) if used else []
    least = np.log(0.2) + max(float(np.quantile(np.concatenate(fast), 0.9)), -20) if fast else 0.0
    moving = [own > least for own in fast]
    pictures = int(sum(each.sum() for each in moving))
    same = int(sum((a & b).sum() for a, b in zip(moving, equal, strict=True)))
    offset = find_offset(moved, changed, rate)
    camera.clock = found = CameraClock(offset, tuple(read), pictures, same, moved, changed)
    return found


def correct_clock(
    camera: Camera, states: Sequence[Float], names: Sequence[str], rate: float
) -> list[str]:
    """Let the camera return images of the states' times; a note if theirs were others."""
    offset = camera_clock(camera, states, names, rate).offset
    if not offset.apart:
        return []
    camera.late = round(offset.steps)
    return [
        f"Camera {camera.name}: its pictures are {abs(camera.late)} steps "
        f"{'after' if camera.late > 0 else 'before'} the states, and are used at the time of the "
        "states."
    ]
