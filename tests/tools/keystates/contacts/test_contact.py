"""Motions of bodies and their movers, in hand-made demonstrations."""

import numpy as np
import pytest

from hands import RATE, handed_over, way
from infoatlas_tools.keystates.contacts.bodies import Body, find_bodies
from infoatlas_tools.keystates.contacts.contact import find_motions

HAND = way(
    *((0, [0, 0, 0.3]), (1.5, [0.3, 0, 0]), (2, [0.3, 0, 0]), (3.5, [0.3, 0.3, 0.1])),
    *((4, [0.3, 0.3, 0.1]), (5.5, [0, 0, 0.3]), (6.5, [0, 0, 0.3]), (8, [0.3, 0.3, 0.1])),
    *((8.5, [0.3, 0.3, 0.1]), (10, [0.6, 0.3, 0]), (10.5, [0.6, 0.3, 0])),
    *((12, [0, 0, 0.3]), (13, [0, 0, 0.3])),
)
BOX = way(
    *((0, [0.3, 0, 0]), (2, [0.3, 0, 0]), (3.5, [0.3, 0.3, 0.1]), (8.5, [0.3, 0.3, 0.1])),
    *((10, [0.6, 0.3, 0]), (13, [0.6, 0.3, 0])),
)
SIDE = np.array([0, 0.05, 0])
TRUTH = [[40, 70], [170, 200]]  # begin and end of both motions


def motions(paths, number=4, noise=1e-4, frequency=RATE, change=lambda path: path, **more):
    """Motions of bodies by name, in copies of one demonstration with noise [m] of their own."""
    states, names = [], [f"{name}.{axis}" for name in paths for axis in "xyz"]
    for seed in range(number):
        drawn = np.random.default_rng(seed).normal(size=(len(HAND), 3 * len(paths)))
        jitter = [np.full(3, more.get(name, noise)) for name in paths]
        row = np.concatenate(list(paths.values()), axis=1) + drawn * np.concatenate(jitter)
        parts = [change(path) for path in np.split(row, len(paths), axis=1)]
        states.append(np.concatenate(parts, axis=1))
    return find_motions(find_bodies(names, np.concatenate(states), ()), states, frequency)


def steps(row):
    return [[m.begin, m.end] for m in row]


@pytest.mark.parametrize("noise", [0, 1e-4, 1e-3])
def test_a_box_that_is_moved_twice_has_two_motions(noise):
    for row in motions({"hand": HAND, "box": BOX}, noise=noise):
        assert [(m.body, m.mover) for m in row] == [("box", "hand")] * 2
        assert np.abs(np.subtract(steps(row), TRUTH)).max() <= (6 if noise == 1e-3 else 4)


@pytest.mark.parametrize("angle", [0.4, np.pi / 4, np.pi / 2, 2.0])
def test_a_rotation_of_the_axes_moves_no_step_by_more_than_two(angle):
    paths = {"hand": HAND, "box": BOX}
    c, s = np.cos(angle), np.sin(angle)
    turn = np.array([[c, -s, 0], [s, c, 0], [0, 0, 1]]) @ [[1, 0, 0], [0, c, -s], [0, s, c]]
    moved = motions(paths, change=lambda path: path @ turn.T)
    away = np.subtract([steps(row) for row in moved], [steps(row) for row in motions(paths)])
    assert np.abs(away).max() <= 2


def test_an_elbow_that_moves_with_the_hand_is_no_object():
    elbow = 0.5 * HAND + [0, 0, 0.5]
    rows = motions({"hand": HAND, "elbow": elbow, "box": BOX})
    assert {m.body for row in rows for m in row} == {"box"}
    assert motions({"hand": HAND, "elbow": elbow}) == [[]] * 4


def test_two_markers_are_one_body_with_the_words_that_they_share():
    rows = motions({"hand": HAND, "box_back": BOX, "box_bolt": BOX + SIDE})
    assert [[(m.body, m.mover) for m in row] for row in rows] == [[("box", "hand")] * 2] * 4
    rows = motions({"hand": HAND, "box": BOX, "bolt": BOX + SIDE})
    assert {m.body for row in rows for m in row} == {"box"}


def test_a_body_that_settles_at_the_start_has_no_motion_there():
    fall = np.clip(0.1 - np.arange(len(BOX))[:, None] * [0, 0, 0.03], 0, None) * [0, 0, 1]
    for row in motions({"hand": HAND, "box": BOX + fall}):
        assert np.abs(np.subtract(steps(row), TRUTH)).max() <= 4


def test_a_bystander_that_jitters_has_no_say():
    lamp = np.tile([1.0, 1, 1], (len(HAND), 1))
    rows = motions({"hand": HAND, "box": BOX, "lamp": lamp}, lamp=0.02)
    assert [[m.body for m in row] for row in rows] == [["box"] * 2] * 4


def test_a_tool_moves_a_hook_and_the_hook_a_cube():
    hook = np.where(np.arange(len(HAND))[:, None] < 40, HAND[40], HAND)  # held from 2 s on
    cube = BOX[[0] * 170 + list(range(170, len(BOX)))]  # moved by the hook from 8.5 to 10 s
    for row in motions({"tool": HAND, "hook": hook + SIDE, "cube": cube}):
        found = {(m.body, m.mover in ("tool", "hook")) for m in row}
        assert found == {("hook", True), ("cube", True)}
        (last,) = (m for m in row if m.body == "cube")
        assert abs(last.begin - 170) <= 4 and abs(last.end - 200) <= 4


def test_a_motion_that_does_not_end_has_the_length_as_its_end():
    states = np.concatenate([HAND, BOX], axis=1)[:190]
    names = [f"{name}.{axis}" for name in ("hand", "box") for axis in "xyz"]
    (row,) = find_motions(find_bodies(names, states, ()), [states], RATE)
    assert row[-1].end == 190 and abs(row[-1].begin - 170) <= 4


@pytest.mark.parametrize(
    ("name", "moved"), [("left_gripper", False), ("tool_b", False), ("handle", True)]
)
def test_a_part_of_a_robot_is_not_moved(name, moved):
    assert [bool(row) for row in motions({"hand": HAND, name: BOX})] == [moved] * 4


def test_a_body_that_the_user_names_is_moved_whatever_its_name():
    bodies = [Body("hand", (0, 1, 2), "xyz"), Body("tool_box", (3, 4, 5), "xyz")]
    for row in find_motions(bodies, [np.hstack([HAND, BOX])] * 3, RATE):
        assert [m.body for m in row] == ["tool_box"] * 2


def test_an_only_object_that_rests_moves_and_rests_is_moved():
    for row in motions({"box": BOX}):
        assert [(m.body, m.mover) for m in row] == [("box", "")] * 2
        assert np.abs(np.subtract(steps(row), TRUTH)).max() <= 4
    assert motions({"hand": HAND}) == motions({"pose": HAND}) == [[]] * 4


def test_a_box_that_passes_from_one_hand_to_the_other():
    left, right, box = handed_over()
    for row in motions({"left_hand": left, "right_hand": right, "box": box}):
        ((m),) = row
        assert (m.mover, m.taker) == ("left_hand", "right_hand")
        assert abs(m.taken - 6.1 * RATE) <= 0.25 * RATE
    assert all(not m.taker for row in motions({"hand": HAND, "box": BOX}) for m in row)
