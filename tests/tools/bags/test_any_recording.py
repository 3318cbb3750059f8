"""Recordings of any kind: what is at a path, and that it is read once."""

import json

import cv2
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from hdf5_sets import write_aloha_folder, write_minari
from infoatlas_tools.bags.any_recording import BAG, BAGS, DATA_SET, kind_of, open_recording
from infoatlas_tools.files.formats import Dataset
from lerobot_sets import write_lerobot
from refusals import refuses


def test_what_is_at_a_path(tmp_path):
    write_aloha_folder(tmp_path / "aloha")
    write_minari(tmp_path / "minari")
    (tmp_path / "bags" / "one").mkdir(parents=True)
    for name in ("one/metadata.yaml", "two.mcap"):
        (tmp_path / "bags" / name).touch()
    kinds = {name: kind_of(tmp_path / name) for name in ("aloha", "minari", "bags")}
    assert kinds == {"aloha": DATA_SET, "minari": DATA_SET, "bags": BAGS}
    assert kind_of(tmp_path / "bags" / "one") == kind_of(tmp_path / "bags" / "two.mcap") == BAG
    assert open_recording(tmp_path / "bags").formats == ("mcap",)


@pytest.mark.parametrize(
    ("path", "options", "why"),
    [
        ("", {}, "the path of the data is empty"),
        ("none.npz", {}, "none.npz does not exist: check the path"),
        ("a.mcap", {}, "a.mcap is a ROS bag, one robot's stream: use infoatlas-rt bag"),
        ("a.zarr", {}, "stored as zarr"),
        ("a.npz", {"topic": "/a"}, "^topic is for a folder of ROS bags, and .*a.npz is none"),
        ("bags", {"split": "a"}, "^split is for data sets, and .*: choose with field or joints"),
    ],
)
def test_what_cannot_be_opened(path, options, why, tmp_path):
    for name in ("a.mcap", "a.npz"):
        (tmp_path / name).touch()
    (tmp_path / "a.zarr").mkdir()
    for name in ("a", "b"):
        (tmp_path / "bags" / name).mkdir(parents=True)
        (tmp_path / "bags" / name / "metadata.yaml").touch()
    refuses(why, open_recording, path and tmp_path / path, **options)


def test_states_are_read_once_and_described(tmp_path, monkeypatch):
    np.savez(tmp_path / "a.npz", states=np.zeros((6, 2)), lengths=[3, 3])
    loaded, load = [], Dataset.load
    monkeypatch.setattr(Dataset, "load", lambda *a, **k: loaded.append(k) or load(*a, **k))
    recording = open_recording(tmp_path / "a.npz", rate=20, gripper=1)
    assert loaded == []
    assert (recording.trajectories.rate, recording.trajectories.gripper) == (20, (1,))
    assert recording.cameras == {} and len(loaded) == 1


def test_two_cameras_of_one_reading(tmp_path, monkeypatch):
    """States are read once; of each camera, only where its images are."""
    states = [np.arange(6 * n, dtype=np.float32).reshape(n, 6) for n in (9, 12)]
    folder = write_lerobot(tmp_path / "set", states, "v3.0", None)
    info, (file,) = folder / "meta" / "info.json", (folder / "data").glob("*/*.parquet")
    described, table = json.loads(info.read_text()), pq.read_table(file)
    for name, grey in (("top", 50), ("side", 200)):
        image = cv2.imencode(".png", np.full((8, 8, 3), grey, np.uint8))[1].tobytes()
        table = table.append_column(name, pa.array([image] * len(table)))
        described["features"][name] = {"dtype": "image", "shape": [8, 8, 3]}
    pq.write_table(table, file)
    info.write_text(json.dumps(described))
    opened, parquet = [], pq.ParquetFile
    monkeypatch.setattr(
        pq, "ParquetFile", lambda f, *a, **k: opened.append(f) or parquet(f, *a, **k)
    )
    recording = open_recording(folder, camera=["top", "side"])
    cameras = recording.cameras
    assert [len(recording.trajectories.states), opened.count(file)] == [21, 3]
    greys = {name: camera.read(1, [11], 8)[0, 0, 0, 0] for name, camera in cameras.items()}
    assert greys == {"top": 50, "side": 200} and recording.trajectories.camera is cameras["top"]
