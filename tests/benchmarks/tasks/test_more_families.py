"""The true values of more families, recomputed from their samples by other methods.

The mutual information is a mean over samples of log p(y|x) / p(y), with p(y) a mean of p(y|x) over
the x of other samples. For some families scipy has both densities, or pairs are counted.
"""

import math

import numpy as np
import pytest
from densities import bell, check_truth
from scipy.special import expit, ndtri, stdtrit
from scipy.stats import beta, dirichlet_multinomial, multivariate_t

from benchmarks.tasks.more_families import MORE
from benchmarks.tasks.truths import grid_information

N = 30_000  # samples
BY_NAME = {family.name: family for family in MORE.families}
page = dirichlet_multinomial.logpmf


def thermometers(x, y):
    volts = 5 * expit(3400 / 298 - 3400 / (x[0] + 273))
    return bell(y[0] - volts, 0.12) * bell(y[1] - 5.67 * (2.73 + x[0] / 100) ** 4, 35)


def projectile(x, y):
    ahead = bell(np.log(np.hypot(y[0], y[1])) - np.log(x[0] ** 2 * np.sin(2 * x[1]) / 9.81), 0.09)
    return ahead * bell(np.arctan2(y[1], y[0]) - x[2], 0.12)


def contact(x, y):
    right = (x[0] > 0) == (y[1] > 0.5)
    return bell(y[0] - np.where(x[0] > 0, x[0] * x[1], 0), 0.3) * np.where(right, 0.9, 0.1)


def phase_keying(x, y):
    # The symbol is unknown, so only the angle modulo 90° is informative.
    apart = (np.arctan2(y[1], y[0]) - np.arctan2(x[1], x[0])) / (math.pi / 2)
    fading = np.log(np.hypot(y[0], y[1])) - 0.8 * np.log(np.hypot(x[0], x[1]))
    return bell(apart - np.round(apart), 0.06 / (math.pi / 2)) * bell(fading, 0.3 * 0.6)


def crossed(x, y):
    x, y, sd = -ndtri(np.exp(-x[0])), ndtri(y[0]), math.sqrt(1 - 0.9**2)
    return 0.65 * bell(y - 0.9 * x, sd) + 0.35 * bell(y + 0.9 * x, sd)


def queue(x, y):
    density = 0.7 * np.exp(np.minimum(x[0] - y[0], 0.7 * (y[0] - x[0])))
    return np.where(y[0] > 0, density, np.exp(-0.7 * x[0]))  # without a wait it is a probability


# p(y|x) for lists of coordinates that broadcast, up to a factor that depends on y only.
GIVEN = {
    "stereo": lambda x, y: bell(y[0] - 40 / x[0], 0.3),
    "two thermometers": thermometers,
    "attitude": lambda x, y: np.exp(8 * sum(x[i] * y[i] for i in range(4)) ** 2),
    "backlash": lambda x, y: (bell(y - x - 0.25, 0.115) * 0.7 + bell(y - x + 0.25, 0.115) * 0.3)[0],
    "resonance": lambda x, y: bell(y[0] + np.log(np.abs(1 - x[0] ** 2 + 2j * x[1] * x[0])), 0.15),
    "projectile": projectile,
    "contact": contact,
    "pulse delay": lambda x, y: math.prod(
        bell(y[i] - bell(x[0] - i - 0.5, 0.5), 0.1) for i in range(3)
    ),
    "phase keying": phase_keying,
    "crossed": crossed,
    "exam": lambda x, y: math.prod(
        np.where(y[i] > 0, expit(x[0] + 2 - i), expit(i - 2 - x[0])) for i in range(5)
    ),
    "ternary code": lambda x, y: math.prod(
        np.where(y[i] == (x[i] - x[i - 1] * (i > 0)) % 3, 0.8, 0.1) for i in range(3)
    ),
    "logistic map": lambda x, y: bell(y[0] - np.sin(4 * np.arcsin(np.sqrt(x[0]))) ** 2, 0.045),
    "queue": queue,
    "second price": lambda x, y: bell(np.log(y[0]) - np.log(np.sort(x, 0)[3]), 0.32),
}


def student(x, y):
    x, y = stdtrit(6, x), stdtrit(6, y)
    t = {d: multivariate_t(shape=0.2 + 0.8 * np.eye(d), df=6).logpdf for d in (2, 4, 6)}
    return t[6](np.hstack([x, y])) - t[4](x) - t[2](y)


def failures(x, y):
    """As fractions of lifetimes: the fourth of twenty is the first of 17 after the third."""
    third, fourth = (-np.expm1(-(time**1.5)) for time in (x[:, 2], y[:, 0]))
    return beta(1, 17, third, 1 - third).logpdf(fourth) - beta(4, 17).logpdf(fourth)


# log p(x, y) / (p(x) p(y)), where all densities are known.
RATIO = {
    "student": student,
    # After one page the posterior is again Dirichlet, with the counts added to its parameters.
    "author": lambda x, y: page(y, 0.5 + x, 6) - page(y, 0.5 + 0 * x, 6),
    "failures": failures,
    "sum and difference": lambda x, y: (np.abs(y) - np.log(x))[:, 0],
}


@pytest.mark.parametrize("name", [*GIVEN, *RATIO])
def test_truth_by_densities(name):
    family = BY_NAME[name]
    check_truth(family.draw, family.truth, GIVEN.get(name), RATIO.get(name), N)


def test_truth_of_the_beds_by_counting():
    """The bias of a table of counts is its cells divided by twice the samples, 0.0002 here."""
    pairs = np.hstack(BY_NAME["beds"].draw(1_000_000, seed=77))
    table = np.histogram2d(*pairs.T, np.arange(60))[0]
    assert grid_information(table) == pytest.approx(BY_NAME["beds"].truth, abs=0.003)


def test_families_have_the_promised_range():
    assert {*GIVEN, *RATIO, "beds"} == set(BY_NAME)
    truths = sorted(family.truth for family in MORE.families)
    assert 0.15 <= truths[0] < truths[-1] < 2.55
    assert np.diff(truths).max() < 0.25
