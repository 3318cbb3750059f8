"""Wide sides by directions from the other half of the samples."""

import copy
import dataclasses
import pickle

import numpy as np
import pytest

from infoatlas_rt import Estimator, InputError
from infoatlas_rt.estimation.directions import _halves_of_groups, along, canonical
from infoatlas_rt.vector.windows import VectorWindows
from refusals import refuses


@pytest.fixture(scope="module")
def estimator():
    return Estimator(threads=1, directions="canonical")


def rotated(related, d, rng):
    n, m = related.shape
    both = np.concatenate([related, rng.standard_normal((n, d - m))], axis=1)
    return both @ np.linalg.qr(rng.standard_normal((d, d)))[0]


def linear(n=600, dx=12, dy=12, seed=0):
    """Two hidden pairs with correlation 0.8: 1.02 nats."""
    rng = np.random.default_rng(seed)
    x, noise = rng.standard_normal((2, n, 2))
    return rotated(x, dx, rng), rotated(0.8 * x + 0.6 * noise, dy, rng)


def test_linear_directions_are_found(estimator):
    result = estimator.estimate(*linear())
    assert 0.75 < result.mi < 1.1 and (result.slices, result.k, result.parts) == (1, 5, 2)
    assert result.directions == "canonical"
    assert "5 canonical directions: usually too low" in str(result)
    assert result.to_dict()["directions"] == "canonical" and result.per_slice.shape == (1,)
    assert result.mi == pytest.approx(result.pointwise.mean(), abs=1e-4)


def test_gaussian_dependence_of_further_directions_is_added(estimator):
    x, noise = np.random.default_rng(0).standard_normal((2, 1000, 20))
    result = estimator.estimate(x, 0.6 * x + 0.8 * noise)  # in twenty directions: 4.46 nats
    assert abs(result.mi + 10 * np.log(1 - 0.36)) < 0.3
    assert result.gaussian > 4 and result.stderr > result.noise > 0
    assert result.mi == pytest.approx(result.pointwise.mean(), abs=1e-4)
    few = estimator.estimate(x[:150], 0.6 * x[:150] + 0.8 * noise[:150])
    assert few.mi < 2  # below 4 samples per coordinate


def test_heavy_tails_are_no_further_dependence(estimator):
    """A scale that both sides share, 0.5 nats, varies covariances as dependence would."""
    rng = np.random.default_rng(0)
    scale = np.where(rng.random((1000, 1)) < 0.2, 10.0, 1.0)
    x, y = scale * rng.standard_normal((2, 1000, 50))
    assert estimator.estimate(x, y).mi < 0.5


def test_the_entropy_of_repeated_rows_bounds_the_sum(estimator):
    rng = np.random.default_rng(0)
    codes, rows = rng.standard_normal((2, 40, 15)), np.arange(2000) % 40
    x, y = codes[0][rows], codes[1][np.where(rng.random(2000) < 0.1, rows[::-1], rows)]
    assert 2.5 < estimator.estimate(x, y).mi <= np.log(40) + 0.01


def test_a_coordinate_that_moves_in_one_half_of_a_series(estimator):
    x, y = linear()
    x[:300, 3] = 0.0
    assert 0.5 < estimator.estimate(x, y, time_series=True).mi < 1.2


def test_canonical_directions_of_a_correlation():
    x, y = linear(3000, dx=10, dy=8)
    u, v = canonical(x, y, 3)
    assert u.shape == (10, 3) and v.shape == (8, 3)
    correlations = np.corrcoef((x @ u).T, (y @ v).T)[:3, 3:]
    assert np.allclose(correlations, np.diag(np.diag(correlations)), atol=0.01)
    assert np.allclose(np.diag(correlations), [0.8, 0.8, 0], atol=0.1)
    assert (np.diff(np.diag(correlations)) < 0).all()


def test_no_more_directions_than_dimensions():
    x, y = linear(dx=3, dy=2)
    assert [found.shape for found in canonical(x, y, 5)] == [(3, 2), (2, 2)]
    assert canonical(np.repeat(x, 4, axis=1), y, 5)[0].shape == (12, 2)
    assert np.array_equal(canonical(np.zeros((600, 6)), y, 5)[0], np.eye(6, 5))


def test_independent_sides_stay_near_zero(estimator):
    for seed in range(3):
        x, y = np.random.default_rng(seed).standard_normal((2, 300, 20))
        assert abs(estimator.estimate(x, y).mi) < 0.1


def test_one_narrow_side_enters_as_it_is(estimator):
    x, y = linear(dy=3)
    result = estimator.estimate(x, y)
    assert 0.75 < result.mi < 1.15 and result.rank_y == 3
    assert result.k == 3  # as many as there are
    assert estimator.estimate(y, x).mi == pytest.approx(result.mi, abs=0.1)


def test_narrow_sides_are_estimated_unsliced(estimator):
    x, y = linear(dx=4, dy=5)
    plain = Estimator(threads=1).estimate(x, y)
    result = estimator.estimate(x, y)
    assert result.mi == plain.mi and (result.k, result.directions, result.parts) == (None, None, 1)
    x = np.column_stack([np.ones((600, 4)), x])  # eight coordinates; four vary
    result = estimator.estimate(x, y)
    assert result.mi == plain.mi and result.constant_x == (0, 1, 2, 3)


def test_constants_and_ranks(estimator):
    x, y = linear()
    plain = estimator.estimate(x, y)
    result = estimator.estimate(np.column_stack([x[:, :3], np.full(600, 7.0), x[:, 3:]]), y)
    assert result.mi == plain.mi and result.constant_x == (3,)
    deficient = x[:, :3] @ np.random.default_rng(0).standard_normal((3, 12))
    result = estimator.estimate(deficient, y)
    assert np.isfinite(result.mi) and result.mi < 1.1
    copies = np.repeat(x[:, :2], 6, axis=1)  # of rank two
    assert estimator.estimate(copies, y).rank_x == 2 and estimator.estimate(x, x).saturated
    constant = estimator.estimate(np.ones((600, 12)), y)
    assert constant.degenerate and constant.mi == constant.stderr == 0
    narrow = estimator.estimate(np.ones((600, 12)), y[:, :2])
    assert narrow.degenerate and narrow.directions is None  # nothing is reduced
    assert constant.constant_x == tuple(range(12))


def test_ties_and_equal_rows_stay_equal(estimator):
    x, y = linear()
    flags = (x > 0).astype(float)
    result = estimator.estimate(flags, (y > 0).astype(float))
    assert np.isfinite(result.mi) and -0.1 <= result.mi < 1
    weights = np.random.default_rng(0).standard_normal((12, 5))
    few = np.repeat(flags[:7], 30, axis=0)
    assert len(np.unique(along(weights, few), axis=0)) == len(np.unique(few, axis=0))
    assert len(np.unique(along(weights, few[::-1]), axis=0)) == len(np.unique(few, axis=0))


def test_resolution(estimator):
    x, y = linear()
    steps = np.full(12, 0.5)
    rounded = estimator.estimate(np.round(x / 0.5) * 0.5, y)
    assert estimator.estimate(x, y, resolution_x=steps).mi == rounded.mi
    assert estimator.estimate(x, y, resolution_x=np.r_[100.0, steps[1:]]).constant_x == (0,)


def test_increasing_maps_change_nothing(estimator):
    x, y = linear()
    assert estimator.estimate(np.exp(x), y**3).mi == pytest.approx(estimator.estimate(x, y).mi)


def test_halves_have_whole_groups():
    groups = np.repeat(np.arange(9), [40, 3, 20, 20, 20, 20, 10, 10, 7])
    first, second = _halves_of_groups(groups, 0)
    assert not set(groups[first]) & set(groups[second]) and len(first) + len(second) == len(groups)
    assert abs(len(first) - len(second)) <= 10


def test_groups(estimator):
    x, y = linear()
    assert 0.7 < estimator.estimate(x, y, groups=np.repeat(np.arange(12), 50)).mi < 1.15
    with pytest.raises(InputError, match="six or more equal groups"):
        estimator.estimate(x, y, groups=np.repeat(np.arange(4), 150))


def test_memory_of_a_series_is_not_found_in_the_other_half(estimator):
    x, y = np.random.default_rng(0).standard_normal((2, 800, 12))
    for t in range(1, 800):
        x[t] += 0.8 * x[t - 1]
        y[t] += 0.8 * y[t - 1]
    assert abs(estimator.estimate(x, y, time_series=True).mi) < 0.15
    assert estimator.estimate(x, y).autocorrelated


def test_few_samples(estimator):
    x, y = linear(n=63)
    refuses(r"Half of 63 samples is 31,.* at least 64", estimator.estimate, x, y)
    assert np.isfinite(estimator.estimate(*linear(n=64, dx=100, dy=90)).mi)


def test_large_halves_are_estimated_in_parts(estimator):
    estimator = copy.copy(estimator)
    estimator.model_file = dataclasses.replace(estimator.model_file, n_max=150)
    result = estimator.estimate(*linear())
    assert result.parts == 4 and 0.6 < result.mi < 1.2
    assert result.stderr > 0 and len(result.pointwise) == 600


def test_the_same_bits_twice_and_after_pickling(estimator):
    x, y = linear(300)
    found = estimator.estimate(x, y)
    for other in (estimator, copy.copy(estimator), pickle.loads(pickle.dumps(estimator))):
        assert other.directions == estimator.directions
        again = other.estimate(x, y)
        assert again.mi == found.mi and np.array_equal(again.influence, found.influence)


@pytest.mark.parametrize("options", [{"k": 2}, {"slices": 10}, {"sides": "x"}])
def test_options_of_slices_are_refused(options):
    refuses("leave out k, slices and sides", Estimator, directions="canonical", **options)


def test_windows_in_parallel_environments_are_refused(estimator):
    windows = VectorWindows(2, window=40, lag=1, estimator=estimator)
    with pytest.raises(InputError, match="use an Estimator with random directions"):
        for step in range(60):
            windows.push(np.random.default_rng(step).standard_normal((2, 12)))


@pytest.mark.parametrize("value", ["linear", None, 3])
def test_unknown_directions(value):
    refuses("use one of random, canonical", Estimator, directions=value)
