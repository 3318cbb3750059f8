"""The shipped model `base`: right on straight data, and not blind where sides are twisted."""

import numpy as np
import pytest

from infoatlas_rt import Estimator

N = 3000


@pytest.fixture(scope="module")
def models():
    return {name: Estimator(name, threads=1) for name in ("edge", "base")}


def gaussian(rng, d=3, rho=0.8):
    x, noise = rng.standard_normal((2, N, d))
    return x, rho * x + np.sqrt(1 - rho**2) * noise, -d / 2 * np.log(1 - rho**2)


def twisted(side):
    """Turn two coordinates by the squared length, which keeps all information."""
    angle = 0.7 * np.square(side).sum(1)
    c, s = np.cos(angle), np.sin(angle)
    a, b = side[:, 0], side[:, 1]
    return np.stack([c * a - s * b, s * a + c * b, *side.T[2:]], 1)


def test_gaussian(models):
    for seed in range(2):
        x, y, truth = gaussian(np.random.default_rng(seed))
        found = models["base"].estimate(x, y)
        # 5% for the model, and four standard errors of the closed form's own estimate
        assert found.mi == pytest.approx(truth, abs=0.05 * truth + 4 * np.sqrt(3 * 0.8**2 / N))
        assert found.stderr > 0 and not found.saturated


@pytest.mark.parametrize("name", ["edge", "base"])
def test_twisted_sides_are_seen_in_part(models, name):
    x, y, truth = gaussian(np.random.default_rng(5))
    found = models[name].estimate(twisted(x), twisted(y)).mi
    assert 2 / 3 * truth < found < truth + 0.05


def test_independence(models):
    x, y = np.random.default_rng(6).standard_normal((2, N, 5))
    assert abs(models["base"].estimate(x, y).mi) < 0.03
