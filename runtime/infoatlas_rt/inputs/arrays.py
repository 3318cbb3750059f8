"""Real numbers of any type as float64.

`as_reals` and `as_shifted` read all data: samples, states that are pushed, steps of parallel
environments and trajectories. So types, masks and large integers are treated in one way everywhere.
"""

from collections.abc import Sequence
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..errors import InputError

_INTEGERS = (int, np.integer)
_NUMBERS = (*_INTEGERS, float, np.floating, np.bool_)
EXACT = 2**53  # integers up to here are floats without loss


def as_reals(values: Any, name: str) -> NDArray[np.float64]:
    """Real numbers, float64, of an array-like of any shape; masked entries become NaN.

    The values are booleans, integers or floats of any size, Python's too; masked arrays, also in
    lists. A float64 array is returned itself: do not write to it. InputError, which has the name,
    if they are no array of real numbers, or have an integer beyond 2^53.
    """
    array = _read(values, name)
    large = _large(array)
    if large.any():
        raise InputError(
            f"{name} has the integer {array[large].flat[0]}, and float64 is exact to 2^53: "
            "subtract the first of these integers from all of them"
        )
    return _floats(array, values, name)


def as_shifted(values: Any, name: str) -> tuple[NDArray[np.float64], dict[int, int]]:
    """As `as_reals`, but a column with integers beyond 2^53 has its first integer subtracted.

    The subtraction is exact. So differences are exact to 2^53, as of encoder counts and of
    nanoseconds since 1970. The second result is what was subtracted, by column. InputError also if
    float64 would round a difference.
    """
    array = _read(values, name)
    large = _large(array)
    if not large.any() or not array.ndim:
        return _floats(array, values, name), {}
    array = array.astype(object, order="C")
    rows, origins = array.reshape(len(array), -1), dict[int, int]()
    for column in np.flatnonzero(large.reshape(len(array), -1).any(axis=0)).tolist():
        own = [_exact(v) for v in rows[:, column]]
        origins[column] = origin = next(v for v in own if isinstance(v, int))
        rows[:, column] = [v if isinstance(v, float | np.floating) else v - origin for v in own]
    return _floats(array, values, name), origins


def side_by_side(parts: Sequence[NDArray[Any]]) -> NDArray[Any]:
    """Columns of all parts [n, ...]; as objects if their common type would round integers."""
    if len({part.dtype for part in parts}) > 1 and any(_large(part).any() for part in parts):
        parts = [part.astype(object) for part in parts]
    return parts[0] if len(parts) == 1 else np.concatenate(parts, axis=1)


def _read(values: Any, name: str) -> NDArray[Any]:
    """Numbers of a real dtype, or objects that are numbers; NaN for masked entries."""
    mask, values = None, as_array_like(values, name)
    if has_mask(values):
        values, mask = _without_mask(values), np.asarray(_mask(values))
    try:
        array = np.asarray(values)
        if array.dtype == object or _may_be_rounded(values, array):
            objects = np.asarray(values, dtype=object)
            array = objects if objects.shape == array.shape else array
    except Exception as error:  # any error that the __array__ of a foreign type raises
        raise InputError(
            f"{name} ({type(values).__name__}) cannot be read as a NumPy array ({error}): pass an "
            "array of real numbers, with rows of one length"
        ) from error
    if array.dtype == object:
        real = all(isinstance(v, _NUMBERS) for v in array.flat)
    else:
        real = array.dtype.kind in "buif"
    if not real:
        raise InputError(f"{name} {_no_numbers(array)}")
    if mask is None:
        return array
    return np.where(mask, np.nan, array.astype(object) if _large(array).any() else array)


def _exact(value: Any) -> Any:
    """An integer or a fraction for a finite number."""
    if isinstance(value, np.floating | float):
        return Fraction(*value.as_integer_ratio()) if np.isfinite(value) else value
    return int(value)


def _large(array: NDArray[Any]) -> NDArray[np.bool_]:
    """Where an array has integers beyond `EXACT`."""
    if array.dtype == object:
        large = np.frompyfunc(lambda v: isinstance(v, _INTEGERS) and abs(int(v)) > EXACT, 1, 1)
        return np.asarray(large(array), np.bool_)
    if array.dtype.kind in "iu" and array.dtype.itemsize == 8:
        return np.asarray((array > EXACT) | (array < -EXACT))
    return np.zeros(0, np.bool_)


def _floats(array: NDArray[Any], values: Any, name: str) -> NDArray[np.float64]:
    """The numbers as float64; InputError if it would round integers."""
    try:
        with np.errstate(over="ignore", invalid="ignore"):  # a long double may become infinite
            floats = array.astype(np.float64, copy=False)
    except OverflowError as error:
        bits = max(int(v).bit_length() for v in array.flat if isinstance(v, _INTEGERS))
        raise InputError(
            f"{name} contains an integer of {bits} bits, but real numbers end at 1.8e308: scale it"
        ) from error
    if array.dtype == object or array.dtype.itemsize > 8:  # objects and long doubles
        large = np.isfinite(floats) & (np.abs(floats) > EXACT)
        for at in np.argwhere(large & (floats.astype(array.dtype) != array))[:1]:
            column = f", column {column_label(values, at[1])}" if array.shape[1:] > (1,) else ""
            row = f"the one in row {at[0]}" if array.ndim else "it"
            raise InputError(
                f"{name}{column} has numbers that range beyond 2^53, and float64 would round "
                f"{row}: scale it, or convert it to float64 if rounding is right"
            )
    return floats


def _no_numbers(array: NDArray[Any]) -> str:
    """Message for an array that has something else than real numbers."""
    kind, entry, at = str(array.dtype.kind), None, ""
    if kind == "O":
        where, entry = next(
            (i, entry) for i, entry in np.ndenumerate(array) if not isinstance(entry, _NUMBERS)
        )
        kind = {complex: "c", str: "U", bytes: "S"}.get(type(entry), "O")
        at = f" at index {list(where)}" if where else ""
    elif kind in "US":
        entry = array.flat[0].item() if array.size else ""
    if kind == "c":
        return f"is complex{at}: stack its real and imaginary parts as coordinates"
    if kind in "US":
        return f"contains text, as {entry!r}{at}: convert it to floats, or leave it out"
    if kind in "mM":
        return f"contains times ({array.dtype}): pass seconds since the first, as floats"
    if array.dtype.names:
        return f"has named fields ({', '.join(array.dtype.names)}): stack them as coordinates"
    if entry is None and at:
        return f"contains None{at}: remove it, or pass a number"
    if at:
        return f"contains no real number{at} but {type(entry).__name__}: convert it to a float"
    what = "None" if entry is None else f"of the type {type(entry).__name__}"
    return f"is {what}: pass an array of real numbers"


def has_mask(values: Any, depth: int = 4) -> bool:
    """Whether a masked array, possibly within lists, has masked entries."""
    if isinstance(values, np.ma.MaskedArray):
        return bool(np.ma.is_masked(values))
    if depth and isinstance(values, list | tuple):
        nested = (v for v in values if isinstance(v, list | tuple | np.ma.MaskedArray))
        return any(has_mask(v, depth - 1) for v in nested)
    return False


def _mask(values: Any) -> Any:
    if isinstance(values, list | tuple):
        return [_mask(v) for v in values]
    return np.ma.getmaskarray(values) if np.ndim(values) else bool(np.ma.is_masked(values))


def _without_mask(values: Any) -> Any:
    if isinstance(values, list | tuple):
        return [_without_mask(v) for v in values]
    return values.data if isinstance(values, np.ma.MaskedArray) else values


def _may_be_rounded(values: Any, array: NDArray[Any]) -> bool:
    """Whether integers in lists or a table may have been rounded to floats."""
    if hasattr(values, "dtype") or array.dtype != np.float64:
        return False
    return bool((np.abs(array) >= EXACT).any())


# Tables with named columns, as those of pandas, which is not imported.


def is_table(values: Any) -> bool:
    """Whether values are a DataFrame or a Series of pandas, or of a library like it."""
    return hasattr(values, "iloc") and hasattr(values, "to_numpy")


def column_names(values: Any) -> tuple[str, ...]:
    """Names of the columns of a table [n, d]; empty if they are numbers, or if it is no table."""
    columns = getattr(values, "columns", None)
    return _names(columns) if columns is not None else ()


def state_names(state: Any) -> tuple[str, ...]:
    """Names in a row of a table [d] (its index); empty in the cases of `column_names`."""
    return _names(state.index) if is_table(state) and np.ndim(state) == 1 else ()


def column_label(values: Any, column: int) -> str:
    """A coordinate for an error message: its number, and its name if it has one."""
    names = column_names(values)
    return f"{column} ({names[column]!r})" if column < len(names) else str(column)


def as_array_like(values: Any, name: str) -> Any:
    """The values in a form that NumPy can read, with NaN for missing ones (NA).

    InputError names a column of a table that has no numbers.
    """
    if not is_table(values):
        return values
    dtypes = list(values.dtypes) if np.ndim(values) == 2 else [values.dtype]
    if all(isinstance(dtype, np.dtype) and dtype.kind in "buif" for dtype in dtypes):
        array = values.to_numpy()
        # Integers beside floats become floats, which rounds large ones; as objects they stay exact.
        rounded = len(set(dtypes)) > 1 and bool((np.abs(array) >= EXACT).any())
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
