"""Coordinates of complete demonstrations, one after another."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

import numpy as np

from infoatlas_rt.live.quaternions import ANGLE, Group, between, quaternions, valid

from ...array_types import Bool, Float, Int


def paths(
    groups: Sequence[Group], parts: Sequence[tuple[int, int]], states: Float, first: Bool
) -> Float:
    """Coordinates [n, p] of states [n, d]; `first` [n] marks the first row of each episode."""
    turned: dict[int, Float] = {}
    bound = np.append(np.flatnonzero(first), len(first))
    for g in {g for g, _ in parts if g >= 0}:
        group = groups[g]
        values = states[:, group.columns]
        values = values[find_last_good(valid(group, values), first)]
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


def find_last_good(good: Bool, first: Bool) -> Int:
    """Row to use for each row [n]: itself, or the last good one before it in its demonstration.

    `first` [n] marks the first row of each demonstration. Rows before the first good one use that
    one. In a demonstration without good rows, each uses itself.
    """
    row = np.arange(len(good))
    if good.all():
        return row
    start = np.maximum.accumulate(np.where(first, row, 0))
    last = np.maximum.accumulate(np.where(good, row, -1))
    following = np.minimum.accumulate(np.where(good, row, len(row))[::-1])[::-1]
    end = np.append(np.flatnonzero(first)[1:], len(row))[np.cumsum(first) - 1]
    later = np.where(following < end, following, row)
    return np.where(last >= start, last, later)


def angles_between(a: Float, b: Float) -> Float:
    """Angle of a^-1 b, radians, 0 to pi: [...] of unit quaternions [..., 4] and [..., 4]."""
    near = np.minimum(((a - b) ** 2).sum(axis=-1), ((a + b) ** 2).sum(axis=-1))
    return np.asarray(4 * np.arcsin(np.minimum(np.sqrt(near) / 2, 1.0)))
