"""Accuracy on strong dependence, 1 to 5 nats, beside two classical estimators.

    python -m benchmarks.strong             # -> benchmarks/results/strong.*
    python -m benchmarks.strong --model wide --dims 5 10 20 --out benchmarks/results/wide

Every kind starts from a Gaussian whose canonical correlations have information proportional to 1,
1/2, 1/3, ..., with random rotations of both sides. It is then made heavy-tailed, clustered, warped,
or a process, so that the truth remains a closed form.
"""

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from scipy.stats import ortho_group

from . import intervals, report
from .measure import Row, as_json, load_models, mean_time, measure, names, pick
from .report import table
from .slicing_studies import gaussian
from .tasks import Array, Case
from .tasks.truths import student_excess

TRUTHS = (1.0, 2.0, 3.0, 4.0, 5.0)
DIMS = (1, 2, 3, 5)
SIZES = (100, 1000)
FREEDOM = 4  # of the t distribution
CLUSTERS = 2
APART = 12.0  # distance of the clusters in standard deviations: they do not overlap

SAYS = {
    "Gaussian": "normal",
    "t": f"multivariate t with {FREEDOM} degrees of freedom, one scale for both sides",
    "mixture": f"{CLUSTERS} clusters far apart, with correlations of opposite sign; the cluster "
    "of a sample contributes log 2 nats",
    "warped": "normal, then monotone maps (exp, cube, arcsinh, ...) of single coordinates",
    "autoregressive": "successive states of a VAR(1) process, one pair from each of n paths",
    "one path": "the same process, n successive pairs of a single path",
}
PATH = "one path"  # not in the means: a short path covers a part of the distribution only


def rotation(rng: np.random.Generator, d: int) -> Array:
    return ortho_group.rvs(d, random_state=rng) if d > 1 else np.ones((1, 1))


def correlations(total: float, d: int) -> Array:
    """Canonical correlations [d] that make `total` nats."""
    share = 1 / np.arange(1, d + 1)
    return np.sqrt(-np.expm1(-2 * total * share / share.sum()))


def student(rng: np.random.Generator, truth: float, d: int, n: int) -> tuple[Array, Array]:
    x, y = gaussian(n, correlations(truth - student_excess(FREEDOM, d), d), rng)
    scale = np.sqrt(rng.chisquare(FREEDOM, (n, 1)) / FREEDOM)
    return x / scale, y / scale


def mixture(rng: np.random.Generator, truth: float, d: int, n: int) -> tuple[Array, Array]:
    x, y = gaussian(n, correlations(truth - math.log(CLUSTERS), d), rng)
    second = rng.random(n) < 1 / CLUSTERS
    y[second] *= -1
    for side in (x, y):
        direction = rng.standard_normal(d)
        side[second] += APART * direction / np.linalg.norm(direction)
    return x, y


def warp(rng: np.random.Generator, side: Array) -> Array:
    maps = (np.exp, lambda v: v**3, np.arcsinh, np.tanh, lambda v: v * np.abs(v))
    return np.stack([maps[rng.integers(len(maps))](column) for column in side.T], axis=1)


def transition(rng: np.random.Generator, truth: float, d: int) -> tuple[Array, Array, Array]:
    """(A, U, r) of s' = A s + e: I(s; s') = truth with A = U diag(r) U', cov(s) = identity.

    Half of the coordinates alternate in sign instead of decaying: r is negative there.
    """
    turn, r = rotation(rng, d), correlations(truth, d)
    r = r * np.where(np.arange(d) % 2, -1, 1)
    return (turn * r) @ turn.T, turn, r


def autoregressive(rng: np.random.Generator, truth: float, d: int, n: int) -> tuple[Array, Array]:
    step, turn, r = transition(rng, truth, d)
    state = rng.standard_normal((n, d))
    shock = (rng.standard_normal((n, d)) * np.sqrt(1 - r**2)) @ turn.T
    return state, state @ step.T + shock


def one_path(rng: np.random.Generator, truth: float, d: int, n: int) -> tuple[Array, Array]:
    step, turn, r = transition(rng, truth, d)
    shock = (rng.standard_normal((n, d)) * np.sqrt(1 - r**2)) @ turn.T
    path = np.empty((n + 1, d))
    path[0] = rng.standard_normal(d)
    for t in range(n):
        path[t + 1] = step @ path[t] + shock[t]
    return path[:-1], path[1:]


def sample(kind: str, truth: float, d: int, n: int, seed: int) -> tuple[Array, Array]:
    """Draw x, y [n, d] whose mutual information is `truth` nats."""
    rng = np.random.default_rng([seed, d, n, round(100 * truth), *kind.encode()])
    if kind == "t":
        x, y = student(rng, truth, d, n)
    elif kind == "mixture":
        x, y = mixture(rng, truth, d, n)
    elif kind in ("autoregressive", PATH):
        # State and next state have the same coordinates, hence one rotation.
        return (autoregressive if kind == "autoregressive" else one_path)(rng, truth, d, n)
    else:
        x, y = gaussian(n, correlations(truth, d), rng)
    x, y = x @ rotation(rng, d), y @ rotation(rng, d)
    return (warp(rng, x), warp(rng, y)) if kind == "warped" else (x, y)


def cases(sizes: Sequence[int], draws: int, dims: Sequence[int]) -> list[Case]:
    return [
        Case(
            {"kind": kind, "d": d},
            truth,
            n,
            draws,
            lambda i, k=kind, t=truth, d=d, n=n: sample(k, t, d, n, i),
            kind == PATH,
        )
        for n in sizes
        for kind in SAYS
        for d in dims
        for truth in TRUTHS
    ]


def relative(rows: list[Row]) -> str:
    """Mean relative error in percent."""
    return f"{100 * np.mean([abs(row.bias) / row.truth for row in rows]):.1f}%"


def page(about: dict[str, Any], rows: list[Row], sizes: Sequence[int]) -> str:
    """All results as Markdown."""
    draws = max(len(row.estimates) for row in rows)
    dims = sorted({row.label["d"] for row in rows})
    kinds = [kind for kind in SAYS if kind != PATH]
    parts = [
        "# Strong dependence",
        f"Mutual information of {TRUTHS[0]:g} to {TRUTHS[-1]:g} nats between two sides of d "
        f"coordinates each, d = {', '.join(map(str, dims))}, with {draws} draws of each case. All "
        "estimators get the same samples.",
        table(["kind", "distribution"], [*SAYS.items()]),
        report.byline(about),
        "## Relative error",
        "Relative error: |mean over draws - truth| / truth, averaged over levels and dimensions. "
        f'The column "all" excludes "{PATH}". There, n states of a slow process cover a part of '
        "its stationary distribution only, and the samples do not determine the truth.",
    ]
    lines = []
    for n in sizes:
        for name in names(rows):
            own = pick(rows, n=n, estimator=name)
            every = [row for row in own if row.label["kind"] != PATH]
            cells = (relative(pick(own, kind=kind)) for kind in [*kinds, PATH])
            lines.append([str(n), name, relative(every), *cells])
    parts.append(table(["n", "estimator", "all", *kinds, PATH], lines))
    lines = []
    for n in sizes:
        for name in names(rows):
            own = [r for r in pick(rows, n=n, estimator=name) if r.label["kind"] != PATH]
            cells = [relative(pick(own, d=d)) for d in dims]
            cells += [relative(pick(own, truth=truth)) for truth in TRUTHS]
            lines.append([str(n), name, *cells, mean_time(own)])
    heads = [*(f"d = {d}" for d in dims), *(f"{truth:g} nats" for truth in TRUTHS), "time"]
    parts += [
        f'Relative error without "{PATH}", by dimension and by level, and time of one estimate.',
        table(["n", "estimator", *heads], lines),
        intervals.section(
            [row for row in rows if row.label["kind"] != PATH],
            sizes,
            lambda row: f"{row.label['kind']} (d = {row.label['d']}, {row.truth:g} nats)",
        ),
        f'A family is a kind of a dimension and a level. "{PATH}" is excluded.',
    ]
    return "\n\n".join(parts)


def main(arguments: Sequence[Any] | None = None) -> None:
    parser = report.Options(__spec__.name, __doc__, "2 draws, n = 100, d = 1 and 3", several=True)
    parser.add_argument("--dims", type=int, nargs="+", default=DIMS)
    chosen = parser.parse_args(arguments)
    sizes, draws, dims = SIZES, 10, chosen.dims
    if chosen.quick:
        sizes, draws, dims = (100,), 2, (1, 3) if dims is DIMS else dims[:2]
    estimators = load_models(chosen.model)
    about = report.provenance(chosen.command, *estimators.values())
    rows = measure("Strong dependence", cases(sizes, draws, dims), estimators)
    report.save(chosen.out, "strong", about, as_json(rows), page(about, rows, sizes))


if __name__ == "__main__":
    main()
