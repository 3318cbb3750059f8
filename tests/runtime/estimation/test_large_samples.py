"""More samples than the model was trained on: estimates of parts are averaged."""

import dataclasses
import math

import numpy as np
import pytest

from infoatlas_rt import Estimator, InputError
from infoatlas_rt.estimation import standard_error as errors
from infoatlas_rt.estimation.large_samples import split

MOST = 100


@pytest.fixture
def estimator():
    """An estimator with a model for at most 100 samples."""
    found = Estimator(threads=1)
    found.model_file = dataclasses.replace(found.model_file, n_max=MOST)
    return found


def pairs(n, dx=1, dy=1, seed=0):
    rng = np.random.default_rng(seed)
    x, y = rng.standard_normal((n, dx)), rng.standard_normal((n, dy))
    y[:, 0] += x[:, 0]
    return x, y


def test_parts_are_disjoint_and_extend_over_all_samples():
    rows = split(1003, 5, None, seed=0)
    assert sorted(map(len, rows)) == [200, 200, 201, 201, 201]
    assert np.array_equal(np.sort(np.concatenate(rows)), np.arange(1003))
    for own in rows:
        assert (np.diff(own) > 0).all()
        assert np.diff(own).max() < 10  # one of each five consecutive samples
        assert np.bincount(own[:-1] % 5).min() > 20  # not always the same one


def test_every_part_has_samples_of_all_groups():
    groups = np.random.default_rng(0).permutation(np.repeat(np.arange(8), 25))
    for own in split(200, 4, groups, seed=0):
        counts = np.bincount(groups[own], minlength=8)
        assert counts.min() >= 5 and counts.max() <= 8


def test_up_to_n_max_samples_are_one_part(estimator):
    x, y = pairs(MOST + 1)
    assert estimator.estimate(x[:MOST], y[:MOST]).parts == 1
    result = estimator.estimate(x, y)
    assert result.parts == 2 and str(result).endswith("[mean of 2 parts]")


def test_estimate_is_the_average_of_the_parts(estimator):
    x, y = pairs(250, 3, 3)
    estimator = Estimator(threads=1, k=2, slices=4)
    estimator.model_file = dataclasses.replace(estimator.model_file, n_max=MOST)
    result = estimator.estimate(x, y)
    rows = split(250, 3, None, estimator.seed)
    parts = [estimator.estimate(x[own], y[own]) for own in rows]
    sizes = [len(own) for own in rows]
    assert (result.parts, result.samples, result.slices, result.k) == (3, 250, 4, 2)
    for name in "mi per_slice predicted_error gaussian beyond_gaussian rank_noise rank_x".split():
        expected = np.average([getattr(part, name) for part in parts], axis=0, weights=sizes)
        np.testing.assert_allclose(getattr(result, name), expected, rtol=1e-12)
    for own, part in zip(rows, parts, strict=True):
        assert np.array_equal(result.pointwise[own], part.pointwise)
        assert np.array_equal(result.influence[own], part.influence)
    assert result.mi == pytest.approx(result.pointwise.mean(), abs=1e-4)


def test_noise_decreases_with_the_parts_and_the_predicted_error_does_not(estimator):
    x, y = pairs(20 * MOST)
    one, all_of_them = estimator.estimate(x[:MOST], y[:MOST]), estimator.estimate(x, y)
    assert all_of_them.parts == 20 and all_of_them.noise < one.noise / 3
    assert all_of_them.predicted_error > one.predicted_error / 2
    constants = estimator.model_file.calibration["whole"]
    assert all_of_them.stderr == errors.standard_error(
        constants, all_of_them.noise, all_of_them.predicted_error, all_of_them.rank_noise, 2000.0
    )


def test_noise_of_a_series_is_of_all_influences_in_order_of_time(estimator):
    x, y = (side.cumsum(axis=0)[:300] for side in pairs(300, seed=1))
    result = estimator.estimate(x, y, time_series=True)
    expected = max(result.influence.var(ddof=1), errors.long_run_variance(result.influence))
    assert result.parts == 3 and result.noise == pytest.approx(math.sqrt(expected / 300))
    assert result.effective_samples < 300 and not result.autocorrelated
    assert estimator.estimate(x, y).autocorrelated  # although neighbours are in other parts


def test_noise_of_groups_is_clustered_over_all_parts(estimator):
    x, y = pairs(300)
    groups = np.repeat(np.arange(10), 30)
    x = x + np.repeat(pairs(10)[0], 30, axis=0)
    result = estimator.estimate(x, y, groups=groups)
    clustered = errors.clustered_variance(result.influence, groups)
    expected = max(result.influence.var(ddof=1), clustered)
    assert result.noise == pytest.approx(math.sqrt(expected / 300))


def test_flags_and_constants_of_parts(estimator):
    x, y = pairs(250, 2, 2)
    x[:, 1] = 3
    result = estimator.estimate(x, y)
    assert result.constant_x == (1,) and result.constant_y == () and not result.saturated
    assert estimator.estimate(x, x).saturated and estimator.estimate(x[:, 1], y).degenerate
    y[7, 1] = x[7, 1] = 1e3
    y[8:, 1] = 1  # constant in all parts except one
    y[:7, 1] = 1
    result = estimator.estimate(x, y)
    assert result.constant_y == () and not result.degenerate


def test_a_group_too_large_for_a_part_is_named_with_all_samples(estimator):
    x, y = pairs(3 * MOST)
    groups = np.repeat([0, 1, 2], [147, 147, 6])
    with pytest.raises(InputError, match=r"largest group has 147 of 300 samples.* 3 parts"):
        estimator.estimate(x, y, groups=groups)
