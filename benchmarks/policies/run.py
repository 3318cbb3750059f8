"""Train and evaluate missing policies: a file for each task, arm and seed.

    .venv-maniskill/bin/python -m benchmarks.policies.run build/policies plan.json

`python -m benchmarks.policies` starts it in the simulator's environment. A run can be stopped and
continued at any time.
"""

from __future__ import annotations

import json
import sys
from dataclasses import asdict
from datetime import datetime, timezone
from pathlib import Path
from time import process_time, time
from typing import Any

import numpy as np
import torch

from . import demos, rollout
from .policy import Policy, Settings
from .train import Demos, train

UNSEEN = 200_000  # first reset seed without a demonstration
RECORDED = 300_000


def name(task: str, arm: str, seed: int) -> str:
    """Name of a run's files."""
    return f"{task}-{arm.replace(' ', '_')}-{seed}"


def measure(
    folder: Path, task: str, arm: str, seed: int, plan: dict[str, Any], recorder: Any
) -> dict[str, Any]:
    """Train one policy, keep it, and run it from seen and unseen starts.

    Every arm has the same starts; each training seed has its own.
    """
    data = Demos.load(folder / f"{task}.npz")
    settings = Settings(**plan["settings"])
    with np.load(folder / f"{task}.arms.npz") as file:
        steps = file[arm]
    start, wall = process_time(), time()
    policy = train(data, steps if steps.size else None, settings, seed)
    trained = process_time() - start
    torch.save(policy.state_dict(), folder / "runs" / f"{name(task, arm, seed)}.pt")
    episodes = plan["episodes"]
    seen = np.resize(np.roll(data.seeds, -seed * episodes), episodes).tolist()
    unseen = [UNSEEN + seed * episodes + i for i in range(episodes)]
    outcomes = {
        kind: rollout.successes(recorder, policy, starts, plan["limit"][task])
        for kind, starts in (("seen", seen), ("unseen", unseen))
    }
    return {
        "task": task,
        "arm": arm,
        "seed": seed,
        **outcomes,
        "demonstrations": len(data.lengths),
        "limit": plan["limit"][task],
        "settings": asdict(settings),
        "train_cpu_seconds": trained,
        "evaluate_cpu_seconds": process_time() - start - trained,
        "wall_seconds": time() - wall,
        "date": datetime.now(timezone.utc).date().isoformat(),
    }


def record(folder: Path, task: str, policy: Policy, number: int, limit: int) -> None:
    """Write rollouts with flags to FOLDER/TASK.rollouts.npz."""
    recorder = demos.make(task)
    episodes = []
    for seed in range(RECORDED, RECORDED + number):
        rollout.run(recorder, policy, seed, limit)
        episodes.append(recorder.episode())
    np.savez_compressed(
        folder / f"{task}.rollouts.npz",
        states=np.concatenate([states for states, _ in episodes]),
        lengths=np.array([len(states) for states, _ in episodes], np.int64),
        names=np.array(recorder.names),
        seeds=np.arange(RECORDED, RECORDED + number),
        **{
            flag: np.concatenate([flags[flag] for _, flags in episodes])
            for flag in ("is_grasped", "success")
        },
    )
    recorder.close()


def main() -> None:
    folder, plan = Path(sys.argv[1]), json.loads(Path(sys.argv[2]).read_text(encoding="utf-8"))
    torch.set_num_threads(1)
    (folder / "runs").mkdir(exist_ok=True)
    for task, arms in plan["tasks"].items():
        jobs = [(arm, seed) for seed in range(plan["seeds"]) for arm in arms]
        recorder = None
        for number, (arm, seed) in enumerate(jobs, start=1):
            path = folder / "runs" / f"{name(task, arm, seed)}.json"
            if path.exists():
                continue
            recorder = recorder or demos.Judged(task)
            row = measure(folder, task, arm, seed, plan, recorder)
            path.write_text(json.dumps(row), encoding="utf-8")
            rates = ", ".join(f"{kind} {np.mean(row[kind]):.2f}" for kind in ("seen", "unseen"))
            print(
                f"{task}, {arm}, seed {seed}: {rates}, {row['wall_seconds']:.0f} s "
                f"({number} of {len(jobs)})",
                flush=True,
            )
        if plan["rollouts"] and task == "pick" and not (folder / "pick.rollouts.npz").exists():
            data = Demos.load(folder / f"{task}.npz")
            policy = Policy(data.states.shape[1], Settings(**plan["settings"]))
            policy.load_state_dict(torch.load(folder / "runs" / f"{name(task, 'none', 0)}.pt"))
            record(folder, task, policy.eval(), plan["rollouts"], plan["limit"][task])


if __name__ == "__main__":
    main()
