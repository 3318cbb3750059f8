"""Generated demonstrations as files, and sources from files; without the simulator."""

import json

import numpy as np
import pytest

from infoatlas_rt import InputError
from infoatlas_tools import load_trajectories
from infoatlas_tools.generation import writing
from infoatlas_tools.generation.sources import Generated, Sources, poses, read_sources
from infoatlas_tools.generation.tasks import TASKS, column_names
from refusals import refuses

TASK = "PickCube-v1"
NAMES = column_names(TASKS[TASK])


@pytest.fixture
def generated():
    rng = np.random.default_rng(0)
    lengths = np.array([5, 7, 4])
    total = int(lengths.sum())
    sides = (rng.normal(size=(total, width)) for width in (len(NAMES), 8, 13))
    states, actions, cube = (side.astype(np.float32) for side in sides)
    return Generated(
        states, actions, lengths, NAMES, np.array([500_000, 500_002, 500_003]), TASK,
        {"actors/cube": cube}, np.arange(total) % 2 == 0, np.array([True, False, True, True]), 1.0,
    )  # fmt: skip


def test_columns_have_names_of_their_own():
    for task in TASKS.values():
        names = column_names(task)
        assert len(set(names)) == len(names)
        assert {f"{name}.x" for name in task.objects} <= set(names)
        assert set(task.grasped) <= set(task.objects)


def test_lerobot(generated, tmp_path):
    pandas = pytest.importorskip("pandas")
    folder = writing.write(generated, tmp_path / "out") / "lerobot"
    read = load_trajectories(folder)
    np.testing.assert_array_equal(read.lengths, [4, 6, 3])  # one frame per action
    assert read.names == tuple(f"observation.state.{name}" for name in NAMES) and read.rate == 20
    np.testing.assert_array_equal(read.states[:4], generated.states[:4])
    np.testing.assert_array_equal(read.states[4:10], generated.states[5:11])
    frames = pandas.read_parquet(folder / "data/chunk-000/file-000.parquet")
    np.testing.assert_array_equal(np.stack(frames["action"])[10:], generated.actions[12:15])
    np.testing.assert_allclose(frames["timestamp"][:4], [0, 0.05, 0.1, 0.15])
    np.testing.assert_array_equal(frames["index"], np.arange(13))
    tasks = pandas.read_parquet(folder / "meta/tasks.parquet")
    assert tasks.loc["PickCube-v1: generated", "task_index"] == 0
    episodes = pandas.read_parquet(folder / "meta/episodes/chunk-000/file-000.parquet")
    assert episodes["dataset_to_index"].tolist() == [4, 10, 13]
    info = json.loads((folder / "meta/info.json").read_text("utf-8"))
    assert info["total_frames"] == 13 and info["features"]["action"]["shape"] == [8]
    stats = json.loads((folder / "meta/stats.json").read_text("utf-8"))
    np.testing.assert_allclose(stats["action"]["mean"], np.stack(frames["action"]).mean(axis=0))


def test_maniskill(generated, tmp_path):
    h5py = pytest.importorskip("h5py")
    folder = writing.write(generated, tmp_path / "out")
    read = load_trajectories(folder / "trajectory.h5")
    np.testing.assert_array_equal(read.states, generated.states)
    np.testing.assert_array_equal(read.lengths, generated.lengths)
    with h5py.File(folder / "trajectory.h5") as file:
        assert {name: file["traj_1"][name].shape for name in ("obs", "actions", "success")} == {
            "obs": (7, 42),
            "actions": (6, 8),
            "success": (6,),
        }
        np.testing.assert_array_equal(file["traj_1/obs"][:, 18], generated.grasped[5:12])
        assert file["traj_1/success"][-1] and not file["traj_1/success"][:-1].any()
        assert file["traj_1/env_states/actors/cube"].shape == (7, 13)
    about = json.loads((folder / "trajectory.json").read_text("utf-8"))
    assert [e["episode_seed"] for e in about["episodes"]] == [500_000, 500_002, 500_003]


@pytest.mark.parametrize("name", [f"{TASK}.npz", "trajectory.h5"])
def test_generated_ones_are_sources_again(generated, tmp_path, name):
    read = read_sources(writing.write(generated, tmp_path / "out") / name)
    assert read.names == NAMES
    np.testing.assert_array_equal(read.seeds, generated.seeds)
    for i, (states, actions) in enumerate(map(read.episode, range(3))):
        own = slice(*np.cumsum([0, *generated.lengths])[[i, i + 1]])
        np.testing.assert_array_equal(states, generated.states[own])
        np.testing.assert_array_equal(actions[:-1], generated.actions[own][:-1])


def test_nothing_is_half_written(generated, tmp_path, monkeypatch):
    def fail(*arguments):
        raise OSError("disk full")

    monkeypatch.setattr(writing, "_write_maniskill", fail)
    refuses("cannot be written", writing.write, generated, tmp_path / "out")
    assert not list(tmp_path.iterdir())


def test_existing_files_are_kept(generated, tmp_path):
    (tmp_path / "out").mkdir()
    refuses("exists: choose a folder that does not", writing.write, generated, tmp_path / "out")


def test_sources_that_do_not_fit():
    with pytest.raises(InputError, match="lengths of sum 5"):
        Sources(np.zeros((4, 2)), np.zeros((4, 8)), np.array([5]), ("a", "b"), np.array([0]))
    with pytest.raises(InputError, match="2 seeds for 1 demonstrations"):
        Sources(np.zeros((4, 2)), np.zeros((4, 8)), np.array([4]), ("a", "b"), np.arange(2))


def test_files_that_are_no_sources(tmp_path):
    refuses("does not exist", read_sources, tmp_path / "none.npz")
    np.savez(tmp_path / "states.npz", states=np.zeros((4, 2)), lengths=[4], names=["a", "b"])
    refuses("has no actions: collect it with actions", read_sources, tmp_path / "states.npz")
    (tmp_path / "states.csv").write_text("a")
    refuses("pass a file", read_sources, tmp_path / "states.csv")
    (tmp_path / "damaged.h5").write_text("a")
    refuses(r"damaged.h5 cannot be read", read_sources, tmp_path / "damaged.h5")


def test_noise_is_averaged_and_turns_stay_turns():
    rng = np.random.default_rng(0)
    names = ("joint", *(f"cube.{axis}" for axis in ("x", "y", "z", "qw", "qx", "qy", "qz")))
    t = np.arange(60)
    clean = np.zeros((60, 8))
    clean[:, 1] = 0.01 * t
    clean[:, 4], clean[:, 7] = np.cos(0.01 * t), np.sin(0.01 * t)
    states = clean + rng.normal(scale=1e-3, size=clean.shape)
    states[30:, 4:] *= -1  # the same rotations
    actions = np.zeros((60, 8))
    actions[30:, 7] = 1
    lengths = np.array([40, 20])
    states, actions = states.astype(np.float32), actions.astype(np.float32)
    noisy = Sources(states, actions, lengths, names, np.arange(2))
    smooth = noisy.smoothed(9)

    def far(sources):
        exact = poses(clean, names, "cube")
        return np.sqrt(np.mean((poses(sources.states, names, "cube") - exact) ** 2))

    assert far(smooth) < 0.6 * far(noisy)
    np.testing.assert_array_equal(smooth.actions[:, 7], noisy.actions[:, 7])  # the gripper's action
    assert noisy.smoothed(1) is noisy
    refuses("an odd number", noisy.smoothed, 4)
