"""Datasets whose sides are wider than a model, for the calibration of slices.

Each is a mixture of Gaussian and Student-t components. Projections of it are mixtures of the same
kind, so the mutual information of a slice is known. For one Gaussian component it has a closed
form. Otherwise it is a Monte Carlo mean of exact log-ratios.

| kind | dependence |
|---|---|
| component | canonical correlations of a prescribed total, Gaussian or t |
| mixture | 2 to 8 components of random low-rank correlation, with or without distance |
| spread | y = x + noise in all coordinates, or a rotation of x |
| factors | 1 to 4 factors that all coordinates share |
| student | heavy tails that both sides share, over weak or no correlation |
| regimes | 2 to 4 hidden levels that change noise, scale or map of all coordinates at once |
| sparse | 1 to 3 pairs of coordinates, among many independent ones |
| parity | products of signs in 3 coordinates, in all or in a part of the samples |
| independent | any of the above with independent sides |
"""

import math
from collections.abc import Callable
from typing import NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray

from infoatlas_rt.estimation.slicing import SLICES, Slicing, stiefel
from infoatlas_train.data.mixtures import WIDE, Mixture, component, label, low_rank_correlation

Array = NDArray[np.float64]
Rng = np.random.Generator

WIDEST = 60  # coordinates of a side
NARROW = 0.15  # share of datasets in which only one side is wider than a slice
# Projections for a label in closed form and for a Monte Carlo label, and draws for each of these.
EXACT, PROJECTIONS, PER_PROJECTION = 4096, 512, 512


class Wide(NamedTuple):
    """A distribution of two sides with dx and dy coordinates."""

    kind: str
    mixture: Mixture  # 2 max(dx, dy) coordinates; y is the second half
    dx: int
    dy: int


def gaussians(
    weight: Array, mean: Array, scale: Array, dx: int, dy: int, freedom: float = math.inf
) -> Mixture:
    """A mixture of K components over the concatenation of x and y.

    The shapes are weight [K], mean [K, dx + dy] and scale [K, dx + dy, dx + dy]; all components
    have the same degrees of freedom.
    """
    half, count = max(dx, dy), len(weight)
    used = np.r_[np.arange(dx), half + np.arange(dy)]
    means, scales = np.zeros((count, 2 * half)), np.tile(np.eye(2 * half), (count, 1, 1))
    means[:, used] = mean
    scales[np.ix_(range(count), used, used)] = scale
    mask = np.zeros(2 * half)
    mask[used] = 1
    log_weight = np.log(weight / weight.sum())
    nu = torch.full((1, count), freedom)
    parts = (torch.from_numpy(v)[None] for v in (log_weight, means, scales, mask))
    w, m, s, used_mask = parts
    return Mixture(w.float(), m.float(), s, nu, used_mask.float())


def joint(cross: Array, noise: float, x: Array | None = None) -> Array:
    """Joint covariance of x and y = x @ cross + noise: [dx + dy, dx + dy]; `x` is that of x."""
    x = np.eye(len(cross)) if x is None else x
    xy = x @ cross
    yy = cross.T @ xy + noise**2 * np.eye(cross.shape[1])
    return np.block([[x, xy], [xy.T, yy]])


def turn(dx: int, dy: int, rng: Rng) -> Array:
    """A map [dx, dy] with orthonormal rows or columns."""
    q = np.linalg.qr(rng.standard_normal((max(dx, dy), min(dx, dy))))[0]
    return q if dx >= dy else q.T


def log_uniform(low: float, high: float, rng: Rng) -> float:
    return float(np.exp(rng.uniform(math.log(low), math.log(high))))


def _single(dx: int, dy: int, rng: Rng) -> Mixture:
    return component(dx, dy)


def _mixture(dx: int, dy: int, rng: Rng, k: int) -> Mixture:
    half, components = max(dx, dy), int(rng.integers(2, 9))
    rank = math.inf if k <= WIDE else WIDE  # wide slices contain almost all dependence
    mask = torch.cat([(torch.arange(half) < d).float() for d in (dx, dy)])[None]
    mean = 5 * (2 * torch.rand(1, components, 2 * half) - 1) * float(rng.uniform(0, 1)) ** 2
    nu = torch.where(torch.rand(1, components) < 0.5, 2.1 + 28 * torch.rand(1, 1), math.inf)
    weight = (torch.rand(1, components) + 0.1).log().log_softmax(1)
    return Mixture(weight, mean * mask, low_rank_correlation(mask, components, rank), nu, mask)


def _one(scale: Array, dx: int, dy: int, freedom: float = math.inf) -> Mixture:
    return gaussians(np.ones(1), np.zeros((1, dx + dy)), scale[None], dx, dy, freedom)


def _spread(dx: int, dy: int, rng: Rng) -> Mixture:
    cross = np.eye(dx, dy) if rng.random() < 0.5 else turn(dx, dy, rng)
    return _one(joint(cross, log_uniform(0.1, 4, rng)), dx, dy)


def _factors(dx: int, dy: int, rng: Rng) -> Mixture:
    loadings = rng.standard_normal((dx + dy, int(rng.integers(1, 5))))
    return _one(loadings @ loadings.T + log_uniform(0.2, 20, rng) * np.eye(dx + dy), dx, dy)


def _student(dx: int, dy: int, rng: Rng) -> Mixture:
    noise = log_uniform(0.5, 10, rng) if rng.random() < 0.6 else 1e3
    return _one(joint(turn(dx, dy, rng), noise), dx, dy, log_uniform(2.1, 15, rng))


def _regimes(dx: int, dy: int, rng: Rng) -> Mixture:
    levels, changed = int(rng.integers(2, 5)), rng.choice(["noise", "scale", "map"])
    cross, noise = turn(dx, dy, rng), log_uniform(0.3, 3, rng)
    scales = []
    for _ in range(levels):
        if changed == "map":
            cross = rng.choice([-1, 1]) * cross if rng.random() < 0.5 else turn(dx, dy, rng)
        own = noise * (log_uniform(0.1, 10, rng) if changed == "noise" else 1)
        scale = joint(cross, own)
        scales.append(scale * (log_uniform(0.1, 10, rng) if changed == "scale" else 1))
    weight = rng.dirichlet(np.ones(levels)) + 0.02
    return gaussians(weight, np.zeros((levels, dx + dy)), np.array(scales), dx, dy)


def _sparse(dx: int, dy: int, rng: Rng) -> Mixture:
    cross, noise = np.zeros((dx, dy)), log_uniform(0.05, 2, rng)
    pairs = min(int(rng.integers(1, 4)), dx, dy)
    cross[np.arange(pairs), np.arange(pairs)] = 1
    scale = joint(cross, noise)
    scale[np.arange(dx + pairs, dx + dy), np.arange(dx + pairs, dx + dy)] = 1
    return _one(scale, dx, dy)


def _parity(dx: int, dy: int, rng: Rng) -> Mixture:
    """The signs of two coordinates of one side and one of the other have the product 1."""
    places = [0, 1, dx] if dx > 1 and (dy < 2 or rng.random() < 0.5) else [0, dx, dx + 1]
    signs = np.array(np.meshgrid(*[[-1, 1]] * 3)).reshape(3, -1).T
    share = 1.0 if rng.random() < 0.5 else rng.uniform(0.1, 1)
    weight = (1 - share) / 8 + share / 4 * (signs.prod(1) > 0) + 1e-9
    mean = np.zeros((8, dx + dy))
    mean[:, places] = signs * log_uniform(1, 5, rng)
    return gaussians(weight, mean, np.tile(np.eye(dx + dy), (8, 1, 1)), dx, dy)


KINDS: dict[str, Callable[[int, int, Rng], Mixture]] = {
    "component": _single,
    "spread": _spread,
    "factors": _factors,
    "student": _student,
    "regimes": _regimes,
    "sparse": _sparse,
    "parity": _parity,
}
ALL = (*KINDS, "mixture", "independent")


def draw(kind: str, k: int, rng: Rng) -> Wide:
    """Draw a distribution of this kind; at least one side is wider than k coordinates."""
    dx, dy = (int(log_uniform(k + 1, WIDEST + 1, rng)) for _ in range(2))
    if rng.random() < NARROW:
        dx = int(rng.integers(1, k + 1))
        dx, dy = (dx, dy) if rng.random() < 0.5 else (dy, dx)
    own = rng.choice([*KINDS, "mixture"]) if kind == "independent" else kind
    made = _mixture(dx, dy, rng, k) if own == "mixture" else KINDS[own](dx, dy, rng)
    return Wide(kind, made, dx, dy)


def sample(wide: Wide, n: int, rng: Rng) -> tuple[Array, Array]:
    """Draw n samples x [n, dx] and y [n, dy] float64."""
    half = max(wide.dx, wide.dy)
    z = wide.mixture.sample(n)[0].double().numpy()
    x, y = z[:, : wide.dx], z[:, half : half + wide.dy]
    return x, (y[rng.permutation(n)] if wide.kind == "independent" else y)


def truth(wide: Wide, k: int, rng: Rng, plan: Slicing | None = None) -> tuple[float, float]:
    """Mean mutual information over projections to k dimensions, and its standard error.

    Projections are random, or those of `plan`.
    """
    if wide.kind == "independent":
        return 0.0, 0.0
    m, dx, dy = wide.mixture, wide.dx, wide.dy
    exact = m.freedom.shape[1] == 1 and not m.freedom.isfinite().any()
    count = EXACT if exact else PROJECTIONS
    sides = []
    for d, own in ((dx, plan and plan.x), (dy, plan and plan.y)):
        if d <= k:
            sides.append(None)
        else:
            sides.append(stiefel(d, k, count, rng) if plan is None else own)
    if plan is not None:
        count = plan.slices
    found = projected(m, dx, dy, k, *sides, count)
    return label(found, k, PER_PROJECTION if plan is None else 8 * PER_PROJECTION)


def projected(
    m: Mixture, dx: int, dy: int, k: int, px: Array | None, py: Array | None, count: int = SLICES
) -> Mixture:
    """Project a mixture, standardised as in the estimator: a batch of `count` mixtures.

    px and py [count, d, k] are the projections of x and y; None leaves a side unprojected.
    """
    weight = m.log_weight.exp()[0].double()
    spread = torch.where(m.freedom.isfinite(), m.freedom / (m.freedom - 2), 1.0)[0].double()
    mean = m.mean[0].double()
    variance = spread[:, None] * m.scale[0].diagonal(dim1=-2, dim2=-1) + mean.square()
    sd = (weight @ variance - (weight @ mean).square()).sqrt()
    half = len(sd) // 2
    w = torch.zeros(count, 2 * half, 2 * k, dtype=torch.float64)
    mask = torch.zeros(2 * k)
    for d, own, row, column in ((dx, px, 0, 0), (dy, py, half, k)):
        columns = d if own is None else k
        matrices = np.eye(d)[None] if own is None else own
        w[:, row : row + d, column : column + columns] = torch.from_numpy(np.array(matrices))
        mask[column : column + columns] = 1
    w = w / sd[:, None]
    scale = w.mT[:, None] @ m.scale @ w[:, None]
    scale = scale + torch.diag_embed(1 - mask.double())
    weights, freedom = (v.expand(count, -1) for v in (m.log_weight, m.freedom))
    return Mixture(
        weights, (mean @ w).float(), (scale + scale.mT) / 2, freedom, mask.expand(count, -1)
    )
