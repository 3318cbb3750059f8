"""The true values of the hand-made families, recomputed from their samples by other methods.

The mutual information is a mean over samples of log p(y|x) / p(y), with p(y) a mean over other
samples. The density is p(y|x), or follows from the densities of x and y given a hidden variable.
"""

import math
from types import SimpleNamespace

import numpy as np
import pytest
from scipy.special import log_ndtr, ndtr
from scipy.stats import gamma, laplace, logistic, lognorm, norm, poisson

from benchmarks import families
from benchmarks.measure import measure
from benchmarks.tasks import truths
from benchmarks.tasks.hand_made import HAND_MADE

N, INNER = 2000, 1200  # samples, and other samples for p(y)
BY_NAME = {family.name: family for family in HAND_MADE.families}


def log_mean(table, axis):
    """Log of the mean of exp(table); a column of -inf gives -inf."""
    largest = np.maximum(table.max(axis, keepdims=True), -1e300)
    with np.errstate(divide="ignore"):
        mean = np.log(np.exp(table - largest).mean(axis, keepdims=True))
    return np.squeeze(largest + mean, axis)


def angle(z):
    return np.arctan2(z[..., 1], z[..., 0])


def turned(x):
    c, s = np.cos(x[..., 2]), np.sin(x[..., 2])
    return np.stack([c * x[..., 0] - s * x[..., 1], s * x[..., 0] + c * x[..., 1]], -1)


def where(condition, value, other=-np.inf):
    return np.where(condition, value, other)


def clayton(x, y):
    u, v, theta = ndtr(x[..., 0]), ndtr(y[..., 0]), 3.0
    whole = u**-theta + v**-theta - 1
    return -(1 + theta) * np.log(u * v) - (2 + 1 / theta) * np.log(whole)


def copula(density):
    """Log-density of y given x, up to a term that depends on y only."""

    def log_density(x, y):
        x, y = np.broadcast_arrays(x, y)
        with np.errstate(divide="ignore"):
            return (np.log(density(x, y)) + 0.5 * x**2).sum(-1)

    return log_density


# log p(y|x) for broadcasting x [..., dx], y [..., dy], up to a term that depends on y only.
GIVEN = {
    "sawtooth": lambda x, y: laplace.logpdf(y - (3 * x) % 1, scale=0.08)[..., 0],
    "wavelet": lambda x, y: logistic.logpdf(y - x * np.exp((1 - x**2) / 2), scale=0.08)[..., 0],
    "doubling map": lambda x, y: where((y - 2 * x) % 1 < 0.25, 0.0)[..., 0],
    "doubled angle": lambda x, y: 8 * np.cos(angle(y) - 2 * angle(x)),
    "sign of a product": lambda x, y: np.log(where(x.prod(-1) * y[..., 0] > 0, 0.95, 0.05)),
    "noisy product": lambda x, y: where(
        x.prod(-1) * y[..., 0] > 0, norm.logpdf(np.log(np.abs(y[..., 0] / x.prod(-1))), scale=0.25)
    ),
    "parity of three": lambda x, y: np.log(where(x.prod(-1) * y[..., 0] > 0, 0.95, 0.05)),
    "checkerboard": lambda x, y: np.log(
        where((np.floor(x) + np.floor(y)) % 2 == 0, 0.9, 0.1)[..., 0]
    ),
    "turned vector": lambda x, y: norm.logpdf(y - turned(x), scale=0.5).sum(-1),
    "switch": lambda x, y: laplace.logpdf(
        y[..., 0] - np.where(x[..., 2] > 0, x[..., 0], x[..., 1]), scale=0.2
    ),
    "precision": lambda x, y: norm.logpdf(y, scale=np.exp(-x / 2)).sum(-1),
    "multiplicative noise": lambda x, y: (gamma.logpdf(y / x**2, 4, scale=0.25) - np.log(x**2))[
        ..., 0
    ],
    "distance": lambda x, y: norm.logpdf(
        np.log(y[..., 0]) - np.log(np.linalg.norm(x, axis=-1)), scale=0.2
    ),
    "clayton": clayton,
    "gumbel": copula(truths.gumbel_density),
    "frank pairs": lambda x, y: copula(truths.frank_density)(norm.ppf(x), norm.ppf(y)),
    "joe": copula(truths.joe_density),
    "five bits": lambda x, y: np.log(where(x == y, 0.9, 0.1)).sum(-1),
    "erasure": lambda x, y: where(x == y, math.log(0.7), where(y == -1, math.log(0.3)))[..., 0],
    "photons": lambda x, y: poisson.logpmf(y, x)[..., 0],
    "magnitudes": lambda x, y: np.logaddexp(
        *(norm.logpdf(y, s * 0.95 * x, math.sqrt(1 - 0.95**2)) for s in (-1, 1))
    )[..., 0],
}


def log_radial(z, hidden):
    """log p(z | log-volume) in the plane."""
    return norm.logpdf(z[:, None], scale=np.exp(hidden)[:, None]).sum(-1)


def log_frailty(z, hidden):
    """log p(z | v) up to the marginals: (u^-theta - 1) is exponential with rate v."""
    t = np.expm1(-1.5 * log_ndtr(z)).sum(-1)
    return z.shape[1] * np.log(hidden) - hidden * t[:, None]


# log p(side | hidden), and draws of the hidden variable.
HIDDEN = {
    "common volume": (log_radial, lambda rng: 0.9 * rng.standard_normal(INNER)),
    "clayton of six": (log_frailty, lambda rng: rng.gamma(1 / 1.5, size=INNER)),
}


@pytest.mark.parametrize("name", GIVEN)
def test_truth_by_conditional_density(name):
    x, y = BY_NAME[name].draw(N, seed=77)
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        own = GIVEN[name](x, y)
        blocks = (GIVEN[name](x[:INNER], y[i : i + 500, None]) for i in range(0, N, 500))
        marginal = np.concatenate([log_mean(block, 1) for block in blocks])
    check(name, own - marginal)


@pytest.mark.parametrize("name", HIDDEN)
def test_truth_by_hidden_variables(name):
    log_density, draw = HIDDEN[name]
    x, y = BY_NAME[name].draw(N, seed=77)
    hidden = draw(np.random.default_rng(78))
    of_x, of_y = log_density(x, hidden), log_density(y, hidden)
    check(name, log_mean(of_x + of_y, 1) - log_mean(of_x, 1) - log_mean(of_y, 1))


def test_truth_of_the_ring():
    x, y = (side[:, 0] for side in BY_NAME["ring"].draw(N, seed=77))

    def log_density(x, y):
        r = np.hypot(x, y)
        return lognorm.logpdf(r, 0.12) - np.log(2 * math.pi * r)

    other = np.linspace(-2.5, 2.5, INNER)

    def marginal(side):
        """The density with the other coordinate integrated out."""
        return log_mean(log_density(side[:, None], other), 1) + math.log(5)

    check("ring", log_density(x, y) - marginal(x) - marginal(y))


def test_truth_of_the_second_order_process():
    family = BY_NAME["second order"]
    x, y = family.draw(200_000, seed=77)
    for side in (x[:, :2], x[:, 2:], y):
        side[:, 1] -= side[:, 0] ** 2
    log_det = [np.linalg.slogdet(np.cov(s, rowvar=False))[1] for s in (x, y, np.hstack([x, y]))]
    assert (log_det[0] + log_det[1] - log_det[2]) / 2 == pytest.approx(family.truth, abs=0.01)


def check(name, log_ratio):
    """Compare within four standard errors and 0.5%, for the mean over others; more for paths."""
    family = BY_NAME[name]
    tolerance = 4 * log_ratio.std() / math.sqrt(N) + 0.005 * family.truth
    if name in ("doubling map", "magnitudes"):
        tolerance += 0.03
    assert log_ratio.mean() == pytest.approx(family.truth, abs=tolerance)
    assert tolerance < 0.15


def test_each_truth_is_checked():
    assert {*GIVEN, *HIDDEN, "ring", "second order"} == set(BY_NAME)


def test_families_have_the_promised_range():
    assert 15 <= len(HAND_MADE.families) <= 25
    assert all(0.1 < family.truth < 3 for family in HAND_MADE.families)
    widths = [side.shape[1] for family in HAND_MADE.families for side in family.draw(10, 0)]
    assert set(widths) == {1, 2, 3, 4, 5}


# Each copula by its distribution function; its density is a second difference of that.
def _gumbel(u, v, theta=2.5):
    return np.exp(-((((-np.log(u)) ** theta) + (-np.log(v)) ** theta) ** (1 / theta)))


def _frank(u, v, theta=6.0):
    return -np.log1p(np.expm1(-theta * u) * np.expm1(-theta * v) / np.expm1(-theta)) / theta


def _joe(u, v, theta=4.0):
    a, b = (1 - u) ** theta, (1 - v) ** theta
    return 1 - (a + b - a * b) ** (1 / theta)


@pytest.mark.parametrize(
    ("cdf", "density"),
    [(_gumbel, truths.gumbel_density), (_frank, truths.frank_density), (_joe, truths.joe_density)],
)
def test_copula_densities(cdf, density):
    u, v = np.meshgrid([0.1, 0.4, 0.8], [0.15, 0.5, 0.9])
    h = 1e-4
    second = sum(i * j * cdf(u + i * h, v + j * h) for i in (-1, 1) for j in (-1, 1)) / (4 * h**2)
    x, y = norm.ppf(u), norm.ppf(v)
    assert density(x, y) * np.exp((x**2 + y**2) / 2) == pytest.approx(second, rel=1e-4)


def test_only_processes_are_announced_as_series():
    """Only processes are flagged as time series, and the flag is passed to the estimator."""
    made = families.cases(HAND_MADE, (32,), 1)
    reported = []

    class Listening:
        def estimate(self, x, y, **options):
            reported.append(options)
            return SimpleNamespace(mi=1.0, stderr=0.1)

    measure("", made, {"ours": Listening()}, {})
    assert {case.label["family"] for case in made if case.time_series} == {
        "second order",
        "magnitudes",
    }
    assert reported == [{"time_series": case.time_series} for case in made]
