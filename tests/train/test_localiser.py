"""The learned localiser finds rewarded steps, at a different time in each trajectory."""

import numpy as np
import pytest

from infoatlas_tools.trajectories import Trajectories
from infoatlas_train.localiser import apart, fit
from refusals import refuses
from regimes import demonstrations


def ramps(count=40):
    """A ramp that passes zero at a different step in each trajectory, and a coordinate of noise."""
    rng = np.random.default_rng(0)
    zeros = rng.integers(20, 60, count)
    states = [
        np.stack([np.tanh((np.arange(80) - zero) / 10), rng.standard_normal(80)], 1)
        for zero in zeros
    ]
    return states, zeros


def test_it_finds_the_rewarded_time_of_each_trajectory():
    states, zeros = ramps()
    level = np.concatenate(states)[:, 0].mean() / np.concatenate(states)[:, 0].std()
    found, concentration = fit(
        states, 1, 2, lambda x, y, step: -(x[:, 0] + level).square().mean(), steps=250
    )
    assert found.shape == (40, 1) and concentration.shape == (1,)
    assert np.corrcoef(found[:, 0], zeros)[0, 1] > 0.9
    assert np.abs(found[:, 0] - zeros).mean() < 5  # 10 at a constant time


def test_order_alone_spreads_the_concepts_equally_in_all_trajectories():
    states, _ = ramps()
    found, _ = fit(states, 4, 2, None, steps=150)
    assert (np.diff(found, axis=1) > 5).all()
    assert found.std(axis=0).max() < 4
    np.testing.assert_array_equal(found, fit(states, 4, 2, None, steps=150)[0])


def test_steps_are_distinct_and_within():
    times = np.array([[0.0, 0.2, 0.1], [30.0, 9.0, 9.2], [5.0, 5.0, 5.0]])
    found = apart(times, 2, np.array([40.0, 10.0, 6.0]))
    assert found.tolist() == [[2, 3, 4], [7, 8, 9], [3, 4, 5]]


def test_it_accepts_trajectories_of_the_runtime():
    states, _ = demonstrations()
    whole = Trajectories(states)
    (a, strength), (b, same) = fit(states, 3, 2, steps=2), fit(whole, 3, 2, steps=2)
    assert a.shape == (12, 3) and (np.diff(a, axis=1) > 0).all()
    np.testing.assert_array_equal(a, b)
    np.testing.assert_array_equal(strength, same)


@pytest.mark.parametrize(
    "length, match",
    [(None, "24 samples are fewer than the 32"), (4, "trajectory 3 has 4 steps, and 2 .* need 5")],
)
def test_too_little_data_is_refused(length, match):
    states, _ = demonstrations()
    states[3] = states[3][:length]
    refuses(match, fit, states, 2, 2)
