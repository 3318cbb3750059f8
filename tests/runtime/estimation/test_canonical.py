"""Canonical form: its properties, for all backends of arrays."""

import numpy as np
import pytest
from scipy import stats

from infoatlas_rt.estimation.canonical import canonicalise, normal_scores, standardise


def samples(slices=4, n=200, dx=3, dy=3, strength=0.7, seed=0):
    rng = np.random.default_rng(seed)
    x, y = rng.standard_normal((slices, n, dx)), rng.standard_normal((slices, n, dy))
    d = min(dx, dy)
    y[..., :d] += strength * x[..., :d]
    return x, y


@pytest.mark.parametrize("decimals", [None, 1, 0])
def test_scores_are_those_of_average_ranks(decimals):
    x = np.random.default_rng(0).standard_normal((3, 2, 50))
    x = x if decimals is None else x.round(decimals)
    expected = stats.norm.ppf((stats.rankdata(x, axis=-1) - 0.5) / 50)
    expected -= expected.mean(-1, keepdims=True)
    np.testing.assert_allclose(normal_scores(x), expected, atol=1e-12)


@pytest.mark.parametrize(("dx", "dy"), [(1, 1), (3, 3), (2, 5), (5, 1)])
def test_sides_are_white_and_correlations_diagonal(dx, dy):
    c = canonicalise(*samples(dx=dx, dy=dy), 5)
    n = c.x.shape[1]
    x, y = c.x.astype(float), c.y.astype(float)
    for side, d in ((x, dx), (y, dy)):
        expected = np.diag([1.0] * d + [0.0] * (5 - d))
        white = side.transpose(0, 2, 1) @ side / n
        np.testing.assert_allclose(white, np.tile(expected, (4, 1, 1)), atol=1e-5)
    cross = x.transpose(0, 2, 1) @ y / n
    expected = c.correlations[..., None] * np.eye(5)
    np.testing.assert_allclose(cross, expected, atol=1e-5)
    assert (np.diff(c.correlations) <= 1e-12).all() and (c.rank_x == dx).all()
    assert (c.rank_y == dy).all()


def test_copies_and_constants_are_dropped():
    x, y = samples()
    x[..., 2] = 5 * x[..., 0] - 1
    y[1] = 7.0
    c = canonicalise(x, y, 5)
    assert c.rank_x.tolist() == [2] * 4 and c.rank_y.tolist() == [3, 0, 3, 3]
    real = (c.x.astype(float) ** 2).mean(1)
    np.testing.assert_allclose(real, np.tile([1.0, 1, 0, 0, 0], (4, 1)), atol=1e-5)
    assert np.abs(c.y[1]).max() == 0


@pytest.mark.parametrize("ranks", [(1, 2), (2, 1), (2, 3)])
def test_dropped_directions_come_last(ranks):
    """Also if the real directions have no correlation with the other side."""
    x, y = samples(dx=4, dy=4, strength=0.0)
    for side, rank in zip((x, y), ranks, strict=True):
        side[..., rank:] = side[..., :1]
    c = canonicalise(x, y, 5)
    for side, rank in zip((c.x, c.y), ranks, strict=True):
        real = (side.astype(float) ** 2).mean(1)
        expected = [1.0] * rank + [0.0] * (5 - rank)
        np.testing.assert_allclose(real, np.tile(expected, (4, 1)), atol=1e-5)


@pytest.mark.parametrize("d", [1, 2, 5])
def test_order_of_samples_changes_nothing(d):
    """Nor do signs change: in one dimension they cannot depend on skewness, which scores lack."""
    x, y = samples(n=100, dx=d, dy=d)
    y = np.sin(3 * x) + 0.1 * y
    order = np.random.default_rng(1).permutation(100)
    a, b = canonicalise(x, y, 5), canonicalise(x[:, order], y[:, order], 5)
    np.testing.assert_allclose(a.x[:, order], b.x, atol=1e-4)
    np.testing.assert_allclose(a.y[:, order], b.y, atol=1e-4)


def test_swapped_sides_swap():
    x, y = samples(dx=3, dy=3)
    a, b = canonicalise(x, y, 5), canonicalise(y, x, 5)
    np.testing.assert_allclose(a.x, b.y, atol=1e-4)
    np.testing.assert_allclose(a.y, b.x, atol=1e-4)


@pytest.mark.parametrize("size", [1e-300, 1e-3, 1e100, 1e300])
def test_standardise_at_any_scale(size):
    x = np.random.default_rng(0).standard_normal((50, 2)) * size
    x[:, 1] = size
    z = standardise(x)
    np.testing.assert_allclose(z[:, 0].std(), 1.0)
    assert np.abs(z[:, 1]).max() == 0
