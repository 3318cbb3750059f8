"""What slices cannot compare: other numbers of coordinates, and other redundancy.

    python -m benchmarks.redundant_slices   # -> benchmarks/results/redundant_slices.*
    python -m benchmarks.redundant_slices --quick --out build/results

The effects are those of Semenenko et al. (2026, arXiv 2506.04053, "Curse of Slicing").
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from scipy.special import digamma

from infoatlas_rt import Estimator
from infoatlas_rt.cli.console import progress

from . import report
from .measure import pick
from .peers.sliced import projections
from .report import number, table
from .slicing_studies import Row, gaussian, sliced_truth, summary
from .tasks import Array, Generator

DIMS = (6, 10, 20, 40, 80)
SQUARES = (0.5, 0.9, 0.9999)  # squared correlations of all pairs
WIDE = 41  # coordinates of the state of a robot that picks a cube
COPIES = (1, 5, 20, WIDE)
ONE = 0.9  # correlation of the only related pair
NOISE = 0.01  # of noisy copies, in standard deviations
JOINTS = 7
SIZES = (100, 1000)


def limit(d: int) -> float:
    """One-dimensional sliced information of y = x, normal in d coordinates, nats.

    The squared cosine of two random directions is Beta(1/2, (d - 1)/2).
    """
    return float(digamma(d / 2) - digamma((d - 1) / 2)) / 2


def copies(n: int, m: int, noise: float, rho: float, rng: Generator) -> tuple[Array, Array]:
    """x and y [n, WIDE]: m copies of one related pair, and independent coordinates."""
    x, y = rng.standard_normal((2, n, WIDE))
    a, b = gaussian(n, np.array([rho]), rng)
    for side, one in ((x, a), (y, b)):
        side[:, :m] = one + noise * side[:, :m] if m > 1 else one
    return x, y


def copies_truth(m: int, rho: float, k: int, draws: int = 4000) -> float:
    """Mean information of slices of `copies` with little noise, nats."""
    rng = np.random.default_rng(0)
    left, right = (projections(WIDE, k, draws, rng) for _ in range(2))
    a, b = (side[:, :m].sum(axis=1) for side in (left, right))  # weights [draws, k] of the pair
    # Covariance of a slice: of independent coordinates, of the noise of copies, and of the pair.
    own_x, own_y = (
        np.eye(k)
        - (1 - NOISE**2) * np.swapaxes(p[:, :m], 1, 2) @ p[:, :m]
        + w[:, :, None] * w[:, None, :]
        for p, w in ((left, a), (right, b))
    )
    explained = rho**2 * _quadratic(own_x, a) * _quadratic(own_y, b)
    return float(-0.5 * np.log1p(-explained).mean())


def _quadratic(matrix: Array, w: Array) -> Array:
    return np.einsum("si,si->s", w, np.linalg.solve(matrix, w[:, :, None])[:, :, 0])


def arm(angles: Array) -> Array:
    """Positions of the ends of all links of a plane arm, [n, 2 JOINTS], from its angles."""
    sums = angles.cumsum(axis=1)
    return np.hstack([np.cos(sums).cumsum(axis=1), np.sin(sums).cumsum(axis=1)])


def studies(model: str, repeats: int, dims: Sequence[int], sizes: Sequence[int]) -> Iterator[Row]:
    narrow, usual = Estimator(model, k=1, slices=40), Estimator(model, slices=40)
    n = max(sizes)

    def run(estimator: Estimator, draw: Any) -> list[float]:
        return [estimator.estimate(*draw(np.random.default_rng([r, 5]))).mi for r in range(repeats)]

    for d in dims:
        for square in SQUARES:
            rho = np.full(d, math.sqrt(square))
            for k, estimator in ((1, narrow), (5, usual)):
                values = run(estimator, lambda rng, rho=rho: gaussian(n, rho, rng))
                label = {"d": d, "rho^2": square, "k": k}
                yield summary("saturation", label, sliced_truth(rho, k), values)
        rho = np.r_[ONE, np.zeros(d - 1)]
        values = run(usual, lambda rng, rho=rho: gaussian(n, rho, rng))
        yield summary("one informative", {"d": d}, sliced_truth(rho, 5), values)
    for m in COPIES:
        for rho in (ONE, 0.6):
            for noise in (NOISE, 0.0):
                values = run(usual, lambda rng, m=m, s=noise, r=rho: copies(n, m, s, r, rng))
                label = {"copies": m, "noise": noise, "rho": rho}
                yield summary("copies", label, copies_truth(m, rho, 5), values)
    for poses in (False, True):

        def states(rng: Generator, poses: bool = poses) -> tuple[Array, Array]:
            sides = gaussian(n, np.full(JOINTS, ONE), rng)
            return tuple(np.hstack([s, arm(0.5 * s)]) if poses else s for s in sides)

        values = run(usual, states)
        truth = -JOINTS / 2 * math.log1p(-(ONE**2))
        yield summary("joints", {"poses": poses}, truth, values)
    for name, own in (("independent", 0.0), ("y = x + e", math.sqrt(0.5))):
        for size in sizes:
            rho = np.full(WIDE, own)
            found = [
                usual.estimate(*gaussian(size, rho, np.random.default_rng([r, 7])))
                for r in range(2 * repeats)
            ]
            row = summary(
                "half-widths",
                {"case": name, "n": size},
                sliced_truth(rho, 5),
                [f.mi for f in found],
            )
            half = float(np.mean([1.645 * f.stderr for f in found]))
            yield {**row, "half_width": half}


def page(about: dict[str, Any], rows: list[Row], dims: Sequence[int]) -> str:
    def cell(row: Row) -> str:
        return f"{number(row['mean'])} ({number(row['truth'])})"

    saturation, copied = pick(rows, study="saturation"), pick(rows, study="copies")
    heads = [f"k = {k}, rho² = {square:g}" for k in (1, 5) for square in SQUARES]
    alone, together = pick(rows, study="joints")
    widths = pick(rows, study="half-widths")
    parts = [
        "# What slices cannot compare",
        f"Mean estimates of 40 slices in nats over {len(saturation[0]['values'])} draws, in "
        "brackets the true value of the slices. Consequences for users are in "
        "[when to trust an estimate](../../docs/when-to-trust.md#slices-rank).",
        report.byline(about),
        "## Sliced information saturates, and falls with the number of coordinates",
        "All d coordinates of x and y correlate pair by pair, so the unsliced information grows "
        f"with d and with rho²: from {number(-3 * math.log1p(-SQUARES[0]), 1)} to "
        f"{number(-max(dims) / 2 * math.log1p(-SQUARES[-1]), 0)} nats. Limit: one-dimensional "
        "slices of y = x, whose unsliced information is infinite.",
        table(
            ["d", "1 / (d - 1)", "limit, k = 1", *heads],
            [
                [
                    str(d),
                    number(1 / (d - 1)),
                    number(limit(d)),
                    *(
                        cell(pick(saturation, d=d, k=k, **{"rho^2": square})[0])
                        for k in (1, 5)
                        for square in SQUARES
                    ),
                ]
                for d in dims
            ],
        ),
        "## One informative coordinate among d",
        f"One pair with correlation {ONE}, which is {number(-0.5 * math.log1p(-(ONE**2)))} nats "
        "for every d; k = 5.",
        table(
            ["d", "estimate (truth of the slices)"],
            [[str(row["d"]), cell(row)] for row in pick(rows, study="one informative")],
        ),
        "## Copies of the informative coordinate",
        f"{WIDE} coordinates a side, and m of them are copies of one pair; k = 5. The "
        "unsliced information is that of the pair. Noisy copies have independent noise of "
        f"{NOISE:g} standard deviations. Exact ones are left out before slicing.",
        table(
            ["correlation, nats", "m", "noisy copies (truth of the slices)", "exact copies"],
            [
                [
                    f"{rho:g}, {number(-0.5 * math.log1p(-(rho**2)))}",
                    str(m),
                    cell(noisy),
                    number(exact["mean"]),
                ]
                for rho in (ONE, 0.6)
                for m in COPIES
                for noisy in pick(copied, copies=m, rho=rho, noise=NOISE)
                for exact in pick(copied, copies=m, rho=rho, noise=0.0)
            ],
        ),
        "## Joints, and positions that they determine",
        f"{JOINTS} joint angles a side, each pair with correlation {ONE}, alone or with the "
        f"{2 * JOINTS} coordinates of the ends of the links of a plane arm. They are nonlinear "
        "functions of the angles, so the unsliced information is the same, "
        f"{number(alone['truth'])} nats, and they are not left out; k = 5.",
        table(
            ["coordinates", "estimate in slices"],
            [
                [f"{JOINTS} joints", number(alone["mean"])],
                [f"{JOINTS} joints and {2 * JOINTS} positions", number(together["mean"])],
            ],
        ),
        "## Half-widths of 90% intervals on elliptical data",
        f"{WIDE} + {WIDE} normal coordinates; k = 5. Most of the error at n = 100 is a bias, which "
        "the spread does not contain. One factor for all data sets the width. Mixtures of clusters "
        "need it, whose error is several times as large ([coverage by family](calibration.md)).",
        table(
            ["data", "n", "truth", "estimate", "spread", "root mean square error", "half-width"],
            [
                [
                    row["case"],
                    str(row["n"]),
                    number(row["truth"]),
                    number(row["mean"]),
                    number(row["spread"], 4),
                    number(math.hypot(row["mean"] - row["truth"], row["spread"]), 4),
                    number(row["half_width"], 4),
                ]
                for row in widths
            ],
        ),
    ]
    return "\n\n".join(parts)


def main(arguments: Sequence[Any] | None = None) -> None:
    parser = report.Options(__spec__.name, __doc__, "2 draws, n = 100, d up to 10", several=False)
    chosen = parser.parse_args(arguments)
    repeats, dims, sizes = (2, DIMS[:2], SIZES[:1]) if chosen.quick else (5, DIMS, SIZES)
    about = report.provenance(chosen.command, Estimator(chosen.model))
    total, rows = len(dims) * 7 + len(COPIES) * 4 + 2 + 2 * len(sizes), []
    with progress("redundant slices") as advance:
        for row in studies(chosen.model, repeats, dims, sizes):
            rows.append(row)
            advance(len(rows) / total)
    report.save(chosen.out, "redundant_slices", about, rows, page(about, rows, dims))


if __name__ == "__main__":
    main()
