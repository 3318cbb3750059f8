"""Sensitivity to noise on real 384-dimensional embeddings, in slices of five and of one dimension.

    python -m benchmarks.embeddings         # -> benchmarks/results/embeddings.*

Modelled on the InfoAtlas paper (Fig. 4), which pairs images with captions. Here the pairs are
documentation and code of functions, with five levels of Gaussian noise on one side. A good score
separates the levels.
"""

from collections.abc import Sequence
from itertools import product
from typing import Any

import numpy as np

from infoatlas_rt import Estimator

from . import report
from .measure import OURS, Series, grid, mean, pick, timed
from .peers import Score
from .peers.classical import gaussian_copula, sliced
from .peers.distance_correlation import distance_correlation
from .report import number
from .tasks import Array
from .tasks.texts import embeddings

PAIRS = 2500
NOISE = (0.0, 0.5, 1.0, 1.5, 2.0)  # in standard deviations of the embedding's coordinates
SIZES = (250, 500, 1000, 2000)
FIVE, ONE = f"{OURS}, k = 5, S = 25", f"{OURS}, k = 1, S = 128"


def noisy(side: Array, level: float, rng: np.random.Generator) -> Array:
    scale = np.sqrt(side.var(axis=0).mean())
    return side + level * scale * rng.standard_normal(side.shape)


def measure(
    model: str, sides: tuple[Array, Array], sizes: Sequence[int], repeats: int
) -> list[dict[str, Any]]:
    """A row for each size, noise and score; each repeat has its own pairs, noise and slices."""
    found: Series = {}
    for repeat, n in report.tracked("embeddings", product(range(repeats), sizes)):
        five = Estimator(model, k=5, slices=25, seed=repeat, provider="auto")
        one = Estimator(model, k=1, slices=128, seed=repeat, provider="auto")
        scores: dict[str, Score] = {
            FIVE: lambda x, y, e=five: e.estimate(x, y).mi,
            ONE: lambda x, y, e=one: e.estimate(x, y).mi,
            "Gaussian copula, k = 5, S = 25": sliced(gaussian_copula, 5, 25, seed=repeat),
            "distance correlation": distance_correlation,
        }
        rng = np.random.default_rng([repeat, n])
        chosen = rng.choice(len(sides[0]), n, replace=False)
        x, clean = (side[chosen] for side in sides)
        for level in NOISE:
            timed(scores, x, noisy(clean, level, rng), found, n, level)
    return [
        {
            "n": n,
            "noise": level,
            "score": name,
            "mean": float(own[:, 0].mean()),
            "spread": float(own[:, 0].std(ddof=1)),
            "seconds": float(np.median(own[:, 1])),
            "values": tuple(own[:, 0].tolist()),
        }
        for (n, level, name), pairs in found.items()
        for own in [np.array(pairs)]
    ]


def separations(rows: list[dict[str, Any]]) -> str:
    """Smallest and mean separation of neighbouring levels, and how many are above 1."""
    middle, spread = (np.array([row[key] for row in rows]) for key in ("mean", "spread"))
    g = (middle[:-1] - middle[1:]) / (spread[:-1] + spread[1:])
    return f"{number(g.min(), 2)}, {number(g.mean(), 2)} ({(g > 1).sum()} of 4)"


def page(about: dict[str, Any], rows: list[dict[str, Any]], pairs: int) -> str:
    """All results as Markdown."""
    repeats = len(rows[0]["values"])
    parts = [
        "# Sensitivity to noise on embeddings",
        f"The pairs are {pairs:,} functions of Python's standard library. One side is the first "
        "paragraph of the documentation, the other the code without the documentation and the "
        "function's name. Both are embedded by all-MiniLM-L6-v2 in 384 dimensions. Gaussian noise "
        "is added to the code's embedding; its level is in standard deviations of a coordinate.",
        f"There are {repeats} repeats, each with its own noise, slices and pairs, drawn without "
        "replacement. At large n two repeats share most of their pairs, so the spread is "
        "underestimated for all scores. The truth is not known. The benchmark shows whether a "
        "score distinguishes the levels.",
        report.byline(about),
        "## Separation",
        "Separation of neighbouring levels: difference of their means, divided by the sum of their "
        "standard deviations. Above 1, bands of one standard deviation do not overlap. Cells: "
        "smallest and mean of the four separations (number above 1).",
        grid(rows, ["score"], "n", separations, "n = {}"),
    ]
    for n in dict.fromkeys(row["n"] for row in rows):
        estimates = grid(
            pick(rows, n=n),
            ["score"],
            "noise",
            lambda own: f"{number(own[0]['mean'])} ± {number(own[0]['spread'])}",
            "noise {:g}",
            last={"time": lambda own: report.duration(mean(own, "seconds"))},
        )
        parts += [f"## Estimates, n = {n}", "Mean over repeats ± standard deviation.", estimates]
    return "\n\n".join(parts)


def main(arguments: Sequence[Any] | None = None) -> None:
    parser = report.Options(__spec__.name, __doc__, "150 pairs, 2 repeats, n = 50 and 100")
    parser.add_argument("--repeats", type=int, default=20, help="of each level (%(default)s)")
    chosen = parser.parse_args(arguments)
    pairs, sizes, repeats = PAIRS, SIZES, chosen.repeats
    if chosen.quick:
        pairs, sizes, repeats = 150, (50, 100), 2
    sides = embeddings(pairs)
    about = report.provenance(chosen.command, Estimator(chosen.model, provider="auto"))
    rows = measure(chosen.model, sides, sizes, repeats)
    report.save(chosen.out, "embeddings", about, rows, page(about, rows, len(sides[0])))


if __name__ == "__main__":
    main()
