"""Key states: the moments at which the mutual information of a state with its past stands out.

The paper's criterion (Section 4.4, after MaxMI) is a **maximum** of I(s_t; s_t-Δt) over t.
Told apart from it, because they often mean something on a robot too: a **minimum** (the moment at
which the past says least about the present) and a **change** (the curve is steepest).

The detector is causal, reads the curve once, and tells a key state at most `delay` readings after
it happened, or never. It has two ideas:

1. *Is a difference real?* Readings share their samples: the same trajectories a step later, or
   the same window but for its ends. So a difference of two readings is judged by the standard
   error of the **paired** difference: the influences of each sample on the two readings are
   subtracted first, and so are the slices, which share their projections. It is often a third of
   what two separate error bars would suggest.
2. *Hysteresis.* After a minimum only a maximum can follow, and it is one when the curve has come
   down from it for certain, by `z` standard errors of the paired difference. Wiggles below that
   are no turns. A top that stays flat for longer than `delay` is dated to its last highest
   reading; a decline so slow that no two readings within `delay` differ for certain has no moment.

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
from .inputs import as_count, as_number
from .result import Reading
from .turns import LEAST_ERROR, Level, Turns, make_level

KINDS = ("maximum", "minimum", "change")
Z = 3.5
DELAY = 20


@dataclass(frozen=True)
class KeyState:
    """A moment that stands out.

    Attributes
    ----------
    kind : {"maximum", "minimum", "change"}
    index : int
        Number of the reading, from 0.
    stamp : float
        Of that reading: seconds, step, or fraction of the trajectory, as the readings have it.
    value : float
        Mutual information there, nats.
    prominence : float
        Nats. Maximum: how far the curve rose to it since the last turn; minimum: how far it fell
        (negative); change: by how much it rose or fell (negative) within `delay` / 5 readings.
    z : float
        What was compared with the detector's `z`, and exceeds it: by how many standard errors of
        the paired difference the curve has left the extremum again when it was reported. For a
        change, by how many its steepness has, or differs from zero: the smaller of the two.
    detected_at : int
        Number of the reading that made it certain; at most `delay` after `index`.
    """

    kind: str
    index: int
    stamp: float
    value: float
    prominence: float
    z: float
    detected_at: int


class KeyStateDetector:
    """Turns a stream of readings into key states.

    Parameters
    ----------
    kinds : iterable of {"maximum", "minimum", "change"}
        What to report.
    z : float
        Standard errors of the paired difference above which a difference counts as certain.
    delay : int
        Readings after which a key state is told at the latest; also the scale of what counts as a
        moment. A fifth of it is the span over which steepness is measured.

    Attributes
    ----------
    readings : int
        Taken so far.

    Raises
    ------
    InputError
    """

    def __init__(self, kinds: Iterable[str] = KINDS, *, z: float = Z, delay: int = DELAY) -> None:
        try:
            names = [] if isinstance(kinds, str) else list(kinds)
        except TypeError:
            names = []
        if not names or not all(isinstance(kind, str) and kind in KINDS for kind in names):
            raise InputError(f"kinds is {kinds!r}: use some of {', '.join(KINDS)}, as a list")
        self.kinds = frozenset(names)
        if not 0 < as_number(z, "z") < math.inf:
            raise InputError(f"z is {z!r}, but has to be above 0 (3.5 unless given)")
        self.z, self.delay = float(z), as_count(delay, "delay", 1)
        self._span = max(1, self.delay // 5)
        self.reset()

    def reset(self) -> None:
        """Forget all readings, for a new episode or stream."""
        self.readings = 0
        self._levels: deque[Level] = deque(maxlen=self._span + 1)
        self._turns = Turns(self.z, self.delay)
        self._slopes = Turns(self.z, self.delay - self._span // 2)
        self._step = -1

    def push(self, reading: Reading) -> list[KeyState]:
        """Take a reading of an `OnlineEstimator`; one that goes back in steps starts anew."""
        if reading.steps[-1] <= self._step:
            self.reset()
        self._step = int(reading.steps[-1])
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
            Number of the reading unless given.
        time_series : bool
            The samples are steps of one robot, and neighbours depend on each other.

        Returns
        -------
        list of KeyState

        Raises
        ------
        InputError
            Neither influence nor noise, values that are no numbers or not finite, negative noise,
            samples that are not distinct, or sizes that do not match.
        """
        level = make_level(
            self.readings, mi, influence, per_slice, noise, samples, stamp, time_series
        )
        if self._levels and len(level.per_slice) != len(self._levels[-1].per_slice):
            raise InputError(
                f"a reading with {len(level.per_slice)} slices after one with "
                f"{len(self._levels[-1].per_slice)}: keep the estimator, or reset the detector"
            )
        self.readings += 1
        found = []
        turn = self._turns.update(level)
        if turn is not None:
            kind = "maximum" if turn.sign > 0 else "minimum"
            found.append(self._tell(kind, turn.at, turn.at.value - turn.base.value, turn.z))
        self._levels.append(level)
        if len(self._levels) > self._span:
            slope = level.minus(self._levels[0], at=self._levels[-1 - self._span // 2])
            turn = self._slopes.update(slope)
            # Steepest, and steep at all: the least steep moment of a rise is no change.
            if turn is not None:
                steep = turn.sign * turn.at.value / max(turn.at.se(), LEAST_ERROR)
                if steep > self.z:
                    z = min(steep, turn.z)
                    found.append(self._tell("change", turn.at, turn.at.value, z))
        return [state for state in found if state.kind in self.kinds]

    def _tell(self, kind: str, at: Level, by: float, z: float) -> KeyState:
        return KeyState(kind, at.index, at.stamp, at.mi, by, z, self.readings - 1)


def find(curve: MICurve, **options: Any) -> list[KeyState]:
    """Key states of a recorded curve, by the causal detector.

    Parameters
    ----------
    curve : MICurve
    **options
        As in `KeyStateDetector`.

    Returns
    -------
    list of KeyState
        In order of time; stamps are positions of the curve.
    """
    detector = KeyStateDetector(**options)
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
