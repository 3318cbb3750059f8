"""Sensors with known mutual information: geometry, directions and counts.

Noisy channels (:mod:`infoatlas_train.data.channels`) have general functions. This module has
functions that are frequent in robots, and sides whose noise is not additive:

- functions   linear maps, distances from beacons, rotated frames, chains of links
- sources     those of the channels, or unit vectors, or compositions (positive, with sum one)
- sides       a function plus noise; a direction (von Mises-Fisher distribution, sometimes of random
              sign); counts (Poisson or multinomial); a composition (logistic-normal distribution)

There are no flows. Shapes: B datasets, N samples, Q queries, R draws behind a label, D of a side.
"""

import math
from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor
from torch.nn.functional import normalize

from infoatlas_train.data import channels
from infoatlas_train.data.closed_form import CPU, sides
from infoatlas_train.data.families import source
from infoatlas_train.data.flows import orthogonal, standardise, uniform

ANGLES = 4096  # grid points of the angle between a direction and its centre
MOST_COUNTED = 60
LARGEST_RATE = 60.0


@channels.with_sure_labels
def sensors(count: int, samples: int, queries: int, dim: int) -> tuple[Tensor, ...]:
    """Datasets with y a measurement of the source and x the source or another measurement."""
    hidden = bool(torch.rand(()) < 0.3)
    mu = sides(count, min(dim, channels.HIDDEN) if hidden else dim)
    u = any_of(SOURCES)(source(mu, samples + channels.DRAWS), mu)
    shown = tuple(sensor(u, mu, sides(count, dim)) for _ in range(1 + hidden))
    pair = (v[:, :samples] for v in (shown[1].values if hidden else u, shown[0].values))
    return *pair, *channels.label(shown, samples, queries)


def any_of(these: tuple[Any, ...]) -> Any:
    return these[int(torch.randint(len(these), ()))]


def sensor(u: Tensor, mu: Tensor, mask: Tensor) -> channels.Observed:
    """A noisy measurement of a function of the source."""
    centre = any_of(FUNCTIONS)(u, mu, mask.shape[1]) * mask[:, None]
    if torch.rand(()) < 0.4:
        return channels.observed(u, mu, centre, mask, 0.0)
    return any_of(SIDES)(centre, mask)


# --- sources ----------------------------------------------------------------------------------


def unchanged(u: Tensor, mask: Tensor) -> Tensor:
    return u


def of_length_one(u: Tensor, mask: Tensor) -> Tensor:
    return normalize(u, dim=2)


def shares(u: Tensor, mask: Tensor) -> Tensor:
    """Positive coordinates of sum one; a single coordinate is unchanged (it would be constant)."""
    composition = u.masked_fill(mask[:, None] == 0, -math.inf).softmax(2)
    return torch.where(mask.sum(1)[:, None, None] > 1, composition, u)


SOURCES = unchanged, unchanged, of_length_one, shares


# --- functions: u [B, N, d], mask [B, d] -> [B, N, out] -----------------------------------------


def linear(u: Tensor, mask: Tensor, out: int) -> Tensor:
    """A random matrix, or the coordinates themselves in a rotated frame."""
    width = max(out, u.shape[2])
    any_matrix = torch.randn(len(u), u.shape[2], out) * mask[..., None]
    within = torch.nn.functional.pad(mask, (0, width - u.shape[2]))
    turn = orthogonal(within)[:, : u.shape[2], :out] * mask[..., None]
    return standardise(u @ torch.where(torch.rand(len(u), 1, 1) < 0.5, turn, any_matrix))


def ranges(u: Tensor, mask: Tensor, out: int) -> Tensor:
    """Distances from beacons within and around the samples."""
    far = uniform(len(u), 0.3, 3.0, CPU)[:, None, None]
    beacons = far * u.std(1, keepdim=True) * torch.randn(len(u), out, u.shape[2])
    return standardise(torch.cdist(u * mask[:, None], beacons * mask[:, None]))


def turned_frames(u: Tensor, mask: Tensor, out: int) -> Tensor:
    """Plane vectors, from the source or constant, rotated by an angle of the source."""
    angle, values = reach(u) * channels.term(u, mask), []
    for _ in range(0, out, 2):
        known = (torch.rand(len(u), 1) < 0.3).float()
        a, b = known + (1 - known) * channels.term(u, mask), (1 - known) * channels.term(u, mask)
        values += turned(a, b, angle)
    return standardise(torch.stack(values[:out], -1))


def turned(a: Tensor, b: Tensor, angle: Tensor) -> tuple[Tensor, Tensor]:
    """Plane vectors (a, b), rotated by an angle."""
    return a * angle.cos() - b * angle.sin(), a * angle.sin() + b * angle.cos()


def chain(u: Tensor, mask: Tensor, out: int) -> Tensor:
    """Positions of the ends of links, from the tip back; angles are relative to the last link."""
    joints = [reach(u) * channels.term(u, mask) for _ in range(2 + int(torch.randint(2, ())))]
    lengths = [uniform(len(u), 0.3, 1.0, CPU)[:, None] for _ in joints]
    found = [side for end in reversed(ends(joints, lengths)) for side in end] + joints
    return standardise(torch.stack([found[j % len(found)] for j in range(out)], -1))


def ends(joints: list[Tensor], lengths: list[Tensor]) -> list[tuple[Tensor, Tensor]]:
    """Plane positions of the ends of links, whose angles are relative to the last link."""
    x = y = angle = torch.zeros_like(joints[0])
    found = []
    for joint, length in zip(joints, lengths, strict=True):
        angle = angle + joint
        x, y = x + length * angle.cos(), y + length * angle.sin()
        found.append((x, y))
    return found


def reach(u: Tensor) -> Tensor:
    """Factors [B, 1] from a term to radians: from small angles to more than a full rotation."""
    return uniform(len(u), math.log(0.3), math.log(2.5), CPU).exp()[:, None]


FUNCTIONS: tuple[Callable[[Tensor, Tensor, int], Tensor], ...] = (
    linear,
    ranges,
    turned_frames,
    chain,
    channels.function,
)


# --- sides: centre [B, N, D], mask [B, D] -------------------------------------------------------


def directions(centre: Tensor, mask: Tensor) -> channels.Observed:
    """Unit vectors around the direction of the centre; 30% of the datasets have random signs."""
    b, n, _ = centre.shape
    centre = normalize(centre + 1e-6 * mask[:, None], dim=2)
    kappa = channels.noise_level(mask).pow(-2)
    either = torch.rand(b) < 0.3
    theta = torch.linspace(0, math.pi, ANGLES)
    ends = torch.zeros(ANGLES)
    ends[[0, -1]] = 1.0  # the two directions of a line
    d = mask.sum(1)[:, None]
    around = torch.where(d > 1, theta.sin().clamp(min=0) ** (d - 2).clamp(min=0), ends)
    law = (around * torch.exp(kappa[:, None] * (theta.cos() - 1))).cumsum(1)
    law = law / law[:, -1:]
    angle = theta[torch.searchsorted(law, torch.rand(b, n)).clamp(max=ANGLES - 1)][..., None]
    across = torch.randn_like(centre) * mask[:, None]
    across = normalize(across - (across * centre).sum(2, keepdim=True) * centre, dim=2)
    values = angle.cos() * centre + angle.sin() * across
    sign = torch.where(either[:, None, None], torch.randn(b, n, 1).sign(), 1.0)
    values = values * sign

    def log_likelihood(i: int, rows: Tensor, draws: Tensor) -> Tensor:
        along = kappa[i] * (values[i, rows] @ centre[i, draws].mT)
        return torch.logaddexp(along, -along) - math.log(2) if either[i] else along

    return channels.Observed(values, log_likelihood)


def counts(centre: Tensor, mask: Tensor) -> channels.Observed:
    """Numbers of events: Poisson, with a mean of 1 to 20 where the centre is 0."""
    mean = uniform(len(mask), 0.0, math.log(20.0), CPU).exp()[:, None, None]
    rate = (mean * torch.exp(gain(mask) * centre)).clamp(max=LARGEST_RATE)
    observed_counts = torch.poisson(rate) * mask[:, None]

    def of_coordinate(i: int, j: int, rows: Tensor, draws: Tensor) -> Tensor:
        own = rate[i, draws, j]
        return observed_counts[i, rows, j, None] * own.log() - own

    return channels.Observed(observed_counts, channels.by_coordinate(mask, of_coordinate))


def kinds(centre: Tensor, mask: Tensor) -> channels.Observed:
    """Numbers of each kind among 1 to 60 things (multinomial); the last kind may be unobserved."""
    logits, _ = with_a_last(gain(mask) * centre, mask)
    total = round(MOST_COUNTED ** float(torch.rand(())))
    share = logits.softmax(2)
    number = torch.distributions.Multinomial(total, share).sample()
    log_share = share.clamp(min=1e-30).log()

    def log_likelihood(i: int, rows: Tensor, draws: Tensor) -> Tensor:
        return number[i, rows] @ log_share[i, draws].mT

    return channels.Observed(number[..., :-1], log_likelihood)


def parts_of_a_whole(centre: Tensor, mask: Tensor) -> channels.Observed:
    """Softmax of noisy logits (logistic-normal); the last part may be unobserved."""
    noise, size = channels.noise_level(mask)[:, None, None], gain(mask)
    # The logit of the last part is 0, so the shares determine the other logits.
    noisy = size * (centre + noise * torch.randn_like(centre))
    logits, free = with_a_last(noisy, mask)

    def of_coordinate(i: int, j: int, rows: Tensor, draws: Tensor) -> Tensor:
        at = logits[i, rows, j, None] / size[i, 0]
        return -0.5 * ((at - centre[i, draws, j]) / noise[i, 0]).square()

    return channels.Observed(
        logits.softmax(2)[..., :-1], channels.by_coordinate(free, of_coordinate)
    )


def gain(mask: Tensor) -> Tensor:
    """Factor of the centre in a logit or in the log of a rate: [B, 1, 1]."""
    return uniform(len(mask), math.log(0.3), math.log(2.5), CPU).exp()[:, None, None]


def with_a_last(logits: Tensor, mask: Tensor) -> tuple[Tensor, Tensor]:
    """Logits [B, N, D + 1] with 0 for the last kind, and a mask [B, D] of the other kinds.

    In half of the datasets with two or more coordinates, the last kind is one of the coordinates.
    In the others it is additional and not observed.
    """
    used = mask.sum(1)
    within = (torch.rand(len(mask)) < 0.5) & (used > 1)
    last = (torch.arange(mask.shape[1]) == used[:, None] - 1) & within[:, None]
    logits = logits.masked_fill(last[:, None], 0.0).masked_fill(mask[:, None] == 0, -math.inf)
    beside = torch.where(within, -math.inf, 0.0)[:, None, None].expand(-1, logits.shape[1], 1)
    return torch.cat([logits, beside], 2), mask * ~last


SIDES: tuple[Callable[[Tensor, Tensor], channels.Observed], ...] = (
    directions,
    counts,
    kinds,
    parts_of_a_whole,
)
