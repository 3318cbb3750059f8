"""Explanations of key states, for known changes; and the Gaussian form from few samples."""

import numpy as np
import pytest

from infoatlas_rt import Estimator
from infoatlas_tools import discover_keystates
from infoatlas_tools.analysis import group_changes as grouped
from infoatlas_tools.analysis.group_changes import GroupChange, gaussian_information, group_changes
from refusals import refuses

GROUPS = {"tool": [0, 1, 2], "object": [3, 4, 5]}


@pytest.fixture(scope="module")
def grasps():
    """A tool moves alone, carries an object and leaves it; the first three columns are the tool."""
    rng = np.random.default_rng(0)
    states, cuts = [], []
    for _ in range(20):
        lengths = rng.integers(25, 40, 3)
        step = 0.5 * rng.standard_normal((lengths.sum(), 3)) + rng.standard_normal(3)
        first, second = np.cumsum(lengths)[:2]
        other = np.zeros_like(step)
        other[first:second] = step[first:second] + 0.1 * rng.standard_normal((lengths[1], 3))
        states.append(np.cumsum(np.c_[step, other, np.zeros(len(step))], axis=0))
        states[-1][:, 6] = rng.random()  # a goal, constant within a trajectory
        cuts.append((first, second))
    found = discover_keystates(states, labels={i: list(own) for i, own in enumerate(cuts)})
    np.testing.assert_array_equal(found.steps, cuts)
    return found


def test_made_and_broken(grasps):
    made, broken = grasps.explain(GROUPS)
    assert (made.keystate, made.groups, made.change) == (0, ("tool", "object"), "made")
    assert (broken.keystate, broken.change) == (1, "broken")
    assert made.before < 0.3 > broken.after  # an object at rest
    assert made.after > 1 < broken.before


def test_independent_things_have_no_changes(grasps):
    rng = np.random.default_rng(1)
    states = grasps.trajectories.split()
    states = [np.c_[s, rng.standard_normal((len(s), 2)).cumsum(axis=0)] for s in states]
    labels = {i: list(own) for i, own in enumerate(grasps.steps.tolist())}
    found = discover_keystates(states, labels=labels)
    for change in found.explain({"tool": [0, 1, 2], "other": [7, 8]}):
        assert change.change in ("absent", "uncertain")
        assert max(change.before, change.after) < 0.4


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
    refuses(message, grasps.explain, groups)


def test_a_short_window_is_explained():
    """Three steps are left in ten demonstrations: 30 samples, too few for the model."""
    rng = np.random.default_rng(3)
    states = []
    for _ in range(10):
        tool = 0.3 * rng.standard_normal((60, 3)).cumsum(axis=0)
        thing = np.zeros((60, 3))
        thing[57:] = (tool[57:] - tool[56]) + 0.01 * rng.standard_normal((3, 3))
        states.append(np.concatenate([tool, thing], axis=1))
    steps = np.ma.masked_array(np.full((10, 1), 56), np.zeros((10, 1), bool))
    (taken,) = group_changes(states, steps, 1, 9, None, GROUPS, None, None)
    assert (taken.change, taken.before) == ("made", 0.0)
    assert taken.after > 1
    (unknown,) = group_changes(states[:1], steps[:1], 1, 9, None, GROUPS, None, None)
    assert unknown.change == "uncertain"
    assert np.isnan(unknown.after)


def test_windows_end_at_neighbours_and_at_ends():
    """Increments of 2 steps within 10 steps of a key state, of one demonstration of 40 steps."""
    steps = np.ma.masked_array([[5, 11, 36]])
    spans = list(grouped._sides([np.zeros((40, 1))], steps, 2, 10))
    expected = [(2, 6), (7, 12), (7, 12), (13, 22), (28, 37), (38, 40)]
    assert spans == [[(0, *span)] for span in expected]


@pytest.mark.parametrize(
    "before, after, word",
    [
        ((0.36, 0.2), (6.76, 2.93), "uncertain"),  # much more, or not
        ((0.1, 0.1), (6.76, 2.93), "made"),
        ((6.76, 2.93), (0.1, 0.1), "broken"),
        ((2.0, 0.3), (3.0, 0.3), "stays"),
        ((0.0, 0.1), (0.1, 0.2), "absent"),
        ((0.0, 0.5), (0.0, 0.1), "uncertain"),
        ((np.nan, np.nan), (3.0, 0.3), "uncertain"),
        ((0.0, np.nan), (3.0, 0.3), "uncertain"),
    ],
)
def test_the_word_follows_the_errors(before, after, word):
    assert grouped._change((*before, False), (*after, False)) == word
    text = str(GroupChange(0, ("tool", "cube"), *before, *after, word))
    assert text.startswith("tool and cube: ") and text.endswith(f" nats, {word}")


@pytest.mark.parametrize(
    ("sizes", "known"), [((26, 26, 3), True), ((27, 27, 1), False), ((28, 27), True)]
)
def test_samples_of_a_trajectory_that_cannot_be_paired_are_unknown(sizes, known):
    """27 of 55 are less than half, and too many for cyclic shifts."""
    x, y = np.random.default_rng(0).standard_normal((2, 55, 2))
    labels = np.repeat(np.arange(len(sizes)), sizes)
    found = grouped._estimate(Estimator(), x, y, labels)
    assert np.isfinite(found).all() == known
    assert known or grouped._change(found, (1.0, 0.1, False)) == "uncertain"


def test_a_copy_is_clear_although_its_error_is_large():
    assert grouped._change((0.2, 0.1, False), (6.2, 4.1, True)) == "made"
    assert grouped._change((0.2, 0.1, False), (6.2, 4.1, False)) == "uncertain"


@pytest.mark.parametrize("rho", [0.0, 0.5, 0.9])
@pytest.mark.parametrize(("n", "d"), [(12, 2), (30, 3)])
def test_it_has_no_bias(rho, n, d):
    rng = np.random.default_rng(0)
    found = []
    for _ in range(300):
        x = rng.standard_normal((n, d))
        y = rho * x + np.sqrt(1 - rho**2) * rng.standard_normal((n, d))
        found.append(gaussian_information(x, y, np.arange(n) // 3))
    mi, stderr = np.array(found).T
    error = mi.std() / np.sqrt(len(mi))
    assert abs(mi.mean() + 0.5 * d * np.log(1 - rho**2)) < 4 * error
    assert 0.6 * mi.std() < np.median(stderr) < 2.5 * mi.std()


def test_unknown_properties():
    x = np.random.default_rng(0).standard_normal((7, 3))
    assert gaussian_information(x, np.zeros((7, 2)), np.arange(7)) == (0.0, 0.0)
    mi, _ = gaussian_information(x, x[:, ::-1], np.arange(7))
    assert np.isnan(mi)  # 7 samples of 6 dimensions
    mi, stderr = gaussian_information(x[:, :1], x[:, 1:2], np.zeros(7, int))
    assert np.isfinite(mi) and np.isnan(stderr)


def test_a_copy_is_finite():
    x = np.random.default_rng(0).standard_normal((20, 2))
    mi, _ = gaussian_information(x, x, np.arange(20))
    assert 5 < mi < 20
