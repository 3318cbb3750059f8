"""Forward selection, and the selector in pipelines of scikit-learn."""

from __future__ import annotations

import numpy as np
import pandas
import pytest

from infoatlas_rt import Estimator, InputError
from infoatlas_tools import InformationSelector
from infoatlas_tools.analysis.selection import select_features


@pytest.fixture(scope="module")
def estimator():
    return Estimator(threads=1)


def test_a_copy_adds_nothing(estimator):
    rng = np.random.default_rng(0)
    X = pandas.DataFrame(rng.standard_normal((200, 4)), columns=list("abcd"))
    X["b"] = X["a"] + 0.3 * X["b"]  # a with noise
    y = X["a"] + 0.7 * X["d"] + 0.3 * rng.standard_normal(200)
    found = select_features(X, y, 3, estimator)
    assert found.names == ("a", "d") and list(found.order) == [0, 3]
    assert found.joint == estimator.estimate(X[["a", "d"]], y).mi
    assert (found.mi > 2 * found.stderr).all() and (found.p_value <= 0.05).all()
    assert str(found).count("adds") == 2


def test_exclusive_or(estimator):
    X = np.random.default_rng(1).integers(0, 2, (150, 5))
    found = select_features(X, X[:, 1] ^ X[:, 3], 3, estimator)
    assert found.names == ("x1", "x3")
    assert found.mi == pytest.approx([np.log(2)] * 2, abs=0.05)


def test_nothing_is_selected_without_dependence(estimator):
    X = np.random.default_rng(2).standard_normal((100, 3))
    found = select_features(X[:, :2], X[:, 2], 2, estimator)
    assert not found.names and not len(found.mi) and found.joint == 0
    with pytest.raises(InputError, match=r"count is 6 and y has 1 columns.*accepts 5"):
        select_features(np.tile(X, 2), X[:, 2], 6, estimator)


def test_scikit_learn():
    base, pipeline = (pytest.importorskip(f"sklearn.{name}") for name in ("base", "pipeline"))
    neighbours = pytest.importorskip("sklearn.neighbors")
    search = pytest.importorskip("sklearn.model_selection")
    X = pandas.DataFrame(np.random.default_rng(0).standard_normal((120, 4)), columns=list("abcd"))
    y = np.where(X["c"] ** 2 > 0.5, "far", "near")
    steps = [("select", InformationSelector()), ("knn", neighbours.KNeighborsClassifier())]
    grid = search.GridSearchCV(pipeline.Pipeline(steps), {"select__count": [1, 3]}, cv=2)
    best = grid.fit(X, y).best_estimator_["select"]
    assert best.count == 1 and list(best.get_support(indices=True)) == [2]
    assert best.pvalues_[2] < 0.05 and best.pvalues_.shape == best.scores_.shape == (4,)
    assert list(best.transform(X).columns) == ["c"]
    forward = base.clone(best).set_params(forward=True, count=2)
    assert not hasattr(forward, "scores_") and forward.fit(X, y).get_support()[2]
    with pytest.raises(InputError, match="there is no parameter 'k'"):
        forward.set_params(k=2)
