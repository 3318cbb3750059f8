"""Frames that are no measurements: a value of -9999, or zeros where a sensor dropped out.

In a fault, at most three consecutive frames leave the path of a coordinate, which then returns. One
of three signs distinguishes a fault from motion:

1. Nearly all columns have the same value in these frames, and neither before nor after.
2. The coordinate is 900 or more away, and 1000 times as far as its regular values lie apart.
3. The coordinate is smooth, and jumps ten times as far as in any other step of all demonstrations.
   At most 1 + N // 10 such faults are accepted in a coordinate of N demonstrations; more frequent
   jumps belong to the task. A jump of more than ten times the range counts only if the value is
   exactly 0, or by sign 2. A contact or a push in a single demonstration looks the same.

Forces and switches are not smooth, because their regular increments are as large as their range. So
a burst of force, or a gripper that opens for one step, is kept.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np

from ...array_types import Bool, Float, Int

FAULT_FRAMES = 3  # frames of one fault, at most: a robot leaves a place and returns more slowly
JUMP = 10.0  # times the largest regular increment
FAR_OUT = 1000.0  # times the range of the regular values
AFTER = np.array([True, False])  # of two rows, the second one is not the first of a demonstration
CODE = 900.0  # codes of missing values (-999, 9999, 1e4) are as far away; motions are not


@dataclass(frozen=True)
class _Runs:
    """Runs of frames that leave the path and return: rows `start` to `start + length - 1`."""

    start: Int
    length: Int
    size: Float  # smallest distance of the frames from the rows before and after

    def take(self, chosen: Int | Bool) -> "_Runs":
        return _Runs(self.start[chosen], self.length[chosen], self.size[chosen])

    def rows(self) -> Int:
        return np.concatenate(
            [np.arange(s, s + k) for s, k in zip(self.start, self.length, strict=True)]
            or [np.empty(0, np.int64)]
        ).astype(np.int64)


def jumps(column: Float, first: Bool, turn: float | None = None) -> Float:
    """Absolute increments [n] of a column [n], modulo a turn if given; 0 at first rows."""
    jump = np.abs(np.diff(column.astype(np.float64), prepend=column[:1]))
    if turn is not None:
        jump = np.abs(jump - turn * np.rint(jump / turn))
    jump[first] = 0.0
    return jump


def equal_columns(columns: Float, of: Int, reference: int) -> Int:
    """How many of the columns `of` [m] of [d, n] are equal to another one, in each row [n]."""
    found = np.zeros(columns.shape[1], np.int64)
    for c in of.tolist():
        found += columns[c] == columns[reference]
    return found


def dropped_frames(
    columns: Float, free: Int, first: Bool, turns: Mapping[int, float], usual: Float
) -> Bool:
    """Frames [n] in which nearly all columns have one value, unlike in the frames around them.

    The columns `free` [m] of [d, n] vary and are not switches; all demonstrations are end to end,
    and `first` [n] are the first rows of each. `turns` are those of angles, and `usual` [m] is the
    largest regular increment of each column.
    """
    m, n = len(free), columns.shape[1]
    dropped = np.zeros(n, bool)
    if m < 3:
        return dropped
    for reference in {0, m // 2, m - 1}:
        dropped |= equal_columns(columns, free, free[reference]) >= np.ceil(0.9 * m)  # nearly all
    if not dropped.any():
        return dropped
    found = np.zeros(n, bool)
    bound = np.append(np.flatnonzero(first), n)
    for start in np.flatnonzero(dropped & ~(np.append(False, dropped[:-1]) & ~first)):
        end = int(bound[np.searchsorted(bound, start, side="right")])
        stop = int(start)
        while stop < end and dropped[stop]:
            stop += 1
        inside, outside = not first[start], stop < end
        sides = [
            np.array([jumps(columns[c, row - 1 : row + 1], AFTER, turns.get(c))[1] for c in free])
            for row, there in ((start, inside), (stop, outside))
            if there
        ]
        if stop - start > FAULT_FRAMES or not sides:
            continue
        far = np.minimum(*sides) > usual if len(sides) == 2 else sides[0] > JUMP * usual
        if far.any() if len(sides) == 2 else far.mean() >= 0.5:
            found[start:stop] = True
    return found


def far_out(
    distance: Callable[[Int, Int], Float],
    spread: Callable[[Bool], float],
    jump: Float,
    first: Bool,
    zero: Bool,
    switch: bool,
    least: float,
) -> Bool:
    """Frames [n] in which one coordinate is an outlier.

    `distance` is of the coordinate between rows [m] and rows [m], and `spread` its range over the
    rows that are marked in [n]. `jump` [n] is the distance of each row from the one before; 0 at
    first rows of demonstrations (`first`) and where rows are set aside. `zero` [n] are rows in
    which the recorded value is exactly 0. A `switch` has two values only. Distances below `least`
    are rounding.
    """
    n, out = len(jump), np.zeros(len(jump), bool)
    bound = np.append(np.flatnonzero(first), n)
    most = 1 + (len(bound) - 1) // 10
    jump = jump.copy()
    for _ in range(4):  # faults of different sizes: the largest first
        top = float(jump.max(initial=0.0))
        if top <= least:
            break
        runs = _runs(distance, jump, top / JUMP, bound)
        chosen = _faults(runs, spread, jump, out, zero, most, switch, least)
        rows = chosen.rows()
        if not len(rows):
            break
        out[rows] = True
        most -= len(chosen.start)
        jump[rows] = 0.0
        after = chosen.start + chosen.length
        jump[after[after < n]] = 0.0
    return out


def _runs(distance: Callable[[Int, Int], Float], jump: Float, large: float, bound: Int) -> _Runs:
    """Runs that begin and end with a large jump; shorter ones first, without overlap."""
    n = len(jump)
    entry = np.flatnonzero(jump > large)
    none = np.empty(0, np.int64)
    if not len(entry) or len(entry) > max(8, 0.05 * n):  # too frequent for faults
        return _Runs(none, none, np.empty(0))
    end = bound[np.searchsorted(bound, entry, side="right")]
    start, length, size, taken = [], [], [], np.zeros(n, bool)
    for k in range(1, FAULT_FRAMES + 1):
        inside = entry[entry + k < end]
        end_of = inside + k
        inside, end_of = inside[jump[end_of] > large], end_of[jump[end_of] > large]
        if not len(inside):
            continue
        away = np.min(
            [
                np.minimum(distance(inside + j, inside - 1), distance(inside + j, end_of))
                for j in range(k)
            ],
            axis=0,
        )
        back = distance(inside - 1, end_of)
        for s, a in zip(inside[back <= away / 4], away[back <= away / 4], strict=True):
            if a > large and not taken[s : s + k].any():
                taken[s : s + k] = True
                start.append(s)
                length.append(k)
                size.append(a)
    order = np.argsort(-np.array(size), kind="stable")
    return _Runs(
        np.array(start, np.int64), np.array(length, np.int64), np.array(size, np.float64)
    ).take(order)


def _faults(
    runs: _Runs,
    spread: Callable[[Bool], float],
    jump: Float,
    out: Bool,
    zero: Bool,
    most: int,
    switch: bool,
    least: float,
) -> _Runs:
    """The runs that are not motion; `runs` are sorted by size."""
    regular = ~out
    regular[runs.rows()] = False
    span = spread(regular)
    far = runs.size > max(FAR_OUT * span, CODE)
    if far.any() or switch:
        return runs.take(far)
    for count in range(min(most, len(runs.start)), 0, -1):
        chosen = runs.take(np.arange(count))
        rest = jump.copy()
        rows = chosen.rows()
        rest[rows] = 0.0
        rest[(chosen.start + chosen.length).clip(max=len(jump) - 1)] = 0.0
        largest = float(rest.max(initial=0.0))
        keep = ~out
        keep[rows] = False
        span = spread(keep)
        smooth = least < largest <= 0.3 * span  # increments of forces are as large as their range
        near = (chosen.size <= 10 * span) | zero[chosen.start]  # others are by sign 2 alone
        if smooth and near.all() and chosen.size[-1] > JUMP * largest:
            return chosen
    return runs.take(np.empty(0, np.int64))
