"""Estimates of I(s_t; s_<t-Δt) over the last steps of one robot, state by state.

**Such an estimate is a time average over the window, not the mutual information at an instant**: it
equals I(s_t; s_<t-Δt) only while the process is stationary over the window, and the window is long
beside the memory of the process. Two independent random walks look dependent in any short window,
and so do two joints that drift. Choose a window about as long as one phase of the task, and use
changes rather than levels. (Many trajectories or parallel environments give the mutual information
at an instant: `lagged_pairs.py`.)

`pair_window.py` forms the pairs. Two streams are estimated in the same way, as I(a_t; b_<t-Δt),
where Δt may be 0; `messages/sync.py` pairs their states.
"""

from __future__ import annotations

import os
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from ..errors import InputError
from ..estimation.estimator import Estimator, as_estimator
from ..estimation.result import WindowEstimate
from ..inputs.arrays import Reals, as_reals
from ..inputs.checks import LARGEST_STATE, as_count, as_flag, as_number, as_resolution, as_seconds
from .pair_window import PairWindow

LONGEST = 10**6  # steps


class OnlineEstimator:
    """Estimates I(s_t; s_<t-Δt) over the last steps of one robot, state by state.

    The estimate is a time average over the window; the module's docstring says what that assumes.
    Memory is bounded by the window, and the projections are fixed for a stream.

    Parameters
    ----------
    estimator : Estimator or str or path, optional
        The estimator to use, or a model to load; the default model unless given.
    lag : int
        Δt in steps; 0 is for two streams only.
    lag_seconds : float, optional
        Duration of `lag` steps when no message is lost. If given, a past state is found by its
        stamp (state h of `history`: lag_seconds * h / lag further back), which also holds when
        messages are lost unseen. Otherwise steps are counted.
    tolerance : float, optional
        Seconds by which the age of a past state may differ, with `lag_seconds`. Unless given: half
        a step of the lag; if states come slower than that, three quarters of their own step
        (states 0.03 s apart do not meet a lag of 0.1 s, so the nearest counts), but at most half
        the lag.
    history : int
        Number of past states that are stacked into s_<t-Δt>; 1 in the paper.
    window : int
        Steps; also the largest number of pairs.
    every : int
        Estimate for every nth new pair.
    reset_after : float
        Seconds. A stamp that is older than the newest by more than this is a restart (a bag that
        loops), and the window starts anew. A stamp that is older by less is refused.
    two_streams : bool
        Each state comes with a state of another stream, and the past of the other stream counts.
    resolution : float or [d], optional
        Smallest difference between states that has a meaning, in their units (the step of an
        encoder, for example): the jitter of a robot at rest is then not ranked to full scale.
    increments : bool
        Use the changes of the states since the step before instead of the states. The step after a
        hole has no change.

    Attributes
    ----------
    reason : str
        Why the last `push` returned what it did: "ok", "degenerate" (an estimate of a window in
        which a side is constant), "filling: ...", "waiting: ...", "hole: ...", "refused: ...".
    counts : dict of int
        States since the start: "accepted", refused for "NaN", "dtype", "dimension",
        "repeated stamp", "older stamp", "bad stamp"; and "resets".
    resolution : [1] or [d] float64, or None

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
        if lag_seconds is not None and tolerance is not None and tolerance >= lag_seconds:
            raise InputError(
                f"tolerance={tolerance} would pair a state with itself: keep it below "
                f"lag_seconds={lag_seconds}"
            )
        self._tolerance = tolerance
        self.resolution = as_resolution(resolution, None, "resolution")
        self.estimator = as_estimator(estimator)
        least = self.estimator.model_file.n_min
        if self.window < least:
            raise InputError(
                f"window={window} is below the {least} samples that model "
                f"{self.estimator.model_file.name} was trained for: use at least that many steps"
            )
        kinds = "accepted,NaN,dtype,dimension,repeated stamp,older stamp,bad stamp,resets"
        self.counts = dict.fromkeys(kinds.split(","), 0)
        self._forget()

    def reset(self) -> None:
        """Forget all states, and their dimension; the counts go on."""
        self.counts["resets"] += 1
        self._forget()

    def _forget(self) -> None:
        self._window = PairWindow(
            self.lag, self.lag_seconds, self._tolerance, self.history, self.window, self.increments
        )
        self._stamped = False
        self._fresh = 0  # pairs since the last estimate that `every` let pass
        self._pending = False  # there is a pair since the last estimate of any kind
        self.reason = "filling: no states yet"

    def push(
        self,
        state: ArrayLike,
        stamp: float | None = None,
        other: ArrayLike | None = None,
        *,
        read: bool = True,
        counted: bool = False,
    ) -> WindowEstimate | None:
        """Take a state, and estimate if the window allows it; `reason` says why it does not.

        Parameters
        ----------
        state : [d]
            The first accepted state fixes d until a reset. A state with NaN or masked entries, or
            of another size, is refused and leaves a hole of one step.
        stamp : float, optional
            Seconds. A repeated stamp is a copy of a message: it is refused, and is no step. A
            slightly older stamp is refused; a step is missing then, so no pair is formed across it
            (unless pairs are found by stamp). Without stamps, steps are counted.
        other : [d'], optional
            State of the other stream at that time, with `two_streams`.
        read : bool
            If False, the state enters the window and nothing is estimated, for states that come
            faster than they can be evaluated; `read` estimates later.
        counted : bool
            The stamp is the time of arrival, too uneven to find a past state by: steps are counted
            even with `lag_seconds`, and no pair reaches across `reset_after` without a state.

        Returns
        -------
        WindowEstimate or None

        Raises
        ------
        InputError
            Stamps are not numbers, are missing with `lag_seconds`, or come and go; the number of
            streams is not the announced one; `resolution` does not fit the first state; or the
            settings of the estimator do not fit the states (k larger than d, for example).
        """
        window = self._window
        if self.two_streams != (other is not None):
            raise InputError("pass `other` with every state if two_streams is set, else never")
        if stamp is None and self.lag_seconds is not None:
            raise InputError("lag_seconds finds past states by their stamps: pass a stamp")
        if window.newest is not None and self._stamped != (stamp is not None):
            raise InputError("stamps come and go: pass one with every state, or with none")
        time = float(window.step) if stamp is None else as_number(stamp, "stamp", "seconds")
        if window.newest is not None and -np.inf < time < window.newest - self.reset_after:
            self.reset()
            window = self._window
        self._stamped, window.counted = stamp is not None, counted
        if counted and window.newest is not None and time > window.newest + self.reset_after:
            window.lost()
        now = _reals(state)
        then = now if other is None else _reals(other)
        fault = self._fault(now, then, time)
        if fault is not None:
            self._refuse(*fault, time)
            return None
        assert now is not None and then is not None
        if window.sizes == (None, None):
            self._fit_resolution(now.high.size, then.high.size)
        self.counts["accepted"] += 1
        if window.add(now, then, time):
            self._fresh += 1
            self._pending = True
        self.reason = "waiting: read=False"
        return self._estimate(time) if read else None

    def lost(self) -> None:
        """Forbid pairs across this point: an unknown number of states has been lost.

        Pairs that are found by stamp are not affected.
        """
        self._window.lost()

    def read(self, *, anyway: bool = False) -> WindowEstimate | None:
        """Estimate from the window as it is, after `push` with read=False.

        Parameters
        ----------
        anyway : bool
            Also if `every` says to wait; the estimate then does not count for `every`.

        Returns
        -------
        WindowEstimate or None
            None if there is no pair since the last estimate, or for any reason that `push` has.
        """
        window = self._window
        if window.newest is None or window.sizes == (None, None):
            return None
        if not self._pending and window.newest_is_paired:
            return None
        return self._estimate(window.newest, anyway)

    @property
    def newest(self) -> float | None:
        """Stamp of the newest state, seconds; None before there is one."""
        return self._window.newest

    @property
    def tolerance(self) -> float:
        """Seconds by which the age of a past state may differ at present, with `lag_seconds`."""
        return self._window.tolerance

    @property
    def due(self) -> bool:
        """Whether `every` lets an estimate pass."""
        return self._fresh >= self.every

    def stamp(self, step: int) -> float:
        """Stamp of a step of the window (counted from the last reset), seconds; NaN of a hole."""
        return self._window.stamp(step)

    def _fit_resolution(self, d: int, past: int) -> None:
        """Resolutions of both sides, [d] and [history past], once the dimensions are known."""
        self._resolution_x = as_resolution(self.resolution, d, "resolution")
        step = as_resolution(self.resolution, past, "resolution")
        self._resolution_y = None if step is None else np.tile(step, self.history)

    def _fault(self, now: Reals | None, then: Reals | None, time: float) -> tuple[str, str] | None:
        """Why a state cannot be used: the key of `counts`, and the reason; None if it can."""
        newest = self._window.newest
        if not np.isfinite(time):
            return "bad stamp", f"bad stamp {time}"
        if newest is not None and time <= newest:
            kind = "repeated stamp" if time == newest else "older stamp"
            return kind, kind
        if now is None or then is None:
            return "dtype", "not real numbers"
        for (state, _), size in zip((now, then), self._window.sizes, strict=True):
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
            self._window.lost()  # the step that it belonged to
        elif kind != "repeated stamp":
            self._window.hole(time)

    def _estimate(self, time: float, anyway: bool = False) -> WindowEstimate | None:
        """Estimate from the window, or say in `reason` why not."""
        window, pairs = self._window, self._window.pairs
        if window.first is None:
            self.reason = window.why_no_pair() or f"filling: 0 of {self.window} pairs"
            return None
        if not window.full or pairs < self.estimator.model_file.n_min:
            self.reason = f"filling: {pairs} of {self.window} pairs"
            return None
        if not window.newest_is_paired:
            self.reason = "hole: no past state to pair with"
            return None
        if not self.due and not anyway:
            self.reason = f"waiting: {self._fresh} of {self.every} pairs since the last estimate"
            return None
        if self.due:
            self._fresh = 0
        self._pending = False
        x, y, steps = window.samples()
        estimate = self.estimator.estimate(
            x,
            y,
            time_series=True,
            resolution_x=self._resolution_x,
            resolution_y=self._resolution_y,
        )
        self.reason = "degenerate" if estimate.degenerate else "ok"
        local = float(estimate.pointwise[-1])
        return WindowEstimate(time, estimate, local, pairs / self.window, self.lag, steps)


def _reals(state: ArrayLike) -> Reals | None:
    """A state as numbers; None, which is refused, if it holds other things or is ragged."""
    try:
        return as_reals(state, "state")
    except InputError:
        return None
