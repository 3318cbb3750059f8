"""Sides whose values repeat: known entropies, and readings that stay within their bounds."""

import math

import numpy as np
import pytest

from infoatlas_rt import Estimator, bundle, independence_test
from infoatlas_rt.discrete import FLOOR, bounded, entropy


def test_entropy_of_known_distributions():
    rng = np.random.default_rng(0)
    for levels, n in ((2, 100), (16, 1000), (500, 1000)):
        found = [entropy(rng.integers(0, levels, (n, 1)).astype(float)) for _ in range(50)]
        assert np.mean(found) == pytest.approx(math.log(levels), rel=0.02)
        assert np.std(found) < 0.1
    flag = np.zeros((500, 1))
    flag[:5] = 1
    assert entropy(flag) == pytest.approx(-0.99 * math.log(0.99) - 0.01 * math.log(0.01), abs=0.01)


def test_rows_count_and_not_their_coordinates():
    rng = np.random.default_rng(1)
    rows = rng.integers(0, 2, (400, 41)).astype(float)[:, [0, 1, 0, 1]]
    assert entropy(rows) == pytest.approx(2 * math.log(2), abs=0.02)
    rows[rows == 0] = -0.0
    rows[::2] += 0.0
    assert entropy(rows) == pytest.approx(2 * math.log(2), abs=0.02)


def test_continuous_sides_have_no_bound():
    rng = np.random.default_rng(2)
    x = rng.standard_normal((300, 3))
    assert entropy(x) == math.inf
    x[:, 1] = 0
    assert entropy(x) == math.inf
    x[7] = x[8]  # one tie
    assert entropy(x) > 10
    assert entropy(np.ones((50, 1))) == 0


def test_bounded():
    np.testing.assert_array_equal(
        bounded(np.float32([-2, -0.0625, 0.3]), 0.2), [FLOOR, -0.0625, 0.2]
    )
    x = np.float32([-0.05, 1e-3, 7.1])
    np.testing.assert_array_equal(bounded(x, math.inf), x)


@pytest.fixture(scope="module", params=bundle.available())
def estimator(request):
    return Estimator(request.param, threads=1)


@pytest.mark.parametrize(("ones", "n"), [(2, 100), (3, 100), (5, 500), (1, 100)])
def test_a_rare_flag_and_its_copy(estimator, ones, n):
    """The anchor alone would read tens of nats below zero: few product pairs decide its bound."""
    share = ones / n
    truth = -share * math.log(share) - (1 - share) * math.log(1 - share)
    for seed in range(3):
        x = np.zeros(n)
        x[np.random.default_rng(seed).choice(n, ones, replace=False)] = 1
        found = estimator.estimate(x, x)
        assert found.mi == pytest.approx(truth, abs=0.05)
        assert found.pointwise.mean() == pytest.approx(found.mi, abs=1e-4)


def test_a_limit_is_reported(estimator):
    x = np.zeros(100)
    x[3] = 1
    found = estimator.estimate(x, x)
    assert found.limited and "limited" in str(found) and found.to_dict()["limited"]
    assert found.mi == pytest.approx(entropy(x[:, None]))
    z = np.random.default_rng(3).standard_normal((100, 2))
    assert not estimator.estimate(z, z[:, :1] + 0.5).limited


def test_a_rare_flag_is_not_independent_of_itself(estimator):
    x = np.zeros(100)
    x[[3, 50, 77]] = 1
    found = independence_test(x, x, estimator, permutations=199)
    assert found.p_value <= 0.01
    assert found.mi == estimator.estimate(x, x).mi


def test_slices_of_rare_events(estimator):
    rng = np.random.default_rng(4)
    for d in (6, 24):
        x = (rng.random((100, d)) < 0.02).astype(float)
        found = Estimator(estimator.bundle.name, threads=1, k=3, slices=6).estimate(x, x)
        assert FLOOR <= found.per_slice.min() and found.per_slice.max() <= entropy(x) + 1e-9
        assert found.mi > 0
