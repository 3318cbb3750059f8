"""Checks of what users pass in, done once at the border so that the numerics can rely on it."""

from __future__ import annotations

import operator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .errors import InputError


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
        The input itself where it already has this form; it is never written to.

    Raises
    ------
    InputError
        Not an array of real numbers, more than two dimensions, empty, masked, NaN or infinite.
    """
    if np.ma.is_masked(values):
        raise InputError(f"{name} has masked entries: remove those pairs from x and y")
    try:
        array = np.asarray(values)
    except (ValueError, TypeError, RuntimeError) as error:
        raise InputError(
            f"{name} ({type(values).__name__}) cannot be read as a NumPy array: {error}"
        ) from error
    if array.dtype.kind not in "buif":
        raise InputError(
            f"{name} has dtype {array.dtype}, but only real numbers can be used: "
            "convert it to a float array first (for complex data, stack real and imaginary parts)"
        )
    if array.ndim == 1:
        array = array[:, None]
    if array.ndim != 2:
        raise InputError(
            f"{name} has shape {array.shape}, but samples are [n] or [n, d]: "
            "call once for each data set, or flatten the trailing axes into coordinates"
        )
    if array.size == 0:
        raise InputError(f"{name} is empty (shape {array.shape}): pass at least one coordinate")
    with np.errstate(over="ignore"):  # a long double beyond float64 becomes infinite, caught below
        array = np.ascontiguousarray(array, dtype=np.float64)
    finite = np.isfinite(array)
    if not finite.all():
        row, column = (int(i) for i in np.argwhere(~finite)[0])
        raise InputError(
            f"{name} has {np.isnan(array).sum()} NaN and {np.isinf(array).sum()} infinite values, "
            f"the first at sample {row}, coordinate {column}: remove those pairs from x and y"
        )
    return array


def as_resolution(value: Any, d: int, name: str) -> NDArray[np.float64] | None:
    """Rounding step of each coordinate, in the units of the data; 0 leaves a coordinate as it is.

    Parameters
    ----------
    value : None, float or array-like [d]
    d : int
        Coordinates of the side it belongs to.
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
        step = np.broadcast_to(np.asarray(value, dtype=np.float64), (d,))
    except (ValueError, TypeError) as error:
        raise InputError(
            f"{name} is {value!r}, but has to be one number or one for each of the {d} coordinates"
        ) from error
    if not (np.isfinite(step) & (step >= 0)).all():
        raise InputError(f"{name} is {value!r}, but has to be finite and not negative")
    return step


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
