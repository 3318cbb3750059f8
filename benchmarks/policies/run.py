"""Train and evaluate missing policies: a file for each task, arm and seed.

    .venv-maniskill/bin/python -m benchmarks.policies.run build/policies plan.json

`python -m benchmarks.policies` starts it in the simulator's environment. A run can be stopped and
continued at any time.
"""

import json
import sys
from itertools import product
from pathlib import Path

import numpy as np
import torch

from infoatlas_tools.generation.sources import read_sources

from . import demos
from .policy import Settings
from .rollout import UNSEEN, measure


def main() -> None:
    folder, plan = Path(sys.argv[1]), json.loads(Path(sys.argv[2]).read_text(encoding="utf-8"))
    torch.set_num_threads(1)
    (folder / "runs").mkdir(exist_ok=True)
    for task, arms in plan["tasks"].items():
        recorder = None
        for seed, arm in product(range(plan["seeds"]), arms):
            path = folder / "runs" / f"{task}-{arm.replace(' ', '_')}-{seed}.json"
            if path.exists():
                continue
            recorder = recorder or demos.scene(task)
            data = read_sources(folder / f"{task}.npz")
            with np.load(folder / f"{task}.arms.npz") as file:
                steps = file[arm] if file[arm].size else None
            # Every arm has the same starts; each training seed has its own.
            episodes = plan["episodes"]
            seen = np.resize(np.roll(data.seeds, -seed * episodes), episodes).tolist()
            first = UNSEEN + seed * episodes
            starts = {"seen": seen, "unseen": range(first, first + episodes)}
            settings, limit = Settings(**plan["settings"]), plan["limit"][task]
            measure(path, (task, arm, seed), data, steps, settings, starts, recorder, limit)


if __name__ == "__main__":
    main()
