"""Finds angles that wrap: columns that jump from one end of their range to the other.

Radians and degrees are recognised by the size of the jumps. The range of an encoder is its own:
ticks, turns, -100 to 100. Grippers and switches jump from end to end, too, and rest there. So
an encoder is recognised by jumps in mid-motion. Jumps to and fro also count if they are as small as
the steps around them once the ends are one place, as those of noise at the seam.
"""

from itertools import islice
from typing import NamedTuple

import numpy as np

from infoatlas_rt.live.quaternions import ANGLE, MOST_TURNS, Group

from ...array_types import Bool, Float, Int

TURN = 2 * np.pi
RUN = 3  # steps on either side of a wrap that show motion; noise at the seam jumps sooner
AROUND = np.r_[-RUN:0, 1 : RUN + 1]
USUAL = np.array(  # ranges of encoders
    [2.0**k for k in range(8, 33)] + [a * 10.0**k for a in (1.0, 2.0, 3.6) for k in range(6)]
)


class Jumps(NamedTuple):
    """Jumps from end to end of a column [n] whose rows on the way of a jump are left out.

    `step` [n] are its differences, `rows` those of the jumps, and `two` whether each was of two
    steps, as of interpolated angles.
    """

    column: Float
    step: Float
    rows: Int
    two: Bool


def allowed(n: int) -> int:
    """Number of rows that may be far off."""
    return max(3, n // 100)


def some_rows(columns: Float) -> Float:
    """At most 64 rows of columns [d, n], by which most candidates are refused."""
    n = columns.shape[1]
    return columns[:, np.unique(np.linspace(0, n - 1, min(n, 64)).astype(np.int64))]


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


def few_values(column: Float) -> bool:
    """Whether a column has too few different values (16) for a continuous coordinate."""
    some = column[:: max(1, len(column) // 512)]
    most = min(16, len(column) // 2)
    return len(np.unique(some)) <= most and len(np.unique(column)) <= most


def find_angles(columns: Float, first: Bool, free: Bool) -> list[Group]:
    """Angles that wrap, among the `free` [d] columns [d, n]; `first` [n] begins episodes."""
    found: list[Group] = []
    for c in np.flatnonzero(free).tolist():
        jumps = _jumps(columns[c], first)
        if 2 * np.abs(jumps.step).max() < _span(columns[c]):
            continue
        ranges = [(TURN, -TURN / 2), (TURN, 0.0), (360.0, -180.0), (360.0, 0.0)]
        turn, sure = _own_turn(jumps, first) if len(jumps.rows) else (0.0, False)
        if sure:
            ranges.append((turn, float(jumps.column[jumps.rows - [[0], [1]]].min())))
        turns = (turn for turn, low in ranges if _wraps(jumps, turn, low))
        found += [Group(ANGLE, (c,), turn) for turn in islice(turns, 1)]
    return found


def named_turn(column: Float, first: Bool) -> float | None:
    """A full turn of a column that is known to be an angle; None if it does not wrap."""
    jumps = _jumps(column, first)
    if not len(jumps.rows):
        return None
    own, _ = _own_turn(jumps, first)
    size = np.abs(jumps.step[jumps.rows])
    off = [float(np.median(np.abs(size - turn))) for turn in (TURN, 360.0, own)]
    return (TURN, 360.0, own)[int(np.argmin(off))]


def may_wrap(column: Float, first: Bool) -> bool:
    """Whether a continuous column jumps from one end of its range to the other."""
    jumps = _jumps(column, first)
    size = np.abs(jumps.step[jumps.rows])
    return bool((size > 0.97 * np.ptp(column)).any()) and not few_values(column)


def between_ends(column: Float, first: Bool) -> Bool:
    """Rows [n] on the way of a jump through the range in two steps, as of interpolated angles."""
    span = _span(column)
    step, found = np.diff(column), np.zeros(len(column), bool)
    least = np.minimum(np.abs(step[1:]), np.abs(step[:-1]))
    both = np.where(step[1:] * step[:-1] > 0, np.abs(step[1:] + step[:-1]), 0.0)
    inner = ~first[1:-1] & ~first[2:]
    found[1:-1] = inner & (both > 0.75 * span) & (both < 1.5 * span) & (least > 0.05 * span)
    return found


def _span(column: Float) -> float:
    return float(np.subtract(*np.quantile(column.astype(np.float64), (0.99, 0.01))))


def _jumps(column: Float, first: Bool) -> Jumps:
    column = column.astype(np.float64)
    middle = between_ends(column, first)
    column = column[find_last_good(~middle, first)]
    step = np.diff(column, prepend=column[:1])
    step[first] = 0.0
    size, span = np.abs(step), _span(column)
    rows = np.flatnonzero((size > 0.75 * span) & (size < 1.5 * span))
    return Jumps(column, step, rows, middle[rows - 1])


def _own_turn(jumps: Jumps, first: Bool) -> tuple[float, bool]:
    """The range of an encoder by its jumps, and whether only wraps look like this."""
    regular = ~first
    regular[jumps.rows] = False
    soon = (np.diff(jumps.rows) <= RUN) & (np.diff(np.cumsum(first)[jumps.rows]) == 0)
    noise = soon.sum() >= max(4, len(jumps.rows) / 2)  # to and fro
    turn, sure = (_at_the_seam if noise else _in_motion)(jumps, regular)
    nearest = float(USUAL[np.abs(USUAL / turn - 1).argmin()])
    turn = nearest if abs(nearest / turn - 1) < 5e-3 else turn
    return turn, sure and bool(np.median(np.abs(jumps.column)) <= MOST_TURNS[ANGLE] * turn)


def _at_the_seam(jumps: Jumps, regular: Bool) -> tuple[float, bool]:
    """As `_own_turn`, of jumps to and fro; `regular` [n] are the other steps of episodes."""
    column, step, rows, _ = jumps
    low, high = float(column.min()), float(column.max())
    around = np.unique((rows[:, None] + AROUND).clip(0, len(column) - 1))
    steps = np.abs(step[around[regular[around]]])
    ends = np.sort(column[rows - [[0], [1]]], axis=0)
    off = np.median(np.abs(ends - [[low], [high]]), axis=1)
    within = (np.abs(column - (low + high) / 2) < 0.4 * (high - low)).mean()
    moves = within > 0.05  # a switch is between its ends less often
    return high - low, bool(moves and len(steps) and (off <= 2 * steps.mean()).all())


def _in_motion(jumps: Jumps, regular: Bool) -> tuple[float, bool]:
    """As `_own_turn`, of jumps with regular steps before and after them."""
    _, step, rows, two = jumps
    clear = (rows > RUN) & (rows < len(step) - RUN)
    clear &= regular[(rows[:, None] + AROUND).clip(0, len(step) - 1)].all(axis=1)
    if not clear.any():
        return float(np.abs(step[rows]).max()), False
    rows, two = rows[clear], two[clear]
    around = -np.sign(step[rows])[:, None] * step[rows[:, None] + AROUND]
    sides = around.reshape(len(rows), 2, RUN)
    moves = (sides >= 0).all(axis=(1, 2)) & (sides.sum(axis=2) > 0).all(axis=1)
    # Of two steps, the first is 0 in `column`.
    size = np.abs(step[rows]) + around.sum(axis=1) / (2 * RUN - two) * (1 + two)
    return float(np.median(size)), bool(moves.mean() >= 0.75)


def _wraps(jumps: Jumps, turn: float, low: float) -> bool:
    column = jumps.column
    inside = (column >= low - 0.02 * turn) & (column <= low + 1.02 * turn)
    if (~inside).sum() > allowed(len(column)) or few_values(column):
        return False
    size = np.where(inside, np.abs(jumps.step), 0.0)
    size[1:][~inside[:-1]] = 0.0
    wraps = (size > 0.9 * turn) & (size < 1.1 * turn)
    # Smaller jumps are those into a faulty frame and out of it.
    between = ~wraps & (size > turn / 4)
    regular = float(size[~wraps & ~between].max(initial=0.0))
    if between.sum() > min(2 * allowed(len(column)), 2 * wraps.sum()) or regular == 0:
        return False
    near = np.abs(size[wraps] - turn) <= 2 * regular + 0.02 * turn
    return bool(wraps.any() and near.all())
