"""The lower bound from residuals: high for noise with edges, never far above the truth."""

from __future__ import annotations

import math

import numpy as np
import pytest

from infoatlas_rt import Estimator
from infoatlas_rt.estimation.prepare import Samples
from infoatlas_rt.estimation.residual_bound import MARGIN, least_by_residuals


@pytest.fixture(scope="module")
def estimator():
    return Estimator("edge", threads=1, provider="cpu")


def bounds(draw, n, draws=8):
    """The bound for several draws."""
    found = []
    for seed in range(draws):
        x, y = (np.reshape(side, (n, -1)) for side in draw(np.random.default_rng(seed), n))
        found.append(least_by_residuals(Samples(x, y)))
    return np.array(found)


def additive(noise):
    """x uniform, and y = x + 0.2 u with noise u."""

    def draw(rng, n):
        x = rng.uniform(0, 1, n)
        return x, x + 0.2 * noise(rng, n)

    return draw


# Uniform noise: h(y) - h(noise), where the density of y is a trapezium.
UNIFORM = additive(lambda rng, n: rng.random(n)), 0.1 - math.log(0.2)


@pytest.mark.parametrize("n", [100, 1000, 3000])
def test_it_is_near_the_truth_of_noise_with_edges(n):
    draw, truth = UNIFORM
    found = bounds(draw, n)
    assert found.mean() < truth and found.max() < truth + 1 / math.sqrt(n)
    assert found.mean() > truth - 2.2 / math.sqrt(n)
    assert bounds(lambda rng, n: draw(rng, n)[::-1], n) == pytest.approx(found)


@pytest.mark.parametrize("rho", [0, 0.5, 0.99])
@pytest.mark.parametrize("n", [100, 1000])
def test_it_is_not_above_the_truth_of_normal_pairs(n, rho):
    def draw(rng, n):
        x, e = rng.standard_normal((2, n))
        return np.c_[x, rng.standard_normal(n)], np.exp(rho * x + math.sqrt(1 - rho**2) * e)

    found, truth = bounds(draw, n), -0.5 * math.log(1 - rho**2)
    assert found.mean() < truth + 0.3 / math.sqrt(n) and found.max() < truth + 3 / math.sqrt(n)


def test_ties_have_none_and_constants_do_no_harm():
    x = np.random.default_rng(0).standard_normal((2, 200))
    assert bounds(lambda rng, n: np.round(x), 200, 1) == -math.inf
    assert bounds(lambda rng, n: (np.ones(n), x[0]), 200, 1) < 0.1
    assert np.isfinite(bounds(lambda rng, n: (rng.standard_cauchy(n), x[0] * 1e90), 200)).all()


def test_estimates_of_noise_with_edges_are_raised(estimator):
    """A uniform x, and a normal one, whose estimate was 0.12 too low."""
    rng = np.random.default_rng(0)
    x, u = rng.standard_normal(1000), rng.uniform(-1, 1, 1000) * 0.2 * math.sqrt(3)
    found = estimator.estimate(x, x + u)
    plain = estimator.estimate_checked(Samples(x[:, None], (x + u)[:, None]))
    truth = 1.805  # by quadrature
    assert plain.mi < truth - 0.09 and abs(found.mi - truth) < 0.08
    assert found.clipped and not plain.clipped and found.stderr > plain.stderr
    assert abs(found.mi - truth) < 1.645 * found.stderr < abs(plain.mi - truth) * 1.645
    assert (
        found.pointwise.mean() == pytest.approx(found.mi) == pytest.approx(found.per_slice.mean())
    )
    raised = found.mi - plain.mi
    assert found.mi == pytest.approx(
        least_by_residuals(Samples(x[:, None], (x + u)[:, None])), abs=1e-12
    )
    assert found.predicted_error == pytest.approx(max(plain.predicted_error, raised))


def test_dependent_samples_are_not_raised(estimator):
    """Neighbours in x are neighbours in time, so the residuals are too small."""
    x = np.sin(np.linspace(0, 30, 500)) + 0.01 * np.random.default_rng(0).random(500)
    y = np.cumsum(np.random.default_rng(1).standard_normal(500))
    for options in ({"time_series": True}, {"groups": np.arange(500) // 10}):
        assert not estimator.estimate(x, y, **options).clipped
    assert MARGIN > 0 and not estimator.estimate(y, x).clipped  # autocorrelated
