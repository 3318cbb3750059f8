"""Noisy channels of known mutual information: random functions of a source, and noise.

The atlas has noisy channels, too, with labels from a few hundred draws of the source. The bias
correction (:mod:`infoatlas_train.fit_correction`) needs fewer datasets, so the channels of this
module have labels from thousands of draws. They have noise of three shapes. Their functions are
plane waves, short formulas (products, lengths, switches, as in mechanics and sensors), functions of
few terms, and functions of functions. Some sources and outputs are quantised, as counts and
contacts are. Half of the batches have no flows, and few hidden or quantised coordinates.

Shapes: B datasets, N samples, Q queries, R draws behind a label, D the width of a side.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import wraps

import torch
from torch import Tensor
from torch.nn.functional import normalize

from infoatlas_train.data.atlas import Datasets
from infoatlas_train.data.closed_form import CPU, sides, without_queries
from infoatlas_train.data.families import mean_density, source
from infoatlas_train.data.flows import RandomFunction, random_flow, standardise, uniform
from infoatlas_train.data.mixtures import excess

DRAWS = 4096  # draws of the source for each label
ATTEMPTS = 100  # most draws of a batch, until enough labels are accurate; few need three
AT_ONCE = 128  # queries evaluated together, so that their table stays in the cache
HIDDEN = 3  # most dimensions of a hidden source: in more, the draws are too sparse
CLEAN = 0.5  # share of clean batches
CUT = 1 / 3, 0.1  # share of quantised sides, and the same in clean batches
WAVES = 0.5  # share of the functions that are sums of plane waves
FORMULA = 0.5  # share of the other functions that are formulas
FEW = 4  # terms of a function of few terms
UNSURE = 0.1  # nats; largest difference between labels with and without each query's own draw
LARGEST_SHARE = 1 - 1e-6  # largest share of the own draw in a density

Formula = Callable[[Tensor, Tensor, Tensor], Tensor]
FORMULAS: tuple[Formula, ...] = (
    lambda a, b, c: a * b,
    lambda a, b, c: a * b * c,
    lambda a, b, c: a * a,
    lambda a, b, c: a.abs(),
    lambda a, b, c: torch.hypot(a, b),
    lambda a, b, c: torch.maximum(a, b),
    lambda a, b, c: torch.where(c > 0, a, b),
    lambda a, b, c: a * (b > 0),
    lambda a, b, c: a * b.sign(),
    lambda a, b, c: a / (1 + b * b),
)


@dataclass
class Observed:
    """A side that depends on the source, with its likelihood."""

    values: Tensor  # [B, N, D]
    # (i, rows [Q], draws [R]) -> log-likelihoods [Q, R] of rows of dataset i, given draws of its
    # source
    log_likelihood: Callable[[int, Tensor, Tensor], Tensor]


def by_coordinate(
    mask: Tensor, likelihood: Callable[[int, int, Tensor, Tensor], Tensor]
) -> Callable[[int, Tensor, Tensor], Tensor]:
    """Log-likelihood of coordinates with independent noise: (i, coordinate, rows, draws)."""

    def log_likelihood(i: int, rows: Tensor, draws: Tensor) -> Tensor:
        table = torch.zeros(len(rows), len(draws))
        for j in mask[i].nonzero()[:, 0].tolist():
            table += likelihood(i, j, rows, draws)
        return table

    return log_likelihood


def with_sure_labels(
    attempt: Callable[[int, int, int, int], tuple[Tensor, ...]],
) -> Callable[[int, int, int, int], Datasets]:
    """Datasets with accurate labels, sides in any order; the others are drawn again.

    The decorated function draws sides [B, n, D], their mutual information [B], nats, and whether
    that is accurate [B].
    """

    @wraps(attempt)
    def draw(count: int, samples: int, queries: int, dim: int) -> Datasets:
        parts: list[list[Tensor]] = []
        for _ in range(ATTEMPTS):
            *pair, mi, sure = attempt(count, samples, 2 * queries, dim)
            if torch.rand(()) < 0.5:
                pair.reverse()
            parts.append([values[sure] for values in (*pair, mi)])
            if sum(len(mi) for *_, mi in parts) >= count:
                x, y, mi = (torch.cat(values)[:count] for values in zip(*parts, strict=True))
                return without_queries(x, y, mi)
        raise RuntimeError(f"of {ATTEMPTS * count} datasets fewer than {count} have a sure label")

    return draw


@with_sure_labels
def channels(count: int, samples: int, queries: int, dim: int) -> tuple[Tensor, ...]:
    """Datasets with y a noisy function of the source and x the source, or another such function."""
    clean = is_clean()
    hidden = hides(clean)
    most = min(dim, HIDDEN) if hidden else dim
    mu, mx, my = sides(count, most), sides(count, dim), sides(count, dim)
    u = source(mu, samples + DRAWS)
    cut = CUT[clean]
    if torch.rand(()) < cut:
        u = standardise(levels(u, mu)[0]) * mu[:, None]
    second = observed(u, mu, function(u, mu, dim), my, cut)
    first = observed(u, mu, function(u, mu, dim), mx, cut) if hidden else None
    x, mx = (first.values, mx) if first else (u, mu)
    mi, sure = label((first, second) if first else (second,), samples, queries)
    pair = [x[:, :samples], second.values[:, :samples]]
    if not clean:
        pair = [random_flow(v, mask) for v, mask in zip(pair, (mx, my), strict=True)]
    return *pair, mi, sure


def is_clean() -> bool:
    """Draw whether a batch is clean: without flows, few sides hidden or quantised."""
    return bool(torch.rand(()) < CLEAN)


def hides(clean: bool) -> bool:
    """Draw whether the source is hidden, so that neither side is the source itself."""
    return bool(torch.rand(()) < (0.1 if clean else 0.3))


def function(u: Tensor, mask: Tensor, out: int) -> Tensor:
    """A random function of the coordinates in use, sometimes composed of two: [B, N, out].

    Each is a sum of waves, a formula or a :class:`RandomFunction`.
    """
    if torch.rand(()) < WAVES:
        return waves(u, mask, out)
    if torch.rand(()) < 0.3:
        u, mask = function_of_few_terms(u, mask, 3), torch.ones(len(u), 3)
    if torch.rand(()) < FORMULA:
        return formula(u, mask, out)
    if torch.rand(()) < 0.5:
        return function_of_few_terms(u, mask, out)
    return RandomFunction(mask, out, smooth=False).standardised(u)


def waves(u: Tensor, mask: Tensor, out: int) -> Tensor:
    """Sums of a few plane waves of similar length, three in ten with a trend: [B, N, out].

    Positions of a robot as functions of its joint angles are similar.
    """
    b, terms = len(u), int(torch.randint(1, 13, ()))
    weight = torch.randn(*mask.shape, terms) * mask[..., None]
    weight = weight * (torch.rand_like(weight) < 0.7)
    reach = uniform(b, math.log(0.2), math.log(2.4), CPU).exp()[:, None, None]
    phase = 2 * math.pi * torch.rand(b, 1, terms)
    wave = (u @ normalize(weight, dim=1) * reach + phase).sin() @ torch.randn(b, terms, out)
    trend = u @ (torch.randn(*mask.shape, out) * mask[..., None])
    share = 2 * torch.rand(b, 1, 1) * (torch.rand(b, 1, 1) < 0.3)
    return standardise(standardise(wave) + share * standardise(trend))


def function_of_few_terms(u: Tensor, mask: Tensor, out: int) -> Tensor:
    return RandomFunction(mask, out, smooth=False, units=FEW).standardised(u)


def formula(u: Tensor, mask: Tensor, out: int) -> Tensor:
    """One short formula for each output, or the sum of two: [B, N, out]."""
    values = []
    for _ in range(out):
        first, second = one_of(FORMULAS, u, mask), one_of(FORMULAS, u, mask)
        weight = torch.randn(len(u), 1) * (torch.rand(len(u), 1) < 0.5)
        values.append(first + weight * second)
    return standardise(torch.stack(values, -1))


def one_of(formulas: Sequence[Formula], u: Tensor, mask: Tensor) -> Tensor:
    """A random formula of three terms for each dataset, scaled to unit variance: [B, N]."""
    terms = [term(u, mask) for _ in range(3)]
    own = torch.randint(len(formulas), (len(u),))
    values = torch.stack([f(*terms) for f in formulas])[own, torch.arange(len(u))]
    return standardise(values)


def term(u: Tensor, mask: Tensor) -> Tensor:
    """One coordinate of each dataset, or (one in three) a projection; half are shifted: [B, N]."""
    b = len(u)
    one = torch.zeros_like(mask).scatter(1, torch.multinomial(mask, 1), 1.0)
    every = normalize(torch.randn_like(mask) * mask, dim=1)
    direction = torch.where(torch.rand(b, 1) < 1 / 3, every, one)
    shift = torch.randn(b, 1) * (torch.rand(b, 1) < 0.5)
    return (u @ direction[:, :, None])[..., 0] + shift


def observed(u: Tensor, mu: Tensor, centre: Tensor, mask: Tensor, cut: float) -> Observed:
    """A function of u [B, N, d] plus noise; with the probability `cut` it is quantised."""
    b, d = mask.shape
    centre, level = centre * mask[:, None], noise_level(mask)
    swing = uniform(b, 0.0, 1.5, CPU) * (torch.rand(b) < 0.4)
    scale = RandomFunction(mu, d, smooth=True).standardised(u).clamp(-2, 2)
    sd = level[:, None, None] * torch.exp(swing[:, None, None] * scale)
    if torch.rand(()) < cut:
        return in_levels(centre, sd, mask)
    draw, log_density = NOISE[int(torch.randint(len(NOISE), ()))]
    values = (centre + sd * draw(centre.shape)) * mask[:, None]

    def of_coordinate(i: int, j: int, rows: Tensor, draws: Tensor) -> Tensor:
        c, s = centre[i, draws, j], sd[i, draws, j]
        return log_density((values[i, rows, j, None] - c) / s) - s.log()

    return Observed(values, by_coordinate(mask, of_coordinate))


def noise_level(mask: Tensor) -> Tensor:
    """Standard deviations [B] of the noise, larger with more coordinates."""
    return uniform(len(mask), math.log(0.05), math.log(2.0), CPU).exp() * excess(mask)


def laplace(shape: torch.Size) -> Tensor:
    return torch.empty(shape).exponential_() * torch.randn(shape).sign()


def student(shape: torch.Size) -> Tensor:
    """Student-t noise with three degrees of freedom."""
    return torch.randn(shape) / (torch.randn(3, *shape).square().mean(0)).sqrt()


# Kinds of noise: a function that draws it, and its log-density up to a constant.
NOISE: tuple[tuple[Callable[[torch.Size], Tensor], Callable[[Tensor], Tensor]], ...] = (
    (torch.randn, lambda z: -0.5 * z * z),
    (laplace, lambda z: -z.abs()),
    (student, lambda z: -2 * torch.log1p(z * z / 3)),
)


def in_levels(centre: Tensor, sd: Tensor, mask: Tensor) -> Observed:
    """Quantise centre plus logistic noise; the probabilities of the levels have a closed form."""
    noisy = centre + sd * torch.logit(torch.rand(centre.shape).clamp(1e-6, 1 - 1e-6))
    level, edge = levels(noisy, mask)  # edge [B, K+1, D]
    index = level.long()

    def of_coordinate(i: int, j: int, rows: Tensor, draws: Tensor) -> Tensor:
        below = torch.sigmoid((edge[i, :, j, None] - centre[i, draws, j]) / sd[i, draws, j])
        return below.diff(dim=0).clamp(min=1e-9).log()[index[i, rows, j]]

    return Observed(standardise(level) * mask[:, None], by_coordinate(mask, of_coordinate))


def levels(v: Tensor, mask: Tensor) -> tuple[Tensor, Tensor]:
    """Quantise each coordinate of v [B, N, D] to 2 to 16 levels (0, 1, ...) of unequal shares.

    There are fewer levels with more coordinates, so that combinations repeat. Returns levels
    [B, N, D] and their edges [B, K+1, D]; unused edges are infinite.
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


def label(shown: tuple[Observed, ...], samples: int, queries: int) -> tuple[Tensor, Tensor]:
    """Mutual information [B] of the source and one side, or of two sides; whether it is accurate.

    Densities are overestimated with each query's own draw, and underestimated without it. The label
    is accurate if both give similar values.
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
    """Log-densities from a table [Q, R], with and without the own draws: [2, Q].

    `own` [Q] are the columns of the own draws.
    """
    return mean_density(table, table.gather(1, own[:, None])[:, 0], LARGEST_SHARE)
