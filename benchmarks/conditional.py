"""Conditional mutual information and transfer entropy of families with closed forms.

    python -m benchmarks.conditional        # -> benchmarks/results/conditional.*

The peers are the chain rule of two estimates without residuals, the Gaussian formula on normal
scores, and the nearest-neighbour estimate of Frenzel and Pompe (2007) with ties as in Mesner and
Shalizi (2021).
"""

from collections.abc import Sequence
from time import process_time
from typing import Any

import numpy as np
from scipy.spatial import cKDTree
from scipy.special import digamma, ndtri
from scipy.stats import rankdata

from infoatlas_rt import Estimator
from infoatlas_tools import conditional_mutual_information

from . import report
from .intervals import Z90
from .measure import OURS, figures, grid, mean, pick
from .report import number
from .tasks import Array
from .tasks.conditional_sets import TRIPLES
from .tasks.truths import gaussian_information

CHAIN, GAUSSIAN, NEIGHBOURS = "chain rule alone", "Gaussian formula", "neighbours (k=3)"
GATES = "switches, synergy, redundancy"
NAMES = (OURS, CHAIN, GAUSSIAN, NEIGHBOURS)
SIZES, DRAWS = (200, 1000), 8


def chain(x: Array, y: Array, z: Array, estimator: Estimator, series: bool) -> float:
    """I(x; (y, z)) - I(x; z), the difference of two estimates."""
    sides = np.c_[y, z], z
    joint, single = (estimator.estimate(x, side, time_series=series).mi for side in sides)
    return joint - single


def gaussian(x: Array, y: Array, z: Array) -> float:
    """I(x; (y, z)) - I(x; z) of Gaussians with the correlations of the normal scores."""
    scores = [ndtri((rankdata(side, axis=0) - 0.5) / len(side)) for side in (x, y, z)]
    widths = np.cumsum([side.shape[1] for side in scores])
    covariance = np.cov(np.hstack(scores).T) + 1e-9 * np.eye(widths[2])
    own, rest, given = np.split(np.arange(widths[2]), widths[:2])
    both = np.r_[rest, given]

    def information(a: Any, b: Any) -> float:
        parts = (covariance[np.ix_(i, j)] for i, j in ((a, a), (b, b), (a, b)))
        return gaussian_information(*parts)

    return information(own, both) - information(own, given)


def neighbours(x: Array, y: Array, z: Array, k: int = 3) -> float:
    """Estimate of Frenzel and Pompe (2007), with ties counted as in Mesner and Shalizi (2021)."""
    x, y, z = ((side - side.mean(axis=0)) / side.std(axis=0) for side in (x, y, z))
    joint = np.c_[x, y, z]
    distance = cKDTree(joint).query(joint, k + 1, p=np.inf)[0][:, -1]
    tied = distance == 0
    radius = np.where(tied, 0, np.nextafter(distance, 0))  # nearer than the k-th neighbour

    def counts(side: Array) -> Array:
        # Each sample is its own neighbour at distance 0; it is not counted as a tie.
        found = cKDTree(side).query_ball_point(side, radius, p=np.inf, return_length=True)
        return np.asarray(digamma(found - tied))

    nearest = np.where(tied, counts(joint), digamma(k))
    every = nearest - counts(np.c_[x, z]) - counts(np.c_[y, z]) + counts(z)
    return float(every.mean())


def measure(estimator: Estimator, sizes: Sequence[int], draws: int) -> list[dict[str, Any]]:
    """A row for each family, size and estimator."""
    rows = []
    for at, family in report.tracked("conditional", enumerate(TRIPLES)):
        for n in sizes:
            values, errors, seconds = [], [], []
            for draw in range(draws):
                sides = family.draw(n, np.random.default_rng([draw, at, n]))
                x, y, z = (np.asarray(side, float) for side in sides)
                start = process_time()
                found = conditional_mutual_information(
                    x, y, z, estimator, time_series=family.series, permutations=0
                )
                seconds.append(process_time() - start)
                errors.append(found.stderr)
                others = chain(x, y, z, estimator, family.series), gaussian(x, y, z)
                values.append((found.mi, *others, neighbours(x, y, z)))
            own = [
                {
                    "family": family.name,
                    "kind": family.kind,
                    "n": n,
                    "truth": family.truth,
                    "estimator": name,
                    "mean": float(np.mean(column)),
                    "bias": float(np.mean(column)) - family.truth,
                    "spread": float(np.std(column, ddof=1)),
                }
                for name, column in zip(NAMES, zip(*values, strict=True), strict=True)
            ]
            half = Z90 * np.array(errors)
            # An estimate with standard error 0, as of a copy, may differ from the truth by
            # rounding.
            inside = abs(np.array(values)[:, 0] - family.truth) <= half + 1e-9
            own[0] |= {"inside": float(inside.mean()), "half_width": float(np.median(half))}
            own[0] |= {"seconds": float(np.median(seconds))}
            rows += own
    return rows


def page(about: dict[str, Any], rows: list[dict[str, Any]]) -> str:
    """All results as Markdown."""
    sizes = sorted({row["n"] for row in rows})
    kinds = {"switches": GATES, "synergy": GATES, "redundancy": GATES}
    shown = [{**row, "families": kinds.get(row["kind"], row["kind"])} for row in rows]
    shown += [{**row, "families": "all"} for row in rows]
    columns = {
        name: lambda own, name=name: number(
            float(np.mean([abs(row["bias"]) for row in pick(own, estimator=name)]))
        )
        for name in NAMES
    } | {
        "coverage": lambda own: f"{mean(pick(own, estimator=OURS), 'inside'):.0%}",
        "half-width": lambda own: number(
            float(np.median([row["half_width"] for row in pick(own, estimator=OURS)]))
        ),
    }
    seconds = [
        np.median([row["seconds"] for row in pick(rows, n=n, estimator=OURS)]) for n in sizes
    ]
    parts = [
        "# Conditional mutual information",
        f"`conditional_mutual_information` on {len(TRIPLES)} families with I(x; y | z) in closed "
        f"form, {about['draws']} draws each. The families are a development set: the method of "
        "conditioning was chosen on them, with other seeds.",
        "- `chain rule alone`: I(x; (y, z)) - I(x; z) of two estimates, without residuals\n"
        "- `Gaussian formula`: computed from normal scores; the true model of the Gaussian and "
        "VAR(1) families\n"
        "- `neighbours`: Frenzel and Pompe (2007), with ties counted as in Mesner and Shalizi "
        "(2021)\n"
        "- coverage: share of draws whose 90% interval contains the truth\n"
        "- half-width: of our 90% interval, median, in nats",
        report.byline(about),
        "## Mean absolute bias",
        figures(shown, ["families", "n"], columns),
        "One of our estimates needs "
        + ", ".join(
            f"{report.duration(float(s))} at n = {n}" for s, n in zip(seconds, sizes, strict=True)
        )
        + " of processor time, without the test.",
    ]
    for n in sizes:
        estimates = grid(
            pick(rows, n=n),
            ["family"],
            "estimator",
            lambda own: number(own[0]["mean"]),
            first={"truth": lambda own: number(own[0]["truth"])},
            last={
                "spread": lambda own: number(own[0]["spread"]),
                "half-width": lambda own: number(own[0]["half_width"]),
                "coverage": lambda own: f"{own[0]['inside']:.0%}",
            },
        )
        words = "Mean over draws; spread, half-width and coverage are ours."
        parts += [f"## Mean estimates, n = {n}", words, estimates]
    return "\n\n".join(parts)


def main(arguments: Sequence[Any] | None = None) -> None:
    parser = report.Options(__spec__.name, __doc__, "2 draws, n = 100")
    chosen = parser.parse_args(arguments)
    sizes, draws = ((100,), 2) if chosen.quick else (SIZES, DRAWS)
    estimator = Estimator(chosen.model, provider="auto", threads=1)
    about = report.provenance(chosen.command, estimator) | {"draws": draws}
    rows = measure(estimator, sizes, draws)
    report.save(chosen.out, "conditional", about, rows, page(about, rows))


if __name__ == "__main__":
    main()
