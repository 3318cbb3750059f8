"""Measures for review, on generated demonstrations with known lags and defects."""

import numpy as np
import pytest

from infoatlas_tools.annotations.review import review

COUNT, SHIFTED = 30, 4


def motion(rng, length):
    """Three to five straight moves with smooth speeds [length, 6]."""
    cuts = np.sort(rng.choice(np.arange(8, length - 8), rng.integers(2, 5), replace=False))
    ends = [0, *cuts.tolist(), length]
    places = rng.normal(size=(len(ends), 6))
    moves = []
    for k, steps in enumerate(np.diff(ends)):
        u = np.linspace(0, 1, steps, endpoint=False)[:, None]
        moves.append(places[k] + (places[k + 1] - places[k]) * (10 * u**3 - 15 * u**4 + 6 * u**5))
    return np.concatenate(moves)


def lagged(seed, noise, relative):
    """States, actions and lags of a set in which the first episodes have lags of their own."""
    rng = np.random.default_rng(seed)
    common = int(rng.integers(0, 5))
    states, actions, lags = [], [], []
    for i in range(COUNT):
        length = int(rng.integers(60, 200))
        lag = common + (int(rng.choice([-3, -2, 2, 4])) if i < SHIFTED else 0)
        path = motion(rng, length + 40)
        commands = np.diff(path, axis=0) if relative else path
        actions.append(commands[20 : 20 + length])
        states.append(path[20 - lag : 20 - lag + length] + rng.normal(0, noise, (length, 6)))
        lags.append(lag)
    return states, actions, common, np.array(lags)


def test_lags_of_sets_and_of_episodes():
    right = shifted = others = 0
    for seed in range(12):
        states, actions, common, lags = lagged(seed, (0, 1e-3, 5e-3)[seed % 3], seed % 2)
        found = review(states, actions, np.zeros(COUNT), 20.0)
        assert found.set_lag == common and found.correlation > 0.7
        right += int((found.lag == lags).sum())
        flagged = ["lag" in " ".join(why) for why in found.why]
        shifted, others = shifted + sum(flagged[:SHIFTED]), others + sum(flagged[SHIFTED:])
    assert (right, shifted, others) == (359, 47, 0)  # of 360, 48 and 312


def test_a_jump_of_one_episode_is_not_the_lag_of_the_set():
    """Lost frames: commands and states jump at once, which correlates perfectly without a lag."""
    rng = np.random.default_rng(0)
    paths = [np.repeat(motion(rng, 100), 4, axis=0) for _ in range(20)]
    paths = [np.apply_along_axis(np.convolve, 0, p, np.ones(8) / 8, "valid") for p in paths]
    states, actions = [p[:-1] for p in paths], [p[1:] for p in paths]
    for own in (states, actions):
        own[7] = np.concatenate([own[7][:150], own[7][210:] + 30.0])
    found = review(states, actions, np.zeros(20), 30.0)
    assert found.set_lag == 1 and found.lag[7] == 1
    assert not any("lag" in reason for why in found.why for reason in why)


def test_lost_frames_are_named_where_they_look_like_no_lag():
    states, actions, common, _ = lagged(3, 1e-3, False)
    rest = np.arange(len(states[9])) % 8 < 5  # three of eight frames are lost
    states[9], actions[9] = states[9][rest], actions[9][rest]
    found = review(states, actions, np.zeros(COUNT), 20.0)
    assert found.lag[9] == 0 < common - 1
    assert any(r.startswith("lag 0 (usual ") and r.endswith("or lost frames") for r in found.why[9])


def test_lags_one_step_apart_are_usual():
    """A lag between two steps is measured as either of them."""
    states, actions, common, _ = lagged(1, 1e-3, 0)
    states[9], actions[9] = states[9][1:], actions[9][:-1]
    found = review(states, actions, np.zeros(COUNT), 20.0)
    assert found.lag[9] == common - 1 and not any("lag" in reason for reason in found.why[9])


@pytest.mark.parametrize("relative", [False, True])
def test_motion_that_precedes_its_commands(relative):
    states, actions, *_ = lagged(0, 0.0, relative)
    late = [own[:-9] for own in actions], [own[9:] for own in states]
    found = review(late[1], late[0], np.zeros(COUNT), 20.0)
    assert found.set_lag == -5 and "precedes its commands by 5 steps" in found.about_actions


def test_defects_are_ranked_first():
    rng = np.random.default_rng(0)
    states = [motion(rng, 120) for _ in range(COUNT)]
    actions = [own + np.diff(own, axis=0, append=own[-1:]) for own in states]
    actions[2] = actions[2][:, [1, 0, 2, 3, 4, 5]]
    noise = np.where(np.arange(COUNT) == 5, 0.1, 0.01)
    states = [own + rng.normal(0, s, own.shape) for own, s in zip(states, noise, strict=True)]
    states[7], actions[7] = (np.repeat(own, 4, axis=0) for own in (states[7], actions[7]))
    found = review(states, actions, np.where(np.arange(COUNT) == 9, 0.6, 0.0), 20.0)
    usual = ((2, "surprise"), (5, "jerk"), (7, "length 480 (usual 120)"))
    for episode, measure in (*usual, (9, "idle 60% (usual 0%)")):
        assert measure in " ".join(found.why[episode])
    assert sum(map(bool, found.why)) <= 8


def test_without_actions_or_with_few_episodes():
    states, actions, *_ = lagged(0, 0.0, False)
    found = review(states, None, np.zeros(COUNT), None)
    assert np.isnan(found.lag).all() and "no actions were read" in found.about_actions
    few = review(states[:3], actions[:3], np.zeros(3), 20.0)
    assert "needs 4 demonstrations" in few.about_actions
    short = review([own[:4] for own in states], [own[:4] for own in actions], np.zeros(COUNT), 20.0)
    assert "episodes are too short" in short.about_actions
    assert np.isnan(few.surprise).all() and not few.unusual.any() and few.why == ((),) * 3
    noise = [np.random.default_rng(i).normal(size=own.shape) for i, own in enumerate(actions)]
    assert "no lag" in review(states, noise, np.zeros(COUNT), 20.0).about_actions
