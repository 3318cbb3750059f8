"""Values that many samples share: atoms of coordinates, and estimates as sums over patterns."""

from itertools import product

import numpy as np
import pytest

from infoatlas_rt.estimation.atoms import count_patterns, find_atoms
from infoatlas_rt.estimation.prepare import Samples
from infoatlas_rt.estimation.result import INTERVAL


def normal(n, d, seed=0):
    return np.random.default_rng(seed).standard_normal((n, d))


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        (lambda v: v, 0),
        (lambda v: np.clip(v, -0.5, np.inf), 1),  # censored
        (lambda v: np.clip(v, -1.0, 1.0), 2),  # clipped on both sides
        (lambda v: np.where(v > 1, 9999.0, np.where(v < -1, -1.0, v)), 2),  # codes for lost values
        (lambda v: np.maximum(v, 0.0), 1),  # a force without contact
        (lambda v: np.round(v * 2), 0),  # few levels
        (lambda v: np.maximum(np.floor(6 * v), 0), 0),  # zero-inflated counts
        (lambda v: (v > 0).astype(float), 0),
    ],
)
def test_an_atom_is_one_value_among_continuous_ones(change, expected):
    side = change(normal(500, 1))
    assert find_atoms(side).max() == expected and count_patterns(side) == 1 + expected


def lost(n, rates, seed=0):
    """Channels y_j = x_j + 0.25 e with lost values, and their information."""
    x, noise, drawn, drawn_too = np.random.default_rng(seed).standard_normal((4, n, 4))
    y = x + 0.25 * noise
    gone = [side < r for side, r in zip((drawn, drawn_too), rates, strict=True)]
    truth = np.prod([1 - one.mean(axis=0) for one in gone], axis=0).sum() * 0.5 * np.log1p(0.25**-2)
    return np.where(gone[0], 0.0, x), np.where(gone[1], -1.0, y), truth


@pytest.mark.parametrize("rates", [(-9.0, -0.5), (-0.5, -9.0), (-1.0, -1.0)])
def test_lost_values_are_estimated_by_patterns(estimator, rates):
    x, y, truth = lost(800, rates)
    plain, found = estimator.estimate_checked(Samples(x, y)), estimator.estimate(x, y)
    assert found.patterns >= 12 and plain.patterns == 0
    assert abs(found.mi - truth) < 0.5 * abs(plain.mi - truth)
    assert abs(found.mi - truth) < INTERVAL * found.stderr < 1.5
    assert found.pointwise.mean() == pytest.approx(found.mi, abs=1e-6)
    assert f"sum over {found.patterns} patterns" in str(found) and found.notes


def test_limits_at_which_values_depend_on_the_other_side(estimator):
    """Four independent channels with noise of 0.3 and a lower limit; truth by integration."""
    x, noise = np.random.default_rng(3).standard_normal((2, 1000, 4))
    y = np.maximum(x + 0.3 * noise, -0.2645)  # the 40% quantile
    found = estimator.estimate(x, y)
    assert found.patterns == 16 and abs(found.mi - 4.15) < INTERVAL * found.stderr < 1.2


@pytest.mark.parametrize("columns", [2, 4])
def test_few_patterns_and_weak_dependence_change_nothing(estimator, columns):
    x, y, _ = lost(600, (-9.0, -0.5))
    if columns == 2:
        x, y = np.ascontiguousarray(x[:, :2]), np.ascontiguousarray(y[:, :2])
    else:
        x = np.ascontiguousarray(x[::-1])
    found = estimator.estimate(x, y)
    assert found.patterns == 0 and found.mi == estimator.estimate_checked(Samples(x, y)).mi


def test_all_patterns_of_a_small_sample_are_used(estimator):
    """Patterns without any coordinate, and with coordinates that few samples have."""
    patterns = np.array(list(product((True, False), repeat=4)))
    gone = np.repeat(patterns, np.where(patterns.sum(axis=1) > 2, 100, 5), axis=0)
    x = normal(len(gone), 4)
    y = np.where(gone, 0.0, x + 0.1 * normal(len(gone), 4, 1))
    found, again = estimator.estimate(x, y), estimator.estimate(x, y)
    assert found.patterns == 16 and 0 < found.mi < 5 and np.isfinite(found.stderr)
    assert (again.mi, again.stderr) == (found.mi, found.stderr)


def test_windows_are_flagged_and_have_wider_intervals(estimator):
    x, y, _ = lost(300, (-9.0, -0.5))
    found = estimator.estimate_checked(Samples(x, y, time_series=True))
    assert found.atoms == count_patterns(y) >= 12 and not found.heavy_tails
    assert INTERVAL * found.stderr >= 0.75 * found.mi and "usually too low" in str(found)
    few = estimator.estimate_checked(Samples(x[:, :3].copy(), y[:, :3].copy()))
    assert few.atoms == 0 and not few.notes


@pytest.mark.parametrize(("spread", "expected"), [(0.5, False), (4.0, True)])
def test_sides_of_many_magnitudes_are_flagged(estimator, spread, expected):
    """The estimate depends on ranks alone, so only the flag and the interval change."""
    x, noise = np.random.default_rng(0).standard_normal((2, 500, 1))
    u = x + 0.1 * noise
    plain = estimator.estimate_checked(Samples(x, u))
    found = estimator.estimate(np.exp(spread * x), np.exp(spread * u))
    assert found.heavy_tails == expected and found.mi == pytest.approx(plain.mi, abs=1e-6)
    least = 0.75 * found.mi / INTERVAL if expected else 0.0
    assert found.stderr == pytest.approx(max(plain.stderr, least), rel=1e-4)
