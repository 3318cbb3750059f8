"""Compares lags, features or pairs of columns: many estimates with tests."""

import os
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Executor
from itertools import combinations
from typing import Any

import numpy as np
from numpy.typing import NDArray

from infoatlas_rt.errors import InputError
from infoatlas_rt.estimation.bounds import warn_of_copies
from infoatlas_rt.estimation.estimator import Estimator, as_estimator
from infoatlas_rt.inputs.arrays import column_names
from infoatlas_rt.inputs.checks import as_count, as_flag, as_groups, as_samples

from .lagged import best_lag, lagged_rows, series_label
from .many_tests import screen, screen_given
from .screening_results import FeatureRanking, LagScan, PairwiseInformation, rank_lags


def lag_scan(
    x: Any,
    y: Any,
    lags: Sequence[int],
    estimator: Estimator | str | os.PathLike[str] | None = None,
    *,
    repeated: bool = True,
    permutations: int | None = None,
    correction: str = "benjamini-hochberg",
    executor: Executor | None = None,
    progress: Callable[[int, int], None] | None = None,
) -> LagScan:
    """Estimate I(x_(t-lag); y_t) over lags.

    The pairs of all lags have their middles at the same steps, so the estimates differ by the lag
    alone. With x and y exchanged, lags of the other sign have the same pairs.

    Parameters
    ----------
    x, y : array-like [T] or [T, d], or list of such arrays
        Two series of one robot, or lists of trajectories, x[i] of the same length as y[i]. Samples
        are never paired across trajectories.
    lags : sequence of int
        Steps from y back to x; negative if y is ahead. Only steps that have a partner at every lag
        are used, so the largest lags decide their number.
    estimator : Estimator or str or path, optional
        The estimator to use, or a model to make one of; the shipped model unless given.
    repeated : bool
        Trajectories of a list are executions of one task, so the motion that all share is no
        dependence: the tests exchange complete trajectories of y. The steps of one of another
        length are stretched. G of them have G! pairings, so p is rarely
        below 1 / G!. False: parts of one recording, which the tests shift as one series.
    permutations : int, optional
        B, exchanges, or cyclic shifts, at most n - 1, which all lags share. By default 40 for each
        lag, and at least 199; 0 leaves out the tests.
    correction : {"benjamini-hochberg", "holm", "none"}
        "benjamini-hochberg" bounds the share of false discoveries, "holm" the probability of one.
    executor : concurrent.futures.Executor, optional
        Its workers share the lags; the result has the same bits as without it.
    progress : callable, optional
        Called with (lags done, lags in all).

    Raises
    ------
    InputError
        The samples or settings cannot be used, or the series are too short for the lags.
    ModelError
        The model's output is not finite.

    Examples
    --------
    >>> import numpy as np
    >>> from infoatlas_tools import lag_scan
    >>> x, noise = np.random.default_rng(0).normal(size=(2, 200))
    >>> found = lag_scan(x, np.roll(x, 3) + noise, range(6), permutations=0)
    >>> round(found.best, 1)
    3.0
    """
    try:
        steps = sorted({as_count(lag, "a lag", -(10**6), 10**6) for lag in lags})
    except TypeError as error:
        raise InputError(f"lags is {lags!r}: pass a sequence of int, as range(20)") from error
    if not steps:
        raise InputError("there are no lags: pass at least one, as range(20)")
    halves = [-(-lag // 2) for lag in steps], [-(lag // 2) for lag in steps]
    *sides, _, trajectory = lagged_rows(x, y, (*halves, ()))
    columns = (np.split(side, len(steps), axis=1) for side in sides)
    pairs = [
        (np.ascontiguousarray(a), np.ascontiguousarray(b)) for a, b in zip(*columns, strict=True)
    ]
    estimator, influences = as_estimator(estimator), list[NDArray[np.float64]]()
    found = screen(
        pairs, estimator, True, permutations, correction, executor, progress, trajectory,
        exchange=as_flag(repeated, "repeated") and bool(trajectory[-1]), influences=influences,
    )  # fmt: skip
    ranked = rank_lags(found["mi"], found["at_least"])
    dims = min(*(side.shape[1] for side in pairs[0]), estimator.k or estimator.model_file.dim)
    best, interval = best_lag(np.array(steps), ranked, influences, dims, estimator.seed)
    names = series_label(x, "x"), series_label(y, "y")
    question = "I({}(t-lag); {}(t))".format(*names)
    return LagScan(**found, lags=np.array(steps), best=best, interval=interval, question=question)


def rank_features(
    X: Any,
    y: Any,
    estimator: Estimator | str | os.PathLike[str] | None = None,
    *,
    features: Mapping[str, Sequence[Any]] | None = None,
    given: Any = None,
    time_series: bool = False,
    groups: Any = None,
    permutations: int | None = None,
    correction: str = "benjamini-hochberg",
    executor: Executor | None = None,
    progress: Callable[[int, int], None] | None = None,
) -> FeatureRanking:
    """Rank the columns of X, or groups of them, by their information about y.

    Parameters
    ----------
    X : array-like [n, d]
        Rows that are independent of each other, the steps of one recording (`time_series`), or
        trajectories end to end (`groups`).
    y : array-like [n] or [n, dy]
        Target of the ranking; row i belongs to row i of X.
    estimator : Estimator or str or path, optional
        The estimator to use, or a model to make one of; the shipped model unless given.
    features : mapping of str to sequence of int or str, optional
        Sets of columns by their positions or names; each column alone unless given. All have to
        fit the model unsliced (D coordinates), or none: sliced and unsliced estimates cannot be
        compared.
    given : array-like [n] or [n, dz], optional
        z: features are ranked by what they add to it, I(X_j; y | z), with the tests of
        `conditional_mutual_information`. Nothing is sliced then, and `groups` cannot be used.
    time_series : bool
        The samples are in order of time, and neighbours depend on each other: the tests shift y
        cyclically. Features do not share permutations then, so tests need more time.
    groups : array-like [n] of int, optional
        Trajectory of each row; all have as many rows. The tests exchange complete trajectories of
        y, and the noise is clustered by them. Permutations are not shared then either.
    permutations : int, optional
        B, permuted pairings of each test; no p-value is below 1 / (1 + B). By default 40 for each
        feature, at least 199, and fewer above 20,000 in all if not shared. 0 leaves out the tests.
    correction : {"benjamini-hochberg", "holm", "none"}
        "benjamini-hochberg" bounds the share of false discoveries, "holm" the probability of one.
    executor : concurrent.futures.Executor, optional
        Its workers share the features; the result has the same bits as without it.
    progress : callable, optional
        Called with (features done, features in all).

    Raises
    ------
    InputError
        The samples or settings cannot be used, or sliced and unsliced features would be mixed.
    ModelError
        The model's output is not finite.

    Examples
    --------
    >>> import numpy as np
    >>> from infoatlas_tools import rank_features
    >>> X = np.random.default_rng(0).normal(size=(200, 3))
    >>> rank_features(X, X[:, 0] + 2 * X[:, 1] ** 2, permutations=0).names
    ('x1', 'x0', 'x2')
    """
    samples, target = as_samples(X, "X"), as_samples(y, "y")
    columns = column_labels(X, samples.shape[1])
    if features is None:
        sets = {name: [i] for i, name in enumerate(columns)}
    else:
        if not isinstance(features, Mapping):
            raise InputError(
                f"features is of type {type(features).__name__}: pass sets of columns by names, as "
                "{'force': [0, 1, 2]}"
            )
        sets = {name: _positions(group, name, columns) for name, group in features.items()}
    if not sets:
        raise InputError("there are no features: pass at least one group of columns")
    estimator = as_estimator(estimator)
    wide = [name for name, own in sets.items() if len(own) > estimator.model_file.dim]
    if wide and len(wide) < len(sets) and estimator.k is None and given is None:
        raise InputError(
            f"feature {wide[0]!r} would be sliced and others not: model "
            f"{estimator.model_file.name} accepts {estimator.model_file.dim} columns unsliced. "
            'Split it, pass the model "wide" (20 columns), or an Estimator with k'
        )
    pairs = [(np.ascontiguousarray(samples[:, own]), target) for own in sets.values()]
    time_series = as_flag(time_series, "time_series")
    groups = None if groups is None else as_groups(groups, len(samples))
    if not time_series and groups is None:
        warn_of_copies(samples, target)
    if given is None:
        found = screen(
            pairs, estimator, time_series, permutations, correction, executor, progress,
            groups=groups,
        )  # fmt: skip
    elif groups is not None:
        raise InputError("groups cannot be used with given: pass one row of each trajectory")
    else:
        found = screen_given(
            pairs, as_samples(given, "given"), estimator, time_series, permutations, correction,
            executor, progress,
        )  # fmt: skip
    order = np.argsort(-found["mi"], kind="stable")
    found |= {name: v[order] for name, v in found.items() if isinstance(v, np.ndarray)}
    names = list(sets)
    return FeatureRanking(**found, names=tuple(names[i] for i in order), order=order)


def pairwise_mutual_information(
    X: Any,
    estimator: Estimator | str | os.PathLike[str] | None = None,
    *,
    time_series: bool = False,
    groups: Any = None,
    permutations: int | None = None,
    correction: str = "benjamini-hochberg",
    executor: Executor | None = None,
    progress: Callable[[int, int], None] | None = None,
) -> PairwiseInformation:
    """Estimate the mutual information of all pairs of columns of X.

    Parameters
    ----------
    X : array-like [n, d]
        Two columns at least. Rows are independent of each other, the steps of one recording
        (`time_series`), or trajectories end to end (`groups`).
    estimator : Estimator or str or path, optional
        The estimator to use, or a model to make one of; the shipped model unless given.
    time_series : bool
        The samples are in order of time, and neighbours depend on each other: the tests shift one
        column cyclically. Pairs do not share permutations then, so tests need more time.
    groups : array-like [n] of int, optional
        Trajectory of each row; all have as many rows. The tests exchange complete trajectories of
        one column, and the noise is clustered by them. Permutations are not shared then either.
    permutations : int, optional
        B, permuted pairings of each test; no p-value is below 1 / (1 + B). By default 40 for each
        pair, at least 199, and fewer above 20,000 in all if not shared. 0 leaves out the tests.
    correction : {"benjamini-hochberg", "holm", "none"}
        "benjamini-hochberg" bounds the share of false discoveries, "holm" the probability of one.
    executor : concurrent.futures.Executor, optional
        Its workers share the pairs; the result has the same bits as without it.
    progress : callable, optional
        Called with (pairs done, pairs in all).

    Raises
    ------
    InputError
        The samples or settings cannot be used.
    ModelError
        The model's output is not finite.

    Examples
    --------
    >>> import numpy as np
    >>> from infoatlas_tools import pairwise_mutual_information
    >>> X = np.random.default_rng(0).normal(size=(200, 3))
    >>> X[:, 2] += X[:, 0]
    >>> found = pairwise_mutual_information(X, permutations=0)
    >>> found.pairs[found.mi.argmax()]
    array([0, 2])
    """
    samples = as_samples(X, "X")
    if samples.shape[1] < 2:
        raise InputError("X has one column: pass two at least")
    which = list(combinations(range(samples.shape[1]), 2))
    columns = [np.ascontiguousarray(column[:, None]) for column in samples.T]
    pairs = [(columns[i], columns[j]) for i, j in which]
    time_series = as_flag(time_series, "time_series")
    groups = None if groups is None else as_groups(groups, len(samples))
    if not time_series and groups is None:
        warn_of_copies(samples[:, :1], samples[:, 1:])
    found = screen(
        pairs, estimator, time_series, permutations, correction, executor, progress, groups=groups
    )
    names = column_labels(X, samples.shape[1])
    return PairwiseInformation(**found, names=names, pairs=np.array(which))


def column_labels(values: Any, d: int) -> tuple[str, ...]:
    """Names of d columns; InputError if two have one name."""
    names = column_names(values) or tuple(f"x{i}" for i in range(d))
    twice = sorted({name for name in names if names.count(name) > 1})
    if twice:
        raise InputError(f"X has several columns named {', '.join(twice)}: rename them")
    return names


def _positions(group: Any, name: str, columns: Sequence[str]) -> list[int]:
    """Positions of a group of columns, given by positions or names."""
    if isinstance(group, str | int | None):
        group = [group]
    found = []
    for column in group:
        if isinstance(column, str):
            if column not in columns:
                raise InputError(
                    f"feature {name!r} has the column {column!r}, and X has none of this name: "
                    f"use positions, or names of {', '.join(columns)}"
                )
            found.append(columns.index(column))
        else:
            found.append(as_count(column, f"a column of feature {name!r}", 0, len(columns) - 1))
    if not found:
        raise InputError(f"feature {name!r} has no columns: pass one at least, or leave it out")
    return found
