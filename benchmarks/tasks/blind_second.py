"""Twelve more families of known mutual information, written without knowledge of the model.

Their author knew neither its training nor its estimates. Tests compute each truth in another way.
All draws are independent, except those of the one process.
"""

import math

import numpy as np
from numpy.polynomial.laguerre import laggauss
from scipy.special import gammaln, i0e, ive, ndtr, ndtri, stdtrit
from scipy.stats import beta, binom, dirichlet, gamma

from . import Array, Collection, Generator
from .hand_made import columns
from .truths import even, gaussian_information, grid_information, normal_density, normal_noise
from .unseen import normal_nodes

BLIND_SECOND = Collection(
    "blind_second",
    "Twelve more blind families",
    "test",
    "The author of the families did not know how the model is trained. Models "
    "0.14.0 were measured on them once, when they were final.",
)
family = BLIND_SECOND.family

SHARES = np.array([0.9, 2.0, 0.6, 1.5, 0.7, 0.5])  # parameters of a Dirichlet distribution
# Probabilities of pairs of the lowest tenth, the middle, and the highest tenth of two returns.
TAILS = np.array([[0.07, 0.028, 0.002], [0.028, 0.744, 0.028], [0.002, 0.028, 0.07]])
BOUNDS = np.array([0.0, 0.1, 0.9, 1.0])  # of those ranks


def symbol_information(amplitude: Array) -> Array:
    """Of a fair sign and the sign times the amplitude [...] plus standard normal noise."""
    node, weight = normal_nodes(80)
    a = np.asarray(amplitude)[..., None]
    return math.log(2) - np.log1p(np.exp(-2 * a**2 - 2 * a * node)) @ weight


def _limit_truth(rho: float, limit: float, step: float = 0.005) -> float:
    """Of the pairs that both detect on a grid; the missing ones have a row and a column."""
    a = np.arange(limit + step / 2, 7, step)
    sd, weight = math.sqrt(1 - rho**2), normal_density(1)(a) * step
    missed = weight * ndtr((limit - rho * a) / sd)  # by one laboratory
    both = weight[:, None] * normal_density(sd)(a - rho * a[:, None]) * step
    corner = ndtr(limit) - missed.sum()
    return grid_information(np.block([[both, missed[:, None]], [missed, corner]]))


@family("missing", lambda: _limit_truth(0.9, -0.25))
def detection_limit(rng: Generator, n: int) -> tuple[Array, Array]:
    """a concentration by two laboratories; both give half their limit for the lowest 40%"""
    common, own = rng.standard_normal((n, 1)), rng.standard_normal((n, 2))
    z = math.sqrt(0.9) * common + math.sqrt(0.1) * own
    found = np.exp(np.where(z < -0.25, -0.25 - math.log(2), z))
    return found[:, 0], found[:, 1]


def _dropouts_truth(d: int, rho: float, sd: float, lost: float) -> float:
    xx = rho + (1 - rho) * np.eye(d)
    yy = xx + sd**2 * np.eye(d)
    given = [gaussian_information(xx, yy[:m, :m], xx[:, :m]) for m in range(1, d + 1)]
    return float(binom.pmf(np.arange(1, d + 1), d, 1 - lost) @ given)


@family("missing", lambda: _dropouts_truth(5, 0.5, 0.3, 0.3))
def dropouts(rng: Generator, n: int) -> tuple[Array, Array]:
    """x: five correlated positions; y: the same plus noise, each 0 with probability 0.3"""
    x = math.sqrt(0.5) * (rng.standard_normal((n, 1)) + rng.standard_normal((n, 5)))
    return x, np.where(rng.random((n, 5)) < 0.3, 0, x + 0.3 * rng.standard_normal((n, 5)))


# A Markov chain: I of the third and the fourth time, both of a Lévy distribution.
@family("tails", lambda: 2 * math.log(4))
def first_passages(rng: Generator, n: int) -> tuple[Array, Array]:
    """x: times at which a Brownian motion first reaches levels 1, 2 and 3; y: those of 4 and 5"""
    times = (rng.standard_normal((n, 5)) ** -2.0).cumsum(1)
    return times[:, :3], times[:, 3:]


@family("tails", lambda: grid_information(TAILS))
def stress(rng: Generator, n: int) -> tuple[Array, Array]:
    """returns of two assets, t distributed; extremes go together, all else is independent"""
    parts = np.stack(np.unravel_index(rng.choice(9, n, p=TAILS.ravel()), (3, 3)))
    rank = BOUNDS[parts] + np.diff(BOUNDS)[parts] * rng.random((2, n))
    return stdtrit(3, rank[0]), stdtrit(3, rank[1])


# Ratio and sum of gamma variables are independent of each other.
def _divider_truth(a: float, b: float) -> float:
    ratio, total = beta.ppf(even(40_000), a, b), gamma.ppf(even(40_000), a + b)
    return normal_noise(ratio, 0.1) + normal_noise(np.log(total), 0.3)


@family("sensor", lambda: _divider_truth(2, 3))
def voltage_divider(rng: Generator, n: int) -> tuple[Array, Array]:
    """x: two resistances; y: their divider's noisy ratio, and the current through both"""
    x, noise = rng.gamma([2.0, 3.0], size=(n, 2)), rng.standard_normal((2, n))
    total = x.sum(1)
    return x, columns(x[:, 0] / total + 0.1 * noise[0], np.exp(0.3 * noise[1]) / total)


@family("sensor", lambda: normal_noise(-np.log1p(np.exp(-1.5 * ndtri(even()))), 0.5 / 2))
def enzyme(rng: Generator, n: int) -> tuple[Array, Array]:
    """x: a concentration; y: four rates of a saturating reaction, each with a log-normal factor"""
    x = np.exp(1.5 * rng.standard_normal((n, 1)))
    return x, x / (1 + x) * np.exp(0.5 * rng.standard_normal((n, 4)))


def _rod_truth(sd: float) -> float:
    """From the sum of both points' squares, as complex numbers in the frame of the rod."""
    node, weight = laggauss(60)  # halves of the squares along the rod, and of those aside
    along, aside, angle = 2 * node[:, None, None], 2 * sd**2 * node[:, None], math.pi * even(60)
    sharpness = (1 / sd**2 - 1) / 4
    real, imaginary = along - aside, 2 * np.sqrt(along * aside) * np.cos(angle)
    size = sharpness * np.hypot(real, imaginary)
    return float(weight @ (sharpness * real - size - np.log(i0e(size))).mean(2) @ weight)


@family("sensor", lambda: _rod_truth(0.2))
def rod(rng: Generator, n: int) -> tuple[Array, Array]:
    """x: direction of a rod through the origin; y: two noisy points of it"""
    x = rng.uniform(0, math.pi, n)
    along, aside = rng.standard_normal((2, 2, n))
    one, two = (along + 0.2j * aside) * np.exp(1j * x)
    return x, columns(one.real, one.imag, two.real, two.imag)


def _association_truth(sd: float) -> float:
    """Information with a known order, minus that of the order given x."""
    order = symbol_information(np.sqrt(-2 * np.log(even(8000))) / sd).mean()
    return 2 * math.log1p(1 / sd**2) - float(order)


@family("sensor", lambda: _association_truth(0.4))
def data_association(rng: Generator, n: int) -> tuple[Array, Array]:
    """x: places of two objects in the plane; y: both seen with noise, in random order"""
    x = rng.standard_normal((n, 2, 2))
    seen = rng.permuted(np.tile([0, 1], (n, 1)), axis=1)[:, :, None]
    y = np.take_along_axis(x, seen, 1) + 0.4 * rng.standard_normal((n, 2, 2))
    return x.reshape(n, 4), y.reshape(n, 4)


def _thermostat_truth(rho: float, limit: float, sd: float) -> float:
    """Paths within both limits are independent of the state; all others determine it."""
    x, step = limit * (2 * even(800) - 1), limit / 400
    within = normal_density(1)(x) * step
    kernel = normal_density(math.sqrt(1 - rho**2))(x - rho * x[:, None]) * step
    unknown = (within @ np.linalg.matrix_power(kernel, 4)).sum()
    return float((1 - unknown) * symbol_information(np.array(1 / sd)))


@family("control", lambda: _thermostat_truth(0.8, 0.8, 0.6))
def thermostat(rng: Generator, n: int) -> tuple[Array, Array]:
    """x: five successive temperatures; y: noisy current of a heater switched with hysteresis"""
    x, state = rng.standard_normal((n, 5)), rng.choice([-1.0, 1.0], n)
    for i in range(5):
        x[:, i] = 0.8 * x[:, i - 1] + 0.6 * x[:, i] if i else x[:, 0]
        state = np.where(np.abs(x[:, i]) < 0.8, state, -np.sign(x[:, i]))
    return x, state + 0.6 * rng.standard_normal(n)


def _budget_truth(a: Array) -> float:
    x, y = (np.append(part, a.sum() - part.sum()) for part in (a[:3], a[3:5]))
    return float(dirichlet(x).entropy() + dirichlet(y).entropy() - dirichlet(a).entropy())


@family("shares", lambda: _budget_truth(SHARES))
def budget(rng: Generator, n: int) -> tuple[Array, Array]:
    """shares of three kinds of a household's expenses, and of two others, of six, Dirichlet"""
    share = rng.dirichlet(SHARES, n)
    return share[:, :3], share[:, 3:5]


def _accidents_truth(shape: float, scale: float) -> float:
    """The sums are sufficient."""
    x, y = np.ogrid[:120, :160]
    logs = gammaln(shape + x + y) - gammaln(x + 1) - gammaln(y + 1)
    logs += x * math.log(2) + y * math.log(3) - (x + y) * math.log(5 + 1 / scale)
    return grid_information(np.exp(logs))


@family("counts", lambda: _accidents_truth(0.8, 0.3))
def accidents(rng: Generator, n: int) -> tuple[Array, Array]:
    """a driver's accidents in two years and in three others, Poisson of a gamma distributed rate"""
    count = rng.poisson(rng.gamma(0.8, 0.3, (n, 1)), (n, 5)).astype(float)
    return count[:, :2], count[:, 2:]


def _root_truth(shape: float, rho: float) -> float:
    """Kibble's bivariate gamma density, over logs."""
    log = np.arange(-18, 4, 0.03)
    x, y = np.exp(log[:, None]), np.exp(log)
    root = np.sqrt(x * y)
    bessel = ive(shape - 1, 2 * math.sqrt(rho) * root / (1 - rho))
    distance = x + y - 2 * math.sqrt(rho) * root
    return grid_information(root ** (shape + 1) * bessel * np.exp(-distance / (1 - rho)))


@family("process", lambda: _root_truth(0.8, 0.9))
def square_root_process(rng: Generator, n: int) -> tuple[Array, Array]:
    """consecutive states of a gamma distributed path, whose steps vary more in higher states"""
    path = np.empty(n + 1)
    path[0] = rng.gamma(0.8)
    for i in range(n):
        path[i + 1] = 0.1 * rng.gamma(0.8 + rng.poisson(9 * path[i]))
    return path[:-1], path[1:]
