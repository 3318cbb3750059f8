"""Conditioning on a side z: residuals of a linear regression on z, and cells of similar z.

Subtracting a function of z from x is a bijection of x for each value of z, so it does not change
I(x; y | z). The residuals of a regression depend little on z. So the second term of the chain rule
is a small correction instead of a large estimate.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from infoatlas_rt.estimation.bounds import MOST_BEYOND, entropy
from infoatlas_rt.estimation.canonical import clip_outliers, normal_scores, standardise

# A coordinate is discrete if one value has more than this share of the samples. It is not
# regressed, because subtracting a function of a continuous z would break its ties in the order of
# z.
LARGEST_TIE = 0.05
EXACT = 1e-12  # unexplained share of the variance below which a coordinate is a function of z
NEARLY_DETERMINED = 0.15  # unexplained share below which rounded values are spread
REDUNDANT = 1e-3  # share of the strongest regressor below which one is left out
CELL = 8  # smallest number of samples of a cell (neighbourhood in z) for permutations


class Residuals(NamedTuple):
    """A side without its linear dependence on z."""

    # [n, d], each coordinate (its standardised values or its normal scores, whichever z explains
    # better) minus a regression on the values and the normal scores of z. Discrete coordinates are
    # unchanged, coordinates that z determines are 0, and rounded ones that it nearly determines are
    # spread.
    samples: NDArray[np.float64]
    # [d], share of the variance of normal scores that the regression leaves; the noise of ranks is
    # compared with it. 1 if values were used, or if a coordinate is unchanged or 0.
    unexplained: NDArray[np.float64]
    spread: bool  # whether a coordinate was spread

    @property
    def least_left(self) -> float:
        """n times the smallest share of the variance that z leaves."""
        return len(self.samples) * float(self.unexplained.min())


def residuals(
    samples: NDArray[np.float64], given: NDArray[np.float64], rng: np.random.Generator
) -> Residuals:
    """Residuals of samples [n, d] after a regression on z [n, dz].

    If z nearly determines values that are rounded, their residuals are on a grid that z shifts, the
    same for x and y. That would appear as dependence. So such values are spread at random within
    their cells, between the values below and above. They follow from the result, so the information
    does not change.
    """
    first, raw = forms(given)
    design = np.c_[first, raw]
    # An orthonormal basis of the regressors; constant and redundant ones are left out.
    basis, strength, _ = np.linalg.svd(design - design.mean(axis=0), full_matrices=False)
    basis = basis[:, strength > REDUNDANT * max(strength.max(), 1.0)]
    shares = np.min([_regress(form, basis)[1] for form in forms(samples)], axis=0)
    exact = shares < EXACT
    spread = samples.copy()
    for column, share in zip(spread.T, shares, strict=True):
        tie = np.unique(column, return_counts=True)[1].max() / len(column)
        if share < NEARLY_DETERMINED and tie <= LARGEST_TIE:
            column[:] = spread_in_cells(column, rng)
    scores, values = forms(spread)
    left, unexplained = _regress(scores, basis)
    left_raw, unexplained_raw = _regress(values, basis)
    # Values have no noise of ranks. They are used if z explains more of them than of ranks.
    linear = unexplained_raw < unexplained
    left[:, linear] = left_raw[:, linear]
    unexplained[linear] = 1.0
    classes = np.unique(given, axis=0, return_inverse=True)[1].ravel()
    for column, values in enumerate(samples.T):
        most = np.unique(values, return_counts=True)[1].max()
        discrete = most / len(values) > LARGEST_TIE
        if exact[column] or _are_function_of(values, classes):
            left[:, column], unexplained[column] = 0.0, 1.0
        elif discrete:
            left[:, column], unexplained[column] = values, 1.0
    return Residuals(left, unexplained, bool((spread != samples).any()))


def spread_in_cells(
    values: NDArray[np.float64], rng: np.random.Generator, classes: int = 0
) -> NDArray[np.float64]:
    """Values [n] that repeat, at random places of their cells; so many classes are kept."""
    levels, own = np.unique(values, return_inverse=True)
    if len(levels) == len(values) or len(levels) <= max(classes, 1):
        return values
    middle = (levels[1:] + levels[:-1]) / 2
    low = np.r_[2 * levels[0] - middle[0], middle]
    high = np.r_[middle, 2 * levels[-1] - middle[-1]]
    placed: NDArray[np.float64] = low[own] + (high - low)[own] * rng.random(len(values))
    return placed


def forms(side: NDArray[np.float64]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Normal scores of a side [n, d], and its values without outliers, standardised."""
    return normal_scores(side.T).T, standardise(clip_outliers(side))


def _regress(
    side: NDArray[np.float64], basis: NDArray[np.float64]
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Residuals [n, d] on an orthonormal basis [n, r], and the share of variance that is left."""
    centred = side - side.mean(axis=0)
    left = centred - basis @ (basis.T @ centred)
    variance = (centred**2).sum(axis=0)
    return left, (left**2).sum(axis=0) / np.where(variance > 0, variance, 1.0)


def _are_function_of(values: NDArray[np.float64], classes: NDArray[np.int64]) -> bool:
    """Whether values are a function of the classes [n], of two samples each or more on average."""
    count = int(classes.max()) + 1
    if count > len(values) // 2:
        return False
    first = np.empty(count)
    first[classes] = values
    return bool((first[classes] == values).all())


def entropy_given(side: NDArray[np.float64], given: NDArray[np.float64]) -> float:
    """Upper bound of the entropy of a side [n, d] given z [n, dz], nats; infinite without repeats.

    For each class of z, values that occur once in it may be any others: they count with the entropy
    of all values. That counts runs of equal values, which neither hold times nor the order change.
    """
    n = len(side)
    labels, classes = (np.unique(s, axis=0, return_inverse=True)[1].ravel() for s in (side, given))
    runs = labels[np.r_[True, labels[1:] != labels[:-1]]]
    if labels.max() == n - 1:
        return np.inf
    every = min(entropy(np.unique(runs, return_counts=True)[1]), np.log(n) + MOST_BEYOND)
    found = []
    for known in (classes, np.zeros(n, np.int64)):
        cells, counts = np.unique(known * n + labels, return_counts=True)
        sizes, own = np.bincount(known), cells // n
        once = np.bincount(own[counts == 1], minlength=len(sizes))
        share = np.r_[counts[counts > 1] / sizes[own[counts > 1]], (once / sizes)[once > 0]]
        weight = np.r_[counts[counts > 1], once[once > 0]] / n
        bias = (len(share) - len(sizes)) / (2 * n)  # of the observed shares (Miller and Madow)
        found.append(float(once.sum() / n * every - weight @ np.log(share) + bias))
    return min(found)


def cells(given: NDArray[np.float64]) -> NDArray[np.int64]:
    """Cells [n], 0..C-1, of neighbouring samples, by a tree that halves the widest coordinate of z.

    Coordinates with few values are cut first. Cuts are between different values, so equal rows of z
    [n, dz] are in one cell. Cells of equal rows can be of any size; others have at least `CELL`
    samples, unless z is constant over fewer.
    """
    scores = np.ascontiguousarray(normal_scores(given.T).T)
    found = np.zeros(len(given), np.int64)
    waiting, count = [np.arange(len(given))], 0
    while waiting:
        rows = waiting.pop()
        cut = _cut_cell(scores[rows])
        if cut is None:
            found[rows], count = count, count + 1
        else:
            waiting += [rows[cut], rows[~cut]]
    return found


def _cut_cell(scores: NDArray[np.float64]) -> NDArray[np.bool_] | None:
    """The lower part [n] of the samples of a cell; None if it stays as it is."""
    n, classes, others = len(scores), [], []
    for column in np.argsort(-scores.std(axis=0), kind="stable"):
        values = np.sort(scores[:, column])
        steps = 1 + np.flatnonzero(values[1:] != values[:-1])  # sizes that the lower part can have
        if 0 < len(steps) < n // CELL:  # values are classes, which may be smaller than a cell
            classes.append((column, values, steps))
        else:
            others.append((column, values, steps[(steps >= CELL) & (steps <= n - CELL)]))
    # Classes first, because a cell of few samples could no longer be cut by them.
    for column, values, steps in classes + others:
        if len(steps):
            size = steps[np.argmin(abs(steps - n / 2))]
            return np.asarray(scores[:, column] < values[size])
    return None
