"""Bounds and accuracy on repeated values: sparse, rare-event, few-level and tied data.

    python -m benchmarks.sparse_data --model edge base wide   # results/sparse.*

Each draw has its own distribution with a closed-form mutual information and, if a side is discrete,
a closed-form entropy. An estimate should neither be below -0.1 nats nor exceed the entropy by more
than its error. The page reports both, and the accuracy.
"""

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from scipy.special import ndtr

from infoatlas_rt import Estimator

from . import report
from .intervals import Z90, inside
from .measure import figures, load_models
from .report import byline, number
from .tasks import Array

Draw = tuple[Array, Array, float, float]  # x, y [n, d], information and least entropy in nats

SIZES = (32, 50, 100, 200, 500)
FEW = 50  # samples, at most, of the kind SMALL
SMALL = f"independent sparse 3 + 5, 95% zeros, n to {FEW}"
FLOOR = -0.1  # nats


def entropy(p: Array) -> float:
    p = p[p > 0]
    return float(-(p * np.log(p)).sum())


def of_table(p: Array) -> tuple[float, float]:
    """Information of joint probabilities [K, L], and the smaller entropy of the two sides."""
    sides = entropy(p.sum(0)), entropy(p.sum(1))
    return sum(sides) - entropy(p.ravel()), min(sides)


def flags(rng: np.random.Generator, n: int, d: int, share: float, renewed: float) -> Draw:
    """d flags, each set with probability `share`, and a copy with a share of them drawn again."""
    x = rng.random((n, d)) < share
    y = np.where(rng.random((n, d)) < renewed, rng.random((n, d)) < share, x)
    p = np.array([1 - share, share])
    information, least = of_table(renewed * np.outer(p, p) + (1 - renewed) * np.diag(p))
    return x.astype(float), y.astype(float), d * information, d * least


def rare_flag(rng: np.random.Generator, n: int) -> Draw:
    share = 10 ** rng.uniform(-2.3, -0.5)
    return flags(rng, n, 1, share, rng.choice([0, 0, 0.05, 0.3]))


def rare_events(rng: np.random.Generator, n: int) -> Draw:
    d, share = int(rng.integers(2, 6)), 10 ** rng.uniform(-2, -0.5)
    return flags(rng, n, d, share, rng.choice([0, 0.1, 0.5, 1]))


def independent_flags(rng: np.random.Generator, n: int) -> Draw:
    shares = 10 ** rng.uniform(-2.3, -0.3, 2)
    x, y = (rng.random((2, n, 1)) < shares[:, None, None]).astype(float)
    return x, y, 0.0, min(entropy(np.array([1 - s, s])) for s in shares)


def few_levels(rng: np.random.Generator, n: int) -> Draw:
    """Any joint distribution of two to eight levels a side."""
    k, levels = rng.integers(2, 9, 2)
    p = rng.dirichlet(np.full(k * levels, 10 ** rng.uniform(-1.5, 0.5)))
    drawn = rng.choice(k * levels, (n, 1), p=p)
    return drawn // levels * 1.0, drawn % levels * 1.0, *of_table(p.reshape(k, levels))


def copied_levels(rng: np.random.Generator, n: int) -> Draw:
    levels = int(rng.integers(2, 65))
    p = rng.dirichlet(np.full(levels, 10 ** rng.uniform(-0.5, 1)))
    x = rng.choice(levels, (n, 1), p=p).astype(float)
    return x, x, *of_table(np.diag(p))


def tied_normals(rng: np.random.Generator, n: int) -> Draw:
    """Normal variables, rounded to half, one or two standard deviations."""
    rho, step = rng.uniform(0, 0.95), rng.choice([0.5, 1.0, 2.0])
    x, noise = rng.standard_normal((2, n, 1))
    y = rho * x + math.sqrt(1 - rho**2) * noise
    levels = np.arange(-math.ceil(8 / step), math.ceil(8 / step) + 1)
    edges = (np.append(levels, levels[-1] + 1) - 0.5) * step
    # A grid of x with nodes at the edges; y given x has a closed form.
    fine = np.linspace(edges[0], edges[-1], 200 * len(levels) + 1)
    middle = (fine[1:] + fine[:-1]) / 2
    given = np.diff(ndtr((edges - rho * middle[:, None]) / math.sqrt(1 - rho**2)), axis=1)
    p = (np.diff(ndtr(fine))[:, None] * given).reshape(len(levels), 200, -1).sum(1)
    return np.round(x / step), np.round(y / step), *of_table(p / p.sum())


def flag_and_level(rng: np.random.Generator, n: int) -> Draw:
    """A flag, and a continuous variable whose mean depends on it."""
    share, shift = 10 ** rng.uniform(-2, -0.3), rng.choice([0.0, 1.0, 3.0, 10.0])
    x = rng.random((n, 1)) < share
    y = rng.standard_normal((n, 1)) + shift * x
    t = np.linspace(-9, 9 + shift, 20_000)
    p = np.stack([(1 - share) * np.exp(-(t**2) / 2), share * np.exp(-((t - shift) ** 2) / 2)])
    p *= (t[1] - t[0]) / math.sqrt(2 * math.pi)
    return x.astype(float), y, of_table(p)[0], entropy(p.sum(1))


def sparse(rng: np.random.Generator, n: int, dx: int, dy: int, zeros: float) -> Draw:
    x, y = (rng.standard_normal((n, d)) * (rng.random((n, d)) > zeros) for d in (dx, dy))
    return x, y, 0.0, math.inf


def independent_sparse(rng: np.random.Generator, n: int) -> Draw:
    """Continuous values in few samples, zeros in all others."""
    dx, dy = rng.integers(1, 6, 2)
    return sparse(rng, n, dx, dy, rng.uniform(0.8, 0.99))


def sliced_events(rng: np.random.Generator, n: int) -> Draw:
    """Rare events of many coordinates and their copy: too wide for an unsliced estimate."""
    x, y, _, least = flags(rng, n, int(rng.integers(21, 30)), 10 ** rng.uniform(-2.5, -1), 0)
    return x, y, math.nan, least  # (the truth of slices is not known)


KINDS: dict[str, Callable[[np.random.Generator, int], Draw]] = {
    "rare flag": rare_flag,
    "rare events": rare_events,
    "independent flags": independent_flags,
    "few levels": few_levels,
    "copied levels": copied_levels,
    "tied normals": tied_normals,
    "flag and level": flag_and_level,
    "independent sparse": independent_sparse,
    SMALL: lambda rng, n: sparse(rng, min(n, FEW), 3, 5, 0.95),
    "copied events, sliced": sliced_events,
}


def draw(kind: str, number: int, n_min: int) -> Draw:
    """The draw of this number; sides are not constant."""
    rng = np.random.default_rng([number, *kind.encode()])
    while True:
        n = max(int(rng.choice(SIZES)), n_min)
        found = KINDS[kind](rng, n)
        if np.ptp(found[0], axis=0).any() and np.ptp(found[1], axis=0).any():
            return found


def measure(name: str, estimator: Estimator, draws: int) -> list[dict[str, Any]]:
    """A row for each kind that the model accepts, with `draws` draws over all kinds."""
    rows = []
    kinds = [kind for kind in KINDS if kind != SMALL or estimator.model_file.n_min <= FEW]
    each = -(-draws // len(kinds))
    for kind in report.tracked(name, kinds):
        values = np.empty((each, 5))
        for i in range(each):
            x, y, truth, least = draw(kind, i, estimator.model_file.n_min)
            found = estimator.estimate(x, y)
            values[i] = found.mi, truth, found.stderr, least, found.clipped
        rows.append({"kind": kind, "estimator": name, **summary(values)})
    return rows


def summary(values: Array) -> dict[str, Any]:
    """Summary of estimates, truths, standard errors, entropies and flags [draws, 5]."""
    mi, truth, stderr, least, clipped = values.T
    known = not np.isnan(truth).any()
    error = mi - truth
    return {
        "draws": len(values),
        "truth": float(truth.mean()) if known else None,
        "mean": float(mi.mean()),
        "mean_absolute_error": float(np.abs(error).mean()) if known else None,
        "within": inside(mi, truth, stderr) if known else None,
        "half_width": Z90 * float(np.median(stderr)),
        "lowest": float(mi.min()),
        "below": int((mi < FLOOR - 1e-9).sum()),
        "highest": float(mi.max()),
        "above": int((mi > least + Z90 * stderr).sum()),
        "farthest_above": float(max((mi - least).max(), 0.0)),
        "clipped": float(clipped.mean()),
    }


def page(about: dict[str, Any], rows: Sequence[dict[str, Any]]) -> str:
    def plain(key: str) -> Callable[[list[dict[str, Any]]], str]:
        return lambda own: "" if own[0][key] is None else number(own[0][key])

    def share(key: str) -> Callable[[list[dict[str, Any]]], str]:
        return lambda own: "" if own[0][key] is None else f"{own[0][key]:.0%}"

    columns = {
        "draws": lambda own: f"{own[0]['draws']:,}",
        "truth": plain("truth"),
        "mean": plain("mean"),
        "mean absolute error": plain("mean_absolute_error"),
        "coverage of 90% intervals": share("within"),
        "median half-width": plain("half_width"),
        "lowest": plain("lowest"),
        "below -0.1": lambda own: str(own[0]["below"]),
        "highest": plain("highest"),
        "largest excess over the entropy": plain("farthest_above"),
        "excess above 1.645 stderr": lambda own: str(own[0]["above"]),
        "clipped": share("clipped"),
    }
    total, below, above = (sum(row[key] for row in rows) for key in ("draws", "below", "above"))
    return f"""# Sparse, rare-event, few-level and tied data

Of {total:,} estimates {below} are below -0.1 nats, and {above} exceed the entropy of a discrete
side by more than 1.645 standard errors. Each draw has its own parameters: shares of flags from
0.5%, 2 to 64 levels, {SIZES[0]} to {SIZES[-1]} samples. Truths are closed forms. "Clipped" is the
share of estimates with a value that was replaced by a bound (`Estimate.clipped`).
"Below -0.1" and "excess above 1.645 stderr" are numbers of estimates.

{figures(rows, ["kind", "estimator"], columns)}

{byline(about)}
"""


def main(arguments: Sequence[Any] | None = None) -> None:
    parser = report.Options(__spec__.name, __doc__, "100 draws", several=True)
    chosen = parser.parse_args(arguments)
    estimators = load_models(chosen.model)
    about = report.provenance(chosen.command, *estimators.values())
    rows: list[dict[str, Any]] = []
    for name, estimator in estimators.items():
        rows += measure(name, estimator, 100 if chosen.quick else 10_000)
    report.save(chosen.out, "sparse", about, rows, page(about, rows))


if __name__ == "__main__":
    main()
