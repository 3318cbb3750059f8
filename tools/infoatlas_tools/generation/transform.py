"""Moving a piece of a demonstration to where its object is now. Pure functions of poses.

A pose is a homogeneous matrix [4, 4] (float64, metres) in the world, unless noted otherwise.
"""

from collections.abc import Iterator

import numpy as np

from ..array_types import Float

TURNS = {"half turns": 2, "quarter turns": 4}  # orientations that a part counts up to a symmetry


def rotation(vector: Float) -> Float:
    """Rotation matrix [3, 3] of a rotation vector [3] (rad)."""
    angle = float(np.sqrt(vector @ vector))
    if angle < 1e-12:
        return np.eye(3)
    x, y, z = vector / angle
    cross = np.array([[0.0, -z, y], [z, 0.0, -x], [-y, x, 0.0]])
    return np.asarray(np.eye(3) + np.sin(angle) * cross + (1 - np.cos(angle)) * (cross @ cross))


def rotation_vector(matrix: Float) -> Float:
    """Rotation vector [3] (rad, at most pi long) of a rotation matrix [3, 3]."""
    twice_sine = np.array(
        [matrix[2, 1] - matrix[1, 2], matrix[0, 2] - matrix[2, 0], matrix[1, 0] - matrix[0, 1]]
    )
    sine, cosine = np.linalg.norm(twice_sine) / 2, (np.trace(matrix) - 1) / 2
    angle = np.arctan2(sine, cosine)
    if sine > 1e-6:
        return np.asarray(twice_sine * (angle / (2 * sine)))
    if cosine > 0:
        return 0.5 * twice_sine
    # A half turn: its axis is the column of R + 1 that is longest.
    columns = matrix + np.eye(3)
    axis = columns[:, np.argmax(np.diag(columns))]
    return np.asarray(axis * (np.pi / np.linalg.norm(axis)))


def angle(one: Float, other: Float) -> float:
    """Angle (rad) between two rotation matrices [3, 3]."""
    return float(np.linalg.norm(rotation_vector(one.T @ other)))


def pose_matrix(place: Float, turn: Float) -> Float:
    """Pose of a position [3] and a rotation [3, 3]."""
    found = np.eye(4)
    found[:3, :3], found[:3, 3] = turn, place
    return found


def inverse(pose: Float) -> Float:
    """Inverse of a pose."""
    turn = pose[:3, :3].T
    return pose_matrix(-turn @ pose[:3, 3], turn)


def yaw_between(one: Float, other: Float) -> float:
    """Turn about the vertical (rad) that comes nearest to taking one rotation to the other."""
    turn = other @ one.T
    return float(np.arctan2(turn[1, 0] - turn[0, 1], turn[0, 0] + turn[1, 1]))


def fold(turn: float, symmetry: int) -> float:
    """A turn (rad), less the multiple of 2 pi / symmetry that leaves the least of it."""
    period = 2 * np.pi / symmetry
    return float(turn - period * np.round(turn / period))


def about_vertical(turn: float) -> Float:
    """Rotation [3, 3] about the vertical (rad)."""
    return rotation(np.array([0.0, 0.0, turn]))


def motion(orientation: str, before: Float, now: Float, tool_then: Float, tool_now: Float) -> Float:
    """The transform [4, 4] of a piece of a demonstration to the present pose of its object.

    The orientation "position" moves without a turn; "pose" is `now` @ inverse(`before`). With half
    or quarter turns, the object's turn about the vertical is followed, up to such turns. It is
    the one at which the tool turns least from `tool_now` to the end of the piece (`tool_then`).
    """
    if orientation == "pose":
        return np.asarray(now @ inverse(before))
    turn = np.eye(3)
    if orientation in TURNS:
        yaw = yaw_between(before[:3, :3], now[:3, :3])
        # From here to where the moved piece ends.
        on = yaw + yaw_between(tool_now[:3, :3], tool_then[:3, :3])
        turn = about_vertical(yaw + fold(on, TURNS[orientation]) - on)
    return pose_matrix(now[:3, 3] - turn @ before[:3, 3], turn)


def difference(orientation: str, one: Float, other: Float, metres_per_rad: float = 0.1) -> float:
    """How far two poses of an object are apart (m), as far as the orientation counts."""
    apart = float(np.linalg.norm(one[:3, 3] - other[:3, 3]))
    if orientation == "pose":
        return apart + metres_per_rad * angle(one[:3, :3], other[:3, :3])
    if orientation in TURNS:
        yaw = fold(yaw_between(one[:3, :3], other[:3, :3]), TURNS[orientation])
        return apart + metres_per_rad * abs(yaw)
    return apart


def tool_in_held(orientation: str, held: Float, tool: Float) -> Float:
    """Pose of the tool in the frame of the held object; of a "position", with the tool's axes."""
    frame = held
    if orientation == "position":
        frame = pose_matrix(held[:3, 3], tool[:3, :3])
    return np.asarray(inverse(frame) @ tool)


def correction(orientation: str, grip_then: Float, grip_now: Float) -> Float:
    """What to multiply the tool's path with, so that the held object follows the path [4, 4].

    inverse(`grip_then`) @ turn @ `grip_now`, of `tool_in_held` in the demonstration and at present.
    Up to half or quarter turns, the object turns about its own vertical such that the tool turns
    least.
    """
    symmetry = TURNS.get(orientation, 1)
    turns = [about_vertical(2 * np.pi * i / symmetry) for i in range(symmetry)]
    found = [inverse(grip_then) @ pose_matrix(np.zeros(3), turn) @ grip_now for turn in turns]
    return min(found, key=lambda pose: float(np.linalg.norm(rotation_vector(pose[:3, :3]))))


def between(one: Float, other: Float, share: float) -> Float:
    """The pose at a share of the way from one to the other, on a line and about one axis."""
    turn = rotation(share * rotation_vector(other[:3, :3] @ one[:3, :3].T))
    place = one[:3, 3] + share * (other[:3, 3] - one[:3, 3])
    return pose_matrix(place, turn @ one[:3, :3])


def make_steps(
    one: Float, other: Float, length: float, turn: float, fewest: int = 1
) -> Iterator[Float]:
    """Poses from one (left out) to the other, in equal steps of at most `length` m, `turn` rad."""
    far = np.linalg.norm(other[:3, 3] - one[:3, 3]) / length
    turned = angle(one[:3, :3], other[:3, :3]) / turn
    steps = max(fewest, int(np.ceil(max(far, turned) - 1e-9)))
    for i in range(1, steps):
        yield between(one, other, i / steps)
    yield other


def progress(path: Float, share: float = 0.7) -> Float:
    """How far each pose of a path [T, 4, 4] is on the way to the moved path, in [0, 1].

    Smooth in the share of the path's length: 0 at its start, 1 from `share` of its length on.
    """
    steps = np.linalg.norm(np.diff(path[:, :3, 3], axis=0), axis=1)
    passed = np.concatenate([[0.0], np.cumsum(steps)])
    if passed[-1] < 1e-9:  # a tool that only turns, or rests
        passed = np.arange(len(path), dtype=np.float64)
    x = np.minimum(1.0, passed / max(share * passed[-1], 1e-9))
    return np.asarray(x * x * (3 - 2 * x))


def warp(pose: Float, first: Float, start: Float, moved: Float, u: float) -> Float:
    """A pose of a demonstration's path, which is bent to begin where the tool is.

    p + (1 - u) (start - first) + u (moved p - p), and its rotation in the same way. At u = 0 the
    path starts from `start` instead of `first`. At u = 1 it is moved (by `motion`) to the object's
    present pose. `progress` gives u.
    """
    offset = (1 - u) * (start[:3, 3] - first[:3, 3])
    goal = moved[:3, :3] @ pose[:3, 3] + moved[:3, 3]
    place = pose[:3, 3] + offset + u * (goal - pose[:3, 3])
    begin = start[:3, :3] @ first[:3, :3].T
    turn = rotation(u * rotation_vector(moved[:3, :3] @ begin.T)) @ begin
    return pose_matrix(place, turn @ pose[:3, :3])
