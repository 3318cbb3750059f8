"""Rows of two series at several lags, within trajectories; and labels of sides."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from infoatlas_rt.errors import InputError
from infoatlas_rt.inputs.arrays import column_names
from infoatlas_rt.inputs.checks import as_samples

NAMED = 3  # columns that a label lists, at most


def lagged_rows(
    x: Any, y: Any, lags: Sequence[Sequence[int]]
) -> tuple[NDArray[Any], NDArray[Any], NDArray[Any], NDArray[np.int64]]:
    """States of x and y at several lags behind each step t, and the trajectory of each row.

    x and y are series [T] or [T, d], or lists of such trajectories. `lags` are those of x, of y,
    and a second set of lags of y; a negative lag is ahead of t. Rows have the states side by side,
    as [n, len(lags[0]) dx]. Trajectories [n] are 0..N-1, ascending; only those with rows count.
    InputError if the series do not fit together, or none is longer than the lags.
    """
    reach = max(0, *(max(some, default=0) for some in lags))
    ahead = max(0, *(-min(some, default=0) for some in lags))
    parts: list[list[NDArray[np.float64]]] = []
    pairs = _pairs(x, y)
    for a, b in pairs:
        steps = np.arange(reach, len(a) - ahead)
        if len(steps):
            sides = zip((a, b, b), lags, strict=True)
            states = (side[steps[:, None] - np.array(some, np.int64)] for side, some in sides)
            parts.append([own.reshape(len(steps), -1) for own in states])
    if not parts:
        longest = max(len(a) for a, _ in pairs)
        raise InputError(
            f"the lags need more than {reach + ahead} steps, and the longest series has "
            f"{longest}: pass smaller lags, or longer series"
        )
    one, two, three = (np.concatenate(side) for side in zip(*parts, strict=True))
    return one, two, three, np.repeat(np.arange(len(parts)), [len(part[0]) for part in parts])


def _pairs(x: Any, y: Any) -> list[tuple[NDArray[np.float64], NDArray[np.float64]]]:
    """The trajectories of both series, checked."""
    if _is_list(x) != _is_list(y):
        raise InputError(
            "one of x and y is a list of trajectories and the other is not: pass two lists, or "
            "two series"
        )
    if not _is_list(x):
        x, y = [x], [y]
    if len(x) != len(y):
        raise InputError(f"x has {len(x)} trajectories and y has {len(y)}: pass as many of each")
    where = [f" of trajectory {i}" if len(x) > 1 else "" for i in range(len(x))]
    sides = [
        # A shift of each trajectory by its own first integer would remove offsets between them.
        [as_samples(part, name + at, len(x) == 1) for part, at in zip(side, where, strict=True)]
        for name, side in (("x", x), ("y", y))
    ]
    for name, side in (("x", x), ("y", y)):
        columns = [column_names(part) for part in side]
        for i, other in enumerate(columns):
            if other != columns[0]:
                raise InputError(
                    f"{name} of trajectory {i} has the columns {', '.join(other or ()) or 'none'}, "
                    f"and that of trajectory 0 {', '.join(columns[0] or ()) or 'none'}: pass the "
                    "same ones in the same order"
                )
    pairs = list(zip(*sides, strict=True))
    for (a, b), at in zip(pairs, where, strict=True):
        if len(a) != len(b):
            raise InputError(
                f"x{at} has {len(a)} steps and y{at} has {len(b)}: pass as many of each"
            )
        if (a.shape[1], b.shape[1]) != (pairs[0][0].shape[1], pairs[0][1].shape[1]):
            raise InputError(
                f"x and y{at} have {a.shape[1]} and {b.shape[1]} coordinates, those of trajectory "
                f"0 {pairs[0][0].shape[1]} and {pairs[0][1].shape[1]}: pass the same ones"
            )
    return pairs


def _is_list(values: Any) -> bool:
    """Whether values are a list of arrays or tables, not one array as lists of numbers."""
    return isinstance(values, list | tuple) and bool(values) and hasattr(values[0], "shape")


def side_label(values: Any, name: str) -> str:
    """Names of the columns of a side, if they are few; otherwise `name`."""
    columns = column_names(values)
    if not columns and isinstance(getattr(values, "name", None), str):
        columns = (values.name,)  # of a Series
    return ", ".join(columns) if 0 < len(columns) <= NAMED else name


def series_label(values: Any, name: str) -> str:
    """`side_label` of a series, or of the first of a list of trajectories."""
    return side_label(values[0] if _is_list(values) else values, name)
