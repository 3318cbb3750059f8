"""Episodes of one task, and those that succeeded; tests/fuzz has more formats."""

from pathlib import Path

import h5py
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from command_line import complaint
from hdf5_sets import write_aloha_folder, write_isaac, write_minari
from infoatlas_tools import load_trajectories
from infoatlas_tools.bags.any_recording import open_recording
from infoatlas_tools.files.choice import choose_episodes
from infoatlas_tools.trajectories import Stated
from lerobot_sets import write_lerobot
from refusals import refuses

TASKS = ("pick the cube", "open the drawer", "pick the cube")
SUCCESS = (True, True, False)
STATES = [np.random.default_rng(i).random((9 + i, 2)).astype(np.float32) for i in range(3)]


def put(file: Path, name: str, values: object) -> None:
    """Put a column into a table."""
    table = pq.read_table(file)
    names = [n for n in table.column_names if n != name]
    pq.write_table(table.select(names).append_column(name, pa.array(values)), file)


def lerobot(path: Path, by_frame: bool = True) -> Path:
    """With numbers of tasks in frames, or names in the table of episodes alone."""
    write_lerobot(path, STATES, "v3.0", None, per_file=3)
    (file,) = (path / "data").rglob("*.parquet")
    which = pq.read_table(file).column("episode_index").to_numpy()
    put(file, "task_index", np.array([3, 1, 3])[which] if by_frame else 0 * which)
    put(file, "next.success", np.array(SUCCESS)[which])
    names = {"task_index": [1, 3], "__index_level_0__": ["open the drawer", "pick the cube"]}
    pq.write_table(pa.table(names), path / "meta/tasks.parquet")
    if not by_frame:
        (episodes,) = (path / "meta/episodes").rglob("*.parquet")
        put(episodes, "tasks", [[task] for task in TASKS])
    return path


def stated(path: Path, files: str, groups: str) -> Path:
    """Attributes or arrays of groups in HDF5 files."""
    for number, task, success in zip((0, 2, 10), TASKS, SUCCESS, strict=True):
        with h5py.File(path / files.format(number) if files else path, "a") as file:
            group = file[groups.format(number)]
            group.attrs["language_instruction"] = task
            if "infos" in group:
                group["infos/success"][-1] = success
            else:
                group.attrs["success"] = success
    return path


FORMATS = {
    "LeRobot": lerobot,
    "LeRobot, tasks of episodes": lambda path: lerobot(path, False),
    "Isaac Lab": lambda path: stated(write_isaac(path), "", "data/demo_{}"),
    "Minari": lambda path: stated(
        write_minari(path, numbers=(0, 2, 10)), "data/main_data.hdf5", "episode_{}"
    ),
    "folder of ALOHA": lambda path: stated(write_aloha_folder(path), "episode_{}.hdf5", "/"),
}


@pytest.mark.parametrize("name", FORMATS)
def test_tasks_and_failures_are_read(tmp_path, name):
    path = FORMATS[name](tmp_path / ("a.hdf5" if name == "Isaac Lab" else "set"))
    every = load_trajectories(path, only_successful=False)
    assert every.stated == tuple(map(Stated, TASKS, SUCCESS))
    names, number = every.episodes, 3 if name.startswith("LeRobot") else 0
    said = [f"{number} 'pick the cube' (2)", "1 'open the drawer' (1)"][:: -1 if number else 1]
    listed = f"of 2 tasks (with their episodes): {', '.join(said)}"
    assert any(listed in note for note in every.notes)
    good = load_trajectories(path)
    assert good.episodes == names[:2]
    assert any(note.startswith("Left out: 1 of 3 episodes, which do not") for note in good.notes)
    for task in ("pick the cube", number):
        picked = load_trajectories(path, task=task, only_successful=False)
        assert picked.episodes == (names[0], names[2])
        np.testing.assert_array_equal(picked.split()[1], every.split()[2])
        assert load_trajectories(path, task=task).episodes == names[:1]
    refuses(r"task is 'sing', and .*'pick the cube' \(2\)", load_trajectories, path, task="sing")


def test_failures_are_read_if_there_is_nothing_else():
    kept, (note,) = choose_episodes([Stated("", False)] * 2, Path("x"))
    assert kept.all() and note == "None of 2 episodes ends in success: all of them are read."
    kept, notes = choose_episodes([Stated("a", True), Stated("a", None)], Path("x"))
    assert kept.tolist() == [True, False] and "1 of 2 episodes" in notes[0]
    refuses("it names no tasks", choose_episodes, [Stated()], Path("x"), task="a")


def test_tasks_of_a_table_that_nothing_separates_are_refused(tmp_path):
    (tmp_path / "a.csv").write_text("x,task\n" + "1.5,pick\n2.5,pick\n3,put\n0.5,put\n" * 3)
    refuses("'task' has 2 tasks, and no column separates", load_trajectories, tmp_path / "a.csv")
    assert len(load_trajectories(tmp_path / "a.csv", episode_column="none").lengths) == 1


@pytest.mark.parametrize("command", ["keystates", "annotate", "curve"])
def test_commands_choose_a_task(tmp_path, capsys, command):
    path = lerobot(tmp_path / "set")
    assert "--task is '9', and" in complaint(capsys, command, path, "--task", "9")
    assert open_recording(path, task="3").trajectories.episodes == ("0",)
