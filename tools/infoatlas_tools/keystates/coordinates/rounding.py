"""Resolution of the number format that states were recorded in.

The increments of motion at constant velocity are equal except for the rounding of the states. They
may have been rounded to float32, before they were passed as float64, or to the decimals of a text
file.
"""

from __future__ import annotations

import numpy as np

from ...array_types import Float
from .wraps import few_values, some_rows


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
