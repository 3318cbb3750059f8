"""The true values of the unseen families, recomputed from their samples by other methods.

The mutual information is a mean over samples of log p(y|x) / p(y), with p(y) a mean of p(y|x) over
the x of other samples. For some families both densities are known, or pairs are counted.
"""

import math
from itertools import combinations

import numpy as np
import pytest
from densities import bell, check_truth
from scipy.special import expit, gammainc, gammaln, logsumexp
from scipy.stats import dirichlet, expon, gamma

from benchmarks.tasks import unseen
from benchmarks.tasks.truths import grid_information

N = 20_000  # samples
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


def minerals(x, y):
    """The errors have variance 2 and correlation -1/2, times a factor."""
    a, b = (np.log(y[i] / y[i + 1]) - np.log(x[i] / x[i + 1]) for i in range(2))
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


def income_and_wealth(x, y):
    """From differences of the distribution function."""

    def below(u, v):
        s = 1 + 14 * (u + v)
        return (s - np.sqrt(s**2 - 4 * u * v * 15 * 14)) / 28

    u, v, h = 1 - x**-2.5, -np.expm1(-y), 1e-4
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


@pytest.mark.parametrize("name", [*GIVEN, *RATIO])
def test_truth_by_densities(name):
    def draw(n, seed):
        return BY_NAME[name].draw(n, seed)[:: -1 if name == "spins" else 1]

    check_truth(draw, BY_NAME[name].truth, GIVEN.get(name), RATIO.get(name), N, slack=1e-9)


def test_truth_of_the_islands_by_counting():
    """The bias of a table of counts is its cells divided by twice the samples: 0.0005 per locus."""
    pairs = BY_NAME["islands"].draw(1_000_000, seed=77)
    tables = [
        np.histogram2d(*sides, np.arange(32))[0]
        for sides in zip(*(s.T for s in pairs), strict=True)
    ]
    counted = sum(grid_information(table) for table in tables)
    assert counted == pytest.approx(BY_NAME["islands"].truth, abs=0.004)


def test_families_have_the_promised_range():
    assert {*GIVEN, *RATIO, "islands"} == {*BY_NAME}
    truths = sorted(family.truth for family in unseen.UNSEEN.families)
    assert truths[0] == 0  # calls
    assert 0.05 <= truths[1] < truths[-1] < 2.5
    assert np.diff(truths).max() < 0.45
