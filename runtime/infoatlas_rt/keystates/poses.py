"""Poses and positions of tools and objects within the coordinates of demonstrations."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

Float = NDArray[np.float64]


@dataclass(frozen=True)
class Position:
    """Columns of a position: x, y, z in metres.

    Parameters
    ----------
    columns : str, or sequence of int
        Three columns, or the beginning of their names, as "goal" for goal.x, goal.y and goal.z.
    """

    columns: str | Sequence[int]


@dataclass(frozen=True)
class Pose:
    """Columns of a pose: a position (m) and a unit quaternion.

    Parameters
    ----------
    columns : str, or sequence of int
        Seven columns, the position first, or the beginning of their names, as "cube" for cube.x
        to cube.qz.
    order : {"wxyz", "xyzw"}, optional
        Of the quaternion. Unless given, it is read from the names, or from which component stays
        away from zero.
    """

    columns: str | Sequence[int]
    order: str | None = None


@dataclass(frozen=True, eq=False)
class Track:
    """Poses of one body in one demonstration.

    Attributes
    ----------
    position : [T, 3] float64, m
    rotation : [T, 3, 3] float64, or None
        None for a position without an orientation.
    """

    position: Float
    rotation: Float | None = None

    @property
    def matrix(self) -> Float:
        """Homogeneous poses [T, 4, 4]; without an orientation, that of the world."""
        found = np.tile(np.eye(4), (len(self.position), 1, 1))
        found[:, :3, 3] = self.position
        if self.rotation is not None:
            found[:, :3, :3] = self.rotation
        return found


def tracks(states: Sequence[Any], names: Sequence[str], where: Position | Pose) -> list[Track]:
    """Poses of a body in each demonstration."""
    raise NotImplementedError
