"""Independence testing in 16 to 128 dimensions, beside kernel, distance and sliced peers.

    python -m benchmarks.independence       # -> benchmarks/results/independence.*
    python -m benchmarks.independence --quick --out build/results

The three relations of the InfoAtlas paper (Fig. 3; after Goldfeld et al. 2022). A score has to
separate samples of a dependent pair from samples of independent sides with the same marginals.
"""

from collections.abc import Callable, Sequence
from time import perf_counter
from typing import Any

import numpy as np
from sklearn.metrics import roc_auc_score

from infoatlas_rt import Estimator
from infoatlas_rt.cli.console import progress
from infoatlas_tools import independence_test

from . import report
from .measure import OURS, pick
from .peers import Score
from .peers.classical import gaussian_copula, hsic, ksg, projections, shrunk_copula, sliced
from .peers.distance_correlation import distance_correlation
from .report import number, table
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
NAMES = (OURS, TEST, *PEERS)


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


def truths(mixing: Array, draws: int = 1000) -> tuple[float, float]:
    """Mutual information, and its mean over slices, in closed form (nats)."""
    d = len(mixing)
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
    rows = []
    repeats = {n: trials if n <= 500 else max(trials // 2, 2) for n in sizes}
    total, done = len(RELATIONS) * len(dims) * sum(n * repeats[n] for n in sizes), 0
    with progress("independence") as advance:
        for number_of, (relation, mixing_of) in enumerate(RELATIONS.items()):
            for d in dims:
                mixing = mixing_of(d)
                truth, truth_sliced = truths(mixing)
                for n in sizes:
                    values: dict[str, list[float]] = {name: [] for name in NAMES}
                    seconds: dict[str, list[float]] = {name: [] for name in NAMES}
                    for trial in range(repeats[n]):
                        for dependent in (False, True):
                            x, y = draw(mixing, n, dependent, [trial, number_of, d, n])
                            for name, score in scores.items():
                                start = perf_counter()
                                values[name].append(score(x, y))
                                seconds[name].append(perf_counter() - start)
                        done += n
                        advance(done / total)
                    for name in NAMES:
                        own = np.array(values[name])
                        rows.append(
                            {
                                "relation": relation,
                                "d": d,
                                "n": n,
                                "score": name,
                                "auc": float(roc_auc_score(np.tile([0, 1], repeats[n]), own)),
                                "mean_independent": float(own[::2].mean()),
                                "mean_dependent": float(own[1::2].mean()),
                                "spread_independent": float(own[::2].std(ddof=1)),
                                "spread_dependent": float(own[1::2].std(ddof=1)),
                                "truth": truth,
                                "truth_sliced": truth_sliced,
                                "seconds": float(np.median(seconds[name])),
                                "trials": repeats[n],
                            }
                        )
    return rows


def page(
    about: dict[str, Any], rows: list[dict[str, Any]], dims: Sequence[int], sizes: Sequence[int]
) -> str:
    """All results as Markdown."""
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
        table(
            ["score", *(f"n = {n}" for n in sizes)],
            [
                [name, *(number(mean_auc(pick(rows, n=n, score=name))) for n in sizes)]
                for name in NAMES
            ],
        ),
        "## Information of the dependent pairs",
        "Truth: mutual information of a dependent pair, and its mean over 5-dimensional slices, "
        "both in closed form. Under each n: our mean estimate with dependence / without. Nats.",
        table(
            ["relation", "d", "truth", "truth, sliced", *(f"n = {n}" for n in sizes)],
            [
                [
                    relation,
                    str(d),
                    number(own[0]["truth"]),
                    number(own[0]["truth_sliced"], 4),
                    *(
                        f"{number(r['mean_dependent'], 4)} / {number(r['mean_independent'], 4)}"
                        for r in own
                    ),
                ]
                for relation in RELATIONS
                for d in dims
                for own in [pick(rows, relation=relation, d=d, score=OURS)]
            ],
        ),
    ]
    for relation in RELATIONS:
        lines = [
            [
                str(d),
                name,
                *(number(r["auc"]) for r in pick(rows, relation=relation, d=d, score=name)),
            ]
            for d in dims
            for name in NAMES
        ]
        parts += [
            f"## ROC-AUC, {relation}",
            table(["d", "score", *(f"n = {n}" for n in sizes)], lines),
        ]
    times = [
        [
            name,
            *(
                report.duration(float(np.mean([r["seconds"] for r in pick(rows, n=n, score=name)])))
                for n in sizes
            ),
        ]
        for name in NAMES
    ]
    parts += ["## Time of one score", table(["score", *(f"n = {n}" for n in sizes)], times)]
    return "\n\n".join(parts)


def mean_auc(rows: list[dict[str, Any]]) -> float:
    return float(np.mean([row["auc"] for row in rows]))


def main(arguments: Sequence[Any] | None = None) -> None:
    parser = report.Options(
        __spec__.name, __doc__, "4 trials, d = 16, n = 100 and 300, 8 slices", several=False
    )
    parser.add_argument("--trials", type=int, default=24, help="of each kind (%(default)s)")
    parser.add_argument("--sizes", type=int, nargs="+", default=SIZES)
    chosen = parser.parse_args(arguments)
    dims, sizes, trials = DIMS, sorted(chosen.sizes), chosen.trials
    slices, permutations = SLICES, PERMUTATIONS
    if chosen.quick:
        dims, sizes, trials, slices, permutations = (16,), (100, 300), 4, 8, 5
    estimator = Estimator(chosen.model, k=K, slices=slices, provider="auto")
    about = report.provenance(chosen.command, estimator)
    about |= {"slices": slices, "permutations": permutations}
    rows = measure(estimator, dims, sizes, trials, permutations)
    report.save(chosen.out, "independence", about, rows, page(about, rows, dims, sizes))


if __name__ == "__main__":
    main()
