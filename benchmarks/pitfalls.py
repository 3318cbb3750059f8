"""Estimates from wrong calls: steps passed as independent samples, quaternions of either sign.

python -m benchmarks.pitfalls
"""

from collections.abc import Iterator, Sequence
from itertools import product
from typing import Any

import numpy as np
from scipy.signal import lfilter

from infoatlas_rt import Estimator

from . import report
from .measure import grid, load_models, pick
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


def windows(estimator: Estimator, repeats: int) -> Iterator[Row]:
    """Two independent robots: estimates with and without `time_series=True`. Truth: 0."""
    for (kind, memory), n in product(MOTIONS.items(), WINDOWS):
        sides = []
        for seed in range(repeats):
            rng = np.random.default_rng([seed, n])
            sides.append((motion(memory, n, rng), motion(memory, n, rng)))
        for ordered in (False, True):
            values = [estimator.estimate(*pair, time_series=ordered).mi for pair in sides]
            label = {"study": "windows", "kind": kind, "n": n, "time_series": ordered}
            yield label | summary(values)


def of_one_sign(q: Array) -> Array:
    """Of quaternions q [n, 4] and -q, those whose largest component is positive."""
    largest = np.take_along_axis(q, np.abs(q).argmax(axis=1)[:, None], axis=1)
    return np.where(largest < 0, -q, q)


def attitudes(estimator: Estimator, repeats: int) -> Iterator[Row]:
    """Two attitudes as quaternions of either sign and of one sign, with the same information."""
    for n in SIZES:
        sides = [ATTITUDE.sample(np.random.default_rng([seed, n]), n) for seed in range(repeats)]
        for one_sign in (False, True):
            values = [
                estimator.estimate(*(map(of_one_sign, pair) if one_sign else pair)).mi
                for pair in sides
            ]
            label = {"study": "attitudes", "n": n, "one_sign": one_sign, "truth": ATTITUDE.truth}
            yield label | summary(values)


def summary(values: Sequence[float]) -> Row:
    mean, spread = float(np.mean(values)), float(np.std(values, ddof=1))
    return {"mean": mean, "spread": spread, "values": tuple(values)}


def page(about: dict[str, Any], rows: Sequence[Row]) -> str:
    def cell(own: list[Row]) -> str:
        return f"{number(own[0]['mean'], 2)} ± {number(own[0]['spread'], 2)}"

    calls = {False: "as independent samples", True: "in order of time"}
    signs = {False: "either sign", True: "one sign"}
    sequences = [
        {**row, "motion": f"{row['kind']}, {calls[row['time_series']]}, {row['estimator']}"}
        for row in pick(rows, study="windows")
    ]
    attitudes = [
        {**row, "quaternions": f"{signs[row['one_sign']]}, {row['estimator']}"}
        for row in pick(rows, study="attitudes")
    ]
    return f"""# Estimates from wrong calls

Mean of {len(rows[0]["values"])} draws ± standard deviation, in nats. Consequences for users are in
[when to trust an estimate](../../docs/when-to-trust.md).

## Two independent robots

Three coordinates each, unsliced. The truth is 0. "In order of time" is with `time_series=True`,
"as independent samples" without.

{grid(sequences, ["motion"], "n", cell, "{} steps")}

## Two attitudes as unit quaternions

The truth is {number(ATTITUDE.truth)} in all rows, because the sign of a quaternion has no meaning.
"One sign" makes the largest component of each quaternion positive.

{grid(attitudes, ["quaternions"], "n", cell, "n = {}")}

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
        found = (*windows(estimator, repeats), *attitudes(estimator, repeats))
        rows += [{**row, "estimator": name} for row in found]
    report.save(chosen.out, "pitfalls", about, rows, page(about, rows))


if __name__ == "__main__":
    main()
