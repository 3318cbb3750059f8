"""Finds frames of recorded states that are no measurements, and replaces them."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from infoatlas_rt.live.quaternions import ANGLE, EULER, Group, quaternions, valid

from ...array_types import Bool, Float, Int
from .outliers import FAR_OUT, JUMP, dropped_frames, far_out, jumps
from .wraps import angles_between, between_ends, few_values, find_last_good

BLOCK = 10**5  # rows whose turns are computed at once: bounds the memory


@dataclass(frozen=True, eq=False)
class Faults:
    """Frames that are no measurement."""

    groups: Sequence[Group]
    of_columns: Bool  # [d, n], rows in which each column outside of the groups is an outlier
    of_groups: Bool  # [G, n], rows in which each rotation or angle is an outlier

    def held(self, columns: Float, first: Bool) -> Float:
        """Columns [d, n], each fault replaced by the value before it; as given without faults."""
        places = self._places()
        made: Float = columns.astype(np.float64) if places else columns
        for at, bad in places:
            made[at] = columns[at][:, find_last_good(~bad, first)]
        return made

    def filled(self, columns: Float, first: Bool) -> Float:
        """Columns [d, n], faults interpolated; in groups and switches, the value before."""
        made = self.held(columns, first)
        for c in np.flatnonzero(self.of_columns.any(axis=1)):
            if not few_values(made[c]):
                _interpolate(made[c], self.of_columns[c], first)
        return made

    def fill_rotations(self, path: Float, parts: Sequence[tuple[int, int]], first: Bool) -> None:
        """Interpolate the faults of rotations and angles in their coordinates [n, p], in place."""
        for j, (g, _) in enumerate(parts):
            if g >= 0 and self.of_groups[g].any():
                path[:, j] = _interpolate(path[:, j].copy(), self.of_groups[g], first)

    def frames(self, bound: Int) -> list[tuple[int, int]]:
        """(demonstration, step) of all rows with a fault; `bound` has the first rows, and n."""
        rows = np.flatnonzero(self.of_columns.any(axis=0) | self.of_groups.any(axis=0))
        which = np.searchsorted(bound, rows, side="right") - 1
        return list(zip(which.tolist(), (rows - bound[which]).tolist(), strict=True))

    def notes(self, states: Float, bound: Int, episodes: Sequence[str]) -> list[str]:
        """A sentence about each faulty frame of the raw states [n, d] of named episodes."""
        frames = self.frames(bound)
        shown, more, found = frames[:8], len(frames[8:]), []
        for which, step in shown:
            row = int(bound[which]) + step
            columns = np.flatnonzero(self.of_columns[:, row]).tolist()
            for g in np.flatnonzero(self.of_groups[:, row]).tolist():
                columns += self.groups[g].columns
            value = states[row, columns[0]]
            are = "column is" if len(columns) == 1 else "columns are"
            found.append(
                f"demonstration {episodes[which]}, step {step}: {len(columns)} {are} far out (the "
                f"first is {value:g}): replaced by the frames around it"
            )
        if more:
            found.append(f"{more} more frames are far out, and replaced")
        return found

    def _places(self) -> list[tuple[list[int], Bool]]:
        plain = [([int(c)], self.of_columns[c]) for c in np.flatnonzero(self.of_columns.any(1))]
        turned = [
            (list(group.columns), bad)
            for group, bad in zip(self.groups, self.of_groups, strict=True)
            if bad.any()
        ]
        return plain + turned


def find_faults(columns: Float, first: Bool, groups: Sequence[Group], plain: Bool) -> Faults:
    """Frames that are no measurements, by the criteria of `outliers.py`.

    `columns` [d, n] are all demonstrations end to end, and `first` [n] the first row of each.
    `plain` [d] are the columns outside of the groups that are searched.
    """
    d, n = columns.shape
    turns = {
        c: group.turn for group in groups if group.kind in (ANGLE, EULER) for c in group.columns
    }
    kth = max(0, n - 1 - 4 * (1 + int(first.sum()) // 10))
    usual, top, steady = np.zeros(d), np.zeros(d), np.zeros(d, bool)
    for c, column in enumerate(columns):
        jump = jumps(column, first, turns.get(c))
        usual[c] = np.partition(jump, kth)[kth]  # as many larger jumps as there may be faults
        top[c] = jump.max()
        steady[c] = (np.diff(column) > 0).sum() >= 0.95 * (n - 1)  # as in clocks
    of_columns, of_groups = np.zeros((d, n), bool), np.zeros((len(groups), n), bool)
    looked = plain.copy()
    looked[[c for group in groups for c in group.columns]] = True
    switch = np.array([few_values(column) for column in columns])
    free = np.flatnonzero(looked & (top > 0) & ~steady & ~switch)
    dropped = dropped_frames(columns, free, first, turns, usual[free])
    beside = dropped | np.append(False, dropped[:-1])
    if dropped.any():
        for row in np.flatnonzero(dropped):
            value = np.median(columns[free, row].astype(np.float64))
            of_columns[:, row] = plain & (top > 0) & (columns[:, row] == value)
        of_groups |= dropped
    some = columns[:, np.linspace(0, n - 1, min(n, 512)).astype(np.int64)].astype(np.float64)
    size = np.quantile(np.abs(some), 0.9, axis=1)
    span = np.diff(np.quantile(some, [0.1, 0.9], axis=1), axis=0)[0]
    least = 8 * np.spacing(size.astype(np.float32)).astype(np.float64)
    far = np.flatnonzero(plain & (top > np.minimum(JUMP * usual, FAR_OUT / 2 * span)))
    for c in far.tolist():
        column = columns[c].astype(np.float64)
        two = bool(switch[c]) and len(np.unique(column)) == 2
        distance, spread = _plain(column)
        jump = np.where(beside, 0.0, jumps(column, first, turns.get(c)))
        of_columns[c] |= far_out(distance, spread, jump, first, column == 0, two, float(least[c]))
    for g, group in enumerate(groups):
        values = columns[list(group.columns)].T.astype(np.float64)
        of_groups[g] |= ~valid(group, values)
        if group.kind == ANGLE:
            of_groups[g] |= between_ends(values[:, 0], first)
        values = values[find_last_good(~of_groups[g], first)]
        distance, spread = _turn(group, values)
        del values
        blocks = np.array_split(np.arange(1, n), 1 + n // BLOCK)
        own = np.concatenate([[0.0], *(distance(rows, rows - 1) for rows in blocks)])
        own[first | of_groups[g]] = 0.0
        limit = 8 * float(np.finfo(np.float32).eps) * (group.turn if group.kind == ANGLE else 1.0)
        if own.max() > JUMP * np.partition(own, kth)[kth]:
            of_groups[g] |= far_out(distance, spread, own, first, np.zeros(n, bool), False, limit)
    return Faults(groups, of_columns, of_groups)


def _plain(column: Float) -> tuple[Callable[[Int, Int], Float], Callable[[Bool], float]]:
    def distance(a: Int, b: Int) -> Float:
        return np.abs(column[a] - column[b])

    def spread(rows: Bool) -> float:
        return float(np.ptp(column[rows])) if rows.any() else 0.0

    return distance, spread


def _turn(
    group: Group, values: Float
) -> tuple[Callable[[Int, Int], Float], Callable[[Bool], float]]:
    if group.kind == ANGLE:
        column = values[:, 0]

        def difference(a: Int, b: Int) -> Float:
            turned = column[a] - column[b]
            return np.abs(turned - group.turn * np.rint(turned / group.turn))

        return difference, _plain(column)[1]
    q = quaternions(group, values)

    def angle(a: Int, b: Int) -> Float:
        return angles_between(q[a], q[b])

    def widest(rows: Bool) -> float:
        at = np.flatnonzero(rows)
        blocks = np.array_split(at, 1 + len(at) // BLOCK)
        return max(float(angle(own, at[:1]).max(initial=0.0)) for own in blocks)

    return angle, widest


def _interpolate(values: Float, bad: Bool, first: Bool) -> Float:
    """Interpolate rows within their demonstration, in place; at its ends, repeat the nearest."""
    bound = np.append(np.flatnonzero(first), len(first))
    for start, end in pairwise(bound):
        own, part = bad[start:end], values[start:end]
        if own.any() and not own.all():
            part[own] = np.interp(np.flatnonzero(own), np.flatnonzero(~own), part[~own])
    return values
