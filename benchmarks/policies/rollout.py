"""Train a policy, and run it in the simulator."""

import json
from collections.abc import Iterable
from dataclasses import asdict
from datetime import datetime, timezone
from pathlib import Path
from time import process_time, time
from typing import Any

import numpy as np
import torch

from infoatlas_tools.generation.sources import Sources

from .policy import Policy, Settings
from .train import train

UNSEEN = 200_000  # first reset seed without a demonstration


def run(scene: Any, policy: Policy, seed: int, limit: int) -> bool:
    """Run one episode of `demos.scene` up to its success, or to the limit of steps."""
    scene.reset(seed=seed)
    while True:
        for action in policy.act(scene.states)[: policy.settings.executed]:
            scene.step(action)
            if scene.success():
                return True
            if len(scene.states) > limit:
                return False


def measure(
    path: Path,
    label: tuple[str, str, int],
    data: Sources,
    steps: Any,
    settings: Settings,
    starts: dict[str, Iterable[int]],
    scene: Any,
    limit: int,
) -> None:
    """Train one policy, run it from the starts of each kind, and write both beside each other.

    `path` is that of the results (.json), `label` has the task, the arm and the training seed,
    `steps` are key states or None, and `starts` are reset seeds by kind.
    """
    start, wall = process_time(), time()
    policy = train(data, steps, settings, label[2])
    trained = process_time() - start
    torch.save(policy.state_dict(), path.with_suffix(".pt"))
    outcomes = {
        kind: [run(scene, policy, seed, limit) for seed in own] for kind, own in starts.items()
    }
    row = {
        **dict(zip(("task", "arm", "seed"), label, strict=True)),
        **outcomes,
        "demonstrations": len(data.lengths),
        "steps": len(data.states),
        "limit": limit,
        "settings": asdict(settings),
        "train_cpu_seconds": trained,
        "evaluate_cpu_seconds": process_time() - start - trained,
        "wall_seconds": time() - wall,
        "date": datetime.now(timezone.utc).date().isoformat(),
    }
    path.write_text(json.dumps(row), encoding="utf-8")
    rates = ", ".join(f"{kind} {np.mean(own):.2f}" for kind, own in outcomes.items())
    task, arm, seed = label
    print(f"{task}, {arm}, seed {seed}: {rates}, {row['wall_seconds']:.0f} s", flush=True)
