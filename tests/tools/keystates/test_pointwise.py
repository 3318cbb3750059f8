"""Key states by local information: the search for minima, and the inputs of the model."""

import numpy as np
import pytest

from fakes import RecordingEstimator
from infoatlas_rt import Estimator, InputError
from infoatlas_tools.keystates import pointwise


def switching(trajectories=16, seed=0):
    """Smooth motion of three coordinates with a turn at one random step: ([T, 3] each, steps)."""
    rng = np.random.default_rng(seed)
    states, turns = [], []
    for _ in range(trajectories):
        steps = int(rng.integers(50, 70))
        turn = int(steps * rng.uniform(0.5, 0.6))
        velocity = rng.uniform(0.5, 1.5, (2, 3)) * np.where(rng.random((2, 3)) < 0.5, -1, 1)
        speed = np.where(np.arange(steps)[:, None] < turn, velocity[0], velocity[1])
        states.append(np.cumsum(speed * rng.uniform(0.98, 1.02, (steps, 3)), axis=0))
        turns.append(turn)
    return states, np.array(turns)


def curve(steps, *dips):
    """A flat curve with narrow minima: (step, depth) each."""
    t = np.arange(steps)
    return 3 - sum(depth * np.exp(-0.5 * ((t - at) / 1.5) ** 2) for at, depth in dips)


def test_turns_of_a_motion_are_found():
    states, turns = switching()
    steps, local, depth = pointwise.discover(states, count=3)
    assert steps.shape == (16, 3)
    assert steps.dtype == np.int64
    assert (np.diff(steps, axis=1) > 0).all()
    assert [len(values) for values in local] == [len(own) for own in states]
    column = int(np.argmax(depth))
    assert (np.abs(steps[:, column] - turns) <= 2).mean() >= 0.9


def test_minima_are_those_that_trajectories_share():
    rng = np.random.default_rng(1)
    lengths = rng.integers(60, 120, 20)
    events = np.rint(lengths * rng.uniform(0.38, 0.44, 20)).astype(int)
    accidents = np.rint(lengths * rng.uniform(0.55, 0.95, 20)).astype(int)
    curves = [
        curve(n, (event, 1.0), (other, 1.2))
        for n, event, other in zip(lengths, events, accidents, strict=True)
    ]
    assert (pointwise.minima(curves, 1)[:, 0] == events).all()


def test_each_step_is_another_minimum():
    curves = [curve(60, (20, 2.0), (27, 1.0), (45, 1.0))] * 8
    assert pointwise.minima(curves, 3, apart=4).tolist() == [[20, 27, 45]] * 8
    assert pointwise.minima(curves, 2, apart=4)[0, 0] == 20


@pytest.mark.parametrize("k", [1, 5, 18])
def test_every_trajectory_gets_k_steps(k):
    """Also without enough minima, down to the shortest accepted trajectory."""
    curves = [curve(20, (9, 1.0)), np.ones(60), np.linspace(0, 1, 20)]
    steps = pointwise.minima(curves, k, apart=4)
    assert steps.shape == (3, k)
    assert (np.diff(steps, axis=1) > 0).all()
    assert (steps > 0).all()
    assert (steps < np.array([19, 59, 19])[:, None]).all()
    assert 9 in steps[0]


def test_inputs_of_the_model():
    """Two views; constant coordinates are left out, and small increments are exactly 0."""
    estimator = RecordingEstimator()
    rng = np.random.default_rng(0)
    states = [rng.standard_normal((n, 3)) for n in (12, 15)]
    for own in states:
        own[:, 1] = 4.0
        own[5:, 2] = own[5, 2] + 1e-6 * np.arange(len(own) - 5)
    local = pointwise.local_information(states, estimator, lag=3)
    assert [len(values) for values in local] == [12, 15]
    first, second = estimator.calls
    assert first.x.shape == first.y.shape == (9 + 12, 2)
    np.testing.assert_array_equal(first.x[:9], states[0][3:, [0, 2]])
    np.testing.assert_array_equal(first.y[9:], states[1][:-3, [0, 2]])
    assert second.x.shape == second.y.shape == (6 + 9, 2)
    np.testing.assert_array_equal(second.x[0, 0], states[0][6, 0] - states[0][3, 0])
    np.testing.assert_array_equal(second.y[0, 0], states[0][3, 0] - states[0][0, 0])
    assert (second.x[2:6, 1] == 0).all()


def test_local_information_is_dated_to_the_middle():
    """The stand-in returns 0, 1, 2, ...: row j of lag L is at the moment j + L / 2, or j + L."""
    states = [np.random.default_rng(0).standard_normal((12, 2))]
    (local,) = pointwise.local_information(states, RecordingEstimator(), lag=2)
    inner = np.arange(2, 10)
    np.testing.assert_allclose(local[inner], ((inner - 1) + (inner - 2)) / 2)
    assert local[0] == 0
    assert local[-1] == (9 + 7) / 2


def test_smoothing_keeps_level_and_mean():
    assert pointwise.smooth(np.full(9, 2.0), 2.0) == pytest.approx(np.full(9, 2.0))
    spike = np.zeros(41)
    spike[20] = 1
    smooth = pointwise.smooth(spike, 2.0)
    assert smooth.sum() == pytest.approx(1)
    assert smooth.argmax() == 20
    assert (smooth == smooth[::-1]).all()


@pytest.mark.parametrize(
    ("lengths", "options", "expected"),
    [
        ((30, 6), {"count": 5}, "6 steps"),
        ((30, 4), {"count": 1, "lag": 2}, "4 steps, and lag 2 needs 5: leave that"),
        ((30, 2), {"count": 1}, "2 steps, and 1 key states .* take 3: leave that"),
        ((30, 2), {"count": 4}, "take 6: leave that"),
        ((), {"count": 1}, "0 steps"),
    ],
)
def test_invalid_searches_are_refused(lengths, options, expected):
    states = [np.random.default_rng(0).standard_normal((n, 2)) for n in lengths]
    with pytest.raises(InputError, match=expected):
        pointwise.discover(states, **options)


def test_constant_coordinates_alone():
    with pytest.raises(InputError, match="all 2 coordinates are constant"):
        pointwise.local_information([np.ones((30, 2))] * 3)
    brief = np.zeros((2000, 2))
    brief[1000] = 1.0
    with pytest.raises(InputError, match=r"each of 2 coordinates has one value in 99.8%"):
        pointwise.local_information([brief] * 3)


def test_own_estimator_is_used():
    states, _ = switching(4)
    own = pointwise.local_information(states, Estimator(k=2, slices=3))
    other = pointwise.local_information(states, Estimator(k=2, slices=4))
    assert not np.array_equal(own[0], other[0])
