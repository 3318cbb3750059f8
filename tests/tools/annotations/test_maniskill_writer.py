"""Sub-tasks in files of ManiSkill."""

import h5py
import numpy as np
import pytest

from annotated import annotations
from hdf5_sets import subtasks
from infoatlas_rt import InputError
from infoatlas_tools import load_trajectories
from infoatlas_tools.annotations.maniskill_writer import write_maniskill

LENGTHS = (40, 30, 50)
EPISODES = ("traj_0", "traj_2", "traj_10")


def write(path):
    """Three annotated episodes, and one without success."""
    with h5py.File(path, "w") as file:
        for name, length in (*zip(EPISODES, LENGTHS, strict=True), ("traj_11", 20)):
            group = file.create_group(name, track_order=True)
            rng = np.random.default_rng(length)
            group["obs"] = rng.standard_normal((length, 5)).astype(np.float32)
            group["actions"] = np.zeros((length - 1, 8), np.float32)
            group["success"] = np.r_[np.zeros(length - 2, bool), name != "traj_11"]
    return path


def test_subtasks_and_key_states_are_read_back(tmp_path):
    path, out = write(tmp_path / "demo.h5"), tmp_path / "out.h5"
    before = path.read_bytes()
    found = annotations(subtasks(cuts=[[10, 25], [8, 8], [20, 41]]), EPISODES)
    notes = write_maniskill(found, path, out)
    assert notes == ("traj_11: no sub-tasks are known, as of episodes without success",)
    assert path.read_bytes() == before
    with h5py.File(out) as file:
        for i, name in enumerate(EPISODES):
            own, keys = file[name]["subtask"], file[name]["key_state"]
            assert own.dtype == keys.dtype == np.int64
            np.testing.assert_array_equal(own[()], found.subtasks.active(i))
            assert list(own.attrs["names"]) == ["reach cubeA", "carry cubeA to cubeB", "until end"]
            assert list(keys.attrs["names"]) == ["grasp", "release"]
        states = np.repeat([-1, 0, 1], (9, 15, 16))
        np.testing.assert_array_equal(file["traj_0/key_state"][()], states)
        np.testing.assert_array_equal(file["traj_2/key_state"][()], np.repeat([-1, 0], (7, 23)))
        assert "subtask" not in file["traj_11"]
    trajectories, annotated = load_trajectories(path), load_trajectories(out)
    np.testing.assert_array_equal(trajectories.states, annotated.states)
    assert trajectories.names == annotated.names  # annotations are not states


def test_a_second_annotation_replaces_the_first(tmp_path):
    path = write(tmp_path / "demo.h5")
    (tmp_path / "demo.json").write_text("{}")
    write_maniskill(annotations(subtasks(), EPISODES), path, tmp_path / "a.h5")
    parts = subtasks(cuts=[[10, 25], [8, 20]], lengths=(40, 30))
    found = annotations(parts, EPISODES[:2], labels=())
    notes = write_maniskill(found, tmp_path / "a.h5", tmp_path / "b.h5")
    assert notes == ("traj_10, traj_11: no sub-tasks are known, as of episodes without success",)
    with h5py.File(tmp_path / "b.h5") as file:
        assert (file["traj_0/key_state"][()] == -1).all()
        assert list(file["traj_0/key_state"].attrs["names"]) == []
        assert "subtask" not in file["traj_10"]  # nothing remains of the first annotation
    notes = write_maniskill(found, path, tmp_path / "c.h5")
    assert notes[-1] == "ManiSkill reads demo.json beside the .h5: copy it along with a copy"


def test_other_episodes(tmp_path):
    path = write(tmp_path / "demo.h5")
    for episodes, message in (
        (("traj_0", "traj_2", "traj_3"), "traj_3 has no actions, and its sub-tasks are of 50 obs"),
        (("traj_0", "traj_10", "traj_2"), "traj_10 has 49 actions, and its sub-tasks are of 30"),
    ):
        with pytest.raises(InputError, match=message):
            write_maniskill(annotations(subtasks(), episodes), path, tmp_path / "out.h5")
    assert not (tmp_path / "out.h5").exists()
