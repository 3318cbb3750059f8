"""The last steps of a stream as pairs of a state and its past; memory is bounded by the window.

A lag is never mispaired: a refused state leaves a hole of one step. No pair reaches across a hole,
or back beyond a point at which an unknown number of states was lost. With `lag_seconds` the past is
found by stamps, which is right even if messages are lost unnoticed.
"""

from collections import deque

import numpy as np
from numpy.typing import NDArray

from ..inputs.copies import Stateful
from ..inputs.ring import Ring

RECENT = 50  # newest steps from which the period is estimated
LEAST_STEPS = 10  # fewest steps for an estimate
SLOWER = 1.25  # times the lag's step: a longer step is another rate, not jitter
FATES_KEPT = 500  # newest steps from which the share of holes is estimated
NEAREST_WITHIN = 0.75  # of a step: the nearest state is within it, even if steps are uneven
PAUSE = 5.0  # usual steps: a longer one is a pause

Array = NDArray[np.float64]
_PAIRED, _REFUSED, _ALONE = range(3)  # what became of each step


class PairWindow(Stateful):
    """Pairs (s_t, s_<t-Δt) of the last steps of one stream, or of two.

    A pair has `history` past states, `lag`, `lag` + 1, ... steps back. With `increments`, pairs are
    of changes since the step before, instead of states. `OnlineEstimator` describes and checks the
    other parameters.
    """

    def __init__(
        self,
        lag: int,
        lag_seconds: float | None,
        tolerance: float | None,
        history: int,
        window: int,
        increments: bool,
    ) -> None:
        self.lag, self.lag_seconds, self.history = lag, lag_seconds, history
        self.window, self.increments = window, increments
        self.step = 0  # number of the next step
        self.counted = False  # even with `lag_seconds` steps count: stamps are times of arrival
        self.newest: float | None = None  # stamp of the newest step with a message, seconds
        self.first: int | None = None  # step of the first pair
        self._tolerance = tolerance
        self._pace = Pace()
        self._since = 0  # no pair reaches back beyond this step
        self._fates: deque[int] = deque(maxlen=max(window, FATES_KEPT))  # of the last steps
        self._states: Ring | None = None  # [reach, d']
        self._before: tuple[int, Array, Array] | None = None  # newest accepted step and its states

    @property
    def sizes(self) -> tuple[int | None, int | None]:
        """Coordinates of a state, and of the state whose past counts; None before the first one."""
        if self._states is None:
            return None, None
        return self._x.values.shape[1], self._states.values.shape[1]

    @property
    def pairs(self) -> int:
        """Number of pairs in the window."""
        return 0 if self._states is None else int(self._paired.values.sum())

    @property
    def full(self) -> bool:
        """Whether a full window has passed since the first pair."""
        return self.first is not None and self.step - self.first >= self.window

    @property
    def newest_is_paired(self) -> bool:
        """Whether the newest step has a pair."""
        return self._states is not None and bool(self._paired[self.step - 1])

    @property
    def tolerance(self) -> float:
        """Tolerance of the age of a past state, seconds; 0 without `lag_seconds`."""
        if self._tolerance is not None or self.lag_seconds is None:
            return self._tolerance or 0.0
        return self._pace.tolerance(self.lag_seconds, self.lag)

    def stamp(self, step: int) -> float:
        """Stamp of a step of the window, seconds; NaN of a hole."""
        return float(self._stamps[step])

    def has_pause(self, seconds: float) -> bool:
        """Whether a pause of more than `seconds`, and of `PAUSE` steps, is within the window."""
        reach = self.window + self.lag + self.history - 1
        stamps = self._stamps[np.arange(self.step - reach, self.step)]
        gaps = np.diff(stamps[~np.isnan(stamps)])
        return bool(gaps.max() > max(seconds, PAUSE * np.median(gaps)))

    def lost(self) -> None:
        """Forbid pairs across this point, unless they are found by stamp."""
        self._since = self.step

    def hole(self, stamp: float) -> None:
        """Count a step without a usable state; before the first state there are no steps."""
        if self._states is None:
            return
        self._stamps[self.step] = np.nan
        self._paired[self.step] = False
        self._fates.append(_REFUSED)
        self.step += 1
        # The message of this step has come: another message with this stamp is no new step.
        self.newest = stamp if np.isfinite(stamp) else self.newest

    def add(self, now: Array, then: Array, stamp: float) -> bool:
        """Store a state [d], and its pair if its past is there; return whether a pair was formed.

        `then` [d'] is the state of the stream whose past counts: `now` itself, or the other
        stream's. The stamp is in seconds, above `newest`.
        """
        if self._states is None:
            self._states = self._allocate(now.size, then.size)
        self.newest = stamp
        if self.lag_seconds is not None:
            self._pace.add(stamp)
        known = True
        if self.increments:
            before, self._before = self._before, (self.step, now, then)
            known = before is not None and before[0] == self.step - 1 >= self._since
            if before is not None and known:
                now, then = now - before[1], then - before[2]
        self._states[self.step] = then
        self._stamps[self.step] = stamp if known else np.nan
        past = self._past(stamp) if known else None
        self._paired[self.step] = past is not None
        self._fates.append(_PAIRED if past is not None else _ALONE if known else _REFUSED)
        if past is not None:
            self._x[self.step], self._y[self.step] = now, self._states[past].reshape(-1)
            self.first = self.step if self.first is None else self.first
        self.step += 1
        return past is not None

    def samples(self) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.int64]]:
        """The pairs of the window, oldest first; `SlidingWindow.samples` has their shapes."""
        steps = np.arange(self.step - self.window, self.step)
        steps = steps[self._paired[steps]]
        return self._x[steps], self._y[steps], steps

    def newest_pair(self) -> tuple[NDArray[np.float64], NDArray[np.float64]] | None:
        """The pair of the newest step, [d] and [history d']; None if it has none."""
        if not self.step or not self.newest_is_paired:
            return None
        return self._x[self.step - 1], self._y[self.step - 1]

    def why_no_pair(self) -> str | None:
        """Why no past state was found by stamp, and what to do; None if one may still be found."""
        if self.lag_seconds is None or self.counted:
            return None
        furthest = float(self._ages()[-1])
        memory = len(self._stamps)
        return self._pace.why_no_past(self.lag_seconds, self.tolerance, furthest, memory)

    def why_few_pairs(self, least: int) -> str | None:
        """Why a window of steps has fewer pairs than are needed, and what to do; None if not yet.

        Each refused state leaves two holes: its own step, and the one a lag later.
        """
        first = self.first
        if first is None and (self.lag_seconds is None or self.counted):
            first = self.lag + self.history - 1
        if first is None or self._states is None or self.step < first + self.window:
            return None
        paired, refused, alone = (
            self._fates.count(fate) / len(self._fates) for fate in (_PAIRED, _REFUSED, _ALONE)
        )
        way = "no window fills at this rate, so check their source, or choose another lag"
        if paired:
            # Long enough even with two standard deviations fewer pairs than usual.
            spread = np.sqrt(paired * (1 - paired))
            longer = ((spread + np.sqrt(spread**2 + paired * least)) / paired) ** 2
            way = f"a window of {int(np.ceil(longer))} or more fills"
        what = "have no increment" if self.increments else "were refused"
        return (
            f"hole: {self.pairs} of the {least} pairs needed; of the last {len(self._fates)} steps "
            f"{refused:.0%} {what} and {alone:.0%} have no past state: {way}"
        )

    def _allocate(self, d: int, past: int) -> Ring:
        """Make the rings over steps, and return those of the states."""
        reach = self.window + self.lag + self.history
        self._stamps = Ring(reach, fill=np.nan)  # NaN: a hole
        self._x, self._y = Ring(self.window, d), Ring(self.window, self.history * past)
        self._paired = Ring(self.window, fill=False, dtype=bool)
        return Ring(reach, past)

    def _ages(self) -> NDArray[np.float64]:
        """Seconds between a state and its past states [history]."""
        assert self.lag_seconds is not None
        steps = self.lag + np.arange(self.history)
        ages: NDArray[np.float64] = np.multiply(
            self.lag_seconds / self.lag, steps, dtype=np.float64
        )
        return ages

    def _past(self, stamp: float) -> NDArray[np.intp] | None:
        """Steps or slots of s_<t-Δt>, newest first; None if one is a hole or not remembered."""
        if self.lag_seconds is None or self.counted:
            steps = self.step - self.lag - np.arange(self.history)
            there = steps[-1] >= self._since and not np.isnan(self._stamps[steps]).any()
            return steps if there else None
        tolerance = self.tolerance
        off = np.abs(self._stamps.values - (stamp - self._ages())[:, None])  # [history, reach]
        slots = np.where(np.isnan(off), np.inf, off).argmin(1)
        return slots if (off[np.arange(self.history), slots] <= tolerance).all() else None


class Pace:
    """Sampling period of a stream, estimated from its stamps; sets the tolerance for past states.

    The period is the 10th percentile of the newest steps. Lost messages make some steps longer, and
    a few close stamps make some shorter; neither changes the percentile much.
    """

    def __init__(self) -> None:
        self._steps: deque[float] = deque(maxlen=RECENT)
        self._newest: float | None = None
        self._oldest = 0.0

    def add(self, stamp: float) -> None:
        """Take the stamp of the next state, seconds."""
        if self._newest is None:
            self._oldest = stamp
        else:
            self._steps.append(stamp - self._newest)
        self._newest = stamp

    @property
    def step(self) -> float | None:
        """Seconds from one state to the next; None if not known yet."""
        if len(self._steps) < LEAST_STEPS:
            return None
        return sorted(self._steps)[len(self._steps) // 10]

    @property
    def span(self) -> float:
        """Seconds from the first state to the newest."""
        return 0.0 if self._newest is None else self._newest - self._oldest

    def tolerance(self, lag_seconds: float, lag: int) -> float:
        """Default of the seconds by which the age of a past state may differ.

        Half a step of the lag. If states come slower than that, three quarters of their step, but
        at most half the lag. Then a lag between two states finds the nearer one, a lost message is
        mostly a hole, and no state is paired with itself.
        """
        step, expected = self.step or 0.0, lag_seconds / lag
        if step <= SLOWER * expected:
            return expected / 2
        return max(expected / 2, min(NEAREST_WITHIN * step, lag_seconds / 2))

    def why_no_past(
        self, lag_seconds: float, tolerance: float, furthest: float, memory: int
    ) -> str | None:
        """Why no past state was found yet, and what to do; None if one may still be found.

        The oldest past state has age `furthest`, seconds, and `memory` states are kept.
        """
        step = self.step
        far = step is not None and furthest - tolerance > step * memory
        if step is None or (not far and self.span <= furthest + max(step, tolerance)):
            return None
        way = f"a tolerance of {NEAREST_WITHIN * step:.3g} s finds the nearest"
        if NEAREST_WITHIN * step <= tolerance:
            way = "those of that time were lost, so raise queue, or depth of the subscription"
        if far:
            way = "let lag be the steps that lag_seconds lasts"
        elif step > lag_seconds:
            way = f"let lag_seconds be {step:.3g} or more"
        return (
            f"hole: no state {lag_seconds:.6g} ± {tolerance:.3g} s before any; states come every "
            f"{step:.3g} s: {way}"
        )
