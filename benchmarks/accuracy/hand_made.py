"""Hand-made families of known mutual information, none of them in the form of the atlas.

Each truth is a closed form or a quadrature to four digits; tests compare it with a Monte Carlo
computation that goes another way. Two of the families are paths, so that samples depend on each
other; the others are independent draws.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import solve_discrete_lyapunov
from scipy.signal import fftconvolve, lfilter
from scipy.special import digamma, gammaln, i0e, i1e, log_ndtr, ndtr, ndtri
from scipy.stats import gamma, laplace, logistic, nbinom, poisson

Array = NDArray[np.float64]
Generator = np.random.Generator
LOG_2PI = math.log(2 * math.pi)


@dataclass(frozen=True)
class Family:
    """A distribution of pairs.

    Attributes
    ----------
    name, kind, says : str
        `says`: how y comes from x, in a line.
    sample : callable
        (generator, n) -> x [n, dx], y [n, dy].
    compute : callable
        -> truth in nats.
    """

    name: str
    kind: str
    says: str
    sample: Callable[[Generator, int], tuple[Array, Array]]
    compute: Callable[[], float]

    @cached_property
    def truth(self) -> float:
        return self.compute()

    def draw(self, n: int, seed: int) -> tuple[Array, Array]:
        """Draw x [n, dx], y [n, dy]; each family has a stream of its own."""
        rng = np.random.default_rng([seed, n, *self.name.encode()])
        x, y = self.sample(rng, n)
        return x.reshape(n, -1), y.reshape(n, -1)


FAMILIES: list[Family] = []


def family(kind: str, truth: Callable[[], float]) -> Callable:
    """Enter the sampler below under its own name, with the first line of its docstring."""

    def enter(sample: Callable) -> Callable:
        name = sample.__name__.replace("_", " ")
        FAMILIES.append(Family(name, kind, sample.__doc__, sample, truth))
        return sample

    return enter


# --- what truths are made of -------------------------------------------------------------------


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


def flipped(probability: float) -> float:
    """Information of a fair bit that is flipped now and then."""
    p = probability
    return math.log(2) + p * math.log(p) + (1 - p) * math.log(1 - p)


def signs(rng: Generator, shape: int | tuple[int, ...]) -> Array:
    return rng.choice([-1.0, 1.0], shape)


def flip(rng: Generator, sign: Array, probability: float) -> Array:
    return np.where(rng.random(sign.shape) < probability, -sign, sign)


def columns(*parts: Array) -> Array:
    return np.stack(parts, axis=1)


# --- non-monotone functions --------------------------------------------------------------------


def _sawtooth() -> float:
    b = 0.08
    grid, step = np.linspace(-2, 3, 20001, retstep=True)
    density = laplace.cdf(grid, scale=b) - laplace.cdf(grid - 1, scale=b)
    return entropy(density, step) - (1 + math.log(2 * b))


@family("non-monotone", _sawtooth)
def sawtooth(rng: Generator, n: int) -> tuple[Array, Array]:
    """y = fractional part of 3x, and Laplace noise"""
    x = rng.random(n)
    return x, (3 * x) % 1 + rng.laplace(0, 0.08, n)


@family(
    "non-monotone",
    lambda: additive(
        _wavelet(laplace.ppf(even())),
        lambda e: logistic.pdf(e, scale=0.08),
        2 + math.log(0.08),
    ),
)
def wavelet(rng: Generator, n: int) -> tuple[Array, Array]:
    """y = x exp((1 - x²) / 2) of a Laplace x, and logistic noise"""
    x = rng.laplace(size=n)
    return x, _wavelet(x) + rng.logistic(0, 0.08, n)


def _wavelet(x: Array) -> Array:
    return x * np.exp((1 - x**2) / 2)


@family("non-monotone", lambda: -math.log(0.25))
def doubling_map(rng: Generator, n: int) -> tuple[Array, Array]:
    """consecutive states of s' = 2s + noise of width 1/4, modulo 1, along one path"""
    path = np.empty(n + 1)
    path[0] = rng.random()
    for i, step in enumerate(0.25 * rng.random(n)):
        path[i + 1] = (2 * path[i] + step) % 1
    return path[:-1], path[1:]


# --- closed curves -----------------------------------------------------------------------------


def _ring() -> float:
    grid = np.linspace(-2, 2, 2000)  # an even number of points leaves out the origin
    log_r = 0.5 * np.log(grid[:, None] ** 2 + grid**2)
    return grid_information(np.exp(-0.5 * (log_r / 0.12) ** 2 - 2 * log_r))


@family("closed curve", _ring)
def ring(rng: Generator, n: int) -> tuple[Array, Array]:
    """the two coordinates of points on a circle of log-normal radius"""
    angle, r = rng.uniform(0, 2 * math.pi, n), np.exp(0.12 * rng.standard_normal(n))
    return r * np.cos(angle), r * np.sin(angle)


@family("closed curve", lambda: 8 * i1e(8) / i0e(8) - math.log(i0e(8)) - 8)
def doubled_angle(rng: Generator, n: int) -> tuple[Array, Array]:
    """points in the plane; the angle of y is twice that of x, and von Mises noise"""
    angle = rng.uniform(-math.pi, math.pi, n)
    radius = np.exp(0.25 * rng.standard_normal((2, n)))
    other = 2 * angle + rng.vonmises(0, 8, n)
    x = columns(radius[0] * np.cos(angle), radius[0] * np.sin(angle))
    return x, columns(radius[1] * np.cos(other), radius[1] * np.sin(other))


# --- signs, products, interactions --------------------------------------------------------------


@family("interaction", lambda: flipped(0.05))
def sign_of_a_product(rng: Generator, n: int) -> tuple[Array, Array]:
    """y has the sign of x1 x2 in 95% of the draws, and a size of its own"""
    x = rng.standard_normal((n, 2))
    return x, flip(rng, np.sign(x[:, 0] * x[:, 1]), 0.05) * rng.gamma(3, size=n)


@family("interaction", lambda: math.log(2) + 0.5 * math.log(1 + 2 * 0.5**2 / 0.25**2))
def noisy_product(rng: Generator, n: int) -> tuple[Array, Array]:
    """y = x1 x2 times log-normal noise, x log-normal of random signs"""
    x = signs(rng, (n, 2)) * np.exp(0.5 * rng.standard_normal((n, 2)))
    return x, x[:, 0] * x[:, 1] * np.exp(0.25 * rng.standard_normal(n))


@family("interaction", lambda: flipped(0.05))
def parity_of_three(rng: Generator, n: int) -> tuple[Array, Array]:
    """y has the sign of x1 x2 x3 in 95% of the draws, and a size of its own"""
    x = rng.standard_normal((n, 3))
    return x, flip(rng, np.sign(x.prod(1)), 0.05) * rng.gamma(3, size=n)


@family("interaction", lambda: flipped(0.1))
def checkerboard(rng: Generator, n: int) -> tuple[Array, Array]:
    """points on a board of 4 by 4, 90% of them on black"""
    x, y = 4 * rng.random((2, n))
    white = (np.floor(x) + np.floor(y)) % 2 == 1
    move = white != (rng.random(n) < 0.1)
    return x, np.where(move, (y + 1) % 4, y)


@family("interaction", lambda: math.log(1 + 1 / 0.5**2))
def turned_vector(rng: Generator, n: int) -> tuple[Array, Array]:
    """x: a vector in the plane and an angle; y: the vector, turned by the angle, and noise"""
    u, angle = rng.standard_normal((n, 2)), rng.uniform(-math.pi, math.pi, n)
    c, s = np.cos(angle), np.sin(angle)
    y = columns(c * u[:, 0] - s * u[:, 1], s * u[:, 0] + c * u[:, 1])
    return np.column_stack([u, angle]), y + 0.5 * rng.standard_normal((n, 2))


@family(
    "interaction",
    lambda: additive(ndtri(even()), lambda e: laplace.pdf(e, scale=0.2), 1 + math.log(0.4)),
)
def switch(rng: Generator, n: int) -> tuple[Array, Array]:
    """y = x1 if x3 > 0, else x2; and Laplace noise"""
    x = rng.standard_normal((n, 3))
    return x, np.where(x[:, 2] > 0, x[:, 0], x[:, 1]) + rng.laplace(0, 0.2, n)


# --- dependence of scale ------------------------------------------------------------------------


def _precision() -> float:
    """Entropy of a multivariate t less the mean entropy of the normals it is made of."""
    nu, d = 2.0, 4
    half = (nu + d) / 2
    student = gammaln(nu / 2) - gammaln(half) + d / 2 * math.log(nu * math.pi)
    student += half * (digamma(half) - digamma(nu / 2))
    mean_log = digamma(nu / 2) - math.log(nu / 2)
    return float(student - d / 2 * (LOG_2PI + 1 - mean_log))


@family("scale", _precision)
def precision(rng: Generator, n: int) -> tuple[Array, Array]:
    """x: a precision; y: four normal coordinates that share it"""
    x = rng.gamma(1.0, 1.0, n)
    return np.log(x), rng.standard_normal((n, 4)) / np.sqrt(x)[:, None]


def _common_volume() -> float:
    grid, step = np.linspace(-8, 5, 1301, retstep=True)  # log-radii
    shared = np.arange(-4.5, 4.5, step)
    r = np.exp(grid - shared[:, None])
    given = r**2 * np.exp(-0.5 * r**2)
    weight = np.exp(-0.5 * (shared / 0.9) ** 2)
    return grid_information(given.T @ (weight[:, None] * given))


@family("scale", _common_volume)
def common_volume(rng: Generator, n: int) -> tuple[Array, Array]:
    """two normal vectors in the plane, multiplied by the same log-normal factor"""
    volume = np.exp(0.9 * rng.standard_normal((n, 1)))
    return volume * rng.standard_normal((n, 2)), volume * rng.standard_normal((n, 2))


@family(
    "scale",
    lambda: additive(
        np.log(ndtri(even()) ** 2),
        lambda e: gamma.pdf(np.exp(e), 4, scale=0.25) * np.exp(e),
        float(gamma(4, scale=0.25).entropy() - (digamma(4) + math.log(0.25))),
    ),
)
def multiplicative_noise(rng: Generator, n: int) -> tuple[Array, Array]:
    """y = x² times gamma noise"""
    x = rng.standard_normal(n)
    return x, x**2 * rng.gamma(4, 0.25, n)


@family(
    "scale",
    lambda: additive(
        0.5 * np.log(gamma.ppf(even(), 1.5, scale=2)), normal_density(0.2), normal_entropy(0.2)
    ),
)
def distance(rng: Generator, n: int) -> tuple[Array, Array]:
    """y = the length of three normal coordinates, times log-normal noise"""
    x = rng.standard_normal((n, 3))
    return x, np.linalg.norm(x, axis=1) * np.exp(0.2 * rng.standard_normal(n))


# --- Archimedean copulas ------------------------------------------------------------------------
#
# Sampled by their frailty (Marshall and Olkin 1988): u_i = psi(e_i / v), e exponential.


def _clayton(theta: float, dx: int, dy: int) -> float:
    """Given v the exponentials e_i / v have rate v: an inverted Dirichlet distribution."""
    a = 1 / theta

    def block(m: int) -> float:
        return float(gammaln(a) - gammaln(a + m) + (a + m) * (digamma(a + m) - digamma(a)))

    return block(dx) + block(dy) - block(dx + dy)


def _clayton_sample(rng: Generator, n: int, theta: float, d: int) -> Array:
    ratio = rng.exponential(size=(n, d)) / rng.gamma(1 / theta, size=(n, 1))
    # u = (1 + ratio)^(-1 / theta), by its logarithm: u may be too small for the lower tail.
    return ndtri(np.exp(-np.log1p(ratio) / theta))


@family("Archimedean", lambda: _clayton(3.0, 1, 1))
def clayton(rng: Generator, n: int) -> tuple[Array, Array]:
    """Clayton copula, θ = 3, normal margins"""
    z = _clayton_sample(rng, n, 3.0, 2)
    return z[:, 0], z[:, 1]


@family("Archimedean", lambda: _clayton(1.5, 3, 3))
def clayton_of_six(rng: Generator, n: int) -> tuple[Array, Array]:
    """exchangeable Clayton copula of three and three coordinates, θ = 1.5, normal margins"""
    z = _clayton_sample(rng, n, 1.5, 6)
    return z[:, :3], z[:, 3:]


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


@family("Archimedean", lambda: copula_information(gumbel_density))
def gumbel(rng: Generator, n: int) -> tuple[Array, Array]:
    """Gumbel copula, θ = 2.5, normal margins"""
    a, w, e = 1 / 2.5, rng.uniform(0, math.pi, n), rng.exponential(size=n)
    stable = np.sin(a * w) / np.sin(w) ** (1 / a) * (np.sin((1 - a) * w) / e) ** (1 / a - 1)
    z = ndtri(np.exp(-((rng.exponential(size=(2, n)) / stable) ** a)))
    return z[0], z[1]


def frank_density(x: Array, y: Array, theta: float = 6.0) -> Array:
    u, v = ndtr(x), ndtr(y)
    whole = -math.expm1(-theta)
    below = whole - np.expm1(-theta * u) * np.expm1(-theta * v)
    return whole * theta * np.exp(-theta * (u + v)) / below**2 * _normal(x, y)


@family("Archimedean", lambda: 5 * copula_information(frank_density))
def frank_pairs(rng: Generator, n: int) -> tuple[Array, Array]:
    """five pairs of coordinates, each with a Frank copula, θ = 6, uniform margins"""
    whole = -math.expm1(-6.0)
    ratio = rng.exponential(size=(2, n, 5)) / rng.logseries(whole, (n, 5))
    u = -np.log1p(-whole * np.exp(-ratio)) / 6.0
    return u[0], u[1]


def joe_density(x: Array, y: Array, theta: float = 4.0) -> Array:
    a, b = ndtr(-x), ndtr(-y)
    s = a**theta + b**theta - (a * b) ** theta
    return s ** (1 / theta - 2) * (a * b) ** (theta - 1) * (theta - 1 + s) * _normal(x, y)


@family("Archimedean", lambda: copula_information(joe_density))
def joe(rng: Generator, n: int) -> tuple[Array, Array]:
    """Joe copula, θ = 4, normal margins"""
    # The frailty has the Sibuya distribution: geometric, its probability beta distributed.
    p = rng.beta(0.25, 0.75, n)
    frailty = np.ceil(-rng.exponential(size=n) / np.log1p(-p))
    ratio = rng.exponential(size=(2, n)) / np.maximum(frailty, 1)
    z = -ndtri((-np.expm1(-ratio)) ** 0.25)
    return z[0], z[1]


# --- discrete channels --------------------------------------------------------------------------


@family("discrete", lambda: 5 * flipped(0.1))
def five_bits(rng: Generator, n: int) -> tuple[Array, Array]:
    """five bits through a symmetric channel that flips one in ten"""
    x = signs(rng, (n, 5))
    return x, flip(rng, x, 0.1)


@family("discrete", lambda: 0.7 * math.log(16))
def erasure(rng: Generator, n: int) -> tuple[Array, Array]:
    """one of 16 levels; y is the same, or -1 in 30% of the draws"""
    x = rng.integers(16, size=n).astype(float)
    return x, np.where(rng.random(n) < 0.3, -1.0, x)


def _photons() -> float:
    """Entropy of the negative binomial counts less the mean entropy of the Poisson ones."""
    counts = np.arange(400)
    marginal = nbinom.pmf(counts, 2, 1 / (1 + 5.0))
    rates = gamma.ppf(even(4000), 2, scale=5)
    log_given = poisson.logpmf(counts, rates[:, None])
    given = (np.exp(log_given) * log_given).sum(1).mean()
    return float(given - (marginal * np.log(marginal)).sum())


@family("discrete", _photons)
def photons(rng: Generator, n: int) -> tuple[Array, Array]:
    """y: a Poisson count of a gamma distributed rate x"""
    x = rng.gamma(2, 5, n)
    return x, rng.poisson(x).astype(float)


# --- processes ----------------------------------------------------------------------------------

ONE_BACK = np.array([[0.9, 0.5], [-0.4, 0.7]])
TWO_BACK = np.array([[-0.4, 0.0], [0.1, -0.35]])
SHOCKS = np.diag([0.5, 0.3])


def _second_order() -> float:
    step = np.block([[ONE_BACK, TWO_BACK], [np.eye(2), np.zeros((2, 2))]])
    noise = np.zeros((4, 4))
    noise[:2, :2] = SHOCKS**2
    stationary = solve_discrete_lyapunov(step, noise)[:2, :2]
    return 0.5 * float(np.linalg.slogdet(stationary)[1] - np.linalg.slogdet(SHOCKS**2)[1])


@family("process", _second_order)
def second_order(rng: Generator, n: int) -> tuple[Array, Array]:
    """y: a state of a VAR(2) path, x: the two before; each seen through the shear b + a²"""
    warm = 200
    shocks = rng.standard_normal((n + warm, 2)) @ SHOCKS
    path = np.zeros((n + warm, 2))
    for t in range(2, n + warm):
        path[t] = ONE_BACK @ path[t - 1] + TWO_BACK @ path[t - 2] + shocks[t]
    path[:, 1] += path[:, 0] ** 2
    past = np.hstack([path[warm - 1 : -1], path[warm - 2 : -2]])
    return past, path[warm:]


def _magnitudes() -> float:
    grid = np.linspace(0, 8, 2001)[:, None] + 0.002
    rho = 0.95
    folded = sum(
        np.exp(-(grid**2 - 2 * sign * rho * grid * grid.T + grid.T**2) / (2 * (1 - rho**2)))
        for sign in (-1, 1)
    )
    return grid_information(folded)


@family("process", _magnitudes)
def magnitudes(rng: Generator, n: int) -> tuple[Array, Array]:
    """consecutive absolute values of an AR(1) path with coefficient 0.95"""
    shocks = math.sqrt(1 - 0.95**2) * rng.standard_normal(n + 1)
    shocks[0] = rng.standard_normal()
    path = np.abs(lfilter([1.0], [1.0, -0.95], shocks))
    return path[:-1], path[1:]
