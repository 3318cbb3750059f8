"""Extrema of a curve of mutual information: maxima, minima and steepest changes.

The criterion of the paper (Section 4.4, after MaxMI) is a **maximum** over t. Two more kinds often
have a meaning on a robot: a **minimum** (the past is least informative about the present) and a
**change** (the curve is steepest).

The detector is causal and processes the curve once. It reports an extremum at most `delay` after
it, or never:

1. *Significant differences.* Neighbouring estimates share their samples: the same trajectories a
   step later, or the same window except for its ends. So a difference of two estimates is judged by
   the standard error of the **paired** difference. The influences of each sample on the two
   estimates are subtracted first, and so are the slices, which share their projections. The result
   is often a third of the error of an unpaired difference.
2. *Hysteresis.* Only a maximum can follow a minimum. It is reported when the curve has fallen from
   it by `z` standard errors of the paired difference; smaller variations are no extrema. A top that
   stays flat for longer than `delay` is dated to its last highest estimate. There is no extremum if
   the decline is so slow that no two estimates within `delay` differ significantly.
3. *Time, not numbers of estimates.* `delay` is in the unit of the stamps. Of a stream (`push`), the
   first estimate in each twentieth of `delay` is used, on a fixed grid of the stream's time. So the
   extrema do not depend on the speed of the machine, if it makes at least these estimates. With
   fewer, the detector uses those that there are, and dates are coarser.
4. *Resolution.* Standard errors are at least `LEAST_ERROR` nats, and windows at rest are not used:
   noise that is ranked to full scale has estimates that vary little and significantly. Neither are
   windows across a pause of the stream, with the jump of a robot to its next start.

The default of `z` was chosen on noise, not on a data set. It was tested on 200 structureless curves
of 100 estimates from 100 samples each. With neighbouring estimates correlated by 0.9, as in
ensembles and windows, 2% have an extremum at z = 3.5, and 1% at z = 4. With independent estimates,
24% and 5% have one. `tests/runtime/streams/test_extrema.py` repeats that.
"""

import math
from collections import deque
from collections.abc import Iterable
from dataclasses import dataclass

from numpy.typing import ArrayLike

from ..errors import InputError
from ..estimation.result import WindowEstimate
from ..inputs.checks import as_number
from ..inputs.copies import Stateful
from .event_thresholds import EXTREMUM_Z
from .extremum_search import LEAST_ERROR, SLACK, CurvePoint, ExtremumSearch, curve_point

KINDS = ("maximum", "minimum", "change")
POINTS = 20  # estimates of a curve or a stream within the delay


@dataclass(frozen=True)
class Extremum:
    """A maximum, a minimum or a steepest change of a curve of mutual information.

    Attributes
    ----------
    kind : {"maximum", "minimum", "change"}
        A change is where the curve is steepest.
    index : int
        Number of the estimate, from 0, among those that were used.
    stamp : float
        Stamp of that estimate, in the unit of the curve: seconds, steps, or fraction of the
        trajectory.
    value : float
        Mutual information there, nats.
    prominence : float
        Nats. Maximum: rise of the curve since the last extremum; minimum: fall (negative); change:
        rise or fall (negative) within `delay` / 5.
    z : float
        Standard errors of the paired difference between the extremum and the curve at the report;
        above the detector's `z`. For a change, the smaller of two: standard errors between the
        slope and its extremum, and between the slope and zero.
    detected_at : int
        Number of the estimate at which it became significant.
    detected_stamp : float
        Its stamp: at most `delay` after `stamp`.
    """

    kind: str
    index: int
    stamp: float
    value: float
    prominence: float
    z: float
    detected_at: int
    detected_stamp: float


def cell(stamp: float, period: float) -> float:
    """Number of the cell of a time grid that contains a stamp.

    A stamp on a border belongs to the later cell, in spite of rounding.
    """
    return math.floor(stamp / period + SLACK) if math.isfinite(stamp) else stamp


class ExtremumDetector(Stateful):
    """Finds extrema in a stream of estimates.

    Parameters
    ----------
    kinds : iterable of {"maximum", "minimum", "change"}
        Kinds to report.
    z : float
        Standard errors of the paired difference above which a difference is significant.
    delay : float
        In the unit of the stamps (seconds of a stream, steps of a curve): an extremum is reported
        at most so much later. Slopes are measured over a fifth of it.

    Attributes
    ----------
    count : int
        Estimates used so far.
    period : float
        Only the first estimate of a stream in each period is used. It is `delay` / 20 unless
        `coarsen` was called.

    Raises
    ------
    InputError
        An unknown kind, or `z` or `delay` is not finite and above 0.

    Examples
    --------
    >>> import numpy as np
    >>> from infoatlas_rt import ExtremumDetector
    >>> detector = ExtremumDetector(["maximum"], delay=20)
    >>> curve = np.sin(np.arange(60) / 10)
    >>> found = [e for mi in curve for e in detector.update(mi, noise=0.05)]
    >>> [(e.kind, e.stamp, e.detected_stamp) for e in found]
    [('maximum', 16.0, 23.0)]
    """

    def __init__(
        self, kinds: Iterable[str] = KINDS, *, z: float = EXTREMUM_Z, delay: float
    ) -> None:
        try:
            names = [] if isinstance(kinds, str) else list(kinds)
        except TypeError:
            names = []
        if not names or not all(isinstance(kind, str) and kind in KINDS for kind in names):
            raise InputError(f"kinds is {kinds!r}: use some of {', '.join(KINDS)}, as a list")
        self.kinds = frozenset(names)
        if not 0 < as_number(z, "z") < math.inf:
            raise InputError(f"z is {z!r}, but has to be finite and above 0 (3.5 unless given)")
        if not 0 < as_number(delay, "delay") < math.inf:
            raise InputError(
                f"delay is {delay!r}, but has to be finite and above 0, in the unit of the stamps "
                "(2 seconds)"
            )
        self.z, self.delay = float(z), float(delay)
        self.period, self._span = self.delay / POINTS, self.delay / 5
        self.reset()

    def coarsen(self) -> None:
        """Use half as many estimates of a stream, for a machine that cannot keep up."""
        self.period *= 2

    def refine(self) -> None:
        """Undo one `coarsen`."""
        self.period = max(self.period / 2, self.delay / POINTS)

    def due(self, stamp: float) -> bool:
        """Whether an estimate of a stream would be used, as the first in its period.

        Parameters
        ----------
        stamp : float
            Stamp of the estimate, in the unit of `delay`.

        Returns
        -------
        bool
        """
        return cell(stamp, self.period) != cell(self._stamp, self.period)

    def reset(self) -> None:
        """Forget all estimates, for a new episode or stream."""
        self.count = 0
        self._points: deque[CurvePoint] = deque()  # of the last span
        self._extrema = ExtremumSearch(self.z, self.delay)
        self._slopes = ExtremumSearch(self.z, self.delay - self._span / 2)
        self._dated = self._step = -1
        self._stamp = -math.inf

    def push(self, found: WindowEstimate) -> list[Extremum]:
        """Take an estimate of an `OnlineEstimator`; a step back restarts the detector.

        Only the first estimate in each `period` is used, and none of a window at rest or across a
        pause.

        Parameters
        ----------
        found : WindowEstimate
            The newest estimate of the stream.

        Returns
        -------
        list of Extremum
            Extrema that became significant with this estimate.
        """
        if found.steps[-1] <= self._step or found.stamp <= self._stamp:
            self.reset()
        if found.at_rest or found.paused or not self.due(found.stamp):
            return []
        self._step, self._stamp = int(found.steps[-1]), found.stamp
        return self.update(
            found.estimate.mi,
            influence=found.estimate.influence,
            per_slice=found.estimate.per_slice,
            samples=found.steps,
            stamp=found.stamp,
            time_series=True,
        )

    def update(
        self,
        mi: float,
        *,
        influence: ArrayLike | None = None,
        per_slice: ArrayLike | None = None,
        noise: float | None = None,
        samples: ArrayLike | None = None,
        stamp: float | None = None,
        time_series: bool = False,
    ) -> list[Extremum]:
        """Take an estimate of a curve; return the extrema that became significant with it.

        Parameters
        ----------
        mi : float
            Nats.
        influence : [n], optional
            Influence of each sample on `mi` (`Estimate.influence`).
        per_slice : [S], optional
            Estimate of each slice; the projections have to be the same in all estimates.
        noise : float, optional
            If there is no influence: the part of the standard error of `mi` from samples and slices
            (`Estimate.noise`). Estimates then count as independent, and many extrema are missed if
            they share samples.
        samples : [n] int, optional
            Distinct number of each sample: its trajectory, its environment and step, or (of a time
            series) its step. 0..n-1 unless given.
        stamp : float, optional
            Larger than before; the number of the estimate unless given.
        time_series : bool
            The samples are steps of one robot, and neighbours depend on each other.

        Returns
        -------
        list of Extremum

        Raises
        ------
        InputError
            There is neither influence nor noise, values are no finite numbers, noise is negative,
            samples are not distinct, stamps do not increase, or sizes do not match.
        """
        level = curve_point(
            self.count, mi, influence, per_slice, noise, samples, stamp, time_series
        )
        if self._points and len(level.per_slice) != len(self._points[-1].per_slice):
            raise InputError(
                f"an estimate with {len(level.per_slice)} slices after one with "
                f"{len(self._points[-1].per_slice)}: keep the estimator, or reset the detector"
            )
        if self._points and not level.stamp > self._points[-1].stamp:
            raise InputError(
                f"an estimate at {level.stamp} after one at {self._points[-1].stamp}: pass them in "
                "order, or reset the detector"
            )
        self.count += 1
        found = []
        extremum = self._extrema.update(level)
        if extremum is not None:
            kind = "maximum" if extremum.sign > 0 else "minimum"
            by = extremum.at.value - extremum.base.value
            found.append(self._report(kind, extremum.at, by, extremum.z, level.stamp))
        slope = self._slope(level)
        if slope is not None:
            extremum = self._slopes.update(slope)
            # The slope also has to differ from zero: the least steep step of a rise is no change.
            if extremum is not None:
                steep = extremum.sign * extremum.at.value / max(extremum.at.se(), LEAST_ERROR)
                if steep > self.z:
                    z = min(steep, extremum.z)
                    found.append(
                        self._report("change", extremum.at, extremum.at.value, z, level.stamp)
                    )
        return [state for state in found if state.kind in self.kinds]

    def _slope(self, level: CurvePoint) -> CurvePoint | None:
        """Difference to the level a span before, dated to the middle; None if there is none."""
        levels = self._points
        levels.append(level)
        start = level.stamp - self._span * (1 - SLACK)
        while len(levels) > 1 and levels[1].stamp <= start:
            levels.popleft()
        base = levels[0]
        if not level.stamp - self.delay / 2 <= base.stamp <= start:  # none, or before a hole
            return None
        middle = (base.stamp + level.stamp) / 2
        near = [entry for entry in levels if entry.index > self._dated]  # each date once
        at = min(near, key=lambda entry: (abs(entry.stamp - middle), -entry.stamp))
        self._dated = at.index
        return level.minus(base, at=at)

    def _report(self, kind: str, at: CurvePoint, by: float, z: float, now: float) -> Extremum:
        return Extremum(kind, at.index, at.stamp, at.mi, by, z, self.count - 1, now)
