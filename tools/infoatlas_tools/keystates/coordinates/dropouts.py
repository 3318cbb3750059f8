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
from .outliers import FAULT_FRAMES, JUMP, equal_columns, jumps
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
    still = np.ones(columns.shape, bool)
    np.equal(columns[:, 1:], columns[:, :-1], out=still[:, 1:])
    still[:, first] = True
    gone = np.zeros(columns.shape, bool)
    moving = np.flatnonzero(looked & ~still.all(axis=1))
    free = np.array([c for c in moving.tolist() if not few_values(columns[c])], np.int64)
    if len(free) < 2:
        return gone, ()
    bound = np.append(np.flatnonzero(first), len(first))
    runs, edges = [*_equal_runs(columns, free, first, bound)], {*bound.tolist()}
    kth = max(0, len(first) - 1 - 4 * (1 + (len(bound) - 1) // 10))
    usual = np.zeros(len(free))
    for place, c in enumerate(free.tolist()):
        regular = jumps(columns[c], first)
        for start, stop, own, _ in runs:
            if place in own:
                regular[[*{start, stop} - edges]] = 0.0
        usual[place] = np.partition(regular, kth)[kth]
    found, parts = list[tuple[int, int, str]](), list[tuple[int, int, Int, float]]()
    for start, stop, own, value in runs:
        whole = bool((columns[free, start:stop] == value).all(axis=1).mean() >= NEARLY)
        sides = [row for row in (start, stop) if row not in edges]
        if not sides or not (whole or len(sides) == 2):
            continue
        clear = whole and len(sides) == 2 and len(free) >= LEAST
        if not _jumps_off(columns, free[own], usual[own], sides, 1.0 if clear else JUMP):
            continue
        if not whole:
            parts.append((start, stop, free[own], value))
            continue
        changes = looked & ~still[:, sides].all(axis=1)
        gone[changes & (columns[:, start:stop] == value).all(axis=1), start:stop] = True
        found.append((start, stop, f"{value:g}"))
    having = {int(np.searchsorted(bound, start, side="right")) for start, *_ in parts}
    for start, stop, rows, value in parts if 2 * len(having) < len(bound) - 1 else ():
        gone[rows, start:stop] = True
        found.append((start, stop, f"{value:g}"))
    known = np.asarray(gone.any(axis=0))
    for start, stop, own in _held_runs(still, free, known, bound):
        at = columns[np.ix_(free[own], np.array([start - 2, start - 1, stop - 1, stop]))]
        before, _, after = np.abs(np.diff(at.astype(np.float64), axis=1)).T
        large = (after > HELD_JUMP * usual[own]) & (after <= (stop - start + 1) * usual[own])
        if large.mean() >= 0.5 and (before > 0).mean() >= 0.5:
            held = looked & still[:, start:stop].all(axis=1) & ~still[:, stop]
            gone[held, start:stop] = True
            found.append((start, stop, "the last values"))
    which = np.searchsorted(bound, [start for start, *_ in found], side="right") - 1
    return gone, tuple(
        Dropout(i, int(a - bound[i]), int(b - bound[i]), int(gone[:, a].sum()), value)
        for i, (a, b, value) in sorted(zip(which.tolist(), found, strict=True))
    )


def _jumps_off(columns: Float, own: Int, usual: Float, sides: Sequence[int], factor: float) -> bool:
    """Whether half of the columns `own` [m] of [d, n] jump at the rows `sides`.

    After two jumps, they also go on as before. Jumps are larger than `factor` times the usual
    increments [m].
    """
    rows = np.array(sides)
    before, after = (columns[np.ix_(own, rows - k)].astype(np.float64) for k in (1, 0))
    if (np.abs(after - before).min(axis=1) > factor * usual).mean() < 0.5:
        return False
    before, after = before[:, 0], after[:, -1]
    most = (sides[-1] - sides[0] + 1) * usual
    return bool(len(sides) < 2 or (np.abs(after - before) <= most).mean() >= NEARLY)


def _equal_runs(
    columns: Float, free: Int, first: Bool, bound: Int
) -> Iterator[tuple[int, int, Int, float]]:
    """Rows `start` to `stop` - 1 in which some of the columns `free` get and leave one value."""
    m, least = len(free), min(LEAST, len(free))
    common = {0.0}
    for reference in {*free[[0, m // 2, m - 1]].tolist()}:
        rows = equal_columns(columns, free, reference) >= np.ceil(NEARLY * m)
        common |= {*np.unique(columns[reference, rows])[:8].tolist()}
    for value in sorted(common):
        begins, ends = np.zeros((2, len(first)), np.int64)
        for c in free.tolist():
            there = columns[c] == value
            before = np.roll(there, 1) & ~first
            begins += there & ~before
            ends += before & ~there
        leaves = np.union1d(np.flatnonzero(ends >= least), bound[1:])
        for start in np.flatnonzero(begins >= least).tolist():
            stop = int(leaves[np.searchsorted(leaves, start, side="right")])
            own = (columns[free, start:stop] == value).all(axis=1)
            own &= first[start] | (columns[free, start - 1] != value)
            own &= columns[free, stop] != value if stop not in bound else True
            if stop - start > FAULT_FRAMES and own.sum() >= least:
                yield start, stop, np.flatnonzero(own), value


def _held_runs(still: Bool, free: Int, gone: Bool, bound: Int) -> Iterator[tuple[int, int, Int]]:
    """Rows `start` to `stop` - 1 in which nearly all of the columns `free` are `still` [d, n]."""
    still = still[free]
    held = still.mean(axis=0) >= NEARLY
    held[gone] = held[bound[:-1]] = False
    edge = np.diff(held.astype(np.int8), prepend=0, append=0)
    for start, stop in zip(np.flatnonzero(edge > 0), np.flatnonzero(edge < 0), strict=True):
        if stop - start > FAULT_FRAMES and stop not in bound and start - 1 not in bound:
            own = still[:, start:stop].all(axis=1) & ~still[:, stop]
            if own.mean() >= 0.5 and own.sum() >= LEAST:
                yield int(start), int(stop), np.flatnonzero(own)
