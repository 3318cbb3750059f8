"""Truths of the hand-made families: closed forms, quadratures, and common parts of them.

The truth of a family has the family's name. Parameters are arguments, so that their values are next
to the sampler (:mod:`hand_made`).
"""

import math
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import solve_discrete_lyapunov
from scipy.signal import fftconvolve
from scipy.special import digamma, gammaln, log_ndtr, ndtr
from scipy.stats import gamma, laplace, nbinom, poisson

Array = NDArray[np.float64]
LOG_2PI = math.log(2 * math.pi)


def entropy(density: Array, step: float) -> float:
    """Differential entropy of a density on an even grid; it is normalised first."""
    p = density / (density.sum() * step)
    return float(-(p * np.log(p, where=p > 0, out=np.zeros_like(p))).sum() * step)


def grid_information(density: Array) -> float:
    """Mutual information of a joint density on an even grid [i, j], or of a table of shares."""
    p = density / density.sum()
    product = p.sum(1, keepdims=True) * p.sum(0)
    positive = p > 0
    return float((p[positive] * np.log(p[positive] / product[positive])).sum())


def gaussian_information(xx: Array, yy: Array, xy: Array) -> float:
    """Mutual information of a Gaussian with these blocks of its covariance, nats."""
    joint = np.block([[xx, xy], [xy.T, yy]])
    logdets = [np.linalg.slogdet(block)[1] for block in (xx, yy, joint)]
    return float(logdets[0] + logdets[1] - logdets[2]) / 2


def student_excess(freedom: float, d: int) -> float:
    """Information from the common scale of d + d coordinates with a t distribution."""

    def block(m: int) -> float:
        """Entropy of an m-dimensional t with unit scale."""
        half = (freedom + m) / 2
        entropy = gammaln(freedom / 2) - gammaln(half) + m / 2 * math.log(freedom * math.pi)
        return float(entropy + half * (digamma(half) - digamma(freedom / 2)))

    return 2 * block(d) - block(2 * d)


def additive(values: Array, noise: Callable[[Array], Array], noise_entropy: float) -> float:
    """I(x; f(x) + e), e of density `noise`; `values`: f(x) at even steps of probability."""
    step, reach = 0.002, 8.0
    low, high = values.min() - step, values.max() + step
    histogram = np.histogram(values, np.arange(low, high + step, step))[0]
    density = fftconvolve(histogram, noise(np.arange(-reach, reach, step))).clip(min=0)
    return entropy(density, step) - noise_entropy


def even(count: int = 400_000) -> Array:
    """Midpoints of even steps of probability."""
    return (np.arange(count) + 0.5) / count


def normal_density(sd: float) -> Callable[[Array], Array]:
    return lambda e: np.exp(-0.5 * (e / sd) ** 2) / (sd * math.sqrt(2 * math.pi))


def normal_entropy(sd: float) -> float:
    return 0.5 * math.log(2 * math.pi * math.e * sd**2)


def normal_noise(values: Array, sd: float) -> float:
    """I(x; f(x) + normal noise), `values` as in :func:`additive`."""
    return additive(values, normal_density(sd), normal_entropy(sd))


def flipped(probability: float) -> float:
    """Information of a fair bit that is flipped with this probability."""
    p = probability
    return math.log(2) + p * math.log(p) + (1 - p) * math.log(1 - p)


def sawtooth(b: float) -> float:
    """`b`: scale of the Laplace noise."""
    grid, step = np.linspace(-2, 3, 20001, retstep=True)
    density = laplace.cdf(grid, scale=b) - laplace.cdf(grid - 1, scale=b)
    return entropy(density, step) - (1 + math.log(2 * b))


def ring(sd: float) -> float:
    """`sd`: of the log-radius."""
    grid = np.linspace(-2, 2, 2000)  # an even number of points leaves out the origin
    log_r = 0.5 * np.log(grid[:, None] ** 2 + grid**2)
    return grid_information(np.exp(-0.5 * (log_r / sd) ** 2 - 2 * log_r))


def precision(nu: float, d: int) -> float:
    """Entropy of a multivariate t less the mean entropy of the normals it is made of."""
    half = (nu + d) / 2
    student = gammaln(nu / 2) - gammaln(half) + d / 2 * math.log(nu * math.pi)
    student += half * (digamma(half) - digamma(nu / 2))
    mean_log = digamma(nu / 2) - math.log(nu / 2)
    return float(student - d / 2 * (LOG_2PI + 1 - mean_log))


def common_volume(sd: float) -> float:
    """`sd`: of the log of the common factor."""
    grid, step = np.linspace(-8, 5, 1301, retstep=True)  # log-radii
    shared = np.arange(-4.5, 4.5, step)
    r = np.exp(grid - shared[:, None])
    given = r**2 * np.exp(-0.5 * r**2)
    weight = np.exp(-0.5 * (shared / sd) ** 2)
    return grid_information(given.T @ (weight[:, None] * given))


def photons(shape: float, scale: float) -> float:
    """Entropy of the negative binomial counts less the mean entropy of the Poisson ones."""
    counts = np.arange(400)
    marginal = nbinom.pmf(counts, shape, 1 / (1 + scale))
    rates = gamma.ppf(even(4000), shape, scale=scale)
    log_given = poisson.logpmf(counts, rates[:, None])
    given = (np.exp(log_given) * log_given).sum(1).mean()
    return float(given - (marginal * np.log(marginal)).sum())


def second_order(one_back: Array, two_back: Array, shocks: Array) -> float:
    """Given the two previous states, only the shock is random; the shear changes nothing."""
    step = np.block([[one_back, two_back], [np.eye(2), np.zeros((2, 2))]])
    noise = np.zeros((4, 4))
    noise[:2, :2] = shocks**2
    stationary = solve_discrete_lyapunov(step, noise)[:2, :2]
    return 0.5 * float(np.linalg.slogdet(stationary)[1] - np.linalg.slogdet(shocks**2)[1])


def magnitudes(rho: float) -> float:
    """The joint normal density, folded along both axes."""
    grid = np.linspace(0, 8, 2001)[:, None] + 0.002
    folded = sum(
        np.exp(-(grid**2 - 2 * sign * rho * grid * grid.T + grid.T**2) / (2 * (1 - rho**2)))
        for sign in (-1, 1)
    )
    return grid_information(folded)


def clayton(theta: float, dx: int, dy: int) -> float:
    """Given v the exponentials e_i / v have rate v: an inverted Dirichlet distribution."""
    a = 1 / theta

    def block(m: int) -> float:
        return float(gammaln(a) - gammaln(a + m) + (a + m) * (digamma(a + m) - digamma(a)))

    return block(dx) + block(dy) - block(dx + dy)


def copula_information(density: Callable[[Array, Array], Array]) -> float:
    """By quadrature over normal scores z, density(z_x, z_y) at normal margins up to a factor."""
    z = np.linspace(-8, 8, 1601)
    return grid_information(density(z[:, None], z))


def _normal(x: Array, y: Array) -> Array:
    return np.exp(-0.5 * (x**2 + y**2))


def gumbel_density(x: Array, y: Array, theta: float = 2.5) -> Array:
    a, b = -log_ndtr(x), -log_ndtr(y)
    s = (a**theta + b**theta) ** (1 / theta)
    c = np.exp(a + b - s) * (a * b) ** (theta - 1) * s ** (1 - 2 * theta) * (s + theta - 1)
    return c * _normal(x, y)


def frank_density(x: Array, y: Array, theta: float = 6.0) -> Array:
    u, v = ndtr(x), ndtr(y)
    whole = -math.expm1(-theta)
    below = whole - np.expm1(-theta * u) * np.expm1(-theta * v)
    return whole * theta * np.exp(-theta * (u + v)) / below**2 * _normal(x, y)


def joe_density(x: Array, y: Array, theta: float = 4.0) -> Array:
    a, b = ndtr(-x), ndtr(-y)
    s = a**theta + b**theta - (a * b) ** theta
    return s ** (1 / theta - 2) * (a * b) ** (theta - 1) * (theta - 1 + s) * _normal(x, y)
