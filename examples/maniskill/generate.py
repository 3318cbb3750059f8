"""Generate many demonstrations from ten: their sub-tasks are found, moved to new starts, and run.

    python examples/maniskill/collect.py PickCube-v1 --number 10 --out demos
    python examples/maniskill/generate.py PickCube-v1 demos/trajectory.h5 --out generated
    python examples/maniskill/train.py generated/trajectory.h5 --out policy.pt

This follows MimicGen. Where sub-tasks begin, and their reference objects, need not be given: they
are found in the states. 300 attempts at PickCube-v1 need about a minute on one core.
"""

import os

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # on small matrices, threads wait
os.environ.setdefault("OMP_NUM_THREADS", "1")

import argparse

from infoatlas_tools.generation.engine import generate  # isort: skip  (first: it makes mani_skill importable)
from tqdm import tqdm

from infoatlas_rt import InputError
from infoatlas_tools.generation.sources import find_subtasks, read_sources
from infoatlas_tools.generation.tasks import TASKS
from infoatlas_tools.generation.writing import check, write


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("task", choices=TASKS)
    parser.add_argument("demonstrations", help="trajectory.h5 of collect.py, or an .npz")
    parser.add_argument("--attempts", type=int, default=300, help="(%(default)s)")
    parser.add_argument("--out", default="generated", help="a new folder (%(default)s)")
    parser.add_argument("--seed", type=int, default=0, help="of the starts (%(default)s)")
    parser.add_argument("--noise", type=float, default=0.0, help="of joint targets, rad")
    parser.add_argument("--smooth", type=int, default=1, help="average sources over odd steps")
    chosen = parser.parse_args()
    try:
        check(chosen.out)
        sources = read_sources(chosen.demonstrations)
        parts = find_subtasks(chosen.task, sources)
        for name, part in zip(parts.names, parts.parts, strict=True):
            print(f"{name}: about {part.reference}, {part.orientation}")
        with tqdm(total=chosen.attempts, desc=chosen.task) as bar:
            options = {name: getattr(chosen, name) for name in ("seed", "noise", "smooth")}
            generated = generate(
                *(chosen.task, sources, parts, chosen.attempts),
                progress=lambda attempts, successes: bar.update(),
                **options,
            )
        done, seconds = int(generated.successes.sum()), generated.seconds / chosen.attempts
        print(f"{done} of {chosen.attempts} attempts succeeded, {seconds:.2f} s an attempt")
        print(write(generated, chosen.out))
    except InputError as error:
        raise SystemExit(str(error)) from error


if __name__ == "__main__":
    main()
