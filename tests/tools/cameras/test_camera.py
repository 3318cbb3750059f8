"""Cameras of arrays and folders, and the field `camera` of trajectories."""

import sys
from dataclasses import replace

import cv2
import h5py
import numpy as np
import pytest

from infoatlas_rt import InputError
from infoatlas_tools import Trajectories, load_trajectories
from infoatlas_tools.cameras.camera import THREADS
from numbered_videos import numbers, picture, write_video
from refusals import refuses

LENGTHS = (12, 9, 11)
STATES = [np.random.default_rng(i).normal(size=(n, 2)) for i, n in enumerate(LENGTHS)]
IMAGES = [np.stack([picture(20 * i + s) for s in range(n)]) for i, n in enumerate(LENGTHS)]


@pytest.fixture
def saved(tmp_path):
    """States in a file of NumPy, without names of episodes."""
    np.savez(tmp_path / "demos.npz", states=np.concatenate(STATES), lengths=LENGTHS)
    return tmp_path / "demos.npz"


def check(camera):
    assert camera.lengths.tolist() == [*LENGTHS]
    for i, n in enumerate(LENGTHS):
        assert numbers(camera.read(i, range(n), 32)) == [20 * i + s for s in range(n)]


def test_arrays(saved):
    found = Trajectories(STATES, camera=IMAGES)
    check(found.camera)
    np.testing.assert_array_equal(found.camera.read(1, [2, 4, 4], 64), IMAGES[1][[2, 4, 4]])
    small = found.camera.read(1, [2], 16)
    assert small.shape == (1, 12, 16, 3) and small.dtype == np.uint8
    assert found.camera.video(0) is None
    check(load_trajectories(saved, camera=IMAGES).camera)
    with h5py.File(saved.with_suffix(".h5"), "w") as file:  # array-likes are read row by row
        stored = [file.create_dataset(str(i), data=own) for i, own in enumerate(IMAGES)]
        check(Trajectories(STATES, camera=stored).camera)


def test_the_camera_is_kept_with_the_same_demonstrations_alone():
    found = Trajectories(STATES, camera=IMAGES)
    assert replace(found, states=found.states * 2, rate=5).camera is found.camera
    with pytest.raises(InputError, match="camera has 3 demonstrations, and there are 2"):
        Trajectories(STATES[:2], camera=found.camera)
    with pytest.raises(InputError, match="demonstration 1 has 9 images and 8 steps"):
        Trajectories([STATES[0], STATES[1][1:], STATES[2]], camera=found.camera)


@pytest.mark.parametrize(
    ("camera", "why"),
    [
        ("top", r"'top': pass N arrays .* or its name to load_trajectories"),
        ([i[..., 0] for i in IMAGES], r"demonstration 0 have shape \(12, 48, 64\) uint8"),
        ([i / 255 for i in IMAGES], "float64: pass RGB"),
    ],
    ids=str,
)
def test_what_is_no_camera(camera, why):
    refuses(why, Trajectories, STATES, camera=camera)


def test_steps_and_proportions_are_checked():
    camera = Trajectories(STATES, camera=[IMAGES[0], IMAGES[1], IMAGES[2][:, :40]]).camera
    for steps in ([], [3, 2], [12], [-1]):
        refuses("ascending ones below 12", camera.read, 0, steps, 32)
    reading = camera.read_each([*[(i % 2, [1, 2]) for i in range(20)], (2, [0])], 32)
    assert [numbers(next(reading))[1] for _ in range(20)] == [2, 22] * 10
    refuses("in demonstration 2, and other proportions before", next, reading)
    asked = iter(range(99))
    next(camera.read_each(((0, [1]) for _ in asked), 32))
    assert next(asked) <= THREADS + 2  # the others are not in memory
    refuses("in demonstration 2, and other proportions before", camera.read, 2, [0], 16)


def test_folders_of_images_and_videos(saved, tmp_path):
    folder = tmp_path / "front"
    for i in (0, 2):  # demo_10 is after demo_9
        (folder / f"demo_{8 + i}").mkdir(parents=True)
        for step, image in enumerate(IMAGES[i]):
            cv2.imwrite(str(folder / f"demo_{8 + i}" / f"{step}.png"), image[..., ::-1])
    write_video(folder / "demo_9.mkv", range(20, 29))
    found = load_trajectories(saved, camera=str(folder))
    assert found.camera.name == "front"
    check(found.camera)
    assert found.camera.video(1) == (folder / "demo_9.mkv", 0.0, pytest.approx(0.45))
    (folder / "demo_8" / "0.png").write_bytes(b"no image")
    refuses(r"0.png is no image that OpenCV decodes", found.camera.read, 0, [0], 32)
    (folder / "demo_8" / "0.png").unlink()
    with pytest.raises(InputError, match="demonstration 0 has 11 images and 12 steps"):
        load_trajectories(saved, camera=str(folder))
    (folder / "demo_9.mkv").unlink()
    with pytest.raises(InputError, match="has 2 videos and folders, and there are 3"):
        load_trajectories(saved, camera=str(folder))
    with pytest.raises(InputError, match="camera is 'top', which is neither a camera of the data"):
        load_trajectories(saved, camera="top")


def test_videos_are_paired_with_demonstrations_by_their_numbers(tmp_path):
    (tmp_path / "runs").mkdir()
    for number in (1, 3, 12):
        np.save(tmp_path / "runs" / f"episode_{number}.npy", STATES[0])
        write_video(tmp_path / "front" / f"{number:03}_front.mp4", [number] * len(STATES[0]))
    write_video(tmp_path / "front" / "002_front.mp4", [2] * len(STATES[0]))  # of none of them
    found = load_trajectories(tmp_path / "runs", camera=str(tmp_path / "front"))
    assert [numbers(found.camera.read(i, [0], 64))[0] for i in range(3)] == [1, 3, 12]
    (tmp_path / "front" / "003_front.mp4").unlink()
    with pytest.raises(InputError, match=r"no video or folder with the number of episode_3, but"):
        load_trajectories(tmp_path / "runs", camera=str(tmp_path / "front"))


def test_the_extra_is_named(saved, tmp_path, monkeypatch):
    for i in range(len(LENGTHS)):
        (tmp_path / str(i)).mkdir()
    monkeypatch.setitem(sys.modules, "cv2", None)
    refuses(r"pip install 'infoatlas-rt\[camera\]'", load_trajectories, saved, camera=str(tmp_path))
