"""Conditional mutual information I(x; y | z), and transfer entropy.

The chain rule gives I(x; y | z) = I(x; (y, z)) - I(x; z). Both terms have the model's errors, which
can be larger than the difference if z is informative about x. So each side is replaced by its
residuals on z (`conditioning.residuals`). This does not change I(x; y | z), and brings the second
term near 0. The estimate is the mean of two chain rules, with x and with y as the first side. Its
influences are the differences of theirs, so the noise that the terms share cancels.

The test (`conditional_test`) does not use the model: it needs no slices, and is faster.
"""

import math
import os
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from infoatlas_rt.errors import InputError
from infoatlas_rt.estimation.bounds import clip_to_bounds, warn_of_copies
from infoatlas_rt.estimation.estimator import Estimator, as_estimator
from infoatlas_rt.estimation.prepare import Samples
from infoatlas_rt.estimation.result import Estimate
from infoatlas_rt.estimation.standard_error import (
    SamplingNoise,
    noise_of_trajectories,
    rank_noise,
    sampling_noise,
    standard_error,
)
from infoatlas_rt.inputs.checks import as_count, as_flag, as_samples

from .conditional_result import ConditionalEstimate
from .conditional_test import FIRST, conditional_statistics
from .conditioning import entropy_given, residuals, spread_in_cells
from .independence import LEVEL, PERMUTATIONS, compare, least_p
from .lagged import lagged_rows, series_label, side_label

WIDEST_UNSLICED = 20  # coordinates of an unsliced side of the shipped model "wide", at most
# Smallest n times the share of variance that z leaves, for a test. If both sides have less, the
# error of z's ranks, which they share, appears as dependence: at 3, a test of level 5% rejected in
# 12 to 25%.
RESOLVED = 10.0
# Nats by which estimates of rounded values are too low, at most: their cells have sharp edges.
SPREAD_ERROR = 0.05
CLASSES = 5  # levels of a coordinate up to which the test does not spread it


def conditional_mutual_information(
    x: Any,
    y: Any,
    given: Any,
    estimator: Estimator | str | os.PathLike[str] | None = None,
    *,
    time_series: bool = False,
    permutations: int = PERMUTATIONS,
) -> ConditionalEstimate:
    """Estimate I(x; y | z), the information that x and y share beyond z, and test whether it is 0.

    Parameters
    ----------
    x, y, given : array-like [n] or [n, d]
        Samples of x, y and z; rows i of all three belong together. Sides are not sliced, so x and z
        together, and y and z together, may have at most D coordinates: 5, or 20 with the model
        "wide".
    estimator : Estimator or str or path, optional
        The estimator to use, or a model to make one of; the shipped model unless given.
    time_series : bool
        The samples are in order of time, and each depends on its neighbours. The standard error
        uses a long-run variance; the test shifts residuals. Given z, both have to be stationary.
    permutations : int
        B, permutations of the test; 0 leaves it out. With 199 the smallest p-value is 0.005. Fewer
        are drawn if they show that p is above 0.05.

    Notes
    -----
    The test detects any dependence of the residuals after a regression on z: linear, of
    other form, or different at each z. It permutes the residuals of one side among samples with
    similar z (cells of at least 8, or the classes of a discrete z), or shifts those of the slower
    side cyclically, which keeps the autocorrelation of both. So the level is right in the limit of
    many samples, if z acts smoothly or by steps (measured on fifteen null models:
    docs/questions.md). No test of conditional independence is valid for all distributions (Shah
    and Peters 2020). If z determines both sides nearly as far as n ranks resolve, there is no test
    (`unresolved`).

    Raises
    ------
    InputError
        The samples cannot be used, the sides are too wide for the model, or the estimator slices
        (`k` or `sides`).
    ModelError
        The model's output is not finite.

    Examples
    --------
    >>> import numpy as np
    >>> from infoatlas_tools import conditional_mutual_information
    >>> z, a, b = np.random.default_rng(0).normal(size=(3, 200))
    >>> found = conditional_mutual_information(z + a, z + b, z, permutations=19)  # I(x; y) is 0.14
    >>> abs(found.mi) < 0.05, found.p_value > 0.05
    (True, True)
    """
    sides = as_samples(x, "x"), as_samples(y, "y"), as_samples(given, "given")
    names = (side_label(side, name) for side, name in ((x, "x"), (y, "y"), (given, "z")))
    question = "I({}; {} | {})".format(*names)
    series = as_flag(time_series, "time_series")
    if not series:
        warn_of_copies(*sides[:2])
    return conditional(*sides, estimator, question, series, None, permutations)


def transfer_entropy(
    x: Any,
    y: Any,
    lag: int = 1,
    history: int = 1,
    estimator: Estimator | str | os.PathLike[str] | None = None,
    *,
    permutations: int = PERMUTATIONS,
) -> ConditionalEstimate:
    """Estimate the transfer entropy from x to y (Schreiber 2000; Wibral et al. 2013 for the lag).

    It is I(y_t; x_(t-lag), ..., x_(t-lag-history+1) | y_(t-1), ..., y_(t-history)). This is the
    information of the past of x about the present of y, beyond that of the past of y.

    Parameters
    ----------
    x, y : array-like [T] or [T, d], or list of such arrays
        Two series of one robot, or lists of trajectories, x[i] of the same length as y[i]. Past and
        present are always of one trajectory.
    lag : int
        Steps from the present of y back to the newest state of x.
    history : int
        Past states of x, and of y. Each makes both sides wider: together they may have D
        coordinates, 5, or 20 with the model "wide". If y depends on its own past beyond `history`
        steps, and x is informative about that past, it counts as information from x.
    estimator : Estimator or str or path, optional
        The estimator to use, or a model to make one of; the shipped model unless given.
    permutations : int
        B, permutations of the test: cyclic shifts of residuals within trajectories; 0 leaves it
        out. With 199 the smallest p-value is 0.005. Fewer are drawn if p is clearly above 0.05.

    Returns
    -------
    ConditionalEstimate
        Estimate from the pairs of all trajectories, in order. The standard error uses the long-run
        variance; with ten trajectories or more, the variance clustered by trajectory if that is
        larger.

    Raises
    ------
    InputError
        The series cannot be used, do not fit together, are too short or too wide for the model, or
        the estimator slices (`k` or `sides`).
    ModelError
        The model's output is not finite.

    Examples
    --------
    >>> import numpy as np
    >>> from infoatlas_tools import transfer_entropy
    >>> x, noise = np.random.default_rng(0).normal(size=(2, 100))
    >>> y = np.roll(x, 2) + noise / 2  # x is two steps ahead
    >>> transfer_entropy(x, y, lag=2, permutations=19).p_value
    0.05
    """
    lag, history = as_count(lag, "lag", 1), as_count(history, "history", 1)
    lags_x, lags_y = range(lag, lag + history), range(1, 1 + history)
    past, present, own, trajectory = lagged_rows(x, y, (lags_x, (0,), lags_y))
    names = series_label(x, "x"), series_label(y, "y")
    question = "T({} -> {}, lag {}, history {})".format(*names, lag, history)
    return conditional(past, present, own, estimator, question, True, trajectory, permutations)


def conditional(
    x: NDArray[np.float64],
    y: NDArray[np.float64],
    given: NDArray[np.float64],
    estimator: Estimator | str | os.PathLike[str] | None,
    question: str,
    time_series: bool,
    trajectory: NDArray[np.int64] | None,
    permutations: int,
    level: float = LEVEL,
) -> ConditionalEstimate:
    """The estimate of checked samples; `trajectory` [n] numbers the trajectory of each.

    P-values above `level` may be rough.
    """
    count = as_count(permutations, "permutations", 0, 10**7)
    estimator = as_estimator(estimator)
    _check_sides(x, y, given, estimator)
    rng = np.random.default_rng([estimator.seed, 4])
    of_x, of_y = (residuals(side, given, rng) for side in (x, y))
    sides = of_x.samples, of_y.samples
    degenerate = any(bool((side == side[0]).all()) for side in sides)
    unresolved = not degenerate and max(of_x.least_left, of_y.least_left) < RESOLVED
    joint = _terms(estimator, sides, tuple(np.c_[side, given] for side in sides[::-1]), time_series)
    single = _terms(estimator, sides, (given, given), time_series)
    both = list(zip(joint, single, strict=True))
    mi, influence, pointwise = (
        np.mean([getattr(j, name) - getattr(s, name) for j, s in both], axis=0)
        for name in ("mi", "influence", "pointwise")
    )
    if degenerate:
        mi, influence, pointwise = 0.0, np.zeros(len(x)), np.zeros(len(x))
    ceiling = min(entropy_given(x, given), entropy_given(y, given))
    bound = float(clip_to_bounds(np.array(mi), ceiling))
    mi, pointwise = bound, pointwise + (bound - mi)
    statistics, p_value = np.full(1, np.nan), 1.0 if degenerate else np.nan
    if least_p(mi, count) > level:
        count = min(count, FIRST - 1)
    if count and not degenerate and not unresolved:
        parts = np.zeros(len(x), np.int64) if time_series and trajectory is None else trajectory
        first, second = (
            np.stack([spread_in_cells(column, rng, CLASSES) for column in side.T], axis=1)
            for side in (x, y)
        )
        measures = conditional_statistics(first, second, given, parts, count, estimator.seed, level)
        statistics, p_value = compare(*measures)
        p_value = max(p_value, least_p(mi, count))
    unexplained = np.r_[of_x.unexplained, of_y.unexplained]
    spread = SPREAD_ERROR * (of_x.spread or of_y.spread)
    alone = np.zeros(1)  # stands for one unsliced estimate
    if trajectory is None:
        sampling = sampling_noise(influence, alone, time_series=time_series)
    else:
        sampling = noise_of_trajectories(influence, alone, trajectory)
    return ConditionalEstimate(
        mi=mi,
        stderr=0.0
        if degenerate
        else _stderr(estimator, [*joint, *single], unexplained, spread, sampling),
        noise=sampling.noise,
        p_value=p_value,
        statistic=float(statistics[0]),
        null=statistics[1:],
        pointwise=pointwise,
        influence=influence,
        question=question,
        samples=len(x),
        effective_samples=sampling.effective_samples,
        seed=estimator.seed,
        provider=estimator.backend.provider,
        model=estimator.model_file.name,
        saturated=any(term.saturated for term in joint) and mi < ceiling,
        **{
            name: max(getattr(term, name) for term in (*joint, *single))
            for name in ("atoms", "heavy_tails", "autocorrelated")
        },
        degenerate=degenerate,
        unresolved=unresolved,
    )


def _terms(
    estimator: Estimator, first: Sequence[Any], second: Sequence[Any], time_series: bool
) -> list[Estimate]:
    """Estimates with x, and with y, as the first side."""
    pairs = zip(first, second, strict=True)
    return [estimator.estimate_checked(Samples(a, b, time_series)) for a, b in pairs]


def _stderr(
    estimator: Estimator,
    terms: Sequence[Estimate],
    unexplained: NDArray[np.float64],
    spread: float,
    sampling: SamplingNoise,
) -> float:
    """The standard error of the difference of terms; `unexplained` is that of both `Residuals`.

    `spread` is the error from values that were spread.
    """
    whole = estimator.model_file.calibration.get("whole")
    predicted = math.sqrt(sum(term.predicted_error**2 for term in terms) / 2 + spread**2)
    left = np.sqrt(1 - np.minimum(unexplained, 1.0))  # (rounding)
    ranks = max(float(rank_noise(left, terms[0].samples)), *(term.rank_noise for term in terms))
    noise, effective = sampling.noise, sampling.effective_samples
    return float(standard_error(whole, noise, predicted, ranks, effective))


def _check_sides(
    x: NDArray[Any], y: NDArray[Any], given: NDArray[Any], estimator: Estimator
) -> None:
    """Raise InputError unless all terms can be estimated unsliced."""
    if not len(x) == len(y) == len(given):
        raise InputError(
            f"x has {len(x)} samples, y has {len(y)} and z has {len(given)}: pass as many of each"
        )
    if estimator.k is not None or estimator.sides != "auto":
        raise InputError(
            "the estimator slices (k or sides is given), and slices of the terms of a chain rule "
            "do not add up: pass an Estimator without k and sides"
        )
    width, dim = max(x.shape[1], y.shape[1]) + given.shape[1], estimator.model_file.dim
    if width > dim:
        way_out = "leave out coordinates, or reduce z to a few features"
        if dim < WIDEST_UNSLICED >= width:
            way_out = 'pass the model "wide", which accepts 20'
        raise InputError(
            f"x or y has {width} coordinates together with z ({x.shape[1]}, {y.shape[1]} and "
            f"{given.shape[1]}), and model {estimator.model_file.name} accepts {dim} unsliced: "
            f"{way_out}"
        )
