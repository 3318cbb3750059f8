"""Transforms raw samples to the canonical form that enters the hypernetwork.

Every step is a bijection of one side, so the mutual information is unchanged:

1. ranks -> normal scores (the copula transform of the paper, section 3.2, with Gaussian margins),
2. whitening of each side,
3. a rotation of each side onto the canonical directions (singular vectors of the whitened
   cross-covariance), so that linear dependence is diagonal and sorted,
4. zero padding to the width D of the model.

The code uses the array API, so that the robot (NumPy) and training (torch) run the same code. It
also assigns to arrays of integer indices, which NumPy, torch and CuPy support.
"""

from functools import lru_cache
from statistics import NormalDist
from typing import NamedTuple

import numpy as np
from array_api_compat import device

from ..inputs.gpu_arrays import Array, array_namespace, beside

RANK_TOLERANCE = 1e-6  # eigenvalues of a side below this share of the largest are dropped
OUTLIER = 10.0  # largest deviation of an outlier, as a multiple of the largest one of the others
CORRELATION_FLOOR = 1e-12  # canonical correlations below it count as 0


class Canonical(NamedTuple):
    """Samples in canonical form, slices first."""

    x: Array  # [S, n, D] float32
    y: Array  # [S, n, D] float32
    correlations: Array  # [S, D] float64, canonical correlations, descending
    rank_x: Array  # [S] int, dimensions of x that whitening kept
    rank_y: Array  # [S]
    saturated: Array  # [S] bool, a correlation reached the bound that n samples can resolve


def round_samples(x: Array, resolution: Array) -> Array:
    """Samples [n, d] in multiples of a resolution [d], where it is above 0.

    This removes the jitter of a robot at rest.
    """
    xp = array_namespace(x)
    safe = xp.where(resolution > 0, resolution, xp.ones_like(resolution))
    return xp.where(resolution > 0, xp.round(x / safe) * safe, x)


def clip_outliers(x: Array) -> Array:
    """Clip single outliers of samples [n, d], which would determine the scale of a coordinate.

    In each coordinate, deviations from the median are clipped to `OUTLIER` times the largest one
    after the c largest, c = 1 + n // 100. A coordinate without outliers keeps its bits, and the
    order of samples is preserved. If all samples except c are equal, the others may be a rare
    motion or a flag, and nothing is clipped.
    """
    xp = array_namespace(x)
    n = x.shape[0]
    centre = xp.sort(x, axis=0, stable=False)[n // 2]
    deviation = xp.sort(
        xp.abs(x - centre), axis=0, stable=False
    )  # (infinite beyond the range of floats)
    limit = OUTLIER * deviation[max(n - 2 - n // 100, 0)]
    limit = xp.where(limit > 0, limit, xp.full_like(limit, xp.inf))
    return xp.clip(x, min=centre - limit, max=centre + limit)


def standardise(x: Array) -> Array:
    """Centre and scale each coordinate of [n, d], in float64; constants become zeros."""
    xp = array_namespace(x)
    x = xp.astype(x, xp.float64)
    # Scaling by the range first keeps the squares finite for any finite input.
    low, high = xp.min(x, axis=-2, keepdims=True), xp.max(x, axis=-2, keepdims=True)
    half_range = high / 2 - low / 2
    constant = half_range == 0
    x = (x / 2 - (low / 4 + high / 4)) / xp.where(constant, xp.ones_like(low), half_range)
    x = x - xp.mean(x, axis=-2, keepdims=True)
    scale = xp.sqrt(xp.mean(x * x, axis=-2, keepdims=True))
    return xp.where(constant, xp.zeros_like(x), x / xp.where(constant, xp.ones_like(low), scale))


@lru_cache(maxsize=64)
def score_table(n: int) -> np.ndarray:
    """Normal scores of the 2n-1 possible average ranks 1, 1.5, ..., n: Phi^-1((rank - 1/2) / n)."""
    inverse = NormalDist().inv_cdf
    half = [inverse((1 + i / 2 - 0.5) / n) for i in range(n)]  # ranks up to the middle one
    return np.array(half[: n - 1] + [0.0] + [-z for z in reversed(half[: n - 1])])


def normal_scores(x: Array) -> Array:
    """Copula transform: the normal scores of the average ranks in each row [..., d, n], float64.

    They have zero mean; a constant row becomes zeros.
    """
    xp = array_namespace(x)
    n = x.shape[-1]
    rows = xp.reshape(x, (-1, n))
    start = n * xp.arange(rows.shape[0], device=device(x))[:, None]
    order = xp.reshape(xp.argsort(rows, axis=-1, stable=False) + start, (-1,))
    ordered = xp.reshape(xp.take(xp.reshape(rows, (-1,)), order), rows.shape)
    new = ordered[:, 1:] != ordered[:, :-1]
    position = xp.arange(rows.shape[0] * n, device=device(x))
    if xp.all(new):
        twice = 2 * (position % n)
    else:
        # Ties: number the runs of equal values over all rows at once. The numbers ascend, so a
        # sorted search finds where each run starts and ends.
        first_of_row = xp.ones((rows.shape[0], 1), dtype=xp.int64, device=device(x))
        steps = xp.concat([first_of_row, xp.astype(new, xp.int64)], axis=1)
        run = xp.cumulative_sum(xp.reshape(steps, (-1,)))
        left = xp.searchsorted(run, run, side="left")
        right = xp.searchsorted(run, run, side="right") - 1
        twice = left + right - 2 * (position - position % n)
    scores = xp.empty(position.shape, dtype=xp.float64, device=device(x))
    table = beside(score_table(n), x)
    scores[order] = xp.take(table, twice)
    scores = xp.reshape(scores, x.shape)
    # Ties shift the mean; without them it is zero by symmetry.
    return scores - xp.mean(scores, axis=-1, keepdims=True)


def _whitener(z: Array) -> tuple[Array, Array]:
    """Whitening matrices of z [S, d, n]: ([S, d, d] rows = new directions, [S, d] kept or not)."""
    xp = array_namespace(z)
    w, v = xp.linalg.eigh(z @ xp.matrix_transpose(z) / z.shape[-1])
    w, v = xp.flip(w, axis=-1), xp.flip(v, axis=-1)
    kept = w > RANK_TOLERANCE * xp.clip(w[..., :1], min=RANK_TOLERANCE)
    scale = xp.where(kept, 1 / xp.sqrt(xp.where(kept, w, xp.ones_like(w))), xp.zeros_like(w))
    return xp.matrix_transpose(v) * scale[..., None], kept


def _sort_kept_first(u: Array, s: Array, kept: Array) -> Array:
    """Sort the columns of u that have no correlation: kept directions first, dropped ones last.

    u [S, d, d] orthogonal, s [S, r] singular values, kept [S, d]. Otherwise, directions that the
    whitening dropped could mix with kept ones whose correlation is 0.
    """
    xp = array_namespace(u)
    d = u.shape[-1]
    h = xp.matrix_transpose(u) @ (u * xp.astype(kept, u.dtype)[..., None])
    pad = xp.zeros((*s.shape[:-1], d - s.shape[-1]), dtype=s.dtype, device=device(s))
    paired = xp.concat([s, pad], axis=-1) > CORRELATION_FLOOR
    falling = d - xp.arange(d, device=device(u), dtype=u.dtype)
    weight = xp.where(paired, falling, xp.zeros_like(h[..., 0]))
    eye = xp.eye(d, dtype=u.dtype, device=device(u))
    _, r = xp.linalg.eigh(h + weight[..., None] * eye)
    return u @ xp.flip(r, axis=-1)


class Transform(NamedTuple):
    """The linear maps from normal scores to canonical form: whitening and rotation of each side."""

    x: Array  # [S, D, dx] float64
    y: Array  # [S, D, dy]


class Side(NamedTuple):
    """One side: everything that does not depend on the pairing of the samples."""

    scores: Array  # [S, d, n] float64, normal scores
    whitener: Array  # [S, d, d] rows: new directions
    kept: Array  # [S, d] bool, directions with a variance


def whiten(x: Array) -> Side:
    """Normal scores of samples x [S, n, d], and their whitening."""
    xp = array_namespace(x)
    scores = normal_scores(xp.matrix_transpose(x))
    return Side(scores, *_whitener(scores))


def canonicalise(x: Array, y: Array, dim: int) -> Canonical:
    """Normal scores, whitening, canonical rotation and padding of paired samples.

    Samples are [S, n, dx] and [S, n, dy], finite, and not wider than `dim`, the width D of the
    model.
    """
    return pair(whiten(x), whiten(y), dim)


def pair(x: Side, y: Side, dim: int) -> Canonical:
    """Canonical rotation and padding of two sides; sample i of x belongs to sample i of y."""
    xp = array_namespace(x.scores, y.scores)
    transform, correlations = rotate(x, y, dim)
    n = x.scores.shape[-1]
    return Canonical(
        xp.astype(xp.matrix_transpose(transform.x @ x.scores), xp.float32),
        xp.astype(xp.matrix_transpose(transform.y @ y.scores), xp.float32),
        correlations,
        xp.sum(xp.astype(x.kept, xp.int64), axis=-1),
        xp.sum(xp.astype(y.kept, xp.int64), axis=-1),
        xp.any(1 - correlations * correlations < 1 / (n * n), axis=-1),
    )


def rotate(x: Side, y: Side, dim: int) -> tuple[Transform, Array]:
    """The maps from scores to canonical form, and the canonical correlations [S, D]."""
    zx, zy = x.scores, y.scores
    xp = array_namespace(zx, zy)
    xw, yw = x.whitener @ zx, y.whitener @ zy
    n = zx.shape[-1]
    u, s, vt = xp.linalg.svd(xw @ xp.matrix_transpose(yw) / n, full_matrices=True)
    v = xp.matrix_transpose(vt)
    if not xp.all(x.kept) or not xp.all(y.kept):
        u, v = _sort_kept_first(u, s, x.kept), _sort_kept_first(v, s, y.kept)
    tx = _pad(xp.matrix_transpose(u) @ x.whitener, dim)
    ty = _pad(xp.matrix_transpose(v) @ y.whitener, dim)

    # Choose signs. The two directions of a pair are flipped together, by the sign of the sum of
    # their skewness; a direction without a partner, by the sign of its own skewness.
    cx, cy = tx @ zx, ty @ zy
    agree = xp.where(xp.sum(cx * cy, axis=-1) < 0, -1.0, 1.0)
    cy, ty = cy * agree[..., None], ty * agree[..., None]
    skew_x, skew_y = xp.sum(cx * cx * cx, axis=-1), xp.sum(cy * cy * cy, axis=-1)
    r = min(zx.shape[-2], zy.shape[-2])
    paired = xp.arange(dim, device=device(zx)) < r
    both = skew_x + skew_y
    # Untied scores of one dimension are symmetric, so their skewness is a rounding error that
    # depends on the order of the samples. A moment of both sides decides instead.
    shared = xp.sum(cx * cy * (cx + cy), axis=-1)
    both = xp.where(xp.abs(both) < 1e-9 * zx.shape[-1], shared, both)
    sx = xp.where(xp.where(paired, both, skew_x) < 0, -1.0, 1.0)
    sy = xp.where(xp.where(paired, both, skew_y) < 0, -1.0, 1.0)
    pad = xp.zeros((*s.shape[:-1], dim - r), dtype=s.dtype, device=device(s))
    transform = Transform(tx * sx[..., None], ty * sy[..., None])
    return transform, xp.concat([xp.clip(s, max=1.0), pad], axis=-1)


def _pad(rows: Array, dim: int) -> Array:
    xp = array_namespace(rows)
    shape = (*rows.shape[:-2], dim - rows.shape[-2], rows.shape[-1])
    return xp.concat([rows, xp.zeros(shape, dtype=rows.dtype, device=device(rows))], axis=-2)
