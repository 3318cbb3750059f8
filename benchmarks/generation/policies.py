"""Train and evaluate policies on ten demonstrations and on data generated from them.

    .venv-maniskill/bin/python -m benchmarks.generation.policies build/generation plan.json

Behaviour cloning as in `benchmarks.policies`, with its network, settings and starts, without a loss
for key states. Arms differ only in the demonstrations. There is a file for each task, arm and seed.
A run can be stopped and continued at any time; it skips policies without data.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from dataclasses import asdict
from datetime import datetime, timezone
from pathlib import Path
from time import process_time, time
from typing import Any

import numpy as np
import torch

from ..policies import rollout
from ..policies.policy import Policy, Settings
from ..policies.train import Demos, train
from . import sources
from .arms import slug
from .plan import REAL, TEN

UNSEEN = 200_000  # as in benchmarks.policies: first reset seed without a demonstration
RECORDED = 300_000  # first reset seed of recorded rollouts


def name(task: str, arm: str, seed: int) -> str:
    """Name of a policy's files."""
    return f"{task}-{slug(arm)}-{seed}"


def data(folder: Path, task: str, arm: str, ten: int) -> Demos | None:
    """Training data of an arm's policy; None if they do not exist yet."""
    path = folder / "real" / f"{task}.npz"
    if not path.exists():
        return None
    real = sources.read(path)
    if arm == REAL:
        return _joined(real)
    own = real.take(range(ten))
    if arm == TEN:
        return _joined(own)
    made = folder / "data" / f"{task}-{slug(arm)}.npz"
    return _joined(own, sources.read(made)) if made.exists() else None


def _joined(*parts: sources.Demos) -> Demos:
    for part in parts[1:]:
        if part.names != parts[0].names:
            raise ValueError(f"columns are {part.names}, and those of policies {parts[0].names}")
    return Demos(
        np.concatenate([s for part in parts for s in part.states]).astype(np.float32),
        np.concatenate([a for part in parts for a in part.actions]).astype(np.float32),
        np.concatenate([part.lengths for part in parts]),
        np.concatenate([part.seeds for part in parts]),
    )


def measure(
    folder: Path, task: str, arm: str, seed: int, plan: dict[str, Any], judge: Any
) -> dict[str, Any]:
    """Train one policy, keep it, and run it from unseen starts.

    Every arm has the same starts; each training seed has its own.
    """
    learned = data(folder, task, arm, plan["sources"])
    if learned is None:
        raise FileNotFoundError(f"no data of {arm} on {task}")
    settings = Settings(**plan["policy"])
    start, wall = process_time(), time()
    policy = train(learned, None, settings, seed)
    trained = process_time() - start
    torch.save(policy.state_dict(), folder / "policies" / f"{name(task, arm, seed)}.pt")
    episodes = plan["episodes"]
    unseen = [UNSEEN + seed * episodes + i for i in range(episodes)]
    return {
        "task": task,
        "arm": arm,
        "seed": seed,
        "unseen": rollout.successes(judge, policy, unseen, plan["limit"][task]),
        "demonstrations": len(learned.lengths),
        "steps": len(learned.states),
        "limit": plan["limit"][task],
        "settings": asdict(settings),
        "train_cpu_seconds": trained,
        "evaluate_cpu_seconds": process_time() - start - trained,
        "wall_seconds": time() - wall,
        "date": datetime.now(timezone.utc).date().isoformat(),
    }


def record(folder: Path, task: str, arm: str, plan: dict[str, Any]) -> None:
    """Record rollouts of the policy of seed 0 from unseen starts, with flags."""
    from ..policies import demos  # needs the simulator

    learned = data(folder, task, arm, plan["sources"])
    assert learned is not None
    policy = Policy(learned.states.shape[1], Settings(**plan["policy"]))
    policy.load_state_dict(torch.load(folder / "policies" / f"{name(task, arm, 0)}.pt"))
    policy.eval()
    recorder, episodes = demos.make(task), []
    seeds = range(RECORDED, RECORDED + plan["rollouts"])
    for seed in seeds:
        rollout.run(recorder, policy, seed, plan["limit"][task])
        episodes.append(recorder.episode())
    path = folder / "rollouts" / f"{task}-{slug(arm)}.npz"
    path.parent.mkdir(exist_ok=True)
    unfinished = path.with_suffix(".part.npz")
    np.savez_compressed(
        unfinished,
        states=np.concatenate([states for states, _ in episodes]),
        lengths=np.array([len(states) for states, _ in episodes], np.int64),
        names=np.array(recorder.names),
        seeds=np.array(seeds),
        **{  # type: ignore[arg-type]
            flag: np.concatenate([flags[flag] for _, flags in episodes])
            for flag in ("is_grasped", "success")
        },
    )
    unfinished.replace(path)
    recorder.close()


def keep_rollouts(folder: Path, plan: dict[str, Any]) -> None:
    """Record the missing rollouts of trained policies."""
    for task, arm in plan["recorded"] if plan["rollouts"] else ():
        trained = (folder / "policies" / f"{name(task, arm, 0)}.json").exists()
        if trained and not (folder / "rollouts" / f"{task}-{slug(arm)}.npz").exists():
            record(folder, task, arm, plan)


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
    judges: dict[str, Any] = {}
    every = list(jobs(plan))
    while True:
        # Start over each time, because data of an earlier arm may exist by now.
        left = [
            job
            for job in every
            if not (folder / "policies" / f"{name(*job)}.json").exists()
            and data(folder, job[0], job[1], plan["sources"]) is not None
        ]
        if not left:
            break
        task, arm, seed = left[0]
        judges[task] = judges.get(task) or demos.Judged(task)
        row = measure(folder, task, arm, seed, plan, judges[task])
        path = folder / "policies" / f"{name(task, arm, seed)}.json"
        path.write_text(json.dumps(row), encoding="utf-8")
        print(
            f"{task}, {arm}, seed {seed}: {np.mean(row['unseen']):.2f} of {len(row['unseen'])}, "
            f"{row['demonstrations']} demonstrations, {row['wall_seconds']:.0f} s",
            flush=True,
        )
        keep_rollouts(folder, plan)
    keep_rollouts(folder, plan)
    missing = [job for job in every if not (folder / "policies" / f"{name(*job)}.json").exists()]
    arms = ", ".join(dict.fromkeys(f"{task} {arm}" for task, arm, _ in missing)) or "none"
    print(f"{len(every) - len(missing)} of {len(every)} policies; no data yet for: {arms}")


if __name__ == "__main__":
    main()
