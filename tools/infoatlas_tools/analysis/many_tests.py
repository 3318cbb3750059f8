"""Many estimates with tests, corrected for their number, for the functions of `screening.py`.

The pairings of each test are those of `independence_test`. Its statistic is the larger of the RV
coefficient and of the association of random features, each standardised over all pairings. The
model would need seconds for hundreds of pairings. Its null distribution depends on the ranks of
the sides alone. So all columns without ties share one: under independence, every order of their
samples is equally likely. If an estimate is not positive, its p-value is not the smallest one.
"""

import os
from collections.abc import Callable, Hashable, Sequence
from concurrent.futures import Executor
from dataclasses import replace
from math import factorial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from infoatlas_rt.estimation.estimator import Estimator, as_estimator
from infoatlas_rt.estimation.parallel import run_jobs
from infoatlas_rt.estimation.prepare import Samples
from infoatlas_rt.estimation.result import FLAGS, Estimate
from infoatlas_rt.estimation.standard_error import noise_of_trajectories, standard_error
from infoatlas_rt.inputs.checks import as_choice, as_count

from .conditional import conditional_mutual_information
from .conditional_result import ConditionalEstimate
from .features import feature_correlations
from .independence import PERMUTATIONS, Pairings, compare, least_p, pairing_method, rv_coefficients

# Permutations for each test. The smallest adjusted p-value of a single dependence is 0.025: one of
# them may exceed it by chance, and it is still significant. Beyond `MOST` evaluations of permuted
# samples, fewer are drawn by default, but at least 199.
PER_TEST, MOST = 40, 20_000
CORRECTIONS = ("benjamini-hochberg", "holm", "none")

Pair = tuple[NDArray[np.float64], NDArray[np.float64]]


def screen(
    pairs: Sequence[Pair],
    estimator: Estimator | str | os.PathLike[str] | None,
    time_series: bool,
    permutations: int | None,
    correction: str,
    executor: Executor | None,
    progress: Callable[[int, int], None] | None,
    trajectory: NDArray[np.int64] | None = None,
    groups: NDArray[np.int64] | None = None,
    exchange: bool = False,
    influences: list[NDArray[np.float64]] | None = None,
) -> dict[str, Any]:
    """Values of `Screening` for pairs of sides.

    `trajectory` [n] numbers the trajectory of each sample, for the noise, and with `exchange` for
    the tests; `groups` [n] also for the estimates. With `trajectory`, pairs are lags. They share
    one null distribution, unless what depends on the step makes those of lags differ (`exchange`).
    The influence [n] of each estimate is added to `influences`.
    """
    as_choice(correction, "correction", CORRECTIONS)
    keys: list[Hashable] = [0] * len(pairs)
    if trajectory is None or exchange:
        keys = null_keys(pairs, time_series or groups is not None)
    # Pairs with a constant side have no null distribution that others could share.
    for i, pair in enumerate(pairs):
        if any(bool((side == side[0]).all()) for side in pair):
            keys[i] = "constant", i
    if permutations is None:
        most = MOST // len(set(keys))
        permutations = max(PERMUTATIONS, min(PER_TEST * len(pairs), most))
    count = as_count(permutations, "permutations", 0, 10**7)
    estimator = as_estimator(estimator)
    first = {key: i for i, key in reversed(list(enumerate(keys)))}
    exchanged = trajectory if exchange else groups
    jobs = (
        (*pair, time_series, groups, exchanged, count, first[key] == i)
        for i, (pair, key) in enumerate(zip(pairs, keys, strict=True))
    )
    estimates: list[Estimate] = []
    nulls: dict[Hashable, NDArray[np.float64]] = {}
    p = np.full(len(pairs), np.nan)
    for i, (one, tested) in enumerate(run_jobs(_measure, estimator, jobs, executor)):
        estimates.append(_of_trajectories(one, estimator, trajectory))
        if influences is not None:
            influences.append(one.influence)
        nulls.setdefault(keys[i], tested[:, 1:])
        if count:
            p[i] = 1.0 if one.degenerate else compare(*np.c_[tested[:, :1], nulls[keys[i]]])[1]
            p[i] = max(p[i], least_p(one.mi, nulls[keys[i]].shape[1]))
        if progress is not None:
            progress(i + 1, len(pairs))
    drawn = min(null.shape[1] for null in nulls.values())
    different = drawn  # pairings that differ from each other
    if exchanged is not None:
        different = min(drawn, factorial(min(int(exchanged.max()) + 1, 20)) - 1)
    method = pairing_method(time_series, exchanged)
    return _values(estimates, p, different, correction, estimates[0].how, method)


def screen_given(
    pairs: Sequence[Pair],
    given: NDArray[np.float64],
    estimator: Estimator,
    time_series: bool,
    permutations: int | None,
    correction: str,
    executor: Executor | None,
    progress: Callable[[int, int], None] | None,
) -> dict[str, Any]:
    """Values of `Screening` for the conditional information of pairs of sides given z."""
    as_choice(correction, "correction", CORRECTIONS)
    count = max(PERMUTATIONS, PER_TEST * len(pairs)) if permutations is None else permutations
    found: list[ConditionalEstimate] = []
    jobs = ((*pair, given, time_series, count) for pair in pairs)
    for one in run_jobs(_conditional, estimator, jobs, executor):
        found.append(one)
        if progress is not None:
            progress(len(found), len(pairs))
    p, method = np.array([one.p_value for one in found]), "permutation"
    return _values(found, p, count, correction, "given z", method)


def _values(
    found: Sequence[Any],
    p: NDArray[np.float64],
    permutations: int,
    correction: str,
    how: str,
    method: str,
) -> dict[str, Any]:
    """Values of `Screening` for estimates with their p-values."""
    one, names = found[0], ("mi", "stderr", "noise", *FLAGS)
    return {name: np.array([getattr(each, name) for each in found]) for name in names} | {
        "at_least": np.array([getattr(each, "at_least", None) for each in found], np.float64),
        "autocorrelated": any(each.autocorrelated for each in found),
        "p_value": p,
        # What cannot be tested (`unresolved`) counts as not significant.
        "p_adjusted": adjust_p_values(
            np.where(np.isnan(p) & (permutations > 0), 1.0, p), correction
        ),
        "samples": one.samples,
        "permutations": permutations,
        "correction": correction,
        "method": method,
        "how": f"{how}, {one.model} on {one.provider}, seed {one.seed}",
    }


def _conditional(
    estimator: Estimator, x: Any, y: Any, given: Any, series: bool, count: int
) -> ConditionalEstimate:
    return conditional_mutual_information(
        x, y, given, estimator, time_series=series, permutations=count
    )


def _of_trajectories(
    one: Estimate, estimator: Estimator, trajectory: NDArray[np.int64] | None
) -> Estimate:
    """An estimate with the noise of several trajectories."""
    if trajectory is None or one.degenerate:
        return one
    noise, effective = noise_of_trajectories(one.influence, one.per_slice, trajectory)
    constants = estimator.model_file.calibration.get("whole" if one.k is None else "sliced")
    stderr = standard_error(
        constants, noise, one.predicted_error, one.rank_noise, effective, one.beyond_gaussian
    )
    return replace(one, noise=noise, stderr=float(stderr), effective_samples=effective)


def _measure(
    estimator: Estimator,
    x: NDArray[np.float64],
    y: NDArray[np.float64],
    time_series: bool,
    groups: NDArray[np.int64] | None,
    exchanged: NDArray[np.int64] | None,
    count: int,
    null: bool,
) -> tuple[Estimate, NDArray[np.float64]]:
    """The estimate of a pair; and its two measures of dependence [2, 1], or with `null` [2, 1 + B].

    The second index is 0 for the given pairing, and 1 to B for permuted ones.
    """
    samples = Samples(x, y, time_series, groups=groups)
    one = estimator.estimate_checked(samples)
    if not count:
        return one, np.zeros((2, 1))
    prepared = estimator.prepare(samples)
    every = Pairings(prepared, count, time_series, estimator.seed, exchanged)
    pairings: Sequence[NDArray[np.int64]] = every if null else [every[0]]
    if one.degenerate:
        return one, np.zeros((2, len(pairings)))
    values = feature_correlations(prepared, pairings)
    return one, np.stack([values, rv_coefficients(prepared, pairings)])


def null_keys(pairs: Sequence[Pair], alone: bool) -> list[Hashable]:
    """Keys of the null distributions: pairs with equal keys share one; `alone`, none do."""
    if alone:
        return list(range(len(pairs)))
    seen: dict[int, Hashable] = {}  # keys of sides, which several pairs contain

    def key(side: NDArray[np.float64]) -> Hashable:
        if id(side) not in seen:
            # The ranks of a column depend on the number of samples of each value alone, in order.
            ties = np.unique(side, return_counts=True)[1] if side.shape[1] == 1 else side
            seen[id(side)] = ties.tobytes()
        return seen[id(side)]

    return [(key(x), key(y)) for x, y in pairs]


def adjust_p_values(p: NDArray[np.float64], correction: str) -> NDArray[np.float64]:
    """P-values [m] corrected for the number of tests.

    "benjamini-hochberg" (Benjamini and Hochberg 1995) bounds the false discovery rate, "holm" (Holm
    1979) the probability of any false discovery.
    """
    count, order = len(p), np.argsort(p)
    found = np.empty(count)
    if correction == "benjamini-hochberg":
        scaled = p[order] * count / np.arange(1, count + 1)
        found[order] = np.minimum.accumulate(scaled[::-1])[::-1]
    elif correction == "holm":
        found[order] = np.maximum.accumulate(p[order] * np.arange(count, 0, -1))
    else:
        return p
    return np.minimum(found, 1.0)
