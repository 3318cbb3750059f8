"""Train and evaluate policies on ten demonstrations and on data generated from them.

    .venv-maniskill/bin/python -m benchmarks.generation.policies build/generation plan.json

Behaviour cloning as in `benchmarks.policies`, with its network, settings and starts, without a loss
for key states. Arms differ only in the demonstrations. There is a file for each task, arm and seed.
A run can be stopped and continued at any time; it skips policies without data.
"""

import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import torch

from infoatlas_tools.generation.sources import Sources, read_sources

from ..policies.policy import Settings
from ..policies.rollout import UNSEEN, measure
from .arms import slug
from .plan import REAL, TEN


def name(task: str, arm: str, seed: int) -> str:
    """Name of a policy's files."""
    return f"{task}-{slug(arm)}-{seed}"


def data(folder: Path, task: str, arm: str, ten: int) -> Sources | None:
    """Training data of an arm's policy; None if they do not exist yet."""
    path = folder / "real" / f"{task}.npz"
    if not path.exists():
        return None
    real = read_sources(path)
    if arm == REAL:
        return real
    rows = int(real.lengths[:ten].sum())
    own = [real.states[:rows], real.actions[:rows], real.lengths[:ten], real.seeds[:ten]]
    made = folder / "data" / f"{task}-{slug(arm)}.npz"
    if arm != TEN:
        if not made.exists():
            return None
        more = read_sources(made)
        if more.names != real.names:
            raise ValueError(f"columns are {more.names}, and those of policies {real.names}")
        others = (more.states, more.actions, more.lengths, more.seeds)
        own = [np.concatenate(both) for both in zip(own, others, strict=True)]
    states, actions, lengths, seeds = own
    return Sources(states, actions, lengths, real.names, seeds)


def jobs(plan: dict[str, Any]) -> Iterator[tuple[str, str, int]]:
    """Task, arm and seed of all policies; first seeds come first."""
    for seed in range(plan["seeds"]):
        for task in plan["policy_tasks"]:
            for arm in plan["policy_arms"]:
                yield task, arm, seed


def main() -> None:
    from ..policies import demos  # needs the simulator

    folder, plan = Path(sys.argv[1]), json.loads(Path(sys.argv[2]).read_text(encoding="utf-8"))
    torch.set_num_threads(1)
    (folder / "policies").mkdir(parents=True, exist_ok=True)
    scenes: dict[str, Any] = {}
    settings, ten = Settings(**plan["policy"]), plan["sources"]
    for task, arm, seed in jobs(plan):
        path = folder / "policies" / f"{name(task, arm, seed)}.json"
        training = data(folder, task, arm, ten)
        if path.exists() or training is None:
            continue
        scene = scenes[task] = scenes.get(task) or demos.scene(task)
        first = UNSEEN + seed * plan["episodes"]
        starts = {"unseen": range(first, first + plan["episodes"])}
        limit = plan["limit"][task]
        measure(path, (task, arm, seed), training, None, settings, starts, scene, limit)


if __name__ == "__main__":
    main()
