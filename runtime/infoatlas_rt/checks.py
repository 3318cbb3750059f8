"""Checks of arguments, done once, where a user passes them in; what follows relies on them."""

from __future__ import annotations

import math
import operator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .errors import InputError
from .reals import Reals, as_reals, has_mask, merge
from .tables import column_label

LARGEST_STATE = 1e100  # the variance of larger values overflows; no sensor reports them


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
    if has_mask(values):
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
            f"the first at sample {row}, coordinate {column_label(values, column)}: remove those "
            "pairs from x and y"
        )
    return np.ascontiguousarray(merge(Reals(high, low)))


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
    if has_mask(values):
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
