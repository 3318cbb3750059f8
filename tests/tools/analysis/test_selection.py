"""Forward selection, and the selector in pipelines of scikit-learn."""

from dataclasses import replace

import numpy as np
import pandas
import pytest

from infoatlas_rt import Estimator, InputError
from infoatlas_tools.analysis import selection
from infoatlas_tools.analysis.conditional import conditional
from infoatlas_tools.analysis.selection import select_features


def test_a_copy_adds_nothing(estimator):
    rng = np.random.default_rng(0)
    X = pandas.DataFrame(rng.standard_normal((200, 4)), columns=list("abcd"))
    X["b"] = X["a"] + 0.3 * X["b"]  # a with noise
    y = X["a"] + 0.7 * X["d"] + 0.3 * rng.standard_normal(200)
    found = select_features(X, y, 3, estimator)
    assert found.names == ("a", "d") and list(found.order) == [0, 3]
    assert found.joint.mi == estimator.estimate(X[["a", "d"]], y).mi
    assert (found.mi > 2 * found.stderr).all() and (found.p_value <= 0.05).all()
    assert str(found).count("nats more") == 2 and "no other column" in found.end


def test_exclusive_or(estimator):
    X = np.random.default_rng(1).integers(0, 2, (150, 5))
    found = select_features(X, X[:, 1] ^ X[:, 3], 3, estimator)
    assert found.names == ("x1", "x3") and "x1 with x3: " in str(found) and found.end
    assert found.mi == pytest.approx([np.log(2)] * 2, abs=0.05)


def test_copies_and_constants_are_no_half_of_a_pair():
    """Beside a weak column, the best pair has another column, which adds nothing."""
    rng, n = np.random.default_rng(104), 800
    X = pandas.DataFrame({name: rng.standard_normal(n) for name in ("q0", "q1", "q2", *"abc")})
    X["copy"], X["degrees"] = X["q0"], np.degrees(X["q1"])
    X["weak"], X["constant"] = rng.uniform(0, 100, n), 1 / 30
    for i in range(4):
        X[f"noise{i}"] = rng.standard_normal(n)
    y = 1.2 * X["q0"] + np.sin(2 * X["q1"]) + 0.6 * X["c"] ** 2 + X["a"] * X["b"]
    y += 0.8 * (X["weak"] > 50) + 0.5 * rng.standard_normal(n)
    wide = Estimator("wide", threads=1, shifts=8)
    found = select_features(X[list(rng.permutation(X.columns))], y, 9, wide)
    kinds = {"copy": "q0", "degrees": "q1"}
    assert [kinds.get(n, n) for n in found.names[:3]] in (["q0", "c", "q1"], ["q0", "q1", "c"])
    assert {*found.names[3:5]} == {"a", "b"} and found.names[5:] == ("weak",)


def test_nothing_is_selected_without_dependence(estimator):
    X = np.random.default_rng(2).standard_normal((100, 3))
    found = select_features(X[:, :2], X[:, 2], 2, estimator)
    assert not found.names and not len(found.mi) and found.joint is None and found.end
    with pytest.raises(InputError, match=r"count is 6 and y has 1 columns.*accepts 5"):
        select_features(np.tile(X, 2), X[:, 2], 6, estimator)


def test_one_permutation_does_not_drop_a_column(estimator, monkeypatch):
    """The smallest corrected p-value was 0.05: one larger permutation ended the selection."""
    rng = np.random.default_rng(3)
    X = rng.standard_normal((100, 12))
    y = X[:, 2] + 0.5 * rng.standard_normal(100)
    for larger, kept in ((1, 1), (2, 0)):

        def with_larger(*args, larger=larger, **options):
            found = conditional(*args, **options)
            count = len(found.null)
            return replace(found, p_value=max(found.p_value, (1 + larger) / (1 + count)))

        monkeypatch.setattr(selection, "conditional", with_larger)
        assert len(selection.select_features(X, y, 1, estimator).order) == kept
