"""Hand-made families of known mutual information, in other forms than the training data.

Each truth is a closed form or a quadrature to four digits (:mod:`truths`); tests compare it with a
separate Monte Carlo computation. Two of the families are paths with dependent samples; the others
are independent draws.
"""

import math

import numpy as np
from scipy.signal import lfilter
from scipy.special import digamma, i0e, i1e, ndtri
from scipy.stats import gamma, laplace, logistic

from . import Array, Collection, Generator, truths
from .truths import additive, even, flipped, normal_noise

HAND_MADE = Collection(
    "families",
    "Hand-made families",
    "development",
    "None of them has the form of the training data, and no model was fitted to them. Results on "
    "them have led to new kinds of data for the fit of the bias correction, and were used to "
    "compare fits.",
)
family = HAND_MADE.family


def signs(rng: Generator, shape: int | tuple[int, ...]) -> Array:
    return rng.choice([-1.0, 1.0], shape)


def flip(rng: Generator, sign: Array, probability: float) -> Array:
    return np.where(rng.random(sign.shape) < probability, -sign, sign)


def columns(*parts: Array) -> Array:
    return np.stack(parts, axis=1)


@family("non-monotone", lambda: truths.sawtooth(0.08))
def sawtooth(rng: Generator, n: int) -> tuple[Array, Array]:
    """y = fractional part of 3x, plus Laplace noise"""
    x = rng.random(n)
    return x, (3 * x) % 1 + rng.laplace(0, 0.08, n)


@family(
    "non-monotone",
    lambda: additive(
        _wavelet(laplace.ppf(even())), lambda e: logistic.pdf(e, scale=0.08), 2 + math.log(0.08)
    ),
)
def wavelet(rng: Generator, n: int) -> tuple[Array, Array]:
    """y = x exp((1 - x²) / 2) of a Laplace x, plus logistic noise"""
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


@family("closed curve", lambda: truths.ring(0.12))
def ring(rng: Generator, n: int) -> tuple[Array, Array]:
    """the two coordinates of points on a circle of log-normal radius"""
    angle, r = rng.uniform(0, 2 * math.pi, n), np.exp(0.12 * rng.standard_normal(n))
    return r * np.cos(angle), r * np.sin(angle)


@family("closed curve", lambda: 8 * i1e(8) / i0e(8) - math.log(i0e(8)) - 8)
def doubled_angle(rng: Generator, n: int) -> tuple[Array, Array]:
    """points in the plane; the angle of y is twice that of x, plus von Mises noise"""
    angle = rng.uniform(-math.pi, math.pi, n)
    radius = np.exp(0.25 * rng.standard_normal((2, n)))
    other = 2 * angle + rng.vonmises(0, 8, n)
    x = columns(radius[0] * np.cos(angle), radius[0] * np.sin(angle))
    return x, columns(radius[1] * np.cos(other), radius[1] * np.sin(other))


@family("interaction", lambda: flipped(0.05))
def sign_of_a_product(rng: Generator, n: int) -> tuple[Array, Array]:
    """y has the sign of x1 x2 in 95% of the draws, and an independent magnitude"""
    x = rng.standard_normal((n, 2))
    return x, flip(rng, np.sign(x[:, 0] * x[:, 1]), 0.05) * rng.gamma(3, size=n)


@family("interaction", lambda: math.log(2) + 0.5 * math.log(1 + 2 * 0.5**2 / 0.25**2))
def noisy_product(rng: Generator, n: int) -> tuple[Array, Array]:
    """y = x1 x2 times log-normal noise, x log-normal of random signs"""
    x = signs(rng, (n, 2)) * np.exp(0.5 * rng.standard_normal((n, 2)))
    return x, x[:, 0] * x[:, 1] * np.exp(0.25 * rng.standard_normal(n))


@family("interaction", lambda: flipped(0.05))
def parity_of_three(rng: Generator, n: int) -> tuple[Array, Array]:
    """y has the sign of x1 x2 x3 in 95% of the draws, and an independent magnitude"""
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
    """x: a vector in the plane and an angle; y: the vector turned by the angle, plus noise"""
    u, angle = rng.standard_normal((n, 2)), rng.uniform(-math.pi, math.pi, n)
    c, s = np.cos(angle), np.sin(angle)
    y = columns(c * u[:, 0] - s * u[:, 1], s * u[:, 0] + c * u[:, 1])
    return np.column_stack([u, angle]), y + 0.5 * rng.standard_normal((n, 2))


@family(
    "interaction",
    lambda: additive(ndtri(even()), lambda e: laplace.pdf(e, scale=0.2), 1 + math.log(0.4)),
)
def switch(rng: Generator, n: int) -> tuple[Array, Array]:
    """y = x1 if x3 > 0, else x2; plus Laplace noise"""
    x = rng.standard_normal((n, 3))
    return x, np.where(x[:, 2] > 0, x[:, 0], x[:, 1]) + rng.laplace(0, 0.2, n)


@family("scale", lambda: truths.precision(2.0, 4))
def precision(rng: Generator, n: int) -> tuple[Array, Array]:
    """x: a precision; y: four normal coordinates that share it"""
    x = rng.gamma(1.0, 1.0, n)
    return np.log(x), rng.standard_normal((n, 4)) / np.sqrt(x)[:, None]


@family("scale", lambda: truths.common_volume(0.9))
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


@family("scale", lambda: normal_noise(0.5 * np.log(gamma.ppf(even(), 1.5, scale=2)), 0.2))
def distance(rng: Generator, n: int) -> tuple[Array, Array]:
    """y = the length of three normal coordinates, times log-normal noise"""
    x = rng.standard_normal((n, 3))
    return x, np.linalg.norm(x, axis=1) * np.exp(0.2 * rng.standard_normal(n))


# Archimedean copulas are sampled by their frailty (Marshall and Olkin 1988): u_i = psi(e_i / v), e
# exponential.
def _clayton_sample(rng: Generator, n: int, theta: float, d: int) -> Array:
    ratio = rng.exponential(size=(n, d)) / rng.gamma(1 / theta, size=(n, 1))
    # u = (1 + ratio)^(-1 / theta), by its logarithm: u may be too small for the lower tail.
    return ndtri(np.exp(-np.log1p(ratio) / theta))


@family("Archimedean", lambda: truths.clayton(3.0, 1, 1))
def clayton(rng: Generator, n: int) -> tuple[Array, Array]:
    """Clayton copula, θ = 3, normal margins"""
    z = _clayton_sample(rng, n, 3.0, 2)
    return z[:, 0], z[:, 1]


@family("Archimedean", lambda: truths.clayton(1.5, 3, 3))
def clayton_of_six(rng: Generator, n: int) -> tuple[Array, Array]:
    """exchangeable Clayton copula of three and three coordinates, θ = 1.5, normal margins"""
    z = _clayton_sample(rng, n, 1.5, 6)
    return z[:, :3], z[:, 3:]


@family("Archimedean", lambda: truths.copula_information(truths.gumbel_density))
def gumbel(rng: Generator, n: int) -> tuple[Array, Array]:
    """Gumbel copula, θ = 2.5, normal margins"""
    a, w, e = 1 / 2.5, rng.uniform(0, math.pi, n), rng.exponential(size=n)
    stable = np.sin(a * w) / np.sin(w) ** (1 / a) * (np.sin((1 - a) * w) / e) ** (1 / a - 1)
    z = ndtri(np.exp(-((rng.exponential(size=(2, n)) / stable) ** a)))
    return z[0], z[1]


@family("Archimedean", lambda: 5 * truths.copula_information(truths.frank_density))
def frank_pairs(rng: Generator, n: int) -> tuple[Array, Array]:
    """five pairs of coordinates, each with a Frank copula, θ = 6, uniform margins"""
    whole = -math.expm1(-6.0)
    ratio = rng.exponential(size=(2, n, 5)) / rng.logseries(whole, (n, 5))
    u = -np.log1p(-whole * np.exp(-ratio)) / 6.0
    return u[0], u[1]


@family("Archimedean", lambda: truths.copula_information(truths.joe_density))
def joe(rng: Generator, n: int) -> tuple[Array, Array]:
    """Joe copula, θ = 4, normal margins"""
    # The frailty has the Sibuya distribution: geometric, its probability beta distributed.
    p = rng.beta(0.25, 0.75, n)
    frailty = np.ceil(-rng.exponential(size=n) / np.log1p(-p))
    ratio = rng.exponential(size=(2, n)) / np.maximum(frailty, 1)
    z = -ndtri((-np.expm1(-ratio)) ** 0.25)
    return z[0], z[1]


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


@family("discrete", lambda: truths.photons(2, 5))
def photons(rng: Generator, n: int) -> tuple[Array, Array]:
    """y: a Poisson count of a gamma distributed rate x"""
    x = rng.gamma(2, 5, n)
    return x, rng.poisson(x).astype(float)


ONE_BACK = np.array([[0.9, 0.5], [-0.4, 0.7]])
TWO_BACK = np.array([[-0.4, 0.0], [0.1, -0.35]])
SHOCKS = np.diag([0.5, 0.3])


@family("process", lambda: truths.second_order(ONE_BACK, TWO_BACK, SHOCKS))
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


@family("process", lambda: truths.magnitudes(0.95))
def magnitudes(rng: Generator, n: int) -> tuple[Array, Array]:
    """consecutive absolute values of an AR(1) path with coefficient 0.95"""
    shocks = math.sqrt(1 - 0.95**2) * rng.standard_normal(n + 1)
    shocks[0] = rng.standard_normal()
    path = np.abs(lfilter([1.0], [1.0, -0.95], shocks))
    return path[:-1], path[1:]
