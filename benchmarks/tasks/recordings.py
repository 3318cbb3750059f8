"""Generated pick-and-place recordings, similar to those of kinesthetic or joystick teaching.

A person moves above an object, moves down, closes the fingers, lifts, carries the object over a
goal, moves down, opens the fingers and retreats. Places, speeds and pauses differ between
demonstrations, and some of them grasp twice. The events are known exactly.

Each demonstration is a function of continuous time: the sum of minimum-jerk movements, which may
overlap (Flash and Henis 1991). `rate` therefore changes how the demonstrations are sampled, and
not the demonstrations themselves.
"""

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import brentq
from scipy.spatial.transform import Rotation

from .demonstrations import Array, Demonstrations
from .episode_files import POSE as AXES

EVENTS = ("grasp", "release")
POSITION, ANGLES, FINGER = slice(0, 3), slice(3, 6), 6  # of a pose: m; rad; m
POSE = 7  # x, y, z, roll, pitch, yaw, finger
OPEN, SQUEEZE = 0.04, 0.012  # m, commanded positions of a finger
HALF_WIDTH = 0.02  # m, of the object: it stops the fingers there
REGRASPS = 0.2  # share of the demonstrations that grasp twice
PAUSE, LONGEST = 0.35, 2.0  # probability between two movements; s
# Standard deviations of the sensors' noise at `noise=1`.
JOINT_NOISE = 1e-3  # rad
TOOL_NOISE, TOOL_TURN = 3e-4, 1e-3  # m, rad
FINGER_NOISE = 2e-4  # m
OBJECT_NOISE, OBJECT_TURN = 5e-4, 3e-3  # m, rad
JOINTS = 7
NAMES = (
    *(f"joint{i + 1}.position" for i in range(JOINTS)),
    "finger1.position",
    *(f"{body}.{axis}" for body in ("tool", "object") for axis in AXES),
)
TABLE = (0.35, 0.65)  # m, x of object and goal


def recordings(
    count: int = 50, rate: float = 30.0, seed: int = 0, noise: float = 1.0, objects: bool = True
) -> Demonstrations:
    """Generate recordings of one pick-and-place task.

    The first demonstrations do not depend on the count, and those of a seed are the same at every
    rate (Hz); the noise is drawn for each sample. A `noise` of 1 is 0.3 mm and 1e-3 rad on the
    tool, 1e-3 rad on joints, 0.2 mm on the finger, 0.5 mm and 3e-3 rad on the object.

    Columns are joint1 to joint7 (smooth functions of the tool's pose), finger1, the tool's position
    and quaternion and, with `objects`, the object's. `times` are the seconds of grasp and release
    times `rate`, which are fractions of steps. The grasp is the moment when the fingers touch the
    object with which they then carry it; the release is the moment when they leave it.
    """
    motions = [planned(np.random.default_rng([seed, number])) for number in range(count)]
    trajectories = []
    for number, motion in enumerate(motions):
        stamps = np.arange(int(motion.end * rate) + 1) / rate
        trajectories.append(
            _measured(motion, stamps, noise, np.random.default_rng([seed, number, 1]))
        )
    whole = Demonstrations(
        trajectories=trajectories,
        names=NAMES,
        events=EVENTS,
        times=np.array([(motion.grasp, motion.release) for motion in motions]) * rate,
        seeds=np.arange(count),
        rate=rate,
    )
    if objects:
        return whole
    # All noise is drawn, whichever columns are asked for, so that these do not change it.
    return whole.columns(np.array([i for i, n in enumerate(NAMES) if not n.startswith("object")]))


@dataclass(frozen=True)
class Move:
    """A minimum-jerk movement from `start` to `end` (s).

    `shift` [7] is what it adds to the pose in the end; `bow` [3] (m) is how far it swerves from the
    straight line half-way.
    """

    start: float
    end: float
    shift: Array
    bow: Array


@dataclass
class Motion:
    """One demonstration in continuous time."""

    # [7], pose at the start: x, y, z of the tool (m), roll, pitch, yaw (rad), finger (m).
    first: Array
    place: Array  # [3], position (m) of the object before it is grasped
    turn: Array  # [3], its rotation vector (rad)
    moves: list[Move] = field(default_factory=list)
    end: float = 0.0  # seconds, as the next two
    grasp: float = np.nan
    release: float = np.nan

    def pose(self, stamps: Array) -> Array:
        """Pose [T, 7] at `stamps` [T] (s); the finger as commanded."""
        poses = np.tile(self.first, (len(stamps), 1))
        for move in self.moves:
            u = np.clip((stamps - move.start) / (move.end - move.start), 0, 1)
            poses += minimum_jerk(u)[:, None] * move.shift
            poses[:, POSITION] += (64 * (u * (1 - u)) ** 3)[:, None] * move.bow
        return poses

    def object(self, stamps: Array) -> tuple[Array, Rotation]:
        """Position [T, 3] (m) and rotation [T] of the object, which moves with the tool."""
        held = self.pose(np.clip(stamps, self.grasp, self.release))
        taken = self.pose(np.array([self.grasp]))
        turned = _rotation(held) * _rotation(taken)[0].inv()
        offset = self.place - taken[0, POSITION]
        return held[:, POSITION] + turned.apply(offset), turned * Rotation.from_rotvec(self.turn)


def minimum_jerk(u: NDArray[np.floating] | float) -> Array:
    """Share of the way at the share `u` of the time, 0 to 1."""
    return np.asarray(u**3 * (10 - 15 * u + 6 * u**2))


# Share of the time of closing at which the fingers touch the object.
CLOSED = (OPEN - HALF_WIDTH) / (OPEN - SQUEEZE)
TOUCH = float(brentq(lambda u: float(minimum_jerk(u)) - CLOSED, 0, 1))


class _Plan:
    """Appends movements to a motion, at a person's pace."""

    def __init__(self, motion: Motion, rng: np.random.Generator) -> None:
        self.motion, self.rng = motion, rng
        self.pose = motion.first.copy()
        self.pace = 2.0 ** rng.uniform(-0.5, 0.5)  # durations of this demonstration
        self.now = rng.uniform(0, LONGEST)

    def pause(self) -> None:
        if self.rng.random() < PAUSE:
            self.now += self.rng.uniform(0, LONGEST)

    def go(self, pose: Array, seconds: float, blend: bool = False) -> None:
        """Move to a pose; `blend` starts before the last movement ends, if there is no pause."""
        last, before = self.motion.moves[-1] if self.motion.moves else None, self.now
        self.pause()
        seconds *= self.pace * 2.0 ** self.rng.uniform(-0.6, 0.6)
        if blend and last and self.now == before:
            self.now -= self.rng.uniform(0.1, 0.5) * min(seconds, last.end - last.start)
        shift = pose - self.pose
        bow = self.rng.normal(0, 0.04, 3) * np.linalg.norm(shift[POSITION])
        self._add(seconds, shift, bow)

    def close(self) -> float:
        """Close the fingers; the second at which they touch the object."""
        return self._fingers(SQUEEZE, TOUCH)

    def open(self) -> float:
        """Open the fingers; the second at which they leave the object."""
        return self._fingers(OPEN, 1 - TOUCH)

    def _fingers(self, goal: float, share: float) -> float:
        self.pause()
        self.now += self.rng.uniform(0, 0.2)
        shift = np.eye(POSE)[FINGER] * (goal - self.pose[FINGER])
        # The part in which the object does not hold the fingers takes 0.15 to 0.4 s.
        seconds, start = self.rng.uniform(0.15, 0.4) / TOUCH, self.now
        self._add(seconds, shift, np.zeros(3))
        return start + share * seconds

    def _add(self, seconds: float, shift: Array, bow: Array) -> None:
        self.motion.moves.append(Move(self.now, self.now + seconds, shift, bow))
        self.pose = self.pose + shift
        self.now += seconds


def planned(rng: np.random.Generator) -> Motion:
    """A random motion that carries one object."""

    def pose(place: Array, height: float, yaw: float) -> Array:
        tilt = rng.normal(0, 0.05, 2)
        angles = [np.pi + tilt[0], tilt[1], yaw]
        return np.array([*place[:2], place[2] + height, *angles, OPEN])

    def gripping(where: Array) -> Array:
        return np.append(where[:FINGER], SQUEEZE)

    table = 0.02  # m, height of the object's centre
    place = np.array([rng.uniform(*TABLE), rng.uniform(-0.3, 0.0), table])
    goal = np.array([rng.uniform(*TABLE), rng.uniform(0.08, 0.35), table])
    yaw, goal_yaw = rng.uniform(-0.6, 0.6, 2)
    home = np.array([0.45, 0.0, 0.35]) + rng.normal(0, 0.03, 3)
    begin = pose(home, 0, 0.0)
    turn = np.array([0, 0, yaw + rng.normal(0, 0.1)])
    motion = Motion(begin, place, turn)
    plan = _Plan(motion, rng)
    reached = place + np.array([*rng.normal(0, 0.004, 2), 0])
    plan.go(pose(reached, rng.uniform(0.08, 0.15), yaw), 1.6)
    if rng.random() < REGRASPS:
        missed = reached + np.array([*rng.uniform(0.005, 0.012, 2) * rng.choice([-1, 1], 2), 0])
        plan.go(pose(missed, 0, yaw + rng.normal(0, 0.1)), 1.0, blend=True)
        plan.close()
        plan.open()
        if rng.random() < 0.5:  # adjusts from above, or without moving up
            plan.go(pose(missed, rng.uniform(0.02, 0.05), yaw), 0.6)
    down = pose(reached, 0, yaw)
    plan.go(down, 1.0, blend=True)
    motion.grasp = plan.close()
    plan.go(gripping(pose(reached, rng.uniform(0.1, 0.2), yaw)), 0.9)
    middle = (reached + goal) / 2 + np.array([*rng.normal(0, 0.04, 2), 0])
    plan.go(gripping(pose(middle, rng.uniform(0.18, 0.3), (yaw + goal_yaw) / 2)), 1.2, blend=True)
    plan.go(gripping(pose(goal, rng.uniform(0.08, 0.15), goal_yaw)), 1.2, blend=True)
    # Level with the grasp, so that the object comes to lie on the table.
    lowered = down.copy()
    lowered[:2], lowered[5] = goal[:2] + rng.normal(0, 0.005, 2), goal_yaw
    plan.go(gripping(lowered), 1.0, blend=True)
    motion.release = plan.open()
    plan.go(pose(goal, rng.uniform(0.1, 0.2), goal_yaw), 0.9)
    plan.go(pose(home + rng.normal(0, 0.05, 3), 0, 0.0), 1.6, blend=True)
    motion.end = plan.now + rng.uniform(0, LONGEST)
    return motion


def _rotation(poses: Array) -> Rotation:
    return Rotation.from_euler("ZYX", poses[:, [5, 4, 3]])


def _measured(motion: Motion, stamps: Array, noise: float, rng: np.random.Generator) -> Array:
    """States [T, d] as the sensors give them."""
    poses = motion.pose(stamps)

    def noisy(values: Array, deviation: float) -> Array:
        return values + noise * deviation * rng.standard_normal(values.shape)

    def body(position: Array, rotation: Rotation, deviation: float, turn: float) -> Array:
        error = Rotation.from_rotvec(noise * turn * rng.standard_normal(position.shape))
        return np.hstack([noisy(position, deviation), _quaternions(error * rotation)])

    columns = [
        noisy(_joints(poses), JOINT_NOISE),
        noisy(np.maximum(poses[:, FINGER:], HALF_WIDTH), FINGER_NOISE),
        body(poses[:, POSITION], _rotation(poses), TOOL_NOISE, TOOL_TURN),
        body(*motion.object(stamps), OBJECT_NOISE, OBJECT_TURN),
    ]
    return np.hstack(columns)


def _quaternions(rotation: Rotation) -> Array:
    """Quaternions w, x, y, z [T, 4] without jumps; the largest component is positive at first."""
    quaternions = rotation.as_quat()[:, [3, 0, 1, 2]]
    kept = np.sign((quaternions[1:] * quaternions[:-1]).sum(axis=1))
    quaternions[1:] *= np.cumprod(kept)[:, None]
    return quaternions * np.sign(quaternions[0, np.abs(quaternions[0]).argmax()])


def _joints(poses: Array) -> Array:
    """Joints [T, 7] (rad): a fixed smooth function of the tool's pose."""
    rng = np.random.default_rng(7)
    inner, shift = rng.standard_normal((12, 6)), rng.normal(0, 0.5, 12)
    outer = rng.standard_normal((JOINTS, 12)) / np.sqrt(12)
    scaled = (poses[:, :6] - [0.5, 0, 0.15, np.pi, 0, 0]) * [2, 2, 2, 0.5, 0.5, 0.5]
    return np.tanh(scaled @ inner.T * 0.5 + shift) @ outer.T * 2
