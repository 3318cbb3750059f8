"""What sensors show of a body, with known mutual information: geometry, directions and counts.

Noisy channels (:mod:`infoatlas_train.data.channels`) are functions in general; these are the
particular ones that robots are full of, and sides that no noise can be added to:

* functions   linear maps, distances from beacons, turned frames, chains of links
* sources     as the channels have them, or of length one, or shares of a whole
* sides       a function and noise; a direction (von Mises and Fisher's law, of either sign at
              times); counts (Poisson's, or so many of several kinds); shares of a whole

Nothing is bent. Shapes: B datasets, N samples, Q queries, R draws behind a label, D of a side.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor
from torch.nn.functional import normalize

from infoatlas_train.data.atlas import Datasets
from infoatlas_train.data.channels import (
    DRAWS,
    HIDDEN,
    Seen,
    by_coordinate,
    function,
    label,
    noise_level,
    seen,
    term,
    with_sure_labels,
)
from infoatlas_train.data.closed_form import CPU, sides
from infoatlas_train.data.families import source
from infoatlas_train.data.flows import orthogonal, standardise, uniform

ANGLES = 4096  # of a direction to its centre
MOST_COUNTED = 60
LARGEST_RATE = 60.0


def sensors(count: int, samples: int, queries: int, dim: int) -> Datasets:
    """x the source, y what a sensor shows of it; or both are what two sensors show."""
    return with_sure_labels(attempt, count, samples, queries, dim)


def attempt(count: int, samples: int, queries: int, dim: int) -> tuple[Tensor, ...]:
    """x [B, n, D], y and mutual information [B] of those datasets whose labels are sure."""
    hidden = bool(torch.rand(()) < 0.3)
    mu = sides(count, min(dim, HIDDEN) if hidden else dim)
    u = any_of(SOURCES)(source(mu, samples + DRAWS), mu)
    shown = tuple(sensor(u, mu, sides(count, dim)) for _ in range(1 + hidden))
    mi, sure = label(shown, samples, queries)
    pair = [v[:, :samples] for v in (shown[1].values if hidden else u, shown[0].values)]
    if torch.rand(()) < 0.5:
        pair.reverse()
    return pair[0][sure], pair[1][sure], mi[sure]


def any_of(these: tuple[Any, ...]) -> Any:
    return these[int(torch.randint(len(these), ()))]


def sensor(u: Tensor, mu: Tensor, mask: Tensor) -> Seen:
    """A function of the source, and what is seen of it."""
    centre = any_of(FUNCTIONS)(u, mu, mask.shape[1]) * mask[:, None]
    if torch.rand(()) < 0.4:
        return seen(u, mu, centre, mask, 0.0)
    return any_of(SIDES)(centre, mask)


# --- sources ----------------------------------------------------------------------------------


def as_it_is(u: Tensor, mask: Tensor) -> Tensor:
    return u


def of_length_one(u: Tensor, mask: Tensor) -> Tensor:
    return normalize(u, dim=2)


def shares(u: Tensor, mask: Tensor) -> Tensor:
    """Positive, with sum one; a single coordinate, whose share would be all, stays."""
    whole = u.masked_fill(mask[:, None] == 0, -math.inf).softmax(2)
    return torch.where(mask.sum(1)[:, None, None] > 1, whole, u)


SOURCES = as_it_is, as_it_is, of_length_one, shares


# --- functions: u [B, N, d], mask [B, d] -> [B, N, out] -----------------------------------------


def linear(u: Tensor, mask: Tensor, out: int) -> Tensor:
    """A random matrix, or the coordinates themselves in a turned frame."""
    width = max(out, u.shape[2])
    any_matrix = torch.randn(len(u), u.shape[2], out) * mask[..., None]
    within = torch.nn.functional.pad(mask, (0, width - u.shape[2]))
    turn = orthogonal(within)[:, : u.shape[2], :out] * mask[..., None]
    return standardise(u @ torch.where(torch.rand(len(u), 1, 1) < 0.5, turn, any_matrix))


def ranges(u: Tensor, mask: Tensor, out: int) -> Tensor:
    """Distances from beacons within the cloud and around it."""
    far = uniform(len(u), 0.3, 3.0, CPU)[:, None, None]
    beacons = far * u.std(1, keepdim=True) * torch.randn(len(u), out, u.shape[2])
    return standardise(torch.cdist(u * mask[:, None], beacons * mask[:, None]))


def turned_frames(u: Tensor, mask: Tensor, out: int) -> Tensor:
    """Vectors of the plane, of the source or all the same one, turned by an angle of the source."""
    angle, values = reach(u) * term(u, mask), []
    for _ in range(0, out, 2):
        known = (torch.rand(len(u), 1) < 0.3).float()
        a, b = known + (1 - known) * term(u, mask), (1 - known) * term(u, mask)
        values += [a * angle.cos() - b * angle.sin(), a * angle.sin() + b * angle.cos()]
    return standardise(torch.stack(values[:out], -1))


def chain(u: Tensor, mask: Tensor, out: int) -> Tensor:
    """Where the ends of links are, from the tip back, each turned against the one before."""
    joints = [reach(u) * term(u, mask) for _ in range(2 + int(torch.randint(2, ())))]
    at, angle, ends = [torch.zeros(u.shape[:2])] * 2, torch.zeros(u.shape[:2]), []
    for joint in joints:
        angle, length = angle + joint, uniform(len(u), 0.3, 1.0, CPU)[:, None]
        at = [at[0] + length * angle.cos(), at[1] + length * angle.sin()]
        ends.append(at)
    found = [side for end in reversed(ends) for side in end] + joints
    return standardise(torch.stack([found[j % len(found)] for j in range(out)], -1))


def reach(u: Tensor) -> Tensor:
    """Radians per unit of a term [B, 1]: from small angles to more than a turn."""
    return uniform(len(u), math.log(0.3), math.log(2.5), CPU).exp()[:, None]


FUNCTIONS: tuple[Callable[[Tensor, Tensor, int], Tensor], ...] = (
    linear,
    ranges,
    turned_frames,
    chain,
    function,
)


# --- sides: centre [B, N, D], mask [B, D] -------------------------------------------------------


def directions(centre: Tensor, mask: Tensor) -> Seen:
    """Of length one, about the direction of the centre; in three of ten of either sign."""
    b, n, _ = centre.shape
    centre = normalize(centre + 1e-6 * mask[:, None], dim=2)
    kappa = noise_level(mask).pow(-2)
    either = torch.rand(b) < 0.3
    theta = torch.linspace(0, math.pi, ANGLES)
    ends = torch.zeros(ANGLES)
    ends[[0, -1]] = 1.0  # all directions that a line has
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

    return Seen(values, log_likelihood)


def counts(centre: Tensor, mask: Tensor) -> Seen:
    """How often something happens: Poisson, 1 to 20 times where the centre is 0."""
    mean = uniform(len(mask), 0.0, math.log(20.0), CPU).exp()[:, None, None]
    rate = (mean * torch.exp(gain(mask) * centre)).clamp(max=LARGEST_RATE)
    seen_counts = torch.poisson(rate) * mask[:, None]

    def of_coordinate(i: int, j: int, rows: Tensor, draws: Tensor) -> Tensor:
        own = rate[i, draws, j]
        return seen_counts[i, rows, j, None] * own.log() - own

    return Seen(seen_counts, by_coordinate(mask, of_coordinate))


def kinds(centre: Tensor, mask: Tensor) -> Seen:
    """Of 1 to 60 things, how many are of each kind; a last kind is counted too or is not."""
    logits, _ = with_a_last(gain(mask) * centre, mask)
    total = round(MOST_COUNTED ** float(torch.rand(())))
    share = logits.softmax(2)
    number = torch.distributions.Multinomial(total, share).sample()
    log_share = share.clamp(min=1e-30).log()

    def log_likelihood(i: int, rows: Tensor, draws: Tensor) -> Tensor:
        return number[i, rows] @ log_share[i, draws].mT

    return Seen(number[..., :-1], log_likelihood)


def parts_of_a_whole(centre: Tensor, mask: Tensor) -> Seen:
    """Shares of noisy logits (a logistic-normal law); a last part is shown too or is not."""
    noise, size = noise_level(mask)[:, None, None], gain(mask)
    # The last part's logit is 0, so shares tell of the other logits just what those themselves do.
    noisy = size * (centre + noise * torch.randn_like(centre))
    logits, free = with_a_last(noisy, mask)

    def of_coordinate(i: int, j: int, rows: Tensor, draws: Tensor) -> Tensor:
        at = logits[i, rows, j, None] / size[i, 0]
        return -0.5 * ((at - centre[i, draws, j]) / noise[i, 0]).square()

    return Seen(logits.softmax(2)[..., :-1], by_coordinate(free, of_coordinate))


def gain(mask: Tensor) -> Tensor:
    """How much a unit of the centre counts in a logit or the log of a rate: [B, 1, 1]."""
    return uniform(len(mask), math.log(0.3), math.log(2.5), CPU).exp()[:, None, None]


def with_a_last(logits: Tensor, mask: Tensor) -> tuple[Tensor, Tensor]:
    """Logits [B, N, D + 1] of which that of a last kind is 0, and a mask [B, D] of the others.

    In half of the datasets of two coordinates or more the last kind is one of those; in the others
    it is the additional one, which is not shown.
    """
    used = mask.sum(1)
    within = (torch.rand(len(mask)) < 0.5) & (used > 1)
    last = (torch.arange(mask.shape[1]) == used[:, None] - 1) & within[:, None]
    logits = logits.masked_fill(last[:, None], 0.0).masked_fill(mask[:, None] == 0, -math.inf)
    beside = torch.where(within, -math.inf, 0.0)[:, None, None].expand(-1, logits.shape[1], 1)
    return torch.cat([logits, beside], 2), mask * ~last


SIDES: tuple[Callable[[Tensor, Tensor], Seen], ...] = directions, counts, kinds, parts_of_a_whole
