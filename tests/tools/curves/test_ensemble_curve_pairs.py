"""Pairs of ensembles: over trajectories, and over parallel environments."""

import numpy as np
import pytest

from infoatlas_rt.vector.pooled_pairs import PooledPairs
from infoatlas_tools.curves.ensemble_curve import _normalise, ensemble_pairs
from refusals import refuses

LENGTHS = np.array([5, 9, 3, 20])


def trajectories() -> np.ndarray:
    """States that contain the numbers of their trajectory and step."""
    return np.array([[i, t] for i, length in enumerate(LENGTHS) for t in range(length)], float)


def pairs_at(step, lag=2, history=1):
    return ensemble_pairs(trajectories(), LENGTHS, np.broadcast_to(step, 4), lag, history)


def test_raw_steps():
    x, y, who = pairs_at(4, history=3)
    np.testing.assert_array_equal(who, [0, 1, 3])
    np.testing.assert_array_equal(x, [[0, 4], [1, 4], [3, 4]])
    np.testing.assert_array_equal(y[1], [1, 2, 1, 1, 1, 0])
    assert len(pairs_at(3, history=3).x) == len(pairs_at(20).x) == 0


def test_normalised_time_takes_original_steps():
    steps, position = _normalise(LENGTHS, 2, 17)
    assert position[0] < position[-1] == 1 and (np.diff(position) > 0).all()
    for step, at in zip(steps, np.linspace(0, 1, 17), strict=True):
        x, y, who = pairs_at(step)
        np.testing.assert_array_equal(who, [0, 1, 2, 3])
        np.testing.assert_array_equal(x - y, [[0, 2]] * 4)  # the same trajectory, lag steps apart
        fraction = (x[:, 1] - 2) / np.maximum(LENGTHS - 3, 1)
        assert (np.abs(fraction - at) * np.maximum(LENGTHS - 3, 1))[LENGTHS > 3].max() < 0.5001
    first, last = _normalise(LENGTHS, 3, 17)[0][[0, -1]]
    np.testing.assert_array_equal(pairs_at(first, history=2).samples, [0, 1, 3])  # three: too few
    np.testing.assert_array_equal(pairs_at(first, history=2).x[:, 1], 3)
    np.testing.assert_array_equal(last, LENGTHS - 1)


@pytest.mark.parametrize("same_step", [False, True])
def test_pool_never_pairs_across_resets(same_step):
    """Both conventions: `done` comes with the final state, or with the first state afterwards."""
    rng = np.random.default_rng(0)
    envs, window, lag, history = 6, 4, 2, 2
    pool = PooledPairs(envs, window, lag=lag, history=history)
    episode, step = np.zeros(envs), np.zeros(envs)
    over = np.zeros(envs, bool)
    total = 0
    for _ in range(200):
        step += 1
        done = rng.random(envs) < 0.1
        begins = done if same_step else over
        episode[begins] += 1
        step[begins] = 0
        over = done
        pairs = pool.push(np.stack([np.arange(envs), episode, step], axis=1), done)
        total += len(pairs.x)
        expected = [[0, 0, lag, 0, 0, lag + 1]] * len(pairs.x)
        np.testing.assert_array_equal(np.tile(pairs.x, 2) - pairs.y, np.reshape(expected, (-1, 6)))
        assert len(np.unique(pairs.samples)) == len(pairs.samples)
        assert len(pairs.x) <= envs * window
    assert total > 200 * envs * window / 3


def test_pool_is_full_without_resets_and_leaves_holes_for_nan():
    pool = PooledPairs(3, 5, lag=2)
    sizes, seen = [], {}
    for t in range(12):
        states = np.full((3, 1), float(t))
        if t == 8:
            states[1] = np.nan
        pairs = pool.push(states)
        sizes.append(len(pairs.x))
        np.testing.assert_array_equal(pairs.x - pairs.y, 2)
        for who, x in zip(pairs.samples, pairs.x[:, 0], strict=True):
            assert seen.setdefault(who, x) == x  # a sample keeps its number
    assert sizes == [0, 0, 3, 6, 9, 12, 15, 15, 14, 14, 13, 13]


def test_pool_refuses_what_does_not_fit():
    pool = PooledPairs(3, 5)
    pool.push(np.zeros((3, 2)))
    for states, done, why in (
        (np.zeros((4, 2)), None, r"pass numbers \[3, d\]"),
        (np.zeros((3, 5)), None, "before they had"),
        (np.zeros((3, 2)), [2, 0, 0], "done has shape"),
    ):
        refuses(why, pool.push, states, done)
