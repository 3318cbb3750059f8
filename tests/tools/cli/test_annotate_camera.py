"""The options --camera and --object-name of annotate, on a LeRobot data set with videos."""

import csv
import json
import re

import numpy as np
import pytest

from command_line import complaint, printed
from infoatlas_rt import KeyStateTracker
from infoatlas_rt.cli.main import main
from infoatlas_tools import load_trajectories
from lerobot_sets import write_lerobot
from numbered_videos import write_video
from painted_scenes import GREEN, JOINTS, RATE, RED, demonstrations, paint, places
from pictures import crossing, texts_drawn

KEY = "observation.images.top"
COUNT = 12


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A data set of v2.1; the gripper's joint is named, objects have no poses."""
    where = places(COUNT, 2)
    states, _ = demonstrations(where)
    out = tmp_path_factory.mktemp("data") / "set"
    states = [own.astype(np.float32) for own in states]
    write_lerobot(out, states, "v2.1", list(JOINTS), fps=int(RATE))
    for e, own in enumerate(states):
        image = paint(where[e], (RED, GREEN), seed=e)
        path = out / f"videos/chunk-000/{KEY}/episode_{e:06d}.mp4"
        write_video(path, [image] * len(own), fps=int(RATE), preset="ultrafast", crf=18)
    return out


@pytest.fixture(scope="module")
def annotated(folder, tmp_path_factory):
    """The tree of one command that names the objects and writes all else."""
    out = tmp_path_factory.mktemp("out")
    found = out / "found.json"
    command = ["annotate", str(folder), "--camera", "top", "--object-name", "1=red cup"]
    more = ["--object-name", "2=plate", "--plot", str(out / "sheet.png")]
    more += ["--save", str(out / "task.json"), "--json", str(found)]
    assert main([*command, *more, "--out", str(out / "copy")]) == 0
    return out, json.loads(found.read_text())


def test_objects_have_numbers_and_information(annotated):
    _, tree = annotated
    assert [(o["number"], o["name"], o["camera"]) for o in tree["objects"][:2]] == [
        (1, "red cup", "top"), (2, "plate", "top")
    ]  # fmt: skip
    first, second = tree["objects"][:2]
    assert first["seen"] == second["seen"] == 1
    cuts = {cut["cut"]: (a, b) for a, b in zip(first["cuts"], second["cuts"], strict=True)
            for cut in (a,)}  # fmt: skip
    taken = next(name for name in cuts if name.startswith("grasp "))
    ends = (taken, taken.replace("grasp", "release"))
    assert set(ends) <= set(cuts)
    about = [[cut["reference"] for cut in cuts[end]] for end in ends]
    assert sorted(about) == [[False, True], [True, False]]
    for end, own in zip(ends, about, strict=True):
        best, other = (cuts[end][own.index(flag)] for flag in (True, False))
        assert best["nats"] > 1 > other["nats"] and 0 < best["stderr"] < 1
    assert any("12 demonstrations: references by a camera may be missed" in n
               for n in tree["notes"])  # fmt: skip


def test_names_reach_the_outputs(annotated, folder):
    out, tree = annotated
    names = {part["name"] for part in tree["subtasks"]}
    assert any(re.match(r"reach (red cup|plate)", name) for name in names)
    assert any(re.match(r"carry (red cup to plate|plate to red cup)", name) for name in names)
    events = {event["name"] for episode in tree["episodes"] for event in episode["key_states"]}
    assert {cut["cut"] for o in tree["objects"] for cut in o["cuts"]} <= events
    assert {part["until"] for part in tree["subtasks"]} <= events | {"end"}
    grasp = next(name for name in events if name.startswith("grasp "))
    assert grasp.replace("grasp", "release") in events
    written = [json.loads(line) for line in (out / "copy/meta/subtasks.jsonl").open()]
    assert names <= {row["subtask"] for row in written}
    tracker = KeyStateTracker(out / "task.json")
    assert {grasp, grasp.replace("grasp", "release")} <= set(tracker.task.keystates)
    own = load_trajectories(folder)
    live = []
    for t, state in enumerate(own.states[: own.lengths[0]]):
        live += [tracker.task.keystates[event.keystate] for event in tracker.push(state, t / RATE)]
    assert grasp in live


def test_table_and_contact_sheet_without_names(folder, tmp_path, capsys, figures):
    table = tmp_path / "a.csv"
    command = ["annotate", str(folder), "--camera", "top", "--format", "csv", "--out", str(table)]
    text = printed(capsys, *command, "--plot", tmp_path / "sheet.svg")
    assert re.search(r"reach object [12] .* object [12] \(position\) +\d\.\d", text)
    assert "by camera top: object 1, object 2.\n" in text and "--plot FILE" not in text
    assert "of the joints at the end of a sub-task and the place of the object in the image" in text
    with table.open(newline="") as file:
        rows = list(csv.DictReader(file))
    assert any(row["name"].startswith("grasp object") for row in rows)
    (figure,) = figures
    drawn = [text for text, _ in texts_drawn(figure)]
    taken = {row["name"] for row in rows if row["name"].startswith("grasp")}
    assert {"1", "2", "object 1", "object 2", "demonstration 0", *taken} <= {*drawn}
    assert not any(text.startswith("gripper") for text in drawn)
    assert any("--object-name 1=bottle" in line for line in drawn) and crossing(figure)[1] == []


def test_names_without_a_camera_are_refused(folder, capsys):
    for options, text in (
        (["--object-name", "1=cup"], "objects that --camera NAME sees"),
        (["--camera", "top", "--object-name", "cup"], "write NUMBER=NAME, as 1=bottle"),
        (["--camera", "top", "--object-name", "9=cup"], "the objects have the numbers 1, 2"),
        (["--camera", "side"], "top"),
    ):
        assert text in complaint(capsys, "annotate", folder, *options)
