"""The map from recorded states to coordinates whose differences are motion.

Rotations and wrapped angles become continuous (`orientation.py`, `recognition.py`), frames that are
no measurement are replaced in their own demonstration (`outliers.py`), and columns that hold no
motion are left out. Ranges are quantiles: one bad frame harms one frame.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..errors import InputError
from .orientation import ANGLE, Group, between, held, quaternions, valid
from .outliers import replace_outliers
from .recognition import find_groups, is_clock

Float = NDArray[np.float64]
Int = NDArray[np.int64]

STILL = 1e-4  # of a coordinate's range: smaller increments are rest
TAIL = 0.001  # share of the values beyond either end of the range
ULPS = 4  # units in the last place that count as rounding


@dataclass(frozen=True, eq=False)
class Coordinates:
    """The map from recorded states [T, d] to coordinates [T, p].

    Attributes
    ----------
    width : int
        d.
    groups : tuple of Group
        Rotations and wrapped angles.
    sources : tuple of p tuples of int
        Columns of each coordinate: one, or those of its group.
    names : tuple of p str
    spread : [p] float64
        Range of each coordinate in the demonstrations, without its tails.
    rest : [p] float64
        Increments below it are rest: rounding, 1e-4 of the range, or the resolution that was given.
    """

    width: int
    groups: tuple[Group, ...]
    sources: tuple[tuple[int, ...], ...]
    names: tuple[str, ...]
    spread: Float
    rest: Float

    @property
    def plain(self) -> Int:
        """Coordinates that are recorded columns."""
        return np.array([j for j, s in enumerate(self.sources) if s not in self._grouped], np.int64)

    @property
    def _grouped(self) -> dict[tuple[int, ...], Group]:
        return {group.columns: group for group in self.groups}

    def places(self, group: Group) -> Int:
        """Coordinates of a group that are kept, and their axes follow in order [1 or up to 3]."""
        return np.array([j for j, s in enumerate(self.sources) if s == group.columns], np.int64)

    def apply(self, states: Float) -> Float:
        """Coordinates [T, p] of one demonstration [T, d]."""
        if not self.groups:
            return np.ascontiguousarray(states[:, [source[0] for source in self.sources]])
        found = np.empty((len(states), len(self.sources)))
        plain = self.plain
        found[:, plain] = states[:, [self.sources[j][0] for j in plain]]
        for group in self.groups:
            found[:, self.places(group)] = _path(group, states[:, list(group.columns)])
        return found

    def begin(self, rows: int) -> Follower:
        """The same map, live, for as many episodes."""
        return Follower(self, rows)

    def to_dict(self) -> dict[str, Any]:
        """Plain values, for a JSON file."""
        return {
            "width": self.width,
            "groups": [[g.kind, list(g.columns), g.degrees] for g in self.groups],
            "sources": [list(source) for source in self.sources],
            "names": list(self.names),
            "spread": self.spread.tolist(),
            "rest": self.rest.tolist(),
        }

    @classmethod
    def from_dict(cls, values: dict[str, Any]) -> Coordinates:
        """Inverse of `to_dict`; ValueError, KeyError or TypeError if it does not fit together."""
        width = int(values["width"])
        groups = tuple(
            Group(str(kind), tuple(map(int, columns)), bool(degrees))
            for kind, columns, degrees in values["groups"]
        )
        sources = tuple(tuple(map(int, source)) for source in values["sources"])
        spread, rest = (np.asarray(values[name], np.float64) for name in ("spread", "rest"))
        made = cls(width, groups, sources, tuple(map(str, values["names"])), spread, rest)
        known = [c for source in sources for c in source] + [c for g in groups for c in g.columns]
        if not all(0 <= c < width for c in known) or not all(sources):
            raise ValueError(f"columns beyond {width}")
        if not (len(sources) == len(made.names) == len(spread) == len(rest)):
            raise ValueError(f"{len(sources)} coordinates, and as many names and ranges differ")
        if any(len(made.places(g)) != (1 if g.kind == ANGLE else 3) for g in groups):
            raise ValueError("a rotation of other than three coordinates")
        if any(len(sources[j]) != 1 for j in made.plain):
            raise ValueError("a coordinate of several columns that are no rotation")
        if not (np.isfinite(spread).all() and np.isfinite(rest).all() and (rest >= 0).all()):
            raise ValueError("ranges are not finite")
        return made


class Follower:
    """The map of `Coordinates` on running episodes, one a row."""

    def __init__(self, coordinates: Coordinates, rows: int) -> None:
        self._map = coordinates
        self._plain = coordinates.plain
        self._columns = [coordinates.sources[j][0] for j in self._plain]
        self._places = [coordinates.places(group) for group in coordinates.groups]
        self._last = [
            np.zeros((rows, 1 if group.kind == ANGLE else 4)) for group in coordinates.groups
        ]
        self._path = [np.zeros((rows, len(places))) for places in self._places]
        self._begun = [np.zeros(rows, bool) for _ in coordinates.groups]

    def reset(self, rows: Int) -> None:
        """Forget some episodes."""
        for begun, path in zip(self._begun, self._path, strict=True):
            begun[rows] = False
            path[rows] = 0.0

    def push(self, rows: Int, states: Float) -> Float:
        """Coordinates [m, p] of the next state [m, d] of the episodes in `rows` [m]."""
        found = np.empty((len(rows), len(self._map.sources)))
        found[:, self._plain] = states[:, self._columns]
        for g, group in enumerate(self._map.groups):
            values = states[:, list(group.columns)]
            good = valid(group, values)
            known = rows[good]
            if group.kind == ANGLE:
                now = values[good]
                before = np.where(self._begun[g][known, None], self._last[g][known], now)
                self._path[g][known] = np.where(
                    self._begun[g][known, None],
                    self._path[g][known] + _turned(now - before, group.turn),
                    now,
                )
            else:
                now = quaternions(group, values[good])
                before = np.where(self._begun[g][known, None], self._last[g][known], now)
                self._path[g][known] += between(before, now)
            self._last[g][known] = now
            self._begun[g][known] = True
            found[:, self._places[g]] = self._path[g][rows]
        return found


def read_coordinates(
    states: Sequence[Float],
    names: Sequence[str] = (),
    *,
    orientation: Any = None,
    ignore: Any = (),
    resolution: Float | None = None,
) -> tuple[Coordinates, list[Float], list[Float], tuple[str, ...], list[tuple[int, int]]]:
    """Find the map of demonstrations, and apply it to them.

    Parameters
    ----------
    states : sequence of N arrays [T_i, d] float64
    names : sequence of d str, or empty
    orientation, ignore
        As in `discover_keystates`.
    resolution : [d] float64, optional

    Returns
    -------
    coordinates : Coordinates
    repaired : list of [T_i, d] float64
        The states; frames that are no measurement are interpolated.
    paths : list of [T_i, p] float64
        The coordinates.
    notes : tuple of str
    outliers : list of (demonstration, step)
    """
    width = states[0].shape[1]
    lengths = np.array([len(s) for s in states])
    first = np.zeros(lengths.sum(), bool)
    first[np.cumsum(lengths) - lengths] = True
    left_out = set(find_columns(ignore, names, width, "ignore"))
    pooled = np.concatenate(states)
    groups, notes = find_groups(pooled, first, names, orientation, left_out)
    grouped = {c for group in groups for c in group.columns}
    constant = (pooled == pooled[:1]).all(axis=0)
    clocks = [c for c in range(width) if not constant[c] and c not in grouped | left_out
              and is_clock(pooled[:, c], first)]  # fmt: skip
    for c in clocks:
        notes.append(f"{label(names, c)} increases by the same step everywhere: it is left out.")
    moving = [
        c for c in range(width) if not constant[c] and c not in grouped | left_out | set(clocks)
    ]
    groups = [g for g in groups if not constant[list(g.columns)].all()]
    pooled, bad = replace_outliers(pooled, first, moving, groups)
    which = np.repeat(np.arange(len(states)), lengths)
    step = np.arange(len(pooled)) - np.repeat(np.cumsum(lengths) - lengths, lengths)
    outliers = [(int(which[row]), int(step[row])) for row in np.flatnonzero(bad.any(axis=1))]
    for row in np.flatnonzero(bad.any(axis=1))[:5]:
        columns = ", ".join(label(names, c) for c in np.flatnonzero(bad[row])[:3].tolist())
        notes.append(
            f"Demonstration {which[row]}, step {step[row]}: {columns} is far out; the frame is "
            "interpolated."
        )
    if len(outliers) > 5:
        notes.append(f"{len(outliers)} frames are far out and interpolated (`quality` lists them).")
    repaired = np.split(pooled, np.cumsum(lengths)[:-1])
    moving = [c for c in moving if (pooled[:, c] != pooled[0, c]).any()]
    sources: list[tuple[int, ...]] = []
    labels: list[str] = []
    starts = {min(group.columns): group for group in groups}
    for c in range(width):
        if c in starts:
            group = starts[c]
            axes = ("",) if group.kind == ANGLE else (".rotation_x", ".rotation_y", ".rotation_z")
            sources += [group.columns] * len(axes)
            labels += [_base(names, group) + axis for axis in axes]
        elif c in moving:
            sources.append((c,))
            labels.append(names[c] if names else str(c))
    none = np.zeros(len(sources))
    rough = Coordinates(width, tuple(groups), tuple(sources), tuple(labels), none, none)
    paths = [rough.apply(s) for s in repaired]
    spread, rest = _ranges(rough, np.concatenate(paths), states, resolution)
    final = Coordinates(width, rough.groups, rough.sources, rough.names, spread, rest)
    return final, repaired, paths, tuple(notes), outliers


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
        if isinstance(one, str) and not one.isdecimal():
            some = [i for i, name in enumerate(names) if one and name.startswith(one)]
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


def label(names: Sequence[str], column: int) -> str:
    """What to call a column in a note."""
    return names[column] if names else f"Column {column}"


def _base(names: Sequence[str], group: Group) -> str:
    if not names:
        return str(min(group.columns))
    first = names[min(group.columns)]
    return first if group.kind == ANGLE else first.rpartition(".")[0] or first


def _path(group: Group, values: Float) -> Float:
    """Continuous coordinates [T, 1 or 3] of one demonstration of a group [T, size]."""
    good = valid(group, values)
    start = np.zeros(len(values), bool)
    start[0] = True
    values = values[held(good, start)]
    if group.kind == ANGLE:
        return np.asarray(np.unwrap(values, period=group.turn, axis=0))
    q = quaternions(group, values)
    path = np.zeros((len(q), 3))
    np.cumsum(between(q[:-1], q[1:]), axis=0, out=path[1:])
    return path


def _turned(increment: Float, turn: float) -> Float:
    """Increments of an angle by the shorter way, as numpy.unwrap has them."""
    near = (increment + turn / 2) % turn - turn / 2
    near = np.where((near == -turn / 2) & (increment > 0), turn / 2, near)
    return np.asarray(np.where(np.abs(increment) < turn / 2, increment, near))


def _ranges(
    coordinates: Coordinates, paths: Float, states: Sequence[Float], resolution: Float | None
) -> tuple[Float, Float]:
    """Range of each coordinate without its tails, and what is rest [p], [p]."""
    low, high = np.quantile(paths, [TAIL, 1 - TAIL], axis=0) if paths.size else np.zeros((2, 0))
    full = np.ptp(paths, axis=0)
    spread = np.where(high - low > 1e-3 * full, high - low, full)  # it moves only briefly
    largest = np.abs(paths).max(axis=0, initial=0.0)
    raw = np.concatenate(states)
    single = (raw == raw.astype(np.float32)).all()
    rounding = ULPS * np.finfo(np.float32 if single else np.float64).eps * largest
    rest = np.maximum(STILL * spread, rounding)
    for j, source in enumerate(coordinates.sources):
        if len(source) == 1:
            rest[j] = max(rest[j], _grid(raw[:, source[0]]))
            if resolution is not None:
                rest[j] = max(rest[j], float(resolution[source[0]]))
    return spread, rest


def _grid(values: Float) -> float:
    """1.01 times the step of decimal numbers with at most six digits after the point; else 0."""
    some = values[:: max(1, len(values) // 500)]
    for digits in range(1, 7):
        if np.abs(some * 10**digits - np.rint(some * 10**digits)).max() < 1e-6:
            distinct = len(np.unique(some))
            return 1.01 * 10.0**-digits if distinct > 20 else 0.0
    return 0.0
