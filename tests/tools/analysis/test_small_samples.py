"""The Gaussian form from few samples, compared with known information."""

from __future__ import annotations

import numpy as np
import pytest

from infoatlas_tools.analysis.small_samples import gaussian_information


@pytest.mark.parametrize("rho", [0.0, 0.5, 0.9])
@pytest.mark.parametrize(("n", "d"), [(12, 2), (30, 3)])
def test_it_has_no_bias(rho, n, d):
    rng = np.random.default_rng(0)
    found = []
    for _ in range(300):
        x = rng.standard_normal((n, d))
        y = rho * x + np.sqrt(1 - rho**2) * rng.standard_normal((n, d))
        found.append(gaussian_information(x, y, np.arange(n) // 3))
    mi, stderr = np.array(found).T
    error = mi.std() / np.sqrt(len(mi))
    assert abs(mi.mean() + 0.5 * d * np.log(1 - rho**2)) < 4 * error
    assert 0.6 * mi.std() < np.median(stderr) < 2.5 * mi.std()


def test_unknown_properties():
    x = np.random.default_rng(0).standard_normal((7, 3))
    assert gaussian_information(x, np.zeros((7, 2)), np.arange(7)) == (0.0, 0.0)
    mi, _ = gaussian_information(x, x[:, ::-1], np.arange(7))
    assert np.isnan(mi)  # 7 samples of 6 dimensions
    mi, stderr = gaussian_information(x[:, :1], x[:, 1:2], np.zeros(7, int))
    assert np.isfinite(mi) and np.isnan(stderr)


def test_a_copy_is_finite():
    x = np.random.default_rng(0).standard_normal((20, 2))
    mi, _ = gaussian_information(x, x, np.arange(20))
    assert 5 < mi < 20
