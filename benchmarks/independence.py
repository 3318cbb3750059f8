"""Independence testing in 16 to 128 dimensions, beside kernel, distance and sliced peers.

    python -m benchmarks.independence       # -> benchmarks/results/independence.*

The three relations of the InfoAtlas paper (Fig. 3; after Goldfeld et al. 2022). A score has to
separate samples of a dependent pair from samples of independent sides with the same marginals.
"""

from collections.abc import Callable, Sequence
from functools import cache
from itertools import product
from typing import Any

import numpy as np
from sklearn.metrics import roc_auc_score

from infoatlas_rt import Estimator
from infoatlas_tools import independence_test

from . import report
from .measure import OURS, Series, grid, mean, pick, timed
from .peers import Score
from .peers.classical import gaussian_copula, hsic, ksg, projections, shrunk_copula, sliced
from .peers.distance_correlation import distance_correlation
from .report import number
from .tasks import Array
from .tasks.truths import gaussian_information

DIMS = (16, 64, 128)
SIZES = (100, 200, 500, 1000, 2000)
K, SLICES, PERMUTATIONS = 5, 32, 19
TEST = f"{OURS}, test"

PEERS: dict[str, Score] = {
    "Gaussian copula, 5-sliced": sliced(gaussian_copula, K, SLICES),
    "KSG, 1-sliced": sliced(ksg, 1, SLICES),
    "Gaussian copula, shrunk": shrunk_copula,
    "distance correlation": distance_correlation,
    "HSIC": hsic,
}


def one_feature(d: int) -> Array:
    """Matrix M of y = (M x + noise) / sqrt(2): each coordinate of y depends on the sum of x."""
    return np.full((d, d), d**-0.5)


def two_features(d: int) -> Array:
    """Each half of y depends on the sum over the same half of x, divided by d."""
    half = d // 2
    mixing = np.zeros((d, d))
    mixing[:half, :half] = mixing[half:, half:] = 1 / d
    return mixing


RELATIONS: dict[str, Callable[[int], Array]] = {
    "one feature": one_feature,
    "two features": two_features,
    "independent coordinates": np.eye,
}


def draw(mixing: Array, n: int, dependent: bool, seed: Sequence[int]) -> tuple[Array, Array]:
    """Draw x, y [n, d]; without dependence, y is made from another draw of x."""
    rng = np.random.default_rng([*seed, dependent])
    d = len(mixing)
    x, source, noise = rng.standard_normal((3, n, d))
    return x, ((x if dependent else source) @ mixing.T + noise) / np.sqrt(2)


@cache
def truths(d: int, relation: str, draws: int = 1000) -> tuple[float, float]:
    """Mutual information, and its mean over slices, in closed form (nats)."""
    mixing = RELATIONS[relation](d)
    xx, yy, xy = np.eye(d), (mixing @ mixing.T + np.eye(d)) / 2, mixing.T / np.sqrt(2)
    rng = np.random.default_rng(0)
    # Coordinates are standardised before they are projected.
    unit = np.sqrt(np.diag(yy))
    slices = [
        gaussian_information(
            a.T @ xx @ a, b.T @ (yy / np.outer(unit, unit)) @ b, a.T @ xy / unit @ b
        )
        for a, b in zip(projections(d, K, draws, rng), projections(d, K, draws, rng), strict=True)
    ]
    return gaussian_information(xx, yy, xy), float(np.mean(slices))


def measure(
    estimator: Estimator, dims: Sequence[int], sizes: Sequence[int], trials: int, permutations: int
) -> list[dict[str, Any]]:
    """A row for each relation, dimension, size and score."""
    scores: dict[str, Score] = {
        OURS: lambda x, y: estimator.estimate(x, y).mi,
        TEST: lambda x, y: independence_test(x, y, estimator, permutations=permutations).statistic,
        **PEERS,
    }
    found: Series = {}
    repeats = {n: trials if n <= 500 else max(trials // 2, 2) for n in sizes}
    jobs = product(enumerate(RELATIONS.items()), dims, sizes)
    for (number_of, (relation, mixing_of)), d, n in report.tracked("independence", jobs):
        for trial, dependent in product(range(repeats[n]), (False, True)):
            x, y = draw(mixing_of(d), n, dependent, [trial, number_of, d, n])
            timed(scores, x, y, found, relation, d, n)
    return [_row(*label, *np.array(own).T) for label, own in found.items()]


def _row(relation: str, d: int, n: int, name: str, own: Array, seconds: Array) -> dict[str, Any]:
    """The row of a score, from its values without and with dependence in turn."""
    without, with_ = own[::2], own[1::2]
    truth, truth_sliced = truths(d, relation)
    return {
        "relation": relation,
        "d": d,
        "n": n,
        "score": name,
        "auc": float(roc_auc_score(np.tile([0, 1], len(without)), own)),
        "mean_independent": float(without.mean()),
        "mean_dependent": float(with_.mean()),
        "spread_independent": float(without.std(ddof=1)),
        "spread_dependent": float(with_.std(ddof=1)),
        "truth": truth,
        "truth_sliced": truth_sliced,
        "seconds": float(np.median(seconds)),
        "trials": len(without),
    }


def page(about: dict[str, Any], rows: list[dict[str, Any]]) -> str:
    """All results as Markdown."""

    def auc(own: list[dict[str, Any]]) -> str:
        return number(mean(own, "auc"))

    def means(own: list[dict[str, Any]]) -> str:
        return " / ".join(number(own[0][f"mean_{k}"], 4) for k in ("dependent", "independent"))

    trials, fewer = max(r["trials"] for r in rows), min(r["trials"] for r in rows)
    above = f" ({fewer} above n = 500)" if fewer < trials else ""
    coarse = f" ({number(np.sqrt(1 / (6 * fewer)), 2)} above n = 500)" if above else ""
    parts = [
        "# Independence testing",
        f"ROC-AUC is the area under the ROC curve of each score, over {trials} samples{above} of a "
        "dependent pair and as many of an independent pair with the same marginals. At 1 the score "
        "separates them without error; at 0.5 it is no better than chance. The standard error of "
        f"the area is about {number(np.sqrt(1 / (6 * trials)), 2)} at 0.5{coarse}, and tends to 0 "
        "towards 1.",
        f"`{OURS}` is the estimate in {about['slices']} slices with k = {K}. `{TEST}` is the "
        f"statistic of `independence_test` with {about['permutations']} permutations. All scores "
        "get the same samples, and all samples the same slices. The relations are Gaussian, so the "
        "Gaussian copula is the true model. It is applied to all coordinates with shrinkage, and "
        "in slices.",
        report.byline(about),
        "## ROC-AUC, mean over the relations and dimensions",
        grid(rows, ["score"], "n", auc, "n = {}"),
        "## Information of the dependent pairs",
        "Truth: mutual information of a dependent pair, and its mean over 5-dimensional slices, "
        "both in closed form. Under each n: our mean estimate with dependence / without. Nats.",
        grid(
            pick(rows, score=OURS),
            ["relation", "d"],
            "n",
            means,
            "n = {}",
            {
                "truth": lambda own: number(own[0]["truth"]),
                "truth, sliced": lambda own: number(own[0]["truth_sliced"], 4),
            },
        ),
    ]
    for relation in RELATIONS:
        own = pick(rows, relation=relation)
        parts += [f"## ROC-AUC, {relation}", grid(own, ["d", "score"], "n", auc, "n = {}")]
    times = grid(rows, ["score"], "n", lambda own: report.duration(mean(own, "seconds")), "n = {}")
    return "\n\n".join([*parts, "## Time of one score", times])


def main(arguments: Sequence[Any] | None = None) -> None:
    parser = report.Options(__spec__.name, __doc__, "2 trials, d = 16, n = 100 and 300, 8 slices")
    parser.add_argument("--trials", type=int, default=24, help="of each kind (%(default)s)")
    parser.add_argument("--sizes", type=int, nargs="+", default=SIZES)
    chosen = parser.parse_args(arguments)
    dims, sizes, trials = DIMS, sorted(chosen.sizes), chosen.trials
    slices, permutations = SLICES, PERMUTATIONS
    if chosen.quick:
        dims, sizes, trials, slices, permutations = (16,), (100, 300), 2, 8, 5
    estimator = Estimator(chosen.model, k=K, slices=slices, provider="auto")
    about = report.provenance(chosen.command, estimator)
    about |= {"slices": slices, "permutations": permutations}
    rows = measure(estimator, dims, sizes, trials, permutations)
    report.save(chosen.out, "independence", about, rows, page(about, rows))


if __name__ == "__main__":
    main()
