"""Files of robosuite, ALOHA, D4RL and Minari: selection and refusals."""

import sys

import h5py
import numpy as np
import pytest

import hdf5_sets as sets
from infoatlas_rt import InputError
from infoatlas_tools import load_trajectories
from infoatlas_tools.files.formats import open_dataset
from refusals import refuses


def changed(path, change):
    with h5py.File(path, "a") as file:
        change(file)
    return path


def replaced(name, values):
    """A change that replaces an array."""

    def change(file):
        if name in file:
            del file[name]
        file[name] = values

    return change


def test_features_of_robomimic(tmp_path):
    path = sets.write_mimicgen(tmp_path / "demo.hdf5")
    found = load_trajectories(path, features=["robot0_joint_pos", "cubeB"])
    assert found.names[:3] == ("robot0_joint_pos.0", "robot0_joint_pos.1", "cubeB.x")
    expected = sets.observations(30, 1)["robot0_joint_pos"]
    np.testing.assert_array_equal(found.states[40:70, :2], expected)
    np.testing.assert_allclose(found.states[40:70, 2:5], sets.pose(30, 31)[0][:, :3, 3])
    found = load_trajectories(path, features=["actions"])
    assert found.names == tuple(f"actions.{i}" for i in range(7))
    flag = load_trajectories(path, features=["grasped", "states"], split="train")
    assert flag.states.shape == (90, 10) and flag.episodes == ("demo_0", "demo_10")
    assert flag.notes == ("Read: 2 of 4 demonstrations, those of mask/train.",)
    for features, message in (
        (["nope"], r"demo_0 has no nope but .*gripper \(40,\) float32, robot0_joint_pos \(40, 2\)"),
        (["gripper", "gripper"], "name each of them once"),
        ("states", r"features is 'states': pass a list"),
        ([], r"features is \[\]: pass a list"),
        (["agentview_image"], r"obs/agentview_image of demo_0 is of shape \(40, 4, 4, 3\)"),
    ):
        refuses(message, load_trajectories, path, features=features)


def test_observations_in_groups(tmp_path):
    def nest(file):
        for name, length in zip(sets.NAMES, sets.LENGTHS, strict=True):
            file.move(f"data/{name}/obs/joint_pos", f"data/{name}/obs/policy/joint_pos")
            file[f"data/{name}/obs/actions"] = np.ones((length, 2))

    path = changed(sets.write_isaac(tmp_path / "a.hdf5"), nest)
    found = load_trajectories(path)
    assert found.names[:4] == ("actions.0", "actions.1", "policy.joint_pos.0", "policy.joint_pos.1")
    with pytest.raises(InputError, match=r"two arrays actions: pass obs/actions or /actions"):
        load_trajectories(path, features=["actions"])
    assert load_trajectories(path, features=["obs/actions"]).states.all()
    assert not load_trajectories(path, features=["/actions"]).states.any()


def test_robosuite(tmp_path):
    path = sets.write_robosuite(tmp_path / "demo.hdf5")
    refuses(r"no observations.*actions \(40, 3\).*--features states", load_trajectories, path)
    found = load_trajectories(path, features=["states"])
    assert found.episodes == ("demo_1", "demo_2") and found.rate == 20.0
    assert found.names == tuple(f"states.{i}" for i in (1, 2, 3, 4))
    np.testing.assert_array_equal(found.states[40:], sets.walk(30, 4, 1))
    assert any("states.0, the simulator's time" in note for note in found.notes)

    def back(file):
        file["data/demo_2/states"][7:, 0] -= 0.2

    found = load_trajectories(changed(path, back), features=["states"])
    assert found.names[0] == "states.1" and found.rate == 20.0
    said = "1 of 68 steps go back, first before step 7 of demonstration demo_2"
    assert any(said in note for note in found.notes)

    def uneven(file):  # not a clock: an ordinary coordinate
        file["data/demo_1/states"][::2, 0] += 0.01

    found = load_trajectories(changed(path, uneven), features=["states"])
    assert found.names[0] == "states.0" and found.rate is None
    replace = replaced("data/demo_2/states", np.zeros((31, 5)))
    with pytest.raises(InputError, match=r"states of demo_2 is float64 of \(31, 5\).* 30"):
        load_trajectories(changed(path, replace), features=["states"])


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        (np.array(["demo_10", "demo_0"], h5py.string_dtype()), ("demo_0", "demo_10")),
        (np.array([b"demo_10", b"demo_0"]), ("demo_0", "demo_10")),
        (np.array([False, True, True, True]), ("demo_2", "demo_10")),  # demo_7 is unfinished
    ],
)
def test_lists_of_demonstrations(values, expected, tmp_path):
    def change(file):
        file["mask/own"] = values

    path = changed(sets.write_mimicgen(tmp_path / "a.hdf5"), change)
    assert load_trajectories(path, split="own").episodes == expected


def test_aloha(tmp_path):
    folder = sets.write_aloha_folder(tmp_path / "aloha")
    assert open_dataset(folder).format.name == "folder"
    assert open_dataset(folder / "episode_0.hdf5").format.name == "ALOHA"
    found = load_trajectories(folder)
    assert found.episodes == ("episode_0", "episode_2", "episode_10") and found.rate is None
    np.testing.assert_array_equal(found.lengths, (30, 20, 25))
    assert found.names == tuple(f"qpos.{i}" for i in range(14))
    np.testing.assert_array_equal(found.states[50:], sets.walk(25, 14, 2))
    assert found.notes == (
        "Read: qpos. The file has effort, qvel, action, base_action too (--features).",
        "Set aside, because they are of another kind: dataset_stats.pkl.",
    )
    one = load_trajectories(folder / "episode_2.hdf5", features=["qvel", "action"])
    np.testing.assert_array_equal(one.states, np.c_[sets.walk(20, 14, 101), sets.walk(20, 14, 301)])
    sets.write_aloha(folder / "episode_3.hdf5", joints=7)
    why = r"episode_3.hdf5 has 7 columns and .*0.hdf5 14 \(it lacks qpos.7"
    refuses(why, load_trajectories, folder)
    sets.write_minari(tmp_path / "minari")
    (tmp_path / "minari/data/main_data.hdf5").rename(folder / "episode_3.hdf5")
    refuses(r"episode_3.hdf5 contains 3 demonstrations: pass that file", load_trajectories, folder)
    (folder / "episode_3.hdf5").write_bytes((folder / "episode_2.hdf5").read_bytes()[:3000])
    refuses(r"episode_3.hdf5 cannot be read.*its end is missing", load_trajectories, folder)
    (folder / "episode_3.hdf5").unlink()
    sets.write_aloha(folder / "episode_2.h5")
    refuses("two files episode_2", load_trajectories, folder)


def test_d4rl(tmp_path):
    found = load_trajectories(sets.write_d4rl(tmp_path / "a.hdf5"))
    np.testing.assert_array_equal(found.lengths, (10, 15, 15, 5))
    np.testing.assert_array_equal(found.states, sets.walk(45, 3, 0, np.float32))
    assert found.notes == ("The last 5 rows are an episode without an end.",)
    qpos = load_trajectories(tmp_path / "a.hdf5", features=["infos.qpos", "actions"])
    assert qpos.names[0] == "infos.qpos.0" and qpos.states.shape == (45, 6)
    bare = load_trajectories(sets.write_d4rl(tmp_path / "b.hdf5", timeouts=False))
    np.testing.assert_array_equal(bare.lengths, (25, 20))
    assert "no timeouts" in bare.notes[0]
    with pytest.raises(InputError, match="the ends of episodes are unknown"):
        load_trajectories(sets.write_d4rl(tmp_path / "c.hdf5", terminal=(), timeouts=False))
    for i, values in enumerate((np.zeros(44), np.full(45, 2), np.zeros((45, 2)))):
        path = changed(sets.write_d4rl(tmp_path / f"{i}.hdf5"), replaced("terminals", values))
        refuses("terminals", load_trajectories, path)


def test_minari(tmp_path):
    folder = sets.write_minari(tmp_path / "set")
    for path in (folder, folder / "data", folder / "data/main_data.hdf5"):
        found = load_trajectories(path)
        assert open_dataset(path).format.name == "Minari"
        assert found.episodes == ("episode_0", "episode_1", "episode_10")
        np.testing.assert_array_equal(found.lengths, (13, 10, 16))
        np.testing.assert_array_equal(found.states[13:23], sets.walk(10, 5, 1))
    assert load_trajectories(folder, features=["actions"]).states.shape == (36, 2)
    with pytest.raises(InputError, match=r"actions of episode_0 .*\(12, 2\).*observations has 13"):
        load_trajectories(folder, features=["observations", "actions"])
    file = folder / "data/main_data.hdf5"
    changed(file, lambda opened: opened["episode_1"].attrs.create("total_steps", 8))
    refuses("observations of episode_1 has 10 rows, and total_steps 8", load_trajectories, folder)
    changed(file, replaced("episode_0/actions", np.zeros((13, 2))))
    refuses("of episode_0 has 13 rows, and actions 13", load_trajectories, folder)
    found = load_trajectories(sets.write_minari(tmp_path / "dictionary", dictionary=True))
    assert found.names[1:3] == ("achieved_goal.1", "observation.0")
    assert "Left out: observations/mission (|S4, no number)." in found.notes


def test_other_forms_of_storage(tmp_path):
    (tmp_path / "buffer.zarr/data").mkdir(parents=True)
    (tmp_path / "set/1.0.0").mkdir(parents=True)
    record = tmp_path / "set/1.0.0/set-train.tfrecord-00000-of-00001"
    record.write_bytes(b"")
    (tmp_path / "arrow/data").mkdir(parents=True)
    (tmp_path / "arrow/data/metadata.json").write_text('{"data_format": "arrow"}')
    (tmp_path / "a.hdf5").write_text("version https://git-lfs.github.com/spec/v1\n")
    (tmp_path / "b.hdf5").write_text("x,y\n1,2\n")
    for name, message in (
        ("buffer.zarr", "stored as zarr.*numpy.savez"),
        ("set", "stored as TFRecord.*LeRobot"),
        (record, "stored as TFRecord"),
        ("arrow", "stored as Arrow"),
        ("a.hdf5", "git lfs pull"),
        ("b.hdf5", "it is no HDF5 file"),
    ):
        refuses(message, load_trajectories, tmp_path / name)


def test_demonstrations_without_steps_are_named(tmp_path):
    def empty(file):
        for key in file["data/demo_2/obs"]:
            replaced(f"data/demo_2/obs/{key}", np.zeros((0, 2)))(file)
        file["data/demo_2"].attrs["num_samples"] = 0

    found = load_trajectories(changed(sets.write_mimicgen(tmp_path / "a.hdf5"), empty))
    assert found.episodes == ("demo_0", "demo_10")
    assert "Left out: data/demo_2 (it has no steps)." in found.notes


@pytest.mark.parametrize(
    ("value", "why"),
    [
        (20, "num_samples of /data/demo_0 is 20, and its observations have 40 rows: store the"),
        ([0, 0.1], r"num_samples of /data/demo_0 is \[0.0, 0.1\]: store the number of its steps"),
    ],
)
def test_a_wrong_number_of_steps_is_the_reason(tmp_path, value, why):
    def change(file):
        file["data/demo_0"].attrs["num_samples"] = value

    refuses(why, load_trajectories, changed(sets.write_mimicgen(tmp_path / "a.hdf5"), change))


@pytest.mark.parametrize("name", ["demo.hdf5", "trajectory.h5"])
def test_without_h5py(name, tmp_path, monkeypatch):
    path = sets.write_mimicgen(tmp_path / name)
    monkeypatch.setitem(sys.modules, "h5py", None)
    refuses(r"pip install 'infoatlas-rt\[datasets\]'", load_trajectories, path)
