"""The true values of the calibration benchmark, and its coverage."""

import numpy as np
import pytest
from scipy.special import gammaln

from benchmarks import calibration as benchmark


def test_truth_of_a_student_t():
    """Comparison with the mean of the log-ratio over samples."""
    for dx, nu in ((1, 1.0), (2, 2.0), (5, 3.0)):
        z = np.random.default_rng(0).standard_normal((400_000, 2 * dx))
        z /= np.sqrt(np.random.default_rng(1).chisquare(nu, (400_000, 1)) / nu)
        x, y = (np.square(side).sum(1) for side in (z[:, :dx], z[:, dx:]))
        # The log-ratio of the densities, including its constant.
        shape = ((nu + 2 * dx) / 2, (nu + dx) / 2)
        ratio = shape[1] * (np.log1p(x / nu) + np.log1p(y / nu)) - shape[0] * np.log1p((x + y) / nu)
        ratio += gammaln(shape[0]) + gammaln(nu / 2)
        ratio -= 2 * gammaln(shape[1])
        assert benchmark.student_excess(nu, dx) == pytest.approx(ratio.mean(), abs=0.01)


def test_sliced_gaussian_truth():
    """Two projections to a line correlate by 0.8 times the cosine of their angle."""
    rng = np.random.default_rng(0)
    x = rng.standard_normal((5, 4000, 2))
    y = 0.8 * x + 0.6 * rng.standard_normal(x.shape)
    mi, error = benchmark._sliced_gaussian(x, y, 1)
    cosine = np.cos(rng.uniform(0, 2 * np.pi, 200_000))  # of the angle between two projections
    assert mi == pytest.approx(-0.5 * np.log1p(-np.square(0.8 * cosine)).mean(), abs=0.01)
    assert 0 < error < 0.01


def test_summary_counts_the_labels_error():
    data = {"n": np.array([50, 50]), "mi": np.array([1.0, 1.0]), "truth": np.array([1.2, 1.2])}
    data |= {"stderr": np.array([0.2, 0.05]), "noise": np.array([0.05, 0.05])}
    rows = benchmark.summarise("a", data | {"truth_error": np.zeros(2)})
    assert [r["coverage_90%"] for r in rows] == [0.5] and rows[0]["coverage_90%_noise_alone"] == 0
    rows = benchmark.summarise("a", data | {"truth_error": np.array([0.0, 0.2])})
    assert rows[0]["coverage_90%"] == 1
