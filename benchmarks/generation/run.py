"""Generate missing data: a file for each task, arm, set of sources and variant.

    .venv-maniskill/bin/python -m benchmarks.generation.run build/generation plan.json 0 1

`python -m benchmarks.generation` starts it in the simulator's environment, once for each process,
with the number of the process and of all processes. A run can be stopped and continued at any time.
"""

import json
import shutil
import sys
from collections.abc import Iterator
from dataclasses import dataclass, replace
from datetime import datetime, timezone
from pathlib import Path
from time import time
from typing import Any

import numpy as np

from infoatlas_tools import Pose, Subtasks

from . import sources
from .arms import ARMS, MORE, TOOL, slug
from .plan import CHANGED, PLAIN
from .tasks import TASKS

APART = 1000  # reset seeds between the beginnings of two sets of sources


@dataclass(frozen=True)
class Job:
    """Attempts with one set of sources, cut in one way."""

    task: str
    arm: str
    set: int
    variant: str

    @property
    def name(self) -> str:
        """Name of the job's file."""
        return f"{self.task}-{slug(self.arm)}-{self.set}-{self.variant}"


def jobs(plan: dict[str, Any]) -> Iterator[Job]:
    """All jobs; data of policies come first."""
    kept = [task for task in plan["tasks"] if task in plan["policy_tasks"]]
    others = [task for task in plan["tasks"] if task not in kept]
    first = (0, PLAIN)
    sets = [(n, v) for v, count in plan["sets"].items() for n in range(count)]
    for number, variant in sets:
        for task in [*kept, *others]:
            for arm in plan["arms"] if (number, variant) == first else plan["again"]:
                if arm != MORE:
                    yield Job(task, arm, number, variant)
            if (number, variant) == first and task in kept and MORE in plan["arms"]:
                yield Job(task, MORE, number, variant)


def attempts_of(plan: dict[str, Any], job: Job) -> int:
    """Number of attempts; policies use the first set."""
    if job.arm == MORE:
        return int(plan["more"])
    learned = job.task in plan["policy_tasks"] and (job.set, job.variant) == (0, PLAIN)
    return int(plan["attempts" if learned else "fewer"])


def source_file(folder: Path, plan: dict[str, Any], job: Job) -> Path:
    """The file of a set of sources, made if it is missing."""
    from infoatlas_tools.generation.collect import collect  # needs the simulator

    path = folder / "sets" / f"{job.set}-{PLAIN}" / f"{job.task}.npz"
    if not path.exists():
        apart = path.parent / f"unfinished-{job.task}-{slug(job.arm)}"
        environment = TASKS[job.task].environment
        collect(environment, plan["sources"], apart, first_seed=APART * job.set).replace(path)
        shutil.rmtree(apart)
    if job.variant == PLAIN:
        return path
    other = folder / "sets" / f"{job.set}-{CHANGED}" / f"{job.task}.npz"
    if not other.exists():
        objects = TASKS[job.task].objects
        measured = [TOOL, *(name for name, where in objects.items() if isinstance(where, Pose))]
        sources.write(sources.changed(sources.read(path), measured, job.set), other)
    return other


def attempt(folder: Path, plan: dict[str, Any], job: Job) -> dict[str, Any]:
    """Cut the sources, and count the successes of what is generated from them."""
    from infoatlas_tools.generation.engine import generate  # needs the simulator
    from infoatlas_tools.generation.sources import read_sources

    path = source_file(folder, plan, job)
    task, demos = TASKS[job.task], sources.read(path)
    row: dict[str, Any] = {
        "task": job.task,
        "arm": job.arm,
        "set": job.set,
        "variant": job.variant,
        "smooth": plan["smooth"][job.variant],
        "date": datetime.now(timezone.utc).date().isoformat(),
    }
    start = time()
    try:
        parts = ARMS[job.arm](task, demos, job.set)
    except ValueError as error:  # the arm cannot cut these sources
        return {**row, "error": str(error), "successes": []}
    row["cut_seconds"] = time() - start
    row["references"] = [part.reference for part in parts.parts]
    row["right"] = task.is_right(tuple(row["references"]))
    start = time()
    made = generate(
        task.environment,
        read_sources(path),
        started_empty(parts),
        attempts_of(plan, job),
        seed=job.set,
        smooth=plan["smooth"][job.variant],
    )
    row["seconds"] = time() - start
    row["successes"] = made.successes.tolist()
    if job.task in plan["policy_tasks"] and job.set == 0 and job.variant == PLAIN:
        kept = folder / "data" / f"{job.task}-{slug(job.arm)}.npz"
        kept.parent.mkdir(parents=True, exist_ok=True)
        made.save(kept)
    return row


def started_empty(parts: Subtasks) -> Subtasks:
    """The same parts; those that reach and move their reference start with an empty gripper."""
    return replace(
        parts,
        parts=tuple(
            replace(part, held="") if part.held == part.reference else part for part in parts.parts
        ),
    )


def main() -> None:
    folder, plan = Path(sys.argv[1]), json.loads(Path(sys.argv[2]).read_text(encoding="utf-8"))
    own, processes = int(sys.argv[3]), int(sys.argv[4])
    (folder / "runs").mkdir(parents=True, exist_ok=True)
    every = list(jobs(plan))
    for number, job in enumerate(every, start=1):
        path = folder / "runs" / f"{job.name}.json"
        if path.exists() or number % processes != own:
            continue
        row = attempt(folder, plan, job)
        path.write_text(json.dumps(row), encoding="utf-8")
        rate = f"{np.mean(row['successes']):.2f}" if row["successes"] else row.get("error", "none")
        print(
            f"{job.name}: {rate} of {len(row['successes'])}, {row.get('seconds', 0):.0f} s "
            f"({number} of {len(every)})",
            flush=True,
        )


if __name__ == "__main__":
    main()
