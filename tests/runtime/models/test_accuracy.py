"""The shipped weights on distributions of known mutual information.

Tolerances are in nats. Each consists of the spread of a mean over draws and of a bias that the
model is allowed; both are stated where they are used. A model that is trained further has to stay
within them.
"""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.linalg import solve_discrete_lyapunov
from scipy.special import digamma, gammaln
from scipy.stats import multivariate_normal, norm

from infoatlas_rt import Estimator, OnlineEstimator

DRAWS = 6


@pytest.fixture(scope="module")
def estimator():
    return Estimator(threads=1)


def mean_over_draws(estimator, draw, n, draws=DRAWS):
    """Mean estimate, and its standard error."""
    found = [estimator.estimate(*draw(np.random.default_rng(i), n)).mi for i in range(draws)]
    return np.mean(found), np.std(found, ddof=1) / math.sqrt(draws)


def check(estimator, draw, truth, n, bias, draws=DRAWS):
    """The mean over draws is off by at most the bias allowed and three of its standard errors."""
    mean, error = mean_over_draws(estimator, draw, n, draws)
    assert mean == pytest.approx(truth, abs=bias + 3 * error), f"3 standard errors: {3 * error:.3f}"


# ---- Gaussians -----------------------------------------------------------------------------------


def gaussian(truth, shares):
    """Draws x, y [n, d] of `truth` nats, shared out over d canonical correlations, then mixed."""
    shares = np.asarray(shares, float)
    rho = np.sqrt(1 - np.exp(-2 * truth * shares / shares.sum()))

    def draw(rng, n):
        x, noise = rng.standard_normal((2, n, len(shares)))
        y = rho * x + np.sqrt(1 - rho**2) * noise
        mix = [np.linalg.qr(rng.standard_normal((len(shares),) * 2))[0] for _ in range(2)]
        return x @ mix[0], y @ mix[1] + 5

    return draw


@pytest.mark.parametrize("d", [1, 2, 3, 5])
@pytest.mark.parametrize("truth", [0.1, 0.5, 1.0, 2.0, 3.0, 4.0])
def test_gaussian(estimator, truth, d):
    # 10% of the truth, and 0.04: what can be told from 1000 samples in 10 dimensions without
    # knowing that they are Gaussian. (The Gaussian copula, which knows, is off by up to 0.1 of 4.)
    check(estimator, gaussian(truth, np.ones(d)), truth, 1000, 0.04 + 0.1 * truth)


@pytest.mark.parametrize("shares", [[1, 0, 0], [4, 2, 1, 0, 0], [9, 1]])
@pytest.mark.parametrize("truth", [0.5, 2.0])
def test_gaussian_of_uneven_correlations(estimator, truth, shares):
    check(estimator, gaussian(truth, shares), truth, 1000, 0.04 + 0.1 * truth)


@pytest.mark.parametrize(("n", "share"), [(50, 0.3), (100, 0.25), (300, 0.15), (5000, 0.1)])
@pytest.mark.parametrize("d", [1, 3])
@pytest.mark.parametrize("truth", [0.5, 2.0])
def test_gaussian_over_sample_sizes(estimator, truth, d, n, share):
    # Few samples leave more room: the closed form itself is biased by d * d / 2n, 0.09 for d = 3 at
    # n = 50, before correction.
    check(
        estimator, gaussian(truth, np.ones(d)), truth, n, 0.05 + share * truth, 3 if n > 999 else 6
    )


# ---- other closed forms --------------------------------------------------------------------------


def student(nu, d):
    """Student-t of nu degrees of freedom, no correlation: all dependence is in the common scale."""

    def draw(rng, n):
        z = rng.standard_normal((n, 2 * d)) * np.sqrt(nu / rng.chisquare(nu, (n, 1)))
        return z[:, :d], z[:, d:]

    def f(v):
        return gammaln(v / 2) - v / 2 * digamma(v / 2)

    return draw, f(nu) + f(nu + 2 * d) - 2 * f(nu + d)


@pytest.mark.parametrize(("nu", "d"), [(1, 1), (2, 1), (2, 2), (3, 2), (2, 3), (5, 3), (3, 5)])
def test_student(estimator, nu, d):
    # Nothing is correlated, so a Gaussian copula sees 0. A third of 0.08 to 0.30 nats is allowed,
    # and the 0.02 that independence may show.
    draw, truth = student(nu, d)
    check(estimator, draw, truth, 1000, 0.02 + truth / 3)


def test_formula_of_student_is_that_of_the_literature():
    # Czyz et al. (2023), as their benchmark states them.
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
    """Quadrature on a grid that holds all but 1e-8 of the mass."""
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


@pytest.mark.parametrize(("n", "bias"), [(300, 0.20), (1000, 0.15), (3000, 0.15)])
def test_mixture(estimator, n, bias):
    # Three clusters of different correlation, one of them negative: a Gaussian copula sees 0.03
    # nats of it. A quarter is allowed, a third for few samples: sharp clusters come out low.
    truth = mixture_truth()
    assert truth == pytest.approx(0.608, abs=1e-3)
    check(estimator, mixture, truth, n, bias)


def test_independent_sums_add_up(estimator):
    """I((a, b); (c, d)) = I(a; c) + I(b; d) if the two pairs know nothing of each other."""
    one, truth = student(1, 1)

    def draw(rng, n):
        (a, c), (b, d) = one(rng, n), gaussian(0.8, [1])(rng, n)
        return np.hstack([a, b]), np.hstack([c, d])

    check(estimator, draw, truth + 0.8, 1000, 0.12)


# ---- invariance ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("f", "g"),
    [
        (np.exp, np.cbrt),
        (np.arctan, lambda v: v**3),
        (norm.cdf, lambda v: 1e6 * v - 3),
        (np.sinh, np.tanh),
    ],
    ids=["exp, cube root", "arctan, cube", "cdf, affine", "sinh, tanh"],
)
@pytest.mark.parametrize("d", [1, 3])
def test_monotone_maps_change_nothing(estimator, f, g, d):
    # Ranks are all that counts, so it is the same up to nothing at all.
    x, y = gaussian(1.0, np.ones(d))(np.random.default_rng(0), 500)
    y = y - 5
    plain, mapped = estimator.estimate(x, y), estimator.estimate(f(x), g(y))
    assert mapped.mi == pytest.approx(plain.mi, abs=1e-9)
    np.testing.assert_allclose(mapped.pointwise, plain.pointwise, atol=1e-6)


# ---- independence --------------------------------------------------------------------------------

# The stated bound: what independent samples may show. A Gaussian copula without correction has a
# bias of d * d / 2n, 0.025 and 0.0125 for d = 5; the bound for a single draw is a few times that.
INDEPENDENT = {500: 0.10, 1000: 0.07}
INDEPENDENT_MEAN = 0.05


def normal(rng, n, d):
    return rng.standard_normal((2, n, d))


def heavy_and_clustered(rng, n, d):
    x = rng.standard_cauchy((n, d)) @ rng.standard_normal((d, d))
    y = rng.random((n, d)) + 3 * rng.integers(0, 3, (n, 1))
    return x, y @ rng.standard_normal((d, d))


@pytest.mark.parametrize("margins", [normal, heavy_and_clustered])
@pytest.mark.parametrize("d", [1, 2, 3, 5])
@pytest.mark.parametrize("n", sorted(INDEPENDENT))
def test_independence(estimator, n, d, margins):
    draws = [margins(np.random.default_rng(i), n, d) for i in range(DRAWS)]
    found = np.array([estimator.estimate(x, y).mi for x, y in draws])
    assert np.abs(found).max() < INDEPENDENT[n]
    assert abs(found.mean()) < INDEPENDENT_MEAN


def test_standard_error_is_the_spread(estimator):
    """Over draws, estimates spread by their noise, within a factor of 1.6; stderr knows of more."""
    draw = gaussian(1.0, np.ones(2))
    results = [estimator.estimate(*draw(np.random.default_rng(i), 300)) for i in range(40)]
    spread = np.std([r.mi for r in results], ddof=1)  # known to 1 / sqrt(2 * 39), 11%
    assert 1 / 1.6 < np.mean([r.noise for r in results]) / spread < 1.6
    assert np.mean([r.stderr for r in results]) > spread / 1.6


# ---- one robot's window --------------------------------------------------------------------------

A = np.array([[0.7, 0.2, 0.0], [-0.2, 0.6, 0.1], [0.0, 0.0, 0.5]])


def last_reading(states, lag, estimator):
    online = OnlineEstimator(estimator, lag=lag, window=len(states) - lag)
    readings = [online.push(state) for state in states]
    assert readings[-1] is not None and all(r is None for r in readings[:-1])
    return readings[-1].estimate


def autoregression(rng, steps):
    """A stationary VAR(1): s_t = A s_{t-1} + noise."""
    states = np.empty((steps, 3))
    states[0] = rng.multivariate_normal(np.zeros(3), solve_discrete_lyapunov(A, np.eye(3)))
    for t in range(1, steps):
        states[t] = A @ states[t - 1] + rng.standard_normal(3)
    return states


def autoregression_truth(lag):
    """I(s_t; s_{t-lag}) from the stationary covariance P and cross-covariance A^lag P."""
    p = solve_discrete_lyapunov(A, np.eye(3))
    c = np.linalg.matrix_power(A, lag) @ p
    joint = np.block([[p, c], [c.T, p]])
    return np.linalg.slogdet(p)[1] - np.linalg.slogdet(joint)[1] / 2


@pytest.mark.parametrize(("lag", "truth"), [(1, 0.781), (2, 0.286)])
def test_window_of_a_stationary_process(estimator, lag, truth):
    assert autoregression_truth(lag) == pytest.approx(truth, abs=5e-4)
    n, runs = 500, 16
    results = [
        last_reading(autoregression(np.random.default_rng(i), n + lag), lag, estimator)
        for i in range(runs)
    ]
    found = np.array([r.mi for r in results])
    noise, stderr = (np.array([getattr(r, a) for r in results]) for a in ("noise", "stderr"))
    # The spread of a reading is 0.05, of the mean 0.0125; three of it, and a bias of 0.04.
    assert found.mean() == pytest.approx(truth, abs=0.08)
    # 95% within two standard errors if all were right; 16 runs and a little bias: 75%.
    assert (np.abs(found - truth) < 2 * stderr).mean() >= 0.75
    # It is no wider than it has to be, either.
    assert noise.mean() < 2.5 * found.std(ddof=1)
    assert all(r.effective_samples <= n for r in results)


def test_window_of_white_noise(estimator):
    states = [np.random.default_rng(i).standard_normal((502, 3)) for i in range(DRAWS)]
    found = [last_reading(s, 2, estimator).mi for s in states]
    assert np.abs(found).max() < INDEPENDENT[500]


def test_window_of_independent_random_walks(estimator):
    """Two robots' walks that know nothing of each other: the true mutual information is 0.

    Documented: read as independent samples they look strongly dependent, and the estimate says that
    neighbours are alike. As a series they do not, and the standard error says how little is known.
    """
    plain, series = [], []
    for i in range(8):
        x, y = np.random.default_rng(i).standard_normal((2, 100, 3)).cumsum(axis=1)
        plain.append(estimator.estimate(x, y))
        series.append(estimator.estimate(x, y, time_series=True))
    assert min(r.mi for r in plain) > 1 and all(r.neighbours_alike for r in plain)
    assert np.mean([abs(r.mi) for r in series]) < 0.4
    assert not any(r.neighbours_alike for r in series)
    assert np.mean([abs(r.mi) <= 1.645 * r.stderr for r in series]) >= 0.75
    assert max(r.effective_samples for r in series) < 90


def test_window_of_a_random_walk_with_its_own_past(estimator):
    walks = [np.random.default_rng(i).standard_normal((102, 3)).cumsum(axis=0) for i in range(8)]
    found = [last_reading(walk, 2, estimator).mi for walk in walks]
    assert min(found) > 0.5 and np.mean(found) > 1.5


# ---- copies --------------------------------------------------------------------------------------


@pytest.mark.parametrize("d", [1, 3, 5])
@pytest.mark.parametrize("n", [64, 100, 1000])
def test_copies_are_finite_and_flagged(estimator, n, d):
    """x = y and a shared coordinate: infinite mutual information, of which n samples tell a part.

    More than 3 nats, and below 2 log n + 2: about the log of all pairs of samples there are.
    """
    rng = np.random.default_rng(0)
    x, y = rng.standard_normal((2, n, d))
    shared = np.column_stack([x[:, 0], y[:, 1:]])
    for other in (x, -np.exp(x), shared):
        result = estimator.estimate(x, other)
        assert result.saturated
        assert not result.degenerate
        assert 3 < result.mi < 2 * math.log(n) + 2
        assert math.isfinite(result.stderr) and result.noise < 2
        assert np.isfinite(result.pointwise).all() and np.isfinite(result.influence).all()


def test_strong_dependence_is_not_flagged(estimator):
    for truth in (1.0, 3.0):
        result = estimator.estimate(*gaussian(truth, [1, 1])(np.random.default_rng(0), 200))
        assert not result.saturated
