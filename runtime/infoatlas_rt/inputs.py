"""Checks of what users pass in, done once at the border so that the numerics can rely on it.

Everything that holds data comes in through `as_reals`: samples, states that are pushed, steps of
parallel environments, trajectories. So a type, a mask or a large integer means the same everywhere.
"""

from __future__ import annotations

import math
import operator
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from .errors import InputError

EXACT = 2**53  # integers up to here are floats without loss
LARGEST_STATE = 1e100  # beyond it a variance overflows: no sensor means that


class Reals(NamedTuple):
    """Real numbers without loss: each is `high + low`.

    Attributes
    ----------
    high : [...] float64
        The nearest float; NaN where an entry is masked.
    low : [...] float64, or None
        What it lacks: of integers above 2^53 (encoder counts, nanoseconds since 1970) and of long
        doubles. None if nothing lacks anything.
    """

    high: NDArray[np.float64]
    low: NDArray[np.float64] | None


def as_reals(values: Any, name: str) -> Reals:
    """Any array-like of real numbers, whatever its shape; masked entries become NaN.

    Parameters
    ----------
    values : array-like
        Booleans, integers or floats of any size, Python's too; masked arrays, also in lists.
    name : str
        What to call it in error messages.

    Returns
    -------
    Reals
        `high` is the input itself where it is a float64 array: do not write to it.

    Raises
    ------
    InputError
        It cannot be read as an array of real numbers.
    """
    mask = None
    if _has_mask(values):
        values, mask = _without_mask(values), np.asarray(_mask(values))
    try:
        array = np.asarray(values)
        if array.dtype == object or _rounded_by_numpy(values, array):
            objects = np.asarray(values, dtype=object)
            array = objects if objects.shape == array.shape else array
    except Exception as error:  # whatever the __array__ of a foreign type raises
        raise InputError(
            f"{name} ({type(values).__name__}) cannot be read as a NumPy array: {error}"
        ) from error
    if array.dtype == object and all(isinstance(v, _NUMBERS) for v in array.flat):
        reals = _split_objects(array, name)
    elif array.dtype.kind in "buif":
        reals = _split(array)
    else:
        raise InputError(
            f"{name} has dtype {array.dtype}, but only real numbers can be used: "
            "convert it to a float array first (for complex data, stack real and imaginary parts)"
        )
    high, low = reals
    if mask is not None:
        high = np.where(mask, np.nan, high)
    return Reals(high, low if low is not None and low.any() else None)


def merge(reals: Reals) -> NDArray[np.float64]:
    """Floats in the order of exact numbers.

    A coordinate that float64 would round is moved so that the middle one of its samples becomes 0,
    and numbers that still round to one are kept apart by the smallest steps that there are. So the
    order and all ties are right, and distances to about 1e-16 of the largest.

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
    merged = high.copy()
    for column in np.flatnonzero(low.any(axis=0)):
        merged[:, column] = _apart(high[:, column], low[:, column])
    return merged


def as_samples(values: Any, name: str) -> NDArray[np.float64]:
    """Samples of one variable as a two-dimensional array of finite numbers.

    Parameters
    ----------
    values : array-like [n] or [n, d]
        Any real type: booleans, integers, any float; any memory layout; nested lists.
    name : str
        What to call it in error messages.

    Returns
    -------
    [n, d] float64, C-contiguous
        The input itself where it already has this form; it is never written to. Coordinates with
        numbers that float64 would round are moved: see `merge`.

    Raises
    ------
    InputError
        Not an array of real numbers, more than two dimensions, empty, masked, NaN or infinite.
    """
    if _has_mask(values):
        raise InputError(f"{name} has masked entries: remove those pairs from x and y")
    high, low = as_reals(values, name)
    if high.ndim == 1:
        high, low = high[:, None], None if low is None else low[:, None]
    if high.ndim != 2:
        raise InputError(
            f"{name} has shape {high.shape}, but samples are [n] or [n, d]: "
            "call once for each data set, or flatten the trailing axes into coordinates"
        )
    if high.size == 0:
        raise InputError(f"{name} is empty (shape {high.shape}): pass at least one coordinate")
    finite = np.isfinite(high)
    if not finite.all():
        row, column = (int(i) for i in np.argwhere(~finite)[0])
        raise InputError(
            f"{name} has {np.isnan(high).sum()} NaN and {np.isinf(high).sum()} infinite values, "
            f"the first at sample {row}, coordinate {column}: remove those pairs from x and y"
        )
    return np.ascontiguousarray(merge(Reals(high, low)))


_NUMBERS = (int, float, np.integer, np.floating, np.bool_)


def _has_mask(values: Any, depth: int = 4) -> bool:
    """Whether a masked array, also within lists, has masked entries."""
    if isinstance(values, np.ma.MaskedArray):
        return bool(np.ma.is_masked(values))
    if depth and isinstance(values, list | tuple):
        nested = (v for v in values if isinstance(v, list | tuple | np.ma.MaskedArray))
        return any(_has_mask(v, depth - 1) for v in nested)
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
    """Whether integers may have been rounded on the way from lists, or from a table, to floats."""
    if hasattr(values, "dtype") or array.dtype != np.float64:
        return False
    return bool((np.abs(array) >= EXACT).any())


def _split(array: NDArray[Any]) -> Reals:
    """Numbers of a real dtype as `high` and `low`."""
    if array.dtype.kind in "iu" and array.dtype.itemsize == 8 and array.size:
        if array.min() < -EXACT or array.max() > EXACT:
            array = array.astype(array.dtype.newbyteorder("="), copy=False)
            half = np.array(32, array.dtype)
            # Both halves are exact, so their sum's rounding error is too (Dekker's fast two-sum).
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
                f"{name} holds an integer of {value.bit_length()} bits, but real numbers end at "
                "1.8e308: scale it"
            ) from error
        if isinstance(value, int | np.integer):
            low[at] = float(int(value) - int(high[at]))
    return Reals(high, low)


def _apart(high: NDArray[np.float64], low: NDArray[np.float64]) -> NDArray[np.float64]:
    """One coordinate [n] of `merge`; what is not finite stays as it is."""
    finite = np.isfinite(high)
    if not finite.all():
        merged = high.copy()
        merged[finite] = _apart(high[finite], low[finite])
        return merged
    order = np.lexsort((low, high))
    high, low = high[order], low[order]
    middle = len(order) // 2
    with np.errstate(over="ignore"):
        value = (high - high[middle]) + (low - low[middle])
    if not np.isfinite(value).all():  # it spans all floats: leave it where it is
        value = high
    new = np.r_[True, (high[1:] != high[:-1]) | (low[1:] != low[:-1])]
    # Positive floats are ordered as their bits are, so the next float is the next integer.
    bits = (value[new] + 0.0).view(np.int64)
    key = np.where(bits < 0, np.iinfo(np.int64).min - bits, bits)
    count = np.arange(len(key))
    key = np.maximum.accumulate(key - count) + count
    bits = np.where(key < 0, np.iinfo(np.int64).min - key, key)
    merged = np.empty(len(order))
    merged[order] = bits.view(np.float64)[np.cumsum(new) - 1]
    return merged


def as_resolution(value: Any, d: int | None, name: str) -> NDArray[np.float64] | None:
    """Rounding step of each coordinate, in the units of the data; 0 leaves a coordinate as it is.

    Parameters
    ----------
    value : None, float or array-like [d]
    d : int, optional
        Coordinates of the side it belongs to; as many as there are values if not known yet.
    name : str

    Returns
    -------
    [d] float64, or None

    Raises
    ------
    InputError
        Not a number or `d` numbers, negative, NaN or infinite.
    """
    if value is None:
        return None
    try:
        steps = as_reals(value, name).high
        step = np.broadcast_to(steps, (steps.size if d is None else d,))
    except ValueError as error:
        raise InputError(
            f"{name} is {value!r}, but has to be one number or one for each of the "
            f"{'' if d is None else d} coordinates"
        ) from error
    if not (np.isfinite(step) & (step >= 0)).all():
        raise InputError(f"{name} is {value!r}, but has to be finite and not negative")
    return step


def as_number(value: Any, name: str, what: str = "a number") -> float:
    """Return a real number that need not be finite, as a float.

    Raises
    ------
    InputError
        Not one number: text, a flag, None, several.
    """
    try:
        kind = getattr(getattr(value, "dtype", None), "kind", "f")
        if isinstance(value, bool | str | bytes) or kind not in "iuf" or np.ndim(value):
            raise TypeError("no number")
        return float(value)
    except (TypeError, ValueError, OverflowError) as error:
        raise InputError(f"{name} is {value!r}, but has to be {what}") from error


def as_seconds(value: Any, name: str) -> float:
    """Return a duration: a finite number of seconds above 0.

    Raises
    ------
    InputError
    """
    seconds = as_number(value, name, "seconds above 0")
    if not 0 < seconds < math.inf:
        raise InputError(f"{name} is {value!r}, but has to be seconds above 0")
    return seconds


def as_flag(value: Any, name: str) -> bool:
    """Return True or False: text like "no" would count as true elsewhere.

    Raises
    ------
    InputError
    """
    if not isinstance(value, bool | np.bool_):
        raise InputError(f"{name} is {value!r}, but has to be True or False")
    return bool(value)


def as_lengths(values: Any, total: int) -> NDArray[np.int64]:
    """Lengths of trajectories that lie end to end.

    Parameters
    ----------
    values : array-like [N] int
    total : int
        States that there are.

    Returns
    -------
    [N] int64, each at least 1

    Raises
    ------
    InputError
        Not integers, one below 1, or they do not sum to the number of states.
    """
    try:
        lengths = np.asarray(values)
    except Exception as error:
        raise InputError(f"lengths cannot be read as a NumPy array: {error}") from error
    kind = f"lengths {lengths.shape} {lengths.dtype}"
    way_out = "pass the steps of each trajectory, end to end"
    if lengths.ndim != 1 or lengths.dtype.kind not in "ui" or not lengths.size:
        raise InputError(f"{kind} are no list of integers: {way_out}")
    if lengths.min() < 1 or lengths.max() > total:
        raise InputError(
            f"{kind} are from {lengths.min()} to {lengths.max()}, but there are {total} states, "
            f"and each trajectory has one at least: {way_out}"
        )
    if lengths.sum() != total:
        raise InputError(f"lengths sum to {lengths.sum()}, but there are {total} states: {way_out}")
    return lengths.astype(np.int64)


def as_groups(values: Any, n: int) -> NDArray[np.int64]:
    """Group of each of n samples, numbered 0..G-1.

    Parameters
    ----------
    values : array-like [n] of int
        Any integers; equal ones are one group.
    n : int

    Returns
    -------
    [n] int64

    Raises
    ------
    InputError
        Not n integers, or fewer than two groups.
    """
    if _has_mask(values):
        raise InputError("groups has masked entries: every sample belongs to one")
    try:
        array = np.asarray(values)
    except Exception as error:
        raise InputError(f"groups cannot be read as a NumPy array: {error}") from error
    if array.shape != (n,) or array.dtype.kind not in "iu":
        raise InputError(
            f"groups has shape {array.shape}, dtype {array.dtype}: "
            f"pass one integer for each of the {n} samples"
        )
    names, groups = np.unique(array, return_inverse=True)
    if len(names) < 2:
        raise InputError(
            f"all {n} samples are of one group ({names[0]}): pass two groups or more, "
            "or leave groups out"
        )
    return groups.astype(np.int64)


def as_count(value: Any, name: str, least: int, most: int | None = None) -> int:
    """Return an integer argument within its limits.

    Raises
    ------
    InputError
        Not an integer, or outside of `least` to `most`.
    """
    limits = f"at least {least}" if most is None else f"from {least} to {most}"
    try:
        count = operator.index(value)
    except TypeError as error:
        raise InputError(f"{name} is {value!r}, but has to be an integer {limits}") from error
    if isinstance(value, bool | np.bool_) or count < least or (most is not None and count > most):
        raise InputError(f"{name} is {value!r}, but has to be an integer {limits}")
    return count
