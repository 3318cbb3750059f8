"""Wide sides whose dependence is in a few hidden directions, or in the common scale of a side.

Each side has `d` coordinates, a random rotation of the related ones and of independent normals, so
no single coordinate shows the dependence.
"""

import math
from collections.abc import Callable

import numpy as np
from scipy.special import gammaln, ndtri

from . import Array, Family, Generator
from .truths import entropy, grid_information, normal_noise

DIMS = (25, 50)
UNIFORM = (np.arange(200_000) + 0.5) / 200_000


def families(d: int) -> list[Family]:
    """The set for sides of d coordinates."""

    def hidden(
        name: str, description: str, relate: Callable[[Generator, int], tuple[Array, Array]]
    ) -> Callable[[Callable[[], float]], Family]:
        def sample(rng: Generator, n: int) -> tuple[Array, Array]:
            return tuple(_rotated(rng, side, d) for side in relate(rng, n))

        return lambda compute: Family(name, "hidden directions", description, sample, compute)

    return [
        hidden("linear", "three pairs of correlation 0.8", _linear)(
            lambda: -1.5 * math.log(1 - 0.8**2)
        ),
        hidden("squares", "y is the square of x, with noise; twice", _of(_square, 0.5))(
            lambda: 2 * square_truth()
        ),
        hidden("sines", "y is the sine of 2 x, with noise; twice", _of(_sine, 0.4))(
            lambda: 2 * _additive(_sine, 0.4)
        ),
        hidden("cosines", "y is the cosine of 2 x, with noise; twice", _of(_cosine, 0.4))(
            lambda: 2 * _additive(_cosine, 0.4)
        ),
        hidden("noise level", "x is the logarithm of the scale of y", _noise_level)(_log_scale),
        hidden("both scales", "scales of x and y are related, signs are not", _both_scales)(
            lambda: -0.5 * math.log(1 - 0.9**2)
        ),
        hidden("sign of a product", "the sign of y is that of x x', in 95%", _sign)(
            lambda: math.log(2) + 0.05 * math.log(0.05) + 0.95 * math.log(0.95)
        ),
        Family(
            "common scale",
            "scale",
            "all coordinates of both sides have one random scale",
            lambda rng, n: _common_scale(rng, n, d),
            lambda: _radii(d),
        ),
        Family(
            "independent",
            "independent",
            "normal coordinates",
            lambda rng, n: tuple(rng.standard_normal((2, n, d))),
            lambda: 0.0,
        ),
    ]


def _rotated(rng: Generator, related: Array, d: int) -> Array:
    """Related coordinates [n, m] among d - m independent normals, in a rotation that is fixed."""
    n, m = related.shape
    both = np.concatenate([related, rng.standard_normal((n, d - m))], axis=1)
    return both @ np.linalg.qr(np.random.default_rng([d, m]).standard_normal((d, d)))[0]


def _linear(rng: Generator, n: int) -> tuple[Array, Array]:
    x, noise = rng.standard_normal((2, n, 3))
    return x, 0.8 * x + 0.6 * noise


def _square(x: Array) -> Array:
    return (x * x - 1) / math.sqrt(2)


def _sine(x: Array) -> Array:
    return 1.4 * np.sin(2 * x)


def _cosine(x: Array) -> Array:
    return 1.4 * np.cos(2 * x)


def _of(
    function: Callable[[Array], Array], noise: float
) -> Callable[[Generator, int], tuple[Array, Array]]:
    def relate(rng: Generator, n: int) -> tuple[Array, Array]:
        x, e = rng.standard_normal((2, n, 2))
        return x, function(x) + noise * e

    return relate


def square_truth() -> float:
    """I(x; (x^2 - 1) / sqrt(2) + e) of normal x and e, of deviation 0.5."""
    return _additive(_square, 0.5)


def _additive(function: Callable[[Array], Array], noise: float) -> float:
    """I(x; f(x) + e) of a normal x."""
    return normal_noise(function(ndtri(UNIFORM)), noise)


def _noise_level(rng: Generator, n: int) -> tuple[Array, Array]:
    x, noise = rng.standard_normal((2, n, 1))
    return x, np.exp(x) * noise


def _log_scale() -> float:
    """I(x; exp(x) e) of normal x and e; on the scale of log |y|, since the sign is independent."""
    x, t = np.linspace(-7, 7, 1401)[:, None], np.linspace(-25, 12, 7401)
    square = np.exp(2 * (t - x))
    density = (np.exp(-(x**2) / 2) * np.exp(-square / 2 + t - x)).sum(axis=0)
    # Given x, log |y| is x + log |e|, with the entropy of log |e|.
    alone = np.exp(-np.exp(2 * t) / 2 + t)
    step = float(t[1] - t[0])
    return entropy(density, step) - entropy(alone, step)


def _both_scales(rng: Generator, n: int) -> tuple[Array, Array]:
    a, noise = rng.standard_normal((2, n, 1))
    b = 0.9 * a + math.sqrt(1 - 0.9**2) * noise
    sign_x, sign_y = np.where(rng.random((2, n, 1)) < 0.5, -1.0, 1.0)
    return sign_x * np.exp(a / 2), sign_y * np.exp(b / 2)


def _sign(rng: Generator, n: int) -> tuple[Array, Array]:
    x = rng.standard_normal((n, 2))
    sign = np.sign(x.prod(axis=1)) * np.where(rng.random(n) < 0.05, -1.0, 1.0)
    return x, (sign * abs(rng.standard_normal(n)))[:, None]


def _common_scale(rng: Generator, n: int, d: int) -> tuple[Array, Array]:
    scale = np.exp(rng.standard_normal((n, 1)) / 2)
    x, y = rng.standard_normal((2, n, d))
    return scale * x, scale * y


def _radii(d: int) -> float:
    """I of the radii of both sides, which is that of the sides, for their directions are free."""
    t, (z, weight) = np.linspace(-4, 8, 1201), np.polynomial.hermite_e.hermegauss(200)
    log = t[:, None] - z / 2  # of the radius of d standard normals
    density = np.exp(d * log - np.exp(2 * log) / 2 - (d / 2 - 1) * math.log(2) - gammaln(d / 2))
    return grid_information((density * weight) @ density.T)
