"""The wrapper around the vector environments of ManiSkill and of Gymnasium."""

import gymnasium
import h5py
import mani_skill.envs  # noqa: F401
import numpy as np
import pytest
import torch
from gymnasium.vector import SyncVectorEnv
from mani_skill.utils.wrappers import CPUGymWrapper
from mani_skill.vector.wrappers.gymnasium import ManiSkillVectorEnv

from infoatlas_rt import Estimator, KeyStateTracker, KeyStateWrapper, VectorTracker, VectorWindows
from infoatlas_tools import discover_keystates, load_trajectories
from infoatlas_tools.generation import headless

COLUMNS = [column for column in range(42) if column != 18]


@pytest.fixture(scope="module")
def found(demonstrations):
    return discover_keystates(load_trajectories(demonstrations), count=3)


@pytest.fixture(scope="module")
def estimator():
    return Estimator(threads=1, slices=2, shifts=4)


def alone(found, states):
    """Newest key state of an episode at its last state."""
    tracker = KeyStateTracker(found)
    events = [event for state in states for event in tracker.push(np.asarray(state)[COLUMNS])]
    return events[-1].keystate if events else -1


def reported(found, states):
    """Key states that are reported in an episode."""
    tracker = KeyStateTracker(found)
    return sum(len(tracker.push(np.asarray(state)[COLUMNS])) for state in states)


def test_a_demonstration_again(found, estimator, demonstrations):
    """With a demonstration's actions and seed, the wrapper agrees with a tracker of its states."""
    with h5py.File(demonstrations) as file:
        actions = torch.from_numpy(file["traj_0/actions"][()])
    env = gymnasium.make(
        "PickCube-v1", obs_mode="state", control_mode="pd_joint_pos",
        max_episode_steps=len(actions), **headless.OPTIONS,
    )  # fmt: skip
    envs = ManiSkillVectorEnv(env, ignore_terminations=True, record_metrics=True)
    windows = VectorWindows(1, estimator)
    wrapped = KeyStateWrapper(
        envs, VectorTracker(1, found), windows, state=lambda obs: obs[:, COLUMNS]
    )
    assert wrapped.single_observation_space.shape == (42,)
    bonus = VectorTracker(1, found)
    obs, info = wrapped.reset(seed=0)
    assert torch.equal(info["key_state"], torch.tensor([-1]))
    seen, total = [obs[0]], 0.0
    bonus.bonus(obs[:, COLUMNS], torch.tensor([False]))
    for action in actions:
        obs, _, terminated, truncated, info = wrapped.step(action[None])
        final = info.get("final_observation")
        seen.append((obs if final is None else final)[0])
        reward = bonus.bonus(
            obs[:, COLUMNS], terminated | truncated, None if final is None else final[:, COLUMNS]
        )
        assert isinstance(reward, torch.Tensor) and reward.device == obs.device
        total += float(reward)
    # The last step reset the environment; the true values are in final_info.
    last = info["final_info"]
    assert bool(info["_final_info"]) and "episode" in last
    assert int(info["key_state"]) == -1 and int(last["key_state"]) == alone(found, seen) >= 0
    assert total == reported(found, seen) > 0
    assert info["mutual_information"].isnan().all()
    assert last["mutual_information"].dtype == torch.float32
    assert float(last["mutual_information"]) > 0
    assert last["key_state"].device == obs.device
    wrapped.close()


@pytest.mark.parametrize("mode", ["SameStep", "NextStep"])
def test_several_environments_on_a_cpu(found, mode):
    steps = 12

    def make():
        return CPUGymWrapper(
            gymnasium.make(
                "PickCube-v1", obs_mode="state", max_episode_steps=steps, **headless.OPTIONS
            )
        )

    envs = KeyStateWrapper(
        SyncVectorEnv([make] * 2, autoreset_mode=mode),
        VectorTracker(2, found),
        state=lambda obs: obs[:, COLUMNS],
    )
    obs, _ = envs.reset(seed=0)
    envs.action_space.seed(0)
    episodes = [[[state] for state in obs]]
    ended = 0
    for _ in range(2 * steps):
        obs, _, terminated, truncated, info = envs.step(envs.action_space.sample())
        done = terminated | truncated
        if "final_obs" in info:
            final = np.stack(info["final_obs"])
            last = [[*episodes[-1][row], final[row]] for row in range(2)]
            reached = [alone(found, states) for states in last]
            np.testing.assert_array_equal(info["final_info"]["key_state"], reached)
            episodes.append([[state] for state in obs])
        elif mode == "NextStep" and ended:
            episodes.append([[state] for state in obs])
        else:
            episodes[-1] = [[*own, state] for own, state in zip(episodes[-1], obs, strict=True)]
        ended = int(done.all())
        expected = [alone(found, own) for own in episodes[-1]]
        np.testing.assert_array_equal(info["key_state"], expected)
    assert len(episodes) > 1
    envs.close()
