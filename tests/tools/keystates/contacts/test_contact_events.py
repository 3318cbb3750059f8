"""Events of hand-made demonstrations: a hand with a gripper, and a cube."""

from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest

from hands import RATE, handed_over, way
from infoatlas_tools import Trajectories, discover_keystates
from infoatlas_tools.cameras.camera import Camera
from infoatlas_tools.keystates.contacts.contact_events import (
    Event,
    add_changes,
    chosen_events,
    find_evidence,
)
from infoatlas_tools.keystates.contacts.event_names import EventKind, What
from refusals import refuses

A, B, HOME = [0.3, 0, 0], [0.3, 0.4, 0], [0, 0, 0.3]
HAND = way(
    *((0, HOME), (2, A), (3, A), (5, B), (6, B), (8, HOME), (9, HOME), (11, B), (12, B)),
    *((14, A), (15, A), (17, HOME), (18, HOME)),
)
CUBE = way((0, A), (3, A), (5, B), (12, B), (14, A), (18, A))
GRASPS = [(0, 1), (2.2, 1), (2.7, 0), (5.2, 0), (5.6, 1), (11.2, 1), (11.7, 0), (14.2, 0)]
GRASPS += [(14.6, 1), (18, 1)]  # the opening of the gripper at times in seconds
CLOSES = EventKind(What.CLOSES, gripper="gripper")
NAMES = [f"{body}.{axis}" for body in ("hand", "cube") for axis in "xyz"]


def gripper(knots, length=361):
    return np.interp(np.arange(length) / RATE, *np.transpose(knots))


def found(columns, names, number=5, noise=1e-4):
    """Steps and names of the events of each demonstration."""
    made = []
    for seed in range(number):
        states = np.column_stack(columns)
        made.append(states + noise * np.random.default_rng(seed).normal(size=states.shape))
    evidence = find_evidence(names, made, RATE)
    return evidence, [[(e.kind.name, e.step) for e in row] for row in evidence.events]


def check(rows, truth, near=4):
    """Whether all demonstrations have these events: (name, seconds)."""
    for row in rows:
        assert [name for name, _ in row] == [name for name, _ in truth]
        away = np.subtract([step / RATE for _, step in row], [seconds for _, seconds in truth])
        assert np.abs(away).max() <= (near + 0.5) / RATE


def test_contact_lasts_from_the_end_of_closing_to_the_begin_of_opening():
    evidence, rows = found([HAND, CUBE, gripper(GRASPS)], [*NAMES, "gripper.pos"])
    check(
        rows,
        [("grasp cube", 2.7), ("release cube", 5.2), ("grasp cube", 11.7), ("release cube", 14.2)],
        near=2,
    )
    assert (evidence.bodies, evidence.grippers) == (("cube",), {"gripper": (6,)})
    assert {motion.mover for row in evidence.motions for motion in row} == {"hand"}
    assert {event.kind.source for row in evidence.events for event in row} == {"contact"}


@pytest.mark.parametrize(("late", "kept"), [(3, True), (1, False)])
def test_a_change_that_is_often_near_a_switch_is_its_effect(monkeypatch, late, kept):
    """Of 8 demonstrations, in `late` ones something leaves its place seconds after the grasp."""
    evidence, rows = found([HAND, CUBE, gripper(GRASPS)], [*NAMES, "gripper.pos"], number=8)
    steps = [rows[0][0][1] + (round(1.25 * RATE) if i < late else 1) for i in range(8)]
    changes = [[SimpleNamespace(step=s, number=1, leaves=True, agreement=0.9)] for s in steps]
    where = add_changes.__globals__
    monkeypatch.setitem(where, "correct_clock", lambda *_: [])
    monkeypatch.setitem(where, "find_changes", lambda *_: (changes, ["seen"]))
    states = [np.zeros((len(HAND), 1))] * 8
    after, notes = add_changes(evidence, Camera("top", np.full(8, 9), range(8)), states, (), RATE)
    seen = {event.kind.what for row in after.events for event in row}
    assert ((What.LEAVES in seen), notes) == (kept, ["seen"] * kept)


def test_a_gripper_that_is_wide_when_it_is_closed():
    late = [(t + 0.3 * (int(t) in (2, 11)), v) for t, v in GRASPS]  # just before the cube moves
    rows = found([HAND, CUBE, 1 - gripper(late)], [*NAMES, "gripper.pos"])[1]
    assert [name for name, _ in rows[0]] == ["grasp cube", "release cube"] * 2


def test_without_a_gripper_bodies_begin_to_move_and_come_to_rest():
    what = ["cube begins to move", "cube comes to rest"] * 2
    check(found([HAND, CUBE], NAMES)[1], list(zip(what, [3, 5, 12, 14], strict=True)))


def test_pushing_with_a_closed_gripper_is_no_grasp():
    closed = [(0, 1), (0.8, 1), (1.2, 0), (16.5, 0), (17, 1), (18, 1)]  # far from any contact
    rows = found([HAND, CUBE, gripper(closed)], [*NAMES, "gripper.pos"])[1]
    what = ["gripper closes", *["cube begins to move", "cube comes to rest"] * 2, "gripper opens"]
    check(rows, list(zip(what, [1.2, 3, 5, 12, 14, 16.5], strict=True)))


def test_a_closing_is_dated_to_its_end_and_an_opening_to_its_begin():
    evidence, rows = found([gripper(GRASPS)], ["gripper.pos"])
    seconds = [2.7, 5.2, 11.7, 14.2]
    check(rows, list(zip(["gripper closes", "gripper opens"] * 2, seconds, strict=True)), near=2)
    assert {event.kind.source for row in evidence.events for event in row} == {"gripper"}


def test_a_body_that_rests_for_long_in_a_closed_gripper_comes_to_rest_first():
    late = [(t + (t in (5.2, 5.6)), v) for t, v in GRASPS]
    rows = found([HAND, CUBE, gripper(late)], [*NAMES, "gripper.pos"])[1]
    what = ["grasp cube", "cube comes to rest", "release cube", "grasp cube", "release cube"]
    check(rows, list(zip(what, [2.7, 5, 6.2, 11.7, 14.2], strict=True)))


def test_a_switch_and_a_contact_within_half_a_second_are_one_event():
    late = [(t + 0.4 * (2 < t < 3), v) for t, v in GRASPS]  # closes while the cube is lifted
    rows = found([HAND, CUBE, gripper(late)], [*NAMES, "gripper.pos"])[1]
    assert [[name for name, _ in row] for row in rows] == [["grasp cube", "release cube"] * 2] * 5


def test_pauses_of_a_held_body_are_none():
    pause = [0.3, 0.2, 0.1]
    to, back = [(0, HOME), (2, A), (3, A), (4, pause), (6, pause), (8, B)], [(11, HOME), (12, HOME)]
    path, cube = way(*to, (9, B), *back), way((0, A), *to[2:], (12, B))
    opening = gripper([(0, 1), (2.2, 1), (2.7, 0), (8.2, 0), (8.6, 1), (12, 1)], len(path))
    rows = found([path, cube, opening], [*NAMES, "gripper.pos"])[1]
    check(rows, [("grasp cube", 2.7), ("release cube", 8.2)])
    what = ["cube begins to move", "cube comes to rest"] * 2
    check(found([path, cube], NAMES)[1], list(zip(what, [3, 4, 6, 8], strict=True)), near=5)


def test_a_body_that_falls_after_its_release_is_one_release():
    up = [0.3, 0.4, 0.2]
    fall = way((0, A), (3, A), (5, up), (5.25, up), (5.7, B), (18, B))
    hand = way((0, HOME), (2, A), (3, A), (5, up), (6, up), (8, HOME), (18, HOME))
    rows = found([hand, fall, gripper([*GRASPS[:5], (18, 1)])], [*NAMES, "gripper.pos"])[1]
    check(rows, [("grasp cube", 2.7), ("release cube", 5.2)])


def test_each_of_two_grippers_has_its_events():
    other = [(0, 1), (9.2, 1), (9.6, 0), (16, 0), (16.4, 1), (18, 1)]
    rows = found([gripper(GRASPS), gripper(other)], ["left_gripper.pos", "right_gripper.pos"])[1]
    close, open_ = "left_gripper closes", "left_gripper opens"
    what = [close, open_, "right_gripper closes", close, open_, "right_gripper opens"]
    check(rows, list(zip(what, [2.7, 5.2, 9.6, 11.7, 14.2, 16], strict=True)), near=2)


@pytest.mark.parametrize("scale", [1000.0, 0.01])
def test_units_change_no_event(scale):
    names = [*NAMES, "gripper.pos"]
    columns = [HAND, CUBE, gripper(GRASPS)]
    other = found([scale * c for c in columns], names, noise=scale * 1e-4)[1]
    assert other == found(columns, names)[1]


def test_each_occurrence_of_an_event_has_its_own_column():
    events = found([HAND, CUBE, gripper(GRASPS)], [*NAMES, "gripper.pos"])[0].events
    columns = [[column.name for _, column in row] for row in chosen_events(events, 8)]
    assert columns == [["grasp cube", "release cube", "grasp cube 2", "release cube 2"]] * 5
    assert [len(row) for row in chosen_events(events, 3)] == [3] * 5
    steps = [[event.step for event, _ in row] for row in chosen_events(events, 3)]
    assert all(row == sorted(row) for row in steps)


def test_nothing_is_found_in_columns_without_names():
    evidence, rows = found([HAND, CUBE], [])
    assert rows == [[]] * 5 and evidence.columns == tuple(range(6))


def test_orientations_are_no_bodies():
    """A lid that only turns, with the hand."""
    turn = way((0, [0, 0, 0]), (3, [0, 0, 0]), (5, [0, 0, 1]), (18, [0, 0, 1]))
    hand = turn + way((0, [0, 0, 0]), (1, [0, 1, 0]), (2, [0, 0, 0]), (18, [0, 0, 0]))
    names = [f"{body}.rotation.{axis}" for body in ("hand", "lid") for axis in "xyz"]
    states = [np.concatenate([hand, turn], axis=1)] * 3
    assert find_evidence(names, states, RATE).bodies == ("lid.rotation",)
    assert find_evidence(names, states, RATE, rotations=range(6)).bodies == ()


def test_failed_attempts_are_extra_occurrences():
    """Most demonstrations close once; one closes twice, and its first time is extra."""
    once = [Event(50, CLOSES, 1.0)]
    twice = [Event(30, CLOSES, 1.0), *once]
    columns = [[c for _, c in row] for row in chosen_events([once, once, twice], 5)]
    assert columns[0] == columns[1] == [CLOSES]
    assert columns[2] == [replace(CLOSES, occurrence=2), CLOSES]


def test_short_grips_are_extra_occurrences():
    """Most demonstrations close twice; one closes for a moment between the two."""

    def closes(step, grip):
        return Event(step, CLOSES, 1.0, grip=grip)

    twice = [closes(30, 40), closes(90, 30)]
    events = [twice, twice, [closes(30, 45), closes(90, 10), closes(110, 30)]]
    numbers = [[column.occurrence for _, column in row] for row in chosen_events(events, 5)]
    assert numbers == [[1, 2], [1, 2], [1, 3, 2]]


@pytest.mark.parametrize(("what", "unpaired"), [(What.CLOSES, (0, 1)), (What.OPENS, (-1, 0))])
def test_events_keep_their_places_if_the_one_between_is_not_seen(what, unpaired):
    kind = EventKind(what, gripper="gripper")
    usual = [Event(40 * (i + 1), kind, 1.0, own, 30) for i, own in enumerate(unpaired)]
    similar = [replace(e, unpaired=sum(unpaired), grip=30 * (i == 0)) for i, e in enumerate(usual)]
    rows = chosen_events([usual, usual, similar], 5)
    assert [[column.occurrence for _, column in row] for row in rows] == [[1, 2]] * 3


def test_what_slips_out_of_the_gripper_moves_no_grasp():
    """The gripper closes on an object, and 1.5 s later entirely."""
    made = []
    for i in range(8):
        at = 4 + 0.3 * (i % 4)
        slip = [(at + 1.7, 0.3), (at + 1.9, 0)] if i == 5 else []
        knots = [(0, 0.7), (at, 0.7), (at + 0.2, 0.3), *slip, (at + 6, 0 if slip else 0.3)]
        made.append(gripper([*knots, (at + 6.2, 0.7), (18, 0.7)])[:, None])
    found = discover_keystates(Trajectories(made, names=["gripper.pos"], rate=RATE), "auto")
    assert [found.name(j) for j in range(2)] == ["gripper closes", "gripper opens"]
    assert np.abs(found.steps[:, 0] - RATE * (4.2 + 0.3 * (np.arange(8) % 4))).max() <= 2
    ((step, reason),) = found.quality[5].attempts
    assert abs(step - RATE * 6.2) <= 2 and "closes further than usual, by 40%" in reason


SWITCHES = {"opens first": (0.2, 0.7), "fails": (3, 0), "opens again": (4, 0.7), "closes": (6, 0)}
SWITCHES |= {"opens": (10, 0.7), "closes last": (17, 0)}


@pytest.mark.parametrize(
    ("usual", "unusual"),
    [
        (("opens first", "closes", "opens"), ("closes", "opens")),
        (("closes", "opens"), ("opens first", "closes", "opens")),
        (("closes", "opens"), ("closes", "opens", "closes last")),
        (("closes", "opens", "closes last"), ("closes", "opens")),
        (("closes", "opens"), ("closes",)),  # the recording ends before the release
        (("closes",), ("closes", "opens")),
        (("opens first", "closes", "opens"), ("fails", "opens again", "closes", "opens")),
        (("closes", "opens", "closes last"), ("fails", "opens again", "closes", "opens")),
    ],
)
def test_an_opening_after_a_closing_is_another_than_one_before_it(usual, unusual):
    """Of twelve demonstrations, four are unusual; the switches differ in time."""
    made = []
    for i, switches in enumerate([usual] * 8 + [unusual] * 4):
        level = 0.1 if switches[0] == "opens first" else 0.7
        knots = [(0, level)]
        for at, to in map(SWITCHES.get, switches):
            begin = at + 0.1 * (i % 4) * (at > 1)
            knots += [(begin, level), (begin + 0.2, to)]
            level = to
        made.append(gripper([*knots, (20, level)])[:, None])
    found = discover_keystates(Trajectories(made, names=["gripper.pos"], rate=RATE), "auto")
    times = [SWITCHES[switch][0] + (0.1 if "first" in switch else 0.25) for switch in usual]
    assert np.allclose(np.ma.median(found.steps, axis=0) / RATE, times, atol=0.15)
    assert (np.ma.ptp(found.steps, axis=0) <= 0.4 * RATE).all() and not found.warnings
    assert found.steps.count(axis=0).tolist() == [8 + 4 * (switch in unusual) for switch in usual]


@pytest.mark.parametrize(("late", "columns"), [(2, 2), (7, 3)])
def test_switches_at_the_start_count_in_all_demonstrations_or_in_none(late, columns):
    """Of nine demonstrations, some open the gripper at step 3, and the others within 0.1 s."""
    made = []
    for i in range(9):
        first = (4.5 if i < late else 3.5) / RATE
        knots = [(0, 0.1), (first, 0.1), (first + 0.05, 0.7), (6, 0.7), (6.2, 0), (10, 0)]
        made.append(gripper([*knots, (10.2, 0.7), (18, 0.7)])[:, None])
    found = discover_keystates(Trajectories(made, names=["gripper.pos"], rate=RATE), "auto")
    assert found.steps.count(axis=0).tolist() == [9] * columns


def slow_grips():
    """States [T, 1] of twelve demonstrations, and seconds [12, 4]: two switches, of 0.2 to 1 s."""
    times = [[4 + i / 9, 4.2 + i / 9 + 0.8 * (i % 3) / 2, 10, 10.4 + i / 60] for i in range(12)]
    grips = [zip([0, *own, 18], [0.7, 0.7, 0, 0, 0.7, 0.7], strict=True) for own in times]
    return [gripper([*grip])[:, None] for grip in grips], np.array(times)


@pytest.mark.parametrize("date", ["contact", "command"])
def test_a_switch_has_a_begin_and_an_end_and_is_dated_by_one_of_them(date):
    made, times = slow_grips()
    data = Trajectories(made, names=["gripper.pos"], rate=RATE)
    found = discover_keystates(data, date=date)
    assert np.abs(found.begins / RATE - times[:, ::2]).max() < 0.15
    assert np.abs(found.ends / RATE - times[:, 1::2]).max() < 0.15
    closed = found.ends if date == "contact" else found.begins
    assert (found.steps == np.c_[closed[:, 0], found.begins[:, 1]]).all()
    (closes, _), table = found.to_dict()["keystates"], found.table()
    assert closes["begins"] == table["begins"][::2].tolist() == found.begins[:, 0].tolist()
    assert closes["ends"] == table["ends"][::2].tolist()
    refuses(r"date is 'end': pass 'contact' or 'command'", discover_keystates, data, date="end")


@pytest.mark.parametrize("date", ["contact", "command"])
@pytest.mark.parametrize("at", [0, 1])
def test_labels_follow_the_begin_or_the_end_that_they_are_at(at, date):
    made, times = slow_grips()
    truth = np.rint(times * RATE).astype(int)[:, at]
    labels = {i: {"grasp": int(truth[i])} for i in (0, 2)}
    data = Trajectories(made, names=["gripper.pos"], rate=RATE)
    found = discover_keystates(data, labels=labels, date=date)
    assert np.abs(found.steps[:, 0] - truth).max() <= 0.15 * RATE
    assert np.abs(found.begins[:, 0] / RATE - times[:, 0]).max() < 0.15


def test_a_box_passes_from_hand_to_hand_with_a_warning():
    paths = np.hstack(handed_over())
    names = [f"{name}.{axis}" for name in ("left_hand", "right_hand", "box") for axis in "xyz"]
    rng = np.random.default_rng(0)
    states = [paths + rng.normal(0, 1e-4, paths.shape) for _ in range(4)]
    found = discover_keystates(Trajectories(states, names=names, rate=RATE), "auto")
    what = ["box begins to move", "box passes from left_hand to right_hand", "box comes to rest"]
    assert [found.name(j) for j in range(3)] == what
    assert np.abs(found.steps - RATE * np.array([4, 6, 9])).max() <= 0.3 * RATE
    assert "box passes from one mover to another" in found.warnings[0]
