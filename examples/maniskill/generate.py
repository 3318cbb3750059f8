"""Generate many demonstrations from ten: their sub-tasks are found, moved to new starts, and run.

    python examples/maniskill/collect.py PickCube-v1 --number 10 --out demos
    python examples/maniskill/generate.py PickCube-v1 demos/trajectory.h5 --out generated
    python examples/maniskill/train.py generated/trajectory.h5 --out policy.pt

This follows MimicGen. Where sub-tasks begin, and their reference objects, need not be given: they
are found in the states. 300 attempts at PickCube-v1 need about a minute on one core.
"""

from __future__ import annotations

import os

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # on small matrices, threads wait
os.environ.setdefault("OMP_NUM_THREADS", "1")

import argparse
import sys
from math import sqrt

from infoatlas_tools.generation.engine import generate  # isort: skip  (first: it makes mani_skill importable)
from tqdm import tqdm

from infoatlas_rt import (
    InputError,
    Pose,
    Position,
    Subtasks,
    Trajectories,
    discover_keystates,
)
from infoatlas_tools.generation.sources import Sources, read_sources
from infoatlas_tools.generation.tasks import TASKS
from infoatlas_tools.generation.writing import FORMATS, check, write

RATE = 20  # control steps a second


def find_subtasks(task: str, sources: Sources) -> Subtasks:
    """Sub-tasks of the demonstrations, with their reference objects."""
    found = discover_keystates(
        Trajectories(sources.states, sources.lengths, sources.names, rate=RATE)
    )
    objects = {
        name: Pose(name) if f"{name}.qw" in sources.names else Position(name)
        for name in TASKS[task].objects
    }
    return found.subtasks(tool=Pose("tool"), objects=objects)


def wilson(successes: int, attempts: int) -> tuple[float, float]:
    """The 95% interval of Wilson for a rate."""
    rate, square = successes / attempts, 1.96**2 / attempts
    half = 1.96 * sqrt((rate * (1 - rate) + square / 4) / attempts)
    return (rate + square / 2 - half) / (1 + square), (rate + square / 2 + half) / (1 + square)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("task", choices=TASKS)
    parser.add_argument("demonstrations", help="trajectory.h5 of collect.py, or an .npz")
    parser.add_argument("--attempts", type=int, default=300, help="(%(default)s)")
    parser.add_argument("--out", default="generated", help="a new folder (%(default)s)")
    parser.add_argument("--seed", type=int, default=0, help="of the starts (%(default)s)")
    parser.add_argument("--noise", type=float, default=0.0, help="of joint targets, rad")
    parser.add_argument("--smooth", type=int, default=1, help="average sources over odd steps")
    parser.add_argument("--formats", nargs="+", default=FORMATS, choices=FORMATS)
    chosen = parser.parse_args()
    try:
        check(chosen.out, chosen.formats)
        sources = read_sources(chosen.demonstrations)
        parts = find_subtasks(chosen.task, sources)
        for name, part in zip(parts.names, parts.parts, strict=True):
            print(f"{name}: about {part.reference}, {part.orientation}")
        with tqdm(total=chosen.attempts, desc=chosen.task, file=sys.stderr) as bar:

            def progress(attempts: int, successes: int) -> None:
                bar.set_postfix(successes=successes)
                bar.update()

            generated = generate(
                chosen.task,
                sources,
                parts,
                chosen.attempts,
                seed=chosen.seed,
                noise=chosen.noise,
                smooth=chosen.smooth,
                progress=progress,
            )
        successes = int(generated.successes.sum())
        low, high = wilson(successes, chosen.attempts)
        print(
            f"{successes} of {chosen.attempts} attempts succeeded: {generated.rate:.0%} (95%: "
            f"{low:.0%} to {high:.0%}), {generated.seconds / chosen.attempts:.2f} s an attempt"
        )
        print(write(generated, chosen.out, chosen.formats))
    except InputError as error:
        raise SystemExit(str(error)) from error


if __name__ == "__main__":
    main()
