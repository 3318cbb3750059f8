"""Checks of arguments, made once, in the functions that users call."""

import math
import operator
from collections.abc import Collection
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..errors import InputError
from . import gpu_arrays
from .arrays import as_reals, as_shifted, column_label, has_mask
from .gpu_arrays import Array, array_namespace

LONGEST_SHOWN = 80  # characters of a value in an error
SLOWEST, FASTEST = 1e-6, 1e9  # Hz, of rates
LARGEST_STATE = 1e100  # the variance of larger values overflows; no sensor reports them


def as_samples(values: Any, name: str, shift: bool = True) -> NDArray[np.float64]:
    """Samples of one variable, [n] or [n, d], as finite numbers [n, d]: float64, C-contiguous.

    They have any real type and memory layout, or are nested lists. The input itself is returned if
    it already has this form; it is never written to. With `shift`, coordinates with integers beyond
    2^53 are shifted (`as_shifted`), instead of refused. InputError, which has the name, if the
    values are no array of real numbers, have more than two dimensions, or are empty, masked, NaN or
    infinite.
    """
    if has_mask(values):
        raise InputError(f"{name} has masked entries: {_without(name)}")
    samples = as_shifted(values, name)[0] if shift else as_reals(values, name)
    samples = samples[:, None] if samples.ndim == 1 else samples
    _check_samples(samples, values, name)
    return np.ascontiguousarray(samples)


def as_gpu_samples(values: Array, name: str) -> Array:
    """Checked samples as from `as_samples`, but of torch or CuPy, on a GPU and without leaving it.

    Integers beyond 2^53 are rounded to float64 (nanoseconds since 1970 to steps of 256); subtract
    an offset first if that matters. InputError also if a tensor is not dense or requires gradients.
    """
    xp = array_namespace(values)
    if getattr(values, "requires_grad", False):
        raise InputError(f"{name} requires gradients, and none are computed: pass {name}.detach()")
    if not xp.isdtype(values.dtype, ("bool", "integral", "real floating")):
        way_out = (
            "stack its real and imaginary parts as coordinates"
            if xp.isdtype(values.dtype, "complex floating")
            else "convert it to floats"
        )
        raise InputError(
            f"{name} has dtype {values.dtype}, but only real numbers can be used: {way_out}"
        )
    if str(getattr(values, "layout", "torch.strided")) != "torch.strided":
        raise InputError(f"{name} has layout {values.layout}: pass {name}.to_dense()")
    samples = xp.astype(values, xp.float64, copy=False)
    samples = samples[:, None] if samples.ndim == 1 else samples
    _check_samples(samples, values, name)
    return samples


def _check_samples(samples: Array, values: Any, name: str) -> None:
    """Raise InputError unless samples, read from `values`, are [n, d], finite and not empty."""
    shape = tuple(samples.shape)
    if not shape:
        raise InputError(f"{name} is one number, but samples are [n] or [n, d]: pass an array")
    if len(shape) != 2:
        raise InputError(
            f"{name} has shape {shape}, but samples are [n] or [n, d]: "
            "call once for each data set, or flatten the trailing axes into coordinates"
        )
    if 0 in shape:
        lacking = "coordinate" if shape[0] else "sample"
        own = tuple(np.shape(values))  # before one coordinate was added
        raise InputError(f"{name} is empty (shape {own}): pass at least one {lacking}")
    xp = array_namespace(samples)
    finite = xp.isfinite(samples)
    if not xp.all(finite):
        row, column = (int(i[0]) for i in xp.nonzero(~finite))
        raise InputError(
            f"{name} has {int(xp.sum(xp.isnan(samples)))} NaN and "
            f"{int(xp.sum(xp.isinf(samples)))} infinite values, the first at sample {row}, "
            f"coordinate {column_label(values, column)}: {_without(name)}"
        )


def _without(name: str) -> str:
    """Advice about missing values."""
    if name in ("x", "y"):
        return "remove those pairs from x and y; in a time series, fill them in, as lags count rows"
    return "cut those steps off, fill them, or leave it out"


def shown(value: Any) -> str:
    """A value for an error: numbers of NumPy as plain ones, long values with "..."."""
    text = repr(value.tolist() if isinstance(value, np.ndarray | np.generic) else value)
    return text if len(text) <= LONGEST_SHOWN else f"{text[:LONGEST_SHOWN]}..."


def as_resolution(value: Any, d: int | None, name: str) -> NDArray[np.float64] | None:
    """Rounding step of each coordinate [d], in the units of the data; 0 leaves one as it is.

    d is None if it is not known yet; then it is the number of values. InputError if the value is
    not one number or d numbers, or is negative, NaN or infinite.
    """
    if value is None:
        return None
    if gpu_arrays.gpu_of(value) is not None:
        value = gpu_arrays.to_host(value)
    try:
        steps = as_reals(value, name)
        step = np.broadcast_to(steps, (steps.size if d is None else d,))
    except ValueError as error:
        raise InputError(
            f"{name} is {shown(value)}, but has to be one number or one for each of the "
            f"{'' if d is None else d} coordinates"
        ) from error
    if not (np.isfinite(step) & (step >= 0)).all():
        raise InputError(f"{name} is {shown(value)}, but has to be finite and not negative")
    return step


def as_number(value: Any, name: str, what: str = "a number") -> float:
    """A real number, finite or not; InputError for text, a flag, None or several numbers."""
    try:
        kind = getattr(getattr(value, "dtype", None), "kind", "f")
        if isinstance(value, bool | str | bytes) or kind not in "iuf" or np.ndim(value):
            raise TypeError("no number")
        return float(value)
    except (TypeError, ValueError, OverflowError) as error:
        raise InputError(f"{name} is {shown(value)}, but has to be {what}") from error


def as_seconds(value: Any, name: str) -> float:
    """Return a duration, a finite number of seconds above 0, or raise InputError."""
    seconds = as_number(value, name, "seconds above 0")
    if not 0 < seconds < math.inf:
        raise InputError(f"{name} is {shown(value)}, but has to be seconds above 0")
    return seconds


def as_rate(value: Any, name: str) -> float:
    """Return a rate, samples per second (Hz) from 1e-6 to 1e9, or raise InputError."""
    what = f"samples per second (Hz), {SLOWEST:g} to {FASTEST:g}, or None if unknown"
    rate = as_number(value, name, what)
    if not SLOWEST <= rate <= FASTEST:
        raise InputError(f"{name} is {shown(value)}, but has to be {what}")
    return rate


def as_flag(value: Any, name: str) -> bool:
    """Return True or False; InputError for text such as "no", which would count as true."""
    if not isinstance(value, bool | np.bool_):
        raise InputError(f"{name} is {shown(value)}, but has to be True or False")
    return bool(value)


def as_choice(value: Any, name: str, choices: Collection[str]) -> str:
    """Return one of some words, or raise InputError."""
    if not isinstance(value, str) or value not in choices:
        raise InputError(f"{name} is {shown(value)}: use one of {', '.join(choices)}")
    return value


def as_groups(values: Any, n: int) -> NDArray[np.int64] | None:
    """Group of each of n samples [n], numbered 0..G-1; None if each group has one sample.

    Equal integers are one group. Arrays on a GPU are copied to the host. InputError if there are
    not n integers, or fewer than two groups.
    """
    if has_mask(values):
        raise InputError("groups has masked entries: every sample belongs to one")
    if gpu_arrays.gpu_of(values) is not None:
        values = gpu_arrays.to_host(values)
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
    return None if len(names) == n else groups.astype(np.int64)


def as_count(value: Any, name: str, least: int, most: int | None = None) -> int:
    """An integer argument; InputError if it is none, or is outside of `least` to `most`."""
    limits = f"at least {least}" if most is None else f"from {least} to {most}"
    try:
        count = operator.index(value)
    except TypeError as error:
        raise InputError(f"{name} is {shown(value)}, but has to be an integer {limits}") from error
    if isinstance(value, bool | np.bool_) or count < least or (most is not None and count > most):
        raise InputError(f"{name} is {shown(value)}, but has to be an integer {limits}")
    return count
