"""The classical peers agree with closed forms, so that comparisons with them are fair."""

import math

import numpy as np
import pytest
from draws import gaussian
from scipy.stats import gaussian_kde

from benchmarks.peers import gaussian_copula, kde, ksg

DRAWS = 8


def mean_over_draws(estimate, truth, d, n):
    return np.mean([estimate(*gaussian(truth, d, n, seed)) for seed in range(DRAWS)])


# An estimate from n samples has the standard deviation sqrt(var(log-ratio) / n), here at most
# sqrt(d / n), and the mean of 8 draws a third of it. The tolerance is three of these, plus the
# error of ranks under strong dependence.
@pytest.mark.parametrize("d", [1, 2, 5])
@pytest.mark.parametrize("truth", [0.0, 0.3, 1.0, 2.0])
def test_gaussian_copula(truth, d):
    n = 1000
    tolerance = 0.005 + min(truth, 1) * math.sqrt(d / n) + 0.02 * truth
    assert mean_over_draws(gaussian_copula, truth, d, n) == pytest.approx(truth, abs=tolerance)


def test_gaussian_copula_is_corrected_for_its_bias():
    # The bias without the correction is 5 * 5 / (2 * 60) = 0.21 nats; a draw varies by 0.1.
    found = np.mean([gaussian_copula(*gaussian(0, 5, 60, seed)) for seed in range(40)])
    assert found == pytest.approx(0, abs=0.05)


def test_gaussian_copula_sees_ranks_alone():
    x, y = gaussian(1.0, 3, 300, 0)
    assert gaussian_copula(np.exp(x), y**3) == pytest.approx(gaussian_copula(x, y), abs=1e-12)


# KSG is nearly unbiased in one dimension. In more it underestimates strong dependence, so only weak
# dependence can be checked there (Kraskov et al. 2004, figures 4 and 14).
@pytest.mark.parametrize(
    ("truth", "d", "tolerance"),
    [
        (0.0, 1, 0.02), (0.5, 1, 0.03), (2.0, 1, 0.05), (0.0, 3, 0.02), (0.3, 2, 0.03),
        (0.3, 3, 0.06),
    ],
)  # fmt: skip
def test_ksg(truth, d, tolerance):
    assert mean_over_draws(ksg, truth, d, 1000) == pytest.approx(truth, abs=tolerance)


def test_ksg_by_hand():
    """The counts of Eq. 8 on a small sample, from comparisons of all pairs."""
    rng = np.random.default_rng(1)
    x, y = rng.standard_normal((2, 40, 2))
    x, y = ((side - side.mean(0)) / side.std(0) for side in (x, y + x))
    dx, dy = (np.abs(s[:, None] - s[None]).max(-1) for s in (x, y))
    k, n = 3, 40
    radius = np.sort(np.maximum(dx, dy), axis=1)[:, k]  # 0 is the sample itself
    harmonic = np.cumsum(1 / np.arange(1, n))
    psi = np.concatenate([[np.nan, 0], harmonic]) - np.euler_gamma
    counts = [(d < radius[:, None]).sum(1) for d in (dx, dy)]  # with the sample itself: n_x + 1
    expected = psi[k] + psi[n] - (psi[counts[0]] + psi[counts[1]]).mean()
    assert ksg(x, y, k) == pytest.approx(expected, abs=1e-10)


def test_ksg_does_not_depend_on_units():
    x, y = gaussian(0.5, 2, 300, 3)
    assert ksg(x * [1e3, 1e-3], y + 5) == pytest.approx(ksg(x, y), abs=1e-9)


def test_ksg_of_ties_is_right_and_repeats():
    """With bits, nearest neighbours have distance zero."""
    rng = np.random.default_rng(0)
    x = rng.integers(2, size=(1000, 2)).astype(float)
    y = np.where(rng.random(x.shape) < 0.1, 1 - x, x)
    found = ksg(x, y)
    assert found == pytest.approx(ksg(x, y), abs=1e-3)  # the library adds unseeded noise
    assert found == pytest.approx(2 * 0.368, abs=0.1)


# Kernel densities over-smooth strong dependence, and are noisier in more dimensions.
@pytest.mark.parametrize(
    ("truth", "d", "tolerance"), [(0.0, 1, 0.03), (0.5, 1, 0.04), (0.3, 2, 0.08), (1.0, 2, 0.12)]
)
def test_kde(truth, d, tolerance):
    assert mean_over_draws(kde, truth, d, 1000) == pytest.approx(truth, abs=tolerance)


def test_kde_by_scipy():
    """Comparison with scipy's densities, evaluated at samples that were left out."""
    x, y = gaussian(0.8, 2, 60, 5)
    both = np.hstack([x, y])
    total = 0.0
    for part, sign in ((slice(0, 2), -1), (slice(2, 4), -1), (slice(0, 4), 1)):
        z = both[:, part].T
        factor = gaussian_kde(z).factor
        covariance = factor**2 * np.cov(z)
        for i in range(60):
            rest = np.delete(z, i, axis=1)
            e = np.linalg.solve(np.linalg.cholesky(covariance), rest - z[:, i : i + 1])
            kernels = np.exp(-0.5 * (e**2).sum(0))
            norm = math.sqrt(np.linalg.det(2 * math.pi * covariance))
            total += sign * math.log(kernels.mean() / norm) / 60
    assert kde(x, y) == pytest.approx(total, abs=1e-4)


def test_kde_survives_a_copied_coordinate():
    x, y = gaussian(0.5, 1, 300, 6)
    assert np.isfinite(kde(np.hstack([x, x]), y))
