"""Policies with and without key states, as in the paper's Table 2, on two processor cores.

    make policies                                   # -> benchmarks/results/policies.*

It runs what is missing in its folder (demonstrations, key states, policies), and writes the page.
The simulator has an environment of its own (`--simulator`), which makes the demonstrations and
evaluates the policies. Data are exchanged as files in the folder.
"""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from infoatlas_rt import Estimator

from .. import report
from ..measure import pick
from . import arms, page
from .simulator import folder as folder_of, options, run

# Chosen on development starts (from 100,000) with the arm "none" on PickCube.
PLAN: dict[str, Any] = {
    "tasks": {"pick": list(arms.ARMS), "stack": list(arms.ARMS)},
    "demonstrations": 300,
    "settings": {"steps": 6000, "batch": 128, "chunk": 16, "executed": 8, "noise": 0.03},
    "seeds": 3,
    "episodes": 70,
    "limit": {"pick": 150, "stack": 200},  # about twice the planner's steps
}
QUICK = {
    **PLAN,
    "tasks": {"pick": [arms.NONE, "key states"]},
    "demonstrations": 8,
    "settings": {"steps": 50, "batch": 64, "chunk": 16, "executed": 8, "width": 32},
    "seeds": 1,
    "episodes": 2,
    "limit": {"pick": 30},
}


def make(plan: dict[str, Any], folder: Path, simulator: Path) -> None:
    """Make what the page needs and the folder lacks."""
    folder.mkdir(parents=True, exist_ok=True)
    for task, names in plan["tasks"].items():
        if not (folder / f"{task}.npz").exists():
            run(simulator, ("policies.demos", task, plan["demonstrations"], folder))
        arms.write(task, folder, names)
    (folder / "plan.json").write_text(json.dumps(plan), encoding="utf-8")
    run(simulator, ("policies.run", folder, folder / "plan.json"))


def runs(plan: dict[str, Any], folder: Path) -> list[dict[str, Any]]:
    """Results of the policies that have been run, in the order of the plan."""
    found = []
    for task, names in plan["tasks"].items():
        paths = [
            folder / "runs" / f"{task}-{arm.replace(' ', '_')}-{seed}.json"
            for arm in names
            for seed in range(plan["seeds"])
        ]
        own = [json.loads(path.read_text(encoding="utf-8")) for path in paths if path.exists()]
        # Arms are compared on the same starts: those of the seeds that all arms have.
        seeds = [{run["seed"] for run in own if run["arm"] == arm} for arm in names]
        common = set.intersection(*(some for some in seeds if some)) if any(seeds) else set()
        found += [run for run in own if run["seed"] in common]
    return found


def main(arguments: Sequence[Any] | None = None) -> None:
    parser = options("policies", __doc__, "8 demonstrations, 50 steps, 2 episodes")
    chosen = parser.parse_args(arguments)
    plan = QUICK if chosen.quick else PLAN
    folder = folder_of("policies", chosen)
    if not chosen.page:
        make(plan, folder, chosen.simulator)
    about = report.provenance(chosen.command, Estimator(model=chosen.model))
    about["units"] = "shares of episodes, seconds"
    done = runs(plan, folder)
    rows = page.summarise(done)
    others = page.differences(rows)
    missing = [
        f"{page.TITLES[task]}: {', '.join(left)}"
        for task, names in PLAN["tasks"].items()
        if (left := [arm for arm in names if not any(pick(done, task=task, arm=arm))])
    ]
    text = page.text(about, done, rows, others, missing)
    values = [*rows, *others, *({"study": "runs", **run} for run in done)]
    report.save(chosen.out, "policies", about, values, text)


if __name__ == "__main__":
    main()
