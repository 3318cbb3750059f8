"""Complete estimates of the engine equal those with Python's preparation."""

from concurrent.futures import ThreadPoolExecutor
from dataclasses import fields

import numpy as np
import pytest

from infoatlas_rt import Estimator
from infoatlas_rt.estimation.prepare import Samples
from parity import PreparedByPython
from refusals import refuses

rng = np.random.default_rng(0)
X = rng.standard_normal((300, 8)).cumsum(axis=0)
Y = np.roll(X, 1, axis=0) + rng.standard_normal((300, 8))
X[:, 2], Y[:, 5] = 1, np.round(Y[:, 5])
MANY = rng.standard_normal((5100, 2))
FAST = rng.random((2000, 1))

CASES = {
    "unsliced": ({}, (X[:, :3], Y[:, :4]), {}),
    "slices": ({"seed": 2**63 + 1}, (X, Y), {"time_series": True}),
    "one side": ({"slices": 3, "sides": "y", "k": 2}, (X[:, :3], Y), {}),
    "copies": ({"slices": 3}, (np.column_stack([X[:, 2], X, X[:, :3] * 2]), Y), {}),
    "oscillation": ({}, (FAST, np.sin(100 * FAST) + MANY[:2000, :1] / 10), {}),
    "resolution": ({"shifts": 20}, (X[:, :3], Y[:, :3]), {"resolution_x": [0, 0.5, 0]}),
    "constant": ({}, (X, np.ones((300, 2))), {}),
    "directions": ({"directions": "canonical"}, (X, Y), {}),
    "parts": ({}, (MANY, MANY + 1), {}),
    "groups": ({"slices": 3}, (X, Y), {"groups": np.arange(300) // 20}),
    "a large seed": ({"seed": 2**70}, (X[:, :3], Y[:, :3]), {}),
}


@pytest.mark.parametrize("case", CASES)
def test_fields(case):
    settings, samples, options = CASES[case]
    estimator = Estimator(provider="native", **settings)
    found = estimator.estimate(*samples, **options)
    assert set(estimator.seconds) == {"slicing", "preprocessing", "inference", "total"}
    estimator.backend = PreparedByPython(estimator.backend)
    wanted = estimator.estimate(*samples, **options)
    for field in fields(found):
        ours, other = getattr(found, field.name), getattr(wanted, field.name)
        if isinstance(other, float | np.ndarray):
            np.testing.assert_allclose(ours, other, atol=1e-9, err_msg=field.name)
        else:
            assert ours == other and type(ours) is type(other), field.name


@pytest.mark.parametrize("left_out", [(), (0, 2, 4), tuple(range(8))])
def test_redundant_coordinates_of_a_stream_are_given(left_out):
    estimator = Estimator(provider="native", slices=3)
    samples = Samples(X, Y, redundant=((7,), left_out))
    found = estimator.estimate_checked(samples)
    estimator.backend = PreparedByPython(estimator.backend)
    wanted = estimator.estimate_checked(samples)
    assert found.mi == pytest.approx(wanted.mi, abs=1e-9)
    expected = (7,), left_out if len(left_out) < 8 else ()  # a side is never empty
    assert (found.redundant_x, found.redundant_y) == expected
    assert (wanted.redundant_x, wanted.redundant_y) == expected


def test_threads_and_sizes_in_turn():
    """Estimators of several threads share an engine; each call has memory of its own."""
    estimator = Estimator(provider="native", slices=4)
    sizes = [(n, d) for n in (40, 300, 100) for d in (3, 8)]
    wanted = [estimator.estimate(X[:n, :d], Y[:n, :d]).mi for n, d in sizes]
    with ThreadPoolExecutor(4) as pool:
        for _ in range(3):
            found = pool.map(lambda size: estimator.estimate(*cut(*size)).mi, sizes)
            assert list(found) == wanted


def cut(n, d):
    return X[:n, :d], Y[:n, :d]


def test_what_the_engine_refuses_is_explained_by_python():
    estimator = Estimator(provider="native", k=4)
    refuses("k=4 cannot be taken from x, which has 3", estimator.estimate, X[:, :3], Y)
    refuses("resolution_x 1e-308 is too small", estimator.estimate, X * 1e5, Y, resolution_x=1e-308)
