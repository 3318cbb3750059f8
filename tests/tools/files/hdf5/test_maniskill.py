"""Synthetic files like those of ManiSkill's RecordEpisode (real ones: tests/maniskill)."""

import json

import h5py
import numpy as np
import pytest

from infoatlas_rt import InputError
from infoatlas_tools import load_trajectories
from refusals import refuses

LENGTHS = (30, 25, 40)


def arrays(length, seed):
    """Joint positions, a flag and the pose of a cube [T, ...]."""
    rng = np.random.default_rng(seed)
    qpos = np.cumsum(rng.standard_normal((length, 3)), axis=0).astype(np.float32)
    return qpos, np.arange(length) > length // 2, rng.random((length, 7)).astype(np.float32)


def add(parent, tree):
    for name, value in tree.items():
        if isinstance(value, dict):
            add(parent.create_group(name, track_order=True), value)
        else:
            parent.create_dataset(name, data=value)


def write(path, observations, success=(True, False, True), count=3):
    """Episodes in the order traj_0, traj_1, traj_10: by number, not by name."""
    with h5py.File(path, "w") as file:
        for i, number in enumerate((0, 2, 10)[:count]):
            qpos, flag, pose = arrays(LENGTHS[i], i)
            tree = {"env_states": {"actors": {"cube": pose}, "articulations": {"panda": qpos}}}
            if observations == "flat":
                tree["obs"] = np.concatenate([qpos, flag[:, None], pose], axis=1)
            elif observations == "dictionary":
                tree["obs"] = {
                    "agent": {"qpos": qpos},
                    "extra": {"is_grasped": flag, "tcp_pose": pose, "radius": pose[:, 0]},
                    "sensor_data": {"camera": {"rgb": np.zeros((LENGTHS[i], 4, 4, 3), np.uint8)}},
                }
            tree["actions"] = np.zeros((LENGTHS[i] - 1, 8), np.float32)
            if success is not None:
                tree["success"] = np.r_[np.zeros(LENGTHS[i] - 2, bool), success[i]]
            add(file.create_group(f"traj_{number}", track_order=True), tree)
    return path


def test_flat_observations_of_the_successful_episodes_without_flags(tmp_path):
    found = load_trajectories(write(tmp_path / "t.h5", "flat"))
    np.testing.assert_array_equal(found.lengths, (30, 40))
    assert found.names == tuple(f"obs.{i}" for i in range(11) if i != 3)
    qpos, _, pose = arrays(40, 2)
    np.testing.assert_array_equal(found.states[30:], np.concatenate([qpos, pose], axis=1))
    every = load_trajectories(tmp_path / "t.h5", only_successful=False)
    np.testing.assert_array_equal(every.lengths, LENGTHS)


def test_observations_in_groups(tmp_path):
    found = load_trajectories(write(tmp_path / "t.hdf5", "dictionary"))
    assert found.names == (
        *(f"agent.qpos.{i}" for i in range(3)),
        *(f"extra.tcp_pose.{i}" for i in range(7)),
        "extra.radius",
    )
    assert found.states.dtype == np.float32


def test_states_of_the_simulation_where_nothing_was_observed(tmp_path):
    cube, panda = "actors.cube", "articulations.panda"
    names = (*(f"{cube}.{i}" for i in range(7)), *(f"{panda}.{i}" for i in range(3)))
    assert load_trajectories(write(tmp_path / "t.h5", None)).names == names
    write(tmp_path / "o.h5", "flat", success=None)
    found = load_trajectories(tmp_path / "o.h5", env_states=True)
    assert found.names == names
    np.testing.assert_array_equal(found.lengths, LENGTHS)  # without a flag: all


def described(**options):
    """The JSON file of the trajectories, with these options of the environment."""
    kwargs = {"obs_mode": "state", "sim_backend": "physx_cpu", **options}
    return {"env_info": {"env_id": "PickCube-v1", "env_kwargs": kwargs}, "episodes": []}


@pytest.mark.parametrize("name", ["t.h5", "t.hdf5"])
def test_the_rate_is_the_control_frequency(tmp_path, name):
    path = write(tmp_path / name, "flat")
    assert load_trajectories(path).rate is None  # without a JSON file
    content = described(sim_config={"sim_freq": 200, "control_freq": 50})
    (tmp_path / "t.json").write_text(json.dumps(content))
    assert load_trajectories(path).rate == 50.0
    assert load_trajectories(path, env_states=True).rate == 50.0


@pytest.mark.parametrize(
    "content",
    [
        described(),  # the default of the task, which is not recorded
        described(sim_config={"sim_freq": 200}),
        described(sim_config=None),
        *(described(sim_config={"control_freq": bad}) for bad in (0, -20, "20", True, None, [20])),
        {"env_info": None, "episodes": []},  # an environment that gymnasium.make did not create
        [],
        *(b"", b'{"env_info": {', b"\xff\xfe", b"[" * 100_000),
    ],
)
def test_a_rate_that_is_not_recorded_is_unknown(tmp_path, content):
    path = write(tmp_path / "t.h5", "flat")
    content = content if isinstance(content, bytes) else json.dumps(content).encode()
    (tmp_path / "t.json").write_bytes(content)
    assert load_trajectories(path).rate is None


def test_unreadable_files(tmp_path):
    with h5py.File(tmp_path / "other.h5", "w") as file:
        file["data"] = np.zeros(3)
    refuses(r"has data \(3,\) float64: data/demo_0", load_trajectories, tmp_path / "other.h5")
    with h5py.File(write(tmp_path / "mixed.h5", "flat", success=None), "a") as file:
        del file["traj_2/obs"]
        file["traj_2/obs"] = np.zeros((25, 4))
    with pytest.raises(InputError, match=r"obs of traj_2 has rows of shape \(4,\).*traj_0 \(11,\)"):
        load_trajectories(tmp_path / "mixed.h5")


def test_arrays_are_chosen_by_name(tmp_path):
    path = write(tmp_path / "t.h5", "dictionary")
    found = load_trajectories(path, features=["extra.tcp_pose", "env_states.articulations.panda"])
    qpos, _, pose = arrays(40, 2)
    np.testing.assert_array_equal(found.states[30:], np.concatenate([pose, qpos], axis=1))
    flag = load_trajectories(path, features=["extra.is_grasped", "agent.qpos"])
    assert flag.names[0] == "extra.is_grasped" and flag.states.shape == (70, 4)
    with pytest.raises(InputError, match=r"actions of traj_0 .*\(29, 8\).*agent.qpos has 30"):
        load_trajectories(path, features=["agent.qpos", "actions"])


def test_episodes_with_other_arrays_are_named(tmp_path):
    """The same number of columns under another name is also different."""
    with h5py.File(write(tmp_path / "t.h5", "dictionary", success=None), "a") as file:
        file.move("traj_2/obs/agent/qpos", "traj_2/obs/agent/qvel")
    message = "traj_2 and traj_0 do not both have agent.qpos, agent.qvel"
    refuses(message, load_trajectories, tmp_path / "t.h5")


@pytest.mark.parametrize("values", [np.zeros(0, bool), np.float32(1), np.zeros((29, 2))])
def test_an_invalid_flag_of_success(values, tmp_path):
    with h5py.File(write(tmp_path / "t.h5", "flat"), "a") as file:
        del file["traj_0/success"]
        file["traj_0/success"] = values
    refuses("traj_0/success is no array", load_trajectories, tmp_path / "t.h5")
    assert len(load_trajectories(tmp_path / "t.h5", only_successful=False).lengths) == 3
