"""Columns of poses, in all conventions of recordings."""

import numpy as np
import pytest

from episodes import PICKCUBE
from infoatlas_tools import Pose, Position, load_trajectories
from infoatlas_tools.keystates.subtasks.poses import parse_bodies, tracks
from refusals import refuses

ROTATION = np.array([[0.0, -1, 0], [1, 0, 0], [0, 0, 1]])  # a rotation by 90 degrees about z
HALF = np.sqrt(0.5)
PLACE = [0.1, 0.2, 0.3]


def read(values, names=(), where=None):
    return tracks([np.tile(np.r_[PLACE, values], (2, 1))], names, where, "cube")[0]


@pytest.mark.parametrize(
    ("orientation", "values"),
    [
        ("quaternion_wxyz", [HALF, 0, 0, HALF]), ("quaternion_wxyz", [-HALF, 0, 0, -HALF]),
        ("quaternion_xyzw", [0, 0, HALF, HALF]), ("rotation_vector", [0, 0, np.pi / 2]),
        ("euler", [0, 0, np.pi / 2]), ("euler_degrees", [0, 0, 90]),
        ("matrix", ROTATION.ravel()), ("rotation_6d", ROTATION[:, :2].T.ravel()),
    ],
)  # fmt: skip
def test_every_orientation_gives_the_same_matrix(orientation, values):
    found = read(values, where=Pose(range(3 + len(values)), orientation))
    np.testing.assert_allclose(found.position, [PLACE] * 2)
    np.testing.assert_allclose(found.rotation, [ROTATION] * 2, atol=1e-12)
    expected = np.eye(4)
    expected[:3, :3], expected[:3, 3] = ROTATION, PLACE
    np.testing.assert_allclose(found.matrix[0], expected, atol=1e-12)


@pytest.mark.parametrize(
    ("last", "values"),
    [
        (("qw", "qx", "qy", "qz"), [HALF, 0, 0, HALF]),
        (("qx", "qy", "qz", "qw"), [0, 0, HALF, HALF]),
        (("roll", "pitch", "yaw"), [0, 0, np.pi / 2]),
    ],
)
@pytest.mark.parametrize("mark", [".", "_", "/"])
def test_names_give_the_orientation(last, values, mark):
    names = tuple(f"cube{mark}{part}" for part in ("x", "y", "z", *last))
    found = read(values, names, Pose("cube"))
    np.testing.assert_allclose(found.rotation, [ROTATION] * 2, atol=1e-12)


def test_a_position_takes_its_axes_by_name():
    found = tracks([np.array([[1.0, 3.0]])], ("door.x", "door.z"), Position("door"), "door")[0]
    np.testing.assert_allclose(found.position, [[1, 0, 3]])
    assert found.rotation is None
    np.testing.assert_allclose(found.matrix[0, :3, :3], np.eye(3))


@pytest.mark.parametrize(
    ("where", "values", "message"),
    [
        (Pose(range(7), "quaternion"), [1, 0, 0, 0], "use one of quaternion_wxyz"),
        (Pose(range(7), "angle"), [1, 0, 0, 0], "use one of"),
        (Pose(range(6), "quaternion_wxyz"), [1, 0, 0, 0], "take 7 columns, not 6"),
        (Pose(range(7), "quaternion_wxyz"), [0, 0, 0, 0], "at step 0"),
        (Pose(range(8), "quaternion_wxyz"), [1, 0, 0, 0], "no such column"),
        (Position(range(4)), [1, 0, 0, 0], "up to 3 columns, not 4"),
        ("cube", [1, 0, 0, 0], "cube is 'cube'"),
    ],
)
def test_refused(where, values, message):
    refuses(message, read, values, where=where)


def test_texts_of_bodies():
    """NAME[:KIND][=COLUMNS], as in the options --tool and --object."""
    names = load_trajectories(PICKCUBE).names
    texts = ["tool", "goal", "cube:position", "a=28:35", "b=25:28", "c:quaternion_xyzw=28:35"]
    assert parse_bodies("--object", [*texts, "d=tool"], names) == {
        "tool": Pose("tool"),
        "goal": Position("goal"),
        "cube": Position("cube"),
        "a": Pose(list(range(28, 35))),
        "b": Position([25, 26, 27]),
        "c": Pose(list(range(28, 35)), "quaternion_xyzw"),
        "d": Pose("tool"),
    }
