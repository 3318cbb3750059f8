"""More families of known mutual information; some have led to data for the bias correction.

Their author, who did not know how the model is trained, chose typical examples of engineering and
statistics. They were first measured with 0.8.0. Its results on unit quaternions, on counts of a
fixed sum and on a throw led to simulated sensors in the fit of the bias correction of `edge` 0.9.0.

Each truth is a closed form or a quadrature; tests compare it with means over samples. All draws are
independent, also those of processes: each is from a separate process.
"""

import math

import numpy as np
from scipy.special import digamma, expit, gammaln, hyp1f1, ndtr, ndtri, stdtr
from scipy.stats import beta, poisson

from . import Array, Collection, Generator, truths
from .hand_made import columns
from .truths import even, grid_information, normal_density, normal_entropy, normal_noise

MORE = Collection(
    "more_families",
    "More families",
    "development",
    "The authors of the families did not know how the model is trained. They were first measured "
    "with version 0.8.0. The results have led to new kinds of data for the fit of the bias "
    "correction of `edge` 0.9.0.",
)
family = MORE.family

TAPS = np.array([0.5, 1.5, 2.5])  # times at which a pulse is seen
DIFFICULTY = np.array([-2.0, -1.0, 0.0, 1.0, 2.0])  # of questions
DELAY = 3 * even(500)
RATIO, DAMPING = 0.2 + 2 * even(2000)[:, None], 0.05 + 0.35 * even(400)
ELEVATION = np.radians(20 + 50 * even(500))
LOG_THROW = np.log((15 + 10 * even(500)[:, None]) ** 2 / 9.81 * np.sin(2 * ELEVATION)).ravel()


def instruments(means: list[Array], sds: list[float]) -> float:
    """I(x; y), y_i of mean `means[i]` and normal error, the means at even steps of x's law."""
    tables = []
    for mean, sd in zip(means, sds, strict=True):
        grid = np.arange(mean.min() - 6 * sd, mean.max() + 6 * sd, sd / 2)
        tables.append(normal_density(sd)(grid - mean[:, None]))
    density = tables[0]
    for table in tables[1:-1]:
        density = (density[:, :, None] * table[:, None]).reshape(len(table), -1)
    whole = truths.entropy(density.T @ tables[-1], math.prod(sd / 2 for sd in sds))
    return whole - sum(normal_entropy(sd) for sd in sds)


@family("sensor", lambda: normal_noise(40 / (2 + 18 * even()), 0.3))
def stereo(rng: Generator, n: int) -> tuple[Array, Array]:
    """y: disparity of two cameras in pixels, 40 / depth x, plus normal noise"""
    depth = rng.uniform(2, 20, n)
    return depth, 40 / depth + 0.3 * rng.standard_normal(n)


def _readings(celsius: Array) -> list[Array]:
    """Volts of a divider with a thermistor; watts radiated by a square metre."""
    kelvin = celsius + 273
    return [5 / (1 + np.exp(3400 / kelvin - 3400 / 298)), 5.67e-8 * kelvin**4]


@family("sensor", lambda: instruments(_readings(100 * even(1000)), [0.12, 35.0]))
def two_thermometers(rng: Generator, n: int) -> tuple[Array, Array]:
    """x: a temperature; y: a thermistor's voltage and the heat radiated, with 0.12 V, 35 W noise"""
    celsius, noise = rng.uniform(0, 100, n), rng.standard_normal((2, n))
    volts, watts = _readings(celsius)
    return celsius, columns(volts + 0.12 * noise[0], watts + 35 * noise[1])


def _attitude_truth(kappa: float) -> float:
    """Watson's density exp(κ cos² ω) / M(1/2, 2, κ), against the uniform one of the 3-sphere."""
    m = hyp1f1(0.5, 2, kappa)
    return float(kappa * hyp1f1(1.5, 3, kappa) / (4 * m) - math.log(m))


@family("sensor", lambda: _attitude_truth(8.0))
def attitude(rng: Generator, n: int) -> tuple[Array, Array]:
    """two unit quaternions of random sign, whose attitudes differ by a small turn"""
    x, aside = rng.standard_normal((2, n, 4))
    x /= np.linalg.norm(x, axis=1, keepdims=True)
    aside -= (aside * x).sum(1, keepdims=True) * x
    aside /= np.linalg.norm(aside, axis=1, keepdims=True)
    grid = np.linspace(0, math.pi, 10_001)
    share = np.cumsum(np.sin(grid) ** 2 * np.exp(8 * (np.cos(grid) ** 2 - 1)))
    omega = np.interp(rng.random((n, 1)), share / share[-1], grid)
    return x, np.cos(omega) * x + np.sin(omega) * aside


def _backlash_truth() -> float:
    def error(e: Array) -> Array:
        bell = normal_density(0.115)
        return 0.7 * bell(e - 0.25) + 0.3 * bell(e + 0.25)

    blur = truths.entropy(error(np.arange(-2, 2, 0.001)), 0.001)
    return truths.additive(ndtri(even()), error, blur)


@family("mechanics", _backlash_truth)
def backlash(rng: Generator, n: int) -> tuple[Array, Array]:
    """noisy angles of two gears, which touch on one flank, or in 30% of the draws on the other"""
    x = rng.standard_normal(n)
    return x, x + rng.choice([0.25, -0.25], n, p=[0.7, 0.3]) + 0.115 * rng.standard_normal(n)


def _log_gain(ratio: Array, damping: Array) -> Array:
    return -0.5 * np.log((1 - ratio**2) ** 2 + (2 * damping * ratio) ** 2)


@family("mechanics", lambda: normal_noise(_log_gain(RATIO, DAMPING).ravel(), 0.15))
def resonance(rng: Generator, n: int) -> tuple[Array, Array]:
    """x: frequency ratio and damping of a driven spring; y: log of its gain, plus normal noise"""
    ratio, damping = rng.uniform(0.2, 2.2, n), rng.uniform(0.05, 0.4, n)
    return columns(ratio, damping), _log_gain(ratio, damping) + 0.15 * rng.standard_normal(n)


# The errors in direction and in the log of the range are apart, so the information adds up.
@family("mechanics", lambda: normal_noise(LOG_THROW, 0.09) + 0.5 * math.log1p((0.4 / 0.12) ** 2))
def projectile(rng: Generator, n: int) -> tuple[Array, Array]:
    """x: speed, elevation and azimuth of a throw; y: noisy range and azimuth of where it lands"""
    speed, elevation = rng.uniform(15, 25, n), np.radians(rng.uniform(20, 70, n))
    azimuth, noise = 0.4 * rng.standard_normal(n), rng.standard_normal((2, n))
    far = speed**2 / 9.81 * np.sin(2 * elevation) * np.exp(0.09 * noise[0])
    course = azimuth + 0.12 * noise[1]
    return columns(speed, elevation, azimuth), columns(far * np.cos(course), far * np.sin(course))


def _contact_truth(sd: float, wrong: float) -> float:
    depth, stiffness = ndtri(0.5 + even(1000) / 2), 2 * np.exp(0.4 * ndtri(even(400)))
    share, edges = np.histogram(depth[:, None] * stiffness, 2000)
    force, bell = np.arange(-6 * sd, edges[-1] + 6 * sd, sd / 4), normal_density(sd)
    touching = bell(force[:, None] - (edges[1:] + edges[:-1]) / 2) @ share / share.sum()
    density = [w * bell(force) + (1 - w) * touching for w in (wrong, 1 - wrong)]
    switch_entropy = math.log(2) - truths.flipped(wrong)
    return truths.entropy(np.stack(density), sd / 4) - normal_entropy(sd) - switch_entropy


@family("mechanics", lambda: _contact_truth(0.3, 0.1))
def contact(rng: Generator, n: int) -> tuple[Array, Array]:
    """x: depth and stiffness; y: noisy contact force; a contact switch, 10% wrong"""
    depth, stiffness = rng.standard_normal(n), 2 * np.exp(0.4 * rng.standard_normal(n))
    force = stiffness * np.maximum(depth, 0) + 0.3 * rng.standard_normal(n)
    return columns(depth, stiffness), columns(force, (depth > 0) != (rng.random(n) < 0.1))


@family("signal", lambda: instruments([*np.exp(-2 * (DELAY - TAPS[:, None]) ** 2)], 3 * [0.1]))
def pulse_delay(rng: Generator, n: int) -> tuple[Array, Array]:
    """x: the time of a bell-shaped pulse; y: the signal at three times, plus normal noise"""
    delay = rng.uniform(0, 3, (n, 1))
    return delay, np.exp(-2 * (delay - TAPS) ** 2) + 0.1 * rng.standard_normal((n, 3))


# Four equal peaks on the circle, 13 standard deviations from where they would meet.
@family("signal", lambda: math.log(math.pi / 2) - normal_entropy(0.06) - 0.5 * math.log(0.36))
def phase_keying(rng: Generator, n: int) -> tuple[Array, Array]:
    """two symbols in the plane: one turned by a multiple of 90°, with noise and common fading"""
    phase = rng.uniform(-math.pi, math.pi, n)
    other = phase + math.pi / 2 * rng.integers(4, size=n) + 0.06 * rng.standard_normal(n)
    fading, own = rng.standard_normal((2, n))
    r, s = np.exp(0.3 * fading), np.exp(0.3 * (0.8 * fading + 0.6 * own))
    x = columns(r * np.cos(phase), r * np.sin(phase))
    return x, columns(s * np.cos(other), s * np.sin(other))


def _crossed_density(x: Array, y: Array) -> Array:
    rising, falling = (np.exp(-(x**2 - 2 * r * x * y + y**2) / 0.38) for r in (0.9, -0.9))
    return 0.65 * rising + 0.35 * falling


@family("copula", lambda: truths.copula_information(_crossed_density))
def crossed(rng: Generator, n: int) -> tuple[Array, Array]:
    """normal copula of correlation 0.9, in 35% of the draws -0.9; exponential, uniform margins"""
    x, e = rng.standard_normal((2, n))
    rho = np.where(rng.random(n) < 0.65, 0.9, -0.9)
    return -np.log(ndtr(-x)), ndtr(rho * x + math.sqrt(0.19) * e)


def _student_truth(nu: float, rho: float, dx: int, dy: int) -> float:
    def block(d: int) -> float:
        """Entropy without the terms proportional to d."""
        half = (nu + d) / 2
        log_det = (d - 1) * math.log1p(-rho) + math.log1p((d - 1) * rho)
        return float(half * (digamma(half) - digamma(nu / 2)) - gammaln(half) + log_det / 2)

    return block(dx) + block(dy) - block(dx + dy) + float(gammaln(nu / 2))


@family("copula", lambda: _student_truth(6.0, 0.2, 4, 2))
def student(rng: Generator, n: int) -> tuple[Array, Array]:
    """t copula of four and two coordinates, 6 degrees of freedom, all correlations 0.2"""
    z = math.sqrt(0.2) * rng.standard_normal((n, 1)) + math.sqrt(0.8) * rng.standard_normal((n, 6))
    u = stdtr(6, z / np.sqrt(rng.chisquare(6, (n, 1)) / 6))
    return u[:, :4], u[:, 4:]


def _beds_truth(mean: float, stay: float) -> float:
    """Patients who stay are common to both days; those who leave or arrive are independent."""
    count = np.arange(80)
    other = poisson.pmf(count[:, None] - count, mean * (1 - stay))
    return grid_information(other * poisson.pmf(count, mean * stay) @ other.T)


@family("counts", lambda: _beds_truth(12, 0.9))
def beds(rng: Generator, n: int) -> tuple[Array, Array]:
    """patients of a ward on two days: each stays with probability 0.9, and new ones come"""
    before = rng.poisson(12, n)
    return before.astype(float), (rng.binomial(before, 0.9) + rng.poisson(1.2, n)).astype(float)


def _author_truth(alpha: float, words: int) -> float:
    """Sum over all pairs of pages."""
    pages = np.indices((words + 1,) * 5).reshape(5, -1).T
    pages = pages[pages.sum(1) == words]
    orders = -gammaln(pages + 1.0).sum(1)
    both = gammaln(alpha + pages[:, None] + pages).sum(2)
    return grid_information(np.exp(orders[:, None] + orders + both))


@family("hidden cause", lambda: _author_truth(0.5, 6))
def author(rng: Generator, n: int) -> tuple[Array, Array]:
    """counts of five words among six, on two pages of one author, whose habits are Dirichlet"""
    habit = rng.dirichlet([0.5] * 5, n)
    return rng.multinomial(6, habit).astype(float), rng.multinomial(6, habit).astype(float)


def _exam_truth(spread: float) -> float:
    right = expit(spread * ndtri(even(2000)) - DIFFICULTY[:, None])[:, :, None]
    answers = np.indices((2,) * 5).reshape(5, 1, -1)
    return grid_information(np.where(answers, right, 1 - right).prod(0))


@family("discrete", lambda: _exam_truth(1.6))
def exam(rng: Generator, n: int) -> tuple[Array, Array]:
    """x: ability; y: right or wrong answers to five questions, logistic in the ability"""
    ability = 1.6 * rng.standard_normal((n, 1))
    return ability, (rng.random((n, 5)) < expit(ability - DIFFICULTY)).astype(float)


@family("discrete", lambda: 3 * (math.log(3) + 0.8 * math.log(0.8) + 0.2 * math.log(0.1)))
def ternary_code(rng: Generator, n: int) -> tuple[Array, Array]:
    """x: three ternary digits; y: the first and both differences, modulo 3, each 20% wrong"""
    x = rng.integers(3, size=(n, 3))
    wrong = np.where(rng.random((n, 3)) < 0.2, rng.integers(1, 3, (n, 3)), 0)
    return x.astype(float), ((np.diff(x, axis=1, prepend=0) + wrong) % 3).astype(float)


@family("dynamics", lambda: normal_noise(np.sin(math.pi / 2 * even()) ** 2, 0.045))
def logistic_map(rng: Generator, n: int) -> tuple[Array, Array]:
    """y: x after two steps of s' = 4 s (1 - s), plus normal noise; x has the invariant law"""
    x = np.sin(math.pi / 2 * rng.random(n)) ** 2
    after = 4 * x * (1 - x)
    return x, 4 * after * (1 - after) + 0.045 * rng.standard_normal(n)


# For load r: the logs of p(y|x) / p(y) are linear in the waits, and their mean is -log(1 - r²).
@family("dynamics", lambda: -math.log(1 - 0.7**2))
def queue(rng: Generator, n: int) -> tuple[Array, Array]:
    """waits of two successive customers at one server that is busy 70% of the time"""
    wait = np.where(rng.random(n) < 0.7, rng.exponential(1 / 0.3, n), 0)
    return wait, np.maximum(wait + rng.exponential(1, n) - rng.exponential(1 / 0.7, n), 0)


def _failures_truth(lamps: int, r: int) -> float:
    """Failures are a Markov chain: I of the r-th and the next, whatever the law of the lives."""
    whole, before, left = (m * digamma(m) for m in (lamps, r, lamps - r))
    return float(whole - before - left - 1 - math.log(math.comb(lamps, r)))


@family("dynamics", lambda: _failures_truth(20, 3))
def failures(rng: Generator, n: int) -> tuple[Array, Array]:
    """x: times of the first three failures among twenty lamps of Weibull lives; y: the next two"""
    times = np.sort(rng.weibull(1.5, (n, 20)), axis=1)
    return times[:, :3], times[:, 3:5]


# Entropies: 1 + γ of the sum (gamma), 1 + log 2 of the difference (Laplace), 2 + log 2 of both.
@family("hidden cause", lambda: float(np.euler_gamma))
def sum_and_difference(rng: Generator, n: int) -> tuple[Array, Array]:
    """sum and difference of two exponential service times, which are uncorrelated"""
    first, second = rng.exponential(size=(2, n))
    return first + second, first - second


@family("choice", lambda: normal_noise(0.5 * ndtri(beta.ppf(even(40_000), 4, 2)), 0.32))
def second_price(rng: Generator, n: int) -> tuple[Array, Array]:
    """x: five log-normal bids; y: the second highest, times log-normal noise"""
    bids = np.exp(0.5 * rng.standard_normal((n, 5)))
    return bids, np.sort(bids, axis=1)[:, 3] * np.exp(0.32 * rng.standard_normal(n))
