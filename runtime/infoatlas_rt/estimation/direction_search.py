"""Finds directions of two wide sides that are related to each other.

`canonical` finds the canonical directions of Hotelling (1936), with a ridge: pairs of linear
combinations with the largest correlations. `features` adds pairs that are related through squares.
It finds relations without any correlation: y = x^2, or noise whose level is a combination of the
other side. Their search is a power iteration, which starts at leading eigenvectors of third and
fourth moments (principal Hessian directions, Li, 1992; tensor unfolding, Richard and Montanari,
2014) and repeats

    u <- E[x g(v y) f'(u x)],  v <- E[y f(u x) g'(v y)]

with the linear combinations f, g of a projection and its square that correlate most. For an f that
is linear it is the power method of a covariance, for a square that of a third or fourth moment.
"""

from __future__ import annotations

from typing import NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from .canonical import RANK_TOLERANCE

Floats: TypeAlias = NDArray[np.float64]

RIDGE = 0.05  # added to the variances of normal scores, which are about 1
STARTS = 5  # eigenvectors of each moment from which a search starts
STEPS = 10  # of a search
KERNEL = 1000  # samples for the moments, at most: time grows as their square
LIMIT = 3.0  # projections are clipped to it, so that no sample of a heavy tail dominates
FEATURE_RIDGE = 0.1  # added to the variances of a projection and its square
NEW = 0.5  # length from which the remainder of a unit vector is a further direction


class Pairs(NamedTuple):
    """Pairs of directions: column s of `x` [p, S] with column s of `y` [q, S]."""

    x: Floats
    y: Floats
    strength: Floats  # [S] correlation of the two projections, or of their features


def canonical(x: Floats, y: Floats, k: int) -> tuple[Floats, Floats]:
    """Canonical directions of two sides.

    Parameters
    ----------
    x, y : [n, p], [n, q] float64
    k : int

    Returns
    -------
    [p, k], [q, k] float64
        The strongest correlation first; fewer columns than k if a side has fewer dimensions. If a
        side is constant, all directions are equally good, and the first coordinates are used.
    """
    map_x, map_y = _whitener(x), _whitener(y)
    if min(map_x.shape[1], map_y.shape[1]) == 0:
        return np.eye(x.shape[1], k), np.eye(y.shape[1], k)
    pairs = _linear((x - x.mean(axis=0)) @ map_x, (y - y.mean(axis=0)) @ map_y, k)
    return map_x @ pairs.x, map_y @ pairs.y


def features(x: Floats, y: Floats, k: int, order: NDArray[np.int64]) -> tuple[Floats, Floats]:
    """Directions of two sides that are related linearly or through their squares.

    Pairs are used in order of strength, if they are stronger than the strongest one of unrelated
    sides; the rest are canonical directions.

    Parameters
    ----------
    x, y, k
        As in `canonical`.
    order : [n] int64
        With y in this order, the two sides are unrelated.

    Returns
    -------
    As `canonical`.
    """
    map_x, map_y = _whitener(x), _whitener(y)
    if min(map_x.shape[1], map_y.shape[1]) == 0:
        return canonical(x, y, k)
    x, y = (x - x.mean(axis=0)) @ map_x, (y - y.mean(axis=0)) @ map_y
    linear, square = _linear(x, y, k), _quadratic(x, y)
    excess = np.concatenate(
        [
            linear.strength**2 - _linear(x, y[order], k).strength.max() ** 2,
            square.strength**2 - _quadratic(x, y[order]).strength.max() ** 2,
        ]
    )
    best = [s for s in np.argsort(-excess, kind="stable").tolist() if excess[s] > 0]
    found_x, found_y = (
        _basis(np.concatenate([both[:, best], line], axis=1), k)
        for both, line in (
            (np.concatenate([linear.x, square.x], axis=1), linear.x),
            (np.concatenate([linear.y, square.y], axis=1), linear.y),
        )
    )
    return map_x @ found_x, map_y @ found_y


def _whitener(z: Floats) -> Floats:
    """A map [p, r] to r uncorrelated coordinates, of unit variance where the ridge is small."""
    values, vectors = np.linalg.eigh(np.cov(z, rowvar=False, bias=True).reshape(z.shape[1], -1))
    kept = values > RANK_TOLERANCE * max(values[-1], RANK_TOLERANCE)
    return np.asarray(vectors[:, kept] / np.sqrt(values[kept] + RIDGE))


def _linear(x: Floats, y: Floats, k: int) -> Pairs:
    """Pairs of directions of whitened sides by their correlation."""
    u, strength, v = np.linalg.svd(x.T @ y / len(x), full_matrices=False)
    return Pairs(u[:, :k], v[:k].T, strength[:k])


def _quadratic(x: Floats, y: Floats) -> Pairs:
    """Pairs of directions of whitened sides that are related through squares."""
    some = np.linspace(0, len(x) - 1, min(len(x), KERNEL)).astype(int)
    some_x, some_y = x[some], y[some]
    square_x, square_y = _square_kernel(some_x), _square_kernel(some_y)
    pairs = [
        _unfolded(some_x, square_x, some_y),
        _unfolded(some_y, square_y, some_x)[::-1],
        _both_squared(some_x, square_x, some_y, square_y),
    ]
    u, v = (np.concatenate(sides, axis=1) for sides in zip(*pairs, strict=True))
    for _ in range(STEPS):
        (f, slope_f), (g, slope_g), _ = _matched(x @ u, y @ v)
        u, v = _unit(x.T @ (g * slope_f)), _unit(y.T @ (f * slope_g))
    return Pairs(u, v, _matched(x @ u, y @ v)[2])


def _square_kernel(z: Floats) -> Floats:
    """Inner products of the centred products of coordinates of all pairs of samples, [n, n].

    The diagonal is set to 0: it is by far the largest, and does not depend on the other side.
    """
    kernel: Floats = np.square(z @ z.T)
    mean = kernel.mean(axis=0)
    kernel += mean.mean() - mean - mean[:, None]
    np.fill_diagonal(kernel, 0.0)
    return kernel


def _unfolded(x: Floats, square_x: Floats, y: Floats) -> tuple[Floats, Floats]:
    """Starts: directions of y that the products of x predict best, and those of x for each."""
    vectors = np.linalg.eigh(y.T @ square_x @ y)[1][:, ::-1][:, :STARTS]
    found = [_hessian(x, y @ vector, 2) for vector in vectors.T]
    return np.concatenate(found, axis=1), np.repeat(vectors, [f.shape[1] for f in found], axis=1)


def _both_squared(
    x: Floats, square_x: Floats, y: Floats, square_y: Floats
) -> tuple[Floats, Floats]:
    """Starts: directions whose products are related on both sides."""
    values = np.random.default_rng(0).standard_normal((len(x), STARTS))
    for _ in range(STEPS):
        of_x = np.linalg.qr(square_x @ values)[0]
        values = np.linalg.qr(square_y @ of_x)[0]
    pairs = [(_hessian(x, g, 1), _hessian(y, f, 1)) for f, g in zip(of_x.T, values.T, strict=True)]
    u, v = (np.concatenate(side, axis=1) for side in zip(*pairs, strict=True))
    return u, v


def _hessian(z: Floats, weights: Floats, count: int) -> Floats:
    """The `count` directions in which the mean of weights z z^T differs most from its own mean."""
    values, vectors = np.linalg.eigh((z * weights[:, None]).T @ z)
    return np.asarray(vectors[:, np.argsort(-abs(values - values.mean()), kind="stable")[:count]])


def _matched(p: Floats, q: Floats) -> tuple[tuple[Floats, Floats], tuple[Floats, Floats], Floats]:
    """Functions of projections p and q [n, S] that correlate most, their slopes, and correlations.

    The functions are linear combinations of a projection and its square.
    """
    (features_p, slopes_p), (features_q, slopes_q) = _squares(p), _squares(q)
    white_p, white_q = (
        _inverse_root(np.einsum("ins,jns->sij", f, f) / len(p)) for f in (features_p, features_q)
    )
    across = np.einsum("ins,jns->sij", features_p, features_q) / len(p)
    u, strength, v = np.linalg.svd(white_p @ across @ white_q)
    a = (white_p @ u[:, :, :1])[:, :, 0].T[:, None, :]
    b = (white_q @ np.swapaxes(v[:, :1, :], 1, 2))[:, :, 0].T[:, None, :]
    of_p = (features_p * a).sum(axis=0), (slopes_p * a).sum(axis=0)
    of_q = (features_q * b).sum(axis=0), (slopes_q * b).sum(axis=0)
    return of_p, of_q, strength[:, 0]


def _squares(p: Floats) -> tuple[Floats, Floats]:
    """Centred features [2, n, S] of projections [n, S] (values and squares), and their slopes."""
    p = np.clip(p, -LIMIT, LIMIT)
    found = np.stack([p, p * p / np.sqrt(2)])
    found -= found.mean(axis=1, keepdims=True)
    return found, np.stack([np.ones_like(p), np.sqrt(2) * p])


def _inverse_root(covariances: Floats) -> Floats:
    """Inverse square roots of covariances [S, 2, 2] with a ridge."""
    values, vectors = np.linalg.eigh(covariances)
    scaled = vectors / np.sqrt(np.maximum(values, 0) + FEATURE_RIDGE)[:, None, :]
    return np.asarray(scaled @ np.swapaxes(vectors, 1, 2))


def _unit(vectors: Floats) -> Floats:
    """Columns of unit length."""
    return np.asarray(vectors / np.maximum(np.linalg.norm(vectors, axis=0), 1e-12))


def _basis(columns: Floats, k: int) -> Floats:
    """Up to k orthonormal directions that span the first columns, without near repetitions."""
    found = np.empty((len(columns), 0))
    for column in columns.T:
        rest = column - found @ (found.T @ column)
        length = float(np.linalg.norm(rest))
        if length > NEW and found.shape[1] < k:
            found = np.column_stack([found, rest / length])
    return found
