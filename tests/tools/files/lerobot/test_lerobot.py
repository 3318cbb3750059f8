"""Reading of LeRobot data sets."""

import json
import sys

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from infoatlas_rt import InputError
from infoatlas_tools import load_trajectories
from lerobot_sets import write_lerobot
from refusals import refuses

VERSIONS = ("v2.1", "v3.0")
NAMES = {"motors": ["x", "y", "z", "a", "b", "c"]}  # in one of the forms of data sets


@pytest.fixture(scope="module", params=VERSIONS)
def folder(request, states, tmp_path_factory):
    path = tmp_path_factory.mktemp("lerobot") / "set"
    return write_lerobot(path, states, request.param, NAMES, per_file=5)


def test_episodes_come_out_as_they_went_in(folder, states):
    found = load_trajectories(folder)
    np.testing.assert_array_equal(found.states, np.concatenate(states))
    np.testing.assert_array_equal(found.lengths, list(map(len, states)))
    assert found.names[:2] == ("observation.state.x", "observation.state.y")
    both = load_trajectories(folder, features=["observation.state", "action"])
    assert both.states.shape[1] == 8 and both.names[-1] == "action.1"


def change_info(folder, **values):
    path = folder / "meta" / "info.json"
    path.write_text(json.dumps({**json.loads(path.read_text()), **values}))


def test_a_rate_that_the_time_stamps_contradict_is_unknown(states, tmp_path):
    folder = write_lerobot(tmp_path / "set", states[:2], "v3.0", None)  # at 20 Hz
    change_info(folder, fps=30)
    found = load_trajectories(folder)
    assert found.rate is None
    assert "30 frames a second, and the time stamps are 0.05 s apart" in found.notes[0]


def test_unreadable_data_sets(states, tmp_path):
    folder = write_lerobot(tmp_path / "set", states, "v3.0", None)
    last = sorted((folder / "data" / "chunk-000").iterdir())[-1]
    pq.write_table(pq.read_table(sorted(last.parent.iterdir())[0]).drop_columns(["action"]), last)
    refuses("has no column action", load_trajectories, folder, features=["action"])
    (folder / "meta" / "info.json").write_text("[" * 100_000)
    refuses(r"info.json cannot be read .*load the data set again", load_trajectories, folder)
    (folder / "meta").rename(folder / "meta_data")  # as in v1
    (folder / "meta_data" / "info.json").write_text('{"codebase_version": "v1.4", "fps": 10}')
    refuses(r"version v1\.4: convert it", load_trajectories, folder)


def test_without_pyarrow(folder, monkeypatch):
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    monkeypatch.setitem(sys.modules, "pyarrow.parquet", None)
    refuses(r"pip install 'infoatlas-rt\[datasets\]'", load_trajectories, folder)


def edit(folder, episode, change, feature="observation.state"):
    """Change the rows of a feature in the file of an episode (v2.1)."""
    file = folder / "data" / "chunk-000" / f"episode_{episode:06d}.parquet"
    table = pq.read_table(file)
    rows = change(table[feature].to_pylist())
    kind = table.schema.field(feature).type
    at = table.column_names.index(feature)
    pq.write_table(table.set_column(at, feature, pa.array(rows, kind)), file)


def test_rows_of_different_lengths(states, tmp_path):
    folder = write_lerobot(tmp_path / "set", states[:2], "v2.1", None)
    edit(folder, 1, lambda rows: [*rows[:3], [1.0], *rows[4:]])
    why = r"6 numbers in episode 1, frame 0 and 1 in episode 1, frame 3"
    refuses(why, load_trajectories, folder)
    edit(folder, 1, lambda rows: [[1.0]] * len(rows))
    refuses(r"has 1 columns of observation\.state, and .*shape \[6\]", load_trajectories, folder)


@pytest.mark.parametrize(
    ("feature", "broken", "match"),
    [
        ("observation.state", None, "no observation.state in frame 5 (2 frames in all)"),
        ("observation.state", [None] * 6, "no observation.state in frame 5 (2 frames in all)"),
        (
            "observation.state",
            [np.nan] * 6,
            "NaN or an infinite number in observation.state.0 in frame 5",
        ),
        ("timestamp", -1.0, "time stamps that go back after frame 4"),
    ],
)
def test_an_episode_with_a_fault_is_left_out(states, tmp_path, feature, broken, match):
    folder = write_lerobot(tmp_path / "set", states[:3], "v2.1", None)
    edit(folder, 1, lambda rows: [*rows[:5], broken, broken, *rows[7:]], feature)
    found = load_trajectories(folder)
    assert found.episodes == ("0", "2")
    np.testing.assert_array_equal(found.states, np.concatenate([states[0], states[2]]))
    assert f"1 of 3 episodes are left out: episode 1 has {match}" in " ".join(found.notes)
    edit(folder, 1, lambda rows: [row + (row > 6) for row in rows], "frame_index")
    assert "episode 1 lacks frames between 6 and 8" in " ".join(load_trajectories(folder).notes)


def test_a_part_of_the_episodes_is_on_this_machine(states, tmp_path):
    folder = write_lerobot(tmp_path / "set", states, "v2.1", None)
    files = sorted((folder / "data" / "chunk-000").iterdir())
    for number in (0, 5, 6, 11):
        files[number].unlink()
    files[7].write_text("version https://git-lfs.github.com/spec/v1\noid sha256:0\nsize 9\n")
    pq.write_table(pq.read_table(files[8]).slice(0, 20), files[8])
    found = load_trajectories(folder)
    assert found.episodes == ("1", "2", "3", "4", "9", "10")
    expected = np.concatenate([states[int(name)] for name in found.episodes])
    np.testing.assert_array_equal(found.states, expected)
    assert "7 of 12 episodes are on this machine (1 to 4, 8 to 10)" in found.notes[0]
    assert f"episode 8 has 20 of its {len(states[8])} frames" in found.notes[1]
    for number in (1, 2, 3, 4, 9, 10):
        files[number].unlink()
    refuses("no episode is complete", load_trajectories, folder)
    files[8].unlink()
    refuses("run git lfs pull", load_trajectories, folder)


def add_feature(folder, name, about, column):
    """Add a feature to all files; `column(table)` is its column."""
    info = json.loads((folder / "meta" / "info.json").read_text())
    change_info(folder, features={**info["features"], name: about})
    for file in (folder / "data").glob("*/*.parquet"):
        table = pq.read_table(file)
        pq.write_table(table.append_column(name, column(table)), file)


def test_features_of_other_shapes(states, tmp_path):
    folder = write_lerobot(tmp_path / "set", states[:1], "v3.0", None)
    own = np.arange(6.0).reshape(2, 3)
    about = {"dtype": "float32", "shape": [2, 3], "names": [["left", "right"], ["x", "y", "z"]]}
    add_feature(folder, "arms", about, lambda t: pa.array([own.tolist()] * len(t)))
    one = {"dtype": "float32", "shape": [1], "names": ["width"]}
    add_feature(folder, "gripper", one, lambda t: pa.array([[0.5]] * len(t)))
    found = load_trajectories(folder, features=["arms", "gripper"])
    arms = (f"arms.{side}.{axis}" for side in ("left", "right") for axis in "xyz")
    assert found.names == (*arms, "gripper.width")
    np.testing.assert_array_equal(found.states, [[0, 1, 2, 3, 4, 5, 0.5]] * len(found.states))


def test_without_a_state(states, tmp_path):
    folder = write_lerobot(tmp_path / "set", states[:2], "v2.1", None)
    features = json.loads((folder / "meta" / "info.json").read_text())["features"]
    change_info(folder, features={n: f for n, f in features.items() if n != "observation.state"})
    with pytest.raises(InputError) as error:  # and not the action
        load_trajectories(folder)
    assert "pass --features NAME" in str(error.value)
    assert "numbers are action [2]" in str(error.value)
    one = {"dtype": "float32", "shape": [1], "names": None}
    add_feature(folder, "observation.qpos", one, lambda t: pa.array([1.0] * len(t)))
    found = load_trajectories(folder)
    assert found.names == ("observation.qpos",)
    assert "There is no observation.state: observation.qpos is read instead" in found.notes[0]
    add_feature(folder, "observation.effort", one, lambda t: pa.array([2.0] * len(t)))
    refuses(r"observation\.qpos \[1\], observation\.effort \[1\]", load_trajectories, folder)
    add_feature(folder, "observation.state.arm", one, lambda t: pa.array([3.0] * len(t)))
    add_feature(folder, "observation.state.hand", one, lambda t: pa.array([4.0] * len(t)))
    flag = {"dtype": "bool", "shape": [1], "names": None}
    add_feature(folder, "observation.state.held", flag, lambda t: pa.array([True] * len(t)))
    found = load_trajectories(folder)
    assert found.names == ("observation.state.arm", "observation.state.hand")
    assert found.states[0].tolist() == [3.0, 4.0]
    assert "Truth values are left out: observation.state.held" in found.notes[0]
    found = load_trajectories(folder, features=["observation.state.held"])
    assert found.states.min() == 1.0 and "contains truth values" in found.notes[0]


def test_data_in_lance_is_not_read(states, tmp_path):
    folder = write_lerobot(tmp_path / "set", states[:2], "v3.0", None)
    change_info(folder, storage_format="lance")
    refuses(r"stored by Lance, which is not read\. Load", load_trajectories, folder)
    (tmp_path / "tables" / "data" / "frames.lance").mkdir(parents=True)
    refuses(r"frames\.lance is stored by Lance", load_trajectories, tmp_path / "tables")


ARMS = [f"{side}_{joint}" for side in ("left", "right") for joint in "abc"]


@pytest.mark.parametrize(
    ("names", "expected", "notes"),
    [
        (None, "012345", 0),
        (["state"], "012345", 0),  # of the dimension
        (ARMS[:5], "012345", 1),
        (["a", None, "c", "d", "e", "f"], "012345", 1),
        ({name: place for name, place in zip(ARMS, (3, 1, 4, 1, 5, 9), strict=True)}, "012345", 1),
        ([3, 4, 5, 6, 7, 8], "345678", 0),
        ({"l": [*"xyz"], "r": [*"xyz"]}, "l.x l.y l.z r.x r.y r.z".split(), 0),
        (["a", "a", "b", "c", "d", "e"], ["a.0", "a.1", "b", "c", "d", "e"], 0),
        (True, "012345", 0),
        ([[[[[[[[[["a"]]]]]]]]]], "012345", 0),
    ],
)  # fmt: skip
def test_names_that_fit_in_part(states, tmp_path, names, expected, notes):
    found = load_trajectories(write_lerobot(tmp_path / "set", states[:1], "v2.1", names))
    assert found.names == tuple(f"observation.state.{name}" for name in expected)
    assert len(found.notes) == notes
