"""Rates of recordings in Hz: what a file states, or what its times of samples show."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..errors import InputError
from ..inputs.checks import as_rate

EVEN = 0.1  # steps of time differ from their median by this part of it at most
_TIME = re.compile(r"(time|timestamp|t|seconds)(?:\s*[\[(]\s*(\w+)\s*[\])]|_(\w+))?", re.IGNORECASE)
_SECONDS = {
    **dict.fromkeys(("s", "sec", "secs", "second", "seconds"), 1.0),
    "ms": 1e-3,
    **dict.fromkeys(("us", "\u03bcs"), 1e-6),
    "ns": 1e-9,
}


def stated_rate(value: Any) -> float | None:
    """A rate that a file states, Hz; None if it is missing or no finite number above 0."""
    try:
        return as_rate(value, "rate")
    except InputError:
        return None


def table_rate(
    states: NDArray[np.floating], names: Sequence[str], lengths: NDArray[np.int64] | None
) -> float | None:
    """Rate of a table by the first of its columns of times that shows one, Hz.

    Parameters
    ----------
    states : [n, d]
    names : sequence of str, d of them, or empty
        A column of times is called time, timestamp, t or seconds in upper or lower case; a unit
        may follow in brackets or after "_", as in "Time [ms]" or "t_s".
    lengths : [N] int64, or None
        Of the trajectories; one if None. Steps back in time within one are passed over: there the
        clock began anew.

    Returns
    -------
    float or None
        1 / median step. None without such a column; if a step differs from the median by more than
        `EVEN` of it; or if the times are whole numbers and no unit is named, for they may be
        counts, milliseconds or nanoseconds.
    """
    for column, name in enumerate(names):
        found = _TIME.fullmatch(name)
        if found:
            implied = "s" if found[1].lower() == "seconds" else None
            unit = found[2] or found[3] or implied
            known = unit is None or unit.casefold() in _SECONDS
            rate = _even_rate(states[:, column], lengths, unit) if known else None
            if rate is not None:
                return rate
    return None


def _even_rate(
    times: NDArray[np.floating], lengths: NDArray[np.int64] | None, unit: str | None
) -> float | None:
    """Rate in Hz of times in a unit; None if their steps are not even."""
    if unit is None and (times == np.rint(times)).all():
        return None
    with np.errstate(all="ignore"):  # of infinite times, which are refused later
        steps = np.diff(times)
        if lengths is not None:
            steps = np.delete(steps, np.cumsum(lengths)[:-1] - 1)
        steps = steps[~(steps < 0)]
        if not len(steps):
            return None
        step = np.median(steps)
        if not (np.abs(steps - step) <= EVEN * step).all():
            return None
        return stated_rate(1 / (step * _SECONDS[(unit or "s").casefold()]))
