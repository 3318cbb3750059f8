"""Selects features by their information, as a transformer of scikit-learn."""

import os
import warnings
from typing import Any

import numpy as np
from numpy.typing import NDArray

from infoatlas_rt.errors import InputError
from infoatlas_rt.estimation.estimator import Estimator, as_estimator
from infoatlas_rt.inputs.checks import as_count

from .screening import rank_features
from .screening_results import FeatureRanking
from .selection import FeatureSelection, select_features

try:
    from sklearn.base import BaseEstimator
    from sklearn.feature_selection import SelectorMixin
    from sklearn.utils.validation import check_is_fitted, validate_data
except ImportError as error:
    BaseEstimator, SelectorMixin = object, type("SelectorMixin", (), {})
    MISSING = f"InformationSelector needs scikit-learn 1.6 ({error}): pip install scikit-learn"
else:
    MISSING = ""


SIMILAR = (
    "neighbouring rows of X and y are similar, so p-values are too small and noise may be "
    "selected: if they are steps of a motion, pass time_series=True"
)
ORDERED = (
    "columns of {} classes do not fit into the model. So the classes are numbers in the order of "
    "their names, which can hide features: choose a smaller count, or pass numbers of your own"
)


class InformationSelector(SelectorMixin, BaseEstimator):  # type: ignore[misc]
    """Selects columns by their information about y, as a transformer of scikit-learn.

    Parameters
    ----------
    count : int
        Columns to select; at most, with `forward`.
    forward : bool
        Step by step, by what a column adds to the chosen ones, I(X_j; y | chosen), as long as it is
        significant. If no single column is, by a pair of columns (an exclusive or). Nothing is
        sliced: `count`, and `count` - 1 with the columns of y, are at most D (5, or 20 with the
        model "wide"). Otherwise by the information of each column alone, as `rank_features`.
    estimator : Estimator or str or path, optional
        The estimator to use, or a model to make one of; the shipped model unless given.
    time_series : bool
        The samples are in order of time, and each depends on its neighbours.

    Attributes
    ----------
    scores_ : [d] float64
        Nats, after `fit`; with `forward`, what the step of a selected column added, and 0 for the
        others. The two columns of a pair have the same score.
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

    def __init__(
        self,
        count: int = 5,
        *,
        forward: bool = False,
        estimator: Estimator | str | os.PathLike[str] | None = None,
        time_series: bool = False,
    ) -> None:
        if MISSING:
            raise InputError(MISSING)
        self.count, self.forward = count, forward
        self.estimator, self.time_series = estimator, time_series

    def fit(self, X: Any, y: Any) -> "InformationSelector":
        """Score and select the columns of X.

        Parameters
        ----------
        X : array-like [n, d]
            Samples; a DataFrame gives its names to the columns.
        y : array-like [n] or [n, dy]
            Numbers, or classes of any type [n]. These become columns of 0 and 1, one for each class
            but one, or the numbers 0, 1, ... if the columns do not fit into the model.

        Raises
        ------
        InputError
            The samples or settings cannot be used, or scikit-learn is not installed.
        ValueError
            scikit-learn cannot use X.

        Warns
        -----
        UserWarning
            Neighbouring rows are similar, and `time_series` is False; or columns of the classes do
            not fit into the model.
        """
        d = validate_data(self, X).shape[1]
        target = np.asarray(y)
        estimator, count = as_estimator(self.estimator), as_count(self.count, "count", 1)
        if not np.issubdtype(target.dtype, np.number):
            names, classes = np.unique(target, return_inverse=True)
            target = np.eye(len(names))[classes.ravel()][:, 1:]  # 0 and 1 for each class but one
            beside = count - 1 if self.forward else 0
            if target.shape[1] + beside > estimator.model_file.dim:
                target = classes.ravel()
                warnings.warn(ORDERED.format(len(names)), stacklevel=2)
        self.scores_, self.pvalues_, self._support = np.zeros(d), np.ones(d), np.zeros(d, bool)
        found: FeatureRanking | FeatureSelection
        if self.forward:
            found = select_features(X, target, count, estimator, self.time_series)
        else:
            found = rank_features(X, target, estimator, time_series=self.time_series)
        self.result_ = found
        judged = found if isinstance(found, FeatureRanking) else found.joint
        if judged is not None and judged.autocorrelated:
            warnings.warn(SIMILAR, stacklevel=2)
        self.scores_[found.order], self.pvalues_[found.order] = found.mi, found.p_value
        self._support[found.order[:count]] = True
        return self

    def _get_support_mask(self) -> NDArray[np.bool_]:
        check_is_fitted(self)
        return self._support
