"""The map from recorded states to coordinates whose differences are motion (first version)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..errors import InputError

Float = NDArray[np.float64]
Int = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Coordinates:
    width: int
    columns: tuple[int, ...]
    names: tuple[str, ...]
    spread: Float
    rest: Float

    @property
    def sources(self):
        return tuple((c,) for c in self.columns)

    def apply(self, states):
        return states[:, list(self.columns)]

    def begin(self, rows):
        return Follower(self)

    def to_dict(self):
        return dict(width=self.width, columns=list(self.columns), names=list(self.names), spread=self.spread.tolist(), rest=self.rest.tolist())

    @classmethod
    def from_dict(cls, v):
        return cls(v["width"], tuple(v["columns"]), tuple(v["names"]), np.array(v["spread"]), np.array(v["rest"]))


class Follower:
    def __init__(self, c):
        self.c = c

    def push(self, rows, states):
        return states[:, list(self.c.columns)]

    def reset(self, rows):
        pass


def read_coordinates(states, names=(), *, orientation=None, ignore=(), resolution=None):
    pooled = np.concatenate(states)
    spread = np.ptp(pooled, axis=0)
    moves = np.any([np.abs(np.diff(s, axis=0)).max(axis=0, initial=0) > 1e-4 * spread for s in states], axis=0) & (spread > 0)
    columns = tuple(np.flatnonzero(moves).tolist())
    rest = 1e-4 * spread[list(columns)]
    if resolution is not None:
        rest = np.maximum(rest, resolution[list(columns)])
    c = Coordinates(states[0].shape[1], columns, tuple(names[i] if names else str(i) for i in columns), spread[list(columns)], rest)
    return c, states, [c.apply(s) for s in states], (), []


def find_columns(wanted: Any, names: Sequence[str], width: int, what: str) -> list[int]:
    """Columns by number or by the beginning of their names.

    Raises
    ------
    InputError
        One matches nothing.
    """
    listed = [wanted] if isinstance(wanted, str | int | np.integer) else list(wanted)
    found: list[int] = []
    for one in listed:
        if isinstance(one, str):
            some = [i for i, name in enumerate(names) if name.startswith(one)]
        else:
            some = [int(one)] if 0 <= int(one) < width else []
        if not some:
            known = ", ".join(names[:6]) + (", ..." if len(names) > 6 else "")
            raise InputError(
                f"{what} has {one!r}, which no coordinate begins with: use numbers from 0 to "
                f"{width - 1}" + (f", or names such as {known}" if names else "")
            )
        found += some
    return found
