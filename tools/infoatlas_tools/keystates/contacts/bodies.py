"""Bodies and grippers among the coordinates of demonstrations, recognised by their columns."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from ...array_types import Float
from ...columns import GRIPPER, short_name, without_unit
from ..motion.durations import ONE_EVENT

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
NO_OPENING = re.compile(r"veloc|\bvel\b|accel|effort|force|torque|current|temperature")
TAILS = re.compile(r"(?<=finger)\d+|([._/]?\d+|[._/](position|positions|pos|qpos|state))+$")
ENTRY = re.compile(r".*\[(.+)\]$")  # of a message: "position[finger_joint1]"
# Correlation of the fingers of one gripper, and of its two sides, at least; names with "finger"
# need none.
ONE_GRIPPER = 0.5, 0.9
SIDES = re.compile(r"(left|right)_?(?=(inner_|outer_)?(finger|knuckle))")
# Share of the time, at most, in which a switch is farther than this share of its range from both
# of its levels.
BETWEEN = 0.15


@dataclass(frozen=True)
class Body:
    """Columns of a position."""

    name: str
    columns: tuple[int, ...]  # one to three
    axes: str  # the axis of each, as "xyz"
    # A tool, or a part of a robot or person, which moves others and is not moved.
    of_robot: bool = field(default=False, compare=False)


@dataclass(frozen=True, eq=False)
class Gripper:
    """Columns whose mean is the opening of a gripper, 0 to 1 between its usual limits."""

    name: str
    columns: tuple[int, ...]
    low: Float  # [m], usual limits of each column
    high: Float  # [m]
    sign: Float  # [m], 1, or -1 for a finger that moves against the first one

    def opening(self, states: Float) -> Float:
        """Opening [T] in states [T, d]; larger values of the first column are open."""
        share = (states[:, list(self.columns)] - self.low) / (self.high - self.low)
        return np.asarray(np.where(self.sign > 0, share, 1 - share).mean(axis=1))


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


def find_grippers(
    names: Sequence[str],
    states: Sequence[Float],
    frequency: float,
    given: Sequence[int],
    taken: Sequence[int],
) -> list[Gripper]:
    """Grippers, by their names, or else columns that switch between two levels.

    `given` are the columns of the gripper that move, if the user named them. `taken` are columns
    that are ignored, or belong to bodies and orientations. The frequency (Hz) is of recorded steps.
    """
    pooled = np.concatenate(states)
    low, high = np.quantile(pooled, (0.02, 0.98), axis=0)  # closed and open, without outliers
    rare = [c for c in given if high[c] <= low[c]]  # closed, or open, in less than 2% of the time
    low[rare], high[rare] = pooled[:, rare].min(axis=0), pooled[:, rare].max(axis=0)
    able = [c for c in range(pooled.shape[1]) if high[c] > low[c] and c not in taken]
    named = [c for c in able if names and GRIPPER.search(names[c])]
    columns = list(given) or [c for c in named if not NO_OPENING.search(names[c].lower())]
    for c in [] if columns else able:
        if _two_levels([(s[:, c] - low[c]) / (high[c] - low[c]) for s in states], frequency):
            columns.append(c)
    label = {
        c: TAILS.sub("", ENTRY.sub(r"\1", short_name(names[c]))) if names else "" for c in columns
    }
    grippers: list[Gripper] = []
    while columns:
        first = columns[0]
        to_first = {c: _correlation(pooled, first, c) for c in columns}
        fingers = [c for c in columns if _one_gripper(label[first], label[c], abs(to_first[c]))]
        at = [first, *(c for c in fingers if c != first)]
        columns = [c for c in columns if c not in at]
        sign = np.sign([to_first[c] for c in at])
        grippers.append(Gripper(label[first], tuple(at), low[at], high[at], sign))
    every = [g.name for g in grippers]
    own = [short_name(names[c]) if names else f"column {c}" for c in range(pooled.shape[1])]
    grippers = [
        replace(g, name=own[g.columns[0]]) if not g.name or every.count(g.name) > 1 else g
        for g in grippers
    ]
    if len(grippers) == 1 and names:
        grippers = [replace(grippers[0], name="gripper")]
    return grippers


def _one_gripper(one: str, other: str, correlation: float) -> bool:
    """Whether columns with these names are fingers of one gripper."""
    if one == other and one:
        return "finger" in one or correlation > ONE_GRIPPER[0]
    return SIDES.sub("", one) == SIDES.sub("", other) and correlation > ONE_GRIPPER[1]


def _correlation(states: Float, a: int, b: int) -> float:
    return 1.0 if a == b else float(np.corrcoef(states[:, a], states[:, b])[0, 1])


def _two_levels(shares: Sequence[Float], frequency: float) -> bool:
    """Whether a column stays near one of two levels and moves quickly between them."""
    pooled = np.concatenate(shares)
    if ((pooled < BETWEEN) | (pooled > 1 - BETWEEN)).mean() < 1 - BETWEEN:
        return False
    step, way = max(1, round(ONE_EVENT * frequency)), 1 - 2 * BETWEEN  # from one level to the other
    far = sum(np.abs(np.diff(s[::step])).sum() for s in shares)  # less noise than single steps
    quick = sum(float((np.abs(s[step:] - s[:-step]) > way).sum()) / step for s in shares)
    return bool(quick > way * far)
