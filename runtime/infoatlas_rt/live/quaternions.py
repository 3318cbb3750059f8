"""Orientations and angles as continuous paths, in any recorded representation.

A rotation has many representations: a quaternion and its negative, rotation vectors that differ by
a turn, Euler angles on either side of the gimbal lock. A recording may switch between them although
nothing moves. `Group` names the columns of one rotation or angle. Rotations become unit
quaternions, and their path is the sum of the rotation vectors of R_t^-1 R_t+1. Its differences are
the true increments, in radians about the axes of the moving frame. They do not depend on the
representation.

The order of a quaternion's columns hardly matters. An exchange of columns is a rotation or a
reflection of the unit sphere, so the increments of a quaternion in a wrong order have the same
angle. Their axes are exchanged, or belong to the fixed frame instead of the moving one, in the same
way at all steps. The same applies to a transposed matrix.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Float = NDArray[np.float64]
Bool = NDArray[np.bool_]

ANGLE, QUATERNION, VECTOR, EULER = "angle", "quaternion", "rotation_vector", "euler"
MATRIX, SIX = "matrix", "rotation_6d"
SIZES = {ANGLE: 1, QUATERNION: 4, VECTOR: 3, EULER: 3, MATRIX: 9, SIX: 6}
MOST_TURNS = {ANGLE: 20.0, VECTOR: 2.0, EULER: 2.0}  # larger angles are no measurement


@dataclass(frozen=True)
class Group:
    """Columns of one rotation, or of one angle that wraps."""

    # "angle", "quaternion", "rotation_vector", "euler" (rotation about the fixed axes x (roll), y
    # (pitch), z (yaw), in this order), "matrix" (row by row) or "rotation_6d" (its first two
    # columns).
    kind: str
    # In the order of the kind: w, x, y, z of a quaternion; roll, pitch, yaw.
    columns: tuple[int, ...]
    # A full turn in the unit of angles, rotation vectors or Euler angles: 2 pi, 360, or the range
    # of an encoder.
    turn: float = 2 * np.pi


def valid(group: Group, values: Float) -> Bool:
    """Whether values [..., size] can be a measurement of the group, up to noise: [...].

    A quaternion of zeros and an angle of -9999 are not.
    """
    if group.kind in MOST_TURNS:
        return np.asarray((np.abs(values) <= MOST_TURNS[group.kind] * group.turn).all(axis=-1))
    rows = values if group.kind == QUATERNION else _triples(values)
    with np.errstate(over="ignore"):
        norm = np.sqrt((rows**2).sum(axis=-1))
    good = (norm > 0.5) & (norm < 2.0)
    return np.asarray(good if group.kind == QUATERNION else good.all(axis=-1))


def quaternions(group: Group, values: Float) -> Float:
    """Unit quaternions [..., 4], w first, of values [..., size] that are `valid`."""
    if group.kind == QUATERNION:
        return _unit(values)
    if group.kind == VECTOR:
        return _exponential(values * (2 * np.pi / group.turn))
    if group.kind == EULER:
        half = values * (np.pi / group.turn)
        c, s = np.cos(half), np.sin(half)
        zero = np.zeros_like(c[..., 0])
        x = np.stack([c[..., 0], s[..., 0], zero, zero], axis=-1)
        y = np.stack([c[..., 1], zero, s[..., 1], zero], axis=-1)
        z = np.stack([c[..., 2], zero, zero, s[..., 2]], axis=-1)
        return multiply(z, multiply(y, x))
    first, second = _triples(values)[..., 0, :], _triples(values)[..., 1, :]
    if group.kind == MATRIX:
        return _of_matrix(_triples(values))
    first = _unit(first)
    second = _unit(second - (first * second).sum(axis=-1, keepdims=True) * first)
    return _of_matrix(np.stack([first, second, np.cross(first, second)], axis=-1))


def multiply(a: Float, b: Float) -> Float:
    """Products of quaternions [..., 4], w first."""
    aw, ax, ay, az = a[..., 0], a[..., 1], a[..., 2], a[..., 3]
    bw, bx, by, bz = b[..., 0], b[..., 1], b[..., 2], b[..., 3]
    made = np.empty(np.broadcast(a, b).shape)
    made[..., 0] = aw * bw - ax * bx - ay * by - az * bz
    made[..., 1] = aw * bx + ax * bw + ay * bz - az * by
    made[..., 2] = aw * by - ax * bz + ay * bw + az * bx
    made[..., 3] = aw * bz + ax * by - ay * bx + az * bw
    return made


def between(a: Float, b: Float) -> Float:
    """Rotation vectors of a^-1 b, radians, of norm at most pi [..., 3]; a, b are [..., 4]."""
    q = multiply(a * np.array([1.0, -1.0, -1.0, -1.0]), b)
    w, v = q[..., :1], q[..., 1:]
    sine = np.sqrt((v**2).sum(axis=-1, keepdims=True))
    angle = 2 * np.arctan2(sine, np.abs(w))
    factor = np.divide(angle, sine, out=np.full_like(sine, 2.0), where=sine > 0)
    return np.asarray(np.where(w < 0, -factor, factor) * v)


def _triples(values: Float) -> Float:
    return values.reshape(*values.shape[:-1], values.shape[-1] // 3, 3)


def _unit(values: Float) -> Float:
    norm = np.sqrt((values**2).sum(axis=-1, keepdims=True))
    return np.asarray(values / np.where(norm > 0, norm, 1.0))


def _exponential(vectors: Float) -> Float:
    angle = np.sqrt((vectors**2).sum(axis=-1, keepdims=True))
    factor = np.divide(np.sin(angle / 2), angle, out=np.full_like(angle, 0.5), where=angle > 0)
    return np.concatenate([np.cos(angle / 2), factor * vectors], axis=-1)


def _of_matrix(m: Float) -> Float:
    """Quaternions of rotation matrices [..., 3, 3], from the largest of the four components."""
    xx, yy, zz = m[..., 0, 0], m[..., 1, 1], m[..., 2, 2]
    x, y, z = m[..., 2, 1] - m[..., 1, 2], m[..., 0, 2] - m[..., 2, 0], m[..., 1, 0] - m[..., 0, 1]
    xy, xz, yz = (
        m[..., 1, 0] + m[..., 0, 1],
        m[..., 0, 2] + m[..., 2, 0],
        m[..., 2, 1] + m[..., 1, 2],
    )
    rows = np.stack(
        [
            np.stack([1 + xx + yy + zz, x, y, z], axis=-1),
            np.stack([x, 1 + xx - yy - zz, xy, xz], axis=-1),
            np.stack([y, xy, 1 - xx + yy - zz, yz], axis=-1),
            np.stack([z, xz, yz, 1 - xx - yy + zz], axis=-1),
        ],
        axis=-2,
    )
    best = np.diagonal(rows, axis1=-2, axis2=-1).argmax(axis=-1)
    return _unit(np.take_along_axis(rows, best[..., None, None], axis=-2)[..., 0, :])
