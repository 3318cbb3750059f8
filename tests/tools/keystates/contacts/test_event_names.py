"""Names of events are made of fields, and nothing reads them: labels may have any words."""

import csv

import numpy as np
import pytest

from hands import RATE, carrying
from infoatlas_tools import Pose, Trajectories, discover_keystates
from infoatlas_tools.annotations.content import Annotations
from infoatlas_tools.annotations.csv_and_json import write_csv
from infoatlas_tools.annotations.quality_flags import missing_parts
from infoatlas_tools.cameras import leave_and_arrive, scene
from infoatlas_tools.keystates.contacts.event_names import EventKind, What, label_kind
from painted_scenes import BLUE, GREEN, JOINTS, RED, demonstrations, films, paint, places

CLOSES, OPENS = "release the button", "grasp of the idea"  # labels that mean the opposite


@pytest.mark.parametrize(
    ("kind", "name", "source"),
    [
        (EventKind(What.GRASP, "cube"), "grasp cube", "contact"),
        (EventKind(What.GRASP, "cube", "left", 2), "grasp cube (left) 2", "contact"),
        (EventKind(What.RELEASE, "cube2", occurrence=2), "release cube2 (2)", "contact"),
        (EventKind(What.CLOSES, gripper="gripper", occurrence=3), "gripper closes 3", "gripper"),
        (EventKind(What.LEAVES, "object A"), "object A leaves its place", "contact"),
        (EventKind(What.CHANGE, number=2, occurrence=2), "change C 2", "motion"),
        (label_kind("change A"), "change A", "label"),
    ],
)
def test_names_are_made_of_fields(kind, name, source):
    assert (kind.name, kind.source) == (name, source)


def test_an_object_that_a_camera_sees_replaces_the_gripper():
    closes, opens = (EventKind(what, gripper="gripper") for what in (What.CLOSES, What.OPENS))
    assert closes.with_object("red", "").name == "grasp red"
    assert opens.with_object("box", "red").name == "release red"
    for kind in (label_kind("gripper closes"), EventKind(What.CLOSES, gripper="left"), opens):
        assert kind.with_object("red", "") == kind


def test_labels_stay_labels_before_a_camera(monkeypatch):
    monkeypatch.setattr(scene, "EACH", 3)
    monkeypatch.setattr(leave_and_arrive, "RATE", 2.0)  # films of one image have no changes
    where = places(20, 3)
    states, steps = demonstrations(where)
    images = [paint(own, (RED, GREEN, BLUE), seed=i) for i, own in enumerate(where)]
    demos = Trajectories(states, rate=10.0, names=JOINTS, camera=films(images, states))
    labels = {i: {CLOSES: steps[i, 0], OPENS: steps[i, 1]} for i in (0, 1)}
    parts = discover_keystates(demos, labels=labels).subtasks()
    taken, onto = parts.parts[0].reference, parts.parts[1].reference
    assert parts.names == (f"reach {taken}", f"carry {taken} to {onto}", "until end")
    assert parts.keystate_names == {} and parts.seen.cuts == (CLOSES, OPENS)


@pytest.fixture(scope="module")
def labelled():
    """Eight demonstrations that move one body, three of which lack the second label."""
    states, names, cuts = carrying(8, [("a", "b")])
    labels = {
        i: {CLOSES: int(close), OPENS: None if i in (5, 6, 7) else int(opened) + 25}
        for i, (close, opened) in enumerate(cuts)
    }
    longer = [np.r_[s, np.tile(s[-1:], (40, 1))] for s in states]
    return discover_keystates(Trajectories(longer, names=names, rate=RATE), labels=labels)


def test_labels_stay_labels_in_discovery_and_quality(labelled):
    assert labelled.found.names == (CLOSES, OPENS) and labelled.found.source == ("label", "label")
    assert [event.what for event in labelled.found.events] == [What.LABEL] * 2
    # A grasp that five of eight have would be missing in the other three.
    assert not any(quality.missing for quality in labelled.quality)


def test_labels_stay_labels_in_subtasks_and_files(labelled, tmp_path):
    parts = labelled.subtasks(Pose("tool"), {name: Pose(name) for name in ("a", "b")})
    assert [part.until for part in parts.parts if part.event.what is What.LABEL] == [CLOSES]
    plain = Annotations(labelled, labelled.subtasks(), tuple("abcdefgh"))
    assert plain.labels == (f"until {CLOSES}", f"until {OPENS}", "until end")
    assert [missing_parts(plain, i) for i in (0, 7)] == [[], []]
    write_csv(plain, None, tmp_path / "out.csv")
    rows = list(csv.DictReader((tmp_path / "out.csv").open()))
    assert {row["name"] for row in rows if row["what"] == "key_state"} == {CLOSES, OPENS}


@pytest.mark.parametrize("name", ["end", "change of plan"])
def test_other_words_of_a_label_mean_nothing(name):
    states, names, cuts = carrying(8, [("a", "b")])
    labels = {i: {name: int(close)} for i, (close, _) in enumerate(cuts)}
    found = discover_keystates(Trajectories(states, names=names, rate=RATE), labels=labels)
    assert "changes of the motion" not in str(found)
    plain = Annotations(found, found.subtasks(), tuple("abcdefgh"))
    assert plain.subtasks.names[0] == f"until {name}"
    assert plain.unnamed.startswith(f"'until {name}' does not say")
