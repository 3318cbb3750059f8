"""`done` and `failed` in executions of cloned policies, beside a time-out and rest.

    .venv-maniskill/bin/python -m benchmarks.policies.outcomes

It writes benchmarks/results/policy_outcomes.*. A policy is trained on 100 demonstrations of a
planner. It runs from other starts until 2 s after its success, or to the limit of steps. The task
is fitted to 20 of the demonstrations, three times.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch

from infoatlas_tools.generation.sources import Sources, read_sources

from .. import report
from ..outcome import SOON, fit, follow
from . import demos
from .policy import Settings
from .rollout import UNSEEN
from .train import train

DEMOS, ROLLOUTS, SPLITS, FITTED = 100, 250, 3, 20
LIMITS = {"pick": 150, "stack": 200}  # steps
RATE, AFTER = 20.0, 40  # Hz; steps after a success
RESTING = 2e-3  # rad a step
SETTINGS = Settings(steps=4000, batch=128, chunk=16, executed=8, noise=0.03, weight=0.0)
COLUMNS = {
    "known": "`done` known", "in_time": "success: done within 0.5 s", "early": "success: early",
    "never": "success: never done", "false_failed": "success: failed before",
    "false_done": "failure: done", "failed": "failure: failed",
    "timed": "time-out, success: within 0.5 s", "rested": "1 s at rest, success: within 0.5 s",
    "false_rest": "1 s at rest, failure: done",
}  # fmt: skip


def run(data: Sources, task: str, count: int) -> tuple[list[Any], Any]:
    """States of executions, and the steps of their successes, -1 without one."""
    torch.set_num_threads(1)
    policy, scene, states, successes = train(data, None, SETTINGS, 0), demos.scene(task), [], []
    for seed in range(UNSEEN, UNSEEN + count):
        scene.reset(seed=seed)
        success = -1
        while len(scene.states) <= (LIMITS[task] if success < 0 else success + AFTER):
            for action in policy.act(scene.states)[: SETTINGS.executed]:
                scene.step(action)
                if success < 0 and scene.success():
                    success = len(scene.states) - 1
        states.append(np.array(scene.states, np.float64))
        successes.append(success)
    return states, np.array(successes)


def judge(data: Sources, runs: list[Any], success: Any, joints: bool, seed: int) -> dict[str, Any]:
    """Shares of the executions, of one fit; `joints`: of joints and gripper alone."""
    kept = [i for i, n in enumerate(data.names) if not joints or n.startswith(("joint", "finger"))]
    names, soon = [data.names[i] for i in kept], round(SOON * RATE)
    parts = np.split(data.states[:, kept].astype(float), np.cumsum(data.lengths)[:-1])
    seen = np.random.default_rng(seed).permutation(len(parts))[:FITTED]
    task = fit([parts[i] for i in seen], names, RATE)
    done, failed = follow(task, [own[:, kept] for own in runs], RATE)
    good, still = success >= 0, round(RATE)
    moves = [np.abs(np.diff(own[:, :7], axis=0)).max(axis=1) > RESTING for own in runs]
    rest = np.array([np.convolve(own, np.ones(still), "valid").argmin() for own in moves])
    rested = np.array([not own[r : r + still].any() for own, r in zip(moves, rest, strict=True)])
    late, limit = done[good] - success[good], np.quantile(data.lengths[seen], 0.95)
    after = rest[good] + still - success[good]
    shares = {"known": task.outcome.wait > 0, "never": done[good] < 0}
    shares |= {"in_time": (done[good] >= 0) & (np.abs(late) <= soon)}
    shares |= {"early": (done[good] >= 0) & (late < -soon), "false_failed": failed[good] >= 0}
    shares |= {"false_done": done[~good] >= 0, "failed": failed[~good] >= 0}
    shares |= {"timed": np.abs(limit - success[good]) <= soon, "false_rest": rested[~good]}
    shares |= {"rested": rested[good] & (np.abs(after) <= soon)}
    return {name: float(np.mean(own)) for name, own in shares.items()}


def main(arguments: Sequence[Any] | None = None) -> None:
    parser = report.Options(__spec__.name, __doc__, "3 executions")
    parser.add_argument("--folder", type=Path, default=Path("build/policy_outcomes"))
    chosen = parser.parse_args(arguments)
    about, rows = report.provenance(chosen.command), []
    for task in LIMITS:
        path = chosen.folder / f"{task}.npz"
        data = read_sources(path if path.exists() else demos.record(task, DEMOS, chosen.folder))
        runs, success = run(data, task, 3 if chosen.quick else ROLLOUTS)
        for joints in (False, True):
            own = [judge(data, runs, success, joints, seed) for seed in range(SPLITS)]
            means = {name: float(np.mean([row[name] for row in own])) for name in COLUMNS}
            set_ = f"{demos.ENVIRONMENTS[task]}{', joints alone' * joints}"
            rows.append({"set": set_, "successes": int((success >= 0).sum()), **means})
    lines = [
        [
            row["set"],
            f"{row['successes']} of {len(runs)}",
            *(report.number(row[n], 2) for n in COLUMNS),
        ]
        for row in rows
    ]
    table = report.table(["set", "successes", *COLUMNS.values()], lines)
    text = f"Means of {SPLITS} fits to {FITTED} demonstrations. A time-out calls all failures done."
    page = ["# Done and failed, of policies", text, report.byline(about, nats=False), table]
    report.save(chosen.out, "policy_outcomes", about, rows, "\n\n".join(page))


if __name__ == "__main__":
    main()
