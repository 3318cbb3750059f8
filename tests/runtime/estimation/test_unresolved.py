"""The bound from neighbours in single coordinates: never above the truth, high for oscillations."""

import math

import numpy as np
import pytest

from infoatlas_rt.estimation.unresolved import MARGIN, entropy, least_information


def least(x, y, seed=0):
    x, y = (np.asarray(side, float).reshape(len(side), -1) for side in (x, y))
    order = np.random.default_rng(seed).permutation(len(x))
    return least_information(x[order], y[order], order)


def oscillation(f, n, seed):
    rng = np.random.default_rng(seed)
    x = rng.random(n)
    return x, np.sin(f * np.pi * x) + x + 0.1 * rng.standard_normal(n)


def truth_of_oscillation(f):
    """h(y) - h(noise) of a noise of 0.1, by quadrature."""
    x = (np.arange(200_000) + 0.5) / 200_000
    y, step = np.linspace(-2, 3, 4001, retstep=True)
    edges = np.append(y - step / 2, y[-1] + step / 2)
    clean = np.histogram(np.sin(f * np.pi * x) + x, edges, density=True)[0]
    kernel = np.exp(-0.5 * ((y - y.mean()) / 0.1) ** 2) / 0.1 / math.sqrt(2 * math.pi)
    p = np.convolve(clean, kernel, "same") * step
    p = p[p > 0]
    return float(-(p * np.log(p)).sum() * step - 0.5 * math.log(2 * math.pi * math.e * 0.01))


def test_entropy_of_known_densities():
    """The ends of a sample are missing, which lowers all entropies alike."""
    rng = np.random.default_rng(0)
    normal = entropy(rng.standard_normal((20, 2000))).mean()
    assert normal == pytest.approx(0.5 * math.log(2 * math.pi * math.e), abs=0.05)
    assert entropy(rng.random((20, 2000)) / 8).mean() == pytest.approx(-math.log(8), abs=0.05)


@pytest.mark.parametrize("n", [32, 100, 1000])
@pytest.mark.parametrize("rho", [0.0, 0.6, 0.9, 0.999])
def test_normal_pairs_have_more_than_the_bound(n, rho):
    truth = -0.5 * math.log(1 - rho**2)
    found = []
    for seed in range(20):
        x, e = np.random.default_rng(seed).standard_normal((2, n, 2))
        found.append(least(x, rho * x + math.sqrt(1 - rho**2) * e, seed))
    assert max(found) <= 2 * truth + 1e-9
    if n == 1000 and rho < 0.99:  # of one of the two pairs of coordinates
        assert np.mean(found) == pytest.approx(truth - MARGIN / math.sqrt(n), abs=0.08)


def test_equal_values_of_both_sides_are_not_paired_by_place():
    rng = np.random.default_rng(0)
    for levels in (2, 5):
        x = rng.integers(0, levels, 1000)
        assert least(x, x) < math.log(levels) and least(x, rng.integers(0, levels, 1000)) < 0


def test_neighbours_in_time_do_not_count():
    for seed in range(5):
        rng = np.random.default_rng(seed)
        walk, noise = rng.standard_normal((2, 3, 800)).cumsum(2), rng.standard_normal((2, 3, 800))
        for x, y in (walk, walk + noise, (np.arange(800), walk[0, 0])):
            assert least(x.T, y.T) < 0


@pytest.mark.parametrize("f", [4, 10, 30, 60])
def test_intervals_of_oscillations_contain_the_truth(estimator, f):
    truth = truth_of_oscillation(f)
    for seed in range(2):
        x, y = oscillation(f, 2000, seed)
        assert truth - 0.6 < least(x, y) < truth
        found = estimator.estimate(x, y)
        assert abs(found.mi - truth) < 1.645 * found.stderr
        assert found.stderr < 1.6  # wide, but not without limit


def test_the_bound_does_not_change_what_is_resolved(estimator):
    x, e = np.random.default_rng(0).standard_normal((2, 1000))
    for y in (e, x + e, x * x + 0.1 * e, np.sign(x) * np.abs(e)):
        found = estimator.estimate(x, y)
        assert least(x, y) - found.mi < 0.5 * found.predicted_error
