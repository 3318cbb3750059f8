"""Text files: separators, decimal commas, comments and refusals."""

import numpy as np
import pytest

from infoatlas_rt.errors import InputError
from infoatlas_tools import discover_keystates
from infoatlas_tools.annotations.content import Annotations
from infoatlas_tools.files.load import load_samples, load_trajectories
from refusals import refuses
from table_files import WRITERS

XY = np.array([[1.5, -0.25], [2.0, 1e-3], [-0.346, 12.0]])


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("x;y\n1.5;-0.25\n2;0.001\n-0.346;12\n", ("x", "y")),
        ("x;y\n1,5;-0,25\n2;1e-3\n-0,346;12\n", ("x", "y")),
        ("x\ty\n1,5\t-0,25\n2\t0,001\n-0,346\t12\n", ("x", "y")),
        ("tool x\ttool y\n1.5\t-0.25\n2\t0.001\n-.346\t12\n", ("tool x", "tool y")),
        ("1.5  -0.25\n 2 0.001 \n-0.346 12\n", ()),
        ("x y\n1,5 -0,25\n2 0,001\n-0,346 12\n", ("x", "y")),
        ("x, y\n1.5, -0.25\n2,\t0.001\n-0.346, 12\n", ("x", "y")),
        ('"x","y"\n"1,5","-0,25"\n"2","0,001"\n"-0,346","12"\n', ("x", "y")),
        ("# x y\n1.5 -0.25\n2 0.001\n-0.346 12\n", ("x", "y")),
        ("# x, y\n1.5 -0.25\n2 0.001\n-0.346 12\n", ("x", "y")),
        ("#x,y\n1.5,-0.25\n2,0.001\n-0.346,12\n", ("x", "y")),
        ("%x,field.y\n1.5,-0.25\n2,0.001\n-0.346,12\n", ("x", "field.y")),
        ("# made by hand; x is \"free\n# \n\n1.5;-0.25\n2;0.001\n-0.346;12\n", ()),
        ("sep=;\nx;y\n1,5;-0,25\n2;0,001\n-0,346;12\n", ("x", "y")),
        ("# in metres\nx y\n1.5 -0.25\n2 0.001\n-0.346 12\n", ("x", "y")),
        ("# in metres\nx;y\n1.5;-0.25\n2;0.001\n-0.346;12\n", ("x", "y")),
    ],
)  # fmt: skip
@pytest.mark.parametrize("ending", ["\n", "\r\n"])
def test_dialects(tmp_path, text, names, ending):
    path = tmp_path / "a.csv"
    path.write_text(text, newline=ending)
    found = load_trajectories(path)
    np.testing.assert_array_equal(found.states, XY)
    assert found.names == names and found.rate is None and found.notes == ()
    np.testing.assert_array_equal(load_samples(path)[0], XY)


def test_semicolons_with_missing_values_and_large_integers(tmp_path):
    path = tmp_path / "a.csv"
    path.write_text(
        "count;x\n1763800000123456789;0,5\n1763800000123456790;\n1763800000123456792;1\n"
    )
    refuses("line 3: 'x' is a missing value", load_samples, path)
    values, _ = load_samples(path, missing=True)
    np.testing.assert_array_equal(np.diff(values[:, 0]), [1, 2])
    np.testing.assert_array_equal(values[:, 1], [0.5, np.nan, 1])


def test_integers_beyond_int64_are_exact_and_never_rounded(tmp_path):
    path = tmp_path / "a.csv"
    path.write_text(f"count,x\n{2**64},0.5\n{2**64 + 1},1\n")
    values, notes = load_samples(path)
    np.testing.assert_array_equal(values, [[0, 0.5], [1, 1]])
    assert f"Subtracted, because float64 is exact for integers to 2^53: {2**64} from" in notes[0]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("x;y\n1,234;5,678\n2,500;12\n", "'1,234' may be a number with three decimals or"),
        ("x;y\n1,25;5\n2.500;12\n", r"with a comma \('1,25'\) and others with a point \('2.500'\)"),
        ("x;y\n1,234;5\n2.5;12\n", r"with a comma \('1,234'\) and others with a point"),
        ("x;y\n1.234,5;5\n2;12\n", "line 2, column 'x': '1.234,5' is no number: write "),
        ("x;y\n1,234,567;5\n2;12\n", "'1,234,567' is no number: .* without marks"),
        ("x,y\n1,5,2,5\n3,0,4,0\n", r"4 cells, separated by commas, instead of 2\): if commas"),
        ("0,346\n-0,054\n", r"commas look like decimal marks \('0,346'\)"),
        ("1,25e-01\n2,50e+00\n", r"commas look like decimal marks \('1,25e-01'\)"),
        ("when,x\n2024-01-02 00:00:01.5,2\n", "write dates and times in seconds"),
        ("x;what;y\n1,5;grasp;2\n", "'grasp' is no number: remove .* classes .* by semicolons"),
        ("x,y\n1,2\n3;4,5\n", "line 3, column 'x': '3;4' is no number: .*by commas here"),
        ("# x,y,z\n1,5,2,3\n3,7,4,6\n", "'x,y,z' names 3 columns, and rows have 4 .*semicolons"),
        ("# x y\n12:30:01 0\n1 2\n", "line 2, column 'x': '12:30:01' is no number: write dates"),
        (f"x,y\n{2**60 + 1},1\n0,2\n", "'x' has numbers that range beyond 2.53.* in row 1"),
        (f"x,y\n{2**60 + 1},1\n0.5,2\n", "'x' has numbers that range beyond"),
        ("x,y\n31,0x1f\n4,5\n", "line 2, column 'y': '0x1f' is no number"),
        ('x,y\n"1\n",2\n3,a\n', "row 2 of cells, column 'y': 'a' is no number"),
        ('"x\n1",y\n1,2\n3,a\n', "line 4, column 'y': 'a' is no number"),
        ('x,y\n"1\n",2\n3\n', r"row 2 of cells: rows of different length"),
        ("x\ty\n1\t2\n3\n", r"rows of different length \(1 cells, separated by tabs"),
    ],
)  # fmt: skip
def test_ambiguous_and_unreadable_tables(tmp_path, text, message):
    path = tmp_path / "a.csv"
    path.write_text(text)
    with pytest.raises(InputError, match=message) as caught:
        load_trajectories(path)
    assert str(path) in str(caught.value) and "\n" not in str(caught.value)


def test_integers_that_a_comma_separates_stay(tmp_path):
    (tmp_path / "a.csv").write_text("1,5\n2,5\n10,0\n")
    np.testing.assert_array_equal(load_samples(tmp_path / "a.csv")[0], [[1, 5], [2, 5], [10, 0]])


def test_labels_beside_decimal_commas(tmp_path):
    """Commas split these rows into as many cells as tabs, but fewer cells are numbers."""
    path = tmp_path / "a.csv"
    path.write_text("# x\tepisode\ty\n" + "1,5\tdemo_0\t2,25\n" * 3 + "0,5\tdemo_1\t3,75\n" * 3)
    found = load_trajectories(path)
    assert found.names == ("x", "y") and found.episodes == ("demo_0", "demo_1")
    np.testing.assert_array_equal(found.states, [[1.5, 2.25]] * 3 + [[0.5, 3.75]] * 3)


def test_truth_values_are_flags_and_no_names(tmp_path):
    path = tmp_path / "a.csv"
    path.write_text("x,grasped,y\n1.5,False,-0.25\n2,True,0.001\n-0.346,TRUE,12\n")
    found = load_trajectories(path)
    np.testing.assert_array_equal(found.states, XY)
    assert found.names == ("x", "y") and "'grasped' (flag)" in found.notes[-1]
    np.testing.assert_array_equal(load_samples(path)[0][:, 1], [0, 1, 1])
    path.write_text("1,True\n2,False\n4,True\n")  # without a header
    np.testing.assert_array_equal(load_trajectories(path).states, [[1], [2], [4]])
    path.write_text("x,y\n1,True\n2,0.5\n")
    refuses("line 2, column 'y': 'True' is no number", load_trajectories, path)


TUM = "timestamp(s) tx ty tz qx qy qz qw"


@pytest.mark.parametrize(
    ("comment", "suffix", "used"),
    [
        (TUM, ".txt", None),
        (f"{TUM} P11 P12 P13", ".txt", "has 11 words for 8 columns: the first 8 are names"),
        (TUM.replace(" ", ", ") + ", a cov", ".csv", "has 9 words for 8 columns: the first 8 are"),
        ("timestamp(s) tx ty tz qx", ".txt", "has 5 words for 8 columns: so it is no header"),
        ("made at the time of day when the sun is up", ".txt", "11 words for 8 columns: so it is"),
        ("tx ty tz qx qy qz qw a b c d e", ".csv", "12 words for 8 columns: so it is no header"),
    ],
)
def test_a_comment_with_another_number_of_names_is_never_dropped(tmp_path, comment, suffix, used):
    states = np.random.default_rng(0).standard_normal((30, 7)).round(6)
    rows = np.c_[np.arange(30) / 20, states]
    path = tmp_path / f"a{suffix}"
    np.savetxt(path, rows, "%.6f", delimiter="," if suffix == ".csv" else " ", header=comment)
    found = load_trajectories(path)
    assert used is None or any(used in note for note in found.notes)
    named = used is None or "the first" in used
    assert found.rate == (20 if named else None)
    assert found.names == (("tx", "ty", "tz", "qx", "qy", "qz", "qw") if named else ())
    np.testing.assert_array_equal(found.states, states if named else rows)


def test_seconds_of_rows_are_their_times_if_rows_are_lost(tmp_path):
    """In the table of key states and sub-tasks, too; a rate that contradicts the times wins."""
    steps = [np.delete(np.arange(100), np.arange(20, 20 + 5 * i)) for i in range(4)]
    v = [np.where(own < 60, 1.0, -0.5) for own in steps]
    columns = {
        "episode": np.repeat(range(4), [len(own) for own in steps]),
        "time_s": np.concatenate(steps) / 20,
        "x": np.concatenate([np.cumsum(own) for own in v]),
        "y": np.concatenate([np.cumsum(own**2) for own in v]),
    }
    WRITERS[".csv"](tmp_path / "a.csv", columns)
    found = load_trajectories(tmp_path / "a.csv", rate=20)
    np.testing.assert_allclose(found.seconds(2)[[19, 20, 90]], [0.95, 1.5, 5.0], atol=1e-9)
    assert load_trajectories(tmp_path / "a.csv", rate=50).times is None
    keystates = discover_keystates(found, count=1)
    table = keystates.table()
    assert np.abs(table.seconds - 3.0).max() < 0.15  # steps / 20 are 0.75 s early
    subtasks = keystates.subtasks()
    ends = subtasks.table().query("subtask == 0").end_seconds
    np.testing.assert_array_equal(ends, table.seconds)
    made = Annotations(keystates, subtasks, ("0", "1", "2", "3"))
    np.testing.assert_array_equal(made.seconds(2), found.seconds(2))


@pytest.mark.parametrize("one", [True, False])
def test_demonstrations_of_another_rate_whose_times_jitter_are_named(tmp_path, one):
    rng, parts = np.random.default_rng(0), []
    for i in range(4):
        times = (np.arange(60) + rng.uniform(-0.3, 0.3, 60)) / (20 if i == 2 else 50)
        part = {"time_s": times, "x": np.cumsum(rng.normal(size=60)), "y": rng.normal(size=60)}
        parts.append({"episode": np.full(60, i)} | part if one else part)
    if one:
        whole = {name: np.concatenate([own[name] for own in parts]) for name in parts[0]}
        WRITERS[".csv"](tmp_path / "a.csv", whole)
    for i, part in enumerate(parts if not one else ()):
        WRITERS[".csv"](tmp_path / f"{i}.csv", part)
    notes = load_trajectories(tmp_path / "a.csv" if one else tmp_path, rate=50).notes
    (note,) = (note for note in notes if "of other rates than" in note)
    assert "2 (20" in note or "2 (19" in note
