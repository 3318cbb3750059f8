"""Files of ManiSkill's RecordEpisode can be read."""

import gymnasium
import h5py
import mani_skill.envs  # noqa: F401
import numpy as np
from mani_skill.utils.wrappers import RecordEpisode

from infoatlas_tools import load_trajectories
from infoatlas_tools.generation import headless


def test_observations_of_the_example(demonstrations):
    found = load_trajectories(demonstrations)
    # 42 columns; column 18 is the flag is_grasped
    assert found.names == tuple(f"obs.{column}" for column in range(42) if column != 18)
    with h5py.File(demonstrations) as file:
        lengths = [len(file[f"traj_{i}/obs"]) for i in range(10)]
        first = file["traj_0/obs"][()]
    np.testing.assert_array_equal(found.lengths, lengths)
    assert found.rate is None  # the default of the task, 20 Hz, is not recorded
    np.testing.assert_array_equal(found.states[: lengths[0]], np.delete(first, 18, axis=1))


def test_states_of_the_simulation(demonstrations):
    found = load_trajectories(demonstrations, env_states=True)
    assert "actors.cube.2" in found.names and "articulations.panda.30" in found.names
    observed = load_trajectories(demonstrations)
    np.testing.assert_array_equal(found.lengths, observed.lengths)
    height = found.states[:, found.names.index("actors.cube.2")]
    np.testing.assert_allclose(height, observed.states[:, observed.names.index("obs.31")])


def test_an_episode_that_fails_without_observations(tmp_path):
    sim_config = {"control_freq": 50}
    env = gymnasium.make("PickCube-v1", obs_mode="none", sim_config=sim_config, **headless.OPTIONS)
    env = RecordEpisode(env, str(tmp_path), trajectory_name="random", save_video=False)
    env.reset(seed=0)
    for _ in range(8):
        env.step(env.action_space.sample())
    env.flush_trajectory()
    env.close()
    found = load_trajectories(tmp_path / "random.h5")
    assert "None of 1 episodes ends in success: all of them are read." in found.notes
    np.testing.assert_array_equal(found.lengths, [9])
    assert found.rate == env.unwrapped.control_freq == 50
    assert {name.split(".")[0] for name in found.names} == {"actors", "articulations"}
