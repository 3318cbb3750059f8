"""The true values of the second blind families, recomputed from their samples by other methods.

The mutual information is a mean over samples of log p(y|x) / p(y), where both densities are known,
or p(y) is a mean of p(y|x) over the x of other samples. For one family pairs are counted.
"""

import math

import numpy as np
import pytest
from densities import bell, check_truth
from scipy.stats import dirichlet, gamma, levy, multivariate_normal, nbinom, ncx2, norm

from benchmarks.tasks import blind_second
from benchmarks.tasks.truths import grid_information

N, FEWER, INNER = 200_000, 40_000, 500  # samples, those with a mean over others, and these
BY_NAME = {family.name: family for family in blind_second.BLIND_SECOND.families}


def voltage_divider(x, y):
    total = x[0] + x[1]
    return bell(y[0] - x[0] / total, 0.1) * bell(np.log(y[1] * total), 0.3)


def enzyme(x, y):
    return math.prod(bell(np.log(rate * (1 + 1 / x[0])), 0.5) for rate in y)


def rod(x, y):
    """The two points in the frame of the rod."""
    turned = [(y[i] + 1j * y[i + 1]) * np.exp(-1j * x[0]) for i in (0, 2)]
    return math.prod(bell(p.real) * bell(p.imag, 0.2) for p in turned)


def thermostat(x, y):
    """The last temperature beyond a limit decides."""
    on, off = bell(y[0] - 1, 0.6), bell(y[0] + 1, 0.6)
    given = (on + off) / 2
    for temperature in x:
        given = np.where(temperature <= -0.8, on, np.where(temperature >= 0.8, off, given))
    return given


# p(y|x) for lists of coordinates that broadcast, up to a factor that depends on y only.
GIVEN = {"voltage divider": voltage_divider, "enzyme": enzyme, "rod": rod, "thermostat": thermostat}


def detection_limit(x, y):
    """From the density of both, that of one with the share of the other, or the share of both."""
    (a, b), sd = np.log([x[0], y[0]]), math.sqrt(0.19)
    no_a, no_b = a < -0.25, b < -0.25
    ratio = norm.logpdf(b, 0.9 * a, sd) - norm.logpdf(b)
    ratio = np.where(no_a, norm.logcdf(-0.25, 0.9 * b, sd) - norm.logcdf(-0.25), ratio)
    ratio = np.where(no_b, norm.logcdf(-0.25, 0.9 * a, sd) - norm.logcdf(-0.25), ratio)
    neither = multivariate_normal(cov=[[1, 0.9], [0.9, 1]]).logcdf([-0.25, -0.25])
    return np.where(no_a & no_b, neither - 2 * norm.logcdf(-0.25), ratio)


def dropouts(x, y):
    """The covariance of the m received is 0.59 I + 0.5; its determinant and inverse are known."""
    got = y != 0
    m, shared = got.sum(0), 0.5 / (0.59 + 0.5 * got.sum(0))
    square = ((y**2).sum(0) - shared * y.sum(0) ** 2) / 0.59
    log_det = m * math.log(0.59 / 0.09) + np.log1p(m * 0.5 / 0.59)
    return (square + log_det - (np.where(got, y - x, 0) ** 2).sum(0) / 0.09) / 2


def data_association(x, y):
    straight, crossed = (((y - z) ** 2).sum(0) / 0.32 for z in (x, x[[2, 3, 0, 1]]))
    given = np.logaddexp(-straight, -crossed) - math.log(2) - 4 * math.log(0.4)
    return given + (y**2).sum(0) / (2 * 1.16) + 2 * math.log(1.16)


def budget(x, y):
    """As shares of what the others leave, the three are again Dirichlet distributed."""
    left = 1 - y.sum(0)
    given = dirichlet([0.9, 2, 0.6, 0.5]).logpdf(x / left) - 3 * np.log(left)
    return given - dirichlet([0.9, 2, 0.6, 2.7]).logpdf(x)


def accidents(x, y):
    """The number in three years, given that in two, and alone."""
    number = y.sum(0)
    given = nbinom(0.8 + x.sum(0), (1 / 0.3 + 2) / (1 / 0.3 + 5))
    return given.logpmf(number) - nbinom(0.8, 1 / (1 + 3 * 0.3)).logpmf(number)


# log p(x, y) / (p(x) p(y)), where all densities are known.
RATIO = {
    "detection limit": detection_limit,
    "dropouts": dropouts,
    "first passages": lambda x, y: levy.logpdf(y[0] - x[2]) - levy(scale=16).logpdf(y[0]),
    "data association": data_association,
    "budget": budget,
    "accidents": accidents,
    "square root process": lambda x, y: (
        ncx2(1.6, 18 * x[0], scale=0.05).logpdf(y[0]) - gamma(0.8).logpdf(y[0])
    ),
}


@pytest.mark.parametrize("name", [*GIVEN, *RATIO])
def test_truth_by_densities(name):
    family = BY_NAME[name]
    n, ratio = FEWER, None
    if name in RATIO:
        n, ratio = N, lambda x, y: RATIO[name](x.T, y.T)
    given = GIVEN.get(name)
    check_truth(family.draw, family.truth, given, ratio, n, INNER, slack=1e-3, block=200)


def test_truth_of_stress_by_counting():
    """In cells of a twentieth of each rank; corrected for the bias of such a table."""
    sides = [s[:, 0].argsort().argsort() // 50_000 for s in BY_NAME["stress"].draw(1_000_000, 77)]
    counted = grid_information(np.histogram2d(*sides, 20)[0]) - 19**2 / 2e6
    assert counted == pytest.approx(BY_NAME["stress"].truth, abs=0.003)


def test_families_have_the_promised_range():
    assert {*GIVEN, *RATIO, "stress"} == {*BY_NAME}
    truths = sorted(family.truth for family in BY_NAME.values())
    assert 0.05 <= truths[0] < 0.1
    assert 3.5 < truths[-1] < 4
