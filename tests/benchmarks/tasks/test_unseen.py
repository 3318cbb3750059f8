"""The true values of the unseen families, recomputed from their samples by other methods.

The mutual information is a mean over samples of log p(y|x) / p(y), with p(y) a mean of p(y|x) over
the x of other samples. For some families both densities are known, or pairs are counted. Residuals
with zero mean by theory check the samplers.
"""

import math
from itertools import combinations

import numpy as np
import pytest
from densities import bell, log_ratios
from scipy.special import expit, gammainc, gammaln, i0e, i1e, logsumexp, ndtr, polygamma, psi
from scipy.stats import dirichlet, expon, gamma

from benchmarks.tasks import unseen
from benchmarks.tasks.truths import grid_information

N, INNER = 20_000, 1000  # samples, and other samples for p(y)
BY_NAME = {family.name: family for family in unseen.UNSEEN.families}
TURN = 2 * math.pi


def hand(x):
    joints = [x[0], x[0] + x[1], x[0] + x[1] + x[2]]
    return sum(a * np.exp(1j * angle) for a, angle in zip((0.8, 0.6, 0.3), joints, strict=True))


def arm(x, y):
    return bell(np.abs(y[0] + 1j * y[1] - hand(x)), 0.15)


def pushed(x):
    force = np.maximum(-1, np.minimum(1, -2 * x[0] - 1.5 * x[1]))
    return x[0] + (x[1] + force / 4) / 2, x[1] + force / 2


def cart(x, y):
    place, speed = pushed(x)
    return bell(y[0] - place, 0.3) * bell(y[1] - speed, 0.4)


def beam(x, y):
    lost = 0.3 * (x[0] / 8) ** 2
    hit = 0.8 * bell(y[0] - x[0], 0.2) / (0.2 * math.sqrt(TURN))
    seen = hit + np.where((y[0] > 0) & (y[0] < x[0]), 0.2 / x[0], 0)
    return np.where(y[0] == 10, lost, (1 - lost) * seen)  # 10 means no detection


def rates(x):
    return [0.5 + 7 * np.exp(1.5 * np.cos(x[0] - shift * TURN / 3) - 1.5) for shift in (-1, 0, 1)]


def direction_cells(x, y):
    return np.exp(sum(y[i] * np.log(rate) - rate for i, rate in enumerate(rates(x))))


def reaction_time(x, y):
    return x[1] * bell((x[1] - x[0] * y[0]) / np.sqrt(y[0]))


def hazard(x):
    return 0.6 * np.exp(0.9 * x[0]) * np.where(x[1] > 0, math.exp(-1.2), 1)


def follow_up(x, y):
    return np.where(y[1] > 0, hazard(x), 1) * np.exp(-hazard(x) * y[0])


def lighthouse(x, y):
    return math.prod(x[1] / (x[1] ** 2 + (y[i] - x[0]) ** 2) for i in range(3))


def corners(others, corner):
    """Given the spins between them, the corners are independent."""
    top, left, _, right, bottom = others
    sides = (top + left, top + right, left + bottom, right + bottom)
    return math.prod(expit(corner[i] * side) for i, side in enumerate(sides))


def photon_pair(x, y):
    return 1 + 0.95 * y[0] * y[1] * np.cos(2 * (x[0] - x[1]))


def log_errors(x, y):
    return np.log(y[0] / y[1]) - np.log(x[0] / x[1]), np.log(y[1] / y[2]) - np.log(x[1] / x[2])


def minerals(x, y):
    """The errors have variance 2 and correlation -1/2, times a factor."""
    a, b = log_errors(x, y)
    return np.exp(-(a**2 + a * b + b**2) / (3 * 0.4**2))


def deviation(x):
    return np.sqrt(0.3 + 0.5 * x[0] ** 2 + 0.2 * x[1] ** 2)


def volatility(x, y):
    return bell(y[0], deviation(x)) / deviation(x)


# p(y|x) for lists of coordinates that broadcast, up to a factor that depends on y only.
GIVEN = {
    f.__name__.replace("_", " "): f
    for f in (arm, cart, beam, direction_cells, reaction_time, follow_up, lighthouse, photon_pair)
} | {"minerals": minerals, "volatility": volatility, "spins": corners}  # for spins: p(x|y)


def gaits(x, y):
    """A mean over 150 evenly spaced phases is exact to many digits."""
    offsets = np.array([[1, 2, 3], [2, 2, 0], [0, 2, 2]]) / 4

    def log_given(phase):
        error = np.cos(TURN * (y[:, None, None] - phase[..., None, None] - offsets)).sum(-1)
        return logsumexp(5 * error, axis=-1, b=[0.5, 0.3, 0.2])

    return log_given(x)[:, 0] - logsumexp(log_given(np.arange(150)[None] / 150), axis=1, b=1 / 150)


def shower(x, y):
    """The inverse of the energy is beta distributed; integrals over it are incomplete gammas."""

    def log_density(count, total):
        a = 2 * count + 1.7
        scaled = 2 * total.sum(1)
        return gammaln(a) + np.log(gammainc(a, scaled)) - a * np.log(scaled) + math.log(1.7)

    return log_density(5, np.hstack([x, y])) - log_density(3, x) - log_density(2, y)


def calls(x, y):
    """Waiting times are exponential; the Jacobian from them to x and y is x to the fourth power."""
    gaps = x * np.diff(y, axis=1, prepend=0, append=1)
    joint = expon(scale=2).logpdf(gaps).sum(1) + 4 * np.log(x[:, 0])
    shares = dirichlet.logpdf((gaps / x).T, np.ones(5))
    return joint - gamma(5, scale=2).logpdf(x[:, 0]) - shares


def uniforms(x, y):
    return 1 - x**-2.5, -np.expm1(-y)


def income_and_wealth(x, y):
    """From differences of the distribution function."""

    def below(u, v):
        s = 1 + 14 * (u + v)
        return (s - np.sqrt(s**2 - 4 * u * v * 15 * 14)) / 28

    (u, v), h = uniforms(x, y), 1e-4
    mixed = below(u + h, v + h) - below(u + h, v - h) - below(u - h, v + h) + below(u - h, v - h)
    return np.log(mixed / (4 * h**2))[:, 0]


def swaps(x, y):
    pairs = combinations(range(5), 2)
    return sum((x[:, a] < x[:, b]) != (y[:, a] < y[:, b]) for a, b in pairs)


def judges(x, y):
    count = math.prod((1 - 0.4**i) / 0.6 for i in range(1, 6))
    return math.log(120 / count) + swaps(x, y) * math.log(0.4)


def constellation(x, y):
    """The jitter is integrated over an even grid of angles."""
    turn = np.linspace(-0.9, 0.9, 61)
    weight = bell(turn, 0.15) / bell(turn, 0.15).sum()
    levels = np.arange(-3, 4, 2)
    symbols = (levels + 1j * levels[:, None]).ravel()
    received = (y[:, 0] + 1j * y[:, 1])[:, None]
    given = [bell(np.abs(received - s * np.exp(1j * turn)), 0.6) @ weight for s in symbols]
    own = np.argmin(np.abs(x[:, 0] + 1j * x[:, 1] - symbols[:, None]), axis=0)
    return np.log(np.choose(own, given) / np.mean(given, axis=0))


# log p(x, y) / (p(x) p(y)), where all densities are known.
RATIO = {
    f.__name__.replace("_", " "): f
    for f in (gaits, shower, calls, income_and_wealth, judges, constellation)
}


def draw(name, n, seed):
    return BY_NAME[name].draw(n, seed)[:: -1 if name == "spins" else 1]


@pytest.mark.parametrize("name", [*GIVEN, *RATIO])
def test_truth_by_densities(name):
    x, y = draw(name, N, 77)
    if name in RATIO:
        log_ratio = np.concatenate(
            [RATIO[name](*part) for part in zip(np.split(x, 20), np.split(y, 20), strict=True)]
        )
    else:
        log_ratio = log_ratios(GIVEN[name], x, y, draw(name, INNER, 78)[0])
    tolerance = 3 * log_ratio.std() / math.sqrt(N) + 1e-9
    assert tolerance < 0.03
    assert log_ratio.mean() == pytest.approx(BY_NAME[name].truth, abs=tolerance)


def test_truth_of_the_islands_by_counting():
    """The bias of a table of counts is its cells divided by twice the samples: 0.0005 per locus."""
    pairs = BY_NAME["islands"].draw(1_000_000, seed=77)
    tables = [
        np.histogram2d(*sides, np.arange(32))[0]
        for sides in zip(*(s.T for s in pairs), strict=True)
    ]
    counted = sum(grid_information(table) for table in tables)
    assert counted == pytest.approx(BY_NAME["islands"].truth, abs=0.004)


def uniform(u, low=0.0, high=1.0):
    u = (u - low) / (high - low)
    return [u - 1 / 2, u**2 - 1 / 3]


def normal(z, sd=1.0):
    return [z / sd, (z / sd) ** 2 - 1]


def cart_residuals(x, y):
    place, speed = y - pushed(x)
    both = [place * speed, *(place * x), *(speed * x)]
    return [*normal(x[0]), *normal(x[1], 0.8), *normal(place, 0.3), *normal(speed, 0.4), *both]


def beam_residuals(x, y):
    lost, chance = y[0] == 10, 0.3 * (x[0] / 8) ** 2
    far, seen = x[0][~lost], y[0][~lost]
    share = 0.8 * ndtr((seen - far) / 0.2) + 0.2 * np.clip(seen / far, 0, 1)
    return [*uniform(x[0], 0.5, 8), lost - chance, *uniform(share), seen - far * (0.8 + 0.2 / 2)]


def gaits_residuals(x, y):
    turn, mean = np.exp(1j * TURN * (y - x[0])), i1e(5) / i0e(5)
    error = turn - mean * np.array([[0.5j - 0.1], [-1], [-0.5j + 0.1]])
    legs = [part for leg in y for part in uniform(leg)]
    return [*uniform(x[0]), *legs, *error.real, *error.imag]


def follow_up_residuals(x, y):
    """Deaths and ends of follow-up, minus their cumulative hazards."""
    death, end = y[1] - hazard(x) * y[0], 1 - y[1] + np.log1p(-y[0] / 3)
    return [*normal(x[0]), x[1] - 0.5, death, end, death * x[0], death * x[1]]


def islands_residuals(x, y):
    x, y = x / 30 - 0.5, y / 30 - 0.5
    between = [*(x * y - 0.05), x[0] * x[1], x[0] * y[1]]
    return [*x, *y, *between, *(x**2 - 0.25 + 0.2 * (29 / 30) ** 4)]


def lighthouse_residuals(x, y):
    a, b, c = np.arctan((y - x[0]) / x[1]) / math.pi
    angles = [*uniform(a, -0.5, 0.5), *uniform(b, -0.5, 0.5), *uniform(c, -0.5, 0.5)]
    return [*normal(x[0]), *uniform(x[1], 0.4, 2), *angles, a * b, b * c, c * a]


def shower_residuals(x, y):
    log_x, log_y = (np.log(2 * s.sum(0)) - 1 / 1.7 for s in (x, y))
    a, b = log_x - psi(6), log_y - psi(4)
    variances = [a**2 - polygamma(1, 6) - 1.7**-2, b**2 - polygamma(1, 4) - 1.7**-2]
    return [a, b, *variances, a * b - 1.7**-2, np.log(x[0] / y[0]) ** 2 - 2 * polygamma(1, 2)]


def spins_residuals(x, y):
    """Each spin minus its mean given its neighbours, multiplied by the neighbours."""
    near = [y[0] + y[1], y[0] + y[3], y[1] + y[4], y[3] + y[4], y[[0, 1, 3, 4]].sum(0)]
    pairs = zip((*x, y[2]), near, strict=True)
    return [*x, *y, *((spin - np.tanh(0.5 * field)) * field for spin, field in pairs)]


def minerals_residuals(x, y):
    a = np.array([[2], [3], [1.5]])
    e, f = log_errors(x, y)
    squares = [e**2 - 2 * 0.4**2, f**2 - 2 * 0.4**2, e * f + 0.4**2]
    return [*(x - a / 6.5), *(x**2 - a * (a + 1) / (6.5 * 7.5)), *squares]


def calls_residuals(x, y):
    k = np.arange(1, 5)[:, None]
    shares = [*(y - k / 5), *(y**2 - k * (k + 1) / 30), *((x - 10) * (y - k / 5))]
    return [x[0] - 10, (x[0] - 10) ** 2 - 20, *shares]


def volatility_residuals(x, y):
    e = y[0] / deviation(x)
    return [*normal(x[0]), *normal(x[1]), *normal(e), *((e**2 - 1) * x**2), *(e * x)]


def income_residuals(x, y):
    u, v = uniforms(x[0], y[0])
    alike = ((u > 0.5) == (v > 0.5)) - math.sqrt(15) / (1 + math.sqrt(15))
    rank_correlation = 16 / 14 - 2 * 15 * math.log(15) / 14**2
    product = 12 * (u - 0.5) * (v - 0.5) - rank_correlation
    return [*uniform(u), *uniform(v), alike, product]


def judges_residuals(x, y):
    places = [np.arange(i) for i in range(1, 6)]
    mean = sum((j * 0.4**j).sum() / (0.4**j).sum() for j in places)
    return [*(x - 3), *(y - 3), *(x**2 - 11), swaps(x.T, y.T) - mean]


def constellation_residuals(x, y):
    power, along = (x**2).sum(0), (y * x).sum(0)
    across = y[1] * x[0] - y[0] * x[1]
    sines = -math.expm1(-2 * 0.15**2) / 2
    noise = (y**2).sum(0) - power - 2 * 0.6**2
    turned = across**2 - power**2 * sines - 0.6**2 * power
    both = y[0] * y[1] - x[0] * x[1] * math.exp(-2 * 0.15**2)
    return [*x, *(x**2 - 5), noise, both, along - power * math.exp(-(0.15**2) / 2), turned]


# Variables with zero mean, from samples as lists of coordinates.
RESIDUALS = {
    "arm": lambda x, y: [
        *uniform(x[0], 0, 1.8),
        *uniform(x[1], 0.2, 2.4),
        *uniform(x[2], -1, 1),
        *normal(y[0] - hand(x).real, 0.15),
        *normal(y[1] - hand(x).imag, 0.15),
    ],
    "cart": cart_residuals,
    "beam": beam_residuals,
    "gaits": gaits_residuals,
    "direction cells": lambda x, y: [
        *uniform(x[0], -math.pi, math.pi),
        *(y - rates(x)),
        *((y - rates(x)) ** 2 - rates(x)),
    ],
    "reaction time": lambda x, y: [
        *uniform(x[0], 0.4, 4),
        *uniform(x[1], 0.5, 2),
        y[0] - x[1] / x[0],
        (x[1] - x[0] * y[0]) ** 2 / y[0] - 1,
    ],
    "follow up": follow_up_residuals,
    "islands": islands_residuals,
    "lighthouse": lighthouse_residuals,
    "shower": shower_residuals,
    "spins": spins_residuals,
    "photon pair": lambda x, y: [
        *uniform(x[0], 0, math.pi),
        *uniform(x[1], 0, math.pi),
        *y,
        y[0] * y[1] * np.cos(2 * (x[0] - x[1])) - 0.95 / 2,
    ],
    "minerals": minerals_residuals,
    "calls": calls_residuals,
    "volatility": volatility_residuals,
    "income and wealth": income_residuals,
    "judges": judges_residuals,
    "constellation": constellation_residuals,
}


@pytest.mark.parametrize("name", RESIDUALS)
def test_samples_have_the_assumed_distributions(name):
    x, y = BY_NAME[name].draw(5 * N, seed=79)
    for residual in RESIDUALS[name](x.T, y.T):
        assert abs(residual.mean()) < 4.5 * residual.std() / math.sqrt(len(residual))


def test_families_have_the_promised_range():
    assert {*GIVEN, *RATIO, "islands"} == {*RESIDUALS} == {*BY_NAME}
    truths = sorted(family.truth for family in unseen.UNSEEN.families)
    assert truths[0] == 0  # calls
    assert 0.05 <= truths[1] < truths[-1] < 2.5
    assert np.diff(truths).max() < 0.45
