"""A reading of I(s_t; s_<t-Δt) for every new state of one robot, from the last steps of its past.

**A reading is a time average over the window, not the mutual information at an instant**: it equals
I(s_t; s_<t-Δt) only while the process is stationary over the window and the window is long beside
the memory of the process. Two independent random walks look dependent in any short window, and so
do two joints that drift. Choose a window about as long as one phase of the task, and read changes
rather than levels. (Over many trajectories or parallel environments it can be had at an instant:
`pairs.py`.)

A lag is never mispaired: a state that was refused leaves a hole, and states that get lost unseen
are what `lag_seconds` is for.

Two streams are read the same way, as I(a_t; b_<t-Δt), where Δt may be 0; `sync.py` finds which of
their states belong together.
"""

from __future__ import annotations

import os
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .errors import InputError
from .estimator import Estimator, as_estimator
from .inputs import (
    LARGEST_STATE,
    Reals,
    as_count,
    as_flag,
    as_number,
    as_reals,
    as_resolution,
    as_seconds,
    merge,
)
from .pace import Pace
from .result import Reading

LONGEST = 10**6  # steps


class OnlineEstimator:
    """I(s_t; s_<t-Δt) over the last steps of one robot, state by state.

    A time average over the window; see the module's text on what that means and what it assumes.
    Memory is bounded by the window, and the projections are fixed for a stream.

    Parameters
    ----------
    estimator : Estimator or str or path, optional
        The estimator to use, or a model to make one of; the shipped model unless given.
    lag : int
        Δt in steps; 0 is for two streams.
    lag_seconds : float, optional
        What `lag` steps last when no message is lost. If given, a past state is found by its
        stamp instead of by counting steps (h of `history` steps back: lag_seconds * h / lag
        further), which is right also when messages get lost unseen.
    tolerance : float, optional
        Seconds by which a past state may be off, with `lag_seconds`. Unless given: half a step of
        the lag; where states come slower than that, three quarters of their own step (states each
        0.03 s do not meet a lag of 0.1 s, so the nearest counts), but at most half the lag.
    history : int
        How many past states are stacked into s_<t-Δt>; 1 is the paper's.
    window : int
        Steps; also the largest number of pairs.
    every : int
        A reading for each new pair, or for every second one, ...
    reset_after : float
        Seconds. A stamp older than the newest by more than this is a restart (a bag that loops):
        everything is forgotten. Less than this, it is a straggler, and refused.
    two_streams : bool
        Each state comes with that of another stream, and it is the other stream's past that
        counts.
    resolution : float or [d], optional
        Smallest difference between states that means anything, in their units (the step of an
        encoder): keeps the jitter of a robot at rest from being ranked to full scale.
    increments : bool
        Read the changes of the states since the step before instead of the states: I of the
        motions. The step after a hole has none.

    Attributes
    ----------
    reason : str
        Why the last `push` returned what it did: "ok", "degenerate" (a reading, of a window in
        which nothing moves), "filling: ...", "waiting: ...", "hole: ...", "refused: ...".
    counts : dict of int
        States since the start, by fate: "accepted", refused for "NaN", "dtype", "dimension",
        "repeated stamp", "older stamp", "bad stamp"; and "resets".

    Raises
    ------
    InputError
        Arguments out of range, or a window smaller than what the model was trained for.
    """

    def __init__(
        self,
        estimator: Estimator | str | os.PathLike[str] | None = None,
        *,
        lag: int = 2,
        lag_seconds: float | None = None,
        tolerance: float | None = None,
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
        self.lag = as_count(lag, "lag", 0 if two_streams else 1, LONGEST)
        self.history = as_count(history, "history", 1, LONGEST)
        self.every = as_count(every, "every", 1)
        self.window = as_count(window, "window", 1, LONGEST)
        lag_seconds = None if lag_seconds is None else as_seconds(lag_seconds, "lag_seconds")
        tolerance = None if tolerance is None else as_seconds(tolerance, "tolerance")
        if tolerance is not None and lag_seconds is None:
            raise InputError("tolerance is for lag_seconds: give both, or neither")
        if lag_seconds is not None and not self.lag:
            raise InputError("lag_seconds is what lag steps last: let lag be at least 1, not 0")
        self.lag_seconds, self.reset_after = lag_seconds, as_seconds(reset_after, "reset_after")
        self._tolerance = tolerance
        if lag_seconds is not None:
            if tolerance is not None and tolerance >= lag_seconds:
                raise InputError(
                    f"tolerance={tolerance} would pair a state with itself: keep it below "
                    f"lag_seconds={lag_seconds}"
                )
            self._ages = lag_seconds / self.lag * (self.lag + np.arange(self.history))
        as_resolution(resolution, None, "resolution")  # for how many is not known yet
        self.resolution = resolution
        self.estimator = as_estimator(estimator)
        least = self.estimator.bundle.n_min
        if self.window < least:
            raise InputError(
                f"window={window} is below the {least} samples that model "
                f"{self.estimator.bundle.name} was trained for: use at least that many steps"
            )
        kinds = "accepted,NaN,dtype,dimension,repeated stamp,older stamp,bad stamp,resets"
        self.counts = dict.fromkeys(kinds.split(","), 0)
        self._forget()

    def reset(self) -> None:
        """Forget all states, and their dimension; the counts go on."""
        self.counts["resets"] += 1
        self._forget()

    def _forget(self) -> None:
        self._states: NDArray[np.float64] | None = None  # [2, reach, d], as `Reals`
        self._newest: float | None = None
        self._stamped = self._counted = False
        self._pace = Pace()
        self._step = 0  # number of the next step
        self._since = 0  # no pair reaches back beyond this step
        self._first: int | None = None  # step of the first pair
        self._before: tuple[int, Reals, Reals] | None = None  # newest step with its states
        self._fresh = 0  # pairs since the last reading that `every` let pass
        self._unread = False  # there is a pair since the last reading of any kind
        self.reason = "filling: no states yet"

    def push(
        self,
        state: ArrayLike,
        stamp: float | None = None,
        other: ArrayLike | None = None,
        *,
        read: bool = True,
        counted: bool = False,
    ) -> Reading | None:
        """Take a state; return a reading when there is one, and say in `reason` why not.

        Parameters
        ----------
        state : [d]
            The first accepted state fixes d until a reset. A state with NaN or masked entries, or
            of another size, is refused and leaves a hole of one step.
        stamp : float, optional
            Seconds. A repeated stamp is taken for a copy of a message: refused, and no step. A
            slightly older one is refused, and as a step has gone missing then, no pair is formed
            across it (unless pairs are found by stamp). Without stamps steps are counted.
        other : [d'], optional
            The other stream's state at that time, if there are two.
        read : bool
            False takes the state into the window and estimates nothing, for when states come
            faster than they can be read; `read` catches up.
        counted : bool
            The stamp is the time of arrival, too uneven to find a past state by: steps are counted
            also with `lag_seconds`, and no pair reaches across `reset_after` without a state.

        Returns
        -------
        Reading or None

        Raises
        ------
        InputError
            Stamps that are no numbers, are missing with `lag_seconds`, or come and go; one stream
            where two were announced, or two for one; or an estimator whose settings do not fit the
            states (say k larger than d).
        """
        if self.two_streams != (other is not None):
            raise InputError("pass `other` with every state if two_streams is set, else never")
        if stamp is None and self.lag_seconds is not None:
            raise InputError("lag_seconds finds past states by their stamps: pass a stamp")
        if self._newest is not None and self._stamped != (stamp is not None):
            raise InputError("stamps come and go: pass one with every state, or with none")
        time = float(self._step) if stamp is None else as_number(stamp, "stamp", "seconds")
        if self._newest is not None and -np.inf < time < self._newest - self.reset_after:
            self.reset()
        self._stamped, self._counted = stamp is not None, counted
        if counted and self._newest is not None and time > self._newest + self.reset_after:
            self.lost()
        now = _reals(state)
        then = now if other is None else _reals(other)
        fault = self._fault(now, then, time)
        if fault is not None:
            self._refuse(*fault, time)
            return None
        assert now is not None and then is not None
        self._accept(now, then, time)
        self.reason = "waiting: told not to read"
        return self._read(time) if read else None

    def lost(self) -> None:
        """States have been lost before the next one, and nobody knows how many.

        No pair is formed across them, unless pairs are found by stamp.
        """
        self._since = self._step

    def read(self, *, anyway: bool = False) -> Reading | None:
        """A reading of the window as it is, where `push` was told not to read.

        Parameters
        ----------
        anyway : bool
            Also where `every` says to wait, and without counting as one of its readings.

        Returns
        -------
        Reading or None
            None if there is no pair since the last reading, or for any reason that `push` has.
        """
        if self._newest is None or self._states is None:
            return None
        if not self._unread and self._paired[(self._step - 1) % self.window]:
            return None
        return self._read(self._newest, anyway)

    @property
    def newest(self) -> float | None:
        """Stamp of the newest state; None before there is one."""
        return self._newest

    @property
    def tolerance(self) -> float:
        """Seconds by which a past state may be off now, with `lag_seconds`."""
        if self._tolerance is not None or self.lag_seconds is None:
            return self._tolerance or 0.0
        return self._pace.tolerance(self.lag_seconds, self.lag)

    @property
    def due(self) -> bool:
        """Whether `every` lets a reading pass."""
        return self._fresh >= self.every

    def _fault(self, now: Reals | None, then: Reals | None, time: float) -> tuple[str, str] | None:
        """Why a state cannot be used: the count it goes to, and the reason; None if it can."""
        if not np.isfinite(time):
            return "bad stamp", f"bad stamp {time}"
        if self._newest is not None and time <= self._newest:
            kind = "repeated stamp" if time == self._newest else "older stamp"
            return kind, kind
        if now is None or then is None:
            return "dtype", "not real numbers"
        known = (None, None) if self._states is None else (self._x.shape[2], self._states.shape[2])
        for (state, _), size in zip((now, then), known, strict=True):
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
        """Count a state that cannot be used; all but those out of order leave a hole."""
        self.counts[kind] += 1
        self.reason = f"refused: {why}"
        if kind == "older stamp":
            self.lost()  # the step that it belonged to
        elif kind != "repeated stamp" and self._states is not None:
            self._stamps[self._step % len(self._stamps)] = np.nan
            self._paired[self._step % self.window] = False
            self._step += 1
            # The step has had its message: another one with this stamp is no new step.
            self._newest = time if np.isfinite(time) else self._newest

    def _accept(self, now: Reals, then: Reals, time: float) -> None:
        """Store a state, and its pair if its past is there; `then` is what becomes a past."""
        if self._states is None:
            reach = self.window + self.lag + self.history
            self._states = np.zeros((2, reach, then.high.size))  # a ring over steps, as all below
            self._stamps = np.full(reach, np.nan)  # NaN: a hole
            self._x = np.zeros((2, self.window, now.high.size))
            self._y = np.zeros((2, self.window, self.history * then.high.size))
            self._paired = np.zeros(self.window, bool)
        self.counts["accepted"] += 1
        self._newest = time
        if self.lag_seconds is not None:
            self._pace.add(time)
        reach, slot = len(self._stamps), self._step % self.window
        known = True
        if self.increments:
            before, self._before = self._before, (self._step, now, then)
            known = before is not None and before[0] == self._step - 1 >= self._since
            if before is not None and known:
                now, then = _change(before[1], now), _change(before[2], then)
        _store(self._states[:, self._step % reach], then)
        self._stamps[self._step % reach] = time if known else np.nan
        past = self._past(time) if known else None
        self._paired[slot] = past is not None
        if past is not None:
            _store(self._x[:, slot], now)
            self._y[:, slot] = self._states[:, past].reshape(2, -1)
            self._first = self._step if self._first is None else self._first
            self._fresh += 1
            self._unread = True
        self._step += 1

    def stamp(self, step: int) -> float:
        """Stamp of a step (counted from the last reset) of the window; NaN of a hole."""
        return float(self._stamps[step % len(self._stamps)])

    def _past(self, time: float) -> NDArray[np.intp] | None:
        """Slots of s_<t-Δt>, newest first; None if one is a hole, or further back than memory."""
        reach = len(self._stamps)
        if self.lag_seconds is None or self._counted:
            steps = self._step - self.lag - np.arange(self.history)
            slots = steps % reach
            whole = steps[-1] >= self._since and not np.isnan(self._stamps[slots]).any()
            return slots if whole else None
        tolerance = self.tolerance
        off = np.abs(self._stamps - (time - self._ages)[:, None])  # [history, reach]
        slots = np.where(np.isnan(off), np.inf, off).argmin(1)
        return slots if (off[np.arange(self.history), slots] <= tolerance).all() else None

    def _read(self, time: float, anyway: bool = False) -> Reading | None:
        newest = (self._step - 1) % self.window
        pairs = int(self._paired.sum())
        if self._first is None:
            why = None
            if self.lag_seconds is not None and not self._counted:
                furthest, memory = float(self._ages[-1]), len(self._stamps)
                why = self._pace.why_no_past(self.lag_seconds, self.tolerance, furthest, memory)
            self.reason = why or f"filling: 0 of {self.window} pairs"
            return None
        least = self.estimator.bundle.n_min
        if self._step - self._first < self.window or pairs < least:
            self.reason = f"filling: {pairs} of {self.window} pairs"
            return None
        if not self._paired[newest]:
            self.reason = "hole: no past state to pair with"
            return None
        if not self.due and not anyway:
            self.reason = f"waiting: {self._fresh} of {self.every} pairs since the last reading"
            return None
        if self.due:
            self._fresh = 0
        self._unread = False
        # Oldest first, as a standard error of a time series needs it.
        steps = np.arange(self._step - self.window, self._step)
        steps = steps[self._paired[steps % self.window]]
        slots = steps % self.window
        x, y = merge(Reals(*self._x[:, slots])), merge(Reals(*self._y[:, slots]))
        step = as_resolution(self.resolution, x.shape[1], "resolution")
        past = as_resolution(self.resolution, y.shape[1] // self.history, "resolution")
        estimate = self.estimator.estimate(
            x,
            y,
            time_series=True,
            resolution_x=step,
            resolution_y=None if past is None else np.tile(past, self.history),
        )
        self.reason = "degenerate" if estimate.degenerate else "ok"
        local = float(estimate.pointwise[-1])
        return Reading(time, estimate, local, pairs / self.window, self.lag, steps)


def _reals(state: ArrayLike) -> Reals | None:
    """A state as numbers; None, which is refused, if it holds other things or is ragged."""
    try:
        return as_reals(state, "state")
    except InputError:
        return None


def _change(before: Reals, now: Reals) -> Reals:
    """What is added to a state; the high parts cancel, so the low ones count."""
    low = (0.0 if now.low is None else now.low) - (0.0 if before.low is None else before.low)
    return Reals(now.high - before.high + low, None)


def _store(row: NDArray[np.float64], state: Reals) -> None:
    """Write a state into a row [2, d] of a ring."""
    row[0], row[1] = state.high, 0.0 if state.low is None else state.low
