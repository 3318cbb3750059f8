"""The search for directions that depend on the other side."""

import numpy as np
import pytest

from infoatlas_rt.estimation.direction_search import canonical, features


def sides(relate, n=3000, dx=10, dy=8, seed=0):
    """Normal sides; the first coordinate of y depends on the first coordinates of x."""
    rng = np.random.default_rng(seed)
    x, y = rng.standard_normal((n, dx)), rng.standard_normal((n, dy))
    y[:, 0] = relate(x, y[:, 0])
    return x, y, rng.permutation(n)


def found(directions, coordinate=0):
    """Share of a coordinate in the directions: 1 is all of it."""
    q = np.linalg.qr(directions)[0]
    return np.linalg.norm(q[coordinate])


def test_canonical_directions_of_a_correlation():
    x, y, _ = sides(lambda x, e: x[:, 0] + e)
    u, v = canonical(x, y, 3)
    assert u.shape == (10, 3) and v.shape == (8, 3)
    assert abs(u[0, 0]) > 0.97 * np.linalg.norm(u[:, 0])
    assert abs(v[0, 0]) > 0.97 * np.linalg.norm(v[:, 0])
    correlations = np.corrcoef((x @ u).T, (y @ v).T)[:3, 3:]
    assert np.allclose(correlations, np.diag(np.diag(correlations)), atol=0.01)
    assert (np.diff(np.diag(correlations)) < 0).all()


@pytest.mark.parametrize(
    "relate",
    [
        lambda x, e: x[:, 0] ** 2 + 0.5 * e,
        lambda x, e: np.exp(x[:, 0]) * e,
        lambda x, e: 0.3 * x[:, 0] + x[:, 0] ** 2 + e,
        lambda x, e: x[:, 0] * x[:, 1] + 0.3 * e,
        lambda x, e: x[:, 0] + 0.7 * e,
    ],
    ids=["square", "noise level", "both", "product", "linear"],
)
def test_directions_of_features(relate):
    x, y, order = sides(relate)
    u, v = features(x, y, 5, order)
    assert found(u) > 0.9 and found(v) > 0.9
    # The first five of ten coordinates would have a half by chance.
    assert u.shape == (10, 5) and v.shape == (8, 5)


def test_squares_of_both_sides():
    rng = np.random.default_rng(0)
    x, y = rng.standard_normal((2, 4000, 8))
    scale = np.exp(rng.standard_normal(4000) / 2)
    x[:, 0] *= scale
    y[:, 0] *= scale
    u, v = features(x, y, 3, rng.permutation(4000))
    assert found(u) > 0.9 and found(v) > 0.9


def test_no_more_directions_than_dimensions():
    x, y, order = sides(lambda x, e: x[:, 0] + e, dx=3, dy=2)
    u, v = features(x, y, 5, order)
    assert u.shape[1] <= 3 and v.shape[1] <= 2
    copies = np.repeat(x, 4, axis=1)
    u, _ = canonical(copies, y, 5)
    assert u.shape == (12, 2)
    assert np.isfinite(features(copies, y, 5, order)[0]).all()
    for search in (canonical, lambda *sides: features(*sides, np.arange(100))):
        u, _ = search(np.zeros((100, 6)), y[:100], 5)
        assert np.array_equal(u, np.eye(6, 5))
