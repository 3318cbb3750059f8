"""Recordings for the Rerun viewer, read back by its own reader."""

import sys
from dataclasses import replace

import numpy as np
import pytest

from annotated import annotations
from hdf5_sets import LENGTHS, NAMES, subtasks
from infoatlas_rt import InputError
from infoatlas_tools.annotations.rerun import write_rerun
from lerobot_sets import add_videos, write_lerobot

reader = pytest.importorskip("rerun.chunk", reason="the extra 'view' is not installed")
COLUMNS = ("joint1.pos", "cubeA.x", "cubeA.y", "cubeA.z", "joint2.pos", "cubeA.qw")


def states():
    rng = np.random.default_rng(0)
    return tuple(rng.standard_normal((length, 6)) for length in LENGTHS)


def own_annotations(found=None, **kwargs):
    return annotations(found or subtasks(), NAMES, states(), COLUMNS, **kwargs)


def read(file):
    """Columns of lists by entity of a recording, and the values of `step` and `time`."""
    found = {}
    for chunk in reader.RrdReader(file).store().stream():
        batch = chunk.to_record_batch()
        own = found.setdefault(str(chunk.entity_path).lstrip("/"), {})
        for name in batch.schema.names:
            own.setdefault(name, []).extend(batch.column(name).to_pylist())
    return found


def seconds(values):
    return [value.total_seconds() for value in values]


def test_signals_lanes_and_events(tmp_path):
    found = own_annotations(subtasks(cuts=[[10, 25], [8, 8], [20, 41]]))
    assert write_rerun(found, tmp_path / "demo.hdf5", tmp_path / "view") == ()
    files = sorted(file.name for file in (tmp_path / "view").iterdir())
    assert files == ["demo_0.rrd", "demo_10.rrd", "demo_2.rrd"]
    for i, name in enumerate(NAMES):
        own = read(tmp_path / "view" / f"{name}.rrd")
        entities = {entity for entity in own if entity.startswith("signals")}
        assert entities == {"signals/cubeA", "signals/cubeA.q", "signals/joint.pos"}
        cube = own["signals/cubeA"]
        np.testing.assert_array_equal(cube["Scalars:scalars"], states()[i][:, 1:4])
        joints = own["signals/joint.pos"]["Scalars:scalars"]
        np.testing.assert_array_equal(joints, states()[i][:, [0, 4]])
        assert cube["step"] == list(range(LENGTHS[i]))
        np.testing.assert_allclose(seconds(cube["time"]), np.arange(LENGTHS[i]) / 20.0)
        assert cube["SeriesLines:names"][0] == ["cubeA.x", "cubeA.y", "cubeA.z"]
        events = own["events"]
        parts = [part for part in found.subtasks.parts if part.end[i] > part.start[i]]
        steps = [part.end[i] - 1 for part in parts[:-1]]
        assert events["step"] == steps
        assert [text[0] for text in events["TextLog:text"]] == ["grasp", "release"][: len(steps)]
        lane = own["subtasks/tool"]
        assert lane["step"] == [part.start[i] for part in parts]
        names = zip(found.subtasks.parts, found.subtasks.names, strict=True)
        texts = [name for part, name in names if part in parts]
        assert [text[0] for text in lane["StateChange:state"]] == texts
        lane = own["key_states"]
        assert lane["step"] == [0, *steps]
        texts = ["", "after grasp", "after release"][: len(steps) + 1]
        assert [text[0] for text in lane["StateChange:state"]] == texts


def test_without_a_rate_there_are_steps_alone(tmp_path):
    write_rerun(own_annotations(subtasks(rate=None)), tmp_path / "demo.hdf5", tmp_path / "view")
    own = read(tmp_path / "view" / "demo_0.rrd")["signals/joint.pos"]
    assert own["step"] == list(range(40)) and "time" not in own


def test_two_tools_and_coordinates_without_names(tmp_path):
    left, right = subtasks(tool="left"), subtasks(tool="right/2", cuts=[[5, 9], [5, 9], [5, 9]])
    found = annotations(replace(left, parts=left.parts + right.parts), NAMES, states())
    write_rerun(found, tmp_path / "demo.hdf5", tmp_path / "view")
    own = read(tmp_path / "view" / "demo_0.rrd")
    assert {"subtasks/left", "subtasks/right_2", "signals/coordinate"} <= set(own)
    assert own["subtasks/right_2"]["step"] == [0, 5, 9]


@pytest.mark.parametrize("version", ["v2.1", "v3.0"])
def test_videos_of_lerobot(tmp_path, version):
    folder = tmp_path / "set"
    data = [s.astype(np.float32) for s in states()]
    write_lerobot(folder, data, version, list(COLUMNS))
    paths = {}
    for path, episodes in add_videos(folder, version, LENGTHS).items():
        paths |= dict.fromkeys(episodes, path)
        if 2 not in episodes:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(path.name.encode() * 9)
    found = annotations(subtasks(), ("0", "1", "2"), states(), COLUMNS)
    notes = write_rerun(found, folder, tmp_path / "view")
    assert notes == (f"{paths[2]} is missing: there is no video of episode 2",)
    for i in (0, 1):
        own = read(tmp_path / "view" / f"{i}.rrd")["video/top"]
        blob = own["AssetVideo:blob"][0][0]
        assert bytes(blob) == paths[i].read_bytes()
        start = 2.0 * i if version == "v3.0" else 0.0
        times = [row[0] for row in own["VideoFrameReference:timestamp"]]
        expected = np.rint((start + np.arange(LENGTHS[i]) / 20) * 1e9)
        np.testing.assert_array_equal(times, expected)
    assert "video/top" not in read(tmp_path / "view" / "2.rrd")


def test_refusals(tmp_path, monkeypatch):
    found = own_annotations()
    with pytest.raises(InputError, match="no demonstration demo_3, but demo_0, demo_2"):
        write_rerun(found, tmp_path / "demo.hdf5", tmp_path / "view", episodes=["demo_3"])
    monkeypatch.setitem(sys.modules, "rerun", None)
    with pytest.raises(InputError, match=r"pip install 'infoatlas-rt\[view\]'"):
        write_rerun(found, tmp_path / "demo.hdf5", tmp_path / "view")
