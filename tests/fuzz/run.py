"""Fuzz the library: random calls, pushes, commands, models, limits and data sets, from one seed.

    python tests/fuzz/run.py --calls 20000 --out benchmarks/results/fuzz.md

Each case has a number, and its random numbers depend on (seed, kind, number), so a failing case can
be repeated: `python tests/fuzz/run.py --only calls:1234`. Outcomes:

- ok: the result is right. It equals the result of the same data in another form, is within limits
  for any data, or agrees with a model of the stream.
- refused: an error of the library, as expected.
- wrong: a wrong result, or an unexpected error of the library.
- raw: any other exception.
- warning: any warning.

The last three must not occur. Limits of threads and memory test the C++ engine, if it is installed.
"""

from __future__ import annotations

import argparse
import datetime
import platform
import sys
import tempfile
import traceback
import warnings
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from importlib.util import find_spec
from multiprocessing import get_context
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).parent))

import calls
import commands
import limits
import models
import pushes
import readers
from calls import Wrong

PUSHES = 100  # length of a stream
FAULTS = ("wrong", "raw", "warning")
KINDS = ("calls", "pushes", "commands", "models", "readers", "limits")


def one(kind: str, number: int, seed: int, folder: Path) -> tuple[Counter[str], str]:
    """Outcomes of a case, and a description of the fault (empty if there is none)."""
    rng = np.random.default_rng([seed, KINDS.index(kind), number])
    outcomes: Counter[str] = Counter()
    what = ""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            if kind == "pushes":
                refused = (pushes.stream if number % 4 else pushes.pool)(rng, PUSHES)
                outcomes.update(refused=refused, ok=PUSHES - refused)
            elif kind == "models":
                outcomes[models.flip(rng, folder)] += 1
            elif kind == "limits":
                outcomes[limits.limited(rng, folder)] += 1
            elif kind == "readers":
                outcomes[readers.read(number, rng, folder)] += 1
            elif kind == "commands":
                outcomes[_case(commands.CASES, rng)(rng, folder)] += 1
            else:
                outcomes[_case(calls.CASES, rng)(rng)] += 1
        except Wrong as error:
            outcomes["wrong"] += 1
            what = f"wrong: {error}"
        except Exception:
            outcomes["raw"] += 1
            what = f"raw: {traceback.format_exc(limit=-4)}"
    if caught:
        outcomes["warning"] += 1
        what += f" warning: {caught[0].category.__name__}: {caught[0].message}"
    return outcomes, what


def _case(cases: dict[Callable[..., str], int], rng: np.random.Generator) -> Callable[..., str]:
    share = np.array(list(cases.values())) / sum(cases.values())
    return list(cases)[rng.choice(len(cases), p=share)]


def fuzz(
    kind: str, count: int, seed: int, processes: int = 1
) -> Iterator[tuple[int, Counter[str], str]]:
    """Run `count` calls of a kind: number of the case, its outcomes, and the fault."""
    numbers = range(-(-count // PUSHES) if kind == "pushes" else count)
    job = partial(_in_a_folder, kind, seed)
    if processes == 1:
        yield from map(job, numbers)
        return
    with ProcessPoolExecutor(processes, get_context("spawn")) as pool:
        yield from pool.map(job, numbers, chunksize=20)


def _in_a_folder(kind: str, seed: int, number: int) -> tuple[int, Counter[str], str]:
    with tempfile.TemporaryDirectory() as folder:
        return number, *one(kind, number, seed, Path(folder))


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--calls", type=int, default=500, help="API calls, and as many pushes")
    parser.add_argument("--commands", type=int, help="command lines (a hundredth)")
    parser.add_argument("--models", type=int, help="damaged models (a hundredth)")
    parser.add_argument("--readers", type=int, help="data sets in files (a quarter)")
    parser.add_argument("--limits", type=int, help="processes with limits (a two-hundredth)")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--processes", type=int, default=1)
    parser.add_argument("--only", metavar="KIND:NUMBER", help="one case alone")
    parser.add_argument("--out", type=Path, help="Markdown file for the counts")
    arguments = parser.parse_args()
    if arguments.only:
        kind, number = arguments.only.split(":")
        with tempfile.TemporaryDirectory() as folder:
            print(*one(kind, int(number), arguments.seed, Path(folder)))
        return 0
    hundredth = max(1, arguments.calls // 100)
    sizes = {
        "calls": arguments.calls,
        "pushes": arguments.calls,
        "commands": hundredth if arguments.commands is None else arguments.commands,
        "models": hundredth if arguments.models is None else arguments.models,
        "readers": arguments.calls // 4 if arguments.readers is None else arguments.readers,
        "limits": -(-hundredth // 2) if arguments.limits is None else arguments.limits,
    }
    if find_spec("infoatlas_native") is None:
        print("the C++ engine is not installed: limits are left out")
        sizes["limits"] = 0
    totals: dict[str, Counter[str]] = {}
    for kind, count in sizes.items():
        own: dict[str, Counter[str]] = {}
        for number, outcomes, what in fuzz(kind, count, arguments.seed, arguments.processes):
            row = f"files: {readers.writer_of(number).__name__}" if kind == "readers" else kind
            own.setdefault(row, Counter()).update(outcomes)
            if what:
                print(f"{kind}:{number}: {what}", flush=True)
        for row in sorted(own):
            print(f"{row}: {dict(own[row])}", flush=True)
            totals[row] = own[row]
    if arguments.out:
        arguments.out.write_text(report(totals, arguments.seed), encoding="utf-8")
    return int(any(total[fault] for total in totals.values() for fault in FAULTS))


def report(totals: dict[str, Counter[str]], seed: int) -> str:
    names = {
        "calls": "calls of the API",
        "pushes": "pushes",
        "commands": "command lines",
        "models": "damaged models",
        "limits": "limits of threads and memory",
        "files: lerobot": "LeRobot data sets",
        "files: hdf5": "HDF5 files",
        "files: table": "tables (text, parquet)",
        "files: bags": "ROS bags",
    }
    columns = ("ok", "refused", *FAULTS)
    rows = [
        f"| {names[kind]} | {sum(total[c] for c in columns[:-1])} | "
        + " | ".join(str(total[c]) for c in columns)
        + " |"
        for kind, total in totals.items()
    ]
    command = " ".join(["python", "tests/fuzz/run.py", *sys.argv[1:]])
    return "\n".join(
        [
            "# Fuzzing",
            "",
            f"`{command}` (seed {seed}), {datetime.date.today()}, Python "
            f"{platform.python_version()}, NumPy {np.__version__}, 2 virtual cores of a shared "
            "host. The outcomes are defined in `tests/fuzz/run.py`.",
            "",
            "| | runs | right | refused with a reason | wrong | other exception | warning |",
            "|---|---|---|---|---|---|---|",
            *rows,
            "",
        ]
    )


if __name__ == "__main__":
    sys.exit(main())
