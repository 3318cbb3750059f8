"""Source demonstrations, and generated ones: states with poses of objects by name, and actions."""

import json
import os
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from infoatlas_rt import InputError

from .. import Pose, Position, Subtasks, Trajectories, discover_keystates
from ..array_types import Bool, Float, Int
from ..files.hdf5.demonstrations import POSE, pose_columns
from ..keystates.subtasks.poses import matrices
from . import arm
from .tasks import FLAG_AT, JOINTS, RATE, TASKS, column_names


@dataclass(frozen=True, eq=False)
class Sources:
    """N demonstrations, one after the other."""

    states: NDArray[np.float32]  # [sum, d], joint positions first (7, then both fingers)
    # [sum, 8], targets of joints 1 to 7 (rad) and of the gripper (1 open, -1 closed), given at each
    # state. The last row of an episode repeats the one before.
    actions: NDArray[np.float32]
    lengths: Int  # [N]
    # Of the columns; poses as "cube.x" to "cube.qz", positions as "goal.x" to "goal.z".
    names: tuple[str, ...]
    seeds: Int  # [N], of the resets; -1 where they are not known

    def __post_init__(self) -> None:
        total = int(np.sum(self.lengths))
        if self.states.shape != (total, len(self.names)) or self.actions.shape != (total, 8):
            raise InputError(
                f"states {self.states.shape}, actions {self.actions.shape}, {len(self.names)} "
                f"names, lengths of sum {total}: states should be [sum, names], actions [sum, 8]"
            )
        if len(self.seeds) != len(self.lengths):
            raise InputError(f"{len(self.seeds)} seeds for {len(self.lengths)} demonstrations")

    def save(self, path: Path, **flags: Bool) -> None:
        """Write a file for `read_sources`, with flags [sum] by name."""
        names = ("states", "actions", "lengths", "names", "seeds")
        arrays: dict[str, Any] = {name: np.asarray(getattr(self, name)) for name in names}
        arrays.update(flags)
        np.savez_compressed(path, **arrays)

    @cached_property
    def bounds(self) -> Int:
        """First row of each demonstration, and the number of rows [N + 1]."""
        return np.concatenate([[0], np.cumsum(self.lengths)])

    def episode(self, i: int) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
        """States [T, d] and actions [T, 8] of one demonstration."""
        own = slice(self.bounds[i], self.bounds[i + 1])
        return self.states[own], self.actions[own]

    def smoothed(self, steps: int) -> "Sources":
        """States and joint targets averaged over `steps` (odd) steps; the gripper is kept."""
        if steps < 1 or steps % 2 == 0:
            raise InputError(f"smooth={steps}: average over an odd number of steps (1: not at all)")
        if steps == 1:
            return self
        states, actions = self.states.copy(), self.actions.copy()
        first = [i for i, name in enumerate(self.names) if name.endswith(".qw")]
        for i in range(len(self.lengths)):
            own = slice(self.bounds[i], self.bounds[i + 1])
            piece = states[own].copy()
            for k in first:  # neighbours have the same sign
                rows = piece[:, k : k + 4]
                flips = np.sign((rows[1:] * rows[:-1]).sum(axis=1))
                rows[1:] *= np.cumprod(np.where(flips == 0, 1, flips))[:, None]
            states[own] = _average(piece, steps)
            actions[own, :7] = _average(actions[own, :7], steps)
        return replace(self, states=states, actions=actions)


@dataclass(frozen=True, eq=False)
class Generated(Sources):
    """Successful attempts; `seeds` are those of their resets."""

    task: str
    # "actors/..." and "articulations/..." -> [sum, 13 or more]: states of the simulator, as
    # ManiSkill stores them.
    simulator: dict[str, NDArray[np.float32]]
    # [sum], the flag of ManiSkill's observation; None where a task has none.
    grasped: Bool | None
    successes: Bool  # [attempts]
    seconds: float  # all attempts together


def read_sources(path: str | os.PathLike[str]) -> Sources:
    """Read demonstrations from a file of `collect` (.npz), or of collect.py (ManiSkill's .h5).

    InputError if the file is missing, of another kind, or has no such arrays.
    """
    path = Path(path)
    if not path.is_file():
        raise InputError(f"{path} does not exist: collect demonstrations first")
    if path.suffix == ".npz":
        with np.load(path) as file:
            missing = sorted({"states", "actions", "lengths", "names"} - set(file.files))
            if missing:
                raise InputError(f"{path} has no {', '.join(missing)}: collect it with actions")
            lengths = np.asarray(file["lengths"], np.int64)
            return Sources(
                np.asarray(file["states"], np.float32),
                np.asarray(file["actions"], np.float32),
                lengths,
                tuple(map(str, file["names"])),
                file["seeds"] if "seeds" in file.files else np.full(len(lengths), -1),
            )
    if path.suffix in (".h5", ".hdf5"):
        return _read_maniskill(path)
    raise InputError(f"{path}: pass a file .npz, or ManiSkill's trajectory.h5")


def find_subtasks(task: str, sources: Sources) -> Subtasks:
    """Sub-tasks of the demonstrations of a task, with their reference objects."""
    given = Trajectories(sources.states, sources.lengths, sources.names, rate=RATE)
    objects = {
        name: Pose(name) if f"{name}.qw" in sources.names else Position(name)
        for name in TASKS[task].objects
    }
    return discover_keystates(given).subtasks(tool=Pose("tool"), objects=objects)


def poses(states: Any, names: tuple[str, ...], body: str) -> Float:
    """Poses of a body [T, 4, 4] in states [T, d]; a position has no turn."""
    if f"{body}.x" not in names:
        known = ", ".join(dict.fromkeys(n[:-2] for n in names if n.endswith(".x")))
        raise InputError(f"the states have no pose of {body}: there are {known}")
    states = np.atleast_2d(np.asarray(states, np.float64))
    first = names.index(f"{body}.x")
    found = np.tile(np.eye(4), (len(states), 1, 1))
    found[:, :3, 3] = states[:, first : first + 3]
    if f"{body}.qw" in names:
        turn = states[:, first + 3 : first + 7]
        found[:, :3, :3] = matrices(turn / np.linalg.norm(turn, axis=1, keepdims=True))
    return found


def _average(rows: NDArray[np.float32], steps: int) -> NDArray[np.float32]:
    """Mean over a centred window of each row [T, d]; of what there is of it, at both ends."""
    sums = np.concatenate([np.zeros((1, rows.shape[1])), np.cumsum(rows, axis=0, dtype=np.float64)])
    at = np.arange(len(rows))
    half = np.minimum(steps // 2, np.minimum(at, len(rows) - 1 - at))[:, None]
    low, high = at - half[:, 0], at + half[:, 0] + 1
    return np.asarray((sums[high] - sums[low]) / (high - low)[:, None], np.float32)


def _read_maniskill(path: Path) -> Sources:
    import h5py

    try:
        about = json.loads(path.with_suffix(".json").read_text("utf-8"))
        task = str(about["env_info"]["env_id"])
        seeds = {int(e["episode_id"]): int(e["episode_seed"]) for e in about["episodes"]}
    except (OSError, ValueError, KeyError, TypeError):
        task, seeds = "", {}
    states, actions, lengths, kept = [], [], [], []
    names: tuple[str, ...] = ()
    try:
        with h5py.File(path, "r") as file:
            for key in sorted(file, key=lambda key: int(key.removeprefix("traj_"))):
                episode = file[key]
                if "success" in episode and not episode["success"][-1]:
                    continue
                own, names = _columns(path, episode, task)
                given = np.asarray(episode["actions"], np.float32)
                states.append(own)
                actions.append(np.concatenate([given, given[-1:]]))
                lengths.append(len(own))
                kept.append(seeds.get(int(key.removeprefix("traj_")), -1))
    except (OSError, ValueError, KeyError) as error:
        raise InputError(f"{path} cannot be read ({error}): record it with collect.py") from error
    if not states:
        raise InputError(f"{path} has no successful episode: record more")
    return Sources(
        np.concatenate(states), np.concatenate(actions), np.array(lengths), names, np.array(kept)
    )


def _columns(path: Path, episode: Any, task: str) -> tuple[NDArray[np.float32], tuple[str, ...]]:
    """States of an episode: its flat observations less the flag, or from the simulator's states."""
    if task in TASKS and hasattr(episode.get("obs"), "shape"):
        seen = np.asarray(episode["obs"], np.float32)
        if TASKS[task].flag:
            seen = np.delete(seen, FLAG_AT, axis=1)
        names = column_names(TASKS[task])
        if seen.shape[1] == len(names):
            return seen, names
    if "env_states" not in episode:
        raise InputError(f"{path}: {episode.name} has no states of objects: record env_states")
    simulated = episode["env_states"]
    robot = np.asarray(next(iter(simulated["articulations"].values())), np.float64)
    joints = robot[:, 13:]
    if joints.shape[1] != 2 * len(JOINTS):
        raise InputError(f"{path}: the robot has {joints.shape[1] // 2} joints, and a Panda has 9")
    tool = arm.forward(joints[:, :7])
    names = tuple(f"{j}.{kind}" for kind in ("position", "velocity") for j in JOINTS)
    parts = [joints, pose_columns(tool)]
    names += tuple(f"tool.{axis}" for axis in POSE)
    for name, values in simulated["actors"].items():
        parts.append(np.asarray(values, np.float64)[:, :7])
        names += tuple(f"{name}.{axis}" for axis in POSE)
    return np.concatenate(parts, axis=1).astype(np.float32), names
