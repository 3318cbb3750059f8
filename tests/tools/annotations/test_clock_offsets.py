"""Offsets of cameras and commands of small data sets: `clock_offsets`, --qa and --fix-clock."""

import json

import numpy as np
import pytest

from command_line import complaint, printed
from infoatlas_rt.cli.main import main
from infoatlas_tools import Trajectories, discover_keystates, load_trajectories
from infoatlas_tools.annotations.clock_offsets import clock_offsets
from infoatlas_tools.bags.any_recording import open_recording
from lerobot_sets import add_videos, write_lerobot
from numbered_videos import write_video

COUNT, STEPS, RATE = 8, 150, 20
KEY = "observation.images.top"
NAMES = ["left_joint", "left_gripper"]


def states(seed=0):
    """An arm and a gripper that move and rest."""
    rng, kernel = np.random.default_rng(seed), np.hanning(12)[1:-1]
    found = []
    for _ in range(COUNT):
        speed = np.abs(rng.normal(size=(STEPS + 9, 2))) * (rng.random((STEPS + 9, 2)) < 0.1)
        smooth = np.stack([np.convolve(own, kernel, "valid") for own in speed.T], axis=1)
        found.append(smooth.cumsum(axis=0))
    return found


def films(paths, late=0, repeat=0):
    """Pictures of a stripe at the place of the arm, `late` steps after the states."""
    found = []
    for own in paths:
        at = np.arange(len(own)) - late
        at = np.where(at % repeat == 0, at - 1, at) if repeat else at
        where = 4 * own[np.clip(at, 0, len(own) - 1), 0]
        wave = np.sin((np.arange(64) - where[:, None]) / 3) * 90 + 128
        image = np.broadcast_to(wave[:, None, :, None], (len(own), 48, 64, 3))
        found.append(image.astype(np.uint8))
    return found


@pytest.mark.parametrize(
    ("late", "ahead", "cause"),
    [
        (-6, 2, "camera is early"), (0, 2, ""), (4, 2, "camera is late"),
        (-6, 9, "states follow the commands by 9.0 steps, and pictures by 3"),
    ],
)  # fmt: skip
def test_pictures_and_commands(late, ahead, cause):
    paths = states()
    commands = [np.stack([np.roll(s[:, 0], -ahead), np.roll(s[:, 1], -7)], 1) for s in paths]
    given = Trajectories(paths, names=tuple(NAMES), rate=RATE, camera=films(paths, late))
    found = clock_offsets(given, actions=commands)
    assert [row.name for row in found.rows] == [
        "camera images", "commands of the left arm", "commands of the left gripper"
    ]  # fmt: skip
    for row, steps in zip(found.rows, (late, -ahead, -7), strict=True):
        low, high = row.offset.interval
        assert abs(row.offset.steps - steps) < 0.5 and low - 0.3 < steps < high + 0.3
        assert f"in {COUNT} of {COUNT} episodes" in str(row)
        assert row.to_dict()["seconds"][0] == pytest.approx(row.offset.steps / RATE)
    assert found.rows[0].offset.apart == bool(late)
    assert cause in str(found.rows[0]) and bool(cause) == bool(found.rows[0].cause)
    assert ("states are late" in found.rows[0].cause) == (ahead == 9)
    for _ in range(2):  # the second search has the same camera, whose images are kept
        notes = " ".join(discover_keystates(given).notes)
        assert (f"pictures are {abs(late)} steps" in notes) == bool(late)
        assert given.camera.late == late
        assert clock_offsets(given).rows[0].offset.steps == found.rows[0].offset.steps
    lines = found.rows[0].plot().lines
    assert lines[2].get_xdata()[0] == pytest.approx(-found.rows[0].offset.steps / RATE)


def test_labels_need_no_images_where_the_states_have_events():
    arm = [np.linspace(0, 5, STEPS) + np.sin(np.arange(STEPS) / 9 + i) for i in range(COUNT)]
    grip = [np.where(np.arange(STEPS) < 60 + i, 1.0, 0.0) for i in range(COUNT)]
    paths = [np.stack(pair, axis=1) for pair in zip(arm, grip, strict=True)]
    read = []
    for labels in (None, {0: [60], 1: [61]}):
        given = Trajectories(paths, names=tuple(NAMES), rate=RATE, camera=films(paths))
        assert discover_keystates(given, labels=labels).evidence.common
        read.append(given.camera.clock is not None)
    assert read == [True, False]


def test_what_is_not_known():
    paths = states()
    noise = np.random.default_rng(1).integers(0, 255, (COUNT, STEPS, 48, 64, 3), np.uint8)
    (row,) = clock_offsets(Trajectories(paths, camera=[*noise], rate=RATE)).rows
    assert row.offset.why and "not known, because they hardly move together" in str(row)
    assert row.to_dict()["steps"] is None
    usual, row = (
        clock_offsets(Trajectories(paths, camera=films(paths, repeat=n), rate=RATE)).rows[0]
        for n in (0, 4)
    )
    assert 0.15 < (row.equal - usual.equal) / row.pictures < 0.3
    assert f"{row.equal} of {row.pictures} pictures equal to the one before" in str(row)
    (row,) = clock_offsets(Trajectories(paths, camera=films(paths)), budget=1e-9).rows
    assert len(row.episodes) == 1 and f"1 of {COUNT} episodes were read" in str(row)


def make_set(folder, version, late):
    """A data set with videos, two episodes in a file of v3.0."""
    paths = [own.astype(np.float32) for own in states()]
    write_lerobot(folder, paths, version, NAMES, fps=RATE)
    shown = films(paths, late)
    for path, episodes in add_videos(folder, version, [STEPS] * COUNT).items():
        write_video(path, [*np.concatenate([shown[e] for e in episodes])], fps=RATE, crf=18)


@pytest.mark.parametrize("late", [-6, 4])
def test_a_clock_is_corrected(tmp_path, capsys, late):
    make_set(tmp_path / "set", "v3.0", late)
    command = ["annotate", str(tmp_path / "set"), "--qa", "--fix-clock", "--count", "1"]
    command += ["--camera", "top"]
    text = printed(capsys, *command, "--out", tmp_path / "copy")
    assert "Clock of camera top: 0." in text
    assert f"Moved: pictures of top by {-late} frames." in text
    lost = COUNT * abs(late)
    assert f"{lost} of {COUNT * STEPS} frames, without pictures of their time" in text
    note = json.loads((tmp_path / "copy/meta/clocks.json").read_text())
    assert note["moved"] == {"top": late} and note["offsets"][0]["name"] == "camera top"
    copied = load_trajectories(tmp_path / "copy")
    before = load_trajectories(tmp_path / "set").split()
    kept = slice(max(-late, 0), STEPS - max(late, 0))
    np.testing.assert_array_equal(copied.split()[1], before[1][kept])
    row = clock_offsets(tmp_path / "copy").rows[0]
    assert abs(row.offset.steps) < 0.5 and not row.offset.apart


def test_v2_is_refused_and_absent_videos_are_said(tmp_path, capsys):
    make_set(tmp_path / "set", "v2.1", 4)
    command = ["annotate", str(tmp_path / "set"), "--fix-clock", "--count", "1"]
    assert main([*command, "--out", str(tmp_path / "copy")]) == 2
    assert "without times of their own (v2.1, video)" in capsys.readouterr().err
    assert "pass --out COPY" in complaint(capsys, *command)
    next((tmp_path / "set/videos").rglob("*000003.mp4")).unlink()
    for chosen in ("top", ()):  # commands are compared, too, and images with their own states
        rows = clock_offsets(open_recording(tmp_path / "set", camera=chosen)).rows
        assert len(rows[0].episodes) == COUNT - 1 and round(rows[0].offset.steps) == 4
        assert len(rows) > 1
    for file in (tmp_path / "set/videos").rglob("*.mp4"):
        file.unlink()
    assert "not known, because" in str(clock_offsets(tmp_path / "set").rows[0])
