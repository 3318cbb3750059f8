"""`InformationSelector` in scikit-learn's pipelines and searches."""

import warnings

import numpy as np
import pandas
import pytest
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import GridSearchCV
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import Pipeline

from infoatlas_tools import InformationSelector
from infoatlas_tools.analysis.selection import select_features
from refusals import fails


def test_scikit_learn():
    X = pandas.DataFrame(np.random.default_rng(0).standard_normal((120, 4)), columns=list("abcd"))
    y = np.where(X["c"] ** 2 > 0.5, "far", "near")
    steps = [("select", InformationSelector()), ("knn", KNeighborsClassifier())]
    grid = GridSearchCV(Pipeline(steps), {"select__count": [1, 3]}, cv=2)
    best = grid.fit(X, y).best_estimator_["select"]
    assert best.count == 1 and list(best.get_support(indices=True)) == [2]
    assert best.pvalues_[2] < 0.05 and best.pvalues_.shape == best.scores_.shape == (4,)
    assert list(best.get_feature_names_out()) == ["c"]
    assert list(best.set_output(transform="pandas").transform(X).columns) == ["c"]
    fails(ValueError, "feature names", best.transform, X[["d", "c", "b", "a"]])
    forward = clone(best).set_params(forward=True, count=2)
    with pytest.raises(NotFittedError):
        forward.transform(X.to_numpy())
    assert forward.fit(X, y).get_support()[2]


def test_few_classes_have_a_column_each():
    """So the order of their names does not count."""
    X = np.random.default_rng(0).standard_normal((200, 4))
    classes = np.digitize(X[:, 1], [-0.5, 0.5])
    selector = InformationSelector(2, forward=True).fit(X, np.array(["b", "c", "a"])[classes])
    columns = np.eye(3)[[1, 2, 0]][classes][:, 1:]
    assert selector.result_.mi.tolist() == select_features(X, columns, 2).mi.tolist()


def test_names_of_many_classes_are_numbers_of_one_column():
    rng = np.random.default_rng(0)
    classes = rng.integers(0, 8, 300)
    X = np.c_[rng.standard_normal((300, 2)), rng.permutation(8)[classes] + rng.normal(size=300)]
    names = np.array([f"part {i}" for i in range(8)])[classes]
    for forward in (False, True):
        with pytest.warns(UserWarning, match="columns of 8 classes do not fit"):
            by_name = InformationSelector(2, forward=forward).fit(X, names)
        by_number = InformationSelector(2, forward=forward).fit(X, classes)
        np.testing.assert_array_equal(by_name.scores_, by_number.scores_)
        assert by_name.get_support()[2]


def test_similar_rows_are_warned_of():
    """Unrelated smooth series; as time series, they have no warning."""
    smooth = np.cumsum(np.random.default_rng(0).standard_normal((200, 4)), axis=0)
    for forward in (False, True):
        with pytest.warns(UserWarning, match="pass time_series=True"):
            InformationSelector(2, forward=forward).fit(smooth[:, :3], smooth[:, 3])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        InformationSelector(2, time_series=True).fit(smooth[:, :3], smooth[:, 3])
