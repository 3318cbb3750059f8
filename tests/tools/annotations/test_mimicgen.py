"""Sub-tasks in files of MimicGen and Isaac Lab, read back by their own rules."""

from dataclasses import replace
from itertools import pairwise

import h5py
import numpy as np
import pytest

import hdf5_sets
from annotated import annotations
from hdf5_sets import LENGTHS, NAMES, signals, subtasks, write_isaac
from infoatlas_rt import InputError
from infoatlas_tools.annotations import mimicgen
from infoatlas_tools.annotations.mimicgen import MASK, signal_names, write_isaaclab, write_mimicgen
from refusals import refuses

ISAAC = "obs/datagen_info"


def mimicgen_rule(ends, length):
    """Parts [start, end) by MimicGen's `parse_source_dataset`, from signals in their order.

    A part ends after the first step at which its signal has changed, but not before the end of the
    previous part. The last part ends with the demonstration.
    """
    parts, previous = [], 0
    for signal in ends:
        assert signal.ndim == 1 and signal.dtype.kind == "i"
        changed = np.flatnonzero(signal[1:] - signal[:-1]) + 1
        edge = next((int(step) for step in changed if step >= previous), None)
        if edge is None:
            raise AssertionError("No valid subtask termination found")
        parts.append((previous, edge + 1))
        previous = edge + 1
    parts.append((previous, length))
    assert all(a[1] < b[1] for a, b in pairwise(parts))  # its check for offsets of 0
    return parts


def isaac_rule(ends, length, starts=None):
    """Parts by Isaac Lab's `DataGenInfoPool`; of SkillGen if there are signals of starts."""
    parts, previous = [], 0
    for i in range(len(ends) + 1):
        if starts is None:
            start = previous
        else:
            start = int(np.flatnonzero(np.diff(starts[i].astype(np.int32)))[0]) + 1
        end = length
        if i < len(ends):
            assert ends[i].dtype == bool
            end = int(np.flatnonzero(np.diff(ends[i].astype(np.int32)))[0]) + 2
        if end <= start:
            raise ValueError("subtask termination signal is not increasing")
        parts.append((start, end))
        previous = end
    if starts is not None:
        assert all(a[1] < b[0] for a, b in pairwise(parts)), "overlapped"
    return parts


def expected(found, i):
    return [(int(part.start[i]), int(part.end[i])) for part in found.parts]


def check_parts(file, found, demo):
    """Check that MimicGen reads the parts of a demonstration, and return its signals."""
    own, i = signals(file, demo), NAMES.index(demo)
    parts = mimicgen_rule([own[name] for name in signal_names(found)[:2]], LENGTHS[i])
    assert parts == expected(found, i)
    return own


@pytest.fixture
def out(tmp_path):
    return tmp_path / "out.hdf5"


@pytest.fixture
def path(tmp_path):
    """A file of MimicGen."""
    return hdf5_sets.write_mimicgen(tmp_path / "demo.hdf5")


def test_mimicgen_reads_the_same_parts(path, out):
    found = subtasks()
    before = path.read_bytes()
    assert write_mimicgen(annotations(found, NAMES), path, out) == ()
    assert path.read_bytes() == before
    names = signal_names(found)
    assert names == ("reach_cubea", "carry_cubea_to_cubeb", "until_end")
    with h5py.File(out) as file:
        for demo in NAMES:  # no signal for the last part; others are kept
            assert set(check_parts(file, found, demo)) == {"old", *names[:2]}
        assert [n.decode() for n in file[f"mask/{MASK}"]] == list(NAMES)
        assert [n.decode() for n in file["mask/train"]] == ["demo_10", "demo_0"]


@pytest.mark.parametrize(
    ("cuts", "why"),
    [
        ([[10, 25], [8, 8], [20, 41]], "it lacks 'carry cubeA to cubeB'"),
        ([[10, 25], [0, 20], [20, 41]], "it lacks 'reach cubeA'"),
        ([[10, 25], [8, 30], [20, 41]], "it lacks 'until end'"),
        ([[10, 25], [1, 20], [20, 41]], "'reach cubeA' has 1 step"),
    ],
)
def test_a_demonstration_without_a_part_is_not_a_source(path, out, cuts, why):
    found = subtasks(cuts=cuts)
    notes = write_mimicgen(annotations(found, NAMES), path, out)
    assert notes == (f"demo_2 is not in mask/{MASK}: {why}",)
    with h5py.File(out) as file:
        listed = [n.decode() for n in file[f"mask/{MASK}"]]
        assert listed == ["demo_0", "demo_10"]
        for demo in listed:
            check_parts(file, found, demo)
        with pytest.raises(AssertionError):  # the result of MimicGen
            check_parts(file, found, "demo_2")


def test_mimicgen_gets_no_file_without_a_complete_demonstration(path, out):
    found = subtasks(cuts=[[10, 10], [8, 8], [20, 20]])
    with pytest.raises(InputError, match=r"MimicGen accepts complete ones only.*--count auto"):
        write_mimicgen(annotations(found, NAMES), path, out)
    assert not out.exists()


def test_parts_of_one_step_are_read_back(path, out):
    found = subtasks(cuts=[[2, 3], [8, 29], [49, 49]])
    write_mimicgen(annotations(found, NAMES), path, out)
    with h5py.File(out) as file:
        for demo in NAMES[:2]:
            check_parts(file, found, demo)


def test_a_second_time_replaces_the_own_signals(path, tmp_path):
    write_mimicgen(annotations(subtasks(), NAMES), path, tmp_path / "a.hdf5")
    named = replace(subtasks(), given_names=("Pick!", "place", "pick"))
    assert signal_names(named) == ("pick", "place", "pick_2")
    write_mimicgen(annotations(named, NAMES), tmp_path / "a.hdf5", tmp_path / "b.hdf5")
    with h5py.File(tmp_path / "b.hdf5") as file:
        assert set(signals(file, "demo_0")) == {"old", "pick", "place"}


@pytest.mark.parametrize("skillgen", [False, True])
def test_isaac_lab_reads_the_same_parts(tmp_path, skillgen):
    found = subtasks(("cube_1", "cube_2"))
    path, out = write_isaac(tmp_path / "demo.hdf5"), tmp_path / "out.hdf5"
    assert write_isaaclab(annotations(found, NAMES), path, out) == ()
    names = signal_names(found)
    with h5py.File(out) as file:
        for i, demo in enumerate(NAMES):
            ends = signals(file, demo, ISAAC)
            starts = signals(file, demo, ISAAC, "start")
            assert list(starts) == sorted(names) and list(ends) == sorted(names[:2])
            parts = isaac_rule(
                [ends[n] for n in names[:2]],
                LENGTHS[i],
                [starts[n] for n in names] if skillgen else None,
            )
            later = int(skillgen)  # one step lies between an end and the next start
            assert parts == [(start + later, end) for start, end in expected(found, i)]


def test_isaac_lab_gets_complete_demonstrations_only(tmp_path):
    found = subtasks(("cube_1", "cube_2"), cuts=[[10, 25], [8, 8], [20, 21]])
    path, out = write_isaac(tmp_path / "demo.hdf5"), tmp_path / "out.hdf5"
    with h5py.File(path, "a") as file:
        file["data"].attrs["total"] = sum(LENGTHS)
        file["mask/train"] = np.array([b"demo_0", b"demo_2"])
        file.copy("data/demo_0", "data/demo_11")
    notes = write_isaaclab(annotations(found, NAMES), path, out)
    assert notes == (
        "demo_2 is moved to left_out: it lacks 'carry cube_1 to cube_2'",
        "demo_10 is moved to left_out: 'carry cube_1 to cube_2' has 1 step",
        "demo_11 is moved to left_out: it has no sub-tasks",
    )
    with h5py.File(out) as file:
        moved = {name: len(demo["actions"]) for name, demo in file["left_out"].items()}
        assert moved == {"demo_2": 30, "demo_10": 50, "demo_11": 40}  # nothing is lost
        assert list(file["data"]) == ["demo_0"] and file["data"].attrs["total"] == 40
        assert [n.decode() for n in file["mask/train"]] == ["demo_0"]
    found = subtasks(("cube_1", "cube_2"), cuts=[[10, 10], [8, 8], [20, 20]])
    with pytest.raises(InputError, match="every demonstration lacks a sub-task"):
        write_isaaclab(annotations(found, NAMES), path, tmp_path / "none.hdf5")


def test_two_arms(tmp_path):
    found = hdf5_sets.two_arms()
    path = write_isaac(tmp_path / "demo.hdf5", ("left", "right"))
    write_isaaclab(annotations(found, NAMES), path, tmp_path / "out.hdf5")
    with h5py.File(tmp_path / "out.hdf5") as file:
        names = set(signals(file, "demo_0", ISAAC))
    carry = {"left_carry_cube_1_to_cube_2", "right_carry_cube_2_to_cube_1"}
    assert names == {"left_reach_cube_1", "right_reach_cube_2", *carry}
    path = write_isaac(tmp_path / "other.hdf5", ("left", "hand"))
    with pytest.raises(InputError, match="end effectors hand, left, and sub-tasks are of left, r"):
        write_isaaclab(annotations(found, NAMES), path, tmp_path / "none.hdf5")
    with pytest.raises(InputError, match=r"2 tools \(left, right\), and MimicGen has one"):
        write_mimicgen(annotations(found, NAMES), path, tmp_path / "none.hdf5")


def test_content_that_programs_would_miss_is_reported(path, tmp_path):
    with h5py.File(path, "a") as file:
        del file["data/demo_2/datagen_info/target_pose"]
    notes = write_mimicgen(annotations(subtasks(), NAMES), path, tmp_path / "out.hdf5")
    assert len(notes) == 1 and notes[0].startswith("demo_2 have no poses in datagen_info: run Mim")
    path = write_isaac(tmp_path / "isaac.hdf5")
    with h5py.File(path, "a") as file:
        for demo in NAMES:
            del file[f"data/{demo}/{ISAAC}"]
    notes = write_isaaclab(annotations(subtasks(), NAMES), path, tmp_path / "isaac_out.hdf5")
    assert len(notes) == 1 and notes[0].startswith("demo_0, demo_2, demo_10 have no poses in obs/")


def test_other_demonstrations(path, out):
    own = annotations(subtasks(), ("demo_0", "demo_2", "demo_3"))
    refuses("demo_3 has no samples, and its sub-tasks 50", write_mimicgen, own, path, out)
    own = annotations(subtasks(), ("demo_0", "demo_10", "demo_2"))
    refuses("demo_10 has 50 samples, and its sub-tasks 30", write_mimicgen, own, path, out)


def test_parts_in_another_order_are_no_source(path, out):
    """Signals are read in the order of the configuration."""
    found = subtasks()
    first, second, _ = found.parts
    first.start[1], first.end[1], second.start[1], second.end[1] = 12, 20, 0, 12
    own = annotations(found, NAMES)
    assert mimicgen.incomplete(own) == {"demo_2": "'reach cubeA' comes in another order"}
    notes = write_mimicgen(own, path, out)
    assert notes == (f"demo_2 is not in mask/{MASK}: 'reach cubeA' comes in another order",)


def test_lists_of_isaac_lab_in_other_forms(tmp_path):
    """Names as text, or booleans in the order of numbers; in the copy they are names."""
    path = write_isaac(tmp_path / "demo.hdf5")
    with h5py.File(path, "a") as file:
        file["mask/text"] = np.array(["demo_0", "demo_2"], h5py.string_dtype())
        file["mask/truth"] = np.array([True, False, True])
    parts = subtasks(("cube_1", "cube_2"), lengths=(40, 50), cuts=[[10, 25], [20, 41]])
    write_isaaclab(annotations(parts, ("demo_0", "demo_10")), path, tmp_path / "out.hdf5")
    with h5py.File(tmp_path / "out.hdf5") as file:
        assert set(file["data"]) == {"demo_0", "demo_10"} and set(file["left_out"]) == {"demo_2"}
        assert file["mask/text"][()].tolist() == [b"demo_0"]
        assert file["mask/truth"][()].tolist() == [b"demo_0", b"demo_10"]


def test_demonstrations_of_robosuite(tmp_path):
    """They have no num_samples: the length is that of the states."""
    path = hdf5_sets.write_robosuite(tmp_path / "demo.hdf5", lengths=LENGTHS)
    names = ("demo_1", "demo_2", "demo_3")
    notes = write_mimicgen(annotations(subtasks(), names), path, tmp_path / "a.hdf5")
    assert "run MimicGen's prepare_src_dataset.py" in notes[0]
    with h5py.File(tmp_path / "a.hdf5") as file:
        assert [len(v) for v in signals(file, "demo_2").values()] == [30, 30]
        assert file[f"mask/{MASK}"][()].tolist() == [name.encode() for name in names]
    with pytest.raises(InputError, match="demo_2 has 30 samples, and its sub-tasks 40"):
        wrong = annotations(subtasks(), ("demo_2", "demo_1", "demo_3"))
        write_mimicgen(wrong, path, tmp_path / "b.hdf5")
