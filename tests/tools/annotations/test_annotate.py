"""Annotations from Python: of a recording, of trajectories, and what is written."""

import json
from collections import Counter
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
import pytest

from hdf5_sets import write_mimicgen
from infoatlas_tools import Pose, Trajectories, annotate
from infoatlas_tools.annotations.annotate import follow_reading, known_bodies
from infoatlas_tools.bags.any_recording import open_recording
from lerobot_sets import write_lerobot
from refusals import refuses


@pytest.mark.parametrize("version", ["v2.1", "v3.0"])
def test_a_data_set_is_read_once_and_copied_once(states, tmp_path, version, monkeypatch):
    folder = write_lerobot(tmp_path / "set", states, version, None, per_file=5)
    opened, parquet = Counter(), pq.ParquetFile

    def count(file, *arguments, **options):
        opened[Path(file).relative_to(tmp_path)] += 1
        return parquet(file, *arguments, **options)

    monkeypatch.setattr(pq, "ParquetFile", count)
    found = annotate(folder, 2)
    tables = [file for file in opened if "data" in file.parts]
    assert len(tables) == (12 if version == "v2.1" else 3)
    assert set(opened.values()) == {1}  # the tables of episodes, too
    found.write(tmp_path / "copy")
    assert {opened[file] for file in tables} == {3}  # their numbers are not kept: read again


def test_trajectories_are_written_as_tables(states, tmp_path):
    found = annotate(Trajectories(states, rate=20), 2)
    assert found.source is found.actions is None and found.episodes[:2] == ("0", "1")
    found.write(tmp_path / "a.json", format="json")
    assert len(json.loads((tmp_path / "a.json").read_text())["episodes"]) == 12
    for options, why in (
        ({"format": "lerobot"}, "format lerobot is for data of LeRobot, and the data is none"),
        ({"in_place": True}, "pass out for a new file of csv"),
    ):
        refuses(why, found.write, None if "in_place" in options else tmp_path / "b", **options)


def test_bodies_are_those_that_were_read(tmp_path):
    path = write_mimicgen(tmp_path / "demos.hdf5")
    read = open_recording(path, features=["gripper", "eef_pose", "cubeB"])
    assert known_bodies(read) == ({"eef_pose": Pose("eef_pose")}, {"cubeB": Pose("cubeB")})
    assert known_bodies(open_recording(path, features=["gripper", "cubeB"])) == ({}, {})


def test_progress_advances_with_each_image(states):
    camera = [np.zeros((len(own), 4, 4, 3), np.uint8) for own in states]
    given, shown = Trajectories(states, rate=20, camera=camera), []
    follow_reading(given.camera, shown.append)
    for i in (*range(12), *range(12)):
        given.camera.read(i, [0], 4)
    assert shown[11] == pytest.approx(0.5) and shown[-1] == pytest.approx(0.75)
    assert shown == sorted(set(shown))
