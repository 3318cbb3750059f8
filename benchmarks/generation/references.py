"""Count right references in sets of ten and of five held-out demonstrations.

    .venv-maniskill/bin/python -m benchmarks.generation.references build/generation plan.json

The right references were written down beforehand (`tasks.py`). Sets are drawn at random from
held-out demonstrations, without replacement within a set; sets share demonstrations.
"""

import json
import sys
from pathlib import Path
from time import time
from typing import Any

import numpy as np

from infoatlas_tools import Pose

from . import sources
from .arms import ARMS, FIVE, FOUND, GRIPPER, SUBTASKS, TOOL
from .plan import CHANGED, PLAIN
from .tasks import TASKS

FIRST = 5000  # reset seed of these demonstrations
SIZES = (10, 5)
COMPARED = (SUBTASKS, FOUND, GRIPPER, FIVE)


def examine(task: str, everything: sources.Demos, plan: dict[str, Any]) -> list[dict[str, Any]]:
    """A row for each arm, variant and size of set."""
    about, rows = TASKS[task], []
    measured = [TOOL, *(name for name, where in about.objects.items() if isinstance(where, Pose))]
    variants = {PLAIN: everything, CHANGED: sources.changed(everything, measured, 0)}
    for variant in plan["sets"]:
        for size in SIZES:
            rng = np.random.default_rng(size)
            sets = [rng.permutation(len(everything))[:size] for _ in range(plan["drawn"])]
            for arm in COMPARED if variant == PLAIN else (SUBTASKS,):
                start, found, certain = time(), [], []
                for number, which in enumerate(sets):
                    demos = variants[variant].take(np.sort(which))
                    parts = ARMS[arm](about, demos, number)
                    found.append(tuple(part.reference for part in parts.parts))
                    certain.append(not parts.warnings)
                right = [about.is_right(one) for one in found]
                wrong = [
                    " > ".join(one) for one, good in zip(found, right, strict=True) if not good
                ]
                rows.append(
                    {
                        "study": "references",
                        "task": task,
                        "arm": arm,
                        "variant": variant,
                        "size": size,
                        "sets": len(sets),
                        "right": sum(right),
                        "certain": sum(certain),
                        "certain_and_wrong": sum(
                            sure and not good for sure, good in zip(certain, right, strict=True)
                        ),
                        "wrong": {one: wrong.count(one) for one in dict.fromkeys(wrong)},
                        "seconds": (time() - start) / len(sets),
                    }
                )
    return rows


def main() -> None:
    from infoatlas_tools.generation.collect import collect  # needs the simulator

    folder, plan = Path(sys.argv[1]), json.loads(Path(sys.argv[2]).read_text(encoding="utf-8"))
    out = folder / "references"
    out.mkdir(parents=True, exist_ok=True)
    for task in plan["tasks"]:
        environment = TASKS[task].environment
        path, fresh = out / f"{task}.json", out / f"{environment}.npz"
        if path.exists():
            continue
        if not fresh.exists():
            collect(environment, plan["fresh"], out, first_seed=FIRST)
        rows = examine(task, sources.read(fresh), plan)
        path.write_text(json.dumps(rows), encoding="utf-8")
        own = [row for row in rows if row["arm"] == SUBTASKS]
        print(
            task, *(f"{r['variant']} {r['size']}: {r['right']}/{r['sets']}" for r in own), sep="; "
        )


if __name__ == "__main__":
    main()
