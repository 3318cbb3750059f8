"""Transforms of pieces of demonstrations: pure functions of poses."""

from itertools import pairwise

import numpy as np
import pytest

from infoatlas_tools.generation import arm, transform
from infoatlas_tools.generation.transform import about_vertical, pose_matrix

DOWN = np.diag([1.0, -1.0, -1.0])  # a tool that points down
MIDDLE = np.array([0.0, np.pi / 8, 0.0, -np.pi * 5 / 8, 0.0, np.pi * 3 / 4, np.pi / 4])  # joints


def random_pose(rng):
    return pose_matrix(rng.normal(size=3), transform.rotation(rng.normal(size=3)))


def test_rotation_vectors():
    rng = np.random.default_rng(0)
    for length in (0.0, 1e-9, 1e-3, 1.0, 3.0, np.pi - 1e-4):
        axis = rng.normal(size=3)
        vector = length * axis / np.linalg.norm(axis)
        back = transform.rotation_vector(transform.rotation(vector))
        np.testing.assert_allclose(back, vector, atol=1e-6)
    for turn in (np.diag([1.0, -1, -1]), np.diag([-1.0, 1, -1]), np.diag([-1.0, -1, 1])):
        vector = transform.rotation_vector(turn)
        assert np.linalg.norm(vector) == pytest.approx(np.pi)
        np.testing.assert_allclose(transform.rotation(vector), turn, atol=1e-9)


def test_a_pose_is_followed_whole_and_a_position_without_a_turn():
    rng = np.random.default_rng(1)
    before, now, tool = (random_pose(rng) for _ in range(3))
    moved = transform.motion("pose", before, now, tool, tool)
    np.testing.assert_allclose(moved @ before, now, atol=1e-12)
    moved = transform.motion("position", before, now, tool, tool)
    np.testing.assert_array_equal(moved[:3, :3], np.eye(3))
    np.testing.assert_allclose(moved[:3, 3], now[:3, 3] - before[:3, 3])


@pytest.mark.parametrize(
    ("orientation", "yaw", "expected"),
    [
        ("quarter turns", 0.3, 0.3),
        ("quarter turns", 1.5, 1.5 - np.pi / 2),
        ("quarter turns", 3.0, 3.0 - np.pi),
        ("half turns", 1.5, 1.5),
        ("half turns", 2.0, 2.0 - np.pi),
    ],
)
def test_symmetric_turns_turn_the_tool_least(orientation, yaw, expected):
    before = pose_matrix(np.array([0.1, 0.0, 0.0]), np.eye(3))
    now = pose_matrix(np.array([0.0, 0.2, 0.0]), about_vertical(yaw))
    tool = pose_matrix(np.array([0.1, 0.0, 0.1]), DOWN)
    moved = transform.motion(orientation, before, now, tool, tool)
    np.testing.assert_allclose(moved[:3, :3], about_vertical(expected), atol=1e-9)
    np.testing.assert_allclose((moved @ tool)[:3, 3], [0.0, 0.2, 0.1], atol=1e-12)


def test_symmetric_turns_count_from_where_the_tool_is():
    """In the demonstration the tool turned by 0.6 to its grasp: 0.6 + 0.3 - pi / 2 is smaller."""
    at = pose_matrix(np.zeros(3), np.eye(3))
    now = pose_matrix(np.zeros(3), about_vertical(0.3))
    grasp = pose_matrix(np.zeros(3), about_vertical(0.6) @ DOWN)
    moved = transform.motion("quarter turns", at, now, grasp, pose_matrix(np.zeros(3), DOWN))
    np.testing.assert_allclose(moved[:3, :3], about_vertical(0.3 - np.pi / 2), atol=1e-9)


def test_how_far_objects_are_apart():
    one = pose_matrix(np.zeros(3), np.eye(3))
    other = pose_matrix(np.array([0.3, 0.0, 0.4]), about_vertical(np.pi / 2 + 0.1))
    assert transform.difference("position", one, other) == pytest.approx(0.5)
    assert transform.difference("quarter turns", one, other) == pytest.approx(0.51)
    expected = 0.5 + 0.1 * (np.pi / 2 + 0.1)
    assert transform.difference("pose", one, other) == pytest.approx(expected)


def test_the_held_object_follows_its_path():
    rng = np.random.default_rng(3)
    held_then, tool_then, held_now, tool_now = (random_pose(rng) for _ in range(4))
    moved = random_pose(rng)
    then = transform.tool_in_held("pose", held_then, tool_then)
    now = transform.tool_in_held("pose", held_now, tool_now)
    tool = moved @ tool_then @ transform.correction("pose", then, now)
    np.testing.assert_allclose(tool @ transform.inverse(now), moved @ held_then, atol=1e-12)


def test_a_held_cube_has_four_sides():
    tool = pose_matrix(np.array([0.0, 0.0, 0.01]), DOWN)
    then = transform.tool_in_held("pose", np.eye(4), tool)
    turned = pose_matrix(np.array([0.002, 0.0, 0.0]), about_vertical(np.pi / 2 + 0.02))
    now = transform.tool_in_held("pose", turned, tool)
    for orientation, least in (("quarter turns", 0.02), ("pose", np.pi / 2 + 0.02)):
        found = transform.correction(orientation, then, now)
        assert np.linalg.norm(transform.rotation_vector(found[:3, :3])) == pytest.approx(least)


def test_a_held_ball_has_no_sides():
    rng = np.random.default_rng(4)
    tool = random_pose(rng)
    turns = (transform.rotation(rng.normal(size=3)) for _ in range(2))
    one, other = (pose_matrix(tool[:3, 3] + 0.01, turn) for turn in turns)
    then, now = (transform.tool_in_held("position", held, tool) for held in (one, other))
    np.testing.assert_allclose(transform.correction("position", then, now), np.eye(4), atol=1e-12)


def test_steps_are_no_longer_than_allowed():
    rng = np.random.default_rng(5)
    one, other = random_pose(rng), random_pose(rng)
    path = [one, *transform.make_steps(one, other, 0.02, 0.1)]
    np.testing.assert_array_equal(path[-1], other)
    for a, b in pairwise(path):
        assert np.linalg.norm(a[:3, 3] - b[:3, 3]) <= 0.02 + 1e-9
        assert transform.angle(a[:3, :3], b[:3, :3]) <= 0.1 + 1e-6
    assert len(list(transform.make_steps(one, one, 0.02, 0.1, fewest=5))) == 5
    assert len(list(transform.make_steps(one, one, 0.02, 0.1))) == 1


def test_a_warped_path_has_the_given_ends():
    rng = np.random.default_rng(6)
    path = np.array([pose_matrix(np.array([0.1 * t, 0.0, 0.0]), np.eye(3)) for t in range(11)])
    start, moved = random_pose(rng), random_pose(rng)
    u = transform.progress(path)
    assert u[0] == 0 and (u[7:] == 1).all() and (np.diff(u) >= 0).all()
    bent = [transform.warp(pose, path[0], start, moved, x) for pose, x in zip(path, u, strict=True)]
    np.testing.assert_allclose(bent[0], start, atol=1e-12)
    for t in (7, 10):
        np.testing.assert_allclose(bent[t], moved @ path[t], atol=1e-9)
    # In between, each step is moved by its share: no jump.
    steps = np.linalg.norm(np.diff([pose[:3, 3] for pose in bent], axis=0), axis=1)
    assert steps.max() < 3 * np.mean(steps) + 0.1
    still = np.tile(np.eye(4), (5, 1, 1))  # the tool rests
    assert transform.progress(still)[0] == 0 and transform.progress(still)[-1] == 1
    np.testing.assert_array_equal(transform.progress(still[:1]), [0])


def test_the_arm_finds_its_joints():
    rng = np.random.default_rng(7)
    for _ in range(20):
        joints = MIDDLE + rng.uniform(-0.4, 0.4, 7)
        target = arm.forward(joints)
        found = arm.inverse(target, joints + rng.uniform(-0.1, 0.1, 7), joints)
        np.testing.assert_allclose(arm.forward(found), target, atol=2e-4)
        assert (found >= arm.LOWEST).all() and (found <= arm.HIGHEST).all()


def test_the_jacobian_is_the_slope():
    joints = np.array([0.1, 0.5, -0.2, -2.0, 0.3, 2.0, 0.7])
    end, moved = arm.jacobian(joints)
    np.testing.assert_allclose(end, arm.forward(joints), atol=1e-12)
    for i in range(7):
        near = arm.forward(joints + 1e-6 * np.eye(7)[i])
        np.testing.assert_allclose((near - end)[:3, 3] / 1e-6, moved[:3, i], atol=1e-5)
        turned = transform.rotation_vector(near[:3, :3] @ end[:3, :3].T) / 1e-6
        np.testing.assert_allclose(turned, moved[3:, i], atol=1e-5)


def test_the_arm_is_pulled_to_the_posture():
    posture = MIDDLE + np.array([0.3, 0.0, -0.3, 0.0, 0.0, 0.0, 0.0])
    target, found = arm.forward(MIDDLE), MIDDLE
    for _ in range(30):
        found = arm.inverse(target, found, posture)
    np.testing.assert_allclose(arm.forward(found), target, atol=2e-4)
    assert np.linalg.norm(found - posture) < np.linalg.norm(MIDDLE - posture) - 0.02


def test_unreachable_poses_cause_no_jump():
    far = arm.forward(MIDDLE)
    far[:3, 3] = [2.0, 0.0, 0.5]
    found = arm.inverse(far, MIDDLE, MIDDLE)
    assert np.isfinite(found).all() and (found >= arm.LOWEST).all() and (found <= arm.HIGHEST).all()
