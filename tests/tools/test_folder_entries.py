"""Hidden files, as macOS adds them: a "._x" beside each file x, in all readers of folders."""

import cv2
import numpy as np
import pytest

from infoatlas_tools import load_trajectories
from infoatlas_tools.bags.states import bags_in
from infoatlas_tools.cameras.folders import folder_camera
from lerobot_sets import write_lerobot
from mcap_files import write

STATES = [np.full((4, 2), i, np.float32) for i in range(3)]


def add_hidden(folder):
    for file in [file for file in folder.rglob("*") if file.is_file()]:
        (file.parent / f"._{file.name}").write_bytes(b"\0\5\x16\7\0\2")


@pytest.mark.parametrize("kind", ["v2.1", "v3.0", "csv", "npy"])
def test_hidden_files_are_no_data(tmp_path, kind):
    folder = tmp_path / "set"
    if kind.startswith("v"):
        write_lerobot(folder, STATES, kind, ["x", "y"])
    else:
        folder.mkdir()
        for i, own in enumerate(STATES):
            path = folder / f"demo_{i}.{kind}"
            np.save(path, own) if kind == "npy" else np.savetxt(path, own, delimiter=",")
    add_hidden(folder)
    found = load_trajectories(folder)
    np.testing.assert_array_equal(found.states, np.concatenate(STATES))
    assert not any("Set aside" in note for note in found.notes)


def test_hidden_files_are_no_bags_and_no_images(tmp_path):
    for name in ("a.mcap", "b.mcap"):
        write(tmp_path / name, range(5))
    add_hidden(tmp_path)
    assert bags_in(tmp_path) == [tmp_path / "a.mcap", tmp_path / "b.mcap"]
    for name in ("0", "1"):
        (tmp_path / "images" / name).mkdir(parents=True)
        for step in range(3):
            cv2.imwrite(f"{tmp_path}/images/{name}/{step}.png", np.zeros((4, 4, 3), np.uint8))
    add_hidden(tmp_path / "images")
    (tmp_path / "images" / "._2.mp4").touch()
    assert folder_camera(str(tmp_path / "images"), (), 2).lengths.tolist() == [3, 3]
