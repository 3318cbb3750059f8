"""Switches of grippers, in hand-made openings."""

import numpy as np
import pytest

from infoatlas_tools.keystates.contacts.find_grippers import find_grippers
from infoatlas_tools.keystates.contacts.gripper import find_switches
from infoatlas_tools.keystates.motion.durations import gaussian_smooth


def switches(knots, rate=20.0, noise=0.0, scale=0.08):
    """(begin, end, change) of the switches of four openings through (seconds, share) knots."""
    seconds = np.arange(0, knots[-1][0], 1 / rate)
    path = np.interp(seconds, *np.transpose(knots))
    drawn = np.random.default_rng(0).normal(size=(4, len(path), 1)) * noise
    states = list(scale * (path[:, None] + drawn))
    grippers = find_grippers(["gripper.pos"], states, rate, (), ())
    rows = find_switches(grippers, states, rate)
    return [[(s.begin, s.end, s.change) for s in row] for row in rows]


SLOW = [(0, 1), (3, 1), (5, 0), (8, 0), (8.4, 1), (11, 1)]


@pytest.mark.parametrize("rate", [10.0, 20.0, 50.0, 120.0])
@pytest.mark.parametrize("noise", [0, 0.01])
def test_slow_and_quick_switches(rate, noise):
    for row in switches(SLOW, rate, noise):
        (closes, opens) = row
        at = np.array([closes[0], closes[1], opens[0], opens[1]]) / rate
        assert np.abs(at - [3, 5, 8, 8.4]).max() < 0.4  # 10% of 2 s, and a step
        assert np.abs(at[2:] - [8, 8.4]).max() < 0.15 and closes[2] < -0.8 and opens[2] > 0.8


def test_a_switch_within_one_step():
    for row in switches([(0, 1), (3, 1), (3.01, 0), (6, 0), (6.01, 1), (9, 1)]):
        assert np.abs(np.array(row)[:, :2] - [[60, 61], [120, 121]]).max() <= 1


def test_jitter_and_small_changes_are_no_switches():
    small = [(0, 1), (2, 1), (2.2, 0.85), (3, 0.85), (3.2, 1), *((4 + t, v) for t, v in SLOW)]
    drawn = np.random.default_rng(0)
    seconds = np.arange(0, 15, 0.05)
    states = [
        np.interp(seconds, *np.transpose(knots))[:, None] + drawn.normal(0, 0.02, (300, 1))
        for knots in (small, *3 * [[(t + 4, v) for t, v in SLOW]])
    ]
    found = find_switches(find_grippers(["gripper"], states, 20, (), ()), states, 20)
    assert [len(row) for row in found] == [2] * 4


@pytest.mark.parametrize("size", [0.12, 0.2, 0.6])
@pytest.mark.parametrize("scale", [0.08, 100.0, -3000.0])
def test_changes_of_any_size_that_demonstrations_share(size, scale):
    """A thick object needs a small opening."""
    high = 0.4 + size
    knots = [(0, 0), (2, 0), (2.4, 1), (5, 1), (5.4, 0.4), (8, 0.4), (8.3, high), (10, high),
             (10.4, 0), (13, 0)]  # fmt: skip
    for row in switches(knots, noise=0.01, scale=scale):
        assert len(row) == 4 and row[2][2] * np.sign(scale) == pytest.approx(size, abs=0.04)
    other = [(0, 0), (13, 0)]  # a single demonstration, and three without it
    states = [np.interp(np.arange(0, 13, 0.05), *np.transpose(k))[:, None] * scale
              for k in (knots, other, other, other)]  # fmt: skip
    assert len(find_switches(find_grippers(["gripper"], states, 20, (), ()), states, 20)[0]) >= 2


def test_a_gripper_that_stops_half_way_has_another_level():
    states = [np.interp(np.arange(0, 11, 0.05), *np.transpose(SLOW))[:, None] for _ in range(5)]
    states[2] = 0.4 + 0.6 * states[2]
    grippers = find_grippers(["gripper"], states, 20, (), ())
    levels = [row[0].level for row in find_switches(grippers, states, 20)]
    assert np.abs(np.array(levels) - [0, 0, 0.4, 0, 0]).max() < 0.06


def test_smoothing_keeps_constants_and_sums():
    values = np.random.default_rng(0).normal(size=(50, 2))
    np.testing.assert_allclose(gaussian_smooth(np.ones((30, 1)), 2.0), 1)
    smooth = gaussian_smooth(values, 2.0)
    np.testing.assert_allclose(smooth.mean(axis=0), values.mean(axis=0), atol=0.05)
    assert gaussian_smooth(values, 2.0).std() < 0.5 * values.std()
    assert gaussian_smooth(values[:3], 2.0).shape == (3, 2)
