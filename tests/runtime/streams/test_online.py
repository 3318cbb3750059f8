"""Estimates from a window of one robot: values, standard errors, effective samples."""

import numpy as np
import pytest
from scipy.linalg import solve_discrete_lyapunov

from infoatlas_rt import OnlineEstimator


def gaussian(rng, n, truth=1.0):
    """Two canonical correlations of equal strength, with `truth` nats in total."""
    rho = np.sqrt(-np.expm1(-truth))
    x, noise = rng.standard_normal((2, n, 2))
    return x, rho * x + np.sqrt(1 - rho**2) * noise


def test_standard_error_is_the_spread(estimator):
    """The deviation over draws is the noise, within a factor of 1.6; stderr includes more."""
    results = [estimator.estimate(*gaussian(np.random.default_rng(i), 300)) for i in range(40)]
    spread = np.std(
        [r.mi for r in results], ddof=1
    )  # with a standard error of 1 / sqrt(2 * 39), 11%
    assert 1 / 1.6 < np.mean([r.noise for r in results]) / spread < 1.6
    assert np.mean([r.stderr for r in results]) > spread / 1.6


A = np.array([[0.7, 0.2, 0.0], [-0.2, 0.6, 0.1], [0.0, 0.0, 0.5]])


def last_reading(states, lag, estimator):
    online = OnlineEstimator(estimator, lag=lag, window=len(states) - lag)
    estimates = [online.push(state) for state in states]
    assert estimates[-1] is not None and all(r is None for r in estimates[:-1])
    return estimates[-1].estimate


def autoregression(rng, steps):
    """A stationary VAR(1): s_t = A s_{t-1} + noise."""
    states = np.empty((steps, 3))
    states[0] = rng.multivariate_normal(np.zeros(3), solve_discrete_lyapunov(A, np.eye(3)))
    for t in range(1, steps):
        states[t] = A @ states[t - 1] + rng.standard_normal(3)
    return states


def autoregression_truth(lag):
    """I(s_t; s_{t-lag}) from the stationary covariance P and the cross-covariance A^lag P."""
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
    # The deviation of an estimate is 0.05, of the mean 0.0125; tolerance: 3 of it plus bias.
    assert found.mean() == pytest.approx(truth, abs=0.08)
    # 95% are within two standard errors if all are right; with 16 runs and some bias 75%.
    assert (np.abs(found - truth) < 2 * stderr).mean() >= 0.75
    # The standard error is not too wide, either.
    assert found.std(ddof=1) < 0.08 and noise.mean() < 0.12
    assert all(r.effective_samples <= n for r in results)


def test_window_of_independent_random_walks(estimator):
    """Walks of two robots that are independent of each other: the true mutual information is 0.

    As documented, with independent samples assumed they appear strongly dependent, and the estimate
    is flagged as autocorrelated. As a time series they do not, and the standard error covers the
    error.
    """
    plain, series = [], []
    for i in range(8):
        x, y = np.random.default_rng(i).standard_normal((2, 100, 3)).cumsum(axis=1)
        plain.append(estimator.estimate(x, y))
        series.append(estimator.estimate(x, y, time_series=True))
    assert min(r.mi for r in plain) > 1 and all(r.autocorrelated for r in plain)
    assert np.mean([abs(r.mi) for r in series]) < 0.4 and not any(r.autocorrelated for r in series)
    assert np.mean([abs(r.mi) <= 1.645 * r.stderr for r in series]) >= 0.75
    assert max(r.effective_samples for r in series) < 90


def test_window_of_a_random_walk_with_its_own_past(estimator):
    walks = [np.random.default_rng(i).standard_normal((102, 3)).cumsum(axis=0) for i in range(8)]
    found = [last_reading(walk, 2, estimator).mi for walk in walks]
    assert min(found) > 0.5 and np.mean(found) > 1.5
