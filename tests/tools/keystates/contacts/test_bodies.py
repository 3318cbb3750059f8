"""Bodies and grippers, recognised by their columns."""

from __future__ import annotations

import numpy as np
import pytest

from infoatlas_tools.keystates.contacts.bodies import find_bodies, find_grippers

RATE = 20.0
SWITCH = np.repeat([1.0, 0.0, 1.0], [60, 80, 60])  # open, closed, open


def moving(width, seed=0, length=200):
    return np.random.default_rng(seed).normal(size=(length, width)).cumsum(axis=0)


def bodies(names, states=None, ignored=()):
    found = find_bodies(names, moving(len(names)) if states is None else states, ignored)
    return {body.name: (body.columns, body.axes) for body in found}


def grippers(names, columns, given=(), taken=()):
    states = [np.column_stack(columns)] * 3
    return find_grippers(names, states, RATE, given, taken)


@pytest.mark.parametrize("prefix", ["", "observation.state."])
@pytest.mark.parametrize("mark", [".", "_", "/"])
def test_positions_by_names(prefix, mark):
    names = [f"{prefix}{body}{mark}{axis}" for body in ("tool", "cube_a") for axis in "xyz"]
    assert bodies(names) == {"tool": ((0, 1, 2), "xyz"), "cube_a": ((3, 4, 5), "xyz")}


def test_two_dimensions_and_other_orders():
    assert bodies(["agent.x", "agent.y", "block.y", "block.x", "block.angle"]) == {
        "agent": ((0, 1), "xy"),
        "block": ((3, 2), "xy"),
    }


def test_velocities_relative_and_ignored_columns_are_no_positions():
    names = ["cube_velocity.x", "tool_to_cube.x", "cube_relative.x", "cube_force.x", "cube_size.x"]
    assert bodies(names) == {}
    assert bodies(["cube.x", "cube.y", "lamp.x"], ignored=(0, 2)) == {"cube": ((1,), "y")}
    assert bodies(["shoulder_pan", "elbow", "matrix"]) == {} == bodies([], moving(3))


def test_constant_positions_are_no_bodies():
    states = moving(6)
    states[:, 3:] = 7.0
    names = [f"{body}.{axis}" for body in ("tool", "goal") for axis in "xyz"]
    assert list(bodies(names, states)) == ["tool"]


def test_fingers_with_opposite_signs_are_one_gripper():
    columns = [0.04 * SWITCH, -0.04 * SWITCH]
    for names in (
        ["finger_1", "finger_2"],
        ["left_finger.pos", "right_finger.pos"],
        ["position[fr3_finger_joint1]", "position[fr3_finger_joint2]"],  # of a bag
        ["left_outer_knuckle_joint", "right_outer_knuckle_joint"],
    ):
        (one,) = grippers(names, columns)
        assert one.name == "gripper" and one.columns == (0, 1) and one.sign.tolist() == [1, -1]
        np.testing.assert_allclose(one.opening(np.column_stack(columns)), SWITCH)


def test_two_arms_have_two_grippers_with_names_of_their_own():
    other = np.roll(SWITCH, 45)
    names = ["left_gripper.pos", "left_joint_1.pos", "right_gripper.pos"]
    found = grippers(names, [SWITCH, moving(1)[:, 0], other])
    assert [(g.name, g.columns) for g in found] == [("left_gripper", (0,)), ("right_gripper", (2,))]


@pytest.mark.parametrize(
    ("columns", "expected"),
    [
        (("gripper_0", "gripper_1"), ("gripper_0", "gripper_1")),
        (
            ("vx300s_left/gripper", "vx300s_right/gripper.pos"),
            ("vx300s_left/gripper", "vx300s_right/gripper"),
        ),
        (
            ("observation.state.6", "observation.state.13"),
            ("observation.state.6", "observation.state.13"),
        ),
        (
            ("main_left_gripper.pos", "main_right_gripper.pos"),
            ("main_left_gripper", "main_right_gripper"),
        ),
    ],
)
def test_names_of_two_grippers(columns, expected):
    found = grippers(columns, [SWITCH, np.roll(SWITCH, 45)], given=(0, 1))
    assert tuple(g.name for g in found) == expected


@pytest.mark.parametrize(
    "names",
    [
        ("vx300s_left/left_finger", "vx300s_left/right_finger", "vx300s_right/left_finger",
         "vx300s_right/right_finger"),
        ("finger1.position", "finger2.position", "finger1_b.position", "finger2_b.position"),
        ("robot0_finger_joint1", "robot0_finger_joint2", "robot1_finger_joint1",
         "robot1_finger_joint2"),
        ("position[l_finger_joint1]", "position[l_finger_joint2]", "position[r_finger_joint1]",
         "position[r_finger_joint2]"),
    ],
)  # fmt: skip
def test_four_fingers_of_two_arms_are_two_grippers(names):
    other = np.roll(SWITCH, 45)
    found = grippers(names, [SWITCH, -SWITCH, other, -other])
    assert [g.columns for g in found] == [(0, 1), (2, 3)]
    assert len({g.name for g in found}) == 2


def test_speeds_and_forces_of_grippers_are_no_openings():
    names = ["gripper.pos", "gripper_velocity", "gripper_force", "gripper.current"]
    (one,) = grippers(names, [SWITCH, *moving(3).T])
    assert one.columns == (0,)


@pytest.mark.parametrize("noise", [0, 0.02])
def test_a_column_that_switches_between_two_levels_needs_no_name(noise):
    drawn = np.random.default_rng(1).normal(size=200) * noise
    column = SWITCH + drawn
    wave = np.sin(np.arange(200) / 9)
    ramp = np.interp(np.arange(200), [50, 150], [0, 1])  # slow
    found = grippers([], [wave, column, ramp, moving(1)[:, 0]])
    assert [(g.name, g.columns) for g in found] == [("column 1", (1,))]
    assert grippers([], [wave, column, ramp], taken=(1,)) == []


def test_constant_columns_are_no_grippers():
    assert grippers(["gripper.pos", "x"], [np.ones(200), np.sin(np.arange(200) / 9)]) == []
