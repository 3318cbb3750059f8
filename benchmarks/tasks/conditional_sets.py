"""Triples x, y, z with known I(x; y | z), and series with known transfer entropy."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from . import Array
from .truths import flipped

Draw = Callable[[int, np.random.Generator], tuple[Array, Array, Array]]


@dataclass(frozen=True)
class Triple:
    """A family of samples of x, y and z."""

    name: str
    kind: str
    truth: float  # I(x; y | z) in nats
    draw: Draw  # draw(n, rng) gives x [n, dx], y [n, dy], z [n, dz]
    series: bool = False  # the samples are in order of time


def channel(rho: float) -> float:
    """Mutual information of two Gaussians with correlation rho."""
    return float(-0.5 * np.log(1 - rho**2))


def _noises(n: int, d: tuple[int, int], rho: float, rng: np.random.Generator) -> tuple[Array, ...]:
    """Noise of x [n, dx] and y [n, dy], correlated in the first coordinates."""
    of_x, of_y = rng.standard_normal((n, d[0])), rng.standard_normal((n, d[1]))
    k = min(d)
    of_y[:, :k] = rho * of_x[:, :k] + np.sqrt(1 - rho**2) * of_y[:, :k]
    return of_x, of_y


def gaussian(dx: int, dy: int, dz: int, rho: float, strength: float) -> Triple:
    """Both sides follow the mean of z, with partial correlations rho."""

    def draw(n: int, rng: np.random.Generator) -> tuple[Array, Array, Array]:
        z = rng.standard_normal((n, dz))
        of_x, of_y = _noises(n, (dx, dy), rho, rng)
        common = strength * z.sum(axis=1, keepdims=True) / np.sqrt(dz)
        return common + of_x, common + of_y, z

    name = f"{dx} + {dy} given {dz}, rho {rho:g}, z {strength:g}"
    return Triple(name, "Gaussian", min(dx, dy) * channel(rho), draw)


def warped(dz: int, rho: float) -> Triple:
    """`gaussian` with monotone maps of all coordinates."""
    base = gaussian(1, 1, dz, rho, 2)

    def draw(n: int, rng: np.random.Generator) -> tuple[Array, Array, Array]:
        x, y, z = base.draw(n, rng)
        return np.exp(x), y**3, np.sinh(z)

    return Triple(f"warped, given {dz}, rho {rho:g}", "nonlinear", base.truth, draw)


def curved(rho: float) -> Triple:
    """Both sides have a mean that is not monotone in z."""

    def draw(n: int, rng: np.random.Generator) -> tuple[Array, Array, Array]:
        z = rng.standard_normal((n, 1))
        of_x, of_y = _noises(n, (1, 1), rho, rng)
        return 2 * np.sin(2 * z) + 0.7 * of_x, z**2 + 0.7 * of_y, z

    return Triple(f"sine and square of z, rho {rho:g}", "nonlinear", channel(rho), draw)


def scaled(rho: float) -> Triple:
    """The scale of both sides, and the mean of y, depend on z."""

    def draw(n: int, rng: np.random.Generator) -> tuple[Array, Array, Array]:
        z = rng.standard_normal((n, 2))
        of_x, of_y = _noises(n, (1, 1), rho, rng)
        x = z[:, :1] + of_x * (0.3 + abs(z[:, :1]))
        return x, z[:, :1] * z[:, 1:] + of_y * np.exp(0.5 * z[:, 1:]), z

    return Triple(f"noise that grows with z, rho {rho:g}", "nonlinear", channel(rho), draw)


def switch(name: str, truth: float, noise: float = 0.0) -> Triple:
    """Switches of two states: "xor" (y = x xor z, with flips), "copy" (x = y = z)."""

    def draw(n: int, rng: np.random.Generator) -> tuple[Array, Array, Array]:
        x, z = rng.integers(0, 2, (2, n, 1))
        if name == "copy":
            return z, z, z
        return x, x ^ z ^ (rng.random((n, 1)) < noise), z

    flips = f", {noise:.0%} flips" if noise else ""
    return Triple(f"2 x 2 switches, {name}{flips}", "switches", truth, draw)


def sign() -> Triple:
    """Independent x and y, and z, the sign of their product."""

    def draw(n: int, rng: np.random.Generator) -> tuple[Array, Array, Array]:
        x, y = rng.standard_normal((2, n, 1))
        return x, y, np.sign(x * y)

    return Triple("z = sign(x y)", "switches", float(np.log(2)), draw)


def noisy_copies(noise: float) -> Triple:
    """Two measurements of z with independent noise."""

    def draw(n: int, rng: np.random.Generator) -> tuple[Array, Array, Array]:
        z, *noises = rng.standard_normal((3, n, 1))
        return z + noise * noises[0], z + noise * noises[1], z

    return Triple(f"two measurements of z, noise {noise:g}", "redundancy", 0.0, draw)


def collider(noise: float) -> Triple:
    """Independent x and y, and z, their sum with noise."""

    def draw(n: int, rng: np.random.Generator) -> tuple[Array, Array, Array]:
        x, y, e = rng.standard_normal((3, n, 1))
        return x, y, x + y + noise * e

    return Triple(f"z = x + y + {noise:g} e", "synergy", channel(1 / (1 + noise**2)), draw)


def transfer(own: float, other: float, coupling: float, forward: bool = True) -> Triple:
    """Transfer entropy of a VAR(1): y_t = own y + coupling x + e, x_t = other x + e.

    `forward`: transfer from x to y; otherwise from y to x, which is 0.
    """
    # Stationary covariance: of x, of x with y, of y.
    xx = 1 / (1 - other**2)
    xy = other * coupling * xx / (1 - other * own)
    yy = (coupling**2 * xx + 2 * own * coupling * xy + 1) / (1 - own**2)
    truth = 0.5 * np.log(1 + coupling**2 * (xx - xy**2 / yy)) if forward else 0.0

    def draw(n: int, rng: np.random.Generator) -> tuple[Array, Array, Array]:
        x, y = rng.standard_normal((2, n + 201))
        for t in range(1, n + 201):
            x[t] += other * x[t - 1]
            y[t] += own * y[t - 1] + coupling * x[t - 1]
        a, b = (x[200:, None], y[200:, None]) if forward else (y[200:, None], x[200:, None])
        return a[:-1], b[1:], b[:-1]

    way = "x to y" if forward else "y to x"
    name = f"VAR(1) {own:g}, {other:g}, coupling {coupling:g}, {way}"
    return Triple(name, "VAR(1)", float(truth), draw, series=True)


TRIPLES = (
    gaussian(1, 1, 1, 0, 1),
    gaussian(1, 1, 1, 0.5, 1),
    gaussian(1, 1, 1, 0.9, 3),
    gaussian(1, 1, 2, 0.5, 2),
    gaussian(1, 1, 4, 0, 3),
    gaussian(1, 1, 4, 0.5, 1),
    gaussian(2, 2, 1, 0.5, 1),
    gaussian(2, 2, 2, 0.7, 2),
    gaussian(3, 3, 2, 0.5, 1),
    gaussian(4, 1, 1, 0.6, 1),
    transfer(0.5, 0, 0.6),
    transfer(0.8, 0.8, 0.4),
    transfer(0.5, 0.9, 0.3),
    transfer(0.8, 0.8, 0.4, forward=False),
    switch("xor", float(np.log(2))),
    switch("xor", flipped(0.1), 0.1),
    switch("copy", 0.0),
    sign(),
    collider(1),
    collider(0.3),
    noisy_copies(0.3),
    noisy_copies(0.05),
    warped(3, 0.5),
    curved(0),
    curved(0.7),
    scaled(0),
    scaled(0.6),
)
