"""Episodes of one task, and those that succeeded, by what every format says of them."""

from __future__ import annotations

import json
from pathlib import Path

import h5py
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from hdf5_sets import write_aloha, write_isaac, write_mimicgen, write_minari
from infoatlas_rt import InputError
from infoatlas_rt.cli import main
from infoatlas_tools import load_trajectories
from infoatlas_tools.bags.any_recording import open_recording
from infoatlas_tools.files.choice import choose_episodes
from infoatlas_tools.trajectories import Stated
from lerobot_sets import write_lerobot
from table_files import WRITERS

TASKS = ("pick the cube", "open the drawer", "pick the cube")
SUCCESS = (True, True, False)
STATES = [np.random.default_rng(i).random((9 + i, 2)).astype(np.float32) for i in range(3)]
COUNTS = np.repeat(range(3), [len(own) for own in STATES])


def lerobot(path: Path, version: str, by_frame: bool = True) -> Path:
    """With `task_index` of frames, or tasks of episodes alone; and `next.success`."""
    write_lerobot(path, STATES, version, None, per_file=3)
    for file in sorted((path / "data").rglob("*.parquet")):
        table = pq.read_table(file)
        which = table.column("episode_index").to_numpy()
        last = np.r_[which[1:] != which[:-1], True]
        at = table.column_names.index("task_index")
        numbers = np.array([3, 1, 3])[which] if by_frame else 0 * which
        table = table.set_column(at, "task_index", pa.array(numbers))
        done = pa.array((last & np.array(SUCCESS)[which]).tolist())
        pq.write_table(table.append_column("next.success", done), file)
    names = {1: "open the drawer", 3: "pick the cube"}
    meta, tasks = path / "meta", {"task_index": [*names], "__index_level_0__": [*names.values()]}
    if version == "v3.0":
        pq.write_table(pa.table(tasks), meta / "tasks.parquet")
        file = meta / "episodes/chunk-000/file-000.parquet"
        table = pq.read_table(file)
        listed = pa.array([[task] for task in TASKS])
        pq.write_table(table.set_column(table.column_names.index("tasks"), "tasks", listed), file)
    else:
        lines = [json.dumps({"task_index": i, "task": name}) for i, name in names.items()]
        (meta / "tasks.jsonl").write_text("\n".join(lines))
        rows = map(json.loads, (meta / "episodes.jsonl").read_text().splitlines())
        lines = [json.dumps(row | {"tasks": [task]}) for row, task in zip(rows, TASKS, strict=True)]
        (meta / "episodes.jsonl").write_text("\n".join(lines))
    return path


def described(path: Path, names: str) -> Path:
    """Attributes of the groups in an HDF5 file."""
    with h5py.File(path, "a") as file:
        for number, task, success in zip((0, 2, 10), TASKS, SUCCESS, strict=True):
            group = file[names.format(number)]
            group.attrs["language_instruction"], group.attrs["success"] = task, success
    return path


def minari(path: Path) -> Path:
    write_minari(path, numbers=(0, 2, 10))
    with h5py.File(path / "data/main_data.hdf5", "a") as file:
        for number, task, success in zip((0, 2, 10), TASKS, SUCCESS, strict=True):
            file[f"episode_{number}"]["language_instruction"] = task
            file[f"episode_{number}/infos/success"][-1] = success
    return path


def maniskill(path: Path) -> Path:
    with h5py.File(path, "w") as file:
        for i, (own, task, success) in enumerate(zip(STATES, TASKS, SUCCESS, strict=True)):
            file[f"traj_{i}/obs/agent/qpos"], file[f"traj_{i}/actions"] = own, own[1:]
            file[f"traj_{i}/success"] = np.r_[np.ones(len(own) - 2, bool), success]
            file[f"traj_{i}"].attrs["task"] = task
    return path


def folder(path: Path, suffix: str) -> Path:
    path.mkdir()
    for i, (own, task, success) in enumerate(zip(STATES, TASKS, SUCCESS, strict=True)):
        file = path / f"episode_{i + 4}{suffix}"
        if suffix == ".hdf5":
            write_aloha(file, seed=i)
            with h5py.File(file, "a") as opened:
                opened["language_instruction"], opened.attrs["success"] = task, success
        else:
            flags = [0] * (len(own) - 1) + [int(success)]
            WRITERS[suffix](file, table(own, task) | {"success": flags})
    return path


def table(states: np.ndarray, *tasks: str) -> dict[str, list[object]]:
    return {"x": states[:, 0].tolist(), "y": states[:, 1].tolist(), "task": [*tasks] * len(states)}


def one_table(path: Path) -> Path:
    states = np.concatenate(STATES)
    columns = table(states) | {"task": [TASKS[i] for i in COUNTS], "frame": np.arange(len(states))}
    last = np.r_[COUNTS[1:] != COUNTS[:-1], True] & np.array(SUCCESS)[COUNTS]
    frames = np.concatenate([np.arange(len(own)) for own in STATES])
    WRITERS[path.suffix](path, columns | {"frame": frames.tolist(), "next.success": last.tolist()})
    return path


FORMATS = {
    "LeRobot v2.1": lambda path: lerobot(path / "set", "v2.1"),
    "LeRobot v3.0": lambda path: lerobot(path / "set", "v3.0"),
    "LeRobot v2.1, tasks of episodes": lambda path: lerobot(path / "set", "v2.1", False),
    "LeRobot v3.0, tasks of episodes": lambda path: lerobot(path / "set", "v3.0", False),
    "MimicGen": lambda path: described(write_mimicgen(path / "a.hdf5"), "data/demo_{}"),
    "Isaac Lab": lambda path: described(write_isaac(path / "a.hdf5"), "data/demo_{}"),
    "Minari": lambda path: minari(path / "set"),
    "ManiSkill": lambda path: maniskill(path / "a.h5"),
    "folder of ALOHA": lambda path: folder(path / "set", ".hdf5"),
    "folder of .csv": lambda path: folder(path / "set", ".csv"),
    "folder of .parquet": lambda path: folder(path / "set", ".parquet"),
    "table": lambda path: one_table(path / "a.csv"),
}


@pytest.mark.parametrize("name", FORMATS)
def test_tasks_and_failures_are_read(tmp_path, name):
    path, options = FORMATS[name](tmp_path), {}
    if name == "table":
        options = {"episode_column": "frame"}
    every = load_trajectories(path, only_successful=False, **options)
    assert every.stated == tuple(map(Stated, TASKS, SUCCESS))
    names = every.episodes or ("0", "1", "2")
    number = 3 if name.startswith("LeRobot") else 0
    said = (
        f"of 2 tasks (with their episodes): {number} 'pick the cube' (2), 1 'open the drawer' (1)"
    )
    if number:
        said = "of 2 tasks (with their episodes): 1 'open the drawer' (1), 3 'pick the cube' (2)"
    assert any(said in note for note in every.notes)
    good = load_trajectories(path, **options)
    assert good.episodes == names[:2]
    assert any(note.startswith("Left out: 1 of 3 episodes, which do not") for note in good.notes)
    for task in ("pick the cube", number):
        picked = load_trajectories(path, task=task, only_successful=False, **options)
        assert picked.episodes == (names[0], names[2])
        np.testing.assert_array_equal(picked.split()[1], every.split()[2])
        assert not any("tasks" in note for note in picked.notes)
        assert load_trajectories(path, task=task, **options).episodes == names[:1]
    with pytest.raises(InputError, match=r"task is 'sing', and .*'pick the cube' \(2\)"):
        load_trajectories(path, task="sing", **options)


def test_failures_are_read_if_there_is_nothing_else():
    kept, (note,) = choose_episodes([Stated("", False)] * 2, Path("x"))
    assert kept.all() and note == "None of 2 episodes ends in success: all of them are read."
    kept, notes = choose_episodes([Stated("a", True), Stated("a", None)], Path("x"))
    assert kept.tolist() == [True, False] and "1 of 2 episodes" in notes[0]
    with pytest.raises(InputError, match="it names no tasks"):
        choose_episodes([Stated()], Path("x"), task="a")


def test_tasks_of_a_table_that_nothing_separates_are_refused(tmp_path):
    states = np.concatenate(STATES)
    path = tmp_path / "a.csv"
    WRITERS[".csv"](path, table(states) | {"task": [TASKS[i] for i in COUNTS]})
    with pytest.raises(InputError, match="'task' has 2 tasks, and no column separates"):
        load_trajectories(path)
    assert len(load_trajectories(path, episode_column="none").lengths) == 1


@pytest.mark.parametrize("command", ["keystates", "annotate", "curve"])
def test_commands_choose_a_task(tmp_path, capsys, command):
    path = lerobot(tmp_path / "set", "v3.0")
    assert main.main([command, str(path), "--task", "9"]) == 2
    assert "--task is '9', and" in capsys.readouterr().err
    assert open_recording(path, task="3").trajectories.episodes == ("0",)


def test_other_rates_in_one_data_set_are_named(tmp_path):
    write_lerobot(tmp_path / "set", STATES, "v3.0", None, per_file=3)
    (file,) = (tmp_path / "set/data").rglob("*.parquet")
    table = pq.read_table(file)
    times = np.array(table.column("timestamp").to_numpy())
    times[COUNTS == 2] *= 20 / 25
    at = table.column_names.index("timestamp")
    pq.write_table(table.set_column(at, "timestamp", pa.array(times)), file)
    found = load_trajectories(tmp_path / "set")
    assert found.rate is None
    said = "Episodes of other rates than 20 Hz, whose steps would be wrong in seconds: 2 (25 Hz)"
    assert any(note.startswith(said) for note in found.notes)
