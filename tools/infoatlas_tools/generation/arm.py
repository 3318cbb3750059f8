"""Forward and inverse kinematics of the Franka Panda, with its hand, in NumPy."""

import numpy as np

from ..array_types import Float
from .transform import rotation_vector

LOWEST = np.array([-2.8973, -1.7628, -2.8973, -3.0718, -2.8973, -0.0175, -2.8973])  # rad
HIGHEST = np.array([2.8973, 1.7628, 2.8973, -0.0698, 2.8973, 3.7525, 2.8973])
BASE = (-0.615, 0.0, 0.0)  # of the robot in ManiSkill's tabletop scenes, m
ITERATIONS = 12
PULL = 0.1  # share of the way to the posture in each iteration
DAMPING = 0.02  # near singular postures, the tool falls behind rather than that a joint leaps
_QUARTER = np.pi / 2
# Place (m) and turn about x (rad) of each joint in the frame of the one before; its axis is z.
_JOINTS = (
    ((0.0, 0.0, 0.333), 0.0),
    ((0.0, 0.0, 0.0), -_QUARTER),
    ((0.0, -0.316, 0.0), _QUARTER),
    ((0.0825, 0.0, 0.0), _QUARTER),
    ((-0.0825, 0.384, 0.0), -_QUARTER),
    ((0.0, 0.0, 0.0), _QUARTER),
    ((0.088, 0.0, 0.0), _QUARTER),
)
_TOOL = 0.107 + 0.1034  # from the last joint to between the fingertips, m
_HAND = -np.pi / 4  # turn of the hand about the last axis, rad


def _fix() -> Float:
    found = np.tile(np.eye(4), (7, 1, 1))
    for matrix, (place, turn) in zip(found, _JOINTS, strict=True):
        c, s = np.cos(turn), np.sin(turn)
        matrix[1:3, 1:3] = [[c, -s], [s, c]]
        matrix[:3, 3] = place
    found[0, :3, 3] += BASE
    return found


_FIXED = _fix()
_END = np.eye(4)
_END[:2, :2] = [[np.cos(_HAND), -np.sin(_HAND)], [np.sin(_HAND), np.cos(_HAND)]]
_END[2, 3] = _TOOL


def _links(joints: Float) -> Float:
    """Transform of each joint [..., 7, 4, 4] from the one before."""
    c, s = np.cos(joints)[..., None], np.sin(joints)[..., None]
    x, y = _FIXED[:, :, 0], _FIXED[:, :, 1]
    found = np.empty((*joints.shape, 4, 4))
    found[..., 0] = c * x + s * y
    found[..., 1] = c * y - s * x
    found[..., 2:] = _FIXED[:, :, 2:]
    return found


def forward(joints: Float) -> Float:
    """Pose of the tool [..., 4, 4] in the world, of joint positions [..., 7] (rad)."""
    links = _links(np.asarray(joints, np.float64))
    found = links[..., 0, :, :]
    for i in range(1, 7):
        found = found @ links[..., i, :, :]
    return np.asarray(found @ _END)


def jacobian(joints: Float) -> tuple[Float, Float]:
    """Pose of the tool [4, 4], and how it moves with each joint [6, 7]: m / rad, then rad / rad."""
    frames = np.empty((7, 4, 4))
    links = _links(joints)
    frames[0] = links[0]
    for i in range(1, 7):
        np.matmul(frames[i - 1], links[i], out=frames[i])
    end = frames[6] @ _END
    axes, arms = frames[:, :3, 2], end[:3, 3] - frames[:, :3, 3]
    moved = np.empty((6, 7))
    moved[0] = axes[:, 1] * arms[:, 2] - axes[:, 2] * arms[:, 1]
    moved[1] = axes[:, 2] * arms[:, 0] - axes[:, 0] * arms[:, 2]
    moved[2] = axes[:, 0] * arms[:, 1] - axes[:, 1] * arms[:, 0]
    moved[3:] = axes.T
    return end, moved


def inverse(target: Float, joints: Float, posture: Float) -> Float:
    """Joint positions [7] (rad) for a pose [4, 4] of the tool, by damped least squares.

    They are searched from `joints`, the solution of the step before. The arm is pulled towards
    `posture` as far as the tool stays where it is. The result is within the joints' limits; of a
    target out of reach, it comes near.
    """
    for i in range(ITERATIONS):
        end, moved = jacobian(joints)
        error = np.empty(6)
        error[:3] = target[:3, 3] - end[:3, 3]
        error[3:] = rotation_vector(target[:3, :3] @ end[:3, :3].T)
        if i and error[:3] @ error[:3] < 1e-9 and error[3:] @ error[3:] < 1e-8:
            break  # 0.03 mm, 0.1 mrad
        towards = PULL * (posture - joints) if i == 0 else np.zeros(7)
        square = moved @ moved.T
        square[np.diag_indices(6)] += DAMPING**2 * min(1.0, float(error @ error) / 1e-4)
        square[np.diag_indices(6)] += 1e-8
        step = towards + moved.T @ np.linalg.solve(square, error - moved @ towards)
        longest = np.abs(step).max()
        if longest > 0.3:
            step *= 0.3 / longest
        joints = np.clip(joints + step, LOWEST, HIGHEST)
    return joints
