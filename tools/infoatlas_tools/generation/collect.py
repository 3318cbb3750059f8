"""Source demonstrations of the eight tasks, from planners."""

import importlib
import sys
from pathlib import Path
from typing import Any

import numpy as np
from tqdm import tqdm

from .scene import Scene
from .sources import Sources

SOLUTIONS = "mani_skill.examples.motionplanning.panda.solutions"
TRIES = 10  # seeds for each episode


def collect(task: str, number: int, out: Path, first_seed: int = 0) -> Path:
    """Record successful episodes of a planner, and write OUT/TASK.npz.

    The file has what `Sources` has, and beside it `grasped_NAME` [sum] bool for each object that is
    grasped: the simulator's flag, for comparison. SystemExit if too few seeds are solved.
    """
    scene = Scene(task, watch_grasps=True)
    module = scene.task.solution
    own = module.startswith(".")
    solve = importlib.import_module(module if own else f"{SOLUTIONS}.{module}", __package__).solve
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
    states, actions, grasps = map(np.concatenate, zip(*episodes, strict=True))
    lengths = np.array([len(own) for own, *_ in episodes], np.int64)
    flags = {f"grasped_{name}": grasps[:, i] for i, name in enumerate(scene.task.grasped)}
    out.mkdir(parents=True, exist_ok=True)
    path = out / f"{task}.npz"
    Sources(states, actions, lengths, scene.names, np.array(seeds, np.int64)).save(path, **flags)
    return path
