"""The map from recorded states to coordinates, for complete and for running episodes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...errors import InputError
from ...inputs.checks import as_count, as_samples
from .orientation import ANGLE, SIZES, Bool, Float, Group, between, held, quaternions, valid


@dataclass(frozen=True, eq=False)
class Coordinates:
    """The map from recorded states to coordinates whose differences are motion.

    Attributes
    ----------
    width : int
        d, columns of the raw states.
    groups : tuple of Group
        Rotations and wrapped angles among the columns.
    parts : tuple of (int, int), p of them
        Source of each coordinate: (-1, column), or (group, axis) with axis 0, 1, 2 for the rotation
        about x, y, z, and 0 for an angle.
    names : tuple of str, p of them
        As "tool.rotation_x" of a rotation; numbers of columns if these have no names.
    scale : [p] float64
        The larger one of two ranges, above 0: from the 1% to the 99% quantile of the values, and
        the median range within the demonstrations in which the coordinate moves.
    rest : [p] float64
        Smaller increments over one step are rest. The largest one of: rounding of the number
        format, 1e-4 of `scale` (the largest of a rotation), and the resolution, if given.
    rounding : [p] float64
        Increments that differ by no more than this may differ by rounding alone (`rounding.tied`).
        0 if values are exact, as those of switches.
    constant : tuple of int
        Columns left out because they do not change within any demonstration.
    left_out : tuple of int
        Columns left out because they are clocks or the caller ignores them.
    notes : tuple of str
        Sentences about what was recognised and replaced.
    """

    width: int
    groups: tuple[Group, ...]
    parts: tuple[tuple[int, int], ...]
    names: tuple[str, ...]
    scale: Float
    rest: Float
    rounding: Float
    constant: tuple[int, ...] = ()
    left_out: tuple[int, ...] = ()
    notes: tuple[str, ...] = ()

    @property
    def kinds(self) -> tuple[str, ...]:
        """Kind of each coordinate: "plain", or that of its group."""
        return tuple("plain" if g < 0 else self.groups[g].kind for g, _ in self.parts)

    @property
    def sources(self) -> tuple[tuple[int, ...], ...]:
        """Columns of the raw states that each coordinate comes from."""
        return tuple((axis,) if g < 0 else self.groups[g].columns for g, axis in self.parts)

    def apply(self, states: Any) -> Float:
        """Coordinates [T, p] float64 of one episode [T, d].

        Only quaternions, matrices and angles that cannot be measurements (zeros, -9999) are
        replaced, by the value before them.

        Raises
        ------
        InputError
            Another number of columns, NaN or infinite values.
        """
        values = self._checked(states)
        first = np.zeros(len(values), bool)
        first[0] = True
        return paths(self.groups, self.parts, values, first)

    def begin(self, rows: int = 1) -> Follower:
        """Coordinates of running episodes, one a row, step by step."""
        return Follower(self, as_count(rows, "rows", 1))

    def _checked(self, states: Any) -> Float:
        values = as_samples(states, "states")
        if values.shape[1] != self.width:
            raise InputError(
                f"states have {values.shape[1]} columns, and the coordinates were read from "
                f"{self.width}: pass the same ones in the same order"
            )
        return values

    def to_dict(self) -> dict[str, Any]:
        """Plain lists, for a JSON file."""
        return {
            "width": self.width,
            "groups": [
                {"kind": g.kind, "columns": list(g.columns), "degrees": g.degrees}
                for g in self.groups
            ],
            "parts": [list(part) for part in self.parts],
            "names": list(self.names),
            "scale": self.scale.tolist(),
            "rest": self.rest.tolist(),
            "rounding": self.rounding.tolist(),
            "constant": list(self.constant),
            "left_out": list(self.left_out),
            "notes": list(self.notes),
        }

    @classmethod
    def from_dict(cls, values: dict[str, Any]) -> Coordinates:
        """Inverse of `to_dict`; ValueError, KeyError or TypeError if it does not fit together."""
        width = int(values["width"])
        groups = tuple(
            Group(str(g["kind"]), _whole(g["columns"], width), bool(g["degrees"]))
            for g in values["groups"]
        )
        for group in groups:
            if len(set(group.columns)) != SIZES.get(group.kind, -1):
                raise ValueError(f"a group {group.kind!r} of {len(group.columns)} columns")
        parts = tuple((int(g), int(axis)) for g, axis in values["parts"])
        for g, axis in parts:
            axes = width if g == -1 else 1 if groups[g].kind == ANGLE else 3
            if not (-1 <= g < len(groups) and 0 <= axis < axes):
                raise ValueError(f"a coordinate of group {g}, axis {axis}")
        names, notes = (tuple(values[key]) for key in ("names", "notes"))
        if not all(isinstance(text, str) for text in (*names, *notes)):
            raise ValueError("names or notes are no text")
        scale, rest, rounding = (
            np.asarray(values[key], np.float64) for key in ("scale", "rest", "rounding")
        )
        p = len(parts)
        for array in (scale, rest, rounding):
            if array.shape != (p,) or not (np.isfinite(array) & (array >= 0)).all():
                raise ValueError(f"{p} coordinates, but an array {array.shape}, or not finite")
        if width < 1 or len(set(parts)) != p or len(names) != p or not (scale > 0).all():
            raise ValueError(f"{width} columns, {p} coordinates, {len(names)} names")
        constant, left_out = (_whole(values[key], width) for key in ("constant", "left_out"))
        return cls(width, groups, parts, names, scale, rest, rounding, constant, left_out, notes)


class Follower:
    """Follows running episodes, one a row; equal to `Coordinates.apply` up to rounding.

    Parameters
    ----------
    coordinates : Coordinates
    rows : int
        E, episodes.
    """

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

    def reset(self, rows: NDArray[np.int64] | None = None) -> None:
        """Forget some episodes, or all; their next state is the first of a new one."""
        chosen = slice(None) if rows is None else rows
        self._begun[chosen] = False
        self._turns[chosen] = 0.0
        self._last[chosen] = self._path[chosen] = 0.0

    def push(self, states: Any, rows: NDArray[np.int64] | None = None) -> Float:
        """Take the next state of each episode in `rows`, all different.

        Parameters
        ----------
        states : array-like [d], or [m, d] with `rows`
        rows : [m] int64, optional
            The first episode unless given.

        Returns
        -------
        [p] or [m, p] float64

        Raises
        ------
        InputError
            Another number of columns, NaN or infinite values. The episodes are unchanged.
        """
        single = rows is None
        given = np.asarray(states)
        if given.ndim != (1 if single else 2):
            raise InputError(
                f"states have shape {given.shape}: pass [{self.coordinates.width}], or "
                f"[m, {self.coordinates.width}] with rows"
            )
        values = self.coordinates._checked(given[None] if single else given)
        at = np.zeros(1, np.int64) if rows is None else rows
        for g, group in enumerate(self.coordinates.groups):
            self._turn(g, group, at, values[:, group.columns])
        made = np.empty((len(values), len(self.coordinates.parts)))
        made[:, self._plain[0]] = values[:, self._plain[1]]
        to, of, axis = self._turned
        made[:, to] = self._path[at[:, None], of, axis]
        return made[0] if single else made

    def _turn(self, g: int, group: Group, rows: NDArray[np.int64], values: Float) -> None:
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


def paths(
    groups: Sequence[Group], parts: Sequence[tuple[int, int]], states: Float, first: Bool
) -> Float:
    """Coordinates [n, p] of states [n, d]; `first` [n] marks the first row of each episode."""
    turned: dict[int, Float] = {}
    bound = np.append(np.flatnonzero(first), len(first))
    for g in {g for g, _ in parts if g >= 0}:
        group = groups[g]
        values = states[:, group.columns]
        values = values[held(valid(group, values), first)]
        if group.kind == ANGLE:
            turns = np.rint(np.diff(values[:, 0], prepend=values[0, 0]) / group.turn)
            turns = np.cumsum(turns)
            turns -= np.repeat(turns[bound[:-1]], np.diff(bound))
            turned[g] = values - group.turn * turns[:, None]
        else:
            q = quaternions(group, values)
            steps = np.zeros((len(q), 3))
            steps[1:] = between(q[:-1], q[1:])
            steps[first] = 0.0
            for start, end in pairwise(bound):
                np.cumsum(steps[start:end], axis=0, out=steps[start:end])
            turned[g] = steps
    made = np.empty((len(states), len(parts)))
    for j, (g, axis) in enumerate(parts):
        made[:, j] = states[:, axis] if g < 0 else turned[g][:, axis]
    return made


def _whole(values: Any, width: int) -> tuple[int, ...]:
    columns = tuple(int(value) for value in values)
    if not all(0 <= column < width for column in columns):
        raise ValueError(f"columns {columns} of {width}")
    return columns
