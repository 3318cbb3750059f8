"""Sides with more coordinates than the model accepts: random slices and found directions.

    python -m benchmarks.wide_sides         # build/bmi/large -> benchmarks/results/wide_sides.*

The seven tasks of the BMI benchmark with sides of 25 and 50 coordinates, and a set of hidden
directions (`tasks/wide.py`).
"""

from collections.abc import Sequence
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np

from infoatlas_rt import Estimator

from . import report
from .measure import Row, as_json, figures, grid, measure, pick
from .peers import Array, Score
from .peers.classical import gaussian_copula, shrunk_copula
from .report import number
from .tasks import Case, wide
from .tasks.bmi_files import load_cases, own_tasks

SIZES = (1000, 5000)
BMI, HIDDEN = "BMI", "hidden directions"
SLICES = "40 slices"
WAYS = {SLICES: "random", "canonical": "canonical"}


def principal(estimator: Estimator) -> Score:
    """The estimate of the first D principal components of each side."""

    def components(side: Array) -> Array:
        centred = (side - side.mean(axis=0)) / side.std(axis=0)
        axes = np.linalg.svd(centred, full_matrices=False)[2]
        return centred @ axes[: estimator.model_file.dim].T

    return lambda x, y: estimator.estimate(components(x), components(y)).mi


def bmi_cases(folder: Path, sizes: Sequence[int], draws: int) -> list[Case]:
    """The tasks of the benchmark itself."""
    listed, found = own_tasks(folder), load_cases(folder, sizes, draws)
    return [
        Case({"set": BMI, "task": c.label["task"]}, c.truth, c.n, c.draws, c.draw)
        for c in found
        if c.label["task"] in listed
    ]


def hidden_cases(sizes: Sequence[int], draws: int) -> list[Case]:
    return [
        Case(
            {"set": HIDDEN, "task": f"{family.name}, {d} + {d}"},
            family.truth,
            n,
            draws,
            lambda i, family=family, n=n: family.draw(n, i),
        )
        for d in wide.DIMS
        for family in wide.families(d)
        for n in sizes
    ]


def error(rows: Sequence[Row]) -> float:
    """Mean of |estimate - truth| over draws and tasks."""
    return float(np.mean([np.mean(np.abs(np.array(r.estimates) - r.truth)) for r in rows]))


def page(about: dict[str, Any], rows: list[Row], sizes: Sequence[int]) -> str:
    sets = list(dict.fromkeys(row.label["set"] for row in rows))
    parts = [
        "# Sides with more coordinates than the model accepts",
        f"Up to {max(len(row.estimates) for row in rows)} draws of each task. `40 slices` is the "
        "mean over 40 pairs of random projections, which is not the mutual information. "
        "`canonical` searches directions in one half of the samples and estimates in the other "
        "half, and adds the Gaussian dependence of all other directions. "
        "`principal components` estimates from the first components of each side.",
        report.byline(about),
        "## Mean of |estimate - truth|",
    ]
    columns = {
        f"{s}, n = {n}": lambda own, s=s, n=n: number(error(pick(own, set=s, n=n)))
        for s, n in product(sets, sizes)
    }
    parts.append(figures(rows, ["estimator"], columns))
    for s, n in product(sets, sizes):
        truth = {"truth": lambda own: number(own[0].truth)}
        parts += [
            f"## {s[:1].upper() + s[1:]}, n = {n}",
            "Mean over draws (mean standard error).",
            grid(pick(rows, set=s, n=n), ["task"], "estimator", _cell, first=truth),
        ]
    return "\n\n".join(parts)


def _cell(rows: list[Row]) -> str:
    (row,) = rows
    return number(row.mean) + ("" if row.stderr is None else f" ({number(row.stderr, 2)})")


def main(arguments: Sequence[Any] | None = None) -> None:
    parser = report.Options(__spec__.name, __doc__, "1 draw, n = 200")
    parser.add_argument("--bmi", type=Path, default=Path("build/bmi/large"), help="%(default)s")
    chosen = parser.parse_args(arguments)
    sizes, draws = ([200], 1) if chosen.quick else (SIZES, 3)
    estimators = {
        name: Estimator(chosen.model, provider="auto", threads=1, directions=way)
        for name, way in WAYS.items()
    }
    peers: dict[str, Score] = {
        "Gaussian copula": gaussian_copula,
        "shrunk Gaussian copula": shrunk_copula,
        "principal components": principal(estimators[SLICES]),
    }
    about = report.provenance(chosen.command, estimators[SLICES])
    cases = bmi_cases(chosen.bmi, sizes, draws) + hidden_cases(sizes, draws)
    rows = measure("Wide sides", cases, estimators, peers)
    report.save(chosen.out, "wide_sides", about, as_json(rows), page(about, rows, sizes))


if __name__ == "__main__":
    main()
