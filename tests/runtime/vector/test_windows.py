"""Windows over parallel environments."""

import numpy as np
import pytest

from infoatlas_rt import Estimator, InputError, VectorWindows
from refusals import refuses


def walks(steps, envs, d=3, seed=0):
    """Random walks with dependent coordinates [steps, envs, d]."""
    return np.cumsum(np.random.default_rng(seed).standard_normal((steps, envs, d)), axis=0)


def test_a_result_is_the_estimate_of_the_window(estimator):
    states = walks(40, 3)
    states[:, 1, 2] = 7.0  # a constant coordinate
    states[:, 2] = 1.0  # at rest
    windows = VectorWindows(3, estimator, lag=3, window=32, every=2)
    for step in range(40):
        windows.push(states[step])
        due = step >= 34 and step % 2 == 0
        assert (windows.gain()[:2] != 0).all() == due
        if not due:
            continue
        for env in range(3):
            x, y = states[step - 31 : step + 1, env], states[step - 34 : step - 2, env]
            expected = estimator.estimate(x, y, time_series=True).mi
            assert abs(windows.information[env] - expected) < 1e-4
    assert windows.information[2] == 0.0


def test_slices_and_all_windows_in_few_calls():
    estimator = Estimator(threads=1, slices=4, k=2)
    windows, calls = VectorWindows(5, estimator, every=1), []
    run = estimator.backend.run

    def count(x, y, *rest):
        calls.append(len(x))
        return run(x, y, *rest)

    states = walks(34, 5, d=6, seed=1)
    estimator.backend.run = count
    try:
        for state in states:
            windows.push(state)
    finally:
        estimator.backend.run = run
    assert calls == [20]
    sides = ((states[2:, env], states[:-2, env]) for env in range(5))
    expected = [estimator.estimate(*own, time_series=True).mi for own in sides]
    np.testing.assert_allclose(windows.information, expected, atol=1e-4)


def test_no_pair_reaches_across_a_reset_or_a_refused_state(estimator):
    states = walks(80, 3, seed=2)
    windows = VectorWindows(3, estimator, every=1)
    for step in range(67):
        now = states[step].copy()
        if step == 33:
            now[2, 0] = np.inf
        windows.push(now)
        if step == 32:
            windows.reset([1])
    # 34 states since the reset, 33 since the refused state
    x, y = states[35:67, 1], states[33:65, 1]
    assert abs(windows.information[1] - estimator.estimate(x, y, time_series=True).mi) < 1e-4
    assert np.isnan(windows.information[2]) and list(windows.refused) == [0, 0, 1]
    windows.push(states[67])
    assert np.isfinite(windows.information).all()


def test_an_estimate_is_given_as_bonus_once(estimator):
    states = walks(40, 2, seed=3)
    windows = VectorWindows(2, estimator, every=16)
    given = [windows.bonus(state, np.zeros(2)) for state in states[:34]]
    assert [step for step, value in enumerate(given) if value.any()] == [33]
    np.testing.assert_array_equal(given[33], windows.information)
    # The last state is unknown, so the estimate of the state before has no effect.
    assert not windows.bonus(states[34], np.array([True, False])).any()
    assert np.isnan(windows.information[0]) and np.isfinite(windows.information[1])


def test_bad_arguments(estimator):
    refuses("window=20 is below the 32 samples", VectorWindows, 2, estimator, window=20)
    refuses("window=5001 is above the 5000 samples", VectorWindows, 2, estimator, window=5001)
    refuses("every", VectorWindows, 2, estimator, every=0)
    windows = VectorWindows(2, estimator)
    windows.push(np.zeros((2, 4)))
    refuses("3 coordinates, before they had 4", windows.push, np.zeros((2, 3)))
    with pytest.raises(InputError, match="more than 100000000 numbers"):
        VectorWindows(10**6, estimator).push(np.zeros((10**6, 4)))
