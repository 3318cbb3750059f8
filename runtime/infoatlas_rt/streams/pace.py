"""The step of a stream from its stamps, which decides the tolerance for past states."""

from __future__ import annotations

from collections import deque

RECENT = 50  # newest steps that count
LEAST = 10  # fewest steps for an estimate
SLOWER = 1.25  # times longer than the lag's step is another rate, not jitter
WIDE = 0.75  # of such a step: the nearest state is within it, with uneven steps too


class Pace:
    """The time from one state to the next, over the last of them.

    It is the 10th percentile. Lost messages make some steps longer, and a few close stamps make
    some shorter; neither changes the percentile much.
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
        """Seconds from one state to the next; None while that is not known."""
        if len(self._steps) < LEAST:
            return None
        return sorted(self._steps)[len(self._steps) // 10]

    @property
    def span(self) -> float:
        """Seconds from the first state to the newest."""
        return 0.0 if self._newest is None else self._newest - self._oldest

    def tolerance(self, lag_seconds: float, lag: int) -> float:
        """Default of the seconds by which the age of a past state may differ.

        Half a step of the lag. Where states come slower than that, three quarters of their step,
        so that a lag between two states finds the nearer one, and a lost message is mostly a
        hole; at most half the lag, so that no state is paired with itself.
        """
        step, expected = self.step or 0.0, lag_seconds / lag
        if step <= SLOWER * expected:
            return expected / 2
        return max(expected / 2, min(WIDE * step, lag_seconds / 2))

    def why_no_past(
        self, lag_seconds: float, tolerance: float, furthest: float, memory: int
    ) -> str | None:
        """Why no state has found its past yet, and what to do; None if it may still.

        Parameters
        ----------
        lag_seconds, tolerance : float
            How far back a past state is, and by how much it may be off.
        furthest : float
            Seconds; of the oldest of the past states.
        memory : int
            States that are remembered.
        """
        step = self.step
        far = step is not None and furthest - tolerance > step * memory
        if step is None or (not far and self.span <= furthest + max(step, tolerance)):
            return None
        way = f"a tolerance of {WIDE * step:.3g} s finds the nearest"
        if far:
            way = "let lag be the steps that lag_seconds lasts"
        elif step > lag_seconds:
            way = f"let lag_seconds be {step:.3g} or more"
        return (
            f"hole: no state {lag_seconds:.6g} ± {tolerance:.3g} s before any; states come every "
            f"{step:.3g} s: {way}"
        )
