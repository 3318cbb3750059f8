"""Synthetic demonstrations: a tool reaches a cube, grasps it, carries it to a goal, releases it."""

import numpy as np

from benchmarks.generation.sources import Demos
from benchmarks.generation.tasks import Task
from infoatlas_tools import Pose, Position

TASK = Task(
    "Invented", {"cube": Pose("cube"), "goal": Position("goal")}, (("cube",), ("goal",)),
    (("grasp", "cube"),), held=("", "cube"),
)  # fmt: skip
POSE = ("x", "y", "z", "qw", "qx", "qy", "qz")
NAMES = (
    *("joint1.position", "finger1.position", "joint1.velocity"),
    *(f"{body}.{axis}" for body in ("tool", "cube") for axis in POSE),
    *(f"{body}.{axis}" for body in ("goal", "tool_to_cube") for axis in "xyz"),
)
HOLD = 6  # steps in which the gripper closes


def demos(number=10, seed=0):
    rng = np.random.default_rng(seed)
    states, actions, grasped = [], [], []
    for _ in range(number):
        reach, carry = rng.integers(25, 35), rng.integers(25, 35)
        start, cube, goal = (
            np.append(rng.uniform(-0.2, 0.2, 2), height) for height in (0.2, 0.02, 0.25)
        )
        start[:2] *= 0.1
        there, over = np.linspace(start, cube, reach), np.linspace(cube, goal, carry)
        tool = np.concatenate([there, np.tile(cube, (HOLD, 1)), over, np.tile(goal, (2 * HOLD, 1))])
        n = len(tool)
        t = np.arange(n)
        held = (t >= reach + HOLD) & (t < n - HOLD)
        moves = [reach, reach + HOLD - 1, n - HOLD, n - 2]
        opening = np.interp(t, moves, [0.08, 0.04, 0.04, 0.08])
        thing = np.where((t >= reach)[:, None], tool, cube)
        upright = np.tile([1.0, 0, 0, 0], (n, 1))
        joint = (t / n) ** 1.5
        bodies = [tool, upright, thing, upright, np.tile(goal, (n, 1)), thing - tool]
        states.append(np.column_stack([joint, opening, np.gradient(joint), *bodies]))
        closed = (t >= reach) & (t < n - HOLD)
        targets = np.repeat(2 * joint[:, None], 7, axis=1)
        actions.append(np.column_stack([targets, np.where(closed, -1.0, 1.0)]))
        grasped.append(held)
    return Demos(
        tuple(states), tuple(actions), NAMES, np.arange(number), {"is_grasped": tuple(grasped)}
    )
