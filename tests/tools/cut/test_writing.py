"""Executions are written in the format that came in, and other content comes along."""

import h5py
import numpy as np
import pytest

from command_line import printed
from hdf5_sets import write_aloha
from infoatlas_tools import load_trajectories
from infoatlas_tools.bags.any_recording import open_recording
from infoatlas_tools.cut.executions import find_executions
from infoatlas_tools.cut.writing import write_cut
from infoatlas_tools.files.lerobot.frames import read_parquet
from joined_executions import RATE, recording
from lerobot_sets import add_videos, write_lerobot
from refusals import refuses

GIVEN = recording()[0]
STATES, NAMES = GIVEN.states.astype(np.float32), list(GIVEN.names)


def npz(path):
    np.savez(path, states=STATES, names=NAMES, rate=RATE, extra=np.arange(len(STATES)), other=[1])


def hdf5(path):
    with h5py.File(path, "w") as file:
        demo = file.create_group("data/demo_0")
        demo["obs/joint"], demo["actions"], demo["obs/goal"] = STATES, STATES[:, :2], 3.0
        demo["obs/matrix"] = np.eye(3)


def lerobot(path):
    write_lerobot(path, [STATES, STATES[:300]], "v3.0", NAMES)
    (video,) = add_videos(path, "v3.0", [len(STATES), 300])
    video.parent.mkdir(parents=True)
    video.write_bytes(b"frames")


@pytest.mark.parametrize("write", [npz, hdf5, lerobot])
def test_each_execution_is_a_demonstration_of_the_copy(tmp_path, write):
    path, out = (tmp_path / f"{name}.{write.__name__}" for name in ("long", "copy"))
    write(path)
    source = open_recording(path, rate=RATE, gripper=[6])
    cuts = find_executions(source.trajectories)
    left = write_cut(source, cuts, out)
    demos = load_trajectories(out)
    assert len(cuts.executions) >= 5
    for own, part in zip(cuts.executions, demos.split(), strict=True):
        assert np.array_equal(part[:, :7], STATES[own.start : own.end])
    if write is npz:
        assert left == ["arrays without a row for each step: other"]
        assert np.array_equal(np.load(out)["extra"], np.concatenate(cuts.rows))
    elif write is hdf5:
        with h5py.File(out) as file:
            assert len(file["data/demo_4/actions"]) == demos.lengths[4]
            assert file["data/demo_4/obs/goal"][()] == 3.0
            assert left == ["matrix, rows are no steps: copied as recorded"]
    else:
        table = read_parquet(out / "meta/episodes/chunk-000/file-000.parquet").to_pydict()
        first = [e.start + (e.episode == "1") * len(STATES) for e in cuts.executions]
        begins = np.array(table["videos/observation.images.top/from_timestamp"])
        np.testing.assert_allclose(begins * RATE, first, atol=1e-6)
        assert table["dataset_to_index"] == np.cumsum(demos.lengths).tolist()
        file = "videos/observation.images.top/chunk-000/file-000.mp4"
        assert (out / file).read_bytes() == (path / file).read_bytes() == b"frames"


def test_other_formats_are_refused_with_the_way_out(tmp_path):
    write_lerobot(tmp_path / "old", [STATES], "v2.1", NAMES)
    write_aloha(tmp_path / "aloha.hdf5")
    for name in ("old", "aloha.hdf5"):
        recording = open_recording(tmp_path / name)
        refuses(r"--out FILE\.npz", write_cut, recording, None, tmp_path / "cut.hdf5")


def test_the_command_writes_a_list_that_keystates_reads(tmp_path, capsys):
    long, cuts = tmp_path / "long.npz", tmp_path / "cuts.json"
    npz(long)
    printed(capsys, "cut", long, "--json", cuts, "--plot", tmp_path / "cuts.png")
    assert "5 executions" in printed(capsys, "cut", long, "--label", "0:start=5,end=150")
    assert "of 5 demonstrations" in printed(capsys, "keystates", long, "--cuts", cuts)
