"""Projections: orthonormal, uniform, seeded, and equal for tied samples."""

import numpy as np
import pytest

from infoatlas_rt.estimation.slicing import plan, project, stiefel, without_constants
from refusals import refuses


@pytest.mark.parametrize(("d", "k", "slices"), [(41, 5, 40), (7, 7, 3), (1, 1, 8), (300, 2, 4)])
def test_columns_are_orthonormal(d, k, slices):
    p = stiefel(d, k, slices, np.random.default_rng(0))
    assert p.shape == (slices, d, k) and p.dtype == np.float64
    eye = np.broadcast_to(np.eye(k), (slices, k, k))
    np.testing.assert_allclose(np.swapaxes(p, -1, -2) @ p, eye, atol=1e-12)


def test_haar_moments():
    # Uniform on St(3, 2): each entry has mean 0, variance 1/3 and fourth moment 3/(3*5), and the
    # determinant of a square one is 1 or -1 equally often. LAPACK's signs violate the first.
    p = stiefel(3, 2, 20_000, np.random.default_rng(1))
    error = 1 / np.sqrt(len(p))
    np.testing.assert_allclose(p.mean(axis=0), 0, atol=5 * error)
    np.testing.assert_allclose((p**2).mean(axis=0), 1 / 3, atol=5 * error)
    np.testing.assert_allclose((p**4).mean(axis=0), 1 / 5, atol=5 * error)
    assert abs(np.linalg.det(stiefel(2, 2, 20_000, np.random.default_rng(2))).mean()) < 5 * error


@pytest.mark.parametrize(("d", "k", "slices"), [(3, 4, 1), (3, 0, 1), (3, 2, 0)])
def test_impossible_sizes_are_refused(d, k, slices):
    refuses("pass", stiefel, d, k, slices, np.random.default_rng(0))


@pytest.mark.parametrize(
    ("dx", "dy", "options", "slices", "k", "x", "y"),
    [
        (3, 10, {}, 1, None, None, None),  # small sides are unsliced
        (3, 10, {"slices": 4}, 1, None, None, None),
        (41, 3, {}, 40, 10, (41, 10), None),
        (41, 30, {"slices": 7}, 7, 10, (41, 10), (30, 10)),
        (8, 6, {"k": 5, "slices": 3}, 3, 5, (8, 5), (6, 5)),
        (41, 6, {"k": 5, "sides": "x"}, 40, 5, (41, 5), None),
        (8, 6, {"k": 5, "sides": "y"}, 40, 5, None, (6, 5)),
    ],
)
def test_plans(dx, dy, options, slices, k, x, y):
    p = plan(dx, dy, 10, **options)
    shapes = [None if side is None else side.shape for side in (p.x, p.y)]
    assert (p.slices, p.k) == (slices, k)
    assert shapes == [None if side is None else (slices, *side) for side in (x, y)]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"dx": 41, "dy": 3, "k": 5}, "y, which has 3 coordinates.*k <= 3"),
        ({"dx": 2, "dy": 41, "k": 5}, "x, which has 2 coordinates.*k <= 2"),
        ({"dx": 3, "dy": 3, "sides": "both"}, r"width \(10\).*k <= 3, or leave out sides"),
        ({"dx": 3, "dy": 41, "sides": "both"}, r"k <= 3, or slice .* \(sides='y'\), or leave out"),
        ({"dx": 3, "dy": 3, "k": 5}, "k <= 3, or leave out k"),
        ({"dx": 41, "dy": 41, "k": 5, "sides": "x"}, "y has 41 coordinates.*accepts 10"),
        ({"dx": 41, "dy": 41, "k": 5, "slices": 10**9}, "fewer slices"),
    ],
)
def test_plan_refuses_what_cannot_be(arguments, message):
    refuses(message, plan, **arguments, dim=10)


def test_plan_is_the_same_for_the_same_widths_and_independent_across_sides():
    assert plan(12, 12, 10, k=4) is plan(12, 12, 10, k=4)
    p = plan(12, 12, 10, k=4)
    assert not np.allclose(p.x, p.y)
    # Projections of a side depend neither on the other side nor on its slicing.
    np.testing.assert_array_equal(p.x, plan(12, 30, 10, k=4).x)
    np.testing.assert_array_equal(p.y, plan(30, 12, 10, k=4, sides="both").y)
    assert not np.array_equal(p.x, plan(12, 12, 10, k=4, seed=1).x)
    with pytest.raises(ValueError, match="read-only"):
        p.x[0, 0, 0] = 1


def test_slices_without_constants():
    """Slices as of a side with the non-constant coordinates only, at most as wide as there are."""
    q = without_constants(plan(9, 7, 10, k=5, slices=40, seed=3), 7, 2, 3)
    assert (q.slices, q.k, q.x.shape, q.y.shape) == (40, 5, (40, 7, 5), (40, 2, 2))
    np.testing.assert_array_equal(q.x, plan(7, 7, 10, k=5, slices=40, seed=3).x)
    np.testing.assert_array_equal(q.y, plan(7, 2, 10, k=2, slices=40, seed=3, sides="both").y)


def test_non_constant_coordinates_and_unsliced_sides_stay():
    p = plan(12, 3, 10)
    assert without_constants(p, 12, 2, 0).x is p.x and without_constants(p, 12, 2, 0).y is None


def test_project_is_the_projection():
    rng = np.random.default_rng(5)
    samples, projections = rng.standard_normal((33, 7)), stiefel(7, 3, 4, rng)
    expected = np.einsum("nd,sdk->snk", samples, projections)
    np.testing.assert_allclose(project(samples, projections) * 2.0**-30, expected, atol=2e-9)


@pytest.mark.parametrize("n", [33, 50, 101])
def test_repeated_samples_stay_exact_ties(n):
    # A robot at rest repeats its state. Rounding in the matrix product must not separate the copies
    # at any position, because ranks would amplify it to noise of full scale.
    rng = np.random.default_rng(n)
    distinct = rng.standard_normal((5, 41))
    which = rng.integers(0, 5, n)
    sliced = project(distinct[which], stiefel(41, 5, 16, rng))
    for value in range(5):
        same = sliced[:, which == value]
        assert (same == same[:, :1]).all()
