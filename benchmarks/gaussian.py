"""Accuracy on Gaussians of known mutual information, beside two classical estimators.

    python -m benchmarks.gaussian           # -> benchmarks/results/gaussian.*
    python -m benchmarks.gaussian --quick --out build/results

The d pairs of coordinates of x and y have the same correlation: I = -d/2 log(1 - rho^2).
"""

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from . import intervals, report
from .measure import Row, as_json, load_models, mean_seconds, measure, names, ours, pick
from .report import number, table
from .tasks import Case

TRUTHS = (0.0, 0.1, 0.25, 0.5, 1.0, 2.0, 3.0, 4.0)
DIMS = (1, 2, 3, 5)
SIZES = (50, 100, 500, 1000, 5000)
STRONG = 0.5  # nats, least truth for relative errors


def gaussian(truth: float, d: int, n: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Draw x, y [n, d] whose mutual information is `truth` nats."""
    rng = np.random.default_rng([seed, d, n, round(100 * truth)])
    rho = math.sqrt(1 - math.exp(-2 * truth / d))
    x, noise = rng.standard_normal((2, n, d))
    return x, rho * x + math.sqrt(1 - rho**2) * noise


def cases(sizes: Sequence[int], draws: int) -> list[Case]:
    return [
        Case({"d": d}, truth, n, draws, lambda i, t=truth, d=d, n=n: gaussian(t, d, n, i))
        for n in sizes
        for d in DIMS
        for truth in TRUTHS
    ]


def page(about: dict[str, Any], rows: list[Row], sizes: Sequence[int]) -> str:
    """All results as Markdown."""
    draws = max(len(row.estimates) for row in rows)

    def strong(own: list[Row]) -> list[Row]:
        return [row for row in own if row.truth >= STRONG]

    def relative(own: list[Row]) -> str:
        return f"{100 * np.mean([abs(row.bias) / row.truth for row in strong(own)]):.1f}%"

    def spread(own: list[Row]) -> str:
        return number(float(np.mean([row.spread for row in strong(own)])))

    def seconds(own: list[Row]) -> str:
        return report.duration(mean_seconds(own))

    def independent(own: list[Row]) -> str:
        (row,) = pick(own, truth=0.0)
        return f"{number(row.mean)} ± {number(row.spread)}"

    parts = [
        "# Accuracy on Gaussians",
        f"Mutual information of {TRUTHS[0]:g} to {TRUTHS[-1]:g} nats between d pairs of equally "
        f"correlated coordinates, with {draws} draws of each case. All estimators get the same "
        "samples. The Gaussian copula is the true model here and serves as a reference.",
        report.byline(about),
        "## Relative error",
        "Relative error: |mean over draws - truth| / truth, averaged over truths of "
        f"{STRONG} nats and more.",
        by_size(rows, sizes, relative),
        "## Spread",
        f"Standard deviation over draws, averaged over truths of {STRONG} nats and more.",
        by_size(rows, sizes, spread),
        "## Independence",
        "Mean ± standard deviation over draws where the truth is 0. Estimates of this size are no "
        "sign of dependence.",
        by_size(rows, sizes, independent),
        intervals.section(rows, sizes, lambda row: f"{row.truth:g} nats (d = {row.label['d']})"),
    ]
    for name in filter(ours, names(rows)):
        parts += [f"## Estimates by level, {name}", "Mean over draws ± spread."]
        for n in sizes:
            lines = []
            for truth in TRUTHS:
                own = [pick(rows, d=d, n=n, truth=truth, estimator=name)[0] for d in DIMS]
                cells = (f"{number(r.mean)} ± {number(r.spread)}" for r in own)
                lines.append([f"{truth:g}", *cells])
            parts.append(f"n = {n}\n\n" + table(["truth", *(f"d = {d}" for d in DIMS)], lines))
    times = [
        [name, *(seconds(pick(rows, n=n, estimator=name)) for n in sizes)] for name in names(rows)
    ]
    parts += ["## Time of one estimate", table(["", *(f"n = {n}" for n in sizes)], times)]
    return "\n\n".join(parts)


def by_size(rows: list[Row], sizes: Sequence[int], cell: Callable[[list[Row]], str]) -> str:
    lines = [
        [str(n), name, *(cell(pick(rows, d=d, n=n, estimator=name)) for d in DIMS)]
        for n in sizes
        for name in names(rows)
    ]
    return table(["n", "estimator", *(f"d = {d}" for d in DIMS)], lines)


def main(arguments: Sequence[Any] | None = None) -> None:
    parser = report.Options(__spec__.name, __doc__, "3 draws, n = 50 and 100")
    chosen = parser.parse_args(arguments)
    sizes, draws = ([50, 100], 3) if chosen.quick else (SIZES, 24)
    estimators = load_models(chosen.model)
    about = report.provenance(chosen.command, *estimators.values())
    rows = measure("Gaussians", cases(sizes, draws), estimators)
    text = page(about, rows, sizes)
    report.save(chosen.out, "gaussian", about, as_json(rows), text)


if __name__ == "__main__":
    main()
