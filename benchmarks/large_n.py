"""Accuracy on more samples than the model was trained on.

python -m benchmarks.large_n            # -> benchmarks/results/large_n.*
"""

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from infoatlas_rt import Estimator

from . import report
from .measure import Row, as_json, load_models, mean_time, measure, names, pick
from .peers import COPULA
from .peers.classical import gaussian_copula
from .report import number, table
from .tasks import Array, Case
from .tasks.wide import square_truth

SIZES = (500, 5000, 5001, 20_000, 50_000, 100_000, 200_000)
FILTER = 0.95  # coefficient of the autoregression


def correlated(rho: float, d: int, n: int, seed: int) -> tuple[Array, Array]:
    x, noise = np.random.default_rng([seed, n]).standard_normal((2, n, d))
    return x, rho * x + math.sqrt(1 - rho**2) * noise


def squared(n: int, seed: int) -> tuple[Array, Array]:
    x, noise = np.random.default_rng([seed, n]).standard_normal((2, n, 2))
    return x, (x * x - 1) / math.sqrt(2) + 0.5 * noise


def series(rho: float, n: int, seed: int) -> tuple[Array, Array]:
    """Two coordinates a side, each an autoregression; the pairs have correlation rho."""
    x, y = correlated(rho, 2, n, seed)
    for t in range(1, n):
        x[t] += FILTER * x[t - 1]
        y[t] += FILTER * y[t - 1]
    return x, y


def cases(sizes: Sequence[int], draws: int) -> list[Case]:
    def gaussian(rho: float, d: int) -> float:
        return -d / 2 * math.log(1 - rho**2)

    kinds = [
        ("correlation 0.6", gaussian(0.6, 1), lambda n, i: correlated(0.6, 1, n, i), False),
        ("correlation 0.9", gaussian(0.9, 1), lambda n, i: correlated(0.9, 1, n, i), False),
        ("five of 0.6", gaussian(0.6, 5), lambda n, i: correlated(0.6, 5, n, i), False),
        ("two squares", 2 * square_truth(), squared, False),
        ("independent series", 0.0, lambda n, i: series(0.0, n, i), True),
        ("series of 0.6", gaussian(0.6, 2), lambda n, i: series(0.6, n, i), True),
    ]
    return [
        Case({"kind": kind}, truth, n, draws, lambda i, f=draw, n=n: f(n, i), time_series)
        for kind, truth, draw, time_series in kinds
        for n in sizes
    ]


def page(about: dict[str, Any], rows: list[Row], sizes: Sequence[int], n_max: int) -> str:
    parts = [
        "# More samples than in training",
        f"Mean estimate ± mean standard error of {len(rows[0].estimates)} draws. More than "
        f"{n_max} samples are split into disjoint parts of at most that size, and their estimates "
        f"are averaged. Series are autoregressions with coefficient {FILTER}, estimated with "
        "`time_series=True`.",
        report.byline(about),
    ]
    for name in names(rows):
        own = pick(rows, estimator=name)
        kinds = list(dict.fromkeys(row.label["kind"] for row in own))
        lines = []
        for n in sizes:
            line = [pick(own, kind=kind, n=n)[0] for kind in kinds]
            cells = [
                number(r.mean) + ("" if r.stderr is None else f" ± {number(r.stderr)}")
                for r in line
            ]
            lines.append([f"{n:,}", *cells, mean_time(line)])
        truths = ["truth", *(number(pick(own, kind=k)[0].truth) for k in kinds), ""]
        parts += [f"## {name}", table(["n", *kinds, "time"], [truths, *lines])]
    return "\n\n".join(parts)


def main(arguments: Sequence[Any] | None = None) -> None:
    parser = report.Options(__spec__.name, __doc__, "1 draw, n = 500 and 5,001")
    parser.add_argument("--draws", type=int, default=3)
    chosen = parser.parse_args(arguments)
    sizes, draws = ([500, 5001], 1) if chosen.quick else (SIZES, chosen.draws)
    estimators: dict[str, Estimator] = load_models([chosen.model])
    (estimator,) = estimators.values()
    about = report.provenance(chosen.command, estimator)
    rows = measure("Large samples", cases(sizes, draws), estimators, {COPULA: gaussian_copula})
    text = page(about, rows, sizes, estimator.model_file.n_max)
    report.save(chosen.out, "large_n", about, as_json(rows), text)


if __name__ == "__main__":
    main()
