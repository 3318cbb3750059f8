"""Detection of coupling: when two groups of coordinates begin and stop to move together.

The groups are a tool and an object, or torques and velocities. The detector follows the mutual
information of their motions, I(a_t - a_t-1; b_t - b_t-1), over a short sliding window: zero-shot,
causal, without demonstrations. Four rules make so short a window usable:

1. *Rest is not ranked.* An object at rest has increments that are exactly zero, or numerical noise
   of any scale. Both sides get seeded noise of `JITTER` times their third largest increment in
   the window, and at least of `resolution`. So smaller motions have no effect, and the zeros become
   an independent part of the sample instead of one large tie.
2. *Threshold.* A coupling begins when the estimate exceeds `enter` nats, and `z` times its own
noise
   of samples and slices, at two steps in a row. (`Estimate.stderr`, calibrated over all kinds of
   data, is above 1 nat at 32 samples, too large for a decision within a second. Each event has it.)
3. *Hysteresis.* A coupling ends when the estimate is below `leave` at two steps in a row, at least
   half of the window is newer than the coupling, and at least half of it moves; or
4. *A side at rest* ends it: for `REST` steps one side has not moved while the other one has. A
   constant side has no information, so no estimate is needed. The next coupling can begin when the
   window holds no step of the last one, or the estimate has been below `leave`.

Limit: two things that start to move at the same time, in smooth curves of their own, look coupled
at first, because the window is short.
"""

from __future__ import annotations

import os
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..errors import InputError
from ..estimation.estimator import Estimator
from ..estimation.result import Estimate, WindowEstimate
from ..inputs.checks import as_resolution
from .events import COUPLED, DECOUPLED, Event
from .sliding_window import OnlineEstimator

WINDOW = 32
RESOLUTION = 1e-5
ENTER, LEAVE, Z = 0.27, 0.06, 1.0
JITTER = 0.03
REST = 6


class CouplingDetector:
    """Detects when two groups of coordinates begin and stop to move together.

    Parameters
    ----------
    estimator : Estimator or str or path, optional
        The estimator to use, or a model to make one of; the shipped model unless given.
    window : int
        Steps; at least the model's n_min (32). A longer window is slower and has fewer false
        events.
    resolution : float or (float or [d], float or [d'])
        Smallest motion within a step that the sensors resolve, in the units of the states; one for
        both groups, or a pair.
    enter, leave : float
        Nats of the estimate at which a coupling begins and ends.
    z : float
        An estimate has to exceed so many times its noise for a coupling to begin.
    reset_after : float
        Seconds. A stamp older than the newest by more is a restart: the window is emptied.

    Attributes
    ----------
    online : OnlineEstimator
        The window. `reason` and `counts` are in it.
    coupled : bool
        The present state.
    reading : WindowEstimate or None
        The newest one.

    Raises
    ------
    InputError
    """

    def __init__(
        self,
        estimator: Estimator | str | os.PathLike[str] | None = None,
        *,
        window: int = WINDOW,
        resolution: Any = RESOLUTION,
        enter: float = ENTER,
        leave: float = LEAVE,
        z: float = Z,
        reset_after: float = 1.0,
    ) -> None:
        if not 0 <= leave <= enter < np.inf:
            raise InputError(
                f"leave is {leave!r} and enter {enter!r}, but 0 <= leave <= enter is needed"
            )
        if not 0 <= z < np.inf:
            raise InputError(f"z is {z!r}, but has to be 0 or more ({Z} unless given)")
        if estimator is None:
            estimator = Estimator()
        elif isinstance(estimator, str | os.PathLike):
            estimator = Estimator(estimator)
        self.enter, self.leave, self.z = float(enter), float(leave), float(z)
        self._motions = _Motions(estimator, resolution)
        self.online = OnlineEstimator(
            self._motions,  # type: ignore[arg-type]  # it has all that the window asks for
            lag=0,
            window=window,
            reset_after=reset_after,
            two_streams=True,
            increments=True,
        )
        self._resets = 0
        self._forget()

    def reset(self) -> None:
        """Empty the window, for a new episode."""
        self.online.reset()
        self._forget()

    def _forget(self) -> None:
        self._resets = self.online.counts["resets"]
        self.coupled = False
        self.reading: WindowEstimate | None = None
        self._doubted = False  # the last reading indicated the other state
        self._since = 0  # no event is dated before the last one
        self._armed = True  # the window is free of the last coupling

    def push(
        self, a: ArrayLike, b: ArrayLike, stamp: float | None = None, *, read: bool = True
    ) -> list[Event]:
        """Take a state of both groups; return the events detected with it, mostly none.

        Parameters
        ----------
        a, b : [d], [d']
            States (positions, not velocities). NaN, another size: refused, leaves a hole.
        stamp : float, optional
            Seconds; as in `OnlineEstimator.push`.
        read : bool
            False: make no estimate, for states that come faster than estimates can be made; `read`
            catches up.
        """
        return self._judge(self.online.push(a, stamp, b, read=read))

    def read(self) -> list[Event]:
        """Judge the window as it is, where `push` was called with read=False."""
        return self._judge(self.online.read())

    def _judge(self, reading: WindowEstimate | None) -> list[Event]:
        if self.online.counts["resets"] != self._resets:
            self._forget()
        if reading is None:
            return []
        self.reading = reading
        estimate, steps = reading.estimate, reading.steps
        rest = self._motions.rest
        if self.coupled and rest >= REST:
            return [self._change(reading, int(steps[-rest]))]
        if self.coupled:
            # At first most of the window is from before the coupling. And when both are held still,
            # too little moves for a decision.
            half = estimate.samples / 2
            decidable = (steps >= self._since).sum() >= half and self._motions.active >= half
            doubted = decidable and estimate.mi < self.leave
        else:
            self._armed |= estimate.mi < self.leave or bool(steps[0] >= self._since)
            high = estimate.mi > max(self.enter, self.z * estimate.noise)
            doubted = high and self._armed and not rest
        certain, self._doubted = doubted and self._doubted, doubted
        return [self._change(reading, self._split(estimate, steps))] if certain else []

    def _change(self, reading: WindowEstimate, step: int) -> Event:
        self.coupled, self._doubted, self._armed = not self.coupled, False, False
        step, newest = max(step, self._since), int(reading.steps[-1])
        self._since = newest + 1
        estimate = reading.estimate
        return Event(
            kind=COUPLED if self.coupled else DECOUPLED,
            step=step,
            stamp=self.online.stamp(step),
            value=estimate.mi,
            stderr=estimate.stderr,
            z=estimate.mi / estimate.noise if estimate.noise > 0 else 0.0,
            detected_step=newest,
            detected_stamp=reading.stamp,
        )

    def _split(self, estimate: Estimate, steps: NDArray[np.int64]) -> int:
        """The step from which on the local information exceeds its mean most, or falls below it."""
        excess = estimate.pointwise - estimate.pointwise.mean()
        later = excess[::-1].cumsum()[::-1]
        if self.coupled:
            return int(steps[later.argmin()])
        both = self._motions.both
        return int(steps[np.where(both, later, -np.inf).argmax() if both.any() else -1])


class _Motions:
    """An estimator of increments, which adds seeded noise of the size of the smallest motion."""

    def __init__(self, estimator: Estimator, resolution: Any) -> None:
        pair = resolution if isinstance(resolution, tuple) else (resolution, resolution)
        if len(pair) != 2:
            raise InputError(f"resolution is {resolution!r}: pass one, or a pair, one for each")
        for value in pair:
            as_resolution(value, np.size(value), "resolution")
        self.model_file, self.resolution = estimator.model_file, pair
        self.rest = 0  # newest pairs in a row in which one side moved and the other did not
        self.active = 0  # pairs in which anything moved
        self.both: NDArray[np.bool_] = np.zeros(0, bool)  # pairs in which both sides moved
        self._estimator = estimator

    def estimate(self, x: NDArray[np.float64], y: NDArray[np.float64], **options: Any) -> Estimate:
        noise = np.random.default_rng(self._estimator.seed)
        entered: list[NDArray[np.float64]] = []
        moves: list[NDArray[np.bool_]] = []
        still: list[NDArray[np.bool_]] = []
        for side, resolution in zip((x, y), self.resolution, strict=True):
            floor = as_resolution(resolution, side.shape[1], "resolution")
            size = np.abs(side)
            assert floor is not None
            # Of the third largest, so that the single jump of a robot that is put back has no
            # effect.
            step = np.maximum(JITTER * np.sort(size.max(axis=1))[-3], floor)
            still.append(np.asarray((size <= floor).all(axis=1)))
            moves.append(np.asarray((size > step).any(axis=1)))
            jitter = step * noise.standard_normal(side.shape)
            # A side that rests through the window is constant, and the estimate degenerate.
            entered.append(np.zeros_like(side) if still[-1].all() else side + jitter)
        self.both = np.logical_not(still[0] | still[1])
        self.active = int((~(still[0] & still[1])).sum())
        alone = (still[0] & moves[1]) | (still[1] & moves[0])
        self.rest = int(np.argmin(alone[::-1])) if not alone.all() else len(alone)
        return self._estimator.estimate(*entered, **options)
