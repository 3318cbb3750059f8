"""Train a policy, and run it in the simulator."""

from collections.abc import Iterable
from dataclasses import asdict
from datetime import datetime, timezone
from pathlib import Path
from time import process_time, time
from typing import Any

import torch

from .policy import Policy
from .train import train

UNSEEN = 200_000  # first reset seed without a demonstration
RECORDED = 300_000  # first reset seed of recorded rollouts


def run(recorder: Any, policy: Policy, seed: int, limit: int) -> bool:
    """Run one episode up to its success, or to the limit of steps.

    The recorder (`demos.fast` or `demos.make`) has its states and flags.
    """
    recorder.reset(seed=seed)
    while True:
        for action in policy.act(recorder.states)[: policy.settings.executed]:
            recorder.step(action)
            if recorder.success():
                return True
            if len(recorder.states) > limit:
                return False


def successes(recorder: Any, policy: Policy, seeds: Iterable[int], limit: int) -> list[bool]:
    """Whether the episode of each seed succeeded."""
    return [run(recorder, policy, seed, limit) for seed in seeds]


def measure(
    task: str,
    arm: str,
    seed: int,
    path: Path,
    learn: Any,
    starts: dict[str, Any],
    scene: Any,
    limit: int,
) -> dict[str, Any]:
    """Train one policy, keep it at `path`, and run it from the starts of each kind.

    `learn` are demonstrations, key states or None, and settings; `starts` are reset seeds by kind.
    """
    data, steps, settings = learn
    start, wall = process_time(), time()
    policy = train(data, steps, settings, seed)
    trained = process_time() - start
    torch.save(policy.state_dict(), path)
    return {
        "task": task,
        "arm": arm,
        "seed": seed,
        **{kind: successes(scene, policy, own, limit) for kind, own in starts.items()},
        "demonstrations": len(data.lengths),
        "steps": len(data.states),
        "limit": limit,
        "settings": asdict(settings),
        "train_cpu_seconds": trained,
        "evaluate_cpu_seconds": process_time() - start - trained,
        "wall_seconds": time() - wall,
        "date": datetime.now(timezone.utc).date().isoformat(),
    }
