"""Modules that run in the simulator's environment, and the options of their benchmarks."""

import os
import subprocess
from pathlib import Path
from typing import Any

from .. import report

ROOT = Path(__file__).parents[2]


def options(name: str, doc: str, quick: str) -> report.Options:
    """The command line of `benchmarks.NAME`."""
    parser = report.Options(f"benchmarks.{name}", doc, quick)
    parser.add_argument("--folder", type=Path, help=f"of intermediate results (build/{name})")
    parser.add_argument(
        "--simulator",
        type=Path,
        default=Path(".venv-maniskill/bin/python"),
        help="the Python of ManiSkill's environment (%(default)s)",
    )
    parser.add_argument(
        "--page", action="store_true", help="write the page from existing results only"
    )
    return parser


def folder(name: str, chosen: Any) -> Path:
    """The folder of intermediate results."""
    return chosen.folder or Path(f"build/{name}-quick" if chosen.quick else f"build/{name}")


def run(simulator: Path, *calls: tuple[Any, ...]) -> None:
    """Run modules of the benchmarks side by side, each with its arguments; exit if one fails."""
    path = os.pathsep.join(str(ROOT / name) for name in ("", "runtime", "train", "tools"))
    threads = {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
    started = [
        subprocess.Popen(
            [simulator, "-m", f"benchmarks.{module}", *map(str, words)],
            env={**os.environ, "PYTHONPATH": path, **threads},
        )
        for module, *words in calls
    ]
    for process in started:
        if process.wait():
            raise SystemExit(f"a process ended with {process.returncode}: see above")
