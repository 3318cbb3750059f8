"""Folders with a file for each demonstration."""

from pathlib import Path

import h5py
import numpy as np
import pytest

from hdf5_sets import write_aloha
from infoatlas_rt.errors import InputError
from infoatlas_tools.files.folders import KINDS
from infoatlas_tools.files.load import load_trajectories
from infoatlas_tools.files.tables.table_formats import READERS
from refusals import refuses
from table_files import WRITERS

STATES = [np.random.default_rng(i).standard_normal((20 + i, 3)).round(4) for i in range(3)]


def write(folder):
    """tests/fuzz has folders of the other formats."""
    for number, states in zip((2, 10, 0), STATES, strict=True):
        clock = {"time_s": np.arange(len(states)) / 50}
        columns = clock | dict(zip("xyz", states.T.tolist(), strict=True))
        WRITERS[".csv"](folder / f"demo_{number}.csv", columns)
    return folder


def test_what_does_not_fit_is_named(tmp_path):
    folder = write(tmp_path)
    assert load_trajectories(folder).episodes == ("demo_0", "demo_2", "demo_10")
    assert load_trajectories(folder).rate == pytest.approx(50)
    (folder / "README.txt").write_text("nothing\n")
    (folder / "demo_2.png").write_bytes(b"x")
    (note,) = (n for n in load_trajectories(folder).notes if "Set aside" in n)
    assert "README.txt" in note and "demo_2.png" in note
    clock = {"time_s": np.arange(len(STATES[0])) / 20}
    WRITERS[".csv"](folder / "demo_2.csv", clock | dict(zip("xyz", STATES[0].T, strict=True)))
    found = load_trajectories(folder)
    assert found.rate is None
    (note,) = (n for n in found.notes if n.startswith("Files of other rates than 50 Hz"))
    assert "in seconds: demo_2 (20 Hz): move them" in note
    assert any(n.startswith("demo_2: Rate by column 'time_s': 20 Hz") for n in found.notes)
    (folder / "demo_2.csv").write_text("x,y\n" + "1.5,2\n3,4.5\n" * 5)
    refuses(r"demo_2.csv has 2 .* \(it lacks z and adds none\)", load_trajectories, folder)
    (folder / "demo_2.csv").write_text("run,x,y,z\n" + "0,1,2,3\n" * 9 + "1,2,3,4\n" * 9)
    refuses(r"demo_2.csv contains 2 demonstrations: pass that file", load_trajectories, folder)
    (folder / "demo_2.csv").write_text("a recording of x\n")
    refuses(r"demo_2.csv.* If it is no demonstration, move it out of", load_trajectories, folder)
    (folder / "demo_2.csv").unlink()
    (folder / "demo_0.tsv").write_bytes((folder / "demo_0.csv").read_bytes().replace(b",", b"\t"))
    refuses("two files demo_0", load_trajectories, folder)


def test_faults_of_times_are_those_of_a_file(tmp_path):
    folder = write(tmp_path)
    lines = (folder / "demo_2.csv").read_text().splitlines()
    lines[4], lines[5] = lines[5], lines[4]
    (folder / "demo_2.csv").write_text("\n".join(lines) + "\n")
    notes = load_trajectories(folder).notes
    assert any(n.startswith("demo_2: ") and "go back, first before step 4" in n for n in notes)
    assert not any("demonstration 0" in n for n in notes)
    assert "No rate: demo_2 has none, and others 50 Hz: pass the rate." in notes
    notes = load_trajectories(folder, rate=50).notes
    assert not any("No rate" in note for note in notes)
    assert any(n.startswith("demo_2: Times") and "go back, first before step 4" in n for n in notes)


def test_the_kind_of_most_files_is_read(tmp_path):
    folder = write(tmp_path)
    np.save(folder / "calibration.npy", np.eye(4))
    found = load_trajectories(folder)
    assert len(found.lengths) == len(STATES)
    assert any("Set aside" in note and "calibration.npy" in note for note in found.notes)
    with pytest.raises(InputError, match=r"is none: leave it out$"):  # it is no fault of a file
        load_trajectories(folder, features=["x"])


def test_folders_and_pages_know_every_kind_of_table():
    page = (Path(__file__).parents[3] / "docs/files.md").read_text("utf-8")
    assert {*WRITERS} <= {*READERS} <= {suffix for kind in KINDS for suffix in kind}
    assert [suffix for suffix in READERS if suffix not in page] == []


def test_files_without_a_reader(tmp_path):
    """As of DROID and RoboSet; what the message says works."""
    with h5py.File(tmp_path / "trajectory.h5", "w") as file:
        file["observation/robot_state/cartesian_position"] = STATES[0]
    refuses(r"has observation \(robot_state\).*or save \.npz", load_trajectories, tmp_path)
    with h5py.File(tmp_path / "trajectory.h5") as file:
        states = file["observation/robot_state/cartesian_position"][()]
    np.savez(tmp_path / "x.npz", states=states, lengths=[len(states)])
    np.testing.assert_array_equal(load_trajectories(tmp_path / "x.npz").states, STATES[0])


def test_options_are_those_of_the_files(tmp_path):
    for i in range(2):
        write_aloha(tmp_path / f"episode_{i}.HDF5", seed=i)
    assert load_trajectories(tmp_path, features=["qvel"]).names[0] == "qvel.0"
    refuses(r"split is for .*episode_0.HDF5 is none", load_trajectories, tmp_path, split="train")
