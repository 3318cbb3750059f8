"""Columns of tables: labels of demonstrations, counters and times are not coordinates."""

import argparse
import json

import numpy as np
import pytest

from infoatlas_rt.cli.main import main
from infoatlas_rt.errors import InputError
from infoatlas_tools.cli.recording_arguments import add_loading, opened
from infoatlas_tools.files.load import load_pairs, load_samples, load_trajectories
from refusals import refuses

LENGTHS = (20, 25, 15)
FRAME = np.concatenate([np.arange(n) for n in LENGTHS])
LABEL = np.repeat(np.arange(3), LENGTHS)
X, Y = np.random.default_rng(0).standard_normal((2, 60)).round(3)
REACH = np.cumsum(np.abs(X))  # increases only, like a drawer that is pulled


def write(path, **columns):
    """Write a table; a column called `_` has no name."""
    names = ",".join("" if name == "_" else name for name in columns)
    rows = (",".join(map(str, row)) for row in zip(*columns.values(), strict=True))
    path.write_text("\n".join([names, *rows]) + "\n")
    return path


def test_the_column_can_be_chosen(tmp_path):
    names = np.array(["drawer", "door", "plug"])
    path = write(tmp_path / "a.csv", task=names[LABEL], run=LABEL * 0, x=X, y=Y)
    found = load_trajectories(path, episode_column="task")
    assert found.episodes == ("drawer", "door", "plug") and found.names == ("x", "y")
    np.testing.assert_array_equal(found.lengths, LENGTHS)
    both = load_trajectories(write(tmp_path / "a.csv", run=LABEL * 0, episode=LABEL, x=X, y=Y))
    assert both.lengths.tolist() == list(LENGTHS) and both.names == ("x", "y")
    with pytest.raises(InputError, match="no column 'ep', and there are 'run', 'x', 'y'"):
        load_trajectories(write(tmp_path / "a.csv", run=LABEL, x=X, y=Y), episode_column="ep")
    one = load_trajectories(tmp_path / "a.csv", episode_column="none")
    assert one.lengths.tolist() == [60] and one.names == ("run", "x", "y") and one.notes == ()
    (tmp_path / "a.csv").write_text("1,2\n3,4\n")
    with pytest.raises(InputError, match="no column 'ep', and there is no header"):
        load_trajectories(tmp_path / "a.csv", episode_column="ep")
    np.save(tmp_path / "a.npy", np.eye(4))
    with pytest.raises(InputError, match="episode_column is for a table"):
        load_trajectories(tmp_path / "a.npy", episode_column="ep")


def test_chosen_labels_in_any_order_are_no_counter(tmp_path):
    """A counter would begin a new demonstration at each step back."""
    mixed = np.random.default_rng(0).permutation(np.repeat([0, 1, 2, 3], 15))
    path = write(tmp_path / "a.csv", who=mixed, x=X, y=Y)
    with pytest.raises(InputError, match=r"'who': rows of an episode are not together"):
        load_trajectories(path, episode_column="who")


@pytest.mark.parametrize(
    ("columns", "message"),
    [
        ({"episode": LABEL % 2}, "not together, '0' comes again after 45 rows: sort.*'none'"),
        ({"run": LABEL // 2, "episode": LABEL}, "'run' and 'episode' may both say"),
        ({"run": X}, "'run' has 60 values in 60 rows, too many for names"),
        ({"run": [*LABEL[:-1].tolist(), ""]}, "line 61: 'run' is empty"),
    ],
)
def test_labels_that_do_not_fit(tmp_path, columns, message):
    refuses(message, load_trajectories, write(tmp_path / "a.csv", **columns, x=X, y=Y))


@pytest.mark.parametrize(
    ("columns", "column", "way_out"),
    [
        ({"frame_index": FRAME}, "frame_index", "frame_index"),
        ({"Step": 2 * FRAME}, "Step", "Step"),
        ({"_": FRAME}, "a column without a name", None),
        ({"time": FRAME / 50 + 3}, "time", "time"),
        ({"timestamp_ns": FRAME * 20_000_000 + 10**18}, "timestamp_ns", "timestamp_ns"),
        ({"frame": FRAME, "session": LABEL + 7}, "frame", "session"),
        ({"k": FRAME, "session": LABEL}, "k", "session"),
        ({"k": 50 * FRAME, "take": LABEL}, "k", "take"),
        ({"k": FRAME / 20 + 0.002 * np.sin(FRAME), "take": LABEL + 3}, "k", "take"),
        ({"elapsed_ms": 50 * FRAME, "take": LABEL}, "elapsed_ms", "take"),
        ({"time": np.arange(60) / 50 + 9 * LABEL, "session": LABEL}, "time", "session"),
        ({"episode": LABEL * 0, "frame": FRAME}, "frame", "frame"),
    ],
)
def test_demonstrations_that_no_column_names_are_asked_about(tmp_path, columns, column, way_out):
    path = write(tmp_path / "a.csv", **columns, x=X, y=Y)
    with pytest.raises(InputError, match=r"if these are 3 demonstrations, .*one, pass 'none'") as e:
        load_trajectories(path)
    assert f"{path}: {column if way_out is None else repr(column)} " in str(e.value)
    assert "after 20 rows" in str(e.value)
    if way_out:
        assert f"pass episode_column={way_out!r} (--episode-column)" in str(e.value)
        found = load_trajectories(path, episode_column=way_out)
        np.testing.assert_array_equal(found.lengths, LENGTHS)
        assert {"x", "y"} <= set(found.names) <= {"x", "y", "k"}
        assert found.rate == (
            pytest.approx(50) if "time" in column else pytest.approx(20) if "ms" in column else None
        )
    one = load_trajectories(path, episode_column="none")
    assert one.lengths.tolist() == [60] and {"x", "y"} <= set(one.names)


HONEST = {
    "a gripper's command": {"gripper": np.repeat([0, 1, 0, 1], 15)},
    "a goal of each demonstration": {"run": LABEL, "goal": 0.1 * LABEL},
    "ids of objects": {"object_id": LABEL + 1},
    "stages of a task": {"step": LABEL, "stage": LABEL},
    "positions called t": {"t": X, "time": Y},
    "an index finger": {"index": X},
    "encoder counts that wrap": {"encoder": np.arange(60) % 16},
    "a force along t": {"t_x": REACH, "t_y": X},
    "counts down": {"step": -FRAME, "time_left": -REACH},
    "a gripper beside a time": {"gripper": np.repeat([0, 1, 2], 20), "load": np.arange(60)},
}


@pytest.mark.parametrize("kind", HONEST)
def test_coordinates_stay(tmp_path, kind):
    columns = HONEST[kind]
    found = load_trajectories(write(tmp_path / "a.csv", **columns, x=X))
    assert found.names == tuple(name for name in (*columns, "x") if name != "run")


@pytest.mark.parametrize(
    ("columns", "what"),
    [
        ({"_": np.arange(60)}, "a column without a name (index)"),
        ({"_": np.random.default_rng(1).permutation(60)}, "a column without a name (index)"),
        ({"Unnamed: 0": np.arange(60)}, "'Unnamed: 0' (index)"),
        ({"frame_index": np.arange(60)}, "'frame_index' (counter)"),
        ({"header.seq": np.arange(60) * 2 + 5}, "'header.seq' (counter)"),
        ({"demo": LABEL, "frame": FRAME}, "'demo' (demonstration), 'frame' (counter)"),
        ({"demo": LABEL, "_": FRAME}, "'demo' (demonstration), a column without a name (index)"),
        ({"demo": LABEL, "index": np.arange(60)}, "'demo' (demonstration), 'index' (counter)"),
    ],
)
def test_counters_are_left_out(tmp_path, columns, what):
    found = load_trajectories(write(tmp_path / "a.csv", **columns, x=X, y=Y))
    np.testing.assert_array_equal(found.states, np.c_[X, Y])
    assert found.names == ("x", "y") and found.rate is None
    assert found.notes[-1] == f"Left out of the states: {what}."


JITTER = np.arange(60) / 50 + np.where(np.arange(60) % 2, 0.008, 0)


@pytest.mark.parametrize(
    ("columns", "rate", "note"),
    [
        ({"time": np.arange(60) / 50}, 50, "Rate by column 'time': 50 Hz."),
        ({"run": LABEL, "__time": FRAME / 50 + 7}, 50, "Rate by column '__time': 50 Hz."),
        ({"header.stamp [ms]": np.arange(60) * 8}, 125, "Rate by column 'header.stamp [ms]': 125"),
        ({"time": JITTER}, None, "mean 0.02 without pauses: pass the rate 50 if that is meant"),
        ({"time": np.arange(60) * 20}, None, "integers without a unit: call it time_ms"),
        ({"t": np.arange(60) / 50, "stamp_s": JITTER}, 50, "Rate by column 't': 50 Hz."),
        (
            {"stamp": np.arange(60) / 10 + 5, "time": np.arange(60) / 50, "t": np.arange(60) / 50},
            10,
            "Rate by column 'stamp': 10 Hz, but 'time' 50 Hz, 't' 50 Hz: pass the rate if",
        ),
        (
            {"stamp.sec": np.arange(60) // 50, "stamp.nanosec": np.arange(60) % 50 * 20_000_000},
            None,
            "No rate by column 'stamp.sec'",
        ),
    ],
)
def test_times_give_the_rate_and_are_left_out(tmp_path, columns, rate, note):
    found = load_trajectories(write(tmp_path / "a.csv", **columns, x=X, y=Y))
    assert found.names == ("x", "y")
    assert found.rate == (None if rate is None else pytest.approx(rate))
    assert any(note in text for text in found.notes)
    for name in columns:
        assert f"{name!r} (" in found.notes[-1]


def test_a_table_without_coordinates_is_refused(tmp_path):
    with pytest.raises(InputError, match=r"no coordinates .*'frame' .counter"):
        load_trajectories(write(tmp_path / "a.csv", frame=np.arange(60), time=FRAME * 0 + REACH))


def test_samples_keep_all_but_an_index_without_a_name(tmp_path):
    """I(time; y) may be wanted; a clock beside other columns has a name."""
    x = write(tmp_path / "x.csv", _=np.arange(60), time=np.arange(60), run=LABEL, x=X)
    values, notes = load_samples(x)
    np.testing.assert_array_equal(values, np.c_[np.arange(60), LABEL, X])
    assert notes == (
        f"{x}: Left out: a column without a name (index).",
        f"{x}: Used as coordinates like the others: 'time', 'run'. Remove what only counts rows, "
        "demonstrations or time.",
    )
    y = write(tmp_path / "y.csv", time=np.arange(60))
    assert load_samples(y)[1] == () and load_pairs(x, y).notes == notes


@pytest.mark.parametrize(
    ("options", "lengths"),
    [([], None), (["--episode-column", "session"], LENGTHS), (["--episode-column", "none"], (60,))],
)
def test_the_option_of_the_commands(tmp_path, options, lengths):
    path = write(tmp_path / "a.csv", frame=FRAME, session=LABEL, x=X, y=Y)
    parser = argparse.ArgumentParser()
    parser.add_argument("data")
    add_loading(parser)
    recording = opened(parser.parse_args([str(path), *options]))
    if lengths is None:
        with pytest.raises(InputError, match="--episode-column"):
            _ = recording.trajectories
    else:
        np.testing.assert_array_equal(recording.trajectories.lengths, lengths)


@pytest.mark.parametrize("more", [["estimate"], ["estimate", "--json"], ["test"]])
def test_commands_print_what_was_left_out(tmp_path, more, capsys):
    x = write(tmp_path / "x.csv", _=np.arange(60), x=X)
    y = write(tmp_path / "y.csv", y=Y)
    more += ["--permutations", "3"] if more == ["test"] else []
    assert main([*more[:1], str(x), str(y), "--threads", "1", *more[1:]]) == 0
    note, out = f"{x}: Left out: a column without a name (index).", capsys.readouterr().out
    assert json.loads(out)["notes"] == [note] if "--json" in more else f"{note}\n" in out
