"""Densities of the copulas of hand-made families, and which families are time series."""

from types import SimpleNamespace

import numpy as np
import pytest
from scipy.stats import norm

from benchmarks import families
from benchmarks.measure import measure
from benchmarks.tasks import truths
from benchmarks.tasks.hand_made import HAND_MADE


# Each copula by its distribution function; its density is a second difference of that.
def _gumbel(u, v, theta=2.5):
    return np.exp(-((((-np.log(u)) ** theta) + (-np.log(v)) ** theta) ** (1 / theta)))


def _frank(u, v, theta=6.0):
    return -np.log1p(np.expm1(-theta * u) * np.expm1(-theta * v) / np.expm1(-theta)) / theta


def _joe(u, v, theta=4.0):
    a, b = (1 - u) ** theta, (1 - v) ** theta
    return 1 - (a + b - a * b) ** (1 / theta)


@pytest.mark.parametrize(
    ("cdf", "density"),
    [(_gumbel, truths.gumbel_density), (_frank, truths.frank_density), (_joe, truths.joe_density)],
)
def test_copula_densities(cdf, density):
    u, v = np.meshgrid([0.1, 0.4, 0.8], [0.15, 0.5, 0.9])
    h = 1e-4
    second = sum(i * j * cdf(u + i * h, v + j * h) for i in (-1, 1) for j in (-1, 1)) / (4 * h**2)
    x, y = norm.ppf(u), norm.ppf(v)
    assert density(x, y) * np.exp((x**2 + y**2) / 2) == pytest.approx(second, rel=1e-4)


def test_only_processes_are_announced_as_series():
    """Only processes are flagged as time series, and the flag is passed to the estimator."""
    made = families.cases(HAND_MADE, (32,), 1)
    reported = []

    class Listening:
        def estimate(self, x, y, **options):
            reported.append(options)
            return SimpleNamespace(mi=1.0, stderr=0.1)

    measure("", made, {"ours": Listening()}, {})
    assert {case.label["family"] for case in made if case.time_series} == {
        "second order",
        "magnitudes",
    }
    assert reported == [{"time_series": case.time_series} for case in made]
