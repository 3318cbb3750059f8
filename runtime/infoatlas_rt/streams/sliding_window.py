"""The last steps of one robot: checks states, and makes them pairs of a window.

`lagged_pairs.py` forms the pairs. Two streams are paired in the same way, as (a_t, b_<t-Δt), where
Δt may be 0; `messages/sync.py` matches their states in time.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..errors import InputError
from ..estimation.estimator import Estimator
from ..estimation.prepare import Samples, check_window
from ..estimation.redundancy import StreamRedundancy
from ..estimation.result import WindowEstimate
from ..inputs.arrays import as_reals
from ..inputs.checks import LARGEST_STATE, as_count, as_flag, as_number, as_resolution, as_seconds
from ..inputs.copies import Stateful
from ..models.model_file import ModelFile
from .lagged_pairs import PairWindow
from .resolution import Rest

MOST_STEPS = 10**6  # steps
FATES = "accepted,NaN,dtype,dimension,repeated stamp,older stamp,bad stamp,resets"
Array = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Snapshot:
    """A window as it was at one state, whose estimate can be made later."""

    pairs: Samples
    stamp: float  # of the newest state, seconds
    fill: float
    steps: NDArray[np.int64]  # [n]
    at_rest: bool
    paused: bool


class SlidingWindow(Stateful):
    """The last steps of one stream, or of two, as pairs (s_t, s_<t-Δt).

    States are added one by one; the window decides when an estimate can be made and is due. It has
    at least n_min steps of the model. With `increments`, pairs are of changes of states since the
    step before, instead of states; the step after a hole has no change. All other parameters,
    `reason` and `counts` are those of `OnlineEstimator`. `length` is the number of steps.
    """

    def __init__(
        self,
        model_file: ModelFile,
        *,
        lag: int = 2,
        lag_seconds: float | None = None,
        lag_tolerance: float | None = None,
        history: int = 1,
        window: int = 100,
        every: int = 1,
        reset_after: float = 1.0,
        two_streams: bool = False,
        resolution: Any = None,
        increments: bool = False,
    ) -> None:
        self.two_streams = as_flag(two_streams, "two_streams")
        self.increments = as_flag(increments, "increments")
        self.lag = as_count(lag, "lag", 0 if two_streams else 1, MOST_STEPS)
        self.history = as_count(history, "history", 1, MOST_STEPS)
        self.every = as_count(every, "every", 1)
        self.length = as_count(window, "window", 1, MOST_STEPS)
        lag_seconds = None if lag_seconds is None else as_seconds(lag_seconds, "lag_seconds")
        if lag_tolerance is not None:
            lag_tolerance = as_seconds(lag_tolerance, "lag_tolerance")
        if lag_tolerance is not None and lag_seconds is None:
            raise InputError("lag_tolerance is for lag_seconds: pass that too, or leave it out")
        if lag_seconds is not None and not self.lag:
            raise InputError("lag_seconds is what lag steps last: let lag be at least 1, not 0")
        self.lag_seconds, self.reset_after = lag_seconds, as_seconds(reset_after, "reset_after")
        if lag_seconds and lag_tolerance and lag_tolerance >= lag_seconds:
            raise InputError(
                f"lag_tolerance={lag_tolerance} would pair a state with itself: keep it below "
                f"lag_seconds={lag_seconds}"
            )
        self._tolerance = lag_tolerance
        self.resolution = as_resolution(resolution, None, "resolution")
        check_window(self.length, model_file)
        self._least = model_file.n_min
        self.counts = dict.fromkeys(FATES.split(","), 0)
        self._forget()

    def reset(self) -> None:
        """Forget all states, and their dimension, but not the counts."""
        self.counts["resets"] += 1
        self._forget()

    def _forget(self) -> None:
        self._pairs = PairWindow(
            self.lag, self.lag_seconds, self._tolerance, self.history, self.length, self.increments
        )
        self._rests = (Rest(), Rest())[: 1 + self.two_streams]
        self._redundant = StreamRedundancy(), StreamRedundancy()
        self._stamped = False
        self._fresh = 0  # pairs since the last estimate that counted for `every`
        self._pending = False  # there is a pair since the last estimate of any kind
        self.reason = "filling: no states yet"

    def add(
        self,
        state: ArrayLike,
        stamp: float | None = None,
        other: ArrayLike | None = None,
        *,
        counted: bool = False,
    ) -> bool:
        """Take a state, without an estimate; return whether it was accepted, or set `reason`.

        Arguments and errors are those of `OnlineEstimator.push`. A `counted` stamp is the time of
        arrival, too uneven for finding a past state. Steps are then counted even with
        `lag_seconds`, and no pair reaches across a pause of `reset_after` seconds.
        """
        pairs = self._pairs
        if self.two_streams != (other is not None):
            raise InputError("pass `other` with every state if two_streams is set, else never")
        if stamp is None and self.lag_seconds is not None:
            raise InputError("lag_seconds finds past states by their stamps: pass a stamp")
        if pairs.newest is not None and self._stamped != (stamp is not None):
            raise InputError("stamps come and go: pass one with every state, or with none")
        time = float(pairs.step) if stamp is None else as_number(stamp, "stamp", "seconds")
        if pairs.newest is not None and -np.inf < time < pairs.newest - self.reset_after:
            self.reset()
            pairs = self._pairs
        self._stamped, pairs.counted = stamp is not None, counted
        if counted and pairs.newest is not None and time > pairs.newest + self.reset_after:
            pairs.lost()
        now = _reals(state)
        then = now if other is None else _reals(other)
        fault = self._fault(now, then, time)
        if fault is not None:
            self._refuse(*fault, time)
            return False
        assert now is not None and then is not None
        if pairs.sizes == (None, None):
            self._fit_resolution(now.size, then.size)
        self.counts["accepted"] += 1
        if not self.increments:
            for rest, own in zip(self._rests, (now, then), strict=False):
                rest.add(own)
        if pairs.add(now, then, time):
            self._fresh += 1
            self._pending = True
        self.reason = "waiting: not estimated yet"
        return True

    def lost(self) -> None:
        """Forbid pairs across this point: an unknown number of states has been lost.

        Pairs that are found by stamp are not affected.
        """
        self._pairs.lost()

    @property
    def newest(self) -> float | None:
        """Stamp of the newest state, seconds; None before there is one."""
        return self._pairs.newest

    @property
    def tolerance(self) -> float:
        """Seconds by which the age of a past state may differ at present, with `lag_seconds`."""
        return self._pairs.tolerance

    @property
    def full(self) -> bool:
        """Whether a full window of steps has passed since the first pair."""
        return self._pairs.full

    @property
    def pending(self) -> bool:
        """Whether there is a pair since the last estimate."""
        return self._pending

    @property
    def due(self) -> bool:
        """Whether an estimate is due by `every`."""
        return self._fresh >= self.every

    def stamp(self, step: int) -> float:
        """Stamp of a step of the window (counted from the last reset), seconds; NaN of a hole."""
        return self._pairs.stamp(step)

    def newest_pair(self) -> tuple[Array, Array] | None:
        """The pair of the newest step, [d] and [history d']; None if it has none."""
        return self._pairs.newest_pair()

    def samples(self, *, anyway: bool = False) -> tuple[Array, Array, NDArray[np.int64]] | None:
        """The pairs, if an estimate can be made and is due; else None, and `reason` is set.

        With `anyway` they are returned even if `every` requires waiting, and the estimate does not
        count for `every`. None also if there is no pair since the last estimate. They are x [n, d],
        y [n, history d'] with the newest past state first, and the step of each newer state [n],
        ascending.
        """
        pairs, count = self._pairs, self._pairs.pairs
        if pairs.newest is None or pairs.sizes == (None, None):
            return None
        if not self._pending and pairs.newest_is_paired:
            return None
        why = None
        if pairs.first is None:
            why = pairs.why_no_pair()
        if count < self._least or not pairs.full:
            why = why or pairs.why_few_pairs(self._least)
            self.reason = why or f"filling: {count} of {self.length} pairs"
        elif not pairs.newest_is_paired:
            self.reason = "hole: no past state to pair with"
        elif not self.due and not anyway:
            self.reason = f"waiting: {self._fresh} of {self.every} pairs since the last estimate"
        else:
            self._fresh = 0 if self.due else self._fresh
            self._pending = False
            return pairs.samples()
        return None

    @property
    def ready(self) -> bool:
        """Whether the window is full and has enough pairs, also one of its newest step."""
        pairs = self._pairs
        return pairs.full and pairs.pairs >= self._least and pairs.newest_is_paired

    @property
    def at_rest(self) -> bool:
        """Whether the states of a `ready` window differ by their noise at rest alone."""
        x, y, _ = self._pairs.samples()
        sides = zip(self._rests, (x, y[:, : y.shape[1] // self.history]), strict=False)
        return any(rest.within(side) for rest, side in sides)

    @property
    def paused(self) -> bool:
        """Whether there is a pause of the stream within a `ready` window."""
        return self._pairs.has_pause(self.reset_after)

    def snapshot(self, *, anyway: bool = False) -> Snapshot | None:
        """The present window for an estimate; None if `samples` is None."""
        samples = self.samples(anyway=anyway)
        if samples is None:
            return None
        x, y, steps = samples
        left_out = self._redundant[0].update(x), self._redundant[1].update(y)
        pairs = Samples(x, y, True, self._resolution_x, self._resolution_y, redundant=left_out)
        return self.date(pairs, steps, self.at_rest)

    def date(self, pairs: Samples, steps: NDArray[np.int64], at_rest: bool = False) -> Snapshot:
        """A snapshot of pairs that were made of `samples`, with the stamp of the newest state."""
        assert self.newest is not None
        fill = len(steps) / self.length
        return Snapshot(pairs, self.newest, fill, steps, at_rest, self.paused)

    def estimate(self, estimator: Estimator) -> WindowEstimate | None:
        """Estimate from the present window; None if `samples` is None."""
        snapshot = self.snapshot()
        return None if snapshot is None else self.evaluate(snapshot, estimator)

    def evaluate(self, snapshot: Snapshot, estimator: Estimator) -> WindowEstimate:
        """Estimate from a snapshot of this window."""
        own, found = snapshot, estimator.estimate_checked(snapshot.pairs, live=True)
        self.reason = "degenerate" if found.degenerate else "ok"
        local = float(found.pointwise[-1])
        return WindowEstimate(
            own.stamp, found, local, own.fill, self.lag, own.steps, own.at_rest, own.paused
        )

    def _fit_resolution(self, d: int, past: int) -> None:
        """Resolutions of both sides, [d] and [history past], once the dimensions are known."""
        self._resolution_x = as_resolution(self.resolution, d, "resolution")
        step = as_resolution(self.resolution, past, "resolution")
        self._resolution_y = None if step is None else np.tile(step, self.history)

    def _fault(self, now: Array | None, then: Array | None, time: float) -> tuple[str, str] | None:
        """Why a state cannot be used: the key of `counts`, and the reason; None if it can."""
        newest = self._pairs.newest
        if not np.isfinite(time):
            return "bad stamp", f"bad stamp {time}"
        if newest is not None and time <= newest:
            if time == newest:
                return "repeated stamp", "repeated stamp"
            by, least = newest - time, self.reset_after
            return "older stamp", f"older stamp (by {by:.3g} s; a restart is {least:g} s or more)"
        if now is None or then is None:
            return "dtype", "not real numbers, or an integer beyond 2^53: subtract the first"
        for state, size in zip((now, then), self._pairs.sizes, strict=True):
            expected = max(state.size, 1) if size is None else size
            if state.ndim > 1 or state.size != expected:
                found = state.size if state.ndim < 2 else state.shape
                return "dimension", f"dimension {found}, expected {expected}"
            if not (np.abs(state) <= LARGEST_STATE).all():
                return "NaN", "NaN, masked, infinite or beyond 1e100"
            if now is then:
                break
        return None

    def _refuse(self, kind: str, why: str, time: float) -> None:
        """Count a state that cannot be used; unless it is out of order, it leaves a hole."""
        self.counts[kind] += 1
        self.reason = f"refused: {why}"
        if kind == "older stamp":
            self._pairs.lost()  # the step that it belonged to
        elif kind != "repeated stamp":
            pairs = self._pairs
            pairs.hole(time)
            for rest in self._rests:
                rest.add(None)
            few = pairs.why_few_pairs(self._least) if pairs.pairs < self._least else None
            if few:
                self.reason += f"; {few}"


def _reals(state: ArrayLike) -> Array | None:
    """A state as numbers; None, which is refused, if it is ragged, not numeric or too large."""
    try:
        return as_reals(state, "state")
    except InputError:
        return None
