"""Families of known mutual information from many fields, written without knowledge of the model.

Their author knew neither the training of the model nor any of its estimates. They are no test set
for anything that is tuned on their results.

Each truth is a closed form or a quadrature; tests compare it with means over samples. All draws are
independent, also those of processes: each is from a separate process.
"""

import math

import numpy as np
from numpy.polynomial.hermite_e import hermegauss
from scipy.ndimage import gaussian_filter
from scipy.special import entr, ndtri, xlogy
from scipy.stats import binom, poisson

from . import Array, Collection, Generator, truths
from .hand_made import columns
from .truths import even, grid_information, normal_density, normal_entropy

UNSEEN = Collection(
    "unseen",
    "Unseen families",
    "test",
    "The authors of the families did not know how the model is trained. The families were neither "
    "seen by others nor measured with any model before `edge` 0.9.0 was final. Their results were "
    "used once since then, in the decision to ship `base` 0.13.0. That model is therefore not "
    "judged blind here.",
)
family = UNSEEN.family

LINKS = np.array([0.8, 0.6, 0.3])  # of an arm, in metres
PREFERRED = np.radians([-120, 0, 120])  # directions of three cells
# Phases of three legs after the left hind one: in a walk, a trot and a pace.
GAITS = np.array([[0.25, 0.5, 0.75], [0.5, 0.5, 0.0], [0.0, 0.5, 0.5]])
SPINS = 2.0 * np.indices((2,) * 9).reshape(9, -1).T - 1  # all states of a lattice of 3 by 3
CORNERS, OTHERS = [0, 2, 6, 8], [1, 3, 4, 5, 7]


def blurred(u: Array, v: Array, sds: tuple[float, float]) -> float:
    """I(x; (u, v) + normal errors), u and v at even steps of the law of x."""
    cells = [sd / 6 for sd in sds]
    edges = [
        np.arange(w.min() - 6 * sd, w.max() + 6 * sd, cell)
        for w, sd, cell in zip((u, v), sds, cells, strict=True)
    ]
    histogram = np.histogram2d(u.ravel(), v.ravel(), edges)[0]
    # The cells themselves blur by a twelfth of their square.
    density = gaussian_filter(histogram, math.sqrt(36 - 1 / 12), mode="constant", truncate=7)
    return truths.entropy(density, math.prod(cells)) - sum(normal_entropy(sd) for sd in sds)


def normal_nodes(count: int) -> tuple[Array, Array]:
    """Points and weights of a mean over a standard normal variable."""
    nodes, weights = hermegauss(count)
    return nodes, weights / weights.sum()


def _hand(shoulder: Array, elbow: Array, wrist: Array) -> tuple[Array, Array]:
    course = (shoulder, shoulder + elbow, shoulder + elbow + wrist)
    pairs = list(zip(LINKS, course, strict=True))
    return sum(a * np.cos(c) for a, c in pairs), sum(a * np.sin(c) for a, c in pairs)


def _arm_truth(sd: float) -> float:
    shoulder, elbow, wrist = 1.8 * even(120), 0.2 + 2.2 * even(120), 2 * even(60) - 1
    return blurred(*_hand(*np.meshgrid(shoulder, elbow, wrist, indexing="ij")), (sd, sd))


@family("mechanics", lambda: _arm_truth(0.15))
def arm(rng: Generator, n: int) -> tuple[Array, Array]:
    """x: three joint angles of a planar arm; y: position of its hand, with 15 cm noise"""
    x = rng.uniform([0.0, 0.2, -1.0], [1.8, 2.4, 1.0], (n, 3))
    return x, columns(*_hand(*x.T)) + 0.15 * rng.standard_normal((n, 2))


def _cart_step(place: Array, speed: Array) -> tuple[Array, Array]:
    """Half a second under a position controller whose force is limited."""
    force = np.clip(-2 * place - 1.5 * speed, -1, 1)
    return place + 0.5 * speed + 0.125 * force, speed + 0.5 * force


def _cart_truth(sds: tuple[float, float]) -> float:
    place = ndtri(even(1000))
    return blurred(*_cart_step(place[:, None], 0.8 * place), sds)


@family("control", lambda: _cart_truth((0.3, 0.4)))
def cart(rng: Generator, n: int) -> tuple[Array, Array]:
    """x: place and speed of a cart; y: both after half a second of control, with random pushes"""
    place, speed = rng.standard_normal(n), 0.8 * rng.standard_normal(n)
    after = columns(*_cart_step(place, speed))
    return columns(place, speed), after + [0.3, 0.4] * rng.standard_normal((n, 2))


def _beam_truth() -> float:
    x, step = 0.5 + 7.5 * even(1500)[:, None], 0.01
    y = np.arange(-1, 9.5, step)
    lost = 0.3 * (x / 8) ** 2
    seen = 0.8 * normal_density(0.2)(y - x) + 0.2 * ((y > 0) & (y < x)) / x
    return grid_information(np.hstack([(1 - lost) * seen * step, lost]))


@family("sensor", _beam_truth)
def beam(rng: Generator, n: int) -> tuple[Array, Array]:
    """y: a laser's measurement of distance x: noisy, at times too short, or 10 m without an echo"""
    x = rng.uniform(0.5, 8, n)
    reading = x + 0.2 * rng.standard_normal(n)
    reading = np.where(rng.random(n) < 0.2, x * rng.random(n), reading)
    return x, np.where(rng.random(n) < 0.3 * (x / 8) ** 2, 10.0, reading)


def _gaits_truth(kappa: float, size: int = 60) -> float:
    """Given x = 0 against the mean over x, which turns all three legs alike; on the torus."""
    grid = 2 * math.pi * np.arange(size) / size
    bells = np.exp(kappa * (np.cos(grid - 2 * math.pi * GAITS[:, :, None]) - 1))
    given = np.einsum("g,gi,gj,gk", [0.5, 0.3, 0.2], *bells.transpose(1, 0, 2))
    given /= given.sum()
    whole = sum(np.roll(given, (s, s, s), (0, 1, 2)) for s in range(size)) / size
    return float((given * np.log(given / whole)).sum())


@family("mechanics", lambda: _gaits_truth(5.0))
def gaits(rng: Generator, n: int) -> tuple[Array, Array]:
    """x: phase of a leg in its stride; y: phases of the three others, in one of three gaits"""
    x = rng.random((n, 1))
    gait = rng.choice(3, n, p=[0.5, 0.3, 0.2])
    return x, (x + GAITS[gait] + rng.vonmises(0, 5, (n, 3)) / (2 * math.pi)) % 1


def _rates(direction: Array) -> Array:
    return 0.5 + 7 * np.exp(1.5 * (np.cos(direction - PREFERRED) - 1))


def _cells_truth() -> float:
    rate, count = _rates(2 * math.pi * even(90)[:, None]), np.arange(26)
    a, b, c = poisson.pmf(count, rate.T[:, :, None])
    return grid_information(np.einsum("ti,tj,tk->tijk", a, b, c).reshape(len(rate), -1))


@family("counts", _cells_truth)
def direction_cells(rng: Generator, n: int) -> tuple[Array, Array]:
    """x: the direction of a movement; y: spike counts of three cells tuned to it"""
    x = rng.uniform(-math.pi, math.pi, (n, 1))
    return x, rng.poisson(_rates(x)).astype(float)


def _reaction_truth() -> float:
    """Over the log of the time, an inverse Gaussian variable."""
    drift, bound = 0.4 + 3.6 * even(80)[:, None, None], 0.5 + 1.5 * even(60)[:, None]
    t = np.exp(np.arange(-6, 5, 0.02))
    given = bound / np.sqrt(t) * np.exp(-((bound - drift * t) ** 2) / (2 * t))
    return grid_information(given.reshape(-1, len(t)))


@family("dynamics", _reaction_truth)
def reaction_time(rng: Generator, n: int) -> tuple[Array, Array]:
    """x: drift and bound of a Brownian motion; y: the time at which it first reaches the bound"""
    drift, bound = rng.uniform(0.4, 4.0, n), rng.uniform(0.5, 2.0, n)
    return columns(drift, bound), rng.wald(bound / drift, bound**2)


def _follow_up_truth() -> float:
    node, weight = normal_nodes(40)
    hazard = 0.6 * np.exp(np.concatenate([0.9 * node, 0.9 * node - 1.2]))[:, None]
    t = 3 * even(3000)
    alive = np.exp(-hazard * t)
    table = np.hstack([hazard * alive * (3 - t), alive])  # a death; an end of the follow-up
    return grid_information(np.tile(weight, 2)[:, None] * table)


@family("survival", _follow_up_truth)
def follow_up(rng: Generator, n: int) -> tuple[Array, Array]:
    """x: a marker and whether treated; y: years until death or end of follow-up, and which"""
    marker, treated = rng.standard_normal(n), rng.integers(2, size=n)
    death = rng.exponential(1 / 0.6, n) * np.exp(1.2 * treated - 0.9 * marker)
    end = rng.uniform(0, 3, n)
    return columns(marker, treated), columns(np.minimum(death, end), death < end)


def _islands_truth(genes: int, generations: int) -> float:
    """Of one locus: the islands are independent given the share of the allele before."""
    count, share = np.arange(genes + 1), even(2000)[:, None]
    step = binom.pmf(count, genes, count[:, None] / genes)
    after = binom.pmf(count, genes, share) @ np.linalg.matrix_power(step, generations - 1)
    return grid_information(after.T @ (share * (1 - share) * after))


@family("counts", lambda: 2 * _islands_truth(30, 4))
def islands(rng: Generator, n: int) -> tuple[Array, Array]:
    """counts of two alleles on two islands, four generations of 30 genes after their separation"""
    share = np.broadcast_to(rng.beta(2, 2, (n, 2)), (2, n, 2))
    for _ in range(4):
        count = rng.binomial(30, share)
        share = count / 30
    return count[0].astype(float), count[1].astype(float)


def _lighthouse_truth(size: int = 90) -> float:
    """Over the angles at which the flashes are seen from the shore's origin."""
    along, weight = normal_nodes(24)
    off = (0.4 + 1.6 * even(48))[:, None]
    u = math.pi * (even(size) - 0.5)
    given = off / ((np.tan(u) - along[:, None, None]) ** 2 + off**2) / np.cos(u) ** 2
    given, weight = given.reshape(-1, size), np.repeat(weight, 48)
    given /= given.sum(1, keepdims=True)
    two = (given[:, :, None] * given[:, None]).reshape(len(given), -1)
    three = (weight[:, None] * given).T @ two / weight.sum()
    return float(entr(three).sum() - 3 * weight @ entr(given).sum(1) / weight.sum())


@family("sensor", _lighthouse_truth)
def lighthouse(rng: Generator, n: int) -> tuple[Array, Array]:
    """x: where a lighthouse is, along and off the shore; y: where three flashes hit the shore"""
    along, off = rng.standard_normal((n, 1)), rng.uniform(0.4, 2.0, (n, 1))
    flashes = along + off * np.tan(rng.uniform(-math.pi / 2, math.pi / 2, (n, 3)))
    return np.hstack([along, off]), flashes


def _shower_truth(index: float, shape: float, dx: int, dy: int) -> float:
    """Sums of signals are sufficient; in steps of their logs."""
    log_energy = 12 * even(1200)[:, None]
    log_sum = np.arange(-6, 14, 0.02)

    def given(d: int) -> Array:
        scaled = log_sum - log_energy + math.log(shape)
        return np.exp(d * shape * scaled - np.exp(scaled) - math.lgamma(d * shape))

    return grid_information(given(dx).T @ (np.exp(-index * log_energy) * given(dy)))


@family("hidden cause", lambda: _shower_truth(1.7, 2.0, 3, 2))
def shower(rng: Generator, n: int) -> tuple[Array, Array]:
    """signals of three detectors and of two others, gamma distributed about one power-law energy"""
    energy = np.exp(rng.exponential(1 / 1.7, (n, 1)))
    signals = energy * rng.gamma(2, 1 / 2, (n, 5))
    return signals[:, :3], signals[:, 3:]


def _spin_weights(coupling: float) -> Array:
    """Of all states of the lattice, whose borders are free."""
    s = SPINS.reshape(-1, 3, 3)
    bonds = (s[:, 1:] * s[:, :-1]).sum((1, 2)) + (s[:, :, 1:] * s[:, :, :-1]).sum((1, 2))
    weights = np.exp(coupling * bonds)
    return weights / weights.sum()


def _spins_truth(coupling: float) -> float:
    table = _spin_weights(coupling).reshape((2,) * 9).transpose(CORNERS + OTHERS)
    return grid_information(table.reshape(16, 32))


@family("discrete", lambda: _spins_truth(0.5))
def spins(rng: Generator, n: int) -> tuple[Array, Array]:
    """four corners of an Ising lattice of 3 by 3 at half a kT a bond, and its other five spins"""
    state = SPINS[rng.choice(512, n, p=_spin_weights(0.5))]
    return state[:, CORNERS], state[:, OTHERS]


def _photon_pair_truth(contrast: float) -> float:
    alike = 0.5 + 0.5 * contrast * np.cos(2 * math.pi * even(1000))
    return math.log(2) - float((entr(alike) + entr(1 - alike)).mean())


@family("interaction", lambda: _photon_pair_truth(0.95))
def photon_pair(rng: Generator, n: int) -> tuple[Array, Array]:
    """x: angles of two polarisers; y: the output of each of two entangled photons"""
    x, first = rng.uniform(0, math.pi, (n, 2)), rng.choice([-1.0, 1.0], n)
    alike = rng.random(n) < 0.5 + 0.5 * 0.95 * np.cos(2 * (x[:, 0] - x[:, 1]))
    return x, columns(first, np.where(alike, first, -first))


def _minerals_truth(exponents: tuple[float, ...], sd: float) -> float:
    """Over two orthonormal coordinates of the log-shares, on which errors are round."""
    grid, step = np.linspace(-12, 9, 701, retstep=True)
    u, v = grid[:, None] / math.sqrt(2), grid / math.sqrt(6)
    logs = np.stack([u + v, v - u, -2 * v + 0 * u])
    logs -= np.log(np.exp(logs).sum(0))
    density = np.exp(np.tensordot(exponents, logs, 1))
    whole = gaussian_filter(density, sd / step, mode="constant", truncate=7)
    return truths.entropy(whole, step**2) - 2 * normal_entropy(sd)


@family("shares", lambda: _minerals_truth((2.0, 3.0, 1.5), 0.4))
def minerals(rng: Generator, n: int) -> tuple[Array, Array]:
    """shares of three minerals in a rock, and their assays, each with a log-normal error factor"""
    x = rng.dirichlet([2.0, 3.0, 1.5], n)
    y = x * np.exp(0.4 * rng.standard_normal((n, 3)))
    return x, y / y.sum(1, keepdims=True)


# Arrivals as shares of the last are ordered uniform variables, whatever the last.
@family("shares", lambda: 0.0)
def calls(rng: Generator, n: int) -> tuple[Array, Array]:
    """x: time of the fifth call of a Poisson process; y: times of the first four as shares of it"""
    times = rng.exponential(2.0, (n, 5)).cumsum(1)
    return times[:, 4], times[:, :4] / times[:, 4:]


def _volatility_truth(base: float, first: float, second: float) -> float:
    """Over the log of the size, as the sign is free."""
    node, weight = normal_nodes(40)
    log_sd = 0.5 * np.log(base + first * node[:, None] ** 2 + second * node**2).ravel()
    size = np.exp(np.arange(-12, 4, 0.02) - log_sd[:, None])
    return grid_information(np.outer(weight, weight).reshape(-1, 1) * size * np.exp(-(size**2) / 2))


@family("scale", lambda: _volatility_truth(0.3, 0.5, 0.2))
def volatility(rng: Generator, n: int) -> tuple[Array, Array]:
    """x: returns of two days; y: the next return, uncorrelated, with variance from their squares"""
    x = rng.standard_normal((n, 2))
    return x, np.sqrt(0.3 + 0.5 * x[:, 0] ** 2 + 0.2 * x[:, 1] ** 2) * rng.standard_normal(n)


def _plackett_density(x: Array, y: Array, odds: float = 15.0) -> Array:
    u, v = truths.ndtr(x), truths.ndtr(y)
    whole = (1 + (odds - 1) * (u + v)) ** 2 - 4 * u * v * odds * (odds - 1)
    c = (1 + (odds - 1) * (u + v - 2 * u * v)) / whole**1.5
    return c * np.exp(-0.5 * (x**2 + y**2))


@family("copula", lambda: truths.copula_information(_plackett_density))
def income_and_wealth(rng: Generator, n: int) -> tuple[Array, Array]:
    """Plackett copula of odds ratio 15 at every split; a Pareto and an exponential margin"""
    u, t = rng.random((2, n))
    a = t * (1 - t)
    root = np.sqrt(15.0 * (15.0 + 4 * a * u * (1 - u) * 14.0**2))
    v = 2 * a * (u * 15.0**2 + 1 - u) + 15.0 * (1 - 2 * a) - (1 - 2 * t) * root
    v /= 2 * (15.0 + a * 14.0**2)
    return (1 - u) ** (-1 / 2.5), -np.log1p(-v)


def _insertion(ratio: float, places: int) -> Array:
    """Probabilities of how far before the last of some places an item comes."""
    share = ratio ** np.arange(places)
    return share / share.sum()


@family(
    "ranking",
    lambda: math.log(120) - float(sum(entr(_insertion(0.4, i)).sum() for i in (2, 3, 4, 5))),
)
def judges(rng: Generator, n: int) -> tuple[Array, Array]:
    """two judges' rankings of five dishes: each swapped pair makes a ranking 0.4 times as likely"""
    first = rng.permuted(np.tile(np.arange(5), (n, 1)), axis=1)
    change = np.zeros((n, 5), int)
    for i in range(1, 5):
        place = i - rng.choice(i + 1, n, p=_insertion(0.4, i + 1))
        change[:, :i] += change[:, :i] >= place[:, None]
        change[:, i] = place
    return first + 1.0, np.take_along_axis(change, first, 1) + 1.0


def _constellation_truth(sd: float, jitter: float) -> float:
    """Of the symbols of one quadrant, against the mean over all four."""
    grid = np.linspace(-7, 7, 141)
    plane, (node, weight) = grid + 1j * grid[:, None], normal_nodes(24)
    symbols = np.array([1 + 1j, 3 + 1j, 1 + 3j, 3 + 3j])[:, None] * np.exp(1j * jitter * node)
    bells = np.exp(-(np.abs(plane - symbols[:, :, None, None]) ** 2) / (2 * sd**2))
    given = np.tensordot(bells, weight, (1, 0))
    given /= given.sum((1, 2), keepdims=True)
    whole = sum(np.rot90(given.mean(0), quarter) for quarter in range(4)) / 4
    return float(xlogy(given, given / whole).sum() / 4)


@family("signal", lambda: _constellation_truth(0.6, 0.15))
def constellation(rng: Generator, n: int) -> tuple[Array, Array]:
    """x: one of 16 symbols on a square grid; y: as received, turned by phase jitter, with noise"""
    x = rng.choice([-3.0, -1.0, 1.0, 3.0], (n, 2))
    turned = (x[:, 0] + 1j * x[:, 1]) * np.exp(0.15j * rng.standard_normal(n))
    return x, columns(turned.real, turned.imag) + 0.6 * rng.standard_normal((n, 2))
