"""Key states: the moments at which the mutual information of a state with its past stands out.

The paper's criterion (Section 4.4, after MaxMI) is a **maximum** of I(s_t; s_t-Δt) over t.
Told apart from it, because they often mean something on a robot too: a **minimum** (the moment at
which the past says least about the present) and a **change** (the curve is steepest).

The detector is causal, reads the curve once, and reports a key state at most `delay` after it
happened, or never. It has three ideas:

1. *Is a difference real?* Readings share their samples: the same trajectories a step later, or
   the same window but for its ends. So a difference of two readings is judged by the standard
   error of the **paired** difference: the influences of each sample on the two readings are
   subtracted first, and so are the slices, which share their projections. It is often a third of
   what two separate error bars would suggest.
2. *Hysteresis.* After a minimum only a maximum can follow, and it is one when the curve has come
   down from it for certain, by `z` standard errors of the paired difference. Wiggles below that
   are no turns. A top that stays flat for longer than `delay` is dated to its last highest
   reading; a decline so slow that no two readings within `delay` differ for certain has no moment.
3. *Time, not numbers of readings.* `delay` is in the unit of the stamps, and of a stream (`push`)
   one reading counts in each twentieth of it, the first: those are on the same grid of the
   stream's time however many others there are. So key states do not depend on how many readings
   a machine has the time for, as long as it has it for these; with fewer, the detector goes on
   with those that there are, and dates are as coarse as they are.

`z` is set by what noise does, not by any data set: among 200 structureless curves of 100 readings
from 100 samples each, 2% show an extremum at z = 3.5 if neighbouring readings are correlated by
0.9, as they are in ensembles and windows, and 24% if they are independent; at z = 4, 1% and 5%.
`tests/test_extrema.py` repeats that.
"""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from .curve import MICurve
from .errors import InputError
from .inputs import as_number
from .result import Reading
from .turns import LEAST_ERROR, SLACK, Level, Turns, make_level

KINDS = ("maximum", "minimum", "change")
Z = 3.5
DELAY = 2.0  # seconds of a stream
POINTS = 20  # of a recorded curve, or readings of a stream, within the delay


@dataclass(frozen=True)
class KeyState:
    """A moment that stands out.

    Attributes
    ----------
    kind : {"maximum", "minimum", "change"}
    index : int
        Number of the reading, from 0, among those that counted.
    stamp : float
        Of that reading: seconds, step, or fraction of the trajectory, as the readings have it.
    value : float
        Mutual information there, nats.
    prominence : float
        Nats. Maximum: how far the curve rose to it since the last turn; minimum: how far it fell
        (negative); change: by how much it rose or fell (negative) within `delay` / 5.
    z : float
        What was compared with the detector's `z`, and exceeds it: by how many standard errors of
        the paired difference the curve has left the extremum again when it was reported. For a
        change, by how many its steepness has, or differs from zero: the smaller of the two.
    detected_at : int
        Number of the reading that made it certain.
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


class KeyStateDetector:
    """Turns a stream of readings into key states.

    Parameters
    ----------
    kinds : iterable of {"maximum", "minimum", "change"}
        What to report.
    z : float
        Standard errors of the paired difference above which a difference counts as certain.
    delay : float
        In the unit of the stamps (seconds of a stream, steps of a curve): after this a key state
        is reported at the latest. Also the scale of what counts as a moment: a fifth of it is the
        span over which steepness is measured.

    Attributes
    ----------
    readings : int
        That counted so far.
    period : float
        Of a stream, the first reading in each period counts: `delay` / 20, until `coarsen`.

    Raises
    ------
    InputError
    """

    def __init__(self, kinds: Iterable[str] = KINDS, *, z: float = Z, delay: float) -> None:
        try:
            names = [] if isinstance(kinds, str) else list(kinds)
        except TypeError:
            names = []
        if not names or not all(isinstance(kind, str) and kind in KINDS for kind in names):
            raise InputError(f"kinds is {kinds!r}: use some of {', '.join(KINDS)}, as a list")
        self.kinds = frozenset(names)
        if not 0 < as_number(z, "z") < math.inf:
            raise InputError(f"z is {z!r}, but has to be above 0 (3.5 unless given)")
        if not 0 < as_number(delay, "delay") < math.inf:
            raise InputError(
                f"delay is {delay!r}, but has to be above 0, in the unit of the stamps (2 seconds)"
            )
        self.z, self.delay = float(z), float(delay)
        self.period, self._span = self.delay / POINTS, self.delay / 5
        self.reset()

    def coarsen(self) -> None:
        """Count half as many readings of a stream: for a machine that cannot keep up."""
        self.period *= 2

    def refine(self) -> None:
        """Take back a `coarsen`."""
        self.period = max(self.period / 2, self.delay / POINTS)

    def due(self, stamp: float) -> bool:
        """Whether a reading of a stream with this stamp would count: the first in its period."""
        return self._cell_of(stamp) != self._cell_of(self._stamp)

    def _cell_of(self, stamp: float) -> float:
        # Stamps on the border belong to the cell behind it, whatever their rounding.
        return math.floor(stamp / self.period + SLACK) if math.isfinite(stamp) else stamp

    def reset(self) -> None:
        """Forget all readings, for a new episode or stream."""
        self.readings = 0
        self._levels: deque[Level] = deque()  # of the last span
        self._turns = Turns(self.z, self.delay)
        self._slopes = Turns(self.z, self.delay - self._span / 2)
        self._dated = self._step = -1
        self._stamp = -math.inf

    def push(self, reading: Reading) -> list[KeyState]:
        """Take a reading of an `OnlineEstimator`; one that goes back in steps starts anew.

        All but the first in each `period` are passed over.
        """
        if reading.steps[-1] <= self._step or reading.stamp <= self._stamp:
            self.reset()
        if not self.due(reading.stamp):
            return []
        self._step, self._stamp = int(reading.steps[-1]), reading.stamp
        return self.update(
            reading.estimate.mi,
            influence=reading.estimate.influence,
            per_slice=reading.estimate.per_slice,
            samples=reading.steps,
            stamp=reading.stamp,
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
    ) -> list[KeyState]:
        """Take a reading, return the key states that it made certain (mostly none).

        Parameters
        ----------
        mi : float
            Nats.
        influence : [n], optional
            Influence of each sample on `mi` (`Estimate.influence`).
        per_slice : [S], optional
            Estimate of each slice; the projections have to be the same in all readings.
        noise : float, optional
            If there is no influence: the part of the standard error of `mi` from samples and
            slices (`Estimate.noise`). Readings then count as independent, which misses much where
            they share samples.
        samples : [n] int, optional
            Who each sample is, distinct numbers: trajectories, environments and steps, or (as a
            time series) steps. 0..n-1 unless given.
        stamp : float, optional
            Larger than before; the number of the reading unless given.
        time_series : bool
            The samples are steps of one robot, and neighbours depend on each other.

        Returns
        -------
        list of KeyState

        Raises
        ------
        InputError
            Neither influence nor noise, values that are no numbers or not finite, negative noise,
            samples that are not distinct, stamps that do not increase, or sizes that do not match.
        """
        level = make_level(
            self.readings, mi, influence, per_slice, noise, samples, stamp, time_series
        )
        if self._levels and len(level.per_slice) != len(self._levels[-1].per_slice):
            raise InputError(
                f"a reading with {len(level.per_slice)} slices after one with "
                f"{len(self._levels[-1].per_slice)}: keep the estimator, or reset the detector"
            )
        if self._levels and not level.stamp > self._levels[-1].stamp:
            raise InputError(
                f"a reading at {level.stamp} after one at {self._levels[-1].stamp}: pass them in "
                "order, or reset the detector"
            )
        self.readings += 1
        found = []
        turn = self._turns.update(level)
        if turn is not None:
            kind = "maximum" if turn.sign > 0 else "minimum"
            by = turn.at.value - turn.base.value
            found.append(self._tell(kind, turn.at, by, turn.z, level.stamp))
        slope = self._slope(level)
        if slope is not None:
            turn = self._slopes.update(slope)
            # Steepest, and steep at all: the least steep moment of a rise is no change.
            if turn is not None:
                steep = turn.sign * turn.at.value / max(turn.at.se(), LEAST_ERROR)
                if steep > self.z:
                    z = min(steep, turn.z)
                    found.append(self._tell("change", turn.at, turn.at.value, z, level.stamp))
        return [state for state in found if state.kind in self.kinds]

    def _slope(self, level: Level) -> Level | None:
        """Difference to the level a span before, dated to the middle; None if there is none."""
        levels = self._levels
        levels.append(level)
        start = level.stamp - self._span * (1 - SLACK)
        while len(levels) > 1 and levels[1].stamp <= start:
            levels.popleft()
        base = levels[0]
        if not level.stamp - self.delay / 2 <= base.stamp <= start:  # none, or before a gap
            return None
        middle = (base.stamp + level.stamp) / 2
        near = [entry for entry in levels if entry.index > self._dated]  # each date once
        at = min(near, key=lambda entry: (abs(entry.stamp - middle), -entry.stamp))
        self._dated = at.index
        return level.minus(base, at=at)

    def _tell(self, kind: str, at: Level, by: float, z: float, now: float) -> KeyState:
        return KeyState(kind, at.index, at.stamp, at.mi, by, z, self.readings - 1, now)


def find(curve: MICurve, delay: float | None = None, **options: Any) -> list[KeyState]:
    """Key states of a recorded curve, by the causal detector.

    Parameters
    ----------
    curve : MICurve
    delay : float, optional
        In the unit of the curve's positions; 20 of its points unless given.
    **options
        As in `KeyStateDetector`.

    Returns
    -------
    list of KeyState
        In order of time; stamps are positions of the curve.
    """
    if delay is None:
        step = float(np.median(np.diff(curve.position))) if len(curve.mi) > 1 else 1.0
        delay = POINTS * step
    detector = KeyStateDetector(delay=delay, **options)
    found: list[KeyState] = []
    for t in range(len(curve.mi)):
        present = np.flatnonzero(~np.isnan(curve.influence[t]))
        found += detector.update(
            curve.mi[t],
            influence=curve.influence[t, present],
            per_slice=curve.per_slice[t],
            samples=present,
            stamp=curve.position[t],
        )
    return sorted(found, key=lambda state: state.index)
