"""Resolution of the number format that states were recorded in.

The increments of motion at constant velocity are equal except for the rounding of the states. They
may have been rounded to float32, before they were passed as float64, or to the decimals of a text
file.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from .wraps import few_values, some_rows

Float = NDArray[np.float64]


def roundings(columns: Float) -> tuple[Float, Float]:
    """Effect of rounding on the increments of columns [d, n]: how far apart [d], and rest [d].

    The first is the largest difference of increments that is due to rounding alone. It is four
    units in the last place of the largest value, or the step of the decimal grid of all values. 0
    for columns of few different values, such as switches: these are exact. Increments below `rest`
    count as 0: four units in the last place, or half a grid step.
    """
    largest = np.abs(columns).max(axis=1)
    with np.errstate(over="ignore"):
        short = columns.astype(np.float32)
    single = (short == columns).all(axis=1)
    with np.errstate(over="ignore", invalid="ignore"):
        float32 = np.spacing(largest.astype(np.float32)).astype(np.float64)
        ulp = 4 * np.where(single, float32, np.spacing(largest))
    apart, rest = ulp.copy(), ulp.copy()
    grid = _grids(columns, np.where(single, float32, np.spacing(largest)))
    apart[grid > 0], rest[grid > 0] = grid[grid > 0], grid[grid > 0] / 2
    apart[[few_values(column) for column in columns]] = 0.0
    return apart, rest


def make_equal(increments: Float, apart: Float) -> Float:
    """Increments [n, p], made equal where they differ by rounding alone.

    Sorted increments of one sign that follow each other in steps of at most `apart` [p] form a
    group. They are replaced by the middle one if the group spans at most 1.01 `apart`. Others keep
    their bits, and so do increments of 0.
    """
    made: Float = increments.copy()
    for j in np.flatnonzero(apart > 0):
        order = np.argsort(increments[:, j], kind="stable")
        value = increments[order, j]
        limit = 1.01 * apart[j]
        new = np.r_[True, (np.diff(value) > limit) | (np.diff(np.sign(value)) != 0)]
        start = np.flatnonzero(new)
        end = np.append(start[1:], len(value))
        together = value[end - 1] - value[start] <= limit
        middle = np.where(together, value[(start + end - 1) // 2], 0.0)
        run = np.cumsum(new) - 1
        made[order, j] = np.where(together[run], middle[run], value)
    return made


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
                for v in (some[c], columns[c])
            ):
                found[c] = 1 / scale
    return found
