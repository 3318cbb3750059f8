"""Synthetic demonstrations: a tool reaches a cube, grasps it, carries it to a goal, releases it."""

import numpy as np

from benchmarks.generation.sources import Demos
from benchmarks.generation.tasks import Task
from infoatlas_tools import Pose, Position

TASK = Task(
    "Invented",
    {"cube": Pose("cube"), "goal": Position("goal")},
    (("cube",), ("goal",)),
    (("grasp", "cube"),),
    held=("", "cube"),
)
POSE = ("x", "y", "z", "qw", "qx", "qy", "qz")
NAMES = (
    "joint1.position",
    "finger1.position",
    "joint1.velocity",
    *(f"tool.{axis}" for axis in POSE),
    *(f"cube.{axis}" for axis in POSE),
    *(f"goal.{axis}" for axis in "xyz"),
    *(f"tool_to_cube.{axis}" for axis in "xyz"),
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
        tool = np.concatenate(
            [
                np.linspace(start, cube, reach),
                np.repeat(cube[None], HOLD, axis=0),
                np.linspace(cube, goal, carry),
                np.repeat(goal[None], 2 * HOLD, axis=0),
            ]
        )
        n = len(tool)
        held = (np.arange(n) >= reach + HOLD) & (np.arange(n) < n - HOLD)
        opening = np.interp(
            np.arange(n), [reach, reach + HOLD - 1, n - HOLD, n - 2], [0.08, 0.04, 0.04, 0.08]
        )
        thing = np.where((np.arange(n) >= reach)[:, None], tool, cube)
        upright = np.tile([1.0, 0, 0, 0], (n, 1))
        joint = (np.arange(n) / n) ** 1.5
        columns = [
            joint,
            opening,
            np.gradient(joint),
            *np.hstack([tool, upright, thing, upright, np.tile(goal, (n, 1)), thing - tool]).T,
        ]
        states.append(np.stack(columns, axis=1))
        closed = (np.arange(n) >= reach) & (np.arange(n) < n - HOLD)
        targets = np.repeat(2 * joint[:, None], 7, axis=1)
        actions.append(np.column_stack([targets, np.where(closed, -1.0, 1.0)]))
        grasped.append(held)
    return Demos(
        tuple(states), tuple(actions), NAMES, np.arange(number), {"is_grasped": tuple(grasped)}
    )
