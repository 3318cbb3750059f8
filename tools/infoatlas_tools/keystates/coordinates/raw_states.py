"""Reads raw states of demonstrations: finds the columns with motion, and their representation."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np

from infoatlas_rt.errors import InputError
from infoatlas_rt.live import quaternions
from infoatlas_rt.live.coordinates import Coordinates

from ...array_types import Bool, Float
from ...columns import KINDS
from ...trajectories import Trajectories, episode_names
from .dropouts import Dropout, find_dropouts
from .faults import Faults, find_faults
from .recognition import anonymous, label, recognise, turn_of
from .wraps import allowed, few_values, find_last_good, may_wrap, named_turn, some_rows

AT_ONCE = 200  # episodes whose rotations are converted at once: bounds the memory
REST_SHARE = 1e-4  # of a coordinate's scale: a smaller increment is rest
CLOCKS = {"time", "timestamp", "timestamps", "stamp", "t", "index", "frame_index", "step", "frame"}


@dataclass(frozen=True, eq=False)
class ReadCoordinates(Coordinates):
    """The map from recorded states to p coordinates, with their scales in the demonstrations."""

    # As "tool.rotation_x" of a rotation; numbers of columns if these have no names.
    names: tuple[str, ...]
    # [p], above 0: from the 1% to the 99% quantile of the values, or the median range within the
    # demonstrations in which the coordinate moves, if that is larger.
    scale: Float
    # [p]: smaller increments over one step are rest. The largest one of: rounding of the number
    # format, 1e-4 of `scale` (the largest of a rotation), and the resolution, if given.
    least: Float
    # Columns left out because they do not change within any demonstration.
    constant: tuple[int, ...]
    left_out: tuple[int, ...]  # columns left out because they are clocks or the caller ignores them
    notes: tuple[str, ...]  # sentences about what was recognised and replaced
    # Columns that may be encoders that wrap, unless they are grippers, with what to call them.
    wrapping: dict[int, str]
    dropouts: tuple[Dropout, ...] = ()  # frames without measurements, which are replaced

    @property
    def kinds(self) -> tuple[str, ...]:
        """Kind of each coordinate: "plain", or that of its group."""
        return tuple("plain" if g < 0 else self.groups[g].kind for g, _ in self.parts)

    @property
    def sources(self) -> tuple[tuple[int, ...], ...]:
        """Columns of the raw states that each coordinate comes from."""
        return tuple((axis,) if g < 0 else self.groups[g].columns for g, axis in self.parts)


def read_coordinates(
    trajectories: Trajectories,
) -> tuple[ReadCoordinates, Float, list[Float], list[tuple[int, int]]]:
    """Read the raw states of demonstrations.

    Returns the coordinates, the states [n, d] and the coordinates of each demonstration [T, p],
    both with frames that are no measurements replaced. Last are the outliers among these frames, as
    (demonstration, step). InputError if values cannot be of the given kind of orientation.
    """
    names, orientation = trajectories.names, trajectories.orientation
    values = trajectories.states
    values = np.asarray(values, np.promote_types(values.dtype, np.float32))  # float16 overflows
    d = values.shape[1]
    bound = np.append(0, np.cumsum(trajectories.lengths))
    first = np.zeros(len(values), bool)
    first[bound[:-1]] = True
    # As they are stored: what computes with a column makes it float64 first.
    columns = recorded = np.ascontiguousarray(values.T)
    ignored = np.zeros(d, bool)
    ignored[list(trajectories.ignore)] = True
    lost, dropouts = find_dropouts(columns, first, ~ignored)
    if dropouts:
        columns = Faults((), lost, np.zeros((0, len(first)), bool)).filled(columns, first)
    if orientation is None:
        groups = recognise(columns, first, names, ~ignored)
    else:
        groups = _given_groups(orientation, columns, first, names)
    plain = ~ignored
    plain[[c for group in groups for c in group.columns]] = False
    faults = find_faults(columns, first, groups, plain)
    apart, least = roundings(faults.held(columns, first))
    columns = faults.filled(columns, first)
    low, high = _increments(columns, first)
    clock, still = plain & _clocks(low, high, apart, least, names), plain & (low == 0) & (high == 0)
    clock &= (~first).sum() >= 8  # fewer increments may be equal by chance
    layout = _layout(groups, plain & ~clock & ~still)
    # Most recordings have no faults: then the given states need no copy.
    repaired = values if columns is recorded else np.ascontiguousarray(columns.T)
    del columns, recorded
    path = paths(groups, layout, repaired, first)
    faults.fill_rotations(path, layout, first)
    if dropouts:
        turned = np.array([lost[list(group.columns)].any(axis=0) for group in groups], bool)
        Faults(groups, lost, turned).fill_rotations(path, layout, first)
    # An axis about which nothing turns is a constant coordinate.
    moves = (path[1:] != path[:-1])[~first[1:]].any(axis=0)
    path = path if moves.all() else np.ascontiguousarray(path[:, moves])
    parts = tuple(part for part, moving in zip(layout, moves, strict=True) if moving)
    kept = sorted({g for g, _ in parts if g >= 0})
    parts = tuple((kept.index(g) if g >= 0 else g, axis) for g, axis in parts)
    still[[c for g, group in enumerate(groups) if g not in kept for c in group.columns]] = True
    groups = [groups[g] for g in kept]
    scale = _scales(path, bound)
    rest = _limits(groups, parts, scale, least, trajectories.resolution)
    notes = [_group_note(group, names, orientation is not None) for group in groups]
    clocks = map(int, np.flatnonzero(clock))
    notes += [f"{_columns([c], names)} rises evenly: it is left out" for c in clocks]
    notes += faults.notes(values, bound, episode_names(trajectories))
    made = ReadCoordinates(
        d,
        tuple(groups),
        parts,
        tuple(_part_name(part, groups, names) for part in parts),
        scale,
        rest,
        tuple(np.flatnonzero(still).tolist()),
        tuple(np.flatnonzero(clock | ignored).tolist()),
        tuple(notes),
        {
            c: _columns([c], names)
            for g, c in parts
            if orientation is None and g < 0 and may_wrap(repaired[:, c].astype(np.float64), first)
        },
        dropouts,
    )
    return made, repaired, np.split(path, bound[1:-1]), faults.frames(bound)


def _given_groups(
    orientation: dict[tuple[int, ...], str], columns: Float, first: Bool, names: Sequence[str]
) -> list[quaternions.Group]:
    """Groups of the columns [d, n] whose kind is given."""
    found = []
    for at, kind in orientation.items():
        base, order, turn = KINDS[kind]
        values = columns[list(at)].T.astype(np.float64)
        if base == quaternions.ANGLE and turn is None:
            turn = named_turn(columns[at[0]], first)
        if base in quaternions.MOST_TURNS and turn is None:
            turn = turn_of(values.T)
        group = quaternions.Group(
            base, tuple(at[i] for i in order or range(len(at))), turn or 2 * np.pi
        )
        bad = ~quaternions.valid(group, values)
        if bad.sum() > allowed(len(bad)):
            key = tuple(names[c] for c in at) if names else at
            raise InputError(
                f"orientation[{key!r}] is {kind!r}, but {bad.sum()} of {len(bad)} states cannot be "
                f"one, the first {values[bad.argmax()].tolist()}: name another kind or other "
                "columns"
            )
        found.append(group)
    return sorted(found, key=lambda group: min(group.columns))


def _layout(groups: Sequence[quaternions.Group], plain: Bool) -> list[tuple[int, int]]:
    """`parts`, in the order of the columns."""
    places = [(int(c), -1, int(c)) for c in np.flatnonzero(plain)]
    for g, group in enumerate(groups):
        axes = 1 if group.kind == quaternions.ANGLE else 3
        places += [(min(group.columns), g, axis) for axis in range(axes)]
    return [(g, axis) for _, g, axis in sorted(places)]


def _increments(columns: Float, first: Bool) -> Float:
    """Smallest and largest increment of columns [d, n] within episodes, [2, d]; 0 without any."""
    inner, found = ~first[1:], np.zeros((2, len(columns)))
    for c, column in enumerate(columns if inner.any() else ()):
        step = np.diff(column.astype(np.float64))[inner]
        found[:, c] = step.min(), step.max()
    return found


def _clocks(low: Float, high: Float, apart: Float, least: Float, names: Sequence[str]) -> Bool:
    """Columns [d] whose increments, from low to high [d], are equal and above 0.

    By name, clocks may jitter.
    """
    even = high - low <= np.minimum(1.01 * np.maximum(apart, least), 0.5 * high)
    named = [re.split(r"[._/ ]", name.lower())[-1] in CLOCKS for name in names]
    if names:
        even |= np.array(named) & (high <= 10 * low)
    return np.asarray((low > 0) & even)


def _scales(path: Float, bound: np.ndarray[Any, np.dtype[np.int64]]) -> Float:
    """Robust range [p] of each coordinate of [n, p]; all of them are non-constant."""
    n, p = path.shape
    if not p:
        return np.empty(0)
    low = int(0.01 * (n - 1))  # the scale leaves out a tail on either side
    pooled = np.empty(p)
    for j in range(p):  # one at a time, because a copy of all would double the memory
        ordered = np.partition(path[:, j], (low, n - 1 - low))
        pooled[j] = ordered[n - 1 - low] - ordered[low]
    start = bound[:-1]
    ranges = np.maximum.reduceat(path, start, axis=0) - np.minimum.reduceat(path, start, axis=0)
    # Quantiles miss an object that moves at the end of a few demonstrations.
    moves = ranges >= 0.1 * ranges.max(axis=0)
    return np.asarray(np.maximum(pooled, np.nanmedian(np.where(moves, ranges, np.nan), axis=0)))


def _limits(
    groups: Sequence[quaternions.Group],
    parts: Sequence[tuple[int, int]],
    scale: Float,
    least: Float,
    resolution: Float | None,
) -> Float:
    """`rest` of the coordinates from that of the columns [d]."""
    rest = np.empty(len(parts))
    for j, (g, axis) in enumerate(parts):
        together = [i for i, (other, _) in enumerate(parts) if g >= 0 and other == g] or [j]
        columns = [axis] if g < 0 else list(groups[g].columns)
        gain, finest = 1.0, 1.0
        if g >= 0 and groups[g].kind != quaternions.ANGLE:
            unit = 2 * np.pi / groups[g].turn  # 1 where the columns are no angles
            finest = 2.0 if groups[g].kind == quaternions.QUATERNION else unit
            gain = 4 * unit  # several columns add up
        floor = [gain * least[columns].max(), REST_SHARE * scale[together].max()]
        if resolution is not None:
            floor.append(finest * resolution[columns].max())
        rest[j] = max(floor)
    return rest


def _part_name(
    part: tuple[int, int], groups: Sequence[quaternions.Group], names: Sequence[str]
) -> str:
    g, axis = part
    if g < 0:
        return names[axis] if names else str(axis)
    stem = label(groups[g].columns, names)
    if groups[g].kind == quaternions.ANGLE:
        return stem
    return f"{stem}{'.' if stem else ''}rotation_{'xyz'[axis]}"


def _columns(columns: Sequence[int], names: Sequence[str]) -> str:
    if len(columns) == 1:
        return f"column {repr(names[columns[0]]) if names else columns[0]}"
    low, high = min(columns), max(columns)
    if names:
        return f"columns {names[low]!r} to {names[high]!r}"
    return f"columns {low} to {high}"


def _group_note(group: quaternions.Group, names: Sequence[str], given: bool) -> str:
    unit = {2 * np.pi: "in radians", 360.0: "in degrees"}.get(group.turn, f"of {group.turn:.6g}")
    kind = {
        quaternions.ANGLE: f"an angle {unit} that wraps: its turns are counted",
        quaternions.VECTOR: f"a rotation vector {unit}",
        quaternions.EULER: f"roll, pitch and yaw {unit}",
        quaternions.MATRIX: "a rotation matrix",
        quaternions.SIX: "two columns of a rotation matrix",
    }.get(group.kind, "")
    if group.kind == quaternions.QUATERNION:
        kind = f"a quaternion, w {'first' if group.columns[0] == min(group.columns) else 'last'}"
        if not given and anonymous([names[c] for c in group.columns] if names else []):
            kind += " (assumed; w last has increments of the same angles)"
    verb = "is" if len(group.columns) == 1 else "are"
    return f"{_columns(group.columns, names)} {verb} {kind}"


def paths(
    groups: Sequence[quaternions.Group],
    parts: Sequence[tuple[int, int]],
    states: Float,
    first: Bool,
) -> Float:
    """Coordinates [n, p] of states [n, d]; `first` [n] marks the first row of each episode."""
    made, bound = np.empty((len(states), len(parts))), np.append(np.flatnonzero(first), len(first))
    for block in range(0, len(bound) - 1, AT_ONCE):
        ends = bound[block : block + AT_ONCE + 1] - bound[block]
        rows = slice(bound[block], bound[block] + ends[-1])
        turned: dict[int, Float] = {}
        for g in {g for g, _ in parts if g >= 0}:
            group = groups[g]
            values = states[rows, group.columns].astype(np.float64)
            values = values[find_last_good(quaternions.valid(group, values), first[rows])]
            if group.kind == quaternions.ANGLE:
                turns = np.rint(np.diff(values[:, 0], prepend=values[0, 0]) / group.turn)
                turns = np.cumsum(turns)
                turns -= np.repeat(turns[ends[:-1]], np.diff(ends))
                turned[g] = values - group.turn * turns[:, None]
            else:
                q = quaternions.quaternions(group, values)
                steps = np.zeros((len(q), 3))
                steps[1:] = quaternions.between(q[:-1], q[1:])
                steps[ends[:-1]] = 0.0
                for start, end in pairwise(ends):
                    np.cumsum(steps[start:end], axis=0, out=steps[start:end])
                turned[g] = steps
        for j, (g, axis) in enumerate(parts):
            made[rows, j] = states[rows, axis] if g < 0 else turned[g][:, axis]
    return made


def roundings(columns: Float) -> tuple[Float, Float]:
    """Effect of rounding on the increments of columns [d, n]: how far apart [d], and rest [d].

    The increments of motion at constant velocity are equal except for the rounding of the states.
    They may have been rounded to float32, or to the decimals of a text file.

    The first is the largest difference of increments that is due to rounding alone. It is four
    units in the last place of the largest value, or the step of the decimal grid of all values. 0
    for columns of few different values, such as switches: these are exact. Increments below `rest`
    count as 0: four units in the last place, or half a grid step.
    """
    largest = np.maximum(columns.max(axis=1), -columns.min(axis=1)).astype(np.float64)
    with np.errstate(over="ignore"):
        single = np.array([(column.astype(np.float32) == column).all() for column in columns])
    with np.errstate(over="ignore", invalid="ignore"):
        float32 = np.spacing(largest.astype(np.float32)).astype(np.float64)
        ulp = 4 * np.where(single, float32, np.spacing(largest))
    apart, rest = ulp.copy(), ulp.copy()
    grid = _grids(columns, np.where(single, float32, np.spacing(largest)))
    grid[np.ptp(columns, axis=1) == 0] = 0.0  # one value, as of an axis of a rotation, shows none
    apart[grid > 0], rest[grid > 0] = grid[grid > 0], grid[grid > 0] / 2
    apart[[few_values(column) for column in columns]] = 0.0
    return apart, rest


def _grids(columns: Float, ulp: Float) -> Float:
    """Step of the coarsest decimal grid that all values of a column lie on; 0 if there is none."""
    some, found = some_rows(columns), np.zeros(len(columns))
    for decimals in range(8):  # at most seven
        scale = 10.0**decimals
        # If the format is as coarse as the grid, all values seem to lie on the grid.
        error = 2 * ulp * scale
        for c in np.flatnonzero((found == 0) & (error < 0.05)):
            if all(
                (np.abs(v * scale - np.rint(v * scale)) <= error[c]).all()
                for v in (some[c].astype(np.float64), columns[c].astype(np.float64))
            ):
                found[c] = 1 / scale
    return found
