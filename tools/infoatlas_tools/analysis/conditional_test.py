"""Test of conditional independence of x and y given z: residuals, features of them, permutations.

Each side is replaced by its residuals after a regression on z, by smooth functions and by steps.
Distances of z follow the directions in which the side varies most (Radhakrishnan et al. 2024).
What the regressions of both sides miss in common counts as dependence. So they are on values or on
ranks of z, whichever predict better: a function of a sum of values is not smooth in their ranks,
which have noise.

The statistic is the larger of two measures, each standardised over all permutations. One is the
linear association of the residuals. The other is that of random Fourier features of the residuals
(of one side together with z). It is large for any kind of dependence (Rahimi and Recht 2007;
Strobl, Zhang and Visweswaran 2019). The features are regressed on z once more, so what the mean of
a feature owes to z does not count.

A permutation of one side is its regression plus permuted residuals, and is treated as the side was:
fitted anew, and so on (Freedman and Lane 1983). So it has the same errors of the regression.
Residuals of independent samples are permuted among samples with similar z (Runge 2018; Kim et al.
2022). Residuals of a time series are shifted cyclically, which keeps the autocorrelation of both
sides; if z is discrete, among the samples of each class. A shift moves the slower side. A slow z
removes slow parts of both residuals; shifted fast ones would lack such parts where the slow ones
have them, so the permutations would vary too little.
"""

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from infoatlas_rt.estimation.canonical import normal_scores, standardise

from .conditioning import CELL, cells, forms
from .features import frequencies, spread, waves
from .independence import compare

LANDMARKS = 100  # samples of z at which a regression has Gaussian bumps, at most
WIDTHS = (0.3, 0.7, 1.5)  # of the bumps, in deviations of z
PENALTIES = 10.0 ** np.arange(-4, 4.1, 0.5)
# The penalty, as a share of the one that predicts best. With less penalty the regression has less
# bias, which would count as dependence, and more variance, which permutations have as well.
UNDERSMOOTHED = 0.1
ROUNDS = 2  # of metrics from the gradient of the regression before
STEP, STEPS = 12.0, 3  # chi-square from which a side has a step in z; steps of a side, at most
Z_FREQUENCY = 0.5  # of the features of z
LINEAR = 3.0  # weight of linear terms beside bumps: the penalty hardly reaches them
FIRST = 60  # the test may end after the draws of a multiple

Matrix = NDArray[np.float64]


class Space(NamedTuple):
    """Functions of z: Gaussian bumps and linear terms."""

    basis: Matrix  # [n, r], orthonormal
    strengths: Matrix  # [r], variances of the basis among the functions
    weights: Matrix  # [m, r], of the m bumps in each column of the basis
    bumps: Matrix  # [n, m]
    form: Matrix  # [n, dz], values or normal scores of z
    metric: Matrix  # [dz, dz], rotates and scales `form` before distances are measured
    rows: NDArray[np.int64]  # [m], samples at the centres of the bumps

    def slopes(self, weights: Matrix) -> Matrix:
        """Gradient [n d, dz] at each sample of d sums of bumps, weighted by [m, d]; up to scale."""
        parts = self.bumps[:, :, None] * weights
        towards = np.einsum("nmd,mz->ndz", parts, self.form[self.rows], optimize=True)
        away = parts.sum(axis=1)[:, :, None] * self.form[:, None]
        slopes = (towards - away) @ self.metric @ self.metric.T
        return np.asarray(slopes.reshape(-1, self.form.shape[1]))


class Regression(NamedTuple):
    """Ridge regression on functions of z: an orthonormal basis [n, r] and factors [r]."""

    basis: Matrix
    factors: Matrix

    def fitted(self, side: Matrix) -> Matrix:
        return np.asarray(self.basis @ (self.factors[:, None] * (self.basis.T @ side)))

    def left(self, side: Matrix) -> Matrix:
        """Residuals of a side [n, d], scaled to deviation 1; 0 where nothing is left."""
        centred = side - side.mean(axis=0)
        left = centred - self.fitted(centred)
        return np.asarray(left * np.sqrt(len(side) / self.remaining(side)))

    def remaining(self, side: Matrix) -> Matrix:
        """Squared lengths [d] of the residuals of a side [n, d]; infinite where nothing is left."""
        total = ((side - side.mean(axis=0)) ** 2).sum(axis=0)
        share = 2 * self.factors - self.factors**2
        left = total - share @ (self.basis.T @ side) ** 2
        return np.asarray(np.where(left > 1e-12 * len(side), left, np.inf))

    def inflation(self) -> float:
        """Deviation of the noise over that of its residuals."""
        used = 1 + (2 * self.factors - self.factors**2).sum()
        return float(np.sqrt(len(self.basis) / max(len(self.basis) - used, 1.0)))


def conditional_statistics(
    x: Matrix,
    y: Matrix,
    given: Matrix,
    trajectory: NDArray[np.int64] | None,
    count: int,
    seed: int,
    level: float,
) -> tuple[Matrix, Matrix]:
    """Both measures of dependence [1 + B] of checked samples and of B <= `count` permutations.

    The permutations end as soon as so many have a larger statistic that the p-value of all would be
    above `level` in any case (Besag and Clifford 1991).

    `trajectory` [n] numbers the trajectories of time series, in ascending order; None for
    independent samples.
    """
    rng = np.random.default_rng([seed, 2])
    scores, values = forms(given)
    linear = LINEAR * np.c_[scores, values]
    alike = np.eye(given.shape[1])
    for rounds in range(STEPS + 1):
        spaces = _spaces(values, alike, linear, rng) + _spaces(scores, alike, linear, rng)
        sides = [_fit_regression(spaces, linear, side, rng) for side in (x, y)]
        steps = [_find_step(*own) for own in sides] if rounds < STEPS else []
        if not any(step.size for step in steps):
            break
        linear = np.c_[linear, LINEAR * standardise(np.concatenate(steps, axis=1))]
    if trajectory is not None:
        sides.sort(key=lambda own: _persistence(own[0].left(own[1]), trajectory))
    (first, fixed, _), (second, side, _) = sides
    residuals = _scores(first.left(fixed))
    of_fixed, of_moved = (frequencies(s.shape[1], rng) for s in (fixed, side))
    of_z = Z_FREQUENCY * spread(given.shape[1], rng) / np.sqrt(given.shape[1])
    features = waves(residuals @ of_fixed + scores @ of_z)
    last = _best(spaces, features)[1]
    # Residuals of residuals, because (I - H) a is as correlated with b as a with (I - H) b.
    left_of_fixed = [(left - last.fitted(left)).T for left in map(last.left, (features, residuals))]

    def measures(values: Matrix) -> list[float]:
        left = _scores(second.left(values))
        sides = waves(left @ of_moved), left
        pairs = zip(left_of_fixed, sides, strict=True)
        return [float(((a @ b) ** 2 / last.remaining(b)).sum()) for a, b in pairs]

    fitted = second.fitted(side)
    noise = second.inflation() * (side - fitted)
    found = [measures(side)]
    for order in _orders(given, trajectory, count, rng):
        found.append(measures(fitted + noise[order]))
        drawn = len(found)
        if not drawn % FIRST and drawn * compare(*np.array(found).T)[1] > level * (1 + count):
            break
    general, straight = np.array(found).T
    return general, straight


def _persistence(left: Matrix, trajectory: NDArray[np.int64]) -> float:
    """Mean correlation of residuals [n, d] with those a step later."""
    return float((left[1:] * left[:-1])[trajectory[1:] == trajectory[:-1]].mean())


def _spaces(form: Matrix, metric: Matrix, linear: Matrix, rng: np.random.Generator) -> list[Space]:
    """Functions of z for each width of the bumps."""
    n, dz = form.shape
    places = form @ metric
    rows = rng.choice(n, min(n // 2, LANDMARKS), replace=False)
    lengths = (places**2).sum(axis=1)
    squares = (lengths[:, None] + lengths[rows] - 2 * places @ places[rows].T) / dz
    found = []
    for width in WIDTHS:
        bumps = np.exp(-squares / (2 * width**2))
        design = np.c_[bumps, linear]
        design -= design.mean(axis=0)
        strengths, axes = np.linalg.eigh(design.T @ design)
        kept = strengths > 1e-10 * max(strengths[-1], 1.0)
        axes = axes[:, kept] / np.sqrt(strengths[kept])
        basis = design @ axes
        found.append(Space(basis, strengths[kept], axes[: len(rows)], bumps, form, metric, rows))
    return found


def _fit_regression(
    spaces: list[Space], linear: Matrix, side: Matrix, rng: np.random.Generator
) -> tuple[Regression, Matrix, Matrix]:
    """The regression of a side [n, d], and its values or normal scores: what z predicts better.

    The third result is z [n, dz] in the coordinates of the regression.

    If z has several coordinates, spaces with metrics of the side are added to `spaces`.
    """
    side = min(forms(side), key=lambda form: _best(spaces, form)[0])
    _, regression, space = _best(spaces, side)
    for _ in range(ROUNDS if len(space.metric) > 1 else 0):
        slopes = space.slopes(
            space.weights @ (regression.factors[:, None] * (regression.basis.T @ side))
        )
        size, axes = np.linalg.eigh(slopes.T @ slopes)
        size = size + 1e-6 * max(size[-1], 1e-12)
        spaces += _spaces(space.form, axes * size / size.mean(), linear, rng)
        former, (_, regression, space) = space, _best(spaces, side)
        if space is former:
            break
    return regression, side, space.form @ space.metric


def _best(spaces: list[Space], side: Matrix) -> tuple[float, Regression, Space]:
    """Least error of a regression of a side [n, d], by generalised cross-validation; and it."""
    side = standardise(side)
    n, best = len(side), np.inf
    for space in spaces:
        factors = space.strengths / (space.strengths + PENALTIES[:, None])
        free = 1 - np.minimum((1 + factors.sum(axis=1)) / n, 0.9)
        explained = (2 * factors - factors**2) @ ((space.basis.T @ side) ** 2).sum(axis=1)
        errors = ((side**2).sum() - explained) / free**2
        if errors.min() < best:
            best, chosen, softer = errors.min(), space, UNDERSMOOTHED * PENALTIES[errors.argmin()]
    factors = chosen.strengths / (chosen.strengths + softer)
    return best, Regression(chosen.basis, factors), chosen


def _find_step(regression: Regression, side: Matrix, places: Matrix) -> Matrix:
    """The step [n, 1] in `places` [n, dz] that predicts most of what is left of a side; or [n, 0].

    Smooth functions miss a step of both sides at the same z, as between two regimes.
    """
    n, left = len(side), regression.left(side)
    largest, found = STEP, np.empty((n, 0))
    for column in places.T:
        ascending = np.sort(column)
        cuts = np.unique(np.linspace(CELL, n - CELL, LANDMARKS).astype(int))
        for apart in (n // LANDMARKS + 1, 0):  # then all cuts near the best one
            above = (column[:, None] >= ascending[cuts]).astype(float)
            away = above - above.mean(axis=0)
            away -= regression.fitted(away)
            gains = ((left.T @ away) ** 2).max(axis=0) / np.maximum((away**2).sum(axis=0), 1e-9)
            best = int(gains.argmax())
            if gains[best] > largest:
                largest, found = gains[best], above[:, best : best + 1]
            cuts = np.clip(np.arange(cuts[best] - apart, cuts[best] + apart + 1), CELL, n - CELL)
    return found


def _orders(
    given: Matrix, trajectory: NDArray[np.int64] | None, count: int, rng: np.random.Generator
) -> Iterator[NDArray[np.int64]]:
    """Rearrangements of the samples [n]."""
    if trajectory is None:
        cell = cells(given)
        by_cell = np.argsort(cell, kind="stable")
        for _ in range(count):
            order = np.empty(len(cell), np.int64)
            order[by_cell] = np.lexsort((rng.random(len(cell)), cell))
            yield order
        return
    # Within the classes of a discrete z, so that each keeps its distribution of y.
    classes = np.unique(given, axis=0, return_inverse=True)[1].ravel()
    if classes.max() < len(classes) // CELL:
        trajectory = np.unique(trajectory * len(classes) + classes, return_inverse=True)[1].ravel()
    in_parts = np.argsort(trajectory, kind="stable")
    sizes = np.bincount(trajectory)
    starts = np.repeat(np.cumsum(sizes) - sizes, sizes)
    steps, lengths = np.arange(len(trajectory)) - starts, np.repeat(sizes, sizes)
    for _ in range(count):
        shifts = np.repeat(rng.integers(len(sizes) == 1, sizes), sizes)  # (0 is the given series)
        order = np.empty(len(trajectory), np.int64)
        order[in_parts] = in_parts[starts + (steps + shifts) % lengths]
        yield order


def _scores(side: Matrix) -> Matrix:
    """Normal scores of residuals [n, d]; values that differ by rounding are equal."""
    return np.asarray(normal_scores(np.round(side, 9).T).T)
