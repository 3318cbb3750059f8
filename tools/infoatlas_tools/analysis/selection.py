"""Selects features step by step, by the information that each adds to the chosen ones."""

from __future__ import annotations

import inspect
import os
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np
from numpy.typing import NDArray

from infoatlas_rt.errors import InputError
from infoatlas_rt.estimation.estimator import Estimator, as_estimator
from infoatlas_rt.estimation.prepare import Samples
from infoatlas_rt.inputs.checks import as_count, as_flag, as_samples

from .conditional import conditional
from .conditional_test import LEVEL
from .independence import PERMUTATIONS
from .many_tests import PER_TEST
from .screening import column_labels, rank_features
from .screening_results import FeatureRanking


@dataclass(frozen=True, eq=False)
class FeatureSelection:
    """Features in the order of their selection.

    Attributes
    ----------
    names : tuple of m str
        x0, x1, ... if the columns have no names.
    order : [m] int64
        Their columns. The two of a pair that was selected at once follow each other.
    mi, stderr : [m] float64
        Nats; information about y that a feature added to those before it, and its standard error.
        Both features of a pair have those of the pair.
    p_value : [m] float64
        Of the step, multiplied by the number of its candidates (Bonferroni).
    joint : float
        Nats; information of all selected features together about y; 0 if there are none.
    """

    names: tuple[str, ...]
    order: NDArray[np.int64]
    mi: NDArray[np.float64]
    stderr: NDArray[np.float64]
    p_value: NDArray[np.float64]
    joint: float

    def __str__(self) -> str:
        """A line for each feature."""
        steps = zip(self.names, self.mi, self.stderr, self.p_value, strict=True)
        lines = [f"{name}: adds {a:.3f} ± {e:.3f} nats, p = {p:.3g}" for name, a, e, p in steps]
        return "\n".join([f"{len(lines)} features: {self.joint:.3f} nats together", *lines])


def select_features(
    X: Any,
    y: Any,
    count: int,
    estimator: Estimator | str | os.PathLike[str] | None = None,
    time_series: bool = False,
) -> FeatureSelection:
    """Select at most `count` columns of X [n, d] by their conditional information about y [n, dy].

    Each step adds the column with which the chosen ones are most informative, if the test of
    `conditional_mutual_information` given the chosen ones is significant. If it is not, the step
    adds the best pair of columns, if that is significant: neither switch of an exclusive or is
    informative alone. Otherwise the selection ends. InputError if `count` is too large for the
    model.
    """
    samples, target = as_samples(X, "X"), as_samples(y, "y")
    estimator, series = as_estimator(estimator), as_flag(time_series, "time_series")
    columns, dim = column_labels(X, samples.shape[1]), estimator.model_file.dim
    count = min(as_count(count, "count", 1), len(columns))
    if max(count, count - 1 + target.shape[1]) > dim:
        raise InputError(
            f"count is {count} and y has {target.shape[1]} columns: model "
            f"{estimator.model_file.name} accepts {dim} columns unsliced; pass a smaller count, or "
            'the model "wide" (20 columns)'
        )
    chosen: list[int] = []
    found: list[tuple[float, float, float]] = []
    joint = 0.0

    def best(size: int) -> tuple[float, tuple[int, ...], tuple[float, float, float]]:
        """Joint information, columns, and (mi, stderr, p) of the best `size` of the others."""
        rest = [i for i in range(len(columns)) if i not in chosen]
        options = list(combinations(rest, size))
        values = [
            estimator.estimate_checked(
                Samples(np.ascontiguousarray(samples[:, [*chosen, *own]]), target, series)
            ).mi
            for own in options
        ]
        top = int(np.argmax(values))
        given = samples[:, chosen] if chosen else np.zeros((len(samples), 1))
        one = conditional(
            samples[:, options[top]], target, given, estimator, "", series, None,
            max(PERMUTATIONS, PER_TEST * len(options)), LEVEL / len(options),
        )  # fmt: skip
        p = min(np.nan_to_num(one.p_value, nan=1.0) * len(options), 1.0)
        return values[top], options[top], (one.mi, one.stderr, p)

    while len(chosen) < count:
        information, own, step = best(1)
        if step[2] > LEVEL and count - len(chosen) >= 2:
            information, own, step = best(2)
        if step[2] > LEVEL:
            break
        joint = information
        chosen += own
        found += [step] * len(own)
    mi, stderr, p_value = np.array(found).reshape(-1, 3).T
    names = tuple(columns[i] for i in chosen)
    return FeatureSelection(names, np.array(chosen, np.int64), mi, stderr, p_value, joint)


class InformationSelector:
    """Selects columns by their information about y, as a transformer of scikit-learn.

    Parameters
    ----------
    count : int
        Columns to select, at most.
    forward : bool
        Step by step, by what a column adds to the chosen ones, I(X_j; y | chosen), as long as it is
        significant; or a pair of columns, if no single one is (an exclusive or). Nothing is sliced:
        `count`, and `count` - 1 with the columns of y, are at most D (5, or 20 with the model
        "wide"). Otherwise by the information of each column alone, as `rank_features`.
    estimator : Estimator or str or path, optional
        The estimator to use, or a model to make one of; the shipped model unless given.
    time_series : bool
        The samples are in order of time, and each depends on its neighbours.

    Attributes
    ----------
    scores_ : [d] float64
        Nats, after `fit`; with `forward`, what a selected column added, and 0 for the others.
    pvalues_ : [d] float64
        P-values after `fit`; with `forward`, corrected for the candidates, and 1 for the others.
    result_ : FeatureRanking or FeatureSelection
        Estimates with their errors, after `fit`.

    Examples
    --------
    >>> import numpy as np
    >>> from infoatlas_tools import InformationSelector
    >>> X = np.random.default_rng(0).integers(0, 2, (200, 4))
    >>> InformationSelector(2, forward=True).fit(X, X[:, 1] ^ X[:, 3]).get_support(indices=True)
    array([1, 3])
    """

    scores_: NDArray[np.float64]
    pvalues_: NDArray[np.float64]
    result_: FeatureRanking | FeatureSelection
    _support: NDArray[np.bool_]

    def __init__(
        self,
        count: int = 5,
        *,
        forward: bool = False,
        estimator: Estimator | str | os.PathLike[str] | None = None,
        time_series: bool = False,
    ) -> None:
        self.count, self.forward = count, forward
        self.estimator, self.time_series = estimator, time_series

    def fit(self, X: Any, y: Any) -> InformationSelector:
        """Score and select the columns of X.

        Parameters
        ----------
        X : array-like [n, d]
            Samples; a DataFrame gives its names to the columns.
        y : array-like [n] or [n, dy]
            Numbers, or classes of any type.

        Returns
        -------
        InformationSelector
            Itself.

        Raises
        ------
        InputError
            The samples or settings cannot be used.
        """
        target = np.asarray(y)
        if not np.issubdtype(target.dtype, np.number):  # a column of 0 and 1 for each class
            names, classes = np.unique(target, return_inverse=True)
            target = np.eye(len(names))[classes.ravel()][:, 1:]
        d = as_samples(X, "X").shape[1]
        self.scores_, self.pvalues_, self._support = np.zeros(d), np.ones(d), np.zeros(d, bool)
        found: FeatureRanking | FeatureSelection
        if self.forward:
            found = select_features(X, target, self.count, self.estimator, self.time_series)
        else:
            found = rank_features(X, target, self.estimator, time_series=self.time_series)
        self.result_ = found
        self.scores_[found.order], self.pvalues_[found.order] = found.mi, found.p_value
        self._support[found.order[: as_count(self.count, "count", 1)]] = True
        return self

    def get_support(self, indices: bool = False) -> NDArray[Any]:
        """The selected columns.

        Parameters
        ----------
        indices : bool
            Their positions instead of a mask.

        Returns
        -------
        [d] bool, or positions int64
        """
        return np.flatnonzero(self._support) if indices else self._support

    def transform(self, X: Any) -> Any:
        """Leave out the other columns.

        Parameters
        ----------
        X : array-like [n, d]
            Samples; a DataFrame gives its names to the columns.

        Returns
        -------
        array or DataFrame [n, selected]
        """
        return X.loc[:, self._support] if hasattr(X, "loc") else np.asarray(X)[:, self._support]

    def fit_transform(self, X: Any, y: Any) -> Any:
        """`fit`, then `transform`.

        Parameters
        ----------
        X : array-like [n, d]
            Samples; a DataFrame gives its names to the columns.
        y : array-like [n] or [n, dy]
            Numbers, or classes of any type.

        Returns
        -------
        array or DataFrame [n, selected]

        Raises
        ------
        InputError
            The samples or settings cannot be used.
        """
        return self.fit(X, y).transform(X)

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Parameters of the constructor.

        Parameters
        ----------
        deep : bool
            For scikit-learn; it changes nothing.

        Returns
        -------
        dict of str
        """
        return {name: getattr(self, name) for name in inspect.signature(type(self)).parameters}

    def set_params(self, **params: Any) -> InformationSelector:
        """Set parameters of the constructor.

        Parameters
        ----------
        **params
            Their new values.

        Returns
        -------
        InformationSelector
            Itself.

        Raises
        ------
        InputError
            There is no such parameter.
        """
        for name, value in params.items():
            if name not in self.get_params():
                raise InputError(f"there is no parameter {name!r}: use {list(self.get_params())}")
            setattr(self, name, value)
        return self

    def __sklearn_tags__(self) -> Any:
        from sklearn.utils import InputTags, Tags, TargetTags, TransformerTags

        return Tags(
            estimator_type=None,
            target_tags=TargetTags(required=True),
            transformer_tags=TransformerTags(),
            input_tags=InputTags(),
        )
