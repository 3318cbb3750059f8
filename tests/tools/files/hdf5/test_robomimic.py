"""Synthetic files like those of robomimic, MimicGen and Isaac Lab."""

import json

import h5py
import numpy as np
import pytest

from hdf5_sets import LENGTHS, NAMES, observations, pose, write_isaac, write_mimicgen
from infoatlas_rt import InputError
from infoatlas_tools import load_trajectories
from infoatlas_tools.files.formats import open_dataset
from infoatlas_tools.files.hdf5.demonstrations import POSE, quaternions
from infoatlas_tools.files.hdf5.robomimic import pose_names
from refusals import refuses


def test_observations_and_poses_of_mimicgen(tmp_path):
    found = load_trajectories(write_mimicgen(tmp_path / "demo.hdf5"))
    np.testing.assert_array_equal(found.lengths, LENGTHS)
    poses = [f"{name}.{axis}" for name in ("eef_pose", "cubeA", "cubeB") for axis in POSE]
    assert found.names == ("gripper", "robot0_joint_pos.0", "robot0_joint_pos.1", *poses)
    assert found.rate == 20.0
    own = found.states[40:70]  # of demo_2, the second by number
    np.testing.assert_array_equal(own[:, 1:3], observations(30, 1)["robot0_joint_pos"])
    matrices, angle = pose(30, 21)
    np.testing.assert_allclose(own[:, 10:13], matrices[:, :3, 3])
    half = np.stack([np.cos(angle / 2), 0 * angle, 0 * angle, np.sin(angle / 2)], axis=1)
    np.testing.assert_allclose(own[:, 13:17], half, atol=1e-12)  # through w < 0, without a jump


def test_arrays_that_are_left_out_are_reported(tmp_path):
    path = write_mimicgen(tmp_path / "demo.hdf5")
    assert pose_names(path, "demo_2") == (("eef_pose",), ("cubeA", "cubeB"))
    found = load_trajectories(path)
    assert found.episodes == NAMES
    assert found.notes == (
        "Left out: data/demo_7 (it has no attribute num_samples: it was not finished).",
        "Left out: obs/agentview_image (uint8, no float).",
        "Left out: obs/depth (shape (40, 4, 4)).",
        "Left out: obs/grasped (bool, no float).",
    )


def test_split(tmp_path):
    path = write_mimicgen(tmp_path / "demo.hdf5")
    np.testing.assert_array_equal(load_trajectories(path, split="train").lengths, (40, 50))
    refuses("no split 'test' but train", load_trajectories, path, split="test")
    with h5py.File(path, "a") as file:
        file["mask/valid"] = np.array([b"demo_5"])
    refuses("mask/valid has demo_5", load_trajectories, path, split="valid")


@pytest.mark.parametrize("eefs", [("franka",), ("left", "right")])
def test_isaac_lab(tmp_path, eefs):
    path = write_isaac(tmp_path / "annotated.hdf5", eefs)
    found = load_trajectories(path)
    tools = ("eef_pose",) if len(eefs) == 1 else ("eef_pose.left", "eef_pose.right")
    assert pose_names(path, "demo_0") == (tools, ("cube_1", "cube_2"))
    assert found.notes == ("Left out: obs/subtask_terms/grasp_1 (bool, no float).",)
    names = [f"{name}.{axis}" for name in (*tools, "cube_1", "cube_2") for axis in POSE]
    assert found.names == ("joint_pos.0", "joint_pos.1", *names)
    assert found.rate == pytest.approx(20.0)


def test_recordings_that_are_not_annotated_yet(tmp_path):
    with h5py.File(write_isaac(tmp_path / "raw.hdf5"), "a") as file:
        for demo, length in zip(NAMES, LENGTHS, strict=True):
            del file[f"data/{demo}/obs/datagen_info"]
            body = f"data/{demo}/states/rigid_object/cube_1"
            file[f"{body}/root_pose"] = np.ones((length, 7), np.float32)
            file[f"{body}/root_velocity"] = np.zeros((length, 6), np.float32)
    names = load_trajectories(tmp_path / "raw.hdf5").names
    assert names == ("joint_pos.0", "joint_pos.1", *(f"cube_1.{i}" for i in range(7)))


@pytest.mark.parametrize("axis", range(3))
def test_quaternions_of_half_turns(axis):
    """Where w is 0, another component is the divisor."""
    turn = -np.eye(3)
    turn[axis, axis] = 1
    expected = np.zeros(4)
    expected[1 + axis] = 1
    np.testing.assert_allclose(np.abs(quaternions(turn[None])[0]), expected, atol=1e-12)


@pytest.mark.parametrize(
    "arguments",
    ["", "{", "[]", json.dumps({"env_kwargs": {"control_freq": 0}}), json.dumps({"sim_args": {}})],
)
def test_a_rate_that_is_not_stated_is_unknown(tmp_path, arguments):
    path = write_mimicgen(tmp_path / "demo.hdf5")
    with h5py.File(path, "a") as file:
        file["data"].attrs["env_args"] = arguments
    assert load_trajectories(path).rate is None


def test_the_content_decides_and_not_the_name(tmp_path):
    write_mimicgen(tmp_path / "demo.h5")
    assert open_dataset(tmp_path / "demo.h5").format.name == "robomimic"
    assert len(load_trajectories(tmp_path / "demo.h5").lengths) == 3
    why = r"only_successful is for data that say .*demo.h5 does not"
    refuses(why, load_trajectories, tmp_path / "demo.h5", only_successful=True)
    with h5py.File(tmp_path / "traj.hdf5", "w") as file:
        file["traj_0/obs"] = np.arange(8.0).reshape(4, 2)
    assert len(load_trajectories(tmp_path / "traj.hdf5").lengths) == 1
    with pytest.raises(InputError, match="split is for a file of robomimic"):
        load_trajectories(tmp_path / "traj.hdf5", split="train")
