"""What the page shows and changes, without a browser."""

from contextlib import nullcontext
from threading import Thread
from types import SimpleNamespace

import numpy as np
import pytest

from browsers import people
from infoatlas_tools import Trajectories, discover_keystates
from infoatlas_tools.bags.any_recording import open_recording
from infoatlas_tools.cameras.camera import Camera
from infoatlas_tools.keystates.marks import read_labels
from infoatlas_tools.label import session as module
from infoatlas_tools.label.session import Session, Stale
from infoatlas_tools.label.signals import LEVELS, Signals
from infoatlas_tools.label.work import Cancelled
from refusals import refuses

STATES, NAMES = people(6)
DEMOS = Trajectories(STATES, names=tuple(NAMES), rate=20)


def opened(folder, trajectories):
    """A session of these trajectories, stored in a folder."""
    stored = {name: getattr(trajectories, name) for name in ("states", "lengths", "rate")}
    np.savez(folder / "demos.npz", names=np.array(trajectories.names, str), **stored)
    return Session(open_recording(folder / "demos.npz"), folder / "labels.json")


@pytest.fixture
def session(tmp_path):
    return opened(tmp_path, DEMOS)


def change(session, do, **given):
    session.change(session.revision, do, **given)
    return session.state()


def test_states_after_each_change(session):
    first = session.state()
    assert first["copy"] == "demos_annotated.csv"
    assert first["next"] == {"episode": 0, "why": "of median length", "gain": 0}
    assert first["kinds"] == [] and first["followed"] is False and not first["undo"]
    change(session, "mark", episode=0, kind=" first  grasp ", step=132)
    change(session, "mark", episode=0, kind="release", step=212)
    state = change(session, "mark", episode=1, kind="release", step=None)
    assert state["episodes"][0]["marks"] == {"first grasp": 132, "release": 212}
    assert state["episodes"][1]["marks"] == {"release": None}
    session.follow()
    state = session.state()
    assert state["followed"] and 0 < state["unsure"] < 9
    assert state["episodes"][1]["proposals"]["release"] == (None, 1.0)
    step, sure = state["episodes"][2]["proposals"]["first grasp"]
    assert abs(step - 176) <= 5 and 0.5 < sure < 1
    assert state["next"]["episode"] not in (0,) and state["next"]["gain"] > 0
    state = change(session, "rename", kind="first grasp", name="grasp")
    assert state["kinds"] == ["grasp", "release"] and not state["followed"]
    assert state["episodes"][2]["proposals"]["grasp"] == (step, sure)
    state = change(session, "accept", episode=2)
    assert state["episodes"][2]["marks"]["grasp"] == step
    state = change(session, "undo")
    assert state["episodes"][2]["marks"] == {}
    state = change(session, "undo")
    assert state["kinds"] == ["first grasp", "release"]
    assert change(session, "rename", kind="release", name=None)["kinds"] == ["first grasp"]


@pytest.mark.parametrize("cancelled", [True, False])
def test_marks_are_saved_while_it_follows(session, monkeypatch, cancelled):
    change(session, "mark", episode=0, kind="grasp", step=132)

    def find(*given, **options):
        mark = {"episode": 1, "kind": " Grasp", "step": 150}  # the name exists already
        other = Thread(target=change, args=(session, "mark"), kwargs=mark, daemon=True)
        other.start()
        other.join(9)
        assert read_labels(session.path, DEMOS).steps == {0: {"grasp": 132}, 1: {"grasp": 150}}
        refuses("Follow is at work: wait for it, or cancel it", session.annotate, "copy")
        session.work.cancelled = cancelled
        return discover_keystates(*given, **options)

    monkeypatch.setattr(module, "discover_keystates", find)
    with pytest.raises(Cancelled) if cancelled else nullcontext():
        session.follow()
    assert session.work is None
    assert bool(session.state()["episodes"][2]["proposals"]) is not cancelled


def test_the_clock_of_a_camera_is_measured(session, monkeypatch):
    offset = SimpleNamespace(steps=-22.9, apart=True)
    monkeypatch.setattr(module, "camera_clock", lambda *_: SimpleNamespace(offset=offset))
    session.recording.__dict__["cameras"] = {"top": Camera("top", np.ones(6), [])}
    assert session.clocks == {"top": -23}


def test_the_page_shows_steps_where_rows_are_lost(tmp_path):
    steps = np.delete(np.arange(200), np.arange(50, 90)).astype(float)
    rows = np.c_[steps / 20, np.sin(steps / 9), np.where(steps < 120, 0, 1), np.cos(steps / 9)]
    np.savetxt(tmp_path / "a.csv", rows, delimiter=",", header="time_s,x,gripper,y", comments="")
    session = Session(open_recording(tmp_path / "a.csv", rate=20), tmp_path / "labels.json")
    assert session.state()["rate"] is None and session.trajectories.rate == 20


def test_proposals_without_marks_have_no_certainty(session):
    session.follow()
    state = session.state()
    assert state["followed"] and not state["judged"] and state["unsure"] == 0
    assert {sure for own in state["episodes"] for _, sure in own["proposals"].values()} == {None}
    assert state["next"]["gain"] == 0


def test_all_episodes_labelled(session):
    for i in range(6):
        change(session, "mark", episode=i, kind="grasp", step=100)
    assert session.state()["next"] is None


@pytest.mark.parametrize(
    ("do", "given", "message"),
    [
        ("mark", {"episode": 0, "kind": "a", "step": 223}, "Step 223 is outside .* use 0 to 222"),
        ("mark", {"episode": 0, "kind": " ", "step": 2}, "1 to 60 characters"),
        ("rename", {"kind": "grasp", "name": "release"}, "release is another kind"),
        ("undo", {}, "nothing to undo"),
    ],
)
def test_changes_that_are_refused(session, do, given, message):
    if do == "rename":
        for kind in ("grasp", "release"):
            change(session, "mark", episode=0, kind=kind, step=3)
    refuses(message, change, session, do, **given)
    with pytest.raises(Stale):
        session.change(session.revision - 1, "undo")
    refuses(r"no marks|has no name", session.annotate, " ")


def test_a_plain_file_of_labels_is_refused(session, tmp_path):
    session.path.write_text('{"0": [3]}')
    refuses("no fingerprint of its data: pass another --labels", session.state)


def test_unlike_episodes_are_named(session):
    session.follow()
    unlike = session.state()["unlike"]
    assert any("at step 153, no object follows the closed" in why for why in unlike[3])
    assert unlike[0] == unlike[1] == []


def test_signals_are_grouped_and_down_sampled():
    signals = Signals(DEMOS)
    assert signals.titles == ["gripper", "object", "tool", "joint position", "tool q", "object q"]
    whole = signals.piece(0, 0, 222, 900)
    assert whole["step"] == 1 and len(whole["groups"][0]["lines"][0]["values"]) == 223
    (tool,) = [group for group in whole["groups"] if group["name"] == "tool"]
    assert [line["name"] for line in tool["lines"]] == ["x", "y", "z"]
    share, low = np.array(tool["lines"][1]["values"]) / LEVELS, tool["low"]
    values = low + share * (tool["high"] - low)
    np.testing.assert_allclose(values, STATES[0][:, NAMES.index("tool.y")], atol=1e-4)
    part = signals.piece(0, 20, 219, 50)
    assert part["first"] == 20 and part["step"] == 2  # least and largest of each four steps
    assert len(part["groups"][0]["lines"][0]["values"]) == 100
    rows = signals.overview(2)
    assert [len(row) for row in rows] == [160] * 6
    assert 0 <= min(map(min, rows)) and max(map(max, rows)) <= 255


def test_shades_are_in_step():
    ramps = [np.arange(n, dtype=float)[:, None] for n in (120, 190, 250)]
    for row, ramp in zip(Signals(Trajectories(ramps)).overview(0), ramps, strict=True):
        level = 255 * len(ramp) / 250  # at the end: bins of equal duration show a straight line
        assert abs(np.linspace(0, level, len(row)) - row).max() <= 5


def test_columns_without_names_are_groups_of_six():
    signals = Signals(Trajectories([s[:, :8].astype(float) for s in STATES]))
    assert signals.titles[-2:] == ["columns 0 to 5", "columns 6 to 11"]


def test_states_that_show_nothing(tmp_path):
    found = opened(tmp_path, Trajectories([s[:80, :7] for s in STATES[:2]], rate=20))
    assert "no contact or switch: mark the key states of one" in found.follow()
    assert found.state()["kinds"] == []


def test_titles_keep_the_last_letters_of_words():
    names = ("arm.kShoulderYaw", "arm.kElbow", "arm.sx", "arm.sy", "arm.joint_1", "arm.joint_2")
    moves = np.cumsum(np.random.default_rng(0).normal(size=(6, 40, 6)), axis=1)
    titles = Signals(Trajectories([*moves], names=names, rate=20)).titles
    assert titles == ["arm kShoulderYaw", "arm kElbow", "arm s", "arm joint"]
    names = ("hand.proxy_x", "hand.proxy_y", "hand.Roll", "hand.Rolling", "hand.taxx", "hand.taxy")
    signals = Signals(Trajectories([*moves], names=names, rate=20))
    assert {"hand Roll", "hand Rolling", "hand tax"} <= {*signals.titles}
    assert signals._labels([2, 3]) == ["Roll", "Rolling"]
