"""Detects coupling: when two groups of coordinates begin and stop moving together.

The groups are a tool and an object, or torques and velocities. The detector follows the mutual
information of their motions, I(a_t - a_t-1; b_t - b_t-1), over a short sliding window. It is
causal, and needs no demonstrations. Four rules make so short a window usable:

1. *Rest is not ranked.* An object at rest has increments that are exactly zero, or numerical noise
   of any scale. Both sides get seeded noise of `JITTER` times their third largest increment in the
   window, and at least of `resolution`. So smaller motions have no effect, and the zeros become an
   independent part of the sample instead of one large tie. Unless given, the resolution is
   estimated from the noise of each coordinate at rest (`motions.py`).
2. *Threshold.* A coupling begins when the estimate exceeds `enter` nats, and `z` times its noise
   of samples and slices, at two steps in a row. (`Estimate.stderr`, calibrated over all kinds of
   data, is above 1 nat at 32 samples, too large for a decision within a second. Each event has it.)
3. *Hysteresis.* A coupling ends when the estimate is below `leave` at four steps in a row (two if
   the resolution is given). At least half of the window has to be newer than the start of the
   coupling, and at least half of it has to move.
4. *Rest.* A coupling also ends if one side has not moved for `REST` steps while the other one has.
   A constant side has no information, so no estimate is needed. The next coupling can begin when
   the window contains no step of the last one, or the estimate has been below `leave`.

Limit: two things that start to move at the same time, independently and smoothly, look coupled at
first, because the window is short.
"""

import os
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..errors import InputError
from ..estimation.estimator import Estimator, as_estimator
from ..estimation.prepare import Samples
from ..estimation.result import Estimate, WindowEstimate
from ..inputs.copies import Stateful
from .event_thresholds import COUPLED_ABOVE, COUPLING_Z, DECOUPLED_BELOW
from .events import COUPLED, DECOUPLED, Event
from .motions import REST, KnownMotions, LearnedMotions
from .sliding_window import SlidingWindow

WINDOW = 32  # steps, as few as the models accept: a short window detects soon


class CouplingDetector(Stateful):
    """Detects when two groups of coordinates begin and stop moving together.

    Parameters
    ----------
    estimator : Estimator or str or path, optional
        The estimator to use, or a model to make one of; the shipped model unless given.
    window : int
        Steps; at least the model's n_min (32). A longer window is slower and has fewer false
        events.
    resolution : float or (float or [d], float or [d']), optional
        Smallest motion within a step that the sensors resolve, in the units of the states; one for
        both groups, or a pair. Unless given, it is estimated for each coordinate from its noise at
        rest in the stream so far, from 1e-5 on.
    enter, leave : float
        Estimates above which a coupling begins and below which it ends, nats.
    z : float
        For a coupling to begin, the estimate has to exceed `z` times its noise.
    reset_after : float
        Seconds. A stamp that is older than the newest by more than this is a restart: the window is
        emptied.

    Attributes
    ----------
    window : SlidingWindow
        The steps of both groups. `window.reason` has why the last state gave no estimate, and
        `window.counts` the states accepted and refused.
    coupled : bool
        Whether the groups are coupled at present.
    latest : WindowEstimate or None
        The newest estimate of the mutual information of the motions.
    resolution : ([d] float64, [d'] float64) or None
        Resolution of both groups, as given or as estimated so far. None before the first increment.

    Raises
    ------
    InputError
        `leave` and `enter` or `z` are negative, not finite or not in order, or the window is
        smaller than what the model was trained for.

    Examples
    --------
    >>> import numpy as np
    >>> from infoatlas_rt import CouplingDetector
    >>> hand, thing = np.cumsum(np.random.default_rng(0).normal(size=(2, 90, 3)), axis=1)
    >>> thing[60:] = thing[59] + hand[60:] - hand[59]  # held from step 60 on
    >>> detector = CouplingDetector(resolution=0.001)
    >>> [(e.kind, e.step) for a, b in zip(hand, thing) for e in detector.push(a, b)]
    [('coupled', 60)]
    """

    def __init__(
        self,
        estimator: Estimator | str | os.PathLike[str] | None = None,
        *,
        window: int = WINDOW,
        resolution: Any = None,
        enter: float = COUPLED_ABOVE,
        leave: float = DECOUPLED_BELOW,
        z: float = COUPLING_Z,
        reset_after: float = 1.0,
    ) -> None:
        if not 0 <= leave <= enter < np.inf:
            raise InputError(
                f"leave is {leave!r} and enter {enter!r}, but 0 <= leave <= enter is needed, "
                "both finite"
            )
        if not 0 <= z < np.inf:
            raise InputError(
                f"z is {z!r}, but has to be finite, 0 or more ({COUPLING_Z} unless given)"
            )
        self.estimator = as_estimator(estimator)
        self.enter, self.leave, self.z = float(enter), float(leave), float(z)
        self._given = resolution
        self.window = SlidingWindow(
            self.estimator.model_file,
            lag=0,
            window=window,
            reset_after=reset_after,
            two_streams=True,
            increments=True,
        )
        self._motions: KnownMotions | LearnedMotions
        self._forget()

    @property
    def resolution(self) -> tuple[NDArray[np.float64], NDArray[np.float64]] | None:
        """Smallest motion within a step of both groups, as given or as estimated so far."""
        return self._motions.resolution

    def reset(self) -> None:
        """Empty the window and forget the resolution that was estimated, for a new episode."""
        self.window.reset()
        self._forget()

    def _forget(self) -> None:
        self._resets = self.window.counts["resets"]
        self.coupled = False
        self.latest: WindowEstimate | None = None
        self._changing = 0  # estimates in a row that indicate the other state
        self._since = 0  # no event is dated before the last one
        self._armed = True  # the window is free of the last coupling
        seed = self.estimator.seed
        known = self._given is not None
        self._motions = KnownMotions(self._given, seed) if known else LearnedMotions(seed)

    def push(self, a: ArrayLike, b: ArrayLike, stamp: float | None = None) -> list[Event]:
        """Take a state of both groups, and return the events that it completes, usually none.

        Parameters
        ----------
        a, b : [d], [d']
            States (positions, not velocities). NaN, another size: refused, leaves a hole.
        stamp : float, optional
            Seconds. A repeated or slightly older stamp is refused. Without stamps, steps are
            counted.

        Returns
        -------
        list of Event
            Events of the kinds "coupled" and "decoupled".

        Raises
        ------
        InputError
            Stamps are not numbers, or come and go; a group is missing; or `resolution` does not
            fit the first states.
        """
        return self.detect() if self.add(a, b, stamp) else []

    def add(self, a: ArrayLike, b: ArrayLike, stamp: float | None = None) -> bool:
        """Take a state of both groups without an estimate, which `detect` makes.

        For states that come faster than estimates can be made.

        Parameters
        ----------
        a, b : [d], [d']
            States (positions, not velocities). NaN, another size: refused, leaves a hole.
        stamp : float, optional
            Seconds. A repeated or slightly older stamp is refused. Without stamps, steps are
            counted.

        Returns
        -------
        bool
            Whether it was accepted; `window.reason` has why it was not.

        Raises
        ------
        InputError
            Stamps are not numbers, or come and go; a group is missing; or `resolution` does not
            fit the first states.
        """
        accepted = self.window.add(a, stamp, b)
        if self.window.counts["resets"] != self._resets:
            self._forget()
        if accepted:
            self._motions.learn(self.window.newest_pair())
        return accepted

    def detect(self) -> list[Event]:
        """Estimate from the present window, and return the events that it completes."""
        samples = self.window.samples()
        if samples is None:
            return []
        x, y, steps = samples
        motions = Samples(*self._motions.with_noise(x, y, self.coupled), time_series=True)
        snapshot = self.window.date(motions, steps)
        found = self.latest = self.window.evaluate(snapshot, self.estimator)
        estimate = found.estimate
        rest = self._motions.rest
        if self.coupled and rest >= REST:
            return [self._change(found, int(steps[-rest]))]
        if self.coupled:
            # At first most of the window is from before the coupling. If both sides are held still,
            # too little moves for a decision.
            half = estimate.samples / 2
            decidable = (steps >= self._since).sum() >= half and self._motions.active >= half
            changing = decidable and estimate.mi < self.leave
        else:
            self._armed |= estimate.mi < self.leave or bool(steps[0] >= self._since)
            high = estimate.mi > max(self.enter, self.z * estimate.noise)
            changing = high and self._armed and self._motions.can_begin
        self._changing = self._changing + 1 if changing else 0
        certain = self._changing >= (self._motions.until_left if self.coupled else 2)
        return [self._change(found, self._split(estimate, steps))] if certain else []

    def _change(self, found: WindowEstimate, step: int) -> Event:
        self.coupled, self._changing, self._armed = not self.coupled, 0, False
        step, newest = max(step, self._since), int(found.steps[-1])
        self._since = newest + 1
        estimate = found.estimate
        return Event(
            kind=COUPLED if self.coupled else DECOUPLED,
            step=step,
            stamp=self.window.stamp(step),
            value=estimate.mi,
            stderr=estimate.stderr,
            z=estimate.mi / estimate.noise if estimate.noise > 0 else 0.0,
            resolution=tuple(float(side.max()) for side in self.resolution or ()),
            detected_step=newest,
            detected_stamp=found.stamp,
        )

    def _split(self, estimate: Estimate, steps: NDArray[np.int64]) -> int:
        """First step of the part that differs most from the mean local information, in sum."""
        excess = estimate.pointwise - estimate.pointwise.mean()
        later = excess[::-1].cumsum()[::-1]
        if self.coupled:
            return int(steps[later.argmin()])
        both = self._motions.both
        return int(steps[np.where(both, later, -np.inf).argmax() if both.any() else -1])
