"""Coordinates that others determine are left out of slices."""

import numpy as np
import pytest

from infoatlas_rt import Estimator, OnlineEstimator
from infoatlas_rt.estimation.prepare import Samples
from infoatlas_rt.estimation.redundancy import StreamRedundancy, redundant


@pytest.fixture(scope="module")
def estimator():
    return Estimator(threads=1, slices=8)


def sides(n=300, d=10):
    x, noise = np.random.default_rng(0).standard_normal((2, n, d))
    return x, x + noise


def test_copies_sums_and_differences():
    x, _ = sides()
    added = [2 * x[:, 3] + 1, x[:, 0] - x[:, 5], x.sum(axis=1), np.ones(len(x)), x[:, 0] ** 3]
    all_of_them = np.column_stack([x, *added])
    assert redundant(all_of_them) == (10, 11, 12)
    assert redundant(all_of_them.astype(np.float32).astype(np.float64)) == (10, 11, 12)
    noisy = all_of_them + 1e-3 * np.random.default_rng(1).standard_normal(all_of_them.shape)
    assert redundant(noisy) == ()
    assert redundant(all_of_them[:16]) == ()  # too few samples
    assert redundant(x[:, :1]) == redundant(np.ones((50, 3))) == ()


def test_copies_do_not_change_a_sliced_estimate(estimator):
    x, y = sides()
    plain = estimator.estimate(x, y)
    assert plain.redundant_x == plain.redundant_y == ()
    copies = np.column_stack([x[:, :2], np.ones(len(x)), x[:, 2:], x[:, 0], -x[:, 4]])
    found = estimator.estimate(copies, y)
    assert found.mi == plain.mi and found.constant_x == (2,)
    assert found.redundant_x == (11, 12) and "2 redundant in x" in str(found)
    assert estimator.estimate(np.column_stack([x[:, 0], x[:, 0]]), y[:, :2]).redundant_x == ()


def test_all_coordinates_are_copies_of_one(estimator):
    x, y = sides()
    found = estimator.estimate(np.outer(x[:, 0], np.arange(1, 11)), y)
    assert len(found.redundant_x) == 9 and found.rank_x == 1
    assert estimator.estimate(np.ones((300, 10)), y).redundant_x == ()


@pytest.mark.parametrize("others", ["copies", "constants"])
def test_sides_that_fit_without_copies_and_constants_are_not_sliced(others):
    estimator = Estimator(threads=1)
    x, y = sides(d=2)
    wide = np.column_stack([x, *[x[:, 0] if others == "copies" else np.ones(len(x))] * 4])
    plain, found = estimator.estimate(x, y), estimator.estimate(wide, y)
    assert (found.mi, found.stderr, found.k) == (plain.mi, plain.stderr, None)
    assert (found.redundant_x if others == "copies" else found.constant_x) == (2, 3, 4, 5)
    canonical = Estimator(threads=1, directions="canonical").estimate(wide, y)
    assert (canonical.mi, canonical.directions) == (plain.mi, None)


def test_a_stream_decides_a_coordinate_once():
    x, _ = sides(400, 6)
    x[:200, 5] = x[:200, 0]  # a copy at first
    x[:100, 1] = 1.0
    x[:, 4] = -x[:, 1]  # a copy, at rest at first
    x[300:, 5] = x[300:, 0]  # a copy again: the meaning of the estimates stays
    x[320:, [1, 4]] = 0.0  # at rest, which contradicts nothing
    side = StreamRedundancy()
    found = [side.update(x[i : i + 50]) for i in range(351)]
    assert found[0] == (5,) and found[60] == (4, 5) and set(found[170:]) == {(4,)}


def test_online_estimates_name_redundant_coordinates(estimator):
    x, _ = sides(80, 6)
    online = OnlineEstimator(estimator, window=50, lag=1)
    found = [online.push(state) for state in np.column_stack([x, x[:, 2]])]
    assert found[-1].estimate.redundant_x == found[-1].estimate.redundant_y == (6,)


def test_a_side_is_never_empty(estimator):
    """What determines the coordinate in a stream may be constant in a window."""
    x, y = sides()
    x[:, 1:] = 1.0
    found = estimator.estimate_checked(Samples(x, y, redundant=((0,), ())))
    assert found.redundant_x == () and found.rank_x == 1
