"""Tables in .parquet files: as in .csv, with lists, nulls, times and columns of pandas."""

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from infoatlas_rt.errors import InputError
from infoatlas_tools.files.load import load_pairs, load_samples, load_trajectories
from infoatlas_tools.files.tables import parquet
from refusals import refuses

LENGTHS = (20, 25, 15)
FRAME = np.concatenate([np.arange(n) for n in LENGTHS])
LABEL = np.repeat(np.arange(3), LENGTHS)
X, Y = np.random.default_rng(0).standard_normal((2, 60))


def write(path, **columns):
    pq.write_table(pa.table(columns), path, row_group_size=16)
    return path


def test_one_file_of_a_lerobot_data_set(tmp_path):
    state = np.c_[X, Y].astype(np.float32)
    columns = {
        "observation.state": pa.FixedSizeListArray.from_arrays(pa.array(state.ravel()), 2),
        "action": pa.array(state[:, :1].tolist(), pa.list_(pa.float32())),
        "timestamp": (FRAME / 50).astype(np.float32),
        "frame_index": FRAME,
        "episode_index": LABEL,
        "index": np.arange(60),
        "next.done": np.arange(60) == 59,
        "task": ["put it there"] * 60,
    }
    found = load_trajectories(write(tmp_path / "a.parquet", **columns))
    np.testing.assert_array_equal(found.states, state)
    np.testing.assert_array_equal(found.lengths, LENGTHS)
    assert found.names == ("observation.state.0", "observation.state.1")
    assert found.rate == pytest.approx(50, rel=1e-4) and found.episodes == ("0", "1", "2")
    assert found.notes == (
        "Rate by column 'timestamp': 50 Hz.",
        "Demonstrations by column 'episode_index': 3.",
        "Left out of the states: 'episode_index' (demonstration), 'task' (task), "
        "'action' (action), 'timestamp' (time), 'frame_index' (counter), 'index' (counter), "
        "'next.done' (flag).",
    )
    del columns["episode_index"]
    path = write(tmp_path / "a.parquet", **columns)
    refuses(r"these are 3 demonstrations.*episode_column='timestamp'", load_trajectories, path)


def test_labels_may_be_text_and_times_dates(tmp_path):
    stamps = pa.array(1_763_800_000_000 + 8 * np.arange(60), pa.timestamp("ms"))
    names = np.array(["drawer", "door", "plug"])
    path = write(tmp_path / "a.parquet", when=stamps, what=pa.array(names[LABEL]), x=X)
    found = load_trajectories(path, episode_column="what")
    assert found.rate == pytest.approx(125) and found.names == ("x",)
    assert found.episodes == ("drawer", "door", "plug")
    np.testing.assert_array_equal(found.states[:, 0], X)


def test_the_index_of_pandas_is_no_coordinate(tmp_path):
    path = write(tmp_path / "a.parquet", x=X, __index_level_0__=np.arange(60)[::-1] + 5)
    assert load_trajectories(path).names == ("x",)
    stamps = pa.array(8 * np.arange(60), pa.timestamp("ms"))
    dated = load_trajectories(write(tmp_path / "b.parquet", x=X, __index_level_0__=stamps))
    assert dated.rate == 125 and dated.names == ("x",)
    values, notes = load_samples(path)
    np.testing.assert_array_equal(values, X[:, None])
    assert notes == (f"{path}: Left out: '__index_level_0__' (index).",)


def test_nulls_are_missing_values_and_integers_are_exact(tmp_path):
    count = 1_763_800_000_123_456_789 + np.array([0, 1, 2, 5])
    x = write(tmp_path / "x.parquet", x=pa.array([1.0, None, 3.0, 4.0]))
    y = write(tmp_path / "y.parquet", y=pa.array([*count[:3].tolist(), None]), z=[0, 1, 2, 3])
    for load in (load_samples, load_trajectories):
        refuses(r"x\.parquet, row 1: 'x' is a missing value", load, x)
    pairs = load_pairs(x, y, drop_missing=True)
    assert pairs.dropped == 2
    assert ["y.parquet: Subtracted" in note for note in pairs.notes] == [True]
    np.testing.assert_array_equal(pairs.x, [[1], [3]])
    np.testing.assert_array_equal(np.diff(pairs.y, axis=0), [[2, 2]])
    refuses("as many of each", load_pairs, x, write(y, y=[1.0, 2.0]), drop_missing=True)
    write(y, y=count)
    np.testing.assert_array_equal(np.diff(load_samples(y)[0][:, 0]), [1, 1, 3])


@pytest.mark.parametrize(
    ("columns", "message"),
    [
        ({"x": pa.array([[1.0, 2.0], [3.0]])}, "'x' has rows of different lengths"),
        ({"x": pa.array([[1.0, 2.0], None])}, "'x' has rows of different lengths"),
        ({"x": pa.array([[1.0, 2.0], [3.0, None]])}, "row 1: 'x' is a missing value"),
        ({"x": ["a", "b"]}, "no columns of numbers"),
        ({"x": pa.array([], pa.float64())}, "no rows"),
        ({"episode": pa.array([0, None]), "x": [1, 2]}, "'episode' is empty"),
        ({"episode": [0, 1], "x": [1, 2]}, "'episode' has 2 values in 2 rows"),
    ],
)
def test_refusals(tmp_path, columns, message):
    path = write(tmp_path / "a.parquet", **columns)
    with pytest.raises(InputError, match=message) as caught:
        load_trajectories(path)
    assert str(path) in str(caught.value)


def test_a_file_that_is_cut_off_or_holds_too_much(tmp_path, monkeypatch):
    path = write(tmp_path / "a.parquet", x=np.arange(1000.0))
    path.write_bytes(path.read_bytes()[:-100])
    refuses(r"cannot be read .*: save it again", load_samples, path)
    monkeypatch.setattr(parquet, "LARGEST", 999)
    for column in (np.arange(1000.0), pa.FixedSizeListArray.from_arrays(pa.array(range(1000)), 4)):
        write(path, x=column)
        monkeypatch.setattr(pq.ParquetFile, "read", None)  # it is refused in advance
        refuses("more than 999 numbers: save a part of them", load_samples, path)
