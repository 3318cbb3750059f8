"""Dropouts: times without measurements, in which drivers return zeros or repeat the last values.

In a dropout, three or more columns get one value (usually 0) in the same frame, and leave it in the
same frame. It must be no motion: the columns jump further than in any regular step, and go on where
they were. A dropout of nearly all columns needs such jumps in half of them. One of a part jumps ten
times as far, and fewer than half of the demonstrations have such: others are the fingers of a hand
that closes. If the last values are repeated, nearly all columns stay exactly equal in mid-motion,
and half of them then jump. Such jumps must be rare, or else a sensor is slower than the recording.
Columns with few values, as switches, are no signs of a dropout.

Up to three frames are outliers (`outliers.py`), which are replaced.
"""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np

from ...array_types import Bool, Float, Int
from .outliers import FAULT_FRAMES, JUMP
from .wraps import few_values

NEARLY = 0.9  # share of the columns that are nearly all of them
LEAST = 3  # columns, or two of two: fewer have one value by chance, as fingers of a closed gripper
HELD_JUMP = 2.0  # times the largest regular increment, after values that were repeated
SHOWN = 4  # dropouts in a warning, at most
MARGIN = 2  # frames beside a dropout in which events are uncertain, too: they are smoothed


class Dropout(NamedTuple):
    """Frames `start` to `stop` - 1 of a demonstration without measurements of some columns."""

    demonstration: int
    start: int
    stop: int
    columns: int
    value: str  # "0", or "the last values"

    def __str__(self) -> str:
        are = "column is" if self.columns == 1 else "columns are"
        return f"steps {self.start} to {self.stop - 1}: {self.columns} {are} {self.value}"

    def hides(self, first: int, last: int) -> bool:
        """Whether an event from a step to another one may have been in the dropout."""
        return first < self.stop + MARGIN and last >= self.start - MARGIN


def warn(dropouts: Sequence[Dropout], names: Sequence[str]) -> tuple[str, ...]:
    """A sentence about the dropouts of demonstrations with these names; none without any."""
    if not dropouts:
        return ()
    texts = [f"demonstration {names[one.demonstration]}, {one}" for one in dropouts[:SHOWN]]
    more = f" and {len(dropouts) - SHOWN} more" if len(dropouts) > SHOWN else ""
    return (
        f"Dropouts: {'; '.join(texts)}{more}. These frames are replaced, and "
        "events in them are left out. What helps: labels there, or leave those demonstrations out.",
    )


def find_dropouts(columns: Float, first: Bool, looked: Bool) -> tuple[Bool, tuple[Dropout, ...]]:
    """Frames [d, n] of columns [d, n] without measurements, and the dropouts that they are of.

    `first` [n] begins demonstrations; `looked` [d] are the columns in which dropouts are searched.
    """
    jump = np.abs(np.diff(columns, axis=1, prepend=columns[:, :1]))
    jump[:, first] = 0.0
    gone = np.zeros(columns.shape, bool)
    moving = np.flatnonzero(looked & jump.any(axis=1))
    free = np.array([c for c in moving.tolist() if not few_values(columns[c])], np.int64)
    if len(free) < 2:
        return gone, ()
    bound = np.append(np.flatnonzero(first), len(first))
    regular, values = jump[free], columns[free]
    runs, edges = [*_equal_runs(values, first, bound)], {*bound.tolist()}
    for start, stop, own, _ in runs:
        for row in {start, stop} - edges:
            regular[own, row] = 0.0
    kth = max(0, len(first) - 1 - 4 * (1 + (len(bound) - 1) // 10))
    usual = np.partition(regular, kth, axis=1)[:, kth]
    found, parts = list[tuple[int, int, str]](), list[tuple[int, int, Int, float]]()
    for start, stop, own, value in runs:
        whole = bool((values[:, start:stop] == value).all(axis=1).mean() >= NEARLY)
        sides = [row for row in (start, stop) if row not in edges]
        if not sides or not (whole or len(sides) == 2):
            continue
        clear = whole and len(sides) == 2 and len(free) >= LEAST
        if not _jumps_off(values[own], usual[own], sides, 1.0 if clear else JUMP):
            continue
        if not whole:
            parts.append((start, stop, free[own], value))
            continue
        changes = looked & jump[:, sides].any(axis=1)
        gone[changes & (columns[:, start:stop] == value).all(axis=1), start:stop] = True
        found.append((start, stop, f"{value:g}"))
    having = {int(np.searchsorted(bound, start, side="right")) for start, *_ in parts}
    for start, stop, rows, value in parts if 2 * len(having) < len(bound) - 1 else ():
        gone[rows, start:stop] = True
        found.append((start, stop, f"{value:g}"))
    known = np.asarray(gone.any(axis=0))
    for start, stop, own in _held_runs(jump[free], known, bound):
        after, before = jump[free[own], stop], jump[free[own], start - 1]
        jumps = (after > HELD_JUMP * usual[own]) & (after <= (stop - start + 1) * usual[own])
        if jumps.mean() >= 0.5 and (before > 0).mean() >= 0.5:
            still = looked & ~jump[:, start:stop].any(axis=1) & (jump[:, stop] > 0)
            gone[still, start:stop] = True
            found.append((start, stop, "the last values"))
    which = np.searchsorted(bound, [start for start, *_ in found], side="right") - 1
    return gone, tuple(
        Dropout(i, int(a - bound[i]), int(b - bound[i]), int(gone[:, a].sum()), value)
        for i, (a, b, value) in sorted(zip(which.tolist(), found, strict=True))
    )


def _jumps_off(values: Float, usual: Float, sides: Sequence[int], factor: float) -> bool:
    """Whether half of m columns [m, n] jump at the rows `sides` and, after two, go on as before.

    Jumps are larger than `factor` times the usual increments [m].
    """
    jumps = np.abs(values[:, sides] - values[:, [row - 1 for row in sides]])
    if (jumps.min(axis=1) > factor * usual).mean() < 0.5:
        return False
    before, after = values[:, sides[0] - 1], values[:, sides[-1]]
    most = (sides[-1] - sides[0] + 1) * usual
    return bool(len(sides) < 2 or (np.abs(after - before) <= most).mean() >= NEARLY)


def _equal_runs(values: Float, first: Bool, bound: Int) -> Iterator[tuple[int, int, Int, float]]:
    """Rows `start` to `stop` - 1 of values [m, n] in which some of m get and leave one value."""
    m, least = len(values), min(LEAST, len(values))
    common = {0.0}
    for reference in {0, m // 2, m - 1}:
        rows = (values == values[reference]).sum(axis=0) >= np.ceil(NEARLY * m)
        common |= {*np.unique(values[reference, rows])[:8].tolist()}
    for value in sorted(common):
        there = values == value
        before = np.roll(there, 1, axis=1) & ~first
        begins, ends = there & ~before, before & ~there
        leaves = np.flatnonzero(ends.sum(axis=0) >= least)
        leaves = np.union1d(leaves, bound[1:])
        for start in np.flatnonzero(begins.sum(axis=0) >= least).tolist():
            stop = int(leaves[np.searchsorted(leaves, start, side="right")])
            own = begins[:, start] & there[:, start:stop].all(axis=1)
            own &= ends[:, stop] if stop not in bound else True
            if stop - start > FAULT_FRAMES and own.sum() >= least:
                yield start, stop, np.flatnonzero(own), value


def _held_runs(jump: Float, gone: Bool, bound: Int) -> Iterator[tuple[int, int, Int]]:
    """Rows `start` to `stop` - 1 in which nearly all of m columns repeat the row before."""
    still = (jump == 0).mean(axis=0) >= NEARLY
    still[gone] = still[bound[:-1]] = False
    edge = np.diff(still.astype(np.int8), prepend=0, append=0)
    for start, stop in zip(np.flatnonzero(edge > 0), np.flatnonzero(edge < 0), strict=True):
        if stop - start > FAULT_FRAMES and stop not in bound and start - 1 not in bound:
            own = ~jump[:, start:stop].any(axis=1) & (jump[:, stop] > 0)
            if own.mean() >= 0.5 and own.sum() >= LEAST:
                yield int(start), int(stop), np.flatnonzero(own)
