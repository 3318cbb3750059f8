"""Permutation test of independence, by mutual information and linear association.

A permutation of the samples of y leaves both marginals unchanged and removes every dependence. The
model evaluates each permuted pairing with the slices, the shuffle and the shifts of the given one.
A second measure is the RV coefficient of normal scores (Robert and Escoufier 1976): it sums weak
linear dependence over all pairs of coordinates, and needs one matrix product. The statistic is the
larger of the two, each standardised over all pairings. Under independence all pairings are equally
likely, so the rank of the given one is uniform. The level of the test is therefore exact for every
model and every sample size. With ties, as between discrete sides, the test is conservative. Of
trajectories, complete ones are exchanged, so it is exact however their steps depend on each other.
"""

import math
import os
from collections.abc import Callable, Sequence
from concurrent.futures import Executor
from dataclasses import dataclass, fields
from typing import Any

import numpy as np
from numpy.typing import NDArray

from infoatlas_rt.errors import InputError
from infoatlas_rt.estimation.bounds import warn_of_copies
from infoatlas_rt.estimation.canonical import normal_scores
from infoatlas_rt.estimation.estimator import Estimator, as_estimator
from infoatlas_rt.estimation.forward import pairing_means
from infoatlas_rt.estimation.prepare import Prepared, check_samples
from infoatlas_rt.estimation.result import SIMILAR_ROWS
from infoatlas_rt.inputs.checks import as_count
from infoatlas_rt.inputs.gpu_arrays import Array, array_namespace, beside, to_host

from ..presentation import Shown

PERMUTATIONS = 199
# Of a period that two series share: least share of the variance of both, and least number of
# periods. The spectra have FINER frequencies for each multiple of 1 / n.
PERIODIC, FEWEST, FINER = 0.3, 4, 8
LEVEL = 0.05  # the largest p-value, corrected if there are several tests, that is significant


@dataclass(frozen=True, eq=False)
class IndependenceResult(Shown):
    """Result of a test of independence.

    Attributes
    ----------
    mi : float
        Nats; the estimate of the given pairing, as from `Estimator.estimate`.
    p_value : float
        Share of pairings, the given one included, whose statistic is at least as large. It
        is at least 1 / (1 + B).
    statistic : float
        The larger of `mi` and `rv`, each with mean 0 and standard deviation 1 over all pairings.
    null : [B] float64
        Nats; the estimates of B permuted pairings, in the order in which they were drawn.
    rv : float
        RV coefficient of the normal scores, 0 to 1: the sum of the squared correlations between
        the coordinates of x and of y, as a share of its maximum.
    null_rv : [B] float64
        RV coefficients of the permuted pairings.
    method : {"permutation", "circular shift", "group permutation"}
        How the pairings of the null were made: "circular shift" for time series without groups.
    samples : int
        n.
    slices, k : int; int or None
        S slices, and the dimensions of each; 1 and None if both sides are unsliced.
    seed : int
        Seed of the pairings, the projections, the shuffle and the shifts.
    provider, model : str
        What evaluated the model, as "cpu" or "native"; its name and version.
    autocorrelated : bool
        Neighbouring rows are similar, and neither `time_series` nor `groups` was passed.
    degenerate : bool
        A side is constant, so there is no dependence: `mi`, `rv` and their nulls are exactly 0,
        `p_value` is 1.
    """

    mi: float
    p_value: float
    statistic: float
    null: NDArray[np.float64]
    rv: float
    null_rv: NDArray[np.float64]
    method: str
    samples: int
    slices: int
    k: int | None
    seed: int
    provider: str
    model: str
    autocorrelated: bool
    degenerate: bool

    def __str__(self) -> str:
        """One line."""
        flags = ["degenerate"] * self.degenerate + [SIMILAR_ROWS] * self.autocorrelated
        flags += finer_test(self.mi, self.p_value)
        how = "unsliced" if self.k is None else f"{self.slices} slices, k={self.k}"
        return (
            f"I = {self.mi:.3f} nats, p = {self.p_value:.3g} ({len(self.null)} "
            f"{self.method}s, n={self.samples}, {how}, {self.model} on {self.provider})"
            + (f" [{', '.join(flags)}]" if flags else "")
        )

    def to_dict(self) -> dict[str, Any]:
        """All fields as JSON-safe values."""
        values = {field.name: getattr(self, field.name) for field in fields(self)}
        return values | {"null": self.null.tolist(), "null_rv": self.null_rv.tolist()}


def independence_test(
    x: Any,
    y: Any,
    estimator: Estimator | str | os.PathLike[str] | None = None,
    *,
    permutations: int = PERMUTATIONS,
    time_series: bool = False,
    groups: Any = None,
    executor: Executor | None = None,
    progress: Callable[[int, int], None] | None = None,
) -> IndependenceResult:
    """Test whether x and y are independent, by permutations of y.

    The test detects dependence by mutual information, and also weak linear dependence over many
    coordinates, which is not visible in single slices.

    Parameters
    ----------
    x, y : array-like [n] or [n, d]
        Paired samples of any real type; row i of x belongs to row i of y.
    estimator : Estimator or str or path, optional
        The estimator to use, or a model to make one of; the shipped model unless given.
    permutations : int
        B, permuted pairings. With 199 the smallest p-value is 0.005.
    time_series : bool
        The samples are in time order and neighbours depend on each other. Then y is shifted
        cyclically, which preserves its autocorrelation; there are n - 1 shifts, the small ones
        included, at most. Both series have to be stationary, and much longer than their
        autocorrelation. If they drift (random walks) or are short, a shifted series has a jump
        where it wraps around, and the test rejects independence too often. The test is for two
        different series, not for a series and its own past.
    groups : array-like [n] of int, optional
        Trajectory, episode or subject of each sample; all have as many samples. Entire trajectories
        of y are exchanged. So steps may depend on each other, and what depends on the step alone (a
        motion that all trajectories share) is no dependence. G trajectories have G! pairings, so p
        is rarely below 1 / G!. The estimate is that of `Estimator.estimate`.
    executor : concurrent.futures.Executor, optional
        Its workers share the pairings; the result has the same bits as without it.
    progress : callable, optional
        Called with (slices done, slices in all), over all pairings.

    Raises
    ------
    InputError
        The samples cannot be used (type, shape, NaN, fewer than the model's n_min, ...) or do not
        fit the estimator's `k` and `sides`. `permutations` is not a positive integer. Groups differ
        in size.
    ModelError
        The model's output is not finite.

    Examples
    --------
    >>> import numpy as np
    >>> from infoatlas_tools import independence_test
    >>> x, noise = np.random.default_rng(0).normal(size=(2, 60))
    >>> independence_test(x, x**2 + noise / 2, permutations=19).p_value
    0.05
    >>> independence_test(x, noise, permutations=19).p_value > 0.05
    True
    """
    count = as_count(permutations, "permutations", 1, 10**7)
    estimator = as_estimator(estimator)
    provider = estimator.backend.provider
    samples = check_samples(x, y, provider, time_series, groups=groups)
    if not time_series and groups is None:
        warn_of_copies(samples.x, samples.y)
    prepared = estimator.prepare(samples)
    pairings = Pairings(prepared, count, time_series, estimator.seed)
    values, rv = np.zeros((2, len(pairings)))
    if not prepared.degenerate:
        values = pairing_means(prepared, pairings, estimator, executor, progress)
        rv = rv_coefficients(prepared, pairings)
    statistics, p_value = compare(values, rv)
    return IndependenceResult(
        mi=float(values[0]),
        p_value=p_value,
        statistic=float(statistics[0]),
        null=values[1:],
        rv=float(rv[0]),
        null_rv=rv[1:],
        method=pairings.method,
        samples=len(prepared.order),
        slices=prepared.plan.slices,
        k=prepared.plan.k,
        seed=estimator.seed,
        provider=estimator.backend.provider,
        model=estimator.model_file.name,
        autocorrelated=not time_series and groups is None and prepared.autocorrelated(),
        degenerate=prepared.degenerate,
    )


class Pairings(Sequence[NDArray[np.int64]]):
    """Pairings of the samples of y with those of x; pairing 0 is the given one.

    Indices are positions in the shuffled samples. With groups, complete groups are permuted. So are
    trajectories (`exchanged` [n], of the input): a longer one is thinned to the steps of the other,
    and a shorter one repeats steps. A series is shifted, and continues at its start after a
    whole number of the period that both sides share. Each pairing is drawn when it is accessed,
    from a random stream of its own, because all of them at once could need much more memory than
    the samples.
    """

    def __init__(
        self,
        prepared: Prepared,
        count: int,
        time_series: bool,
        seed: int,
        exchanged: NDArray[np.int64] | None = None,
    ) -> None:
        if prepared.groups is not None:
            exchanged = prepared.groups
            _check_sizes(exchanged)
        self.method = pairing_method(time_series, exchanged)
        self._order, self._place = prepared.order, np.argsort(prepared.order)
        self._seed, self._count = seed, count
        if exchanged is not None:
            self._rows, self._sizes = np.argsort(exchanged, kind="stable"), np.bincount(exchanged)
        elif time_series:
            drawn = np.random.default_rng([seed, 1])
            self._shifts = (1 + drawn.permutation(len(self._order) - 1))[:count]
            self._count = len(self._shifts)
            sides = (to_host(side)[self._place] for side in (prepared.x, prepared.y))
            self._turn = whole_periods(*sides)

    def __len__(self) -> int:
        return 1 + self._count

    def __getitem__(self, number: Any) -> Any:
        n = len(self._order)
        if number == 0:
            return np.arange(n)
        if self.method == "circular shift":
            at = self._order - self._shifts[number - 1]
            return np.asarray(self._place[np.where(at < 0, at % self._turn, at)])
        rng = np.random.default_rng([self._seed, 0, number])
        if self.method == "permutation":
            return rng.permutation(n)
        sizes, drawn = self._sizes, rng.permutation(len(self._sizes))
        starts, own = np.cumsum(sizes) - sizes, np.repeat(np.arange(len(sizes)), sizes)
        step = (np.arange(n) - starts[own]) * sizes[drawn][own] // sizes[own]
        partner = np.empty(n, np.int64)
        partner[self._rows] = self._rows[starts[drawn][own] + step]
        return np.asarray(self._place[partner[self._order]])


def pairing_method(time_series: bool, exchanged: NDArray[np.int64] | None) -> str:
    """How the pairings of a test are made."""
    if exchanged is not None:
        return "group permutation"
    return "circular shift" if time_series else "permutation"


def whole_periods(x: NDArray[np.float64], y: NDArray[np.float64]) -> int:
    """Largest number of steps of two series [n, d] that is a whole number of their shared period.

    A shift by all of these steps keeps the phase of the period, and others would break it where
    the series continues at its start. The period is that of the largest product of both spectra.
    """
    n = len(x)
    spectra = [
        (abs(np.fft.rfft(normal_scores(side.T), FINER * n)) ** 2).sum(axis=0) for side in (x, y)
    ]
    top = int((spectra[0] * spectra[1])[FEWEST * FINER :].argmax()) + FEWEST * FINER
    near = slice(top - FINER, top + FINER + 1)
    if any(own[near].sum() < PERIODIC * own.sum() for own in spectra):
        return n
    return round(n * (top // FINER) * FINER / top)


def _check_sizes(groups: NDArray[np.int64]) -> None:
    """Raise InputError unless all groups have as many samples."""
    sizes = np.bincount(groups)
    if (sizes != sizes[0]).any():
        raise InputError(
            f"groups have from {sizes.min()} to {sizes.max()} samples, but the test exchanges "
            "complete groups: pass as many steps of each (cut or resample them), or one row of each"
        )


def rv_coefficients(
    prepared: Prepared, pairings: Sequence[NDArray[np.int64]]
) -> NDArray[np.float64]:
    """RV coefficients of the normal scores of all coordinates, for all pairings [P]."""
    xp = array_namespace(prepared.x)
    x, y = (normal_scores(xp.matrix_transpose(side)) for side in (prepared.x, prepared.y))
    x, y = (side / xp.linalg.vector_norm(side, axis=-1, keepdims=True) for side in (x, y))
    # Sum of squares of x y^T [dx, dy], or inner product of the Gram matrices [n, n], the smaller.
    gram = x.shape[0] * y.shape[0] > x.shape[1] ** 2
    across = xp.matrix_transpose(x) @ x if gram else x
    found = np.empty(len(pairings))
    for number in range(len(pairings)):
        paired = y[:, beside(pairings[number], y)]
        if gram:
            found[number] = float(xp.sum(across * (xp.matrix_transpose(paired) @ paired)))
        else:
            found[number] = float(xp.sum((across @ xp.matrix_transpose(paired)) ** 2))
    return found / math.sqrt(_square_sum(x) * _square_sum(y))


def _square_sum(x: Array) -> float:
    """Sum of the squared correlations among the rows of x [d, n], by the smaller Gram matrix."""
    xp = array_namespace(x)
    transposed = xp.matrix_transpose(x)
    return float(xp.sum((x @ transposed if x.shape[0] < x.shape[1] else transposed @ x) ** 2))


def finer_test(mi: float, p_value: float) -> list[str]:
    """A flag of a significant p-value beside an estimate (nats) that shows no dependence."""
    text = "the test detects what the estimate is too coarse to show"
    return [text] if mi <= 0 and p_value <= LEVEL else []


def compare(
    values: NDArray[np.float64], rv: NDArray[np.float64]
) -> tuple[NDArray[np.float64], float]:
    """Statistics of all pairings [1 + B], and the p-value of the first, the given one."""
    statistics = np.maximum(_standardise(values), _standardise(rv))
    return statistics, float(np.mean(statistics >= statistics[0]))


def least_p(mi: float, count: int) -> float:
    """Least p-value with B permutations: twice as large if the estimate is not above 0."""
    return (1 if mi > 0 else 2) / (1 + count)


def _standardise(values: NDArray[np.float64]) -> NDArray[np.float64]:
    """Mean 0 and deviation 1 over all pairings; values that differ by rounding become equal."""
    deviation = values.std()
    if not deviation > 1e-12 * abs(values).max():
        return np.zeros_like(values)
    standardised: NDArray[np.float64] = np.round((values - values.mean()) / deviation, 9)
    return standardised
