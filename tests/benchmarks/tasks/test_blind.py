"""The true values of the blind families, recomputed from their samples by other methods.

The mutual information is a mean over samples of log p(y|x) / p(y), with p(y) a mean of p(y|x) over
the x of other samples. For some families both densities are known, or pairs are counted.
"""

import math
from itertools import product

import numpy as np
import pytest
from densities import bell, check_truth
from scipy.special import expit, logsumexp, ndtr
from scipy.stats import betaprime, gamma, nbinom, poisson
from scipy.stats.contingency import crosstab

from benchmarks.tasks import blind
from benchmarks.tasks.truths import grid_information

N, INNER = 40_000, 500  # samples, and other samples for p(y)
BY_NAME = {family.name: family for family in blind.BLIND.families}
TURN, HELD = 2 * math.pi, np.array([0.09, 0.21, 0.7])


def bells(y, means, sd):
    return math.prod(bell(a - b, sd) for a, b in zip(y, means, strict=True))


def saturated_gyro(x, y):
    """The density in the interior, and the probabilities at both ends."""
    within = bell(y[0] - x[0], 0.2) / (0.2 * math.sqrt(TURN))
    high, low = ndtr((x[0] - 1.5) / 0.2), ndtr((-1.5 - x[0]) / 0.2)
    return np.where(np.abs(y[0]) < 1.5, within, np.where(y[0] > 0, high, low))


def polar_errors(x, y):
    """Errors of the log-range to the origin, and of the bearing."""
    seen = -(x[0] + 1j * x[1]) * np.exp(-1j * x[2])
    return np.log(y[0] / np.abs(seen)), np.angle(np.exp(1j * y[1]) / seen)


def range_and_bearing(x, y):
    far, turn = polar_errors(x, y)
    return bell(far, 0.3) * np.exp(2 * np.cos(turn) - 2)


def phase_errors(x, y):
    return [(y[i] - TURN * x[0] / (3 + i) + TURN / 2) % TURN - TURN / 2 for i in range(2)]


def noise(x, y):
    friction = np.copysign(0.3 + 0.5 * bell(x[0], 1 / math.sqrt(12)), x[0])
    return (y[0] - friction - 0.3 * x[1] - 0.2 * x[0]) / 0.5


def down(x):
    rest = np.cos(x[1]) * np.exp(1j * x[0])
    return [-np.sin(x[1]), rest.imag, rest.real]


def event_camera(x, y):
    steps = y[0] - (y[0] <= 0), y[0] + (y[0] >= 0)
    low, high = (ndtr((0.3 * step - np.log(x[1] / x[0])) / 0.15) for step in steps)
    return high - low


def doors(x):
    places = [x[0] + moved for moved in (0, 1.1, 2.3, 3.7)]
    return [sum((a <= p) & (p < b) for a, b in ((1, 2), (4, 5), (7, 9))) for p in places]


def currents(x):
    right, up = ndtr(x[0]), ndtr(x[1])
    return [right * up, (1 - right) * up, (1 - right) * (1 - up), right * (1 - up)]


def respond(x):
    return np.stack([expit(1.5 * np.exp(x[1]) * (dose - x[0])) for dose in (-1.5, 0, 1.5)])


def dose_response(x, y):
    return math.prod(p**k * (1 - p) ** (8 - k) for p, k in zip(respond(x), y, strict=True))


def purchase(x, y):
    appeal = [1 + 0 * x[0], *(np.exp(2 * (w - p)) for w, p in zip((1, 1.5, 2.5), x, strict=True))]
    return sum(np.where(y[0] == i, a, 0) for i, a in enumerate(appeal)) / sum(appeal)


# p(y|x) for lists of coordinates that broadcast, up to a factor that depends on y only.
GIVEN = {
    "saturated gyro": saturated_gyro,
    "range and bearing": range_and_bearing,
    "phase ranging": lambda x, y: np.exp(5 * sum(np.cos(e) - 1 for e in phase_errors(x, y))),
    "stribeck friction": lambda x, y: np.exp(-np.abs(noise(x, y))),
    "held command": lambda x, y: sum(HELD[i] * bell(y[0] - x[i], 0.25) for i in range(3)),
    "tilt": lambda x, y: bells(y, down(x), 0.35),
    "event camera": event_camera,
    "corridor": lambda x, y: math.prod(np.where(y[i] == doors(x)[i], 0.82, 0.18) for i in range(4)),
    "quadrant photodiode": lambda x, y: bells(y, currents(x), 0.09),
    "dose response": dose_response,
    "purchase": purchase,
}


def wheels(y):
    """Distances travelled by the wheels, from chord and heading."""
    mean = np.hypot(y[0], y[1]) / np.sinc(y[2] / TURN)
    return np.stack([mean - y[2] / 4, mean + y[2] / 4])


def insurance(x, y):
    """The rate and the mean claim are independent; without claims the total is zero."""
    ratio = poisson(x[0]).logpmf(y[0]) - nbinom(1.5, 1 / 4).logpmf(y[0])
    (n, total), size = y[:, y[0] > 0], x[1, y[0] > 0]
    ratio[y[0] > 0] += gamma(n, scale=size).logpdf(total) - betaprime(n, 2).logpdf(total)
    return ratio


def floods(x, y):
    """From differences of the distribution function, with standard Fréchet marginals."""

    def below(a, b):
        return np.exp(-ndtr(0.8 + np.log(b / a) / 1.6) / a - ndtr(0.8 + np.log(a / b) / 1.6) / b)

    a, b = x[0] ** (1 / 0.3), y[0] ** (1 / 0.2)
    h, corners = 1e-3, product((1, -1), repeat=2)
    mixed = sum(i * j * below(a * (1 + i * h), b * (1 + j * h)) for i, j in corners)
    return np.log(mixed * a * b / (4 * h**2)) + 1 / a + 1 / b


def pulse_position(x, y):
    """Each photon in a slot makes that slot 11 times as likely."""
    log_chance = x * math.log(11) - logsumexp(x * math.log(11), axis=0)
    return math.log(5) + np.take_along_axis(log_chance, y.astype(int), 0)[0]


def aligned(x):
    both = (x[2] + 1j * x[3]) * (x[0] - 1j * x[1])
    return np.stack([both.real, both.imag])


def impulsive_noise(x, y):
    def mixture(square, quiet, loud):
        log_quiet = math.log(3) - square / (2 * quiet) - 2.5 * math.log(quiet)
        return np.logaddexp(log_quiet, -square / (2 * loud) - 2.5 * math.log(loud))

    return mixture(((y - x) ** 2).sum(0), 0.64, 9) - mixture((y**2).sum(0), 1.64, 10)


# log p(x, y) / (p(x) p(y)), where all densities are known.
RATIO = {
    "differential drive": lambda x, y: np.log(wheels(y) / x**2 / (1 - wheels(y))).sum(0),
    "insurance": insurance,
    "floods": floods,
    "pulse position": pulse_position,
    "pilot symbol": lambda x, y: np.log(2 * expit(2**0.5 / 0.69 * y * aligned(x))).sum(0),
    "impulsive noise": impulsive_noise,
}
COUNTED = ("pedigree", "household epidemic", "envelope")


@pytest.mark.parametrize("name", [*GIVEN, *RATIO])
def test_truth_by_densities(name):
    family = BY_NAME[name]
    ratio = (lambda x, y: RATIO[name](x.T, y.T)) if name in RATIO else None
    check_truth(family.draw, family.truth, GIVEN.get(name), ratio, N, INNER, slack=1e-3)


@pytest.mark.parametrize("name", COUNTED)
def test_truth_by_counting(name):
    """The bias of a table of counts is its degrees of freedom divided by twice the samples."""
    sides, counted = BY_NAME[name].draw(1_000_000, seed=77), 0.0
    if name == "envelope":  # cells of an eighth of each coordinate
        sides = [side.argsort(0).argsort(0) * 8 // len(side) for side in sides]
    loci = 2 if name == "pedigree" else 1  # independent of each other
    for locus in range(loci):
        states = [side[:, locus::loci] @ 9 ** np.arange(side.shape[1] // loci) for side in sides]
        table = crosstab(*states).count
        counted += grid_information(table) - ((table > 0).sum() - sum(table.shape) + 1) / 2e6
    assert counted == pytest.approx(BY_NAME[name].truth, abs=0.003)


def test_families_have_the_promised_range():
    assert {*GIVEN, *RATIO, *COUNTED} == {*BY_NAME}
    truths = sorted(family.truth for family in blind.BLIND.families)
    assert truths[0] == 0  # envelope
    assert 0.05 <= truths[1] < truths[-1] < 2.5
    assert np.diff(truths).max() < 0.45
