"""The shipped model `wide`: up to twenty coordinates a side without slices."""

import numpy as np
import pytest

from infoatlas_rt import Estimator
from infoatlas_rt.errors import InputError

N = 1000


@pytest.fixture(scope="module")
def wide():
    return Estimator("wide", threads=1)


def gaussian(d, truth, seed, n=N):
    """Canonical correlations of equal strength, both sides turned."""
    rng = np.random.default_rng(seed)
    rho = np.sqrt(-np.expm1(-2 * truth / d))
    x, noise = rng.standard_normal((2, n, d))
    y = rho * x + np.sqrt(1 - rho**2) * noise
    turns = (np.linalg.qr(rng.standard_normal((d, d)))[0] for _ in range(2))
    return tuple(side @ turn for side, turn in zip((x, y), turns, strict=True))


@pytest.mark.parametrize("d", [3, 10, 20])
def test_gaussians_of_many_coordinates(wide, d):
    found = [wide.estimate(*gaussian(d, 2.0, seed)) for seed in range(8)]
    assert np.mean([e.mi for e in found]) == pytest.approx(2.0, rel=0.1)
    assert all(e.k is None and e.slices == 1 for e in found)


def test_slices_see_a_part_of_what_the_whole_holds(wide):
    x, y = gaussian(20, 2.0, 0)
    assert Estimator("edge", threads=1).estimate(x, y).mi < 0.5 * wide.estimate(x, y).mi


def test_independence_in_twenty_dimensions(wide):
    x, y = np.random.default_rng(1).standard_normal((2, N, 20))
    assert abs(wide.estimate(x, y).mi) < 0.05


def test_more_coordinates_are_sliced_in_twenty_dimensions(wide):
    x, y = np.random.default_rng(2).standard_normal((2, 200, 24))
    e = wide.estimate(x, x + 0.5 * y)
    assert e.k == 20 and e.slices == 40


def test_three_samples_a_dimension_at_least(wide):
    assert wide.bundle.n_min == 60
    with pytest.raises(InputError, match="59 samples are fewer than the 60"):
        wide.estimate(*gaussian(2, 1.0, 0, n=59))
