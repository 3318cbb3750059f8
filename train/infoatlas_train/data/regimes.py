"""Datasets of several channels with regimes, failures, varying delays or growing noise.

Such data is frequent in robots and instruments and rare in the atlas, which changes channels one by
one. The bias correction (:mod:`infoatlas_train.fit_correction`) is fitted to these kinds:

- ``regimes``   a hidden level changes the noise, the map or the scale of all channels at once
- ``failures``  each channel fails independently of the others; it then is noise or constant
- ``delays``    y is x some steps earlier, and the delay varies from sample to sample
- ``growing``   the noise of all channels grows with one coordinate

The first three are mixtures of Gaussians, whose densities are exact. Arguments of each function are
the number of datasets, the number of samples, the number of queries for a label, and the dimension
D of a side.
"""

import math

import torch
from torch import Tensor

from infoatlas_train.data import channels
from infoatlas_train.data.atlas import Datasets
from infoatlas_train.data.closed_form import CPU, FULL, sides, without_queries
from infoatlas_train.data.families import source
from infoatlas_train.data.flows import orthogonal, random_flow, standardise, uniform
from infoatlas_train.data.mixtures import Mixture, centred, excess, label, prescribed_correlation

WARPED = 0.5  # share of datasets with a random flow of each side
MOST_LEVELS = 4  # of a hidden state
STUCK = 1 / 3  # share of batches in which a failed channel is constant
TURNED = 0.3  # share of the other batches in which the sides are rotated


def widths(dim: int) -> tuple[int, int]:
    """Numbers of coordinates of both sides, in most datasets equal and often `dim`."""
    if torch.rand(()) < FULL:
        return dim, dim
    d = 1 + int(torch.randint(dim, ()))
    return d, d if torch.rand(()) < 0.7 else 1 + int(torch.randint(dim, ()))


def of_mixtures(
    mixtures: list[tuple[Mixture, int, int]], samples: int, queries: int, dim: int
) -> Datasets:
    """One dataset from each (mixture over (x, y), coordinates of x, coordinates of y)."""
    x, y = torch.zeros(2, len(mixtures), samples, dim)
    mi = torch.zeros(len(mixtures))
    for i, (m, dx, dy) in enumerate(mixtures):
        half = m.mask.shape[1] // 2
        z = m.sample(samples)
        pair = z[..., :half], z[..., half:]
        if torch.rand(()) < WARPED:
            masks = m.mask[:, :half], m.mask[:, half:]
            pair = [random_flow(side, mask) for side, mask in zip(pair, masks, strict=True)]
        first, second = pair[0][0, :, :dx], pair[1][0, :, :dy]
        if torch.rand(()) < 0.5:
            first, second = second, first
        x[i, :, : first.shape[1]], y[i, :, : second.shape[1]] = first, second
        mi[i] = label(m, half, 4 * queries)[0]
    return without_queries(x, y, mi)


def zero_mean(scale: Tensor, dx: int, dy: int) -> Mixture:
    """A mixture of Gaussians of zero mean with covariances [K, 2d, 2d] and random weights."""
    k, both = scale.shape[:2]
    mask = torch.cat([(torch.arange(both // 2) < d).float() for d in (dx, dy)])[None]
    return centred(scale[None], mask, torch.randn(1, k).log_softmax(1))


def regimes(count: int, samples: int, queries: int, dim: int) -> Datasets:
    """A hidden state has two to four levels, each with its own noise, map or scale."""
    return of_mixtures([_regimes(*widths(dim)) for _ in range(count)], samples, queries, dim)


def _regimes(dx: int, dy: int) -> tuple[Mixture, int, int]:
    half, k = max(dx, dy), 2 + int(torch.randint(MOST_LEVELS - 1, ()))
    mx, my = ((torch.arange(half) < d).float()[None] for d in (dx, dy))
    base = prescribed_correlation(mx, my)[0, 0]  # [2d, 2d]
    cross, eye = base[:half, half:], torch.eye(half, dtype=base.dtype)
    noise = eye - cross.mT @ cross  # covariance of y given x
    changes = torch.rand(3) < torch.tensor([0.6, 0.35, 0.25])  # of noise, map, scale
    if not changes.any():
        changes[0] = True
    parts = []
    for level in range(k):
        sd = float(torch.exp(1.2 * torch.randn(()))) if changes[0] and level else 1.0
        turn = orthogonal(my.double())[0] if torch.rand(()) < 0.5 else torch.diag(_signs(half))
        turn = turn if changes[1] and level else eye
        common = float(torch.exp(0.8 * torch.randn(()))) if changes[2] and level else 1.0
        own = cross @ turn
        y = own.mT @ own + sd**2 * (turn.mT @ noise @ turn)
        scale = common**2 * torch.cat([torch.cat([eye, own], 1), torch.cat([own.mT, y], 1)])
        used = torch.cat([mx, my], 1)[0] > 0
        parts.append(torch.where(used[:, None] & used, scale, torch.eye(2 * half, dtype=eye.dtype)))
    return zero_mean(torch.stack(parts), dx, dy), dx, dy


def _signs(d: int) -> Tensor:
    return torch.where(torch.rand(d) < 0.5, 1.0, -1.0).double()


def failures(count: int, samples: int, queries: int, dim: int) -> Datasets:
    """y_j is x_j plus noise; where channel j fails, it is noise of another size, or constant."""
    d = dim if torch.rand(()) < FULL else 1 + int(torch.randint(dim, ()))
    level = uniform(count, math.log(0.1), math.log(1.5), CPU).exp()[:, None]
    level = level * excess(torch.ones(count, d))[:, None]
    rate = uniform(count, math.log(0.02), math.log(0.6), CPU).exp()[:, None].expand(count, d)
    if torch.rand(()) < 0.5:
        rate = (rate * torch.exp(0.5 * torch.randn(count, d))).clamp(max=0.9)
    x, noise = torch.randn(2, count, samples, d)
    failed = torch.rand(count, samples, d) < rate[:, None]
    fine = x + level[:, None] * noise
    if torch.rand(()) < STUCK:
        stuck = torch.where(torch.rand(count, 1, d) < 0.5, 0.0, torch.randn(count, 1, d))
        y = torch.where(failed, stuck, fine)
        mi = ((1 - rate) * 0.5 * torch.log1p(level**-2)).sum(1)
        turned = False
    else:
        other = torch.exp(0.7 * torch.randn(count, 1)).expand(count, d)  # noise of a failure
        y = torch.where(failed, other[:, None] * torch.randn(count, samples, d), fine)
        mi = _information_of_failures(level.expand(count, d), rate, other, queries)
        turned = bool(torch.rand(()) < TURNED)
    mask = torch.ones(count, d)
    pair = [x, y]
    if turned:
        pair = [side @ orthogonal(mask) for side in pair]
    elif torch.rand(()) < WARPED:
        pair = [torch.sinh(side) if torch.rand(()) < 0.5 else side for side in pair]
    if torch.rand(()) < 0.5:
        pair.reverse()
    wide = [torch.nn.functional.pad(side, (0, dim - d)) for side in pair]
    return without_queries(*wide, mi)


def _information_of_failures(level: Tensor, rate: Tensor, other: Tensor, queries: int) -> Tensor:
    """Mutual information of all channels [B]; each channel is a mixture of two Gaussians."""
    count = len(level)
    level, rate, other = (v.flatten().double() for v in (level, rate, other))
    one = torch.ones_like(level)
    fine = torch.stack([one, one, one, 1 + level**2], 1).unflatten(1, (2, 2))
    broken = torch.diag_embed(torch.stack([one, other**2], 1))
    weight = torch.stack([1 - rate, rate], 1).log().float()
    m = centred(torch.stack([fine, broken], 1), torch.ones(len(one), 2), weight)
    z = m.sample(4 * queries)
    return m.log_ratio(z[..., :1], z[..., 1:]).mean(1).unflatten(0, (count, -1)).sum(1)


def delays(count: int, samples: int, queries: int, dim: int) -> Datasets:
    """x is a piece of a path; y is noise plus consecutive values of x at a random place."""
    return of_mixtures([_delays(dim) for _ in range(count)], samples, queries, dim)


def _delays(dim: int) -> tuple[Mixture, int, int]:
    dx = max(min(dim, 2), dim if torch.rand(()) < FULL else 1 + int(torch.randint(dim, ())))
    dy = 1 + int(torch.randint(max(1, dx - 1), ()))
    phi = 1 - 10 ** -float(2 * torch.rand(()))  # 0 to 0.99
    path = phi ** (torch.arange(dx)[:, None] - torch.arange(dx)).abs().double()
    level = math.exp(float(uniform(1, math.log(0.05), math.log(1.0), CPU)))
    level *= float(excess(torch.ones(1, dy)))
    parts = []
    for delay in range(dx - dy + 1):
        chosen = torch.zeros(dx, dx, dtype=torch.float64)  # rows of x in y; the others are unused
        chosen[torch.arange(dy), delay + torch.arange(dy)] = 1.0
        y = chosen @ path @ chosen.mT
        y += torch.diag(torch.where(torch.arange(dx) < dy, level**2, 1.0).double())
        own = path @ chosen.mT
        parts.append(torch.cat([torch.cat([path, own], 1), torch.cat([own.mT, y], 1)]))
    return zero_mean(torch.stack(parts), dx, dy), dx, dy


@channels.with_sure_labels
def growing(count: int, samples: int, queries: int, dim: int) -> tuple[Tensor, ...]:
    """y is a function of x plus noise, whose size in all channels depends on one coordinate."""
    mx, my = sides(count, dim), sides(count, dim)
    my = torch.where(torch.rand(count, 1) < 0.5, mx, my)
    u = source(mx, samples + channels.DRAWS)
    j = torch.multinomial(mx, 1)[:, :, None].expand(-1, u.shape[1], 1)
    size = u.gather(2, j)
    size = torch.where(torch.rand(count, 1, 1) < 0.5, size, size.abs() * 1.6 - 1.3)
    level = uniform(count, math.log(0.1), math.log(1.5), CPU).exp() * excess(my)
    level = level[:, None, None]
    swing = uniform(count, 0.3, 1.6, CPU)[:, None, None]
    sd = level * torch.exp(swing * size.clamp(-2.5, 2.5))  # [B, N, 1]
    followed = torch.rand(count, 1, 1) < 0.7  # otherwise only the size of y depends on x
    centre = u if torch.rand(()) < 0.5 else channels.function(u, mx, dim)
    centre = torch.where(followed, standardise(centre), torch.zeros_like(u)) * my[:, None]
    values = (centre + sd * torch.randn(count, u.shape[1], dim)) * my[:, None]

    def of_coordinate(i: int, k: int, rows: Tensor, draws: Tensor) -> Tensor:
        s = sd[i, draws, 0]
        return -0.5 * ((values[i, rows, k, None] - centre[i, draws, k]) / s) ** 2 - s.log()

    mi, sure = channels.label(
        (channels.Observed(values, channels.by_coordinate(my, of_coordinate)),), samples, queries
    )
    pair = [u[:, :samples], values[:, :samples]]
    if torch.rand(()) < WARPED:
        pair = [random_flow(v, mask) for v, mask in zip(pair, (mx, my), strict=True)]
    return *pair, mi, sure
