"""Finds significant extrema of a noisy series; `extrema.py` describes the method."""

import math
from collections import deque
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..errors import InputError
from ..estimation.standard_error import long_run_variance
from ..inputs.arrays import as_reals
from ..inputs.checks import LARGEST_STATE, as_number


@dataclass(frozen=True, eq=False)
class CurvePoint:
    """An estimate of a curve, or a difference of two, with the parts of its standard error."""

    index: int
    stamp: float
    mi: float  # estimate to which it is dated, nats
    value: float  # nats
    samples: NDArray[np.int64]  # [n] ascending
    share: NDArray[np.float64]  # [n] contribution of each sample to `value`, less the mean
    per_slice: NDArray[np.float64]  # [S]
    variance: float  # part of the variance that is given, not computed from samples
    time_series: bool

    def minus(self, other: "CurvePoint", at: "CurvePoint | None" = None) -> "CurvePoint":
        """Difference, sample by sample and slice by slice, dated to `at` (or to itself)."""
        at = self if at is None else at
        samples, share = self.samples, self.share - 0.0
        if np.array_equal(samples, other.samples):
            share -= other.share
        else:
            samples = np.union1d(self.samples, other.samples)
            share = np.zeros(len(samples))
            share[np.searchsorted(samples, self.samples)] = self.share
            share[np.searchsorted(samples, other.samples)] -= other.share
        return CurvePoint(
            at.index,
            at.stamp,
            at.mi,
            self.value - other.value,
            samples,
            share,
            self.per_slice - other.per_slice,
            self.variance + other.variance,
            self.time_series,
        )

    def se(self) -> float:
        """Standard error in nats: samples and slices."""
        variance, n, slices = self.variance, len(self.samples), len(self.per_slice)
        if n > 1:
            variance += float(self.share @ self.share) * n / (n - 1)
            if self.time_series:
                # Holes are zeros; a hole between windows that are far apart is shortened.
                at = np.r_[0, np.cumsum(np.minimum(np.diff(self.samples), n))]
                series = np.zeros(at[-1] + 1)
                series[at] = self.share
                variance = max(variance, len(series) * long_run_variance(series))
        if slices > 1:
            variance += float(self.per_slice.var(ddof=1)) / slices
        return math.sqrt(variance)


def curve_point(
    index: int,
    mi: float,
    influence: ArrayLike | None,
    per_slice: ArrayLike | None,
    noise: float | None,
    samples: ArrayLike | None,
    stamp: float | None,
    time_series: bool,
) -> CurvePoint:
    """Check an estimate of a curve; the arguments are those of `ExtremumDetector.update`."""
    if influence is None and noise is None:
        raise InputError(
            "an estimate without influence or noise: pass one of them, to judge differences"
        )
    value = as_number(mi, "mi", "nats")
    effect = _numbers(influence, "influence")
    slices = _numbers(per_slice, "per_slice")
    own = as_number(noise, "noise", "nats") if influence is None else 0.0
    if not (abs(value) <= LARGEST_STATE and 0 <= own <= LARGEST_STATE):
        raise InputError(
            f"an estimate of {value} nats with noise {own}: pass finite nats (up to "
            f"{LARGEST_STATE:.0e}) and noise that is not negative, or leave it out"
        )
    when = float(index) if stamp is None else as_number(stamp, "stamp")
    if not math.isfinite(when):
        raise InputError(f"stamp is {when}, but has to be finite")
    who = np.arange(len(effect)) if samples is None else np.asarray(samples)
    if who.shape != effect.shape or who.dtype.kind not in "iu":
        raise InputError(
            f"samples have shape {who.shape}, dtype {who.dtype}, and influence has shape "
            f"{effect.shape}: pass as many integers"
        )
    order = np.argsort(who)
    who = who[order].astype(np.int64)
    if len(who) and (not (who[1:] > who[:-1]).all() or max(-who[0], who[-1]) > 2**62):
        raise InputError("samples are not distinct, or beyond 2^62: number each of them once")
    share = (effect - effect.mean())[order] / len(effect) if len(effect) else effect
    return CurvePoint(index, when, value, value, who, share, slices, own**2, bool(time_series))


def _numbers(values: ArrayLike | None, name: str) -> NDArray[np.float64]:
    """Values of each sample or slice [n], finite nats; empty if None."""
    numbers = np.zeros(0) if values is None else as_reals(values, name)
    if numbers.ndim != 1 or not (np.abs(numbers) <= LARGEST_STATE).all():
        raise InputError(
            f"{name} has shape {numbers.shape}, from {numbers.min(initial=np.inf)} to "
            f"{numbers.max(initial=-np.inf)}: pass finite nats, one for each"
        )
    return numbers


@dataclass(frozen=True)
class TurningPoint:
    """An extremum of the series."""

    sign: int  # 1: maximum, -1: minimum
    at: CurvePoint
    base: CurvePoint  # the extremum before
    z: float  # standard errors between it and the newest value; above `ExtremumSearch.z`


SLACK = 1e-3  # relative tolerance of the delay, for rounding of stamps
LEAST_ERROR = 0.01  # nats; no difference of two estimates is resolved more finely


class ExtremumSearch:
    """Alternating extrema of a noisy series, each reported at most `delay` (of stamps) later."""

    def __init__(self, z: float, delay: float) -> None:
        self.z, self.delay = z, delay * (1 + SLACK)
        self.recent: deque[CurvePoint] = deque()  # since the last extremum, and within the delay
        self.sign = 0  # 1: a maximum comes next, -1: a minimum, 0: not known yet
        self.base: CurvePoint | None = None  # the last extremum
        self.top: CurvePoint | None = None  # the farthest since then
        self.ends: dict[int, CurvePoint] = {}  # before the first extremum: highest (1), lowest (-1)

    def update(self, level: CurvePoint) -> TurningPoint | None:
        """Take a point; return the extremum that became significant with it, if one did."""
        self.recent.append(level)
        while self.recent[0].stamp < level.stamp - self.delay:
            self.recent.popleft()
        if self.sign == 0:
            self._start(level)
            return None
        assert self.top is not None and self.base is not None
        sign, base = self.sign, self.base
        if sign * level.value >= sign * self.top.value:
            self.top = level
        candidate = self._extreme(sign)
        on_top = candidate is self.top or not self._significant(sign, self.top, candidate)
        fallen = self._errors(sign, candidate, level)
        if on_top and not fallen > self.z:
            return None
        # There was no significant fall within `delay`: the decline is too slow to be dated.
        self._pass(-sign, candidate if on_top else self.top)
        return TurningPoint(sign, candidate, base, fallen) if on_top else None

    def _start(self, level: CurvePoint) -> None:
        """Wait for the first significant rise or fall; its start does not count as an extremum."""
        for sign in (1, -1):
            end = self.ends.setdefault(sign, level)
            if sign * level.value >= sign * end.value:
                self.ends[sign] = end = level
            # A near point shares more samples than the farthest, so a smaller difference is
            # significant.
            for extreme in (end, self._extreme(sign)):
                if self._significant(sign, extreme, level):
                    self._pass(-sign, extreme)
                    return

    def _extreme(self, sign: int) -> CurvePoint:
        return max(self.recent, key=lambda entry: (sign * entry.value, entry.index))

    def _pass(self, sign: int, base: CurvePoint) -> None:
        while self.recent[0].index <= base.index:
            self.recent.popleft()
        self.sign, self.base = sign, base
        self.top = self._extreme(sign)

    def _significant(self, sign: int, high: CurvePoint, low: CurvePoint) -> bool:
        return self._errors(sign, high, low) > self.z

    def _errors(self, sign: int, high: CurvePoint, low: CurvePoint) -> float:
        """Standard errors of the paired difference by which `high` exceeds `low`."""
        difference = sign * (high.value - low.value)
        if difference <= 0:
            return -math.inf
        return difference / max(high.minus(low).se(), LEAST_ERROR)
