"""Train and evaluate missing policies: a file for each task, arm and seed.

    .venv-maniskill/bin/python -m benchmarks.policies.run build/policies plan.json

`python -m benchmarks.policies` starts it in the simulator's environment. A run can be stopped and
continued at any time.
"""

import json
import sys
from pathlib import Path

import numpy as np
import torch

from . import demos
from .policy import Policy, Settings
from .rollout import RECORDED, UNSEEN, measure
from .train import Demos


def name(task: str, arm: str, seed: int) -> str:
    """Name of a run's files."""
    return f"{task}-{arm.replace(' ', '_')}-{seed}"


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
            recorder = recorder or demos.fast(task)
            data = Demos.load(folder / f"{task}.npz")
            with np.load(folder / f"{task}.arms.npz") as file:
                steps = file[arm]
            learn = data, steps if steps.size else None, Settings(**plan["settings"])
            # Every arm has the same starts; each training seed has its own.
            episodes = plan["episodes"]
            seen = np.resize(np.roll(data.seeds, -seed * episodes), episodes).tolist()
            first = UNSEEN + seed * episodes
            own = {"seen": seen, "unseen": range(first, first + episodes)}
            limit, model = plan["limit"][task], path.with_suffix(".pt")
            row = measure(task, arm, seed, model, learn, own, recorder, limit)
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
            starts = range(RECORDED, RECORDED + plan["rollouts"])
            path = folder / "pick.rollouts.npz"
            demos.record_rollouts(task, policy.eval(), starts, plan["limit"][task], path)


if __name__ == "__main__":
    main()
