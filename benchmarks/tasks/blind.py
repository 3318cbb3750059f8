"""Families of known mutual information, many from robotics, written without knowledge of the model.

The authors knew neither its training nor its estimates. Tests compute each truth in another way.
All draws are independent; each is from a separate process.
"""

import math

import numpy as np
from scipy.ndimage import gaussian_filter
from scipy.special import digamma, entr, erf, expit, gammaln, ndtr, ndtri, softmax
from scipy.stats import binom, gamma, laplace, lognorm, nbinom, poisson, vonmises

from . import Array, Collection, Generator, truths
from .hand_made import columns, signs
from .truths import even, grid_information, normal_density, normal_entropy, normal_noise
from .unseen import normal_nodes

BLIND = Collection(
    "blind",
    "Blind families",
    "test",
    "The authors of the families did not know how the model is trained. No model was measured on "
    "them before the three models of 0.13.0 were final. Those models failed on impulsive noise. "
    "The training of 0.14.0 includes data of that kind; its settings were chosen elsewhere.",
)
family = BLIND.family

TURN = 2 * math.pi
PERIODS = np.array([3.0, 4.0])  # metres of distance after which a phase repeats
DOORS, STEPS = [1, 4, 7, 8], np.array([0.0, 1.1, 2.3, 3.7])  # metres along a corridor
ARRIVALS = [0.7, 0.21, 0.09]  # probabilities of holding the last command, and those before it
DOSES = np.array([-1.5, 0.0, 1.5])  # their logs
WORTH = np.array([0.0, 1.0, 1.5, 2.5])  # of nothing, and three goods


def radial_entropy(density: Array, r: Array, d: int) -> float:
    """Differential entropy of a density in d dimensions, given at even radii."""
    shell = r ** (d - 1)
    return float((shell * entr(density)).sum() / (shell * density).sum())


def _gyro_truth(sd: float, limit: float) -> float:
    rate = laplace.ppf(even(4000))[:, None]
    y, step = np.linspace(-limit, limit, 301, retstep=True)
    within = normal_density(sd)(y[1:] - step / 2 - rate) * step
    return grid_information(np.hstack([within, ndtr((np.hstack([rate, -rate]) - limit) / sd)]))


@family("sensor", lambda: _gyro_truth(0.2, 1.5))
def saturated_gyro(rng: Generator, n: int) -> tuple[Array, Array]:
    """x: a rate of turn, Laplace distributed; y: a gyro's noisy output, clipped at full scale"""
    x = rng.laplace(size=n)
    return x, np.clip(x + 0.2 * rng.standard_normal(n), -1.5, 1.5)


# The pose determines the travel of either wheel, which shares one nat with its command.
@family("mechanics", lambda: 2.0)
def differential_drive(rng: Generator, n: int) -> tuple[Array, Array]:
    """x: commanded travel of two wheels; y: change of place and heading with slipping wheels"""
    x = rng.random((n, 2))
    left, right = (x * rng.beta(2, 1, (n, 2))).T
    half = right - left  # of the heading: the wheels are 50 cm apart
    chord = (left + right) / 2 * np.sinc(half / math.pi)
    return x, columns(chord * np.cos(half), chord * np.sin(half), 2 * half)


# Range and bearing are independent of each other, and still are, given the pose.
@family("sensor", lambda: normal_noise(np.log(even()), 0.6) - vonmises(2, scale=1 / TURN).entropy())
def range_and_bearing(rng: Generator, n: int) -> tuple[Array, Array]:
    """x: place and heading of a robot; y: noisy range and bearing of a landmark"""
    far, (course, heading) = 5 * np.sqrt(rng.random(n)), rng.uniform(-math.pi, math.pi, (2, n))
    bearing = np.angle(-np.exp(1j * (course - heading + rng.vonmises(0, 2, n))))
    x = columns(far * np.cos(course), far * np.sin(course), heading)
    return x, columns(far * np.exp(0.3 * rng.standard_normal(n)), bearing)


def _phases_truth(kappa: float, size: int = 72) -> float:
    grid, x = TURN * np.arange(size) / size, 12 * even(10 * size)[:, None]
    a, b = (np.exp(kappa * np.cos(grid - TURN * x / period)) for period in PERIODS)
    return grid_information((a[:, :, None] * b[:, None]).reshape(len(x), -1))


@family("sensor", lambda: _phases_truth(5.0))
def phase_ranging(rng: Generator, n: int) -> tuple[Array, Array]:
    """x: a distance up to 12 m; y: two phases of the light, which repeat after 3 m and 4 m"""
    x = rng.uniform(0, 12, (n, 1))
    return x, np.angle(np.exp(1j * (TURN * x / PERIODS + rng.vonmises(0, 5, (n, 2)))))


def _current(speed: Array, payload: Array) -> Array:
    return 0.3 * payload + np.sign(speed) * (0.3 + 0.5 * np.exp(-6 * speed**2)) + 0.2 * speed


def _friction_truth() -> float:
    values = _current(ndtri(even(2000))[:, None], gamma.ppf(even(800), 2)).ravel()
    return truths.additive(values, laplace(scale=0.5).pdf, 1.0)


@family("mechanics", _friction_truth)
def stribeck_friction(rng: Generator, n: int) -> tuple[Array, Array]:
    """x: speed and payload of a joint; y: its motor's current; friction peaks at low speeds"""
    speed, payload = rng.standard_normal(n), rng.gamma(2, size=n)
    return columns(speed, payload), _current(speed, payload) + rng.laplace(0, 0.5, n)


def _held_truth(sd: float) -> float:
    """Integral over the two earlier commands and y, all minus the last command."""
    one, two = np.meshgrid(*2 * [np.arange(-6.5, 6.6, 0.1)], indexing="ij")
    y, parts = np.arange(-8, 8, 0.05), zip(ARRIVALS, [0 * one, one, two], strict=True)
    given = sum(share * normal_density(sd)(y - shift[:, :, None]) for share, shift in parts)
    weight = np.exp(-(one**2 - one * two + two**2) / 3)
    entropies = entr(given).sum(2) * 0.05
    return normal_entropy(math.hypot(1, sd)) - float((entropies * weight).sum() / weight.sum())


@family("control", lambda: _held_truth(0.25))
def held_command(rng: Generator, n: int) -> tuple[Array, Array]:
    """x: three commands, each lost with probability 0.3; y: the last that arrived, plus noise"""
    x = rng.standard_normal((n, 3))
    held = np.take_along_axis(x, rng.choice([2, 1, 0], (n, 1), p=ARRIVALS), 1)
    return x, held + 0.25 * rng.standard_normal((n, 1))


def _tilt_truth(sd: float) -> float:
    r = np.arange(0.0005, 1 + 9 * sd, 0.001)
    density = normal_density(sd)(r - 1) * -np.expm1(-2 * r / sd**2) / (2 * TURN * r)
    return radial_entropy(density, r, 3) - 3 * normal_entropy(sd)


@family("sensor", lambda: _tilt_truth(0.35))
def tilt(rng: Generator, n: int) -> tuple[Array, Array]:
    """x: roll and pitch; y: an accelerometer's three axes: gravity and vibration"""
    roll, pitch = rng.uniform(-math.pi, math.pi, n), np.arcsin(rng.uniform(-1, 1, n))
    down = columns(-np.sin(pitch), np.sin(roll) * np.cos(pitch), np.cos(roll) * np.cos(pitch))
    return columns(roll, pitch), down + 0.35 * rng.standard_normal((n, 3))


def _event_truth(scale: float, sd: float) -> float:
    bounds = 0.3 * np.concatenate([np.arange(-30, 0), np.arange(1, 31)])
    below = ndtr((bounds - laplace.ppf(even(9000), scale=scale)[:, None]) / sd)
    return grid_information(np.diff(below, axis=1, prepend=0, append=1))


@family("sensor", lambda: _event_truth(0.4, 0.15))
def event_camera(rng: Generator, n: int) -> tuple[Array, Array]:
    """x: brightness of a pixel at two times; y: signed events, one per 0.3 of change of the log"""
    before, change = rng.gamma(2, size=n), rng.laplace(0, 0.4, n)
    events = np.trunc((change + 0.15 * rng.standard_normal(n)) / 0.3)
    return columns(before, before * np.exp(change)), events


def _corridor_truth(wrong: float) -> float:
    door = np.isin((8 * even(4000)[:, None, None] + STEPS[:, None]) // 1, DOORS)
    right = door == np.indices((2,) * 4).reshape(4, -1)
    return grid_information(np.where(right, 1 - wrong, wrong).prod(1))


@family("sensor", lambda: _corridor_truth(0.18))
def corridor(rng: Generator, n: int) -> tuple[Array, Array]:
    """x: place in a corridor; y: door seen there and at 3 later places, each 18% wrong"""
    x, wrong = rng.uniform(0, 8, (n, 1)), rng.random((n, 4)) < 0.18
    return x, 1.0 * (np.isin((x + STEPS) // 1, DOORS) != wrong)


def _quadrants_truth(sd: float) -> float:
    """Over three orthonormal sums of the currents; the fourth, the total, is only noise."""
    u, v = np.meshgrid(*2 * [erf(0.8 * ndtri(even(1000)) / math.sqrt(2)) / 2], indexing="ij")
    edges, cell = np.linspace(-0.5 - 6 * sd, 0.5 + 6 * sd, 91, retstep=True)
    histogram = np.histogramdd(np.stack([u, v, 2 * u * v]).reshape(3, -1).T, 3 * [edges])[0]
    blur = math.sqrt((sd / cell) ** 2 - 1 / 12)  # the cells themselves blur as well
    density = gaussian_filter(histogram, blur, mode="constant", truncate=6)
    return truths.entropy(density, cell**3) - 3 * normal_entropy(sd)


@family("sensor", lambda: _quadrants_truth(0.09))
def quadrant_photodiode(rng: Generator, n: int) -> tuple[Array, Array]:
    """x: place of a spot of light; y: currents of a photodiode's four quadrants, with noise"""
    x = 0.8 * rng.standard_normal((n, 2))
    (right, up), (left, down) = ndtr(x).T, ndtr(-x).T
    current = columns(right * up, left * up, left * down, right * down)
    return x, current + 0.09 * rng.standard_normal((n, 4))


def _dose_truth() -> float:
    node, weight = normal_nodes(40)
    logit = 1.5 * np.exp(0.5 * node[:, None]) * (DOSES[:, None, None] - 1.2 * node)
    a, b, c = binom.pmf(np.arange(9), 8, expit(logit.clip(-30, 30)).reshape(3, -1, 1))
    weights = np.outer(weight, weight).ravel()
    return grid_information(np.einsum("t,ti,tj,tk->tijk", weights, a, b, c).reshape(len(a), -1))


@family("counts", _dose_truth)
def dose_response(rng: Generator, n: int) -> tuple[Array, Array]:
    """x: middle and log-slope of a drug's curve; y: how many of 8 animals respond, at 3 doses"""
    x = np.array([1.2, 0.5]) * rng.standard_normal((n, 2))
    return x, 1.0 * rng.binomial(8, expit(1.5 * np.exp(x[:, 1:]) * (DOSES - x[:, :1])))


def _pedigree_truth(share: float) -> float:
    """Truth of one locus; children are independent of each other given their parents."""
    parent, a = binom.pmf(np.arange(3), 2, share), np.arange(3)[:, None] / 2
    child = np.stack([(1 - a) * (1 - a.T), a + a.T - 2 * a * a.T, a * a.T])
    table = np.einsum("f,m,ifm,jfm->fmij", parent, parent, child, child)
    return grid_information(table.reshape(9, 9))


@family("discrete", lambda: 2 * _pedigree_truth(0.15))
def pedigree(rng: Generator, n: int) -> tuple[Array, Array]:
    """x: allele counts of two parents at two loci; y: those of two of their children"""
    parents = rng.binomial(2, 0.15, (n, 1, 2, 2))
    children = rng.binomial(1, parents / 2, (n, 2, 2, 2)).sum(2)
    return parents.reshape(n, 4).astype(float), children.reshape(n, 4).astype(float)


def _epidemic_truth(escape: float) -> float:
    well, ill, first, second = np.ogrid[1:9, 1:4, 0:9, 0:9]
    one = binom.pmf(first, well, 1 - escape**ill)
    two = binom.pmf(second, np.maximum(well - first, 0), 1 - escape**first)
    return grid_information((one * two).reshape(24, 81))


@family("interaction", lambda: _epidemic_truth(0.8))
def household_epidemic(rng: Generator, n: int) -> tuple[Array, Array]:
    """x: healthy and infected people of a household; y: new infections in each of two weeks"""
    well, ill = rng.integers(1, 9, n), rng.integers(1, 4, n)
    first = rng.binomial(well, 1 - 0.8**ill)
    second = rng.binomial(well - first, 1 - 0.8**first)
    return np.stack([well, ill], 1).astype(float), np.stack([first, second], 1).astype(float)


def _purchase_truth(spread: float) -> float:
    price = WORTH * lognorm.ppf(even(120)[:, None], spread)
    offers = np.stack(np.meshgrid(0, *price.T[1:], indexing="ij"), axis=-1)
    return grid_information(softmax(2 * (WORTH - offers), axis=-1).reshape(-1, 4))


@family("choice", lambda: _purchase_truth(0.4))
def purchase(rng: Generator, n: int) -> tuple[Array, Array]:
    """x: prices of three goods; y: number of the one bought, or 0, by a multinomial logit"""
    price = WORTH * np.exp(0.4 * rng.standard_normal((n, 4)))
    return price[:, 1:], 1.0 * (2 * (WORTH - price) + rng.gumbel(size=(n, 4))).argmax(1)


def _insurance_truth(shape: float, scale: float, tail: float) -> float:
    """Information of rate and number, plus that of mean claim and total given the number."""
    n = np.arange(200)
    shared = (n + tail) * digamma(n + tail) - gammaln(n + tail) - n
    shared += gammaln(tail) - tail * digamma(tail)
    return truths.photons(shape, scale) + float(nbinom.pmf(n, shape, 1 / (1 + scale)) @ shared)


@family("hidden cause", lambda: _insurance_truth(1.5, 3.0, 2.0))
def insurance(rng: Generator, n: int) -> tuple[Array, Array]:
    """x: yearly rate and mean size of a client's claims; y: their number and total in a year"""
    rate, size = rng.gamma(1.5, 3, n), 1 / rng.gamma(2, size=n)
    number = rng.poisson(rate).astype(float)
    return columns(rate, size), columns(number, size * rng.gamma(number))


def _floods_truth(spread: float) -> float:
    a, b = np.ogrid[-3.5:22:1276j, -3.5:22:1276j]
    near, far = spread / 2 + (b - a) / spread, spread / 2 + (a - b) / spread
    below = np.exp(-a) * ndtr(near) + np.exp(-b) * ndtr(far)
    mixed = np.exp(-b) * ndtr(near) * ndtr(far) + normal_density(1)(near) / spread
    return grid_information(mixed * np.exp(-a - below))


@family("copula", lambda: _floods_truth(1.6))
def floods(rng: Generator, n: int) -> tuple[Array, Array]:
    """a year's highest flows at two gauges: Hüsler-Reiss copula, Fréchet margins"""
    a, share, b = rng.gumbel(size=n), rng.random(n), np.full(n, 26.0)
    for step in 17 * 0.5 ** np.arange(60):  # the second given the first, by bisection
        near, far = ndtr(0.8 + (b - a) / 1.6), ndtr(0.8 + (a - b) / 1.6)
        b += step * np.sign(share - near * np.exp(np.exp(-a) * (1 - near) - np.exp(-b) * far))
    return np.exp(0.3 * a), np.exp(0.2 * b)


def _slots_truth(signal: float, dark: float) -> float:
    ratio, lit, p = 1 + signal / dark, np.arange(40), poisson.pmf(np.arange(9), dark)
    others = (ratio ** np.indices((9,) * 4)).sum(0).ravel()
    log_loss = np.log1p(others / ratio ** lit[:, None]) @ np.einsum("i,j,k,l", p, p, p, p).ravel()
    return math.log(5) - float(poisson.pmf(lit, signal + dark) @ log_loss)


@family("signal", lambda: _slots_truth(4.0, 0.4))
def pulse_position(rng: Generator, n: int) -> tuple[Array, Array]:
    """x: photons counted in five time slots; y: number of the slot in which a pulse was sent"""
    sent = rng.integers(5, size=(n, 1))
    return rng.poisson(0.4 + 4 * (np.arange(5) == sent)).astype(float), sent.astype(float)


def _pilot_truth(noise: float) -> float:
    """Truth of one bit; the error of the channel's estimate acts as noise."""
    ratio, (z, weight) = -np.log(even(8000))[:, None] / (noise * (2 + noise)), normal_nodes(60)
    return math.log(2) - float((np.log1p(np.exp(-2 * ratio - 2 * ratio**0.5 * z)) @ weight).mean())


@family("signal", lambda: 2 * _pilot_truth(0.3))
def pilot_symbol(rng: Generator, n: int) -> tuple[Array, Array]:
    """x: a pilot and a data symbol as received over a fading channel; y: the data's two bits"""
    bits, (channel, one, two) = signs(rng, (n, 2)), rng.standard_normal((3, n, 2)) @ [1, 1j]
    pilot = channel + math.sqrt(0.3) * one
    data = channel * (bits @ [1, 1j]) / math.sqrt(2) + math.sqrt(0.3) * two
    return columns(pilot.real, pilot.imag, data.real, data.imag), bits


# A phasor is independent of its derivative, which has no preferred direction.
@family("signal", lambda: 0.0)
def envelope(rng: Generator, n: int) -> tuple[Array, Array]:
    """x: envelope and phase of narrow-band radio noise; y: the envelope's rate of change"""
    phasor, rate = rng.standard_normal((2, n, 2)) @ [1, 1j]
    return columns(abs(phasor), np.angle(phasor)), (rate * phasor.conj()).real / abs(phasor)


def _impulsive_truth(quiet: float, loud: float) -> float:
    r, entropies = np.arange(0.005, 30, 0.01), []
    for a, b in [(quiet, loud), (math.hypot(1, quiet), math.hypot(1, loud))]:
        density = 0.75 * normal_density(a)(r) / a**4 + 0.25 * normal_density(b)(r) / b**4
        entropies.append(radial_entropy(density / TURN**2, r, 5))
    return entropies[1] - entropies[0]


@family("signal", lambda: _impulsive_truth(0.8, 3.0))
def impulsive_noise(rng: Generator, n: int) -> tuple[Array, Array]:
    """x: signals of five channels; y: the same plus noise of sd 0.8, or 3 in 25% of the draws"""
    x, sd = rng.standard_normal((n, 5)), np.where(rng.random((n, 1)) < 0.25, 3.0, 0.8)
    return x, x + sd * rng.standard_normal((n, 5))
