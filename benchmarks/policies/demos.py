"""Demonstrations with actions, from ManiSkill's planners, and the tasks of the policies.

    .venv-maniskill/bin/python -m benchmarks.policies.demos pick 400 build/policies

It uses the recorder of `tasks.collect_planned` and adds the planner's targets: `actions` [sum, 8]
are joint positions 1 to 7 (rad) and the gripper (1 open, -1 closed) at each state. The last state
of an episode has no action; its row repeats the previous one.
"""

from __future__ import annotations

import gc
import importlib
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from tqdm import tqdm

from ..tasks.collect_planned import (
    RECIPES,
    SOLUTIONS,
    Recipe,
    Recorder,
    gymnasium,
    headless,
)

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
    grasped="",
    flags={},
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


def make(task: str) -> WithActions:
    """A recorded environment of a task: `reset(seed=...)`, `step(action)`, `states`, `flags`."""
    env = gymnasium.make(
        TASKS[task].environment,
        obs_mode="state_dict",
        control_mode="pd_joint_pos",
        reward_mode="none",
        max_episode_steps=10_000,  # the callers count steps
        **headless.OPTIONS,
    )
    gc.freeze()  # each new scene collects garbage; frozen objects are skipped
    return WithActions(env, task)


class Judged:
    """The same simulation without flags except success, several times as fast.

    States are those of the physics engine (bit-equal). Success is evaluated only if the objects are
    in place. The scene is reused between episodes; the engine's remaining state changes velocities
    by less than 0.01.
    """

    def __init__(self, task: str) -> None:
        self.env: Any = make(task).env
        self.near, self.read = {"pick": (_pick_near, _pick), "stack": (_stack_near, _stack)}[task]

    def reset(self, *, seed: int) -> None:
        self.env.reset(seed=seed)
        self.states = [self._state()]

    def step(self, action: Any) -> bool:
        """Whether the task is done."""
        bare = self.env.unwrapped
        bare._step_action(action)
        self.states.append(self._state())
        return self.near(self.states[-1]) and bool(bare.evaluate()["success"])

    def _state(self) -> NDArray[np.float32]:
        bare = self.env.unwrapped
        robot = bare.agent.robot._objs[0]
        tool = _pose(bare.agent.tcp._objs[0].entity)
        parts = (robot.get_qpos(), robot.get_qvel(), tool, *self.read(bare, tool[:3]))
        return np.concatenate(parts).astype(np.float32)


def _pose(entity: Any) -> NDArray[np.float32]:
    pose = entity.pose
    return np.concatenate([pose.p, pose.q])


def _pick(env: Any, tool: Any) -> tuple[Any, ...]:
    goal, cube = env.goal_site._objs[0].pose.p, _pose(env.cube._objs[0])
    return goal, cube, cube[:3] - tool, goal - cube[:3]


def _stack(env: Any, tool: Any) -> tuple[Any, ...]:
    a, b = _pose(env.cubeA._objs[0]), _pose(env.cubeB._objs[0])
    return a, b, a[:3] - tool, b[:3] - tool, b[:3] - a[:3]


def _pick_near(state: NDArray[np.float32]) -> bool:
    """Whether the cube is within 25 mm of the goal and the arm nearly at rest."""
    return bool(np.linalg.norm(state[38:41]) < 0.026 and np.abs(state[9:16]).max() < 0.21)


def _stack_near(state: NDArray[np.float32]) -> bool:
    """Whether one cube is above the other."""
    return bool(np.linalg.norm(state[45:48]) < 0.08)


def collect(task: str, number: int, out: Path) -> Path:
    """Record `number` successful episodes from seed 0 upwards, and write OUT/TASK.npz."""
    recorder = make(task)
    solve = importlib.import_module(f"{SOLUTIONS}.{TASKS[task].solution}").solve
    episodes: list[tuple[Any, Any, Any]] = []
    seeds: list[int] = []
    with tqdm(total=number, desc=task, file=sys.stderr) as bar:
        for seed in range(3 * number):
            if len(episodes) == number:
                break
            if solve(recorder, seed=seed) != -1 and recorder.flags["success"][-1]:
                actions = np.array([*recorder.actions, recorder.actions[-1]])
                episodes.append((*recorder.episode(), actions))
                seeds.append(seed)
                bar.update()
    recorder.close()
    if len(episodes) < number:
        raise SystemExit(f"{task}: {len(episodes)} of {3 * number} seeds were solved")
    out.mkdir(parents=True, exist_ok=True)
    path = out / f"{task}.npz"
    np.savez_compressed(
        path,
        states=np.concatenate([states for states, _, _ in episodes]),
        actions=np.concatenate([actions for _, _, actions in episodes]),
        lengths=np.array([len(states) for states, _, _ in episodes], np.int64),
        names=np.array(recorder.names),
        seeds=np.array(seeds, np.int64),
        **{
            name: np.concatenate([flags[name] for _, flags, _ in episodes])
            for name in sorted(episodes[0][1])
        },
    )
    return path


if __name__ == "__main__":
    print(collect(sys.argv[1], int(sys.argv[2]), Path(sys.argv[3])))
