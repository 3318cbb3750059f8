"""Increments below a coordinate's limit are rest, everywhere alike."""

from __future__ import annotations

import numpy as np
import pytest

from fakes import RecordingEstimator
from infoatlas_rt import KeyStates
from infoatlas_rt.keystates import pointwise
from infoatlas_rt.keystates.phases import fit_motion, increments, rest_limits

REST = slice(10, 30)  # steps at which the second coordinate jitters by 1e-5 of its range


@pytest.fixture
def states():
    rng = np.random.default_rng(0)
    found = [np.cumsum(rng.standard_normal((40, 2)), axis=0) for _ in range(3)]
    for s in found:
        s[:, 1] *= 10 / np.ptp(s[:, 1])
        s[REST, 1] = s[REST.start, 1] + 1e-5 * rng.standard_normal(20)
    return found


def test_limits_are_the_larger_of_range_and_resolution():
    states = [np.array([[0.0, 1.0], [10.0, 1.0]]), np.array([[-10.0, 1.0], [0.0, 3.0]])]
    np.testing.assert_allclose(rest_limits(states), [2e-3, 2e-4])
    np.testing.assert_allclose(rest_limits(states, np.array([1e-3, 1e-3])), [2e-3, 1e-3])


def test_small_increments_are_exactly_zero():
    states = np.array([[0.0], [0.4], [0.5], [-0.5]])
    np.testing.assert_array_equal(increments(states, 1, np.array([0.3])), [[0.4], [0.0], [-1.0]])
    np.testing.assert_array_equal(increments(states, 2, np.array([0.5])), [[0.5], [-0.9]])


def test_rest_in_phases_is_a_tie(states):
    motion, scores = fit_motion(states, 2)
    column = int(np.flatnonzero(motion.columns == 1)[0])
    rows = np.split(scores[:, column], 3)
    assert len(np.unique([row[REST.start + 2 - 6 : REST.stop - 6] for row in rows])) == 1


def test_rest_in_local_information_is_zero(states):
    estimator = RecordingEstimator(8)
    pointwise.local_information(states, estimator, lag=2)
    motion = estimator.calls[1].x[:36]  # increments after each step of the first trajectory
    assert (motion[REST.start : REST.stop - 4, 1] == 0).all() and (motion[:, 0] != 0).all()


def test_rest_in_explanations_is_zero(states):
    estimator = RecordingEstimator(8)
    steps = np.full((3, 1), REST.stop)
    found = KeyStates(steps, np.ones(1), np.zeros(1, np.int64), "phase", 2, states=tuple(states))
    found.explain({"moving": [0], "resting": [1]}, estimator=estimator)
    before = estimator.calls[0].y[: REST.stop - 2, 0]  # of the first trajectory, from step 2 on
    assert (before[REST.start :] == 0).all() and (before[: REST.start - 3] != 0).all()
