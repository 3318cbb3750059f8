"""Peers of the key-state benchmark, on trajectories with known key states."""

import numpy as np
import pytest

pytest.importorskip("bayesian_changepoint_detection", reason="the extra 'bench' is not installed")

from benchmarks.peers import keystate_finders as peers
from benchmarks.tasks import demonstrations as tasks


def made(corners, steps=61):
    """A tool on a polyline, a gripper that closes at the last corner, and joints that follow."""
    t = np.arange(steps)
    places = np.random.default_rng(0).uniform(-1, 1, (len(corners) + 2, 3))
    knots = [0, *corners, steps - 1]
    tool = np.stack([np.interp(t, knots, column) for column in places.T], axis=1)
    finger = np.where(t < corners[-1], 0.04, 0.02)[:, None]
    velocity = np.gradient(tool[:, :1], axis=0) * 20
    states = np.hstack([tool[:, :1], finger, velocity, tool])
    names = ("joint1.position", "finger1.position", "joint1.velocity", "tool.x", "tool.y", "tool.z")
    return states, names


@pytest.fixture(scope="module")
def demos():
    truth = [[15, 40], [18, 36], [14, 44]]
    trajectories = [made(corners)[0] for corners in truth]
    return tasks.Demonstrations(
        trajectories, made(truth[0])[1], ("a", "b"), np.array(truth, float), np.arange(3)
    )


def near(found, times, limit):
    return all(
        np.abs(np.asarray(steps)[:, None] - truth).min(axis=0).max() <= limit
        for steps, truth in zip(found, times, strict=True)
    )


def test_evenly(demos):
    (steps, *_) = peers.evenly(demos, 3)
    assert steps.tolist() == [10, 30, 50]
    with pytest.raises(peers.NotOffered):
        peers.evenly(demos, "auto")


@pytest.mark.parametrize("k", [2, "auto"])
def test_awe_finds_corners(demos, k):
    found = peers.awe(demos, k)
    assert all(len(steps) == 2 for steps in found)
    assert near(found, demos.times, 0)


@pytest.mark.parametrize("k", [2, "auto"])
def test_change_points_of_velocity(k):
    """A joint changes its velocity twice; an increment over two steps shifts the result by one."""
    path = np.interp(np.arange(61), [0, 15, 40, 60], [0, 3, 1, 6])[:, None]
    path += 0.01 * np.random.default_rng(0).standard_normal(path.shape)
    demos = tasks.Demonstrations([path], ("a",), ("e", "f"), np.array([[15.0, 40]]), np.arange(1))
    found = peers.PEERS["ruptures, increments"].find(demos, k)
    assert len(found[0]) == 2 and near(found, demos.times, 1)


def test_the_gripper(demos):
    assert near(peers.gripper(demos, 1), demos.times[:, 1:], 1)
    assert near(peers.gripper(demos, "auto"), demos.times[:, 1:], 1)
    assert near(peers.peract(demos, "auto"), demos.times[:, 1:], 0)


@pytest.mark.parametrize("k", [2, "auto"])
def test_second_difference(k):
    """Two corners in coordinates of very different units, with a constant column."""
    path = np.interp(np.arange(61), [0, 15, 40, 60], [0, 3, 1, 6])
    states = np.stack([path, 1000 * path[::-1], np.ones(61)], axis=1)
    truth = np.array([[15.0, 40], [15, 40]])
    demos = tasks.Demonstrations(
        [states[:, [0, 2]]] * 2, ("a", "c"), ("e", "f"), truth, np.arange(2)
    )
    found = peers.second_difference(demos, k)
    assert [steps.tolist() for steps in found] == [[15, 40]] * 2
    both = tasks.Demonstrations([states], ("a", "b", "c"), ("e", "f"), truth[:1], np.arange(1))
    assert peers.second_difference(both, 4)[0].tolist() == [15, 20, 40, 45]


@pytest.mark.parametrize("names", [(), ("a", "b", "c", "d", "e", "f")])
def test_without_the_names_that_a_peer_knows(demos, names):
    other = tasks.Demonstrations(demos.trajectories, names, demos.events, demos.times, demos.seeds)
    for peer in peers.PEERS.values():
        if peer.knows_columns:
            with pytest.raises(peers.NotOffered):
                peer.find(other, "auto")
        else:
            assert len(peer.find(other, 2)) == 3


def test_velocity_minima():
    """A joint with one pause."""
    t = np.arange(81)
    position = np.cumsum(1 - np.exp(-0.5 * ((t - 50) / 4) ** 2))[:, None]
    demos = tasks.Demonstrations(
        [position] * 2, ("joint1.position",), ("a",), np.full((2, 1), 50.0), np.arange(2)
    )
    assert near(peers.velocity_minima(demos, "auto"), demos.times, 1)


@pytest.mark.parametrize("k", [2, "auto"])
def test_bocpd(k):
    """Noise whose mean changes twice, as the increments of a path."""
    rng = np.random.default_rng(0)
    slopes = np.repeat([[1.0, 0, 3], [-2, 4, 3], [1, 0, -5]], [30, 25, 35], axis=0)
    paths = [np.cumsum(slopes + 0.1 * rng.standard_normal(slopes.shape), axis=0) for _ in range(3)]
    truth = np.array([[29.0, 54]] * 3)
    demos = tasks.Demonstrations(paths, ("a", "b", "c"), ("e", "f"), truth, np.arange(3))
    found = peers.bocpd(demos, k)
    assert all(len(steps) == 2 for steps in found) and near(found, truth, 1)
