"""Files: what is read, and what is refused with a reason; and that no flag hides in the states."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from infoatlas_rt.data import load_samples, load_trajectories
from infoatlas_rt.errors import InputError
from infoatlas_rt.events import Event, compare, event, load_flags

PICKCUBE = Path(__file__).parents[1] / "examples" / "data" / "pickcube.npz"
FLAGS = ("is_grasped", "is_obj_placed", "success")


def test_pickcube_is_what_its_readme_says():
    recorded = load_trajectories(PICKCUBE)
    assert recorded.states.shape == (7820, 41) and recorded.states.dtype == np.float32
    assert recorded.lengths.shape == (100,) and recorded.lengths.sum() == 7820
    assert len(recorded.names) == 41 and len(set(recorded.names)) == 41
    column = {name: recorded.states[:, i] for i, name in enumerate(recorded.names)}
    for axis in "xyz":  # the relative vectors are what their names say, so the layout is right
        tool, cube, goal = (column[f"{body}.{axis}"] for body in ("tool", "cube", "goal"))
        np.testing.assert_allclose(column[f"tool_to_cube.{axis}"], cube - tool, atol=1e-6)
        np.testing.assert_allclose(column[f"cube_to_goal.{axis}"], goal - cube, atol=1e-6)
    for body in ("tool", "cube"):
        norm = sum(column[f"{body}.q{part}"].astype(float) ** 2 for part in "wxyz")
        np.testing.assert_allclose(norm, 1, atol=1e-5)


def test_no_state_is_a_flag():
    """Not a copy, not an affine copy: within either value of a flag every coordinate varies."""
    states, flags = load_trajectories(PICKCUBE).states, load_flags(PICKCUBE)
    assert set(flags) == set(FLAGS)

    def gives_away(column, flag):
        return np.ptp(column[flag]) == 0 and np.ptp(column[~flag]) == 0

    for name, flag in flags.items():
        assert 0 < flag.sum() < len(flag)
        assert gives_away(3 - 2.5 * flag, flag)  # the check itself sees an affine copy
        assert not any(gives_away(column, flag) for column in states.T), name


def test_what_is_loaded_has_no_room_for_flags(tmp_path):
    recorded = load_trajectories(PICKCUBE)
    assert set(vars(recorded)) == {"states", "lengths", "names"}
    # and flags that cannot even be read do not matter
    np.savez(tmp_path / "a.npz", states=np.eye(4), flag=np.array([{}], dtype=object))
    np.testing.assert_array_equal(load_trajectories(tmp_path / "a.npz").states, np.eye(4))


def test_npz_npy_and_csv_hold_the_same(tmp_path):
    states = np.random.default_rng(0).standard_normal((7, 3))
    np.savez(tmp_path / "a.npz", states=states, lengths=[3, 4], names=["a", "b", "c"])
    np.save(tmp_path / "a.npy", states)
    rows = [",".join(["a", "b", "episode", "c"])]
    for i, (a, b, c) in enumerate(states.tolist()):
        rows.append(f"{a!r},{b!r},{'first' if i < 3 else 'second'},{c!r}")
    (tmp_path / "a.csv").write_text("\n".join(rows) + "\n")
    (tmp_path / "plain.csv").write_text("1,2\r\n3,4\r\n\r\n")

    for name in ("a.npz", "a.csv"):
        recorded = load_trajectories(tmp_path / name)
        np.testing.assert_array_equal(recorded.states, states)
        np.testing.assert_array_equal(recorded.lengths, [3, 4])
        assert recorded.names == ("a", "b", "c")
    one = load_trajectories(tmp_path / "a.npy")
    np.testing.assert_array_equal(one.lengths, [7])
    np.testing.assert_array_equal(load_samples(tmp_path / "a.npy"), states)
    np.testing.assert_array_equal(load_samples(tmp_path / "plain.csv"), [[1, 2], [3, 4]])
    assert load_trajectories(tmp_path / "plain.csv").names == ()
    assert load_flags(tmp_path / "a.csv") == {}


def write(path: Path, kind: str) -> Path:
    """A file with something wrong with it."""
    good = np.arange(12.0).reshape(6, 2)
    nan = good.copy()
    nan[3, 1] = np.nan
    target = path / ("a.csv" if kind.startswith("csv") else "a.npz")
    texts = {
        "csv text": "a,b\n1,2\n3,four\n",
        "csv ragged": "a,b\n1,2\n3\n",
        "csv empty": "",
        "csv header": "a,b\n",
        "csv nan": "a,b\n1,2\n3,nan\n",
        "csv episodes": "a,episode\n1,0\n2,1\n3,0\n",
        "csv binary": b"\xff\xfe\x00\x01",
    }
    arrays = {
        "nan": {"states": nan},
        "no states": {"positions": good},
        "lengths": {"states": good, "lengths": [3, 4]},
        "float lengths": {"states": good, "lengths": [3.0, 3.0]},
        "zero length": {"states": good, "lengths": [6, 0]},
        "names": {"states": good, "names": ["a"]},
        "3d": {"states": good[None]},
        "no rows": {"states": good[:0]},
        "text": {"states": np.array([["a", "b"]])},
        "complex": {"states": good + 1j},
        "pickled": {"states": good.astype(object)},
    }
    if kind in texts:
        text = texts[kind]
        target.write_bytes(text if isinstance(text, bytes) else text.encode())
    elif kind in arrays:
        np.savez(target, **arrays[kind])
    elif kind == "truncated":
        np.savez(target, states=np.zeros((100, 10)))
        target.write_bytes(target.read_bytes()[:2000])
    elif kind == "foreign":
        target.write_text("hello")
    elif kind == "suffix":
        target = path / "a.mat"
        target.write_bytes(b"MATLAB")
    elif kind == "folder":
        target.mkdir()
    return target


@pytest.mark.parametrize(
    ("kind", "message"),
    [
        ("missing", "does not exist: check the path"),
        ("truncated", "cannot be read"),
        ("foreign", "cannot be read"),
        ("pickled", "save plain arrays, not objects"),
        ("folder", "cannot be read"),
        ("suffix", "is no .npy, .npz or .csv file"),
        ("nan", "1 states are NaN or infinite, the first at row 3, column 1"),
        ("no states", "has no array `states`"),
        ("lengths", "sum to 7, but there are 6 states"),
        ("float lengths", "lengths .* float64"),
        ("zero length", "lengths"),
        ("names", "1 names for 2 coordinates"),
        ("3d", r"shape \(1, 6, 2\)"),
        ("no rows", r"shape \(0, 2\)"),
        ("text", "store numbers"),
        ("complex", "complex128: store numbers"),
        ("csv text", "'four' is no number"),
        ("csv ragged", "rows of different length"),
        ("csv empty", "no rows"),
        ("csv header", "no rows"),
        ("csv nan", "NaN or infinite, the first at row 1, column 1"),
        ("csv episodes", "rows of an episode are not together"),
        ("csv binary", "save it as UTF-8 text"),
    ],
)
def test_what_cannot_be_used_is_refused_by_name(tmp_path, kind, message):
    path = write(tmp_path, kind)
    with pytest.raises(InputError, match=message) as caught:
        load_trajectories(path)
    assert str(path) in str(caught.value)


def test_samples_are_one_array(tmp_path):
    np.savez(tmp_path / "two.npz", a=np.eye(2), b=np.eye(2))
    with pytest.raises(InputError, match="pass a file with one array"):
        load_samples(tmp_path / "two.npz")


def test_events_are_first_times():
    lengths = np.array([5, 3, 11])
    flag = np.zeros(19, bool)
    flag[[2, 3]] = True  # first trajectory: step 2 of 4
    flag[8 + 7] = True  # third: step 7 of 10; in the second it never happens
    assert event("grasp", flag, lengths, normalised=False) == Event("grasp", 3.25, 4.5, 5.75, 2)
    assert event("grasp", flag, lengths, normalised=True).median == pytest.approx(0.6)
    assert event("never", np.zeros(19, bool), lengths, normalised=True) is None


def test_comparison_with_uniform_guesses():
    events = [Event("a", 0, 0.3, 1, 9), Event("b", 0, 0.9, 1, 9)]
    result = compare(events, [0.35, 0.5], 0.0, 1.0)
    assert result["count"] == 2
    assert result["distance"] == pytest.approx([0.05, 0.4])
    assert result["uniform"] == pytest.approx([0.05, 0.15])  # guesses at 0.25 and 0.75
