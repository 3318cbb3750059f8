"""Estimates from wrong calls: steps passed as independent samples, quaternions of either sign.

python -m benchmarks.pitfalls
"""

from collections.abc import Sequence
from typing import Any

import numpy as np
from scipy.signal import lfilter

from infoatlas_rt import Estimator

from . import report
from .measure import load_models
from .report import number
from .tasks import Array, Generator
from .tasks.more_families import MORE

MOTIONS = {"random walks": 1.0, "autoregressions of 0.98": 0.98, "autoregressions of 0.9": 0.9}
WINDOWS = (50, 100, 200, 500, 1000)
SIZES = (100, 1000)
REPEATS = 12
ATTITUDE = next(family for family in MORE.families if family.name == "attitude")

Row = dict[str, Any]


def motion(memory: float, n: int, rng: Generator) -> Array:
    """Steps [n, 3] of an autoregression, started in its stationary distribution if there is one."""
    noise = rng.standard_normal((n, 3))
    if memory < 1:
        noise[0] /= np.sqrt(1 - memory**2)
    return np.asarray(lfilter([1.0], [1.0, -memory], noise, axis=0))


def windows(name: str, estimator: Estimator, repeats: int) -> list[Row]:
    """Two independent robots: estimates with and without `time_series=True`. Truth: 0."""
    rows = []
    for kind, memory in MOTIONS.items():
        for n in WINDOWS:
            values: dict[bool, list[float]] = {False: [], True: []}
            for seed in range(repeats):
                rng = np.random.default_rng([seed, n])
                x, y = motion(memory, n, rng), motion(memory, n, rng)
                for ordered, found in values.items():
                    found.append(estimator.estimate(x, y, time_series=ordered).mi)
            for ordered, found in values.items():
                label = {"study": "windows", "kind": kind, "n": n, "time_series": ordered}
                rows.append(summary(label, name, found))
    return rows


def of_one_sign(q: Array) -> Array:
    """Of quaternions q [n, 4] and -q, those whose largest component is positive."""
    largest = np.take_along_axis(q, np.abs(q).argmax(axis=1)[:, None], axis=1)
    return np.where(largest < 0, -q, q)


def attitudes(name: str, estimator: Estimator, repeats: int) -> list[Row]:
    """Two attitudes as quaternions of either sign and of one sign, with the same information."""
    rows = []
    for n in SIZES:
        values: dict[bool, list[float]] = {False: [], True: []}
        for seed in range(repeats):
            x, y = ATTITUDE.sample(np.random.default_rng([seed, n]), n)
            for one_sign, found in values.items():
                sides = [of_one_sign(q) if one_sign else q for q in (x, y)]
                found.append(estimator.estimate(*sides).mi)
        for one_sign, found in values.items():
            label = {"study": "attitudes", "n": n, "one_sign": one_sign}
            rows.append(summary(label | {"truth": ATTITUDE.truth}, name, found))
    return rows


def summary(label: Row, name: str, values: Sequence[float]) -> Row:
    mean, spread = float(np.mean(values)), float(np.std(values, ddof=1))
    return {**label, "estimator": name, "mean": mean, "spread": spread, "values": tuple(values)}


def page(about: dict[str, Any], rows: Sequence[Row]) -> str:
    def cell(**wanted: Any) -> str:
        (row,) = [row for row in rows if wanted.items() <= row.items()]
        return f"{number(row['mean'], 2)} ± {number(row['spread'], 2)}"

    names = list(dict.fromkeys(row["estimator"] for row in rows))
    sequences = [
        [f"{kind}, {'in order of time' if ordered else 'as independent samples'}, {name}"]
        + [cell(kind=kind, n=n, time_series=ordered, estimator=name) for n in WINDOWS]
        for name in names
        for kind in MOTIONS
        for ordered in (False, True)
    ]
    signs = [
        [f"{'one sign' if one_sign else 'either sign'}, {name}"]
        + [cell(study="attitudes", n=n, one_sign=one_sign, estimator=name) for n in SIZES]
        for name in names
        for one_sign in (False, True)
    ]
    steps = [f"{n} steps" for n in WINDOWS]
    return f"""# Estimates from wrong calls

Mean of {len(rows[0]["values"])} draws ± standard deviation, in nats. Consequences for users are in
[when to trust an estimate](../../docs/when-to-trust.md).

## Two independent robots

Three coordinates each, unsliced. The truth is 0. "In order of time" is with `time_series=True`,
"as independent samples" without.

{report.table(["motion", *steps], sequences)}

## Two attitudes as unit quaternions

The truth is {number(ATTITUDE.truth)} in all rows, because the sign of a quaternion has no meaning.
"One sign" makes the largest component of each quaternion positive.

{report.table(["quaternions", *(f"n = {n}" for n in SIZES)], signs)}

{report.byline(about)}
"""


def main(arguments: Sequence[Any] | None = None) -> None:
    parser = report.Options(__spec__.name, __doc__, "2 draws", several=True)
    chosen = parser.parse_args(arguments)
    estimators = load_models(chosen.model)
    about = report.provenance(chosen.command, *estimators.values())
    repeats = 2 if chosen.quick else REPEATS
    rows: list[Row] = []
    for name, estimator in estimators.items():
        rows += windows(name, estimator, repeats) + attitudes(name, estimator, repeats)
    report.save(chosen.out, "pitfalls", about, rows, page(about, rows))


if __name__ == "__main__":
    main()
