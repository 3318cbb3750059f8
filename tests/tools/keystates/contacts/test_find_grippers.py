"""Grippers, recognised by their columns."""

import numpy as np
import pytest

from infoatlas_tools.keystates.contacts.find_grippers import find_grippers

from .test_bodies import moving

RATE = 20.0
SWITCH = np.repeat([1.0, 0.0, 1.0], [60, 80, 60])  # open, closed, open


def grippers(names, columns, given=(), taken=()):
    return find_grippers(names, [np.column_stack(columns)] * 3, RATE, given, taken)


def test_fingers_with_opposite_signs_are_one_gripper():
    columns = [0.04 * SWITCH, -0.04 * SWITCH]
    for names in (
        ["finger_1", "finger_2"],
        ["left_finger.pos", "right_finger.pos"],
        ["position[fr3_finger_joint1]", "position[fr3_finger_joint2]"],  # of a bag
        ["left_outer_knuckle_joint", "right_outer_knuckle_joint"],
    ):
        (one,) = grippers(names, columns)
        assert one.name == "gripper" and one.columns == (0, 1)
        assert np.sign(one.weights).tolist() == [1, -1]
        np.testing.assert_allclose(one.opening(np.column_stack(columns)), SWITCH)


def test_two_arms_have_two_grippers_with_names_of_their_own():
    other = np.roll(SWITCH, 45)
    names = ["left_gripper.pos", "left_joint_1.pos", "right_gripper.pos"]
    found = grippers(names, [SWITCH, moving(1)[:, 0], other])
    assert [(g.name, g.columns) for g in found] == [("left_gripper", (0,)), ("right_gripper", (2,))]


@pytest.mark.parametrize(
    "columns",
    [("gripper_0", "gripper_1"), ("vx300s_left/gripper", "vx300s_right/gripper.pos"),
     ("observation.state.6", "observation.state.13"),
     ("main_left_gripper.pos", "main_right_gripper.pos")],
)  # fmt: skip
def test_names_of_two_grippers(columns):
    found = grippers(columns, [SWITCH, np.roll(SWITCH, 45)], given=(0, 1))
    assert [g.name for g in found] == [name.removesuffix(".pos") for name in columns]


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
    assert [g.columns for g in found] == [(0, 1), (2, 3)] and len({g.name for g in found}) == 2


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


def flicker(rng, per_second, low=152.504, count=0.022):
    """Values of a resting encoder between two counts."""
    return low + count * (np.cumsum(rng.random(200) < per_second / RATE) % 2)


@pytest.mark.parametrize("per_second", [0.3, 2.0, 8.0])
@pytest.mark.parametrize("names", [(), ("joint_1.pos", "joint_2.pos", "joint_3.pos")])
def test_a_resting_joint_that_flickers_is_no_gripper(per_second, names):
    rng = np.random.default_rng(3)
    arm = np.round(40 * np.sin(np.arange(200) / 30) / 0.022) * 0.022
    states = [np.c_[arm, flicker(rng, per_second), SWITCH + 5] for _ in range(12)]
    (found,) = find_grippers(names, states, RATE, (), ())
    assert found.columns == (2,) and found.name == (names[2].split(".")[0] if names else "column 2")


def test_touch_sensors_do_not_open():
    names = ["gripper_touch", "fingertip_contact", "tactile_1", "left_finger_pressure", "x"]
    assert grippers(names, [SWITCH, np.roll(SWITCH, 9), SWITCH, SWITCH, moving(1)[:, 0]]) == []


def hand(joints=8, noise=0.02):
    """Joints of a hand that close by different amounts, in either direction."""
    rng = np.random.default_rng(0)
    weight = rng.uniform(0.3, 1, joints) * np.where(np.arange(joints) % 3, 1, -1)
    drawn = noise * rng.normal(size=(len(SWITCH), joints))
    return list((100 * (SWITCH[:, None] * weight + drawn)).T)


@pytest.mark.parametrize("given", [(), tuple(range(1, 9)), (tuple(range(1, 9)),)])
@pytest.mark.parametrize(
    "name", ["right_hand.joint_{}.pos", "hand/thumb_{}", "observation.state.{}", "h{}", ""]
)
def test_joints_of_a_hand_are_one_gripper(name, given):
    names = ["elbow", *(name.format(k) for k in range(8))] if name else []
    (one,) = grippers(names, [moving(1)[:, 0], *hand()], given)
    assert one.columns == tuple(range(1, 9))
    opening = one.opening(np.column_stack([SWITCH, *hand()]))  # demonstrations begin open
    assert np.abs(opening - SWITCH).max() < 0.1


def test_two_hands_are_two_grippers():
    names = [f"{side}_hand.joint_{k}" for side in ("left", "right") for k in range(4)]
    other = [np.roll(column, 45) for column in hand(4)]
    for given in ((), (tuple(range(4)), tuple(range(4, 8)))):
        found = grippers(names, [*hand(4), *other], given)
        assert [(g.name, g.columns) for g in found] == [
            ("left_hand", (0, 1, 2, 3)),
            ("right_hand", (4, 5, 6, 7)),
        ]
