"""A few rendered frames, beside true places and events, and their disturbances."""

import subprocess
import sys
from ctypes.util import find_library
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("mujoco", reason="the extra 'bench' is not installed")

from benchmarks.cameras import disturb, stacks
from benchmarks.cameras.kinematic_arm import build

ROOT = Path(__file__).parents[3]


@pytest.mark.parametrize("name", stacks.TASKS)
def test_objects_end_where_they_are_put(name):
    task = stacks.TASKS[name]
    demo = stacks.demonstrate(task, build(task.things), seed=3)
    for step, kind, held, reference in demo.events:
        there = demo.poses[held][step, :2]
        if kind == "grasp":
            assert np.linalg.norm(there - demo.poses["tool"][step, :2]) < 0.02
        elif reference != stacks.WORLD:
            assert np.linalg.norm(there - demo.poses[reference][step, :2]) < 0.02
    heights = [demo.poses[held][-1, 2] for held, _ in task.moves]
    assert heights == sorted(heights)
    assert np.abs(np.diff(demo.states[:, :6], axis=0)).max() < 0.2  # rad in 0.05 s


@pytest.mark.skipif(not find_library("OSMesa"), reason="libosmesa6 is not installed")
def test_frames_show_objects_at_their_true_pixels(tmp_path):
    command = ["benchmarks.cameras.stacks", "stack2", "--number", "2", "--every", "80"]
    # In a process of its own: MuJoCo chooses how it renders when it is imported.
    subprocess.run([sys.executable, "-m", *command, "--out", tmp_path], cwd=ROOT, check=True)
    with np.load(tmp_path / "stack2.npz") as file:
        found = dict(file)
    assert found["frames_front"].shape == (found["frame_lengths"].sum(), 240, 320, 3)
    first = np.cumsum(found["frame_lengths"]) - found["frame_lengths"]
    for camera in ("front", "wrist"):
        for number, frame in enumerate(found[f"frames_{camera}"][first]):
            for thing, strongest in (("cube_a", 0), ("cube_b", 1), ("distractor", 2)):
                column = found["object_names"].tolist().index(thing)
                if found[f"pixels_{camera}"][number, column] > 50:
                    x, y = found[f"points_{camera}"][number, column].astype(int)
                    assert frame[y, x].argmax() == strongest
    assert found["events"]["kind"].tolist() == ["grasp", "release"] * 2


@pytest.mark.parametrize("name", disturb.NAMES)
def test_disturbances(name):
    pytest.importorskip("cv2")
    frames = np.full((3, 24, 32, 3), (40, 120, 200), np.uint8)
    frames[:, 10:14, 14:18] = (200, 50, 50)
    change = disturb.Disturbance(name, demonstrations=10, seed=1)
    found = change.frames(9, frames)
    assert found.shape == frames.shape and found.dtype == np.uint8
    assert np.array_equal(found, change.frames(9, frames))
    assert np.array_equal(found, frames) == (name == "none")
    shift = change.points(9, np.array([160.0, 120.0])) - [160, 120]
    assert bool(np.abs(shift).max() > 0) == (name in ("moved", "moved_once", "all"))
    if name == "moved_once":
        assert np.array_equal(change.frames(5, frames), frames)
        assert np.array_equal(shift, disturb.ONCE)
        assert found[0, 11, 17].tolist() == [200, 50, 50]  # 1.8 and 1.2 pixels away
