"""Demonstrations with actions, from ManiSkill's planners, and the tasks of the policies.

    .venv-maniskill/bin/python -m benchmarks.policies.demos pick 400 build/policies

It uses the recorder of `tasks.collect_planned` and adds the planner's targets: `actions` [sum, 8]
are joint positions 1 to 7 (rad) and the gripper (1 open, -1 closed) at each state. The last state
of an episode has no action; its row repeats the previous one.
"""

import gc
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from infoatlas_tools.generation.scene import Scene

from ..tasks.collect_planned import RECIPES, Recipe, Recorder, make as make_env, record

PICK = Recipe(
    "PickCube-v1",
    "pick_cube",
    {
        "tcp_pose": "tool",
        "goal_pos": "goal",
        "obj_pose": "cube",
        "tcp_to_obj_pos": "tool_to_cube",
        "obj_to_goal_pos": "cube_to_goal",
    },
    thing="cube",
)
# Flags are part of each step's info, so the simulator evaluates them once.
TASKS = {"pick": PICK, "stack": replace(RECIPES["stack"], grasped="", flags={})}
GRASPED = {"pick": "is_grasped", "stack": "is_cubeA_grasped"}


class WithActions(Recorder):
    """Recorder that also keeps the actions."""

    def __init__(self, env: Any, task: str) -> None:
        super().__init__(env, TASKS[task])
        self.grasped = GRASPED[task]

    def _start(self) -> None:
        super()._start()
        self.actions: list[NDArray[np.float32]] = []

    def _keep(self, observation: dict[str, Any], info: dict[str, Any]) -> None:
        super()._keep(observation, info)
        self.flags.setdefault("is_grasped", []).append(bool(info[self.grasped]))

    def step(self, action: Any) -> Any:
        self.actions.append(np.asarray(action, np.float32).reshape(-1))
        return super().step(action)

    def success(self) -> bool:
        """Whether the task is done."""
        return self.flags["success"][-1]

    def episode(self) -> tuple[NDArray[np.float32], dict[str, NDArray[Any]]]:
        """States [T, d], and actions [T, 8] and flags [T] by name."""
        states, flags = super().episode()
        return states, {**flags, "actions": np.array([*self.actions, self.actions[-1]])}


def make(task: str) -> WithActions:
    """A recorded environment of a task: `reset(seed=...)`, `step(action)`, `states`, `flags`."""
    env = make_env(TASKS[task], reward_mode="none")
    gc.freeze()  # each new scene collects garbage; frozen objects are skipped
    return WithActions(env, task)


def fast(task: str) -> Scene:
    """The same simulation without flags, several times as fast; its states are bit-equal.

    The scene is reused between episodes; the engine's remaining state changes velocities by less
    than 0.01.
    """
    return Scene(TASKS[task].environment)


def collect(task: str, number: int, out: Path) -> Path:
    """Record `number` successful episodes from seed 0 upwards, and write OUT/TASK.npz."""
    return record(make(task), TASKS[task].solution, number, out / f"{task}.npz", 3)


if __name__ == "__main__":
    print(collect(sys.argv[1], int(sys.argv[2]), Path(sys.argv[3])))
