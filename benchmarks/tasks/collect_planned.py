"""Collect the demonstrations of the key-state benchmark from ManiSkill's planners.

    make keystates-data            # all tasks; the environment that it needs is made as well
    .venv-maniskill/bin/python -m benchmarks.tasks.collect_planned push --number 5 --out build/demos

Each task becomes one .npz file with successful episodes of ManiSkill's motion planner
(`pd_joint_pos`, 20 steps per second, physx on the CPU), from seed 0 upwards. The states are those
of the observation **without its flags**, because a column "grasped" would be the answer. The flags
are separate arrays, from which the true events are computed.

It needs ManiSkill 3.0.1 with numpy < 2 (its planner crashes with numpy 2), and therefore a separate
environment. Data are exchanged as files.
"""

import importlib
import sys
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from infoatlas_tools.generation import headless  # isort: skip  (first: it makes mani_skill importable)
import gymnasium
import mani_skill.envs  # noqa: F401  (registers the tasks)
import numpy as np
from numpy.typing import NDArray
from tqdm import tqdm

from infoatlas_tools.generation.collect import SOLUTIONS, TRIES
from infoatlas_tools.generation.tasks import JOINTS

from .episode_files import POSE, chosen, has_moved, reported, save

Flag = Callable[[Any], Any]  # environment -> tensor of one bool


@dataclass(frozen=True)
class Recipe:
    """A task of ManiSkill, with names of its observation and flags."""

    environment: str  # registered environment
    solution: str  # module and function of its planner
    columns: dict[str, str]  # name of an entry of the observation -> prefix of its columns
    # Attribute of the environment: the object whose first motion is recorded, and its grasp unless
    # `grasped` names another object.
    thing: str
    grasped: str = ""  # empty if the task has no grasp
    flags: dict[str, Flag] = field(default_factory=dict)  # further flags by name


def peg_aligned(env: Any) -> Any:
    """Peg and peg head within 10 mm of the hole's axis: ManiSkill's own "pre-inserted"."""
    axis = env.goal_pose.inv()
    return (_off_axis(axis * env.peg_head_pose) < 0.01) & (_off_axis(axis * env.peg.pose) < 0.01)


def charger_aligned(env: Any) -> Any:
    """Within the tolerances of success (5 mm, 0.2 rad), except for the depth."""
    angle = env._compute_distance()[1]
    return (_off_axis(env.goal_pose.inv() * env.charger.pose) <= 0.005) & (angle <= 0.2)


def _off_axis(pose: Any) -> Any:
    """Distance from the x axis [1], m."""
    return (pose.p[:, 1:] ** 2).sum(axis=1) ** 0.5


RECIPES = {
    "lift": Recipe(
        "LiftPegUpright-v1",
        "lift_peg_upright",
        {"tcp_pose": "tool", "obj_pose": "peg"},
        thing="peg",
        grasped="peg",
    ),
    "push": Recipe(
        "PushCube-v1",
        "push_cube",
        {"tcp_pose": "tool", "goal_pos": "goal", "obj_pose": "cube"},
        thing="obj",
    ),
    "pull": Recipe(
        "PullCubeTool-v1",
        "pull_cube_tool",
        {"tcp_pose": "tool", "cube_pose": "cube", "tool_pose": "hook"},
        thing="cube",
        grasped="l_shape_tool",
    ),
    "plug": Recipe(
        "PlugCharger-v1",
        "plug_charger",
        {
            "tcp_pose": "tool",
            "charger_pose": "charger",
            "receptacle_pose": "receptacle",
            "goal_pose": "goal",
        },
        thing="charger",
        grasped="charger",
        flags={"aligned": charger_aligned},
    ),
    "stack": Recipe(
        "StackCube-v1",
        "stack_cube",
        {
            "tcp_pose": "tool",
            "cubeA_pose": "cube_a",
            "cubeB_pose": "cube_b",
            "tcp_to_cubeA_pos": "tool_to_cube_a",
            "tcp_to_cubeB_pos": "tool_to_cube_b",
            "cubeA_to_cubeB_pos": "cube_a_to_cube_b",
        },
        thing="cubeA",
        grasped="cubeA",
        flags={"is_placed": lambda env: env.evaluate()["is_cubeA_on_cubeB"]},
    ),
    "peg": Recipe(
        "PegInsertionSide-v1",
        "peg_insertion_side",
        {
            "tcp_pose": "tool",
            "peg_pose": "peg",
            "peg_half_size": "peg_half_size",
            "box_hole_pose": "hole",
            "box_hole_radius": "hole_radius",
        },
        thing="peg",
        grasped="peg",
        flags={"aligned": peg_aligned},
    ),
}


class Recorder(gymnasium.Wrapper):
    """Records states and flags of an episode that a planner executes."""

    def __init__(self, env: Any, recipe: Recipe) -> None:
        super().__init__(env)
        self.recipe = recipe
        self.names: list[str] = []
        self._start()

    def _start(self) -> None:
        self.states: list[NDArray[np.float32]] = []
        self.positions: list[NDArray[np.float32]] = []
        self.flags: dict[str, list[bool]] = {}

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> Any:
        # Without a new scene, the first state would have the contacts of the last episode.
        observation, info = self.env.reset(seed=seed, options={"reconfigure": True})
        self._start()
        self._keep(observation, info)
        return observation, info

    def step(self, action: Any) -> Any:
        outcome = self.env.step(action)
        self._keep(outcome[0], outcome[-1])
        return outcome

    def _keep(self, observation: dict[str, Any], info: dict[str, Any]) -> None:
        env, recipe = self.env.unwrapped, self.recipe
        parts, names = [], []
        for kind, key in (("position", "qpos"), ("velocity", "qvel")):
            parts.append(_flat(observation["agent"][key]))
            names += [f"{joint}.{kind}" for joint in JOINTS]
        for key, prefix in recipe.columns.items():  # what it does not name, flags too, is left
            parts.append(_flat(observation["extra"][key]))
            names += _column_names(prefix, len(parts[-1]))
        self.states.append(np.concatenate(parts).astype(np.float32))
        self.names = names
        now = {name: flag(env) for name, flag in recipe.flags.items()}
        now["success"] = info["success"]
        if recipe.grasped:
            now["is_grasped"] = env.agent.is_grasping(getattr(env, recipe.grasped))
        for name, value in now.items():
            self.flags.setdefault(name, []).append(bool(value))
        self.positions.append(_flat(getattr(env, recipe.thing).pose.p))

    def episode(self) -> tuple[NDArray[np.float32], dict[str, NDArray[np.bool_]]]:
        """States [T, d] and flags [T] of the episode."""
        flags = {name: np.array(values) for name, values in self.flags.items()}
        flags["has_moved"] = has_moved(np.array(self.positions))
        return np.array(self.states), flags


def _flat(tensor: Any) -> NDArray[np.float32]:
    return np.asarray(tensor.cpu()).reshape(-1)


def _column_names(prefix: str, size: int) -> list[str]:
    if size == 1:
        return [prefix]
    return [f"{prefix}.{axis}" for axis in POSE[:size]]


def record(recorder: Recorder, number: int, out: Path) -> Path:
    """Record `number` successful episodes of a planner from seed 0 upwards, and write `out`.

    SystemExit if fewer of 10 x `number` seeds are solved.
    """
    solve = importlib.import_module(f"{SOLUTIONS}.{recorder.recipe.solution}").solve
    episodes, seeds = [], []
    with tqdm(total=number, desc=out.stem, file=sys.stderr) as bar:
        for seed in range(TRIES * number):
            if len(episodes) == number:
                break
            result = solve(recorder, seed=seed)
            bar.set_postfix(tried=seed + 1)
            # A planner returns -1 if it finds no path; success has to last to the end.
            if result != -1 and recorder.flags["success"][-1]:
                episodes.append(recorder.episode())
                seeds.append(seed)
                bar.update()
    recorder.close()
    if len(episodes) < number:
        raise SystemExit(f"{out.stem}: {len(episodes)} of {TRIES * number} seeds were solved")
    return save(out, episodes, recorder.names, seeds)


def main() -> None:
    given = chosen(__doc__, RECIPES, number=40)
    for task in given.tasks:
        env = gymnasium.make(
            RECIPES[task].environment,
            obs_mode="state_dict",
            control_mode="pd_joint_pos",
            max_episode_steps=10_000,  # planners need more steps than policies get
            **headless.OPTIONS,
        )
        recorder = Recorder(env, RECIPES[task])
        reported(record(recorder, given.number, given.out / f"{task}.npz"))


if __name__ == "__main__":
    main()
