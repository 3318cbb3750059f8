"""Scores of dependence for any dimension: values by hand and extremes."""

import numpy as np
import pytest

pytest.importorskip("dcor", reason="the extra 'bench' is not installed")


from benchmarks.peers.classical import hsic, projections, shrunk_copula, sliced
from benchmarks.peers.distance_correlation import distance_correlation
from benchmarks.slicing_studies import gaussian


def test_distance_correlation_by_hand():
    """By Székely and Rizzo's U-centred matrices, entry by entry."""
    rng = np.random.default_rng(0)
    x, y = rng.standard_normal((2, 12, 3))
    n = len(x)

    def centred(side):
        a = np.array([[np.sqrt(((p - q) ** 2).sum()) for q in side] for p in side])
        u = np.zeros((n, n))
        for i in range(n):
            for j in range(n):
                if i != j:
                    u[i, j] = a[i, j] - (a[i].sum() + a[:, j].sum()) / (n - 2)
                    u[i, j] += a.sum() / ((n - 1) * (n - 2))
        return u

    a, b = centred(x), centred(y)
    expected = (a * b).sum() / np.sqrt((a * a).sum() * (b * b).sum())
    assert distance_correlation(x, y) == pytest.approx(expected)


@pytest.mark.parametrize("score", [distance_correlation, hsic])
def test_peers_at_the_extremes(score):
    rng = np.random.default_rng(0)
    x, y = rng.standard_normal((2, 200, 8))
    assert score(x, x) == pytest.approx(1)
    assert score(x, 3 * x[:, ::-1] + 1) == pytest.approx(1)  # rotated, scaled and shifted
    assert abs(score(x, y)) < (0.05 if score is distance_correlation else 0.5)
    assert score(x, x + y) > score(x, x + 3 * y) > score(x, y)


def test_shrunk_copula():
    rng = np.random.default_rng(0)
    x, y = gaussian(3000, np.array([0.6, 0.3]), rng)
    truth = -0.5 * np.log((1 - 0.36) * (1 - 0.09))
    assert shrunk_copula(x, y) == pytest.approx(truth, abs=0.04)
    wide = rng.standard_normal((2, 50, 100))  # more coordinates than samples
    assert 0 <= shrunk_copula(*wide) < 20


def test_slices_are_orthonormal_and_seeded():
    columns = projections(6, 3, 4, np.random.default_rng(0))
    assert columns.shape == (4, 6, 3)
    assert np.allclose(columns.swapaxes(1, 2) @ columns, np.eye(3))
    x, y = np.random.default_rng(0).standard_normal((2, 50, 6))
    score = sliced(lambda a, b: float((a * b).mean()), 2, 3)
    assert score(x, y) == score(x, y)
