"""Make and render demonstrations of an arm that stacks cubes, with random places.

    python -m benchmarks.cameras.stacks [SET ...] --out build/cameras

The arm moves without dynamics (`kinematic_arm.py`). Ways have minimum jerk in the space of the
joints, and random speeds, pauses and points of passage; the joints also wander by about 4 mrad. A
grasped cube moves with the tool. The sets:

    stack2        cube_a (red) on cube_b (green); a blue cylinder always lies at one place
    stack2same    the same with two red cubes; the blue cylinder lies elsewhere each time
    stack3        cube_a (red) on cube_b (green), then cube_c (blue) on cube_a
    place_absent  cube_a (red) on a green pad; a yellow ball is absent in 40%. The pad is absent
                  in 12%: there cube_a is put at one place of the table (reference: world)
"""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import mujoco
import numpy as np
from numpy.typing import NDArray

from ..tasks.episode_files import chosen, reported
from .image_files import OUT, Demonstration, write
from .kinematic_arm import JOINTS, OPEN, TUCKED, Kinematics, Thing, build, minimum_jerk, tool_down

RATE = 20.0  # steps per second
REGION = np.array([[0.38, -0.15], [0.68, 0.15]])  # m, where objects lie: 30 cm x 30 cm
APART = 0.075  # m, between the centres of two objects
HOME = np.array([0.50, 0.0, 0.44])  # m, of the tool
WANDER, KEPT = 0.004, 0.95  # rad, and correlation of consecutive steps
ENCODER, FINGER = 0.0005, 0.0001  # rad and m, noise of the recorded joints and gripper
NAMES = [*(f"joint{i + 1}.position" for i in range(JOINTS)), "gripper.position"]
WORLD = "world"
UP = np.array([0.0, 0.0, 1.0])

RED, GREEN, BLUE, YELLOW = (0.85, 0.1, 0.1), (0.1, 0.6, 0.15), (0.12, 0.22, 0.8), (0.9, 0.8, 0.1)
CYLINDER = Thing("distractor", BLUE, "cylinder", (0.028, 0.028))


@dataclass(frozen=True)
class Task:
    """What is put on what."""

    things: tuple[Thing, ...]
    moves: tuple[tuple[str, str], ...]  # held, reference; in order
    fixed: dict[str, tuple[float, float]]  # place (x, y) of objects that always lie there
    absent: dict[str, float]  # probability that an object is absent


A_ON_B = (("cube_a", "cube_b"),)
PAD = Thing("pad", GREEN, "box", (0.04, 0.04, 0.004))
BALL = Thing("ball", YELLOW, "sphere", (0.025,))
TASKS = {
    "stack2": Task(
        (Thing("cube_a", RED), Thing("cube_b", GREEN), CYLINDER),
        A_ON_B,
        {"distractor": (0.45, 0.24)},
        {},
    ),
    "stack3": Task(
        (Thing("cube_a", RED), Thing("cube_b", GREEN), Thing("cube_c", BLUE)),
        (*A_ON_B, ("cube_c", "cube_a")),
        {},
        {},
    ),
    "stack2same": Task((Thing("cube_a", RED), Thing("cube_b", RED), CYLINDER), A_ON_B, {}, {}),
    "place_absent": Task(
        (Thing("cube_a", RED), PAD, BALL), (("cube_a", "pad"),), {}, {"pad": 0.12, "ball": 0.4}
    ),
}
TABLE_PLACE = (0.40, -0.22)  # m, where a cube is put whose reference is absent


class Mover:
    """Moves the arm and what it holds, and records positions and events."""

    def __init__(
        self,
        model: mujoco.MjModel,
        things: Sequence[Thing],
        poses: dict[str, NDArray[np.float64]],
        random: np.random.Generator,
    ) -> None:
        self.model, self.things, self.poses, self.random = model, things, poses, random
        self.arm = Kinematics(model)
        start = HOME + random.normal(0, [0.02, 0.03, 0.015])
        self.joints = self.arm.inverse(tool_down(start, random.normal(0, 0.1)), TUCKED)
        self.finger = OPEN
        self.wandered = random.normal(0, WANDER, JOINTS)
        self.speed = random.uniform(0.7, 1.3)
        self.held: tuple[str, NDArray[np.float64]] | None = None  # and its pose in the tool
        self.positions: list[NDArray[np.float64]] = []
        self.tools: list[NDArray[np.float64]] = []
        self.recorded: dict[str, list[NDArray[np.float64]]] = {thing.name: [] for thing in things}
        self.events: list[tuple[int, str, str, str]] = []

    def go(self, place: NDArray[np.float64], yaw: float) -> None:
        """Move the tool to a place [3] at a turn about the vertical (rad); pause at times."""
        goal = self.arm.inverse(tool_down(place, yaw), self.joints)
        way = np.abs(goal - self.joints).max() / 0.7 + 0.25  # s at usual speed
        steps = max(6, round(RATE * way / (self.speed * self.random.uniform(0.8, 1.25))))
        start = self.joints
        for share in minimum_jerk(steps):
            self.joints = start + share * (goal - start)
            self.step()
        if self.random.random() < 0.25:
            self.rest(self.random.uniform(0.2, 1.0))

    def rest(self, seconds: float) -> None:
        for _ in range(round(RATE * seconds)):
            self.step()

    def close(self, name: str) -> None:
        """Grasp an object."""
        width = self.things[[thing.name for thing in self.things].index(name)].size[0]
        self._finger(width)
        self.events.append((len(self.positions) - 1, "grasp", name, name))
        now = self.arm.tool_pose(self.joints + self.wandered)
        self.held = name, np.linalg.inv(now) @ self.poses[name]
        self.rest(0.1)

    def open(self, height: float, reference: str) -> None:
        """Release the held object: it lies flat, with its centre at `height`."""
        assert self.held is not None
        name, self.held = self.held[0], None
        self.events.append((len(self.positions), "release", name, reference))
        pose = self.poses[name]
        yaw = np.arctan2(pose[1, 0], pose[0, 0])
        flat = tool_down(np.array([*pose[:2, 3], height]), yaw)
        flat[:3, :3] = flat[:3, :3] @ np.diag([-1.0, 1.0, -1.0])
        self.poses[name] = flat
        self._finger(OPEN)

    def _finger(self, goal: float) -> None:
        start, steps = self.finger, int(self.random.integers(5, 10))
        for share in minimum_jerk(steps):
            self.finger = start + share * (goal - start)
            self.step()

    def step(self) -> None:
        fresh = self.random.normal(0, WANDER * np.sqrt(1 - KEPT**2), JOINTS)
        self.wandered = KEPT * self.wandered + fresh
        joints = self.joints + self.wandered
        tool = self.arm.tool_pose(joints)
        if self.held is not None:
            self.poses[self.held[0]] = tool @ self.held[1]
        self.tools.append(_quaternion(tool))
        for name, pose in self.poses.items():
            self.recorded[name].append(_quaternion(pose))
        things = [self.recorded[thing.name][-1] for thing in self.things]
        self.positions.append(np.concatenate([joints, [self.finger] * 2, *things]))

    def demonstration(self, absent: set[str]) -> Demonstration:
        positions = np.array(self.positions)
        noise = self.random.normal(0, ENCODER, (len(positions), JOINTS + 1))
        states = positions[:, : JOINTS + 1] + noise
        states[:, JOINTS] = positions[:, JOINTS] + self.random.normal(0, FINGER, len(positions))
        poses = {"tool": np.array(self.tools, np.float32)}
        for name, recorded in self.recorded.items():
            poses[name] = np.array(recorded, np.float32)
            if name in absent:
                poses[name][:] = np.nan
        bodies = {thing.name: thing.name for thing in self.things}
        return Demonstration(
            self.model, positions, states.astype(np.float32), poses, bodies, self.events
        )


def demonstrate(task: Task, model: mujoco.MjModel, seed: int) -> Demonstration:
    """A demonstration of a task, with places, speeds and pauses from a seed."""
    random = np.random.default_rng(seed)
    absent = {name for name, share in task.absent.items() if random.random() < share}
    poses = _places(task, absent, random)
    halves = {thing.name: thing.half for thing in task.things}
    mover = Mover(model, task.things, poses, random)
    mover.rest(random.uniform(0.3, 1.0))
    for held, reference in task.moves:
        place, yaw = poses[held][:3, 3], _yaw(poses[held])
        over, up = random.uniform(0.08, 0.14, 2)
        near = np.append(random.normal(0, 0.006, 2), 0)
        grip = place + random.normal(0, 0.003, 3)
        mover.go(place + near + over * UP, yaw)
        mover.go(grip, yaw)
        mover.close(held)
        mover.go(grip + up * UP, yaw)
        if reference in absent:
            reference, below = WORLD, np.array([*TABLE_PLACE, 0.0])
        else:
            below = poses[reference][:3, 3] + halves[reference] * UP
            yaw = _yaw(poses[reference])
        aside = np.append(random.normal(0, 0.003, 2), 0.002)
        put = below + aside + (halves[held] + (grip - place)[2]) * UP
        mover.go(put + near + over * UP, yaw)
        mover.go(put, yaw)
        mover.open(below[2] + halves[held], reference)
        mover.go(put + up * UP, yaw)
    mover.go(HOME + random.normal(0, [0.02, 0.03, 0.015]), random.normal(0, 0.1))
    mover.rest(random.uniform(0.2, 0.8))
    return mover.demonstration(absent)


def _places(
    task: Task, absent: set[str], random: np.random.Generator
) -> dict[str, NDArray[np.float64]]:
    """Pose [4, 4] of each object; absent ones are below the floor."""
    while True:
        found = {
            thing.name: np.array(task.fixed.get(thing.name, random.uniform(*REGION)))
            for thing in task.things
        }
        there = np.array([place for name, place in found.items() if name not in absent])
        distance = np.linalg.norm(there[:, None] - there, axis=-1) + 9 * np.eye(len(there))
        if distance.min() > APART:
            break
    poses = {}
    for thing in task.things:
        height = -2.0 if thing.name in absent else thing.half
        pose = tool_down(np.array([*found[thing.name], height]), random.uniform(-0.7, 0.7))
        pose[:3, :3] = pose[:3, :3] @ np.diag([-1.0, 1.0, -1.0])
        poses[thing.name] = pose
    return poses


def _yaw(pose: NDArray[np.float64]) -> float:
    """Turn about the vertical, in -pi/4 to pi/4: a cube has four equal sides."""
    yaw = float(np.arctan2(pose[1, 0], pose[0, 0]))
    return (yaw + np.pi / 4) % (np.pi / 2) - np.pi / 4


def _quaternion(pose: NDArray[np.float64]) -> NDArray[np.float64]:
    """Pose [7] (m, quaternion, w first) from a matrix [4, 4]."""
    quaternion = np.zeros(4)
    mujoco.mju_mat2Quat(quaternion, pose[:3, :3].ravel())
    return np.concatenate([pose[:3, 3], quaternion])


def make(name: str, number: int, out: Path, every: int = 4) -> Path:
    """Write OUT/NAME.npz with `number` demonstrations."""
    task = TASKS[name]
    model = build(task.things)
    first = 1000 * list(TASKS).index(name)
    demos = [demonstrate(task, model, first + seed) for seed in range(number)]
    return write(out / f"{name}.npz", demos, NAMES, RATE, every)


def main() -> None:
    given = chosen(__doc__, TASKS, OUT, number=60, every=4)
    for name in given.tasks:
        reported(make(name, given.number, given.out, given.every))


if __name__ == "__main__":
    main()
