"""Source demonstrations of the eight tasks, from planners."""

from __future__ import annotations

import importlib
import sys
from pathlib import Path
from typing import Any

import numpy as np
from tqdm import tqdm

from .scene import Scene

SOLUTIONS = "mani_skill.examples.motionplanning.panda.solutions"
TRIES = 10  # seeds for each episode


def collect(task: str, number: int, out: Path, first_seed: int = 0) -> Path:
    """Record successful episodes of a planner, and write OUT/TASK.npz.

    The file has what `Sources` has, and beside it `grasped_NAME` [sum] bool for each object that
    is grasped: the simulator's flag, for comparison.

    Parameters
    ----------
    task : str
        As "PickCube-v1".
    number : int
        Successful episodes.
    out : Path
        A folder.
    first_seed : int
        Of the first reset.

    Raises
    ------
    SystemExit
        Too few seeds are solved.
    """
    scene = Scene(task, watch_grasps=True)
    module = scene.task.solution
    if module.startswith("."):
        solve = importlib.import_module(module, __package__).solve
    else:
        solve = importlib.import_module(f"{SOLUTIONS}.{module}").solve
    episodes: list[tuple[Any, Any, Any]] = []
    seeds: list[int] = []
    with tqdm(total=number, desc=task, file=sys.stderr) as bar:
        for seed in range(first_seed, first_seed + TRIES * number):
            if len(episodes) == number:
                break
            try:
                solved = solve(scene, seed=seed)
            except (TypeError, IndexError):  # of a planner that reads a path that was not found
                solved = -1
            if solved != -1 and scene.success():
                actions = np.array([*scene.actions, scene.actions[-1]])
                episodes.append((np.array(scene.states), actions, np.array(scene.grasps)))
                seeds.append(seed)
                bar.update()
    scene.close()
    if len(episodes) < number:
        raise SystemExit(f"{task}: {len(episodes)} of {TRIES * number} seeds were solved")
    out.mkdir(parents=True, exist_ok=True)
    path = out / f"{task}.npz"
    grasps = np.concatenate([g for *_, g in episodes])
    arrays: dict[str, Any] = dict(
        states=np.concatenate([states for states, *_ in episodes]),
        actions=np.concatenate([actions for _, actions, _ in episodes]),
        lengths=np.array([len(states) for states, *_ in episodes], np.int64),
        names=np.array(scene.names),
        seeds=np.array(seeds, np.int64),
    )
    for i, name in enumerate(scene.task.grasped):
        arrays[f"grasped_{name}"] = grasps[:, i]
    np.savez_compressed(path, **arrays)
    return path
