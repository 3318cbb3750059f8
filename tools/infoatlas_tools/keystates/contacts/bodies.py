"""Bodies among the coordinates of demonstrations, recognised by names of columns."""

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from ...array_types import Float
from ...columns import short_name, without_unit

AXIS = re.compile(r"(.+)[._/]([xyz])")  # cube.x
PLACE = re.compile(r"[._/](position|pos|pose|translation)$")  # cube.position.x is of cube
NO_POSITION = re.compile(
    r"_to_|relative|veloc|\bvel\b|accel|effort|force|torque|size|/ ?s\b|s\^?-\d"
)
ROBOT = re.compile(
    r"(?<![a-z])(tool|tcp|eef?|hand|palm|gripper|finger|flange|wrist|effector|arm|elbow|shoulder"
    r"|robot|agent)(?![a-z])"
)
NUMBERED = re.compile(r"(?!.*(?:joint|grip|qpos|quat|vel|force))(.*(?:object|eef|pos)[^.]*)\.\d+")


@dataclass(frozen=True)
class Body:
    """Columns of a position."""

    name: str
    columns: tuple[int, ...]  # one to three
    axes: str  # the axis of each, as "xyz"
    # A tool, or a part of a robot or person, which moves others and is not moved.
    of_robot: bool = field(default=False, compare=False)


def find_bodies(names: Sequence[str], states: Float, ignored: Sequence[int]) -> list[Body]:
    """Bodies whose position has the columns "NAME.x", "NAME.y" and "NAME.z", or some of these.

    The states [n, d] are of all demonstrations; columns that are constant are no position.
    """
    moving = np.ptp(states, axis=0) > 0
    found: dict[str, dict[str, int]] = {}
    for column, name in enumerate(names):
        match = AXIS.fullmatch(without_unit(short_name(name)))
        if match and column not in ignored and not NO_POSITION.search(name):
            found.setdefault(match[1], {})[match[2]] = column
    bodies = []
    for text, at in found.items():
        name, axes = PLACE.sub("", text), "".join(sorted(at))
        robot = bool(ROBOT.search(name.lower()))
        bodies.append(Body(name, tuple(at[axis] for axis in axes), axes, robot))
    return [body for body in bodies if moving[list(body.columns)].any()]


def unnamed_positions(names: Sequence[str]) -> tuple[str, ...]:
    """A note on arrays such as "object.0" to "object.13", which may contain positions."""
    widths = Counter(match[1] for name in names if (match := NUMBERED.fullmatch(name)))
    arrays = [f"{name}.0 to {name}.{n - 1} ({n} values)" for name, n in widths.items() if n > 2]
    if not arrays:
        return ()
    return (
        f"Columns {' and '.join(arrays)} have no names of positions: pass names=(..., 'cube.x', "
        "'cube.y', 'cube.z', ...) so that contacts of tool and objects are seen.",
    )
