"""A long recording: an arm of seven joints holds an object twenty times; a camera tracks it.

Joint states come at 100 Hz, with the noise and the steps of their encoders. A tracker reports the
object's position at 30 Hz, with noise, outliers and lost frames. The arm rests, moves without the
object, and pauses within the holds, whose times are known. The seed determines everything.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from infoatlas_rt.messages.sync import Synchroniser

from . import Array

HOLDS = 20
JOINT_RATE, CAMERA_RATE = 100.0, 30.0  # Hz
HOME = np.array([0.0, 0.5, 0.0, 1.6, 0.0, 0.9, 0.0])  # radians
REACH = np.array([0.7, 0.35, 0.4, 0.4, 0.5, 0.4, 0.8])
LINKS = np.array([0.33, 0.0, 0.32, 0.0, 0.38, 0.0, 0.13])  # metres, along z after each joint
OFFSET = np.array([0.0, 0.0, 0.03])  # from the tool to the centre of the object


@dataclass(frozen=True)
class Sensors:
    """Noise of the sensors: radians of a joint, metres of the object.

    Measured values are multiples of a step; 0: not quantised.
    """

    joint: float  # standard deviation of a measured value
    camera: float  # the same
    joint_step: float = 0.0
    camera_step: float = 0.0
    memory: float = 0.0  # correlation of the camera's noise from one frame to the next
    drift: float = 0.0  # of the tracker, metres per root of a second
    outliers: float = 0.0  # share of the frames
    lost: float = 0.0  # share of the frames


SENSORS = {
    "half a millimetre": Sensors(2e-5, 5e-4, lost=0.002),
    "two millimetres, outliers": Sensors(1e-4, 2e-3, outliers=0.003, lost=0.005),
    "quantised": Sensors(0.0, 1e-4, joint_step=1e-3, camera_step=1e-3),
    "drifting, filtered": Sensors(5e-5, 1e-3, memory=0.6, drift=1e-3, lost=0.002),
    "none": Sensors(0.0, 0.0),
}


@dataclass(frozen=True, eq=False)
class Recording:
    """Messages of the recording, and the true holds."""

    joint_stamps: Array  # [T], seconds
    joints: Array  # [T, 7], radians
    camera_stamps: Array  # [C], seconds
    object_: Array  # [C, 3], metres
    holds: Array  # [20, 2], seconds of grasp and release


def record(seed: int, sensors: Sensors) -> Recording:
    """Make the recording of a seed."""
    rng = np.random.default_rng(seed)
    path, holds = _path(rng)
    end = path[-1][1]
    joint_stamps = np.arange(0.0, end, 1 / JOINT_RATE)
    camera_stamps = np.arange(0.011, end, 1 / CAMERA_RATE)
    camera_stamps = camera_stamps + rng.uniform(-1e-3, 1e-3, len(camera_stamps))
    joints = _round(
        _joints(path, joint_stamps) + sensors.joint * rng.standard_normal((len(joint_stamps), 7)),
        sensors.joint_step,
    )
    object_ = _object(path, holds, camera_stamps)
    noise = sensors.camera * rng.standard_normal(object_.shape)
    for t in range(1, len(noise)):
        noise[t] = sensors.memory * noise[t - 1] + np.sqrt(1 - sensors.memory**2) * noise[t]
    wander = rng.standard_normal(object_.shape) * sensors.drift / np.sqrt(CAMERA_RATE)
    object_ = object_ + noise + wander.cumsum(0)
    wrong = rng.random(len(object_)) < sensors.outliers
    object_[wrong] += 0.03 * rng.standard_normal((int(wrong.sum()), 3))
    kept = rng.random(len(object_)) >= sensors.lost
    object_ = _round(object_, sensors.camera_step)[kept]
    return Recording(joint_stamps, joints, camera_stamps[kept], object_, holds)


def tool(joints: Array) -> tuple[Array, Array]:
    """Position [T, 3] and rotation [T, 3, 3] of the tool; joints turn about z and y in turn."""
    place, turn = np.zeros((len(joints), 3)), np.broadcast_to(np.eye(3), (len(joints), 3, 3))
    for i, length in enumerate(LINKS):
        c, s, o = np.cos(joints[:, i]), np.sin(joints[:, i]), np.zeros(len(joints))
        rows = [c, -s, o, s, c, o, o, o, o + 1] if i % 2 == 0 else [c, o, s, o, o + 1, o, -s, o, c]
        turn = turn @ np.stack(rows, 1).reshape(-1, 3, 3)
        place = place + turn[:, :, 2] * length
    return place, turn


Segment = tuple[float, float, Array, Array, Array]  # begin, end, from, to, share of each joint


def _path(rng: np.random.Generator) -> tuple[list[Segment], Array]:
    """Moves of the arm, and the times of the holds."""
    path: list[Segment] = []
    now, at = 0.0, HOME.copy()

    def wait(low: float, high: float) -> None:
        nonlocal now
        longer = now + rng.uniform(low, high)
        path.append((now, longer, at, at, np.tile([[0.0], [1.0]], 7)))
        now = longer

    def move(to: Array) -> None:
        nonlocal now, at
        lasts = now + np.clip(2.4 * np.abs(to - at).max(), 1.0, 2.6) * rng.uniform(0.8, 1.3)
        share = np.stack([rng.uniform(0.0, 0.25, 7), rng.uniform(0.75, 1.0, 7)])
        path.append((now, lasts, at, to, share))
        now, at = lasts, to

    def anywhere() -> Array:
        return HOME + REACH * rng.uniform(-1.0, 1.0, 7)

    lies = anywhere()
    holds: list[tuple[float, float]] = []
    for _ in range(HOLDS):
        wait(1.5, 4.0)
        for _ in range(rng.integers(1, 3)):
            move(anywhere())
            if rng.random() < 0.5:
                wait(0.3, 3.0)
        move(lies)
        wait(0.3, 0.8)
        taken = now
        wait(0.2, 0.6)
        for _ in range(rng.integers(2, 4)):
            move(anywhere())
            if rng.random() < 0.6:
                wait(0.2, 2.5)
        lies = at
        wait(0.2, 0.6)
        holds.append((taken, now))
        wait(0.2, 0.6)
    move(anywhere())
    wait(2.0, 3.0)
    return path, np.array(holds)


def _joints(path: list[Segment], stamps: Array) -> Array:
    """Joint angles [T, 7] at these times, with minimum jerk within each joint's share of a move."""
    begins = np.array([segment[0] for segment in path])
    which = np.searchsorted(begins, stamps, side="right") - 1
    begin, end, low, high, share = (
        np.array([segment[i] for segment in path])[which] for i in range(5)
    )
    phase = ((stamps - begin) / (end - begin))[:, None]
    u = np.clip((phase - share[:, 0]) / (share[:, 1] - share[:, 0]), 0.0, 1.0)
    return np.asarray(low + (high - low) * u**3 * (10 - 15 * u + 6 * u**2))


def _object(path: list[Segment], holds: Array, stamps: Array) -> Array:
    """Centre of the object [C, 3], which moves with the tool in a hold and rests otherwise."""
    number = np.searchsorted(holds[:, 0], stamps, side="right") - 1
    last = np.where(number < 0, holds[0, 0], np.minimum(stamps, holds[number, 1]))
    place, turn = tool(_joints(path, last))
    return place + turn @ OFFSET


def _round(values: Array, step: float) -> Array:
    return np.round(values / step) * step if step else values


def score(
    detect: Callable[[Array, Array, str], list[tuple[str, int]]], name: str, seed: int
) -> dict[str, Any]:
    """Score events in a recording of twenty holds: one for each hold; all others are false.

    `detect` is from the states of arm and object [n, d], [n, 3], and the word "holds", to kinds and
    steps. `name` is a key of `SENSORS`.
    """
    recording = record(seed, SENSORS[name])
    arm = tool(recording.joints)[0]
    messages = [(t, 0, state) for t, state in zip(recording.joint_stamps, arm, strict=True)]
    messages += [
        (t, 1, state) for t, state in zip(recording.camera_stamps, recording.object_, strict=True)
    ]
    sync = Synchroniser(0.02)
    pairs = [
        pair
        for message in sorted(messages, key=lambda message: message[:2])
        for pair in sync.push(message[2], message[0], message[1])
    ]
    events = detect(np.array([p.a for p in pairs]), np.array([p.b for p in pairs]), "holds")
    found: set[int] = set()
    released: set[int] = set()
    outside = inside = 0
    for kind, step in events:
        stamp = pairs[step].stamp
        number = int(np.searchsorted(recording.holds[:, 0], stamp, side="right")) - 1
        held = number >= 0 and bool(stamp <= recording.holds[number, 1])
        if kind == "coupled" and held and number not in found:
            found.add(number)
        elif kind == "decoupled" and not held and number in found - released:
            released.add(number)
        else:
            inside, outside = inside + held, outside + (not held)
    return {
        "sensors": name,
        "seed": seed,
        "found": len(found),
        "released": len(released),
        "false_outside": outside,
        "false_inside": inside,
    }
