"""Accuracy of the shipped models on distributions of known mutual information.

Tolerances are in nats and fixed: `bias` bounds the mean error over the draws, and `error` the root
mean square error. A larger variance of the estimates therefore does not widen the tolerance. Each
tolerance is about twice the value of the shipped models. A retrained model has to be within it.
"""

import math

import numpy as np
import pytest
from scipy.special import digamma, gammaln
from scipy.stats import multivariate_normal, norm

from infoatlas_rt import Estimator, InputError

DRAWS = 6


@pytest.fixture(scope="module")
def models():
    return {name: Estimator(name, threads=1) for name in ("edge", "base", "wide")}


@pytest.fixture(scope="module")
def edge(models):
    return models["edge"]


def check(estimator, draw, truth, n, *, bias, error, draws=DRAWS):
    """Check mean and root mean square of the errors over seeded draws."""
    found = [estimator.estimate(*draw(np.random.default_rng(i), n)).mi for i in range(draws)]
    off = np.array(found) - truth
    assert abs(off.mean()) <= bias, off.round(3)
    assert np.sqrt(np.square(off).mean()) <= error, off.round(3)


# ---- Gaussians -----------------------------------------------------------------------------------


def gaussian(truth, shares):
    """Draws x, y [n, d] of `truth` nats, divided among d canonical correlations, then mixed."""
    shares = np.asarray(shares, float)
    rho = np.sqrt(1 - np.exp(-2 * truth * shares / shares.sum()))

    def draw(rng, n):
        x, noise = rng.standard_normal((2, n, len(shares)))
        y = rho * x + np.sqrt(1 - rho**2) * noise
        mix = [np.linalg.qr(rng.standard_normal((len(shares),) * 2))[0] for _ in range(2)]
        return x @ mix[0], y @ mix[1] + 5

    return draw


EVEN = {"one": [1], "five": [1, 1, 1, 1, 1]}
UNEVEN = {"one of three": [1, 0, 0], "uneven": [4, 2, 1, 0, 0]}
# True value, bias, error. At 4 nats the ranks of 1000 samples are coarse.
LIMITS = [(0.1, 0.04, 0.05), (0.5, 0.05, 0.08), (2.0, 0.06, 0.10), (4.0, 0.20, 0.35)]


@pytest.mark.parametrize(
    ("shares", "limits"),
    [(shares, limits) for shares in EVEN for limits in LIMITS]
    + [(shares, limits) for shares in UNEVEN for limits in LIMITS[1:3]],
)
def test_gaussian(edge, shares, limits):
    truth, bias, error = limits
    check(edge, gaussian(truth, (EVEN | UNEVEN)[shares]), truth, 1000, bias=bias, error=error)


# Tolerances are larger for few samples. The closed form itself has a standard deviation of
# sqrt(d / n), 0.24 for d = 3 at n = 50, and a bias of d * d / 2n, 0.09, before correction.
@pytest.mark.parametrize(
    ("n", "draws", "bias", "error"),
    [(50, 16, 0.22, 0.36), (100, 16, 0.10, 0.22), (300, 8, 0.08, 0.14)],
)
@pytest.mark.parametrize("d", [1, 3])
@pytest.mark.parametrize("truth", [0.5, 2.0])
def test_gaussian_over_sample_sizes(edge, truth, d, n, draws, bias, error):
    check(edge, gaussian(truth, np.ones(d)), truth, n, bias=bias, error=error, draws=draws)


@pytest.mark.parametrize("d", [3, 10, 20])
def test_gaussian_of_wide(models, d):
    check(models["wide"], gaussian(2.0, np.ones(d)), 2.0, 1000, bias=0.12, error=0.15)


# ---- other closed forms --------------------------------------------------------------------------


def student(nu, d):
    """Student-t with nu degrees of freedom without correlation: only the scale is common."""

    def draw(rng, n):
        z = rng.standard_normal((n, 2 * d)) * np.sqrt(nu / rng.chisquare(nu, (n, 1)))
        return z[:, :d], z[:, d:]

    def f(v):
        return gammaln(v / 2) - v / 2 * digamma(v / 2)

    return draw, f(nu) + f(nu + 2 * d) - 2 * f(nu + d)


@pytest.mark.parametrize(
    ("nu", "d", "bias", "error"),
    [(1, 1, 0.04, 0.06), (2, 2, 0.04, 0.05), (5, 3, 0.07, 0.08), (3, 5, 0.10, 0.12)],
)
def test_student(edge, nu, d, bias, error):
    # Nothing is correlated, so a Gaussian copula finds 0 of these 0.09 to 0.30 nats.
    draw, truth = student(nu, d)
    check(edge, draw, truth, 1000, bias=bias, error=error)


def test_formula_of_student_is_that_of_the_literature():
    # Values of Czyz et al. (2023) for their benchmark.
    assert student(1, 1)[1] == pytest.approx(0.2241714, abs=1e-6)
    assert student(2, 5)[1] == pytest.approx(0.4481507, abs=1e-6)


MIXTURE = (  # weight, mean, covariance of each component of (x, y)
    (0.5, (-1.5, -1.0), ((1.0, 0.8), (0.8, 1.0))),
    (0.3, (1.5, 1.5), ((0.5, -0.4), (-0.4, 0.5))),
    (0.2, (2.0, -2.0), ((0.3, 0.0), (0.0, 0.6))),
)


def mixture(rng, n):
    counts = rng.multinomial(n, [w for w, _, _ in MIXTURE])
    parts = [rng.multivariate_normal(m, c, k) for (_, m, c), k in zip(MIXTURE, counts, strict=True)]
    z = rng.permutation(np.concatenate(parts))
    return z[:, 0], z[:, 1]


def mixture_truth():
    """Quadrature on a grid that contains all except 1e-8 of the mass."""
    grid = np.linspace(-8, 8, 801)
    step = grid[1] - grid[0]
    points = np.stack(np.meshgrid(grid, grid, indexing="ij"), axis=-1)
    joint = sum(w * multivariate_normal(m, c).pdf(points) for w, m, c in MIXTURE)
    x, y = (
        sum(w * norm(m[i], math.sqrt(c[i][i])).pdf(grid) for w, m, c in MIXTURE) for i in (0, 1)
    )
    assert joint.sum() * step**2 == pytest.approx(1, abs=1e-8)
    ratio = np.log(np.maximum(joint, 1e-300)) - np.log(np.outer(x, y))
    return (joint * ratio).sum() * step**2


@pytest.mark.parametrize(("n", "bias", "error"), [(300, 0.12, 0.15), (1000, 0.07, 0.08)])
def test_mixture(edge, n, bias, error):
    # Three clusters with different correlations, one of them negative: a Gaussian copula finds 0.03
    # nats.
    truth = mixture_truth()
    assert truth == pytest.approx(0.608, abs=1e-3)
    check(edge, mixture, truth, n, bias=bias, error=error)


def test_slices_contain_a_part_of_the_information(models):
    x, y = gaussian(2.0, np.ones(20))(np.random.default_rng(0), 1000)
    assert models["edge"].estimate(x, y).mi < 0.5 * models["wide"].estimate(x, y).mi


# ---- sizes of wide ------------------------------------------------------------------------------


def test_wide_takes_twenty_coordinates_and_slices_more(models):
    x, y = np.random.default_rng(2).standard_normal((2, 200, 24))
    e = models["wide"].estimate(x[:, :20], y[:, :20])
    assert e.k is None and e.slices == 1
    e = models["wide"].estimate(x, x + 0.5 * y)
    assert e.k == 20 and e.slices == 40


def test_wide_needs_three_samples_a_dimension(models):
    assert models["wide"].model_file.n_min == 60
    with pytest.raises(InputError, match="59 samples are fewer than the 60"):
        models["wide"].estimate(*np.random.default_rng(0).standard_normal((2, 59, 2)))


# ---- independence --------------------------------------------------------------------------------

# Bound for independent samples. A Gaussian copula without correction has a bias of d * d / 2n,
# 0.025 and 0.0125 for d = 5; the bound for a single draw is a few times that.
INDEPENDENT = {500: 0.10, 1000: 0.07}
INDEPENDENT_MEAN = 0.05


def normal(rng, n, d):
    return rng.standard_normal((2, n, d))


def heavy_and_clustered(rng, n, d):
    x = rng.standard_cauchy((n, d)) @ rng.standard_normal((d, d))
    y = rng.random((n, d)) + 3 * rng.integers(0, 3, (n, 1))
    return x, y @ rng.standard_normal((d, d))


@pytest.mark.parametrize("margins", [normal, heavy_and_clustered])
@pytest.mark.parametrize(("n", "d"), [(500, 1), (500, 5), (1000, 2), (1000, 5)])
def test_independence(edge, n, d, margins):
    draws = [margins(np.random.default_rng(i), n, d) for i in range(DRAWS)]
    found = np.array([edge.estimate(x, y).mi for x, y in draws])
    assert np.abs(found).max() < INDEPENDENT[n] and abs(found.mean()) < INDEPENDENT_MEAN


@pytest.mark.parametrize(("name", "d"), [("base", 5), ("wide", 20)])
def test_independence_of_the_other_models(models, name, d):
    x, y = np.random.default_rng(6).standard_normal((2, 1000, d))
    assert abs(models[name].estimate(x, y).mi) < 0.05


# ---- copies --------------------------------------------------------------------------------------


@pytest.mark.parametrize("d", [1, 3, 5])
@pytest.mark.parametrize("n", [64, 1000])
def test_copies_are_finite_and_flagged(edge, n, d):
    """x = y and a common coordinate: infinite mutual information. n samples show a part of it.

    The estimate is above 3 nats and below 2 log n + 2, about the log of the number of pairs.
    """
    x, y = np.random.default_rng(0).standard_normal((2, n, d))
    shared = np.column_stack([x[:, 0], y[:, 1:]])
    for other in (x, -np.exp(x), shared):
        result = edge.estimate(x, other)
        assert result.saturated and not result.degenerate and 3 < result.mi < 2 * math.log(n) + 2
        assert math.isfinite(result.stderr) and result.noise < 2
        assert np.isfinite(result.pointwise).all() and np.isfinite(result.influence).all()


def test_strong_dependence_is_not_flagged(edge):
    for truth in (1.0, 3.0):
        assert not edge.estimate(*gaussian(truth, [1, 1])(np.random.default_rng(0), 200)).saturated
