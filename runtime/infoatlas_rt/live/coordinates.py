"""The map from recorded states to coordinates whose differences are motion.

Rotations and wrapped angles become continuous paths (`quaternions.py`). All other columns stay as
they are, bit by bit.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .json_file import indices
from .quaternions import ANGLE, SIZES, Float, Group, between, quaternions, valid

Int = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Coordinates:
    """The map from recorded states to p coordinates."""

    width: int  # d, columns of the raw states
    groups: tuple[Group, ...]  # rotations and wrapped angles among the columns
    # Source of each coordinate: (-1, column), or (group, axis) with axis 0, 1, 2 for the rotation
    # about x, y, z, and 0 for an angle.
    parts: tuple[tuple[int, int], ...]

    @classmethod
    def from_dict(cls, values: dict[str, Any]) -> "Coordinates":
        """From the values of a file; ValueError, KeyError or TypeError if they do not fit."""
        width = int(values["width"])
        groups = tuple(
            Group(str(g["kind"]), tuple(indices(g, "columns", width).tolist()), float(g["turn"]))
            for g in values["groups"]
        )
        for group in groups:
            if len(set(group.columns)) != SIZES.get(group.kind, -1) or not 0 < group.turn < np.inf:
                raise ValueError(f"a group {group.kind!r} of {len(group.columns)} columns")
        parts = tuple((int(g), int(axis)) for g, axis in values["parts"])
        for g, axis in parts:
            axes = width if g == -1 else 1 if groups[g].kind == ANGLE else 3
            if not (-1 <= g < len(groups) and 0 <= axis < axes):
                raise ValueError(f"a coordinate of group {g}, axis {axis}")
        if width < 1 or not parts or len(set(parts)) != len(parts):
            raise ValueError(f"{width} columns, {len(parts)} coordinates")
        return cls(width, groups, parts)


class Follower:
    """Coordinates of running episodes, one a row."""

    def __init__(self, coordinates: Coordinates, rows: int) -> None:
        self.coordinates = coordinates
        count = len(coordinates.groups)
        self._begun = np.zeros((rows, count), bool)
        self._turns = np.zeros((rows, count))
        self._last = np.zeros((rows, count, 4))  # quaternion, or (angle, 0, 0, 0)
        self._path = np.zeros((rows, count, 3))
        plain = [(j, axis) for j, (g, axis) in enumerate(coordinates.parts) if g < 0]
        self._plain = np.array(plain, np.int64).reshape(-1, 2).T
        turned = [(j, g, axis) for j, (g, axis) in enumerate(coordinates.parts) if g >= 0]
        self._turned = np.array(turned, np.int64).reshape(-1, 3).T

    def reset(self, rows: Int) -> None:
        """Forget some episodes; their next state is the first of a new one."""
        self._begun[rows] = False
        self._turns[rows] = 0.0
        self._last[rows] = self._path[rows] = 0.0

    def push(self, states: Float, rows: Int) -> Float:
        """Coordinates [m, p] of the next states [m, d], finite, of episodes [m], all different.

        Quaternions, matrices and angles that cannot be measurements (zeros, -9999) are replaced by
        the value before them.
        """
        for g, group in enumerate(self.coordinates.groups):
            self._turn(g, group, states[:, group.columns], rows)
        made = np.empty((len(states), len(self.coordinates.parts)))
        made[:, self._plain[0]] = states[:, self._plain[1]]
        to, of, axis = self._turned
        made[:, to] = self._path[rows[:, None], of, axis]
        return made

    def _turn(self, g: int, group: Group, values: Float, rows: Int) -> None:
        good = valid(group, values)
        rows, values = rows[good], values[good]
        begun = self._begun[rows, g]
        if group.kind == ANGLE:
            new = values[:, 0]
            turns = np.rint((new - self._last[rows, g, 0]) / group.turn)
            self._turns[rows, g] += np.where(begun, turns, 0.0)
            self._last[rows, g, 0] = new
            self._path[rows, g, 0] = new - group.turn * self._turns[rows, g]
        else:
            q = quaternions(group, values)
            step = between(self._last[rows, g], q)
            self._path[rows, g] += np.where(begun[:, None], step, 0.0)
            self._last[rows, g] = q
        self._begun[rows, g] = True
