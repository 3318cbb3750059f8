"""Datasets with values that many samples share: lost, censored, or zero without contact.

The bias correction (:mod:`infoatlas_train.fit_correction`) is fitted to these kinds:

- ``dropouts``  a lost value is replaced by a constant, in each channel or in all of them at once
- ``partial``   values beyond a limit are the limit; a force is exactly zero without contact

Arguments of each function are the number of datasets, the number of samples, the number of queries
for a label, and the dimension D of a side.
"""

from __future__ import annotations

import math

import torch
from torch import Tensor, nn

from infoatlas_train.data.atlas import Datasets
from infoatlas_train.data.channels import (
    DRAWS,
    HIDDEN,
    Observed,
    by_coordinate,
    function,
    hides,
    label,
    noise_level,
    term,
    with_sure_labels,
)
from infoatlas_train.data.closed_form import CPU, FULL, information, sides, without_queries
from infoatlas_train.data.families import source
from infoatlas_train.data.flows import orthogonal, standardise, uniform
from infoatlas_train.data.mixtures import centred, excess, prescribed_correlation

PATTERNS = 512  # patterns of lost values that a label averages over
TURNED = 0.2  # share of batches in which the sides are rotated
CODES = 0.0, -1.0, 9999.0  # in place of lost values


def dropouts(count: int, samples: int, queries: int, dim: int) -> Datasets:
    """Gaussian sides; single values, or all values of a sample, are lost at random."""
    mx, my = (sides(count, dim) if torch.rand(()) > FULL else torch.ones(count, dim) for _ in "xy")
    if torch.rand(()) < 0.5:  # each channel of y depends on one channel of x
        mx = my = torch.minimum(mx, my)
        level = uniform(count, math.log(0.05), math.log(1.0), CPU).exp() * excess(mx)
        cross = torch.diag_embed(mx / (1 + level**2).sqrt()[:, None]).double()
        one = torch.eye(dim, dtype=cross.dtype).expand_as(cross)
        scale = torch.cat([torch.cat([one, cross], 2), torch.cat([cross, one], 2)], 1)[:, None]
    else:
        scale = prescribed_correlation(mx, my)
    mask = torch.cat([mx, my], 1)
    z = centred(scale, mask).sample(samples)
    rate = uniform((count, 1), math.log(0.02), math.log(0.5), CPU).exp()
    rate = (rate * torch.exp(0.5 * torch.randn(count, 2 * dim))).clamp(max=0.8)
    if torch.rand(()) < 0.6:  # one side alone loses values
        rate[:, dim:] = 0.0
    outage = (torch.rand(count) < 0.25) * uniform(count, 0.02, 0.3, CPU)  # loses all of both sides
    z, kept = lose(z, rate, outage, max(samples, PATTERNS))
    every = [
        torch.where(m > 0, r, 1.0).prod(1) for m, r in zip((mx, my), rate.chunk(2, 1), strict=True)
    ]
    alone = [torch.stack([p, 1 - p], 1) for p in every]
    table = (1 - outage)[:, None, None] * alone[0][:, :, None] * alone[1][:, None]
    table[:, 0, 0] += outage
    mi = information(table) + of_kept(scale, kept[:, :PATTERNS] * mask[:, None]).mean(1)
    x, y = (z * mask[:, None]).chunk(2, 2)
    if torch.rand(()) < TURNED:
        x, y = x @ orthogonal(mx), y @ orthogonal(my)
    return without_queries(*((x, y) if torch.rand(()) < 0.5 else (y, x)), mi)


def lose(z: Tensor, rate: Tensor, outage: Tensor, patterns: int) -> tuple[Tensor, Tensor]:
    """Replace lost values of z [B, N, d]; also patterns [B, patterns, d], 1 where one is kept."""
    count, samples, d = z.shape
    gone = (torch.rand(count, patterns, 1) < outage[:, None, None]).expand(-1, -1, d)
    gone = gone | (torch.rand(count, patterns, d) < rate[:, None])
    code = torch.tensor(CODES)[torch.randint(len(CODES), (count, 1, d))]
    shape = torch.randint(3, (count, 1, d))  # of the other values: as they are, heavy, positive
    z = torch.where(shape == 0, z, torch.where(shape == 1, z.sinh(), z.exp()))
    return torch.where(gone[:, :samples], code, z), (~gone).float()


def of_kept(scale: Tensor, kept: Tensor) -> Tensor:
    """Information [B, R] between the kept coordinates of two Gaussian sides.

    scale [B, 1, 2D, 2D] are covariances, and kept [B, R, 2D] is 1 for the coordinates that are
    kept.
    """
    both = kept[..., :, None] * kept[..., None, :]
    cov = scale * both + torch.diag_embed(1 - kept)
    half = kept.shape[2] // 2
    parts = slice(half), slice(half, None), slice(None)
    x, y, joint = (torch.linalg.slogdet(cov[..., s, s])[1] for s in parts)
    return (0.5 * (x + y - joint)).float()


@with_sure_labels
def partial(count: int, samples: int, queries: int, dim: int) -> tuple[Tensor, ...]:
    """y is a function of a source, censored or without contact; x is the source or another y."""
    hidden = hides(False)
    mu = sides(count, min(dim, HIDDEN) if hidden else dim)
    u = source(mu, samples + DRAWS)
    shown = []
    for _ in range(1 + hidden):
        mask = sides(count, dim)
        centre = nn.functional.pad(standardise(u), (0, dim - u.shape[2]))
        if torch.rand(()) < 0.6:
            centre = function(u, mu, dim)
        side = censored if torch.rand(()) < 0.5 else contact
        shown.append(side(u, mu, centre * mask[:, None], mask))
    pair = (v[:, :samples] for v in (shown[1].values if hidden else u, shown[0].values))
    return *pair, *label(tuple(shown), samples, queries)


def censored(u: Tensor, mu: Tensor, centre: Tensor, mask: Tensor) -> Observed:
    """The centre plus Gaussian noise, with a lower and an upper limit at random quantiles."""
    count, samples, d = centre.shape
    sd = noise_level(mask)[:, None, None]
    values = centre + sd * torch.randn_like(centre)
    beyond = 0.6 * torch.rand(2, count, 1, d) * (torch.rand(2, count, 1, 1) < 0.7)
    at = (torch.stack([beyond[0], 1 - 0.6 * beyond[1]]) * (samples - 1)).long()
    low, high = values.sort(1).values.gather(1, torch.cat(tuple(at), 1)).split(1, 1)
    values = values.clamp(low, torch.maximum(low, high))

    def of_coordinate(i: int, j: int, rows: Tensor, draws: Tensor) -> Tensor:
        v = values[i, rows, j]
        z = (v[:, None] - centre[i, draws, j]) / sd[i, 0]
        table = -0.5 * z.square() - sd[i, 0].log() - 0.5 * math.log(2 * math.pi)
        for at, sign in ((v <= low[i, 0, j], 1), (v >= high[i, 0, j], -1)):
            table[at] = torch.special.log_ndtr(sign * z[at])
        return table

    return Observed(values * mask[:, None], by_coordinate(mask, of_coordinate))


def contact(u: Tensor, mu: Tensor, centre: Tensor, mask: Tensor) -> Observed:
    """Exactly zero without contact, whose odds depend on u; else positive, around the centre.

    In half of the batches all channels have contact at the same time.
    """
    one = bool(torch.rand(()) < 0.5)
    gain = uniform((len(mask), 1, 1), math.log(0.5), math.log(20.0), CPU).exp()
    odds = torch.stack([term(u, mu) for _ in range(1 if one else mask.shape[1])], 2)
    odds = gain * (odds + uniform((len(mask), 1, odds.shape[2]), -1.0, 1.0, CPU))
    touched = torch.rand(odds.shape) < odds.sigmoid()
    sd = noise_level(mask)[:, None, None]
    values = centre + sd * torch.randn_like(centre)
    free = nn.functional.logsigmoid(-odds)
    held = nn.functional.logsigmoid(odds)

    def of_coordinate(i: int, j: int, rows: Tensor, draws: Tensor) -> Tensor:
        k = 0 if one else j
        z = (values[i, rows, j, None] - centre[i, draws, j]) / sd[i, 0]
        inside = -0.5 * z.square() - sd[i, 0].log()
        if j == k:
            inside = inside + held[i, draws, k]
            return torch.where(touched[i, rows, k, None], inside, free[i, draws, k])
        return torch.where(touched[i, rows, k, None], inside, 0.0)

    return Observed(torch.where(touched, values.exp(), 0.0) * mask[:, None],
                    by_coordinate(mask, of_coordinate))  # fmt: skip
