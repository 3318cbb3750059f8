"""Real numbers of any type as float64, without loss.

`as_reals` reads all data: samples, states that are pushed, steps of parallel environments and
trajectories. So types, masks and large integers are treated in one way everywhere.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..errors import InputError

_NUMBERS = (int, float, np.integer, np.floating, np.bool_)
EXACT = 2**53  # integers up to here are floats without loss


class Reals(NamedTuple):
    """Real numbers without loss: each is `high + low`.

    Attributes
    ----------
    high : [...] float64
        The nearest float; NaN where an entry is masked.
    low : [...] float64, or None
        The rounding error of `high`, for integers above 2^53 (encoder counts, nanoseconds since
        1970) and long doubles. None if all errors are 0.
    """

    high: NDArray[np.float64]
    low: NDArray[np.float64] | None


def as_reals(values: Any, name: str) -> Reals:
    """Real numbers of an array-like of any shape; masked entries become NaN.

    Parameters
    ----------
    values : array-like
        Booleans, integers or floats of any size, Python's too; masked arrays, also in lists.
    name : str
        Name of the values in error messages.

    Returns
    -------
    Reals
        `high` is the input itself if that is a float64 array: do not write to it.

    Raises
    ------
    InputError
        The values are no array of real numbers.
    """
    mask, values = None, as_array_like(values, name)
    if has_mask(values):
        values, mask = _without_mask(values), np.asarray(_mask(values))
    try:
        array = np.asarray(values)
        if array.dtype == object or _rounded_by_numpy(values, array):
            objects = np.asarray(values, dtype=object)
            array = objects if objects.shape == array.shape else array
    except Exception as error:  # any error that the __array__ of a foreign type raises
        raise InputError(
            f"{name} ({type(values).__name__}) cannot be read as a NumPy array ({error}): pass an "
            "array of real numbers, with rows of one length"
        ) from error
    if array.dtype == object and all(isinstance(v, _NUMBERS) for v in array.flat):
        reals = _split_objects(array, name)
    elif array.dtype.kind in "buif":
        reals = _split(array)
    else:
        raise InputError(f"{name} {_no_numbers(array)}")
    high, low = reals
    if mask is not None:
        high = np.where(mask, np.nan, high)
    return Reals(high, low if low is not None and low.any() else None)


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


def merge(reals: Reals) -> NDArray[np.float64]:
    """Floats in the order of exact numbers.

    A coordinate that float64 would round is shifted so that the middle one of its samples becomes
    0. Numbers that would still be rounded to one value are separated by the smallest possible
    steps. So the order and all ties are exact, and distances are exact to about 1e-16 of the
    largest.

    Parameters
    ----------
    reals : Reals of shape [n, d]

    Returns
    -------
    [n, d] float64; `reals.high` itself if nothing was rounded
    """
    high, low = reals
    if low is None or not low.any():
        return high
    merged: NDArray[np.float64] = high.copy()
    for column in np.flatnonzero(low.any(axis=0)):
        merged[:, column] = _apart(high[:, column], low[:, column])
    return merged


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


def _rounded_by_numpy(values: Any, array: NDArray[Any]) -> bool:
    """Whether integers in lists or a table may have been rounded to floats."""
    if hasattr(values, "dtype") or array.dtype != np.float64:
        return False
    return bool((np.abs(array) >= EXACT).any())


def _split(array: NDArray[Any]) -> Reals:
    """Numbers of a real dtype as `high` and `low`."""
    if array.dtype.kind in "iu" and array.dtype.itemsize == 8 and array.size:
        if array.min() < -EXACT or array.max() > EXACT:
            array = array.astype(array.dtype.newbyteorder("="), copy=False)
            half = np.array(32, array.dtype)
            # Both halves are exact, so the rounding error of their sum is exact, too (Dekker's fast
            # two-sum).
            top = (array >> half).astype(np.float64) * 2.0**32
            rest = (array & np.array(0xFFFFFFFF, array.dtype)).astype(np.float64)
            high = top + rest
            return Reals(high, rest - (high - top))
    with np.errstate(over="ignore", invalid="ignore"):  # a long double may become infinite
        high = array.astype(np.float64, copy=False)
        if array.dtype.kind != "f" or array.dtype.itemsize <= 8:
            return Reals(high, None)
        low = (array - high).astype(np.float64)
    return Reals(high, np.where(np.isfinite(high), low, 0.0))


def _split_objects(array: NDArray[Any], name: str) -> Reals:
    high, low = np.empty(array.shape), np.zeros(array.shape)
    for at, value in np.ndenumerate(array):
        try:
            high[at] = float(value)
        except OverflowError as error:
            raise InputError(
                f"{name} contains an integer of {value.bit_length()} bits, but real numbers end at "
                "1.8e308: scale it"
            ) from error
        if isinstance(value, int | np.integer):
            low[at] = float(int(value) - int(high[at]))
    return Reals(high, low)


def _apart(high: NDArray[np.float64], low: NDArray[np.float64]) -> NDArray[np.float64]:
    """One coordinate [n] of `merge`; values that are not finite are unchanged."""
    finite = np.isfinite(high)
    if not finite.all():
        merged: NDArray[np.float64] = high.copy()
        merged[finite] = _apart(high[finite], low[finite])
        return merged
    order = np.lexsort((low, high))
    high, low = high[order], low[order]
    middle = len(order) // 2
    with np.errstate(over="ignore"):
        value = (high - high[middle]) + (low - low[middle])
    if not np.isfinite(value).all():  # its range exceeds that of floats: do not shift it
        value = high
    new = np.r_[True, (high[1:] != high[:-1]) | (low[1:] != low[:-1])]
    # Positive floats have the order of their bits, so the next float is the next integer.
    bits = (value[new] + 0.0).view(np.int64)
    key = np.where(bits < 0, np.iinfo(np.int64).min - bits, bits)
    count = np.arange(len(key))
    key = np.maximum.accumulate(key - count) + count
    bits = np.where(key < 0, np.iinfo(np.int64).min - key, key)
    merged = np.empty(len(order))
    merged[order] = bits.view(np.float64)[np.cumsum(new) - 1]
    return merged


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

    Raises
    ------
    InputError
        A column of a table has no numbers; the message names it.
    """
    if not is_table(values):
        return values
    dtypes = list(values.dtypes) if np.ndim(values) == 2 else [values.dtype]
    if all(isinstance(dtype, np.dtype) and dtype.kind in "buif" for dtype in dtypes):
        array = values.to_numpy()
        # Integers beside floats become floats, which rounds large ones; as objects they stay exact.
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
