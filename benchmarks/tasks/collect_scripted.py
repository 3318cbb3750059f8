"""Collect demonstrations of Meta-World's scripted policies, disturbed, for the key-state benchmark.

    make keystates-data
    .venv-metaworld/bin/python -m benchmarks.tasks.collect_scripted hammer --out build/demos

A motion planner stops before and after each grasp, which makes key states easy to find. The
scripted policies do not stop. Here they have correlated noise, a changing speed and random pauses.
Each task becomes one .npz file of successful demonstrations, from seed 0 upwards. A seed determines
the scene and the disturbances. One step is 1/80 s. The flags come from contacts and poses in
MuJoCo, and are separate from the states.

It needs Meta-World 3.1.1 in a separate environment. Data are exchanged as files.
"""

from __future__ import annotations

import sys
import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import mujoco
import numpy as np
from metaworld.env_dict import ALL_V3_ENVIRONMENTS_GOAL_OBSERVABLE as ENVIRONMENTS
from metaworld.policies import ENV_POLICY_MAP as POLICIES
from numpy.typing import NDArray
from tqdm import tqdm

from .episode_files import POSE, chosen, has_moved, reported, save
from .playback import below

TRIES = 10  # seeds for each demonstration
LONGEST = 500  # steps, Meta-World's own limit
AFTER = 10  # steps that success has to last; the demonstration ends with them
JOINTS = tuple(f"right_j{i}" for i in range(7))
FINGERS = ("r_close", "l_close")
HAND = ("right_l6", "right_hand", "hand", "rightclaw", "leftclaw", "rightpad", "leftpad")
# Of the disturbances; an action of 1 moves the target of the hand by 10 mm a step.
SPEED = (0.45, 1.0)
STRETCH = (15, 50)  # steps at one speed
NOISE, KEPT = 0.1, 0.9  # standard deviation of each axis, and correlation of consecutive steps
PAUSE = 0.012  # probability that one begins at a step
PAUSED = (5, 25)  # steps of a pause


@dataclass(frozen=True)
class Recipe:
    """A task of Meta-World."""

    environment: str
    # Body of the object, for contacts and orientation. Its position is the point of handling in
    # Meta-World's observation.
    thing: str
    second: bool = False  # the observation has a second object, whose first motion is recorded


RECIPES = {
    "pick_place": Recipe("pick-place-v3", "obj"),
    "assembly": Recipe("assembly-v3", "asmbly_peg"),
    "drawer_open": Recipe("drawer-open-v3", "drawer_link"),
    "door_open": Recipe("door-open-v3", "door_link"),
    "hammer": Recipe("hammer-v3", "hammer", second=True),
}


class Disturbance:
    """Changes the actions of a policy: noise, changing speed, pauses."""

    def __init__(self, seed: int) -> None:
        self.random = np.random.default_rng(seed)
        self.noise = np.zeros(3)
        self.speed = 1.0
        self.stretch = self.paused = 0

    def __call__(self, action: NDArray[np.floating]) -> NDArray[np.float64]:
        """Disturb an action [4] of hand and gripper; the gripper is unchanged."""
        draw = self.random
        fresh = NOISE * np.sqrt(1 - KEPT**2)
        self.noise = KEPT * self.noise + draw.normal(0, fresh, 3)
        if self.stretch == 0:
            self.speed, self.stretch = draw.uniform(*SPEED), int(draw.integers(*STRETCH))
        if self.paused == 0 and draw.random() < PAUSE:
            self.paused = int(draw.integers(*PAUSED))
        self.stretch -= 1
        changed = np.clip(action, -1, 1).astype(np.float64)
        changed[:3] = self.speed * changed[:3] + self.noise
        if self.paused:
            self.paused -= 1
            changed[:3] = 0
        return np.clip(changed, -1, 1)


class Recorder:
    """Records states and flags of a demonstration."""

    def __init__(self, env: Any, recipe: Recipe) -> None:
        model = env.model
        self.env, self.recipe = env, recipe
        self.things = below(model, recipe.thing)
        self.hand = np.array([model.body(name).id for name in HAND])
        self.pads = [model.body(name).id for name in ("leftpad", "rightpad")]
        self.both = self.touch = False
        # A short contact can end before the step of the policy.
        env._step_mujoco_simulation = self._simulate
        self.states: list[NDArray[np.float64]] = []
        self.positions: list[NDArray[np.float64]] = []  # of all joints, to render them
        self.flags: dict[str, list[bool]] = {"both_pads": [], "touch": [], "success": []}
        self.names = [
            *(f"joint{i + 1}.position" for i in range(len(JOINTS))),
            *(f"finger{i + 1}.position" for i in range(len(FINGERS))),
            *(f"tool.{axis}" for axis in "xyz"),
            *(f"object.{axis}" for axis in POSE),
            *(f"object2.{axis}" for axis in "xyz" if recipe.second),
        ]

    def keep(self, observation: NDArray[np.float64], success: bool) -> None:
        data = self.env.data
        self.positions.append(data.qpos.copy())
        angles = [data.joint(name).qpos[0] for name in (*JOINTS, *FINGERS)]
        turned = data.body(self.recipe.thing).xquat
        second = observation[11:14] if self.recipe.second else []
        self.states.append(
            np.concatenate([angles, observation[:3], observation[4:7], turned, second])
        )
        now = {"both_pads": self.both, "touch": self.touch, "success": success}
        for name, value in now.items():
            self.flags[name].append(value)

    def _simulate(self, control: NDArray[np.float64], number: int) -> None:
        """A step of the policy: `number` steps of the simulator, with the contacts in any."""
        model, data = self.env.model, self.env.data
        data.ctrl[:] = control
        self.both = self.touch = False
        for _ in range(number):
            mujoco.mj_step(model, data)
            pairs = model.geom_bodyid[data.contact.geom.reshape(-1, 2)]
            pairs = np.concatenate([pairs, pairs[:, ::-1]])
            touching = pairs[np.isin(pairs[:, 0], self.things), 1]
            self.both |= bool(np.isin(self.pads, touching).all())
            self.touch |= bool(np.isin(touching, self.hand).any())
        mujoco.mj_rnePostConstraint(model, data)  # as gymnasium does

    def demonstration(self) -> tuple[NDArray[np.float32], dict[str, NDArray[np.bool_]]]:
        """States [T, d] and flags [T]."""
        states = np.array(self.states)
        flags = {name: np.array(values) for name, values in self.flags.items()}
        if self.recipe.second:  # the hammer settles by more than 3 mm when the scene starts
            thing, flag = "object2", "has_moved2"
        else:
            thing, flag = "object", "has_moved"
        start = self.names.index(f"{thing}.x")
        flags[flag] = has_moved(states[:, start : start + 3])
        return states.astype(np.float32), flags


def demonstrate(recipe: Recipe, seed: int) -> Recorder | None:
    """A demonstration, or None if it does not succeed."""
    env = ENVIRONMENTS[f"{recipe.environment}-goal-observable"](seed=seed)
    policy, disturb = POLICIES[recipe.environment](), Disturbance(seed)
    observation, _ = env.reset(seed=seed)
    recorder = Recorder(env, recipe)
    recorder.keep(observation, False)
    for _ in range(LONGEST - 1):
        action = disturb(policy.get_action(observation))
        observation, _, _, _, info = env.step(action)
        recorder.keep(observation, bool(info["success"]))
        if all(recorder.flags["success"][-AFTER:]):
            env.close()
            return recorder
    env.close()
    return None


def demonstrations(name: str, recipe: Recipe, number: int) -> Iterator[tuple[int, Recorder]]:
    """Seeds and recorders of `number` successful demonstrations, from seed 0 upwards.

    SystemExit if fewer of `TRIES` x `number` seeds succeed.
    """
    warnings.filterwarnings("ignore", message="Constant")  # the policies' own, at every far target
    found = 0
    with tqdm(total=number, desc=name, file=sys.stderr) as bar:
        for seed in range(TRIES * number):
            recorder = demonstrate(recipe, seed)
            bar.set_postfix(tried=seed + 1)
            if recorder is not None:
                yield seed, recorder
                found += 1
                bar.update()
            if found == number:
                return
    raise SystemExit(f"{name}: {found} of {TRIES * number} seeds succeeded")


def collect(task: str, number: int, out: Path) -> Path:
    """Record `number` successful demonstrations of a task, and write OUT/mw_TASK.npz."""
    seeds, recorders = zip(*demonstrations(task, RECIPES[task], number), strict=True)
    found = [recorder.demonstration() for recorder in recorders]
    everything = np.concatenate([states for states, _ in found])
    moving = np.ptp(everything, axis=0) > 1e-6  # what never changes is left out
    episodes = [(states[:, moving], flags) for states, flags in found]
    return save(out / f"mw_{task}.npz", episodes, np.array(recorders[0].names)[moving], seeds)


def main() -> None:
    given = chosen(__doc__, RECIPES, number=30)
    for task in given.tasks:
        reported(collect(task, given.number, given.out))


if __name__ == "__main__":
    main()
