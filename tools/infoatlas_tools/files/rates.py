"""Rates of recordings in Hz, stated in a file or derived from the times of samples."""

import re
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from infoatlas_rt.errors import InputError
from infoatlas_rt.inputs.checks import as_rate

from ..presentation import first_names

EVEN = 0.1  # of the median: steps of time differ from it by at most so much
GAP = 10.0  # median steps of time: a longer step is a pause between demonstrations
HOLE = 1.5  # times the median: a longer step of time is a hole
ENOUGH = 20  # steps of time that jitter, whose mean is a rate
NAMED = 3  # demonstrations in a text, at most
SINCE_1970 = 1e9, 4.2e9  # s; times of 2001 to 2103
_UNIT = r"(?:\s*[\[(]\s*(\w+)\s*[\])]|[_.](\w+))?"
_WORDS = "time_?stamp|time|stamp|seconds|elapsed|clock"
_TIME = re.compile(rf"(?:(?:.*[\W_])?({_WORDS})|\W*(t)(?:_rel)?){_UNIT}", re.IGNORECASE)
_REST = re.compile(r"(.*)n(?:ano)?secs?", re.IGNORECASE)
_SECONDS = {
    **dict.fromkeys(("s", "sec", "secs", "second", "seconds"), 1.0),
    **dict.fromkeys(("ms", "msec", "milliseconds"), 1e-3),
    **dict.fromkeys(("us", "\u03bcs", "usec", "microseconds"), 1e-6),
    **dict.fromkeys(("ns", "nsec", "nsecs", "nanosec", "nanosecs", "nanoseconds"), 1e-9),
}


def stated_rate(value: Any) -> float | None:
    """A rate that a file states, Hz; None if it is missing or no finite number above 0."""
    try:
        return as_rate(value, "rate")
    except InputError:
        return None


def is_time(name: str) -> bool:
    """Whether a column of this name may contain times.

    The names are time, timestamp, stamp, seconds, elapsed, clock and t in any case, as in "__time"
    or "header.stamp". A unit of time may follow in brackets or after "_", as in "Time [ms]" or
    "t_s".
    """
    found = _TIME.fullmatch(name)
    if not found:
        return False
    unit = found[3] or found[4]
    return not unit or unit.casefold() in _SECONDS


def is_rest(name: str, names: Sequence[str]) -> bool:
    """Whether a column contains the nanoseconds within the seconds of another, as in ROS stamps."""
    found = _REST.fullmatch(name)
    return found is not None and not {f"{found[1]}sec", f"{found[1]}secs"}.isdisjoint(names)


def time_unit(name: str) -> float | None:
    """Unit that the name of a column of times states, in seconds; None if it states none."""
    found = _TIME.fullmatch(name)
    if not found:
        return None
    unit = found[3] or found[4] or ("s" if (found[1] or "").lower() == "seconds" else "")
    return _SECONDS.get(unit.casefold())


def unit_by_digits(first: float, unit: float | None) -> float | None:
    """Unit of times in seconds: as stated, unless the first time is then beyond the year 2280.

    Times since 1970 have 13, 16 or 19 digits in milliseconds, microseconds and nanoseconds.
    """
    if first * (unit or 1.0) < 1e10:
        return unit
    low, high = SINCE_1970
    return next((u for u in (1e-3, 1e-6, 1e-9) if low <= first * u < high), unit)


def rate_by(steps: NDArray[np.floating], count: int = 1) -> float:
    """Rate of samples by their steps of time in `count` trajectories: 1 / mean step.

    Steps that differ from the mean by more than half of it are left out, as pauses and lost
    samples, if most remain. The rate has as few digits as rounding or jitter leaves certain. It is
    infinite if the median step is 0.
    """
    middle = float(np.median(steps))
    if not 0 < middle < np.inf:
        return np.inf
    near = steps[steps <= GAP * middle]
    for _ in range(3):
        regular = steps[np.abs(steps - near.mean()) <= near.mean() / 2]
        near = regular if len(regular) > len(near) / 2 else near
    mean = float(near.mean())
    error = np.sqrt(count) * np.ptp(near) / len(near) + 1e-9 * mean
    rates = [float(f"{1 / mean:.{digits}g}") for digits in range(1, 7)]
    return next((rate for rate in rates if abs(1 / rate - mean) <= error), 1 / mean)


def likely_units(times: NDArray[np.floating], lengths: NDArray[np.int64]) -> list[str]:
    """Units, each with its rate, that give a rate of 0.5 Hz to 2 kHz."""
    steps = _steps(times, lengths)
    rate = rate_by(steps[steps > 0], len(lengths)) if (steps > 0).any() else 0.0
    units = {"s": 1.0, "ms": 1e-3, "us": 1e-6, "ns": 1e-9}
    rates = {unit: rate / size for unit, size in units.items()}
    return [f"{unit} ({rate:.4g} Hz)" for unit, rate in rates.items() if 0.5 < rate < 2e3]


def time_faults(
    times: NDArray[np.floating],
    lengths: NDArray[np.int64],
    names: Sequence[str] = (),
    longest: float = HOLE,
) -> str:
    """Text about times [n] that go back, or have holes, within a trajectory; empty if they do not.

    `names` are those of the trajectories, if any. A step above `longest` times the median is a
    hole.
    """
    with np.errstate(invalid="ignore"):
        step = np.diff(times)
    step[np.cumsum(lengths)[:-1] - 1] = np.nan
    ahead = step[step > 0]
    median = float(np.median(ahead)) if len(ahead) else np.inf
    texts = []
    for rows, what in (
        (np.flatnonzero(step < 0), "{} go back"),
        (np.flatnonzero(step > longest * median), f"{{}} are longer than {longest:g} usual ones"),
    ):
        if len(rows):
            which = int(np.searchsorted(np.cumsum(lengths), rows[0], side="right"))
            at = int(rows[0] + 1 - np.sum(lengths[:which]))
            name = names[which] if names else which
            count = what.format(f"{len(rows)} of {np.isfinite(step).sum()} steps")
            texts.append(f"{count}, first before step {at} of demonstration {name}")
    return "; ".join(texts)


def other_rates(rates: Mapping[str, float | None]) -> tuple[float | None, str]:
    """The rate (Hz) of most demonstrations, and text about those of others; empty without any."""
    known = {name: rate for name, rate in rates.items() if rate is not None}
    every = [*known.values()]
    like = [[own for own in every if abs(own / rate - 1) <= EVEN] for rate in every]
    if not known:
        return None, ""
    usual = float(np.median(max(like, key=len)))
    far = [f"{n} ({own:.4g} Hz)" for n, own in known.items() if abs(own / usual - 1) > EVEN]
    text = f"of other rates than {usual:.4g} Hz, whose steps would be wrong in seconds: "
    return usual, f"{text}{first_names(far, NAMED)}" if far else ""


def rates_of(
    times: NDArray[np.floating], lengths: NDArray[np.int64], names: Sequence[str]
) -> dict[str, float | None]:
    """Rate (Hz) of each trajectory by its times [n] in seconds, which may jitter; None if unknown.

    Few times that jitter do not show it.
    """
    found = {}
    for name, own in zip(names, np.split(times, np.cumsum(lengths)[:-1]), strict=True):
        steps = np.diff(own)
        many = len(steps) >= ENOUGH and np.median(steps) > 0
        rate = even_rate(own, np.array([len(own)]), 1.0)
        found[name] = stated_rate(rate_by(steps)) if many else rate
    return found


def real_seconds(
    times: NDArray[np.floating], lengths: NDArray[np.int64], rate: float | None, unit: float = 1.0
) -> NDArray[np.float64] | None:
    """Seconds [n] since the start of each trajectory, of times [n] in a unit in seconds.

    None if steps at the rate (Hz) are nowhere further off than half a step, or times go back.
    """
    start = np.cumsum(lengths) - lengths
    seconds = np.asarray((times - np.repeat(times[start], lengths)) * unit, np.float64)
    if not np.isfinite(seconds).all() or (_steps(seconds, lengths) < 0).any():
        return None
    step = np.arange(len(times)) - np.repeat(start, lengths)
    even = rate is not None and np.abs(seconds * rate - step).max() <= 0.5
    return None if even else seconds


def _steps(times: NDArray[np.floating], lengths: NDArray[np.int64]) -> NDArray[np.floating]:
    return np.delete(np.diff(times), np.cumsum(lengths)[:-1] - 1)


def even_rate(
    times: NDArray[np.floating], lengths: NDArray[np.int64], unit: float | None
) -> float | None:
    """Rate in Hz from the times of samples [n]; see `rate_by`.

    Steps back in time within a trajectory are skipped, as restarts of the clock. The unit is in
    seconds, None if it is not known. The rate is None if a step differs from the median by more
    than `EVEN` of it, and for integers of an unknown unit, which may be counts.
    """
    if unit is None and (times == np.rint(times)).all():
        return None
    with np.errstate(all="ignore"):  # infinite times are refused later
        steps = _steps(times, lengths)
        steps = steps[~(steps < 0)]
        if not len(steps):
            return None
        step = np.median(steps)
        if not (np.abs(steps - step) <= EVEN * step).all():
            return None
        return stated_rate(rate_by(steps * (1.0 if unit is None else unit), len(lengths)))
