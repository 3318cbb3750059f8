"""Noisy channels of known mutual information: random functions of a source, and noise.

The atlas has such too, drawn by the thousand for a training step, with labels from a few hundred
draws of the source. The gap (:mod:`infoatlas_train.fit_gap`) needs fewer and sees them once, so
these have labels from thousands of draws, noise of three shapes, functions of few terms and
functions of functions, and, in a third of the batches each, a source or an output that is cut into
levels, as counts, switches and contacts are.

Shapes: B datasets, N samples, Q queries, R draws behind a label, D the width of a side.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch import Tensor

from infoatlas_train.atlas import Datasets
from infoatlas_train.families import mean_density, source
from infoatlas_train.flows import RandomFunction, random_flow, standardise, uniform
from infoatlas_train.mixtures import excess
from infoatlas_train.plain import CPU, sides, without_queries

DRAWS = 4096  # of the source, behind a label
AT_ONCE = 128  # queries: their table stays in the cache
HIDDEN = 3  # dimensions of a source that neither side shows, at most: more the draws do not fill
CUT = 1 / 3  # of the batches: levels
UNSURE = 0.1  # nats between a label with each query's own draw and without: the draws are too few
LARGEST_SHARE = 1 - 1e-6  # of the own draw in a density


@dataclass
class Seen:
    """What a side shows of the source, and how likely that is."""

    values: Tensor  # [B, N, D]
    mask: Tensor  # [B, D] of the coordinates in use
    of_coordinate: Callable[[int, int, Tensor, Tensor], Tensor]  # dataset, coordinate, Q, R rows

    def log_likelihood(self, i: int, rows: Tensor, draws: Tensor) -> Tensor:
        """Of what the rows of dataset i show, if the draws were their source: [Q, R]."""
        table = torch.zeros(len(rows), len(draws))
        for j in self.mask[i].nonzero()[:, 0].tolist():
            table += self.of_coordinate(i, j, rows, draws)
        return table


def channels(count: int, samples: int, queries: int, dim: int) -> Datasets:
    """x the source, y a function of it and noise; or both are such functions.

    Where dependence is too strong for a sure label, another dataset is drawn.
    """
    parts: list[tuple[Tensor, ...]] = []
    while sum(len(mi) for *_, mi in parts) < count:
        parts.append(attempt(count, samples, 2 * queries, dim))
    x, y, mi = (torch.cat(values)[:count] for values in zip(*parts, strict=True))
    return without_queries(x, y, mi)


def attempt(count: int, samples: int, queries: int, dim: int) -> tuple[Tensor, ...]:
    """x [B, n, D], y and mutual information [B] of those datasets whose labels are sure."""
    hidden = hides()
    most = min(dim, HIDDEN) if hidden else dim
    mu, mx, my = sides(count, most), sides(count, dim), sides(count, dim)
    u = source(mu, samples + DRAWS)
    if torch.rand(()) < CUT:
        u = standardise(levels(u, mu)[0]) * mu[:, None]
    second = seen(u, mu, my)
    first = seen(u, mu, mx) if hidden else None
    x, mx = (first.values, mx) if first else (u, mu)
    mi, sure = label((first, second) if first else (second,), samples, queries)
    pair = [random_flow(x, mx)[:, :samples], random_flow(second.values, my)[:, :samples]]
    if torch.rand(()) < 0.5:
        pair.reverse()
    return pair[0][sure], pair[1][sure], mi[sure]


def hides() -> bool:
    """Whether neither side is the source itself."""
    return bool(torch.rand(()) < 0.3)


def function(u: Tensor, mask: Tensor, out: int) -> Tensor:
    """A random function of the coordinates in use, of few terms or of many, or of functions."""
    few, many = 4, 12
    if torch.rand(()) < 0.3:
        inner = RandomFunction(mask, 3, smooth=False, units=few).standardised(u)
        u, mask = inner, torch.ones(len(u), 3)
    units = few if torch.rand(()) < 0.5 else many
    return RandomFunction(mask, out, smooth=False, units=units).standardised(u)


def seen(u: Tensor, mu: Tensor, mask: Tensor) -> Seen:
    """A random function of u [B, N, d] on the coordinates in use, and noise; some are cut."""
    b, d = mask.shape
    centre = function(u, mu, d) * mask[:, None]
    level = uniform(b, math.log(0.05), math.log(2.0), CPU).exp() * excess(mask)
    swing = uniform(b, 0.0, 1.5, CPU) * (torch.rand(b) < 0.4)
    scale = RandomFunction(mu, d, smooth=True).standardised(u).clamp(-2, 2)
    sd = level[:, None, None] * torch.exp(swing[:, None, None] * scale)
    if torch.rand(()) < CUT:
        return cut(centre, sd, mask)
    draw, log_density = NOISE[int(torch.randint(len(NOISE), ()))]
    values = (centre + sd * draw(centre.shape)) * mask[:, None]

    def of_coordinate(i: int, j: int, rows: Tensor, draws: Tensor) -> Tensor:
        c, s = centre[i, draws, j], sd[i, draws, j]
        return log_density((values[i, rows, j, None] - c) / s) - s.log()

    return Seen(values, mask, of_coordinate)


def laplace(shape: torch.Size) -> Tensor:
    return torch.empty(shape).exponential_() * torch.randn(shape).sign()


def student(shape: torch.Size) -> Tensor:
    """Three degrees of freedom."""
    return torch.randn(shape) / (torch.randn(3, *shape).square().mean(0)).sqrt()


# How it is drawn, and its log-density up to a constant.
NOISE: tuple[tuple[Callable[[torch.Size], Tensor], Callable[[Tensor], Tensor]], ...] = (
    (torch.randn, lambda z: -0.5 * z * z),
    (laplace, lambda z: -z.abs()),
    (student, lambda z: -2 * torch.log1p(z * z / 3)),
)


def cut(centre: Tensor, sd: Tensor, mask: Tensor) -> Seen:
    """Levels of centre and logistic noise: those have probabilities in closed form."""
    noisy = centre + sd * torch.logit(torch.rand(centre.shape).clamp(1e-6, 1 - 1e-6))
    level, edge = levels(noisy, mask)  # edge [B, K+1, D]
    index = level.long()

    def of_coordinate(i: int, j: int, rows: Tensor, draws: Tensor) -> Tensor:
        below = torch.sigmoid((edge[i, :, j, None] - centre[i, draws, j]) / sd[i, draws, j])
        return below.diff(dim=0).clamp(min=1e-9).log()[index[i, rows, j]]

    return Seen(standardise(level) * mask[:, None], mask, of_coordinate)


def levels(v: Tensor, mask: Tensor) -> tuple[Tensor, Tensor]:
    """Each coordinate of v [B, N, D] cut into 2 to 16 levels (0, 1, ...) of unequal shares.

    Fewer where there are more coordinates, so that combinations come again. -> levels [B, N, D]
    and their edges [B, K+1, D], of which unused ones are infinite.
    """
    b, n, d = v.shape
    most = 15
    count = 1 + (most ** (torch.rand(b, 1, 1) / mask.sum(1).sqrt()[:, None, None])).long()
    at = (torch.rand(b, most, d) * n).long().clamp(max=n - 1)
    inner = torch.where(torch.arange(most)[:, None] < count - 1, v.gather(1, at), math.inf)
    inner = inner.sort(1).values
    level = sum((v > inner[:, k, None]).float() for k in range(most))
    ends = torch.full((b, 1, d), math.inf)
    return level, torch.cat([-ends, inner, ends], 1)


def label(shown: tuple[Seen, ...], samples: int, queries: int) -> tuple[Tensor, Tensor]:
    """Mutual information [B] of the source and one side, or of two sides; and whether it is sure.

    Each query's own draw makes densities too high, and without it they are too low.
    """
    draws = samples + torch.arange(DRAWS)
    each = []  # of [2, Q]
    for i in range(len(shown[0].values)):
        parts = []
        for own in torch.arange(queries).split(AT_ONCE):
            tables = [side.log_likelihood(i, draws[own], draws) for side in shown]
            joint = tables[0].gather(1, own[:, None])[:, 0]
            if len(shown) == 2:
                joint = density(tables[0] + tables[1], own)
            parts.append(joint - sum(density(table, own) for table in tables))
        each.append(torch.cat(parts, -1))
    with_own, without = torch.stack(each, 1).mean(-1)
    return (with_own + without) / 2, (with_own - without).abs() < UNSURE


def density(table: Tensor, own: Tensor) -> Tensor:
    """Log-densities from [Q, R], with the own draws and without: [2, Q]. own [Q]: their columns."""
    return mean_density(table, table.gather(1, own[:, None])[:, 0], LARGEST_SHARE)
