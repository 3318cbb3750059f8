"""Explanations of key states, for known changes."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

from infoatlas_rt import Estimator, InputError
from infoatlas_tools import discover_keystates
from infoatlas_tools.keystates import explanation
from infoatlas_tools.keystates.explanation import group_changes

GROUPS = {"tool": [0, 1, 2], "object": [3, 4, 5]}


@pytest.fixture(scope="module")
def grasps():
    """A tool moves alone, carries an object and leaves it; the first three columns are the tool."""
    rng = np.random.default_rng(0)
    states, cuts = [], []
    for _ in range(20):
        lengths = rng.integers(25, 40, 3)
        step = 0.2 * rng.standard_normal((lengths.sum(), 3)) + rng.standard_normal(3)
        first, second = np.cumsum(lengths)[:2]
        other = np.zeros_like(step)
        other[first:second] = step[first:second] + 0.02 * rng.standard_normal((lengths[1], 3))
        states.append(np.cumsum(np.c_[step, other, np.zeros(len(step))], axis=0))
        states[-1][:, 6] = rng.random()  # a goal, constant within a trajectory
        cuts.append((first, second))
    found = discover_keystates(states, count=2, method="phase")
    assert np.abs(found.steps - cuts).max() <= 6  # rest is dated up to three lags late
    return found


def test_made_and_broken(grasps):
    made, broken = grasps.explain(GROUPS)
    assert (made.keystate, made.groups, made.change) == (0, ("tool", "object"), "made")
    assert (broken.keystate, broken.change) == (1, "broken")
    assert made.before == 0 == broken.after  # an object at rest
    assert made.after == broken.before > 1


def test_independent_things_have_no_changes(grasps):
    rng = np.random.default_rng(1)
    states = grasps.trajectories.split()
    states = [np.c_[s, rng.standard_normal((len(s), 2)).cumsum(axis=0)] for s in states]
    found = discover_keystates(states, count=2, method="phase")
    for change in found.explain({"tool": [0, 1, 2], "other": [7, 8]}):
        assert change.change == "unchanged"
        assert max(change.before, change.after) < 0.4


def test_coordinates_that_change_most(grasps):
    for change in grasps.explain():
        assert set(change.coordinates[:3]) == {3, 4, 5}
        assert change.names[0] == f"column {change.coordinates[0]}"
        assert list(change.nats) == sorted(change.nats, reverse=True)


def test_information_and_percentile(grasps):
    numbers = grasps.information(Estimator(k=3, slices=5))
    assert [i.keystate for i in numbers] == [0, 1]
    assert 0 <= numbers[0].percentile < 50  # the past is less informative about a grasp than usual
    for i in numbers:
        assert 0 <= i.percentile <= 100
        assert np.isfinite([i.local, i.before, i.after, i.before_stderr, i.after_stderr]).all()
    assert numbers[0].after == numbers[1].before


@pytest.mark.parametrize(
    ("groups", "message"),
    [
        ({"tool": [0]}, "two or more"),
        ([[0], [1]], "two or more"),
        ({"a": [0], "b": [99]}, "columns from 0 to 6"),
        ({"a": [0], "b": []}, "columns from 0 to 6"),
        ({"a": [0], "b": ["x"]}, "column numbers"),
        ({"a": [0], "b": 3}, "column numbers"),
        ({"a": [0], "b": [1.5]}, "column numbers"),
        ({"a": [0, 1], "b": [1, 2]}, "each column once"),
        ({1: [0], "1": [3]}, "each group"),
    ],
)
def test_groups_that_do_not_exist(grasps, groups, message):
    with pytest.raises(InputError, match=message):
        grasps.explain(groups)


def test_short_phases_are_explained():
    """The last phase of ten demonstrations has three steps: 30 samples, too few for the model."""
    rng = np.random.default_rng(3)
    states = []
    for _ in range(10):
        tool = 0.3 * rng.standard_normal((60, 3)).cumsum(axis=0)
        thing = np.zeros((60, 3))
        thing[57:] = (tool[57:] - tool[56]) + 0.01 * rng.standard_normal((3, 3))
        states.append(np.concatenate([tool, thing], axis=1))
    steps = np.ma.masked_array(np.full((10, 1), 57), np.zeros((10, 1), bool))
    (taken,) = group_changes(states, steps, 1, None, GROUPS, None, None)
    assert (taken.change, taken.before) == ("made", 0.0)
    assert taken.after > 1
    (unknown,) = group_changes(states[:1], steps[:1], 1, None, GROUPS, None, None)
    assert unknown.change == "unknown"
    assert np.isnan(unknown.after)


@pytest.mark.parametrize(
    ("sizes", "known"), [((26, 26, 3), True), ((27, 27, 1), False), ((28, 27), True)]
)
def test_samples_of_a_trajectory_that_cannot_be_paired_are_unknown(sizes, known):
    """27 of 55 are less than half, and too many for cyclic shifts."""
    x, y = np.random.default_rng(0).standard_normal((2, 55, 2))
    labels = np.repeat(np.arange(len(sizes)), sizes)
    found = explanation._estimate(Estimator(), x, y, labels)
    assert np.isfinite(found).all() == known
    assert known or explanation._change(found, (1.0, 0.1)) == "unknown"


def test_a_short_demonstration_has_no_local_information():
    rng = np.random.default_rng(0)
    states = [*rng.standard_normal((4, 60, 2)).cumsum(axis=1), np.array([[0.0, 0], [1, 1], [2, 3]])]
    steps = np.ma.masked_array([[20], [20], [20], [20], [1]])
    estimator = Estimator(slices=2)
    alone = explanation.information(states[:4], steps[:4], 2, None, estimator, None)
    found = explanation.information(states, steps, 2, None, estimator, None)
    assert found[0].local == alone[0].local and found[0].percentile == alone[0].percentile
    nothing = explanation.information(states[4:], steps[4:], 2, None, estimator, None)
    assert np.isnan(nothing[0].local)


def test_a_lag_beyond_every_demonstration_changes_nothing():
    steps = np.ma.masked_array([[5]])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        (change,) = explanation.coordinate_changes([np.ones((10, 2))], steps, 40, ())
    assert change.coordinates == ()
