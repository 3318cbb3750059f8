"""Rank order of sliced estimates on the 25 and 50-dimensional BMI tasks.

    python -m benchmarks.bmi_sliced         # build/bmi/large -> results/bmi_sliced.*

A sliced estimate is not the mutual information. It should preserve the order: of two tasks of one
kind, the one with more information should get the higher estimate. The samples are written by
bmi_samples.py: the tasks of the benchmark, and weaker and stronger tasks of each kind.
"""

import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from scipy.stats import spearmanr

from infoatlas_rt import Estimator

from . import report
from .measure import OURS, Row, as_json, figures, grid, mean_and_spread, mean_time, measure, pick
from .peers import KSG, PEERS
from .report import number
from .tasks import Case
from .tasks.bmi_files import load_cases, own_tasks

SIZES = (100, 500, 1000, 5000)
WHOLE = f"{KSG}, not sliced"


def cases(folder: Path, sizes: Sequence[int], seeds: int) -> list[Case]:
    """Cases whose `kind` is the name of the task without its strength."""
    made = load_cases(folder, sizes, seeds)
    for case in made:
        case.label["kind"] = re.sub(r"(-2)?-[\d.]+$", "", case.label["task"])
    return made


def order(rows: list[Row]) -> float:
    """Spearman's rank correlation of estimates and truths, mean over seeds."""
    truth = [row.truth for row in rows]
    all_found = np.array([row.estimates for row in rows]).T
    return float(np.mean([spearmanr(found, truth).statistic for found in all_found]))


def page(about: dict[str, Any], rows: list[Row], sizes: Sequence[int], listed: set[str]) -> str:
    """All results as Markdown."""
    kinds = list(dict.fromkeys(row.label["kind"] for row in rows))
    tasks = {row.label["task"] for row in rows}
    parts = [
        "# BMI tasks of 25 and 50 dimensions in slices",
        f"The {len(listed)} tasks of the benchmark with 25 and 50 dimensions a side are of "
        f"{len(kinds)} kinds. Each kind was sampled in five strengths, which makes {len(tasks)} "
        "tasks. A sliced estimate is not the mutual information, but should increase with it.",
        report.byline(about),
        "## Rank order",
        "Spearman's rank correlation of estimates and truths over the strengths of a kind, mean "
        f"over {max(len(row.estimates) for row in rows)} seeds. At 1 the order is right. The "
        'column "all" is the rank correlation over all tasks; slicing need not preserve the order '
        "between kinds.",
    ]
    columns = {
        "mean of kinds": lambda own: number(
            float(np.mean([order(pick(own, kind=kind)) for kind in kinds])), 2
        )
    }
    columns |= {kind: lambda own, k=kind: number(order(pick(own, kind=k)), 2) for kind in kinds}
    columns |= {"all": lambda own: number(order(own), 2), "time": mean_time}
    parts += [
        figures(rows, ["n", "estimator"], columns),
        "## Estimates of the benchmark's own tasks",
        "Mean over seeds ± spread, nats.",
    ]
    own = sorted(
        (row for row in rows if row.label["task"] in listed), key=lambda row: row.label["task"]
    )
    truth = {"truth": lambda own: number(own[0].truth)}
    for n in reversed(sizes):
        estimates = grid(pick(own, n=n), ["task"], "estimator", mean_and_spread, first=truth)
        parts.append(f"n = {n}\n\n{estimates}")
    return "\n\n".join(parts)


def main(arguments: Sequence[Any] | None = None) -> None:
    parser = report.Options(__spec__.name, __doc__, "1 seed, n = 100, 8 slices")
    parser.add_argument("samples", nargs="?", type=Path, default=Path("build/bmi/large"))
    chosen = parser.parse_args(arguments)
    sizes, seeds, slices = ([100], 1, 8) if chosen.quick else (SIZES, 3, 40)
    made = cases(chosen.samples, sizes, seeds)
    listed = own_tasks(chosen.samples)
    estimators = {
        f"{OURS}, {slices} slices of {k}": Estimator(
            chosen.model, k=k, slices=slices, provider="auto"
        )
        for k in (5, 1)
    }
    about = report.provenance(chosen.command, next(iter(estimators.values())))
    rows = measure("Sliced", made, estimators, {WHOLE: PEERS[KSG]})
    text = page(about, rows, sizes, listed)
    report.save(chosen.out, "bmi_sliced", about, as_json(rows), text)


if __name__ == "__main__":
    main()
