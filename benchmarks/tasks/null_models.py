"""Conditionally independent triples x, y, z for the level of a test, and dependent ones for power.

The method was chosen on `CHOSEN` and `ALTERNATIVES`. `KEPT` was measured afterwards. In earlier
versions it had the last three models of `CHOSEN`, on which earlier methods failed.
"""

from dataclasses import dataclass, field

import numpy as np

from . import Array

Triplet = tuple[Array, Array, Array]


@dataclass(frozen=True)
class Model:
    """A distribution of x, y and z [n, d] with I(x; y | z) = 0, or above 0 if `strength` is.

    `draw(rng)` makes n samples; those of a series are in order of time.
    """

    name: str
    n: int
    strength: float = 0.0
    series: bool = field(default=False, init=False)

    def draw(self, rng: np.random.Generator) -> Triplet:
        raise NotImplementedError


@dataclass(frozen=True)
class Transfer(Model):
    """Is the past of x informative about the present of y, given the past of y (one step each)?

    Both series are of one `kind`; x acts on y a step later with `strength`.
    """

    kind: str = "white"
    series: bool = field(default=True, init=False)

    def draw(self, rng: np.random.Generator) -> Triplet:
        x, y = (_series(self.kind, self.n + 1, rng) for _ in range(2))
        if self.kind == "switches":  # y copies x in a share of the steps
            y[1:] = np.where(rng.random((self.n, 1)) < self.strength, x[:-1], y[1:])
        else:
            y[1:] += self.strength * x[:-1]
        return x[:-1], y[1:], y[:-1]


def _series(kind: str, n: int, rng: np.random.Generator) -> Array:
    """A series [n, 1]."""
    if kind == "smooth":
        return np.convolve(rng.standard_normal(n + 14), np.hanning(17)[1:-1], "valid")[:, None]
    if kind == "walk":  # increments of a random walk that is measured with noise
        walk = np.cumsum(rng.standard_normal(n + 1)) + rng.standard_normal(n + 1)
        return np.diff(walk)[:, None]
    if kind == "switches":  # stays as it is with probability 0.9
        return (np.cumsum(rng.random(n) < 0.1)[:, None] % 2).astype(float)
    if kind == "counts":  # arrivals, of which each stays with probability 0.7 at every step
        level = np.zeros(n, int)
        for t in range(1, n):
            level[t] = rng.binomial(level[t - 1], 0.7) + rng.poisson(0.6)
        return level[:, None].astype(float)
    keep = {"white": 0.0, "AR": 0.9, "heavy": 0.5}[kind]
    noise = rng.standard_t(1.5, n + 200) if kind == "heavy" else rng.standard_normal(n + 200)
    for t in range(1, n + 200):
        noise[t] += keep * noise[t - 1]
    return noise[200:, None]


@dataclass(frozen=True)
class Curved(Model):
    """x and y are curved functions of z [n, dz], which resemble each other, and noise.

    `how`: how the noise of y depends on that of x: "linear", "square" or "sign of z".
    """

    dz: int = 1
    how: str = "linear"
    scaled: bool = False

    def draw(self, rng: np.random.Generator) -> Triplet:
        z = rng.standard_normal((self.n, self.dz))
        of_x, noise = rng.standard_normal((2, self.n))
        effect = {
            "linear": of_x,
            "square": (of_x**2 - 1) / np.sqrt(2),
            "sign of z": of_x * np.sign(z[:, 0]),
        }[self.how]
        of_y = self.strength * effect + np.sqrt(1 - self.strength**2) * noise
        direction = z.sum(axis=1) / np.sqrt(self.dz)
        square = (z**2 - 1).mean(axis=1) * np.sqrt(self.dz)
        if self.scaled:
            of_x, of_y = of_x * (0.3 + abs(direction)), of_y * (0.3 + abs(direction))
        x = 2 * np.sin(2 * direction) + 0.7 * of_x
        y = np.sin(2 * direction) + square + 0.7 * of_y
        return x[:, None], y[:, None], z


@dataclass(frozen=True)
class Driver(Model):
    """A driver acts on x after one step and on y after three; both have noise of AR(0.8)."""

    series: bool = field(default=True, init=False)

    def draw(self, rng: np.random.Generator) -> Triplet:
        driver = _series("AR", self.n + 3, rng)[:, 0]
        of_x, of_y = rng.standard_normal((2, self.n + 200))
        of_y = of_y + self.strength * of_x
        for t in range(1, self.n + 200):
            of_x[t] += 0.8 * of_x[t - 1]
            of_y[t] += 0.8 * of_y[t - 1]
        x = np.tanh(driver[2:-1]) * 3 + of_x[200:]
        y = 0.5 * driver[:-3] ** 2 / 2 + driver[:-3] + of_y[200:]
        return x[:, None], y[:, None], np.c_[driver[2:-1], driver[:-3]]


@dataclass(frozen=True)
class Bumps(Model):
    """x and y have a bump at the same place of z [n, 4]; y also has a product."""

    def draw(self, rng: np.random.Generator) -> Triplet:
        z = rng.standard_normal((self.n, 4))
        of_x, of_y = 0.5 * rng.standard_normal((2, self.n))
        bump = 3 * np.exp(-((z[:, 0] - 0.5) ** 2 + z[:, 1] ** 2))
        return (bump + of_x)[:, None], (bump + z[:, 2] * z[:, 3] + of_y)[:, None], z


@dataclass(frozen=True)
class Classes(Model):
    """Counts whose distributions depend on a class z; y is also x in a share of the samples."""

    def draw(self, rng: np.random.Generator) -> Triplet:
        z = rng.integers(0, 4, (self.n, 1))
        x, y = (rng.binomial(4, (1 + z) / 5) for _ in range(2))
        y = np.where(rng.random((self.n, 1)) < self.strength, x, y)
        return x.astype(float), y.astype(float), z.astype(float)


@dataclass(frozen=True)
class Regimes(Model):
    """x and y have another level where the first coordinate of z [n, 2] is positive."""

    def draw(self, rng: np.random.Generator) -> Triplet:
        z = rng.standard_normal((self.n, 2))
        x, y = rng.standard_normal((2, self.n)) + 2 * np.sign(z[:, 0])
        return x[:, None], y[:, None], z


CHOSEN: tuple[Model, ...] = (
    Transfer("white", 300, kind="white"),
    Transfer("AR(0.9)", 400, kind="AR"),
    Transfer("heavy tails", 400, kind="heavy"),
    Curved("curved z, 1 dimension", 200),
    Curved("curved z, 3 dimensions", 500, dz=3),
    Classes("classes", 300),
    Regimes("regimes", 400),
    Curved("curved z, 4 dimensions", 500, dz=4),
    Transfer("switches in time", 400, kind="switches"),
    Bumps("bumps of z, 4 dimensions", 500),
)
KEPT: tuple[Model, ...] = (
    Transfer("smooth", 800, kind="smooth"),
    Transfer("random walks, differenced", 400, kind="walk"),
    Curved("curved z, 2 dimensions", 200, dz=2),
    Driver("common driver with a lag", 500),
    Transfer("counts in time", 400, kind="counts"),
)
ALTERNATIVES: tuple[Model, ...] = (
    Transfer("white", 300, 0.2, kind="white"),
    Transfer("AR(0.9)", 400, 0.15, kind="AR"),
    Transfer("smooth", 800, 0.3, kind="smooth"),
    Curved("curved z, 1 dimension", 200, 0.25),
    Curved("curved z, 3 dimensions", 500, 0.2, dz=3),
    Curved("square of the noise", 300, 0.4, how="square"),
    Curved("sign changes with z", 300, 0.4, how="sign of z"),
    Classes("classes", 300, 0.15),
)
