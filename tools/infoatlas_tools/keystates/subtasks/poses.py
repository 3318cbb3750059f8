"""Poses and positions of tools and objects within the coordinates of demonstrations."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from infoatlas_rt.errors import InputError
from infoatlas_rt.live.quaternions import ANGLE, SIZES, Group, quaternions, valid

from ...array_types import Float
from ...columns import KINDS, columns_of, full_name, listed, short_name, without_unit
from ...presentation import first_names
from ..contacts.bodies import Body

AXES = "xyz"
ORDERS = {  # last parts of names -> kind of orientation
    ("qw", "qx", "qy", "qz"): "quaternion_wxyz",
    ("qx", "qy", "qz", "qw"): "quaternion_xyzw",
    ("w", "x", "y", "z"): "quaternion_wxyz",
    ("x", "y", "z", "w"): "quaternion_xyzw",
    ("roll", "pitch", "yaw"): "euler",
}


@dataclass(frozen=True)
class Position:
    """Columns of a position: x, y and z, in metres.

    Parameters
    ----------
    columns : str, or sequence of int
        Three columns, or the beginning of their names, as "goal" for goal.x, goal.y and goal.z.
        One or two columns are a position on a line or in a plane.

    Examples
    --------
    >>> from infoatlas_tools import Position
    >>> Position([7, 8, 9])
    Position(columns=[7, 8, 9])
    """

    columns: str | Sequence[int]


@dataclass(frozen=True)
class Pose:
    """Columns of a pose: a position (m) and an orientation.

    Parameters
    ----------
    columns : str, or sequence of int
        The position's three columns and those of the orientation, or the beginning of their
        names, as "cube" for cube.x to cube.qz.
    orientation : str, optional
        "quaternion_wxyz", "quaternion_xyzw", "rotation_vector", "euler", "matrix", "rotation_6d";
        those of angles with "_degrees". Derived from names such as qw or roll; columns without such
        names need it.

    Examples
    --------
    >>> from infoatlas_tools import Pose
    >>> Pose("cube")  # cube.x to cube.qz
    Pose(columns='cube', orientation=None)
    >>> Pose([0, 1, 2, 3, 4, 5], "euler")
    Pose(columns=[0, 1, 2, 3, 4, 5], orientation='euler')
    """

    columns: str | Sequence[int]
    orientation: str | None = None


@dataclass(frozen=True, eq=False)
class Track:
    """Poses of one body in one demonstration."""

    position: Float  # [T, 3], m
    rotation: Float | None = None  # [T, 3, 3]; None for a position without an orientation

    @property
    def matrix(self) -> Float:
        """Homogeneous poses [T, 4, 4]; without an orientation, parallel to the world."""
        found = np.tile(np.eye(4), (len(self.position), 1, 1))
        found[:, :3, 3] = self.position
        if self.rotation is not None:
            found[:, :3, :3] = self.rotation
        return found


def tracks(
    states: Sequence[Any], names: Sequence[str], where: Position | Pose, what: str
) -> list[Track]:
    """Poses of a body in the states [T, d] of each demonstration; errors name it `what`.

    InputError if columns do not exist, are too few or too many, or are no orientation.
    """
    if not isinstance(where, Position | Pose):
        raise InputError(
            f'{what} is {where!r}: pass Pose("cube"), Position("goal"), or either with column '
            "numbers"
        )
    at, axes, kind = _columns(names, np.shape(states[0])[1], where, what)
    group = None
    if kind is not None:
        base, order, turn = KINDS[kind]
        rest = at[3:]
        group = Group(base, tuple(rest[i] for i in order or range(len(rest))), turn or 2 * np.pi)
    found = []
    for i, s in enumerate(states):
        position = np.zeros((len(s), 3))
        position[:, axes] = s[:, at[: len(axes)]]
        rotation = None
        if group is not None:
            values = s[:, list(group.columns)]
            good = valid(group, values)
            if not good.all():
                raise InputError(
                    f"{what}: demonstration {i} has no {kind} in its columns at step "
                    f"{int(good.argmin())}, {values[good.argmin()].tolist()}: pass other columns, "
                    "another orientation, or Position"
                )
            rotation = matrices(quaternions(group, values))
        found.append(Track(position, rotation))
    return found


def as_body(names: Sequence[str], d: int, where: Position | Pose, what: str) -> Body:
    """The position as a body called `what`; arguments as in `tracks`."""
    at, axes, _ = _columns(names, d, where, what)
    return Body(what, tuple(at[: len(axes)]), "".join(AXES[axis] for axis in axes))


def parse_bodies(
    what: str, texts: Sequence[str], names: Sequence[str]
) -> dict[str, Position | Pose]:
    """Bodies from texts NAME[:KIND][=COLUMNS] about coordinates with these names; see `as_body`.

    KIND is position, pose, or a kind of orientation as quaternion_wxyz; without it, a body of up to
    three columns is a position. COLUMNS are numbers, ranges as 28:35, or the beginning of names;
    without them, the name is the beginning.
    """
    found: dict[str, Position | Pose] = {}
    for text in texts:
        left, equals, columns = text.partition("=")
        name, _, kind = left.partition(":")
        if not name or (equals and not columns):
            raise InputError(f"{what} {text!r}: write NAME, NAME:position or NAME=COLUMNS")
        if name in found:
            raise InputError(f"{what} {text!r}: give each body a name of its own")
        numbers = [int(part) for part in listed(columns) if part.isdecimal()]
        if numbers and len(numbers) == len(listed(columns)):
            where: Any = numbers
            count = len(numbers)
        else:
            where = full_name(columns or name, names)
            begins = [n for n in names if where and n.startswith(where)]
            if not begins:
                # Of tool.x and tool.y, "tool".
                short = map(short_name, names)
                bodies = dict.fromkeys(n.rpartition(".")[0] or n for n in short)
                known = first_names(bodies, 12)
                raise InputError(
                    f"{what} {text!r}: no coordinate begins with {columns or name!r}: pass "
                    f"{name if ',' not in name else 'NAME'}=COLUMNS. Names begin with: "
                    f"{known or 'none'}"
                )
            # cube.x to cube.qz, without those of cube_to_goal
            count = sum(bool(re.fullmatch(r"\W*_?\w\w?\W?", n[len(where) :])) for n in begins)
            several = [b for b in dict.fromkeys(n.rpartition(".")[0] for n in begins) if b]
            if not count and len(several) > 1:
                raise InputError(
                    f"{what} {text!r}: {where!r} begins the names of {len(several)} bodies: use "
                    f"one of {first_names(several, 12)}"
                )
            count = count or len(begins)
        if kind == "position" or (not kind and count <= 3):
            found[name] = Position(where)
        else:
            found[name] = Pose(where) if kind in ("", "pose") else Pose(where, kind)
    return found


def matrices(q: Float) -> Float:
    """Rotation matrices [..., 3, 3] of unit quaternions [..., 4], w first."""
    w, x, y, z = np.moveaxis(q, -1, 0)
    rows = [
        [1 - 2 * (y * y + z * z), 2 * (x * y - w * z), 2 * (x * z + w * y)],
        [2 * (x * y + w * z), 1 - 2 * (x * x + z * z), 2 * (y * z - w * x)],
        [2 * (x * z - w * y), 2 * (y * z + w * x), 1 - 2 * (x * x + y * y)],
    ]
    return np.stack([np.stack(row, axis=-1) for row in rows], axis=-2)


def as_bodies(given: Any, what: str, default: str) -> dict[str, Position | Pose]:
    """Named bodies; a single one gets the default name, or that of its columns.

    InputError if it is not a pose, a position or a mapping of such.
    """
    if isinstance(given, Position | Pose):
        return {given.columns if isinstance(given.columns, str) else default: given}
    if not isinstance(given, Mapping) or not all(
        isinstance(name, str) and name and isinstance(body, Position | Pose)
        for name, body in given.items()
    ):
        raise InputError(
            f'{what} is {given!r}: pass {{"cube": Pose("cube"), "goal": Position("goal")}}'
        )
    return dict(given)


def _columns(
    names: Sequence[str], d: int, where: Position | Pose, what: str
) -> tuple[list[int], list[int], str | None]:
    """Columns, the axes of their first ones, and the kind of orientation."""
    kind = where.orientation if isinstance(where, Pose) else None
    if kind is not None and (kind not in KINDS or KINDS[kind][0] == ANGLE):
        kinds = [k for k, about in KINDS.items() if about[0] != ANGLE]
        raise InputError(f"{what}: orientation is {kind!r}: use one of {', '.join(kinds)}")
    if isinstance(where.columns, str) and names:
        at = _find_columns(names, full_name(where.columns, names) or where.columns, where)
        if not at:
            at = columns_of(where.columns, names, d, what)
    else:
        columns = where.columns if isinstance(where.columns, str) else tuple(where.columns)
        at = columns_of(columns, names, d, what)
    listed = ", ".join(names[c] for c in at) if names else ", ".join(map(str, at))
    if isinstance(where, Position):
        if not 1 <= len(at) <= 3:
            raise InputError(f"{what}: a position has up to 3 columns, not {len(at)} ({listed})")
        letters = [_last(names[c]) for c in at] if names else []
        axes = [AXES.index(a) for a in letters] if set(letters) <= set(AXES) else []
        return at, axes if len(set(axes)) == len(at) else list(range(len(at))), None
    if kind is None and names:
        kind = ORDERS.get(tuple(_last(names[c]) for c in at[3:]))
    if kind is None:
        raise InputError(
            f"{what}: columns {listed} do not determine the kind of orientation: pass "
            'Pose(columns, "quaternion_wxyz") or another kind, or Position(columns). Options: '
            "NAME:quaternion_wxyz=COLUMNS, NAME:position=COLUMNS"
        )
    if len(at) != 3 + SIZES[KINDS[kind][0]]:
        raise InputError(
            f"{what}: a position and a {kind} take {3 + SIZES[KINDS[kind][0]]} columns, not "
            f"{len(at)} ({listed})"
        )
    return at, [0, 1, 2], kind


def _find_columns(names: Sequence[str], prefix: str, where: Position | Pose) -> list[int]:
    """Columns "PREFIX.x" and so on, without other names that begin with the prefix."""
    start = prefix.rstrip("._/ ")
    wanted = set(AXES).union(*(ORDERS if isinstance(where, Pose) else ()))
    ends = [
        re.fullmatch(re.escape(start) + r"[._/ \[]*(\w+)\]?", without_unit(name)) for name in names
    ]
    return [c for c, end in enumerate(ends) if end and end[1].strip("_").lower() in wanted]


def _last(name: str) -> str:
    """Last part of a name: qw of cube.qw."""
    return re.split(r"[^0-9A-Za-z]+", without_unit(name).strip("[]"))[-1].lower()
