"""Datasets of kinds that are rare in the atlas, most with mutual information in closed form.

The bias correction (:mod:`infoatlas_train.fit_correction`) is fitted to them and to the atlas:

- ``elliptical``  one Gaussian or Student-t component, no flow (recipes call it ``straight``)
- ``clusters``    a few Gaussian clusters with different dependence, no flow
- ``products``    pairs of single coordinates, independent of the other pairs
- ``codes``       pairs of letters with a noisy channel between them
- ``paths``       two smooth paths, or one path at two times: few independent samples

Arguments of each function are the number of datasets, the number of samples, the number of queries
for a label, and the dimension D of a side.
"""

import math

import torch
from torch import Tensor

from infoatlas_train.data.atlas import Atlas, Datasets
from infoatlas_train.data.flows import orthogonal, random_flow, uniform
from infoatlas_train.data.mixtures import Mixture, centred, component, label, prescribed_correlation

FULL = 0.3  # share of elliptical data and clusters that use all D dimensions, as slices do
APART = 12.0  # largest distance of a cluster from the origin, in standard deviations
CLOSEST = 0.999  # largest correlation in a cluster: float32 resolves no more at that distance
CPU = torch.device("cpu")
MOST_FACTORS = 6
FACTOR_DRAWS = 1024  # Monte Carlo draws for the densities of one pair of coordinates
ALONE = 0.2  # share of independent pairs in a product
RARE = 3.0  # largest standard deviation of the letters' log-probabilities
COPIES = 0.15  # share of channels that lose nothing
UNRELATED = 0.4  # share of independent paths among pairs of paths


def without_queries(x: Tensor, y: Tensor, mi: Tensor) -> Datasets:
    """Datasets of samples and truth only, with empty queries."""
    count, _, dim = x.shape
    none, points = torch.zeros(count, 0), torch.zeros(count, 0, dim)
    return Datasets(x, y, points, points, none, none, mi, torch.full((count,), -1))


def elliptical(count: int, samples: int, queries: int, dim: int) -> Datasets:
    """Single Gaussian or Student-t components, which the calibration uses, too."""
    x, y = torch.zeros(2, count, samples, dim)
    mi = torch.zeros(count)
    for i in range(count):
        dx, dy = (1 + int(torch.randint(dim, ())) for _ in range(2))
        if torch.rand(()) < FULL:
            dx = dy = dim
        m, half = component(dx, dy), max(dx, dy)
        z = m.sample(samples)[0]
        x[i, :, :dx], y[i, :, :dy] = z[:, :dx], z[:, half : half + dy]
        mi[i] = label(m, half, 4 * queries)[0]
    return without_queries(x, y, mi)


def clusters(count: int, samples: int, queries: int, dim: int) -> Datasets:
    """Two to four Gaussian clusters with different dependence.

    In half of the datasets all clusters have the same correlations up to sign, and the sign
    alternates between clusters. Over all samples the correlations cancel.
    """
    x, y = torch.zeros(2, count, samples, dim)
    mi = torch.zeros(count)
    for i in range(count):
        d = dim if torch.rand(()) < FULL else 1 + int(torch.randint(dim, ()))
        k = 2 + int(torch.randint(3, ()))
        mask = torch.ones(1, d)
        sign = CLOSEST * torch.ones(k)
        if torch.rand(()) < 0.5:
            scale = prescribed_correlation(mask, mask).repeat(1, k, 1, 1)
            sign[1::2] *= -1
        else:
            scale = torch.cat([prescribed_correlation(mask, mask) for _ in range(k)], 1)
        scale[..., :d, d:] *= sign[:, None, None]
        scale[..., d:, :d] *= sign[:, None, None]
        mean = torch.randn(2, k, d)
        mean = APART * torch.rand(2, 1, 1) * mean / mean.norm(dim=-1, keepdim=True)
        weight = torch.rand(1, k) + 0.2
        m = Mixture(
            (weight / weight.sum()).log(), torch.cat(tuple(mean), -1)[None], scale,
            torch.full((1, k), math.inf), torch.ones(1, 2 * d),
        )  # fmt: skip
        z = m.sample(samples)[0]
        x[i, :, :d], y[i, :, :d] = z[:, :d], z[:, d:]
        mi[i] = label(m, d, 4 * queries)[0]
    return without_queries(x, y, mi)


def products(count: int, samples: int, queries: int, dim: int) -> Datasets:
    """Independent pairs (x_j, y_j), each of the atlas with one dimension; information is summed."""
    families = Atlas().families
    if torch.rand(()) < 0.5:  # all pairs of one kind
        families = {list(families)[int(torch.randint(len(families), ()))]: 1.0}
    pairs = Atlas(1, queries, FACTOR_DRAWS, independent=ALONE, families=families)
    factors = 2 + int(torch.randint(min(dim, MOST_FACTORS) - 1, ())) if dim > 1 else 1
    x, y = torch.zeros(2, count, samples, dim)
    mi = torch.zeros(count)
    for j in range(factors):
        factor = pairs.sample(count, samples)
        x[..., j], y[..., j] = factor.x[..., 0], factor.y[..., 0]
        mi += factor.mi
    mask = (torch.arange(dim) < factors).float().expand(count, dim)
    turned = (
        torch.where(torch.rand(count, 1, 1) < 0.5, side @ orthogonal(mask), side) for side in (x, y)
    )
    return without_queries(*turned, mi)


def codes(count: int, samples: int, queries: int, dim: int) -> Datasets:
    """Letters x_j, and y_j the output of a channel with input x_j; in closed form (no queries).

    In a fifth of the batches the other coordinates are noise.
    """
    noisy = float(torch.rand(()) < 0.2)
    x, y = noisy * torch.randn(2, count, samples, dim)
    mi = torch.zeros(count)
    pairs = 1 + int(min(dim, MOST_FACTORS) * torch.rand(()) ** 2)
    for j in range(pairs):
        table = channel(count, int(2 * 12 ** (float(torch.rand(())) / pairs**0.5)))
        k = table.shape[2]
        both = torch.multinomial(table.flatten(1), samples, replacement=True)
        x[..., j], y[..., j] = (numbers(count, k).gather(1, v) for v in (both // k, both % k))
        mi += information(table)
    return without_queries(x, y, mi)


def channel(count: int, letters: int) -> Tensor:
    """Joint probabilities [B, K, K+1] of a channel that keeps a letter or replaces it.

    Replacements are uniform, or mostly one letter, and include the additional letter (an erasure).
    Letters have different rates of replacement; some channels replace none. In half of the
    channels, kept letters are permuted.
    """
    uneven = torch.tensor([0.0, 1.0, 10.0])[torch.randint(3, (2, count, 1))]
    given = (uneven[0].clamp(max=RARE) * torch.randn(count, letters)).softmax(1)
    other = (uneven[1] * torch.randn(count, letters + 1)).softmax(1)
    keep = 3 * torch.randn(count, 1) + torch.rand(count, 1).round() * torch.randn(count, letters)
    keep = torch.where(torch.rand(count, 1) < COPIES, 1.0, keep.sigmoid())[..., None]
    name = torch.arange(letters).expand(count, -1)
    permuted = torch.rand(count, letters).argsort(1)
    name = torch.where(torch.rand(count, 1) < 0.5, name, permuted)
    kept = torch.nn.functional.one_hot(name, letters + 1)
    return given[..., None] * (keep * kept + (1 - keep) * other[:, None])


def information(table: Tensor) -> Tensor:
    """Mutual information [B] in nats from joint probabilities [B, K, L]."""
    independent = table.sum(2, keepdim=True) * table.sum(1, keepdim=True)
    return (table * (table / independent).clamp(min=1e-30).log()).nan_to_num().sum((1, 2))


def numbers(count: int, letters: int) -> Tensor:
    """Numbers in place of letters, [B, K]: consecutive integers, or random numbers."""
    in_order = torch.arange(letters).float().expand(count, -1)
    return torch.where(torch.rand(count, 1) < 0.5, in_order, 3 * torch.randn(count, letters))


def paths(count: int, samples: int, queries: int, dim: int) -> Datasets:
    """Jointly Gaussian paths with white noise, warped by flows; in closed form (no queries).

    Samples are in order of time. Two thirds of the datasets are two paths at the same time, some of
    them with pauses. The others are a path and its past.
    """
    length = 1 << (4 * samples - 1).bit_length()
    white = uniform(count, math.log(1e-3), math.log(0.5), CPU).exp()[:, None, None]
    kind = side_by_side if torch.rand(()) < 2 / 3 else behind
    z, cov, mx, my = kind(count, samples, dim, length)
    mask = torch.cat([mx, my], 1)
    z = (z + white * torch.randn_like(z)) * mask[:, None]
    cov = cov + torch.diag_embed(torch.where(mask > 0, white[:, 0].double() ** 2, 0.0))
    x, y = random_flow(z[..., :dim], mx), random_flow(z[..., dim:], my)
    return without_queries(x, y, centred(cov[:, None], mask).gaussian_mi())


def side_by_side(count: int, samples: int, dim: int, length: int) -> tuple[Tensor, ...]:
    """Paths [B, n, 2D], each one motion or the sum of two, with their covariance and masks."""
    mx, my = (sides(count, dim) for _ in range(2))
    my = torch.where(torch.rand(count, 1) < 0.5, mx, my)
    unrelated = torch.rand(count, 1, 1) < UNRELATED
    share = (2 * torch.rand(count, 1, 1)).clamp(max=1)  # weight of the first motion
    z = torch.zeros(count, length, 2 * dim)
    cov = torch.zeros(count, 2 * dim, 2 * dim, dtype=torch.float64)
    for part in (share, 1 - share):
        own = prescribed_correlation(mx, my)[:, 0]
        own = torch.where(unrelated, torch.eye(2 * dim, dtype=own.dtype), own)
        scale = uniform(count, math.log(0.5), math.log(samples), CPU).exp()
        e, _ = smooth(scale[:, None].expand(count, 2 * dim), length, 0)
        z = z + part.sqrt() * e @ torch.linalg.cholesky(own).mT.float()
        cov = cov + part * own
    if torch.rand(()) < 0.3:  # stop and go
        pace, _ = smooth(uniform((count, 1), 0.02, 0.3, CPU) * samples, length, 0)
        at = pace[:, :samples].relu().cumsum(1).long() % length
        z = z.gather(1, at.expand(-1, -1, 2 * dim))
    return z[:, :samples], cov, mx, my


def behind(count: int, samples: int, dim: int, length: int) -> tuple[Tensor, ...]:
    """A path of independent coordinates and its past; returns the same as `side_by_side`."""
    mask = sides(count, dim)
    lag = 1 + int(torch.rand(()) ** 3 * samples / 10)
    z, rho = smooth(lag * uniform((count, dim), -0.5, 2.0, CPU).exp(), length, lag)
    z = torch.cat([z[:, lag : lag + samples], z[:, :samples]], 2)
    one = torch.eye(dim, dtype=torch.float64).expand(count, dim, dim)
    cross = torch.diag_embed(rho * mask)
    return z, torch.cat([torch.cat([one, cross], 2), torch.cat([cross, one], 2)], 1), mask, mask


def sides(count: int, dim: int) -> Tensor:
    """Masks [B, D] of the coordinates in use."""
    return (torch.arange(dim) < torch.randint(1, dim + 1, (count, 1))).float()


def smooth(scale: Tensor, length: int, lag: int) -> tuple[Tensor, Tensor]:
    """Closed stationary Gaussian paths of unit variance, and their correlation at a lag.

    They have Matern's spectrum at time scales [B, d] (in steps). Each dataset has its own
    roughness, and half of the datasets oscillate. Returns [B, length, d] and [B, d].
    """
    power = 1 + 4 * torch.rand(len(scale), 1, 1) ** 3  # 1: as rough as a VAR(1)
    beat = (10 * torch.rand(len(scale), 1, 1) - 5).clamp(min=0)
    f = 2 * math.pi * torch.fft.rfftfreq(length)[None, :, None] * scale[:, None]
    spectrum = (1 + (f - beat).double().square()).pow(-power)
    spectrum = torch.cat([spectrum, spectrum[:, 1:-1].flip(1)], 1)  # both signs of the frequency
    spectrum = spectrum / spectrum.sum(1, keepdim=True)
    phase = 2 * math.pi * lag * torch.fft.fftfreq(length, dtype=torch.float64)
    rho = (spectrum * phase.cos()[:, None]).sum(1)
    gain = (spectrum * length).sqrt().float()[:, : length // 2 + 1]
    e = torch.fft.rfft(torch.randn(len(scale), length, scale.shape[1]), dim=1)
    return torch.fft.irfft(e * gain, n=length, dim=1), rho
