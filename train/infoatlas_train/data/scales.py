"""Datasets with structure on many scales, most with mutual information in closed form.

The bias correction (:mod:`infoatlas_train.fit_correction`) is fitted to these kinds:

- ``simplex``  shares of a total, few of them large
- ``decades``  values over several orders of magnitude, with noise of constant size
- ``walks``    earlier and later positions of walks with heavy tails; times of first passages
- ``fine``     functions that vary faster than few samples resolve: fast sines, sawtooths, steps

Arguments of each function are the number of datasets, the number of samples, the number of queries
for a label, and the dimension D of a side.
"""

from __future__ import annotations

import math

import torch
from torch import Tensor
from torch.nn.functional import pad

from infoatlas_train.data.atlas import Datasets
from infoatlas_train.data.channels import DRAWS, label, observed, term, with_sure_labels
from infoatlas_train.data.closed_form import CPU, sides, without_queries
from infoatlas_train.data.families import source
from infoatlas_train.data.flows import orthogonal, standardise, uniform
from infoatlas_train.data.lost_values import of_kept
from infoatlas_train.data.mixtures import centred, excess, prescribed_correlation
from infoatlas_train.data.sensors import with_a_last

CELLS = 1024  # of the quadrature over values on a logarithmic scale
FARTHEST = 100.0  # noise levels beyond which the noise does not change the density of a value
TURNED = 0.2  # share of batches in which the sides are rotated


def simplex(count: int, samples: int, queries: int, dim: int) -> Datasets:
    """Sides with shares of a total, whose logits are Gaussian; in a third one side is the logits.

    Shares determine the logits, so the information is that of the logits that vary.
    """
    mx, my = sides(count, dim), sides(count, dim)
    my = torch.where(torch.rand(count, 1) < 0.5, mx, my)
    scale = prescribed_correlation(mx, my)
    z = centred(scale, torch.cat([mx, my], 1)).sample(samples)
    shown, free = [], []
    for side, mask in zip(z.chunk(2, 2), (mx, my), strict=True):
        if shown and torch.rand(()) < 1 / 3:
            shown, free = [*shown, side], [*free, mask]
            break
        size = uniform((count, 1, 1), math.log(0.7), math.log(5.0), CPU).exp()
        logits, used = with_a_last(size * side, mask)
        shown, free = [*shown, logits.softmax(2)[..., :-1]], [*free, used]
    mi = of_kept(scale, torch.cat(free, 1)[:, None])[:, 0]
    if torch.rand(()) < 0.5:
        shown.reverse()
    return without_queries(*shown, mi)


def decades(count: int, samples: int, queries: int, dim: int) -> Datasets:
    """Independent channels: x_j is log-normal over several decades, y_j is x_j plus noise."""
    mask = sides(count, dim)
    spread = uniform((count, 1, dim), 0.8, 3.0, CPU)
    level = uniform((count, 1, dim), math.log(0.1), math.log(10.0), CPU).exp()
    level = level * mask.sum(1)[:, None, None]
    x = torch.exp(spread * torch.randn(count, samples, dim))
    y = x + level * torch.randn_like(x)
    used = mask > 0
    each = torch.zeros_like(mask)
    each[used] = of_decades(spread[:, 0][used], level[:, 0][used], queries)
    x = x.log() if torch.rand(()) < 0.3 else x
    pair = [side * mask[:, None] for side in (x, y)]
    if torch.rand(()) < TURNED:
        pair = [side @ orthogonal(mask) for side in pair]
    if torch.rand(()) < 0.5:
        pair.reverse()
    return without_queries(*pair, each.sum(1))


def of_decades(spread: Tensor, level: Tensor, queries: int) -> Tensor:
    """Information [C] of exp(spread u) and the same plus level e; u, e are standard normal.

    The density of the sum is a sum over cells that are narrow near zero and wide in the tail.
    """
    s, sd = spread.double()[:, None], level.double()[:, None]
    edges = sd * torch.linspace(0, math.asinh(2 * FARTHEST), CELLS, dtype=s.dtype).sinh()
    mass = torch.special.ndtr(edges.log() / s).diff(dim=-1)
    centre = (edges[:, 1:] + edges[:, :-1]) / 2
    u = torch.special.ndtri((torch.arange(queries, dtype=s.dtype) + 0.5) / queries)
    x = torch.exp(s * u)
    y = x + sd * torch.randn_like(x)
    kernel = torch.exp(-0.5 * ((y[:, :, None] - centre[:, None]) / sd[..., None]) ** 2)
    near = (kernel @ mass[..., None])[..., 0].clamp(min=1e-300).log() - sd.log()
    far = -0.5 * (x.log() / s) ** 2 - s.log() - x.log()  # both without the root of 2 pi
    density = torch.where(x > FARTHEST * sd, far, near)
    return (-density.mean(1) - sd[:, 0].log() - 0.5).float()


def walks(count: int, samples: int, queries: int, dim: int) -> Datasets:
    """Positions of walks at some times, and at later times; steps have stable distributions.

    A sum of stable steps is stable, and a walk has no memory. Its information is log(T / t) / a,
    with the stability a, the time T of the first later position, and t, by how much it is later.
    With a = 1/2 and positive steps, positions are the times at which a Brownian motion first passes
    levels.
    """
    points = [1 + int(torch.randint(min(dim, 3), ())) for _ in "xy"]  # of each walk in both sides
    number = 1 + int(torch.randint(dim // max(points), ()))
    a = uniform((count, 1, 1), 0.5, 2.0, CPU)
    positive = bool(torch.rand(()) < 0.4)
    if positive:
        a = torch.where(torch.rand(count, 1, 1) < 0.5, 0.5, (a / 2).clamp(0.4, 0.9))
    times = uniform((count, sum(points)), math.log(0.1), math.log(4.0), CPU).exp()
    later = uniform(count, math.log(0.05), math.log(1.5), CPU).exp() * excess(
        torch.ones(count, number)
    )
    times[:, points[0]] = later * times[:, : points[0]].sum(1)
    steps = stable(a, positive, (count, samples, number * sum(points))).unflatten(2, (number, -1))
    path = (steps * times[:, None, None] ** (1 / a[..., None])).cumsum(3)
    pair = [path[..., : points[0]], path[..., points[0] :]]
    pair = [pad(side.flatten(2), (0, dim - side[0, 0].numel())) for side in pair]
    mi = number * torch.log1p(1 / later) / a[:, 0, 0]
    if torch.rand(()) < 0.5:
        pair.reverse()
    return without_queries(*pair, mi)


def stable(a: Tensor, positive: bool, shape: tuple[int, ...]) -> Tensor:
    """Draws with the stability a, by Chambers, Mallows and Stuck (1976); symmetric or positive."""
    angle = math.pi * (torch.rand(shape).double() - 0.5)
    wait = torch.empty(shape).exponential_().double().clamp(min=1e-9)
    turn = math.pi / 2 if positive else 0.0
    top = torch.sin(a * (angle + turn)) / angle.cos() ** (1 / a)
    return (top * (torch.cos(angle - a * (angle + turn)) / wait) ** ((1 - a) / a)).float()


@with_sure_labels
def fine(count: int, samples: int, queries: int, dim: int) -> tuple[Tensor, ...]:
    """y is a fast function of x plus noise."""
    mu, my = sides(count, dim), sides(count, dim)
    u = source(mu, samples + DRAWS)
    speed = uniform((count, 1, my.shape[1]), math.log(2.0), math.log(30.0), CPU).exp()
    along = torch.stack([term(u, mu) for _ in range(dim)], 2)
    phase = speed * along + torch.rand(count, 1, dim)
    steps = torch.randn(count, 512, dim).gather(1, phase.floor().long() % 512)
    kind = torch.randint(3, (count, 1, dim))
    wave = torch.where(kind == 0, (2 * math.pi * phase / 2).sin(), steps)
    wave = standardise(torch.where(kind == 1, phase % 1, wave))
    trend = along * torch.rand(count, 1, dim) * (torch.rand(count, 1, dim) < 0.5)
    second = observed(u, mu, standardise(wave + trend), my, 0.0)
    return u[:, :samples], second.values[:, :samples], *label((second,), samples, queries)
