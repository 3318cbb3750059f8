"""Properties for any data and any weights: determinism, invariances, and finite values."""

import numpy as np
import pytest
from hypothesis import HealthCheck, assume, given, settings, strategies as st

from fakes import pairs
from infoatlas_rt import Estimator
from infoatlas_rt.estimation.prepare import Samples
from infoatlas_rt.models import model_file

N = 100
QUICK = settings(
    deadline=None,
    max_examples=25,
    derandomize=True,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much],
)


@pytest.mark.parametrize("options", [{}, {"k": 2, "slices": 5}])
def test_checked_arrays_have_the_same_estimate(options):
    x, y = pairs(dx=4, dy=3)
    estimator = Estimator(threads=1, **options)
    steps, groups = np.array([0.1, 0.0, 0.2, 0.3]), np.arange(N) % 10
    for passed in ({}, {"time_series": True}, {"resolution_x": steps, "groups": groups}):
        checked = estimator.estimate_checked(Samples(x, y, **passed))
        assert set(estimator.seconds) == {"slicing", "preprocessing", "inference", "total"}
        assert estimator.estimate(x, y, **passed).to_dict(True) == checked.to_dict(True)


def test_the_seed_matters():
    x, y = pairs(dx=4, dy=4)
    assert Estimator(threads=1).estimate(x, y).mi != Estimator(threads=1, seed=1).estimate(x, y).mi


MAPS = (
    lambda v: 1e-3 * v - 50, lambda v: v**3 + 1e-3 * v, lambda v: np.exp(4 * v), np.arctan,
    lambda v: np.sinh(20 * v), lambda v: v + 1e6 * (v > 0.1), np.cbrt,
    lambda v: np.unique(v, return_inverse=True)[1],
)  # fmt: skip


@QUICK
@given(
    seed=st.integers(0, 10**6),
    n=st.integers(50, 130),
    maps=st.lists(st.sampled_from(MAPS), min_size=4, max_size=4),
    grid=st.sampled_from([None, 4.0]),
)
def test_increasing_maps_change_nothing(estimator, seed, n, maps, grid):
    x, y = pairs(n, seed=seed)
    if grid:  # with ties
        x = np.round(x * grid) / grid
    columns = np.hstack([x, y]).T
    mapped = np.column_stack([change(own) for change, own in zip(maps, columns, strict=True)])
    for before, after in zip(columns, mapped.T, strict=True):
        assume(len(np.unique(before)) == len(np.unique(after)))  # strictly monotone, also in floats
    before, after = estimator.estimate(x, y), estimator.estimate(mapped[:, :2], mapped[:, 2:])
    assert after.mi == pytest.approx(before.mi, abs=1e-6)
    np.testing.assert_allclose(after.pointwise, before.pointwise, atol=1e-5)


@QUICK
@given(seed=st.integers(0, 10**6), flips=st.lists(st.booleans(), min_size=4, max_size=4))
def test_decreasing_maps_change_little(estimator, seed, flips):
    x, y = pairs(seed=seed)
    signs = np.where(flips, -1.0, 1.0)
    before = estimator.estimate(x, y).mi
    assert estimator.estimate(x * signs[:2], y * signs[2:]).mi == pytest.approx(before, abs=0.02)


# Tolerance of a trained model in nats, with all n-1 shifts, n = 100 and about 0.4 nats.
TOLERANCE = 0.15
trained = pytest.mark.skipif(model_file.load().steps == 0, reason="the shipped model is untrained")


@trained
@QUICK
@given(seed=st.integers(0, 10**6))
def test_order_of_samples(all_shifts, seed):
    x, y = pairs(seed=seed)
    order = np.random.default_rng(seed).permutation(N)
    one, other = all_shifts.estimate(x, y), all_shifts.estimate(x[order], y[order])
    assert other.mi == pytest.approx(one.mi, abs=TOLERANCE)


@trained
@QUICK
@given(seed=st.integers(0, 10**6), dx=st.integers(1, 3), dy=st.integers(1, 3))
def test_swapping_the_sides(all_shifts, seed, dx, dy):
    x, y = pairs(dx=dx, dy=dy, seed=seed)
    one, other = all_shifts.estimate(x, y), all_shifts.estimate(y, x)
    assert other.mi == pytest.approx(one.mi, abs=TOLERANCE)


@pytest.fixture(scope="module")
def all_shifts():
    return Estimator(threads=1, shifts=N - 1)
