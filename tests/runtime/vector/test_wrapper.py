"""The wrapper around vector environments, with environments that replay episodes.

Tests with real environments are in tests/maniskill.
"""

import copy

import numpy as np
import pytest

from episodes import TASKS, places
from infoatlas_rt import KeyStateTracker, KeyStateWrapper, Task, VectorTracker, VectorWindows
from refusals import refuses
from regimes import demonstrations
from vector_envs import ReplayEnv


@pytest.fixture(scope="module")
def episodes():
    """Three episodes of each of two environments, of different lengths."""
    states, _ = demonstrations(count=6, seed=4)
    return [states[:3], states[3:]]


def newest(found, episode):
    """Newest key state after each state of an episode; -1 before the first."""
    tracker, values = KeyStateTracker(found), [-1]
    for state in episode:
        values.append(max([values[-1], *(e.keystate for e in tracker.push(state))]))
    return values[1:]


@pytest.mark.parametrize("layout", ["maniskill", "gymnasium", "next step"])
def test_episodes_are_followed_to_their_true_ends(found, episodes, layout):
    envs = KeyStateWrapper(ReplayEnv(episodes, layout), VectorTracker(2, found))
    expected = [[newest(found, episode) for episode in own] for own in episodes]
    _, info = envs.reset(seed=0)
    assert list(info["key_state"]) == [-1, -1]
    ends = 0
    for _ in range(2 * max(len(e) for own in episodes for e in own)):
        _, _, done, _, info = envs.step(None)
        for row in range(2):
            # attributes of the environment are available in the wrapper
            now = expected[row][envs.which[row]][envs.at[row]]
            assert info["key_state"][row] == now
            if done[row]:
                ends += 1
                last = info if layout == "next step" else info["final_info"]
                assert last["key_state"][row] == 1 and now == (1 if layout == "next step" else -1)
    assert ends >= 3


@pytest.mark.parametrize("layout", ["maniskill", "gymnasium", "next step"])
def test_sub_tasks_in_infos(layout):
    """Of the running episode, and of the one that has ended; equal to the tracker's."""
    episodes, _ = places(count=4, seed=6)
    tracker = VectorTracker(2, Task.load(TASKS / "three_places.json"))
    envs = KeyStateWrapper(ReplayEnv([episodes[:2], episodes[2:]], layout), tracker)
    _, info = envs.reset(seed=0)
    assert list(info["subtask"]) == [0, 0] and (info["task_progress"] < 0.1).all()
    ends = 0
    for _ in range(2 * max(map(len, episodes))):
        _, _, done, _, info = envs.step(None)
        for key, values in tracker.subtask().items():
            np.testing.assert_array_equal(info[key], values)
        for row in np.flatnonzero(done):
            ends += 1
            last = info if layout == "next step" else info["final_info"]
            assert last["subtask"][row] == 2 and last["task_progress"][row] > 0.9
            assert not last["subtask_stalled"][row]
            assert layout == "next step" or info["subtask"][row] == 0
    assert ends >= 3


def test_windows_end_with_the_true_last_state(estimator, episodes):
    length = 40
    cut = [[episode[:length] for episode in own] for own in episodes]
    windows = VectorWindows(2, estimator, window=length - 2, every=1)
    envs = KeyStateWrapper(ReplayEnv(cut, "maniskill"), windows)
    envs.reset()
    for _ in range(length - 1):
        assert np.isnan(windows.information).all()
        *_, info = envs.step(None)
    assert np.isnan(info["mutual_information"]).all()
    for row, value in enumerate(info["final_info"]["mutual_information"]):
        episode = cut[row][0]
        own = estimator.estimate(episode[2:], episode[:-2], time_series=True)
        assert abs(value - own.mi) < 1e-4


def test_a_reset_of_some_environments(found, episodes):
    envs = KeyStateWrapper(ReplayEnv(episodes, "next step"), VectorTracker(2, found))
    envs.reset()
    while True:
        *_, info = envs.step(None)
        if (info["key_state"] >= 0).all():
            break
    _, info = envs.reset(options={"env_idx": np.array([1])})
    assert info["key_state"][0] >= 0 and info["key_state"][1] == -1
    expected = newest(found, episodes[1][envs.which[1]])
    for _ in range(10):
        *_, info = envs.step(None)
    assert info["key_state"][1] == expected[envs.at[1]]


def test_observations_in_dictionaries(found, episodes):
    class Dictionaries(ReplayEnv):
        def step(self, actions):
            obs, *rest, info = super().step(actions)
            if "final_obs" in info:
                final = [None if o is None else {"state": o} for o in info["final_obs"]]
                info["final_obs"] = np.array(final)
            return {"state": obs}, *rest, info

        def reset(self, **options):
            obs, info = super().reset(**options)
            return {"state": obs}, info

    envs = KeyStateWrapper(
        Dictionaries(episodes, "gymnasium"), VectorTracker(2, found), state=lambda o: o["state"]
    )
    envs.reset()
    for _ in range(len(episodes[0][0]) - 1):
        *_, info = envs.step(None)
    assert info["final_info"]["key_state"][0] == 1
    envs = KeyStateWrapper(Dictionaries(episodes, "gymnasium"), VectorTracker(2, found))
    refuses(r"observations are dict.*pass state=", envs.reset)


def test_invalid_environments_are_refused(found, episodes):
    env = ReplayEnv(episodes, "maniskill")
    for streams in ((), (VectorTracker(2, found), VectorTracker(2, found))):
        refuses("pass a VectorTracker, a VectorWindows, or both", KeyStateWrapper, env, *streams)
    three = VectorTracker(3, found)
    refuses("follows 3 environments, and there are 2", KeyStateWrapper, env, three)
    wrapped = KeyStateWrapper(env, VectorTracker(2, found))
    assert copy.deepcopy(wrapped).num_envs == 2
    with pytest.raises(AttributeError, match="nothing"):
        _ = wrapped.nothing
