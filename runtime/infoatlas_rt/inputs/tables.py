"""Tables with named columns, as pandas has them; no such library is imported."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..errors import InputError

_NUMBERS = (int, float, np.integer, np.floating, np.bool_)


def is_table(values: Any) -> bool:
    """Whether values are a DataFrame or a Series of pandas, or of a library like it."""
    return hasattr(values, "iloc") and hasattr(values, "to_numpy")


def column_names(values: Any) -> tuple[str, ...]:
    """Names of the columns of a table [n, d]; empty if they are mere numbers, or it is no table."""
    columns = getattr(values, "columns", None)
    return _names(columns) if columns is not None else ()


def state_names(state: Any) -> tuple[str, ...]:
    """Names in a row of a table [d] (its index); empty as in `column_names`."""
    return _names(state.index) if is_table(state) and np.ndim(state) == 1 else ()


def column_label(values: Any, column: int) -> str:
    """A coordinate for an error message: its number, and its name where it has one."""
    names = column_names(values)
    return f"{column} ({names[column]!r})" if column < len(names) else str(column)


def as_array_like(values: Any, name: str) -> Any:
    """The same values for NumPy to read; missing ones (NA) as NaN.

    Raises
    ------
    InputError
        A column of a table is no numbers; the message names it.
    """
    if not is_table(values):
        return values
    dtypes = list(values.dtypes) if np.ndim(values) == 2 else [values.dtype]
    if all(isinstance(dtype, np.dtype) and dtype.kind in "buif" for dtype in dtypes):
        array = values.to_numpy()
        # Integers beside floats become floats, which round large ones; as objects they stay.
        rounded = len(set(dtypes)) > 1 and bool((np.abs(array) >= 2**53).any())
        return values.to_numpy(dtype=object) if rounded else array
    objects = np.where(values.isna(), np.nan, values.to_numpy(dtype=object))
    for column, dtype in enumerate(dtypes):
        entries = objects[:, column] if objects.ndim == 2 else objects
        other = next((entry for entry in entries if not isinstance(entry, _NUMBERS)), None)
        if other is not None:
            raise InputError(
                f"{name}, column {column_label(values, column)} has dtype {dtype}, for example "
                f"{other!r}, but only real numbers can be used: convert it, or leave it out"
            )
    return objects


def _names(labels: Any) -> tuple[str, ...]:
    if all(isinstance(label, int | np.integer) for label in labels):
        return ()  # the numbers that pandas gives to columns without names
    return tuple(
        ".".join(map(str, label)) if isinstance(label, tuple) else str(label) for label in labels
    )
