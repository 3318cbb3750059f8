"""From states to estimates and detections: the window, the detectors and their rate.

Recordings and robots use the same code, so both have the same results, bit by bit. A `Receiver`
extracts the states from the messages.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from ..errors import InputError
from ..estimation.estimator import Estimator
from ..estimation.result import WindowEstimate
from ..inputs.copies import Stateful
from ..live.subtasks import SubtaskState
from ..live.tracker import KeyStateTracker
from ..streams.coupling import CouplingDetector
from ..streams.events import Event
from ..streams.extrema import Extremum, ExtremumDetector, cell
from ..streams.sliding_window import SlidingWindow
from .receiver import Sample
from .sync import Synchroniser

PROGRESS = 0.05  # a sub-task is reported again after so much progress
SPACING = 0.025  # seconds between pairs for a coupling: it is set for 20 to 30 pairs per second


@dataclass
class Output:
    """Results of a sample."""

    # None if only a tracker or a coupling detector has something to report.
    estimate: WindowEstimate | None = None
    # The estimate was requested and is within the rate limit, not only for the detector of extrema.
    shown: bool = False
    extrema: list[Extremum] = field(default_factory=list)  # detected with this sample, usually none
    # Key states and couplings detected with this sample, usually none.
    events: list[Event] = field(default_factory=list)
    # Of all tools, if one of them has changed, has begun or ceased to stall, or has progressed by
    # 0.05. None if it is not known: in a new episode, or in a part that cannot be followed.
    subtasks: list[tuple[str, SubtaskState | None]] = field(default_factory=list)

    def __bool__(self) -> bool:
        return self.estimate is not None or bool(self.events) or bool(self.subtasks)


class Stream(Stateful):
    """One topic, or two that are paired by time, sample by sample.

    Parameters
    ----------
    window : SlidingWindow
        With `two_streams` for two topics: I(first topic; past of the second).
    estimator : Estimator
    detector : ExtremumDetector
    sync : Synchroniser, optional
        Pairs the samples of two topics.
    coupling : CouplingDetector, optional
        Also receives the states of two topics; its newest estimate is `coupling.latest`.
    tracker : KeyStateTracker, optional
        Also receives every accepted state; with two topics, both states side by side.
    rate_limit : float
        Largest number of estimates shown per second of stamps; 0 for no limit. Estimates that the
        detector needs are always made, so the limit changes no extremum.
    grid : float
        Seconds. Estimates are shown for the first state in each cell of this length, on a fixed
        grid of time; 0 for all states. If it is the detector's `period` divided by an integer, the
        estimates that the detector needs are among them.

    Attributes
    ----------
    limited : int
        Number of states without an estimate because of the rate limit or the grid.
    reason : str
        Why the last sample had no estimate, or "ok"; as `OnlineEstimator.reason`.

    Raises
    ------
    InputError
        The synchroniser is missing for two streams, or given for one.
    """

    def __init__(
        self,
        window: SlidingWindow,
        estimator: Estimator,
        detector: ExtremumDetector,
        *,
        sync: Synchroniser | None = None,
        coupling: CouplingDetector | None = None,
        tracker: KeyStateTracker | None = None,
        rate_limit: float = 0.0,
        grid: float = 0.0,
    ) -> None:
        if (sync is not None) != window.two_streams:
            raise InputError(
                f"{'a' if sync else 'no'} synchroniser for a window of "
                f"{1 + window.two_streams} streams: pass one for two_streams alone"
            )
        if coupling is not None and not window.two_streams:
            raise InputError("coupling is of two topics: pass two, or leave it out")
        if not 0 <= rate_limit < np.inf:
            raise InputError(f"rate_limit is {rate_limit!r}: pass estimates per second, or 0")
        if not 0 <= grid < np.inf:
            raise InputError(f"grid is {grid!r}: pass seconds between estimates, or 0")
        self.window, self.estimator, self.detector, self.sync = window, estimator, detector, sync
        self.coupling, self.tracker = coupling, tracker
        subtasks = None if tracker is None else tracker.task.subtasks
        self.tools = () if subtasks is None else subtasks.tool_names
        self._reported: list[SubtaskState | None] = [None] * len(self.tools)
        self.rate_limit, self.grid, self.limited = rate_limit, grid, 0
        self.reason = window.reason
        self._arrived = False  # whether the last message had no stamp
        self._shown = -np.inf  # stamp of the last estimate that was shown
        self._left_out = np.nan  # stamp of the last state that was counted in `limited`
        self._resets = window.counts["resets"]
        self._skipped = Counter[str]()

    @property
    def counts(self) -> dict[str, int]:
        """Numbers of accepted, refused and skipped states, of the window and the synchroniser."""
        return self.window.counts | (self.sync.counts if self.sync else {}) | self._skipped

    def reset(self) -> None:
        """Empty the window, and reset the detectors and the tracker."""
        if self.sync is not None:
            self.sync.reset()
        self.window.reset()
        if self.coupling is not None:
            self.coupling.reset()
        self._restart()
        self.reason = self.window.reason

    def lost(self) -> None:
        """Forbid pairs across this point, because messages have been lost."""
        self.window.lost()
        if self.coupling is not None:
            self.coupling.window.lost()

    def _restart(self) -> None:
        """Restart the detector and the tracker with the window."""
        self._resets = self.window.counts["resets"]
        self.detector.reset()
        if self.tracker is not None:
            self.tracker.reset()

    def take(self, sample: Sample, *, estimate: bool = True) -> list[Output]:
        """Add a sample to the window, and estimate; usually no output or one.

        With two topics, a message can complete two pairs. Estimates that the detector needs are
        always made; they depend on the stamps alone. Without `estimate` no others are made, for
        messages that come faster than estimates can be made. The pairs in the window are the same,
        and so is the next estimate. InputError if two topics have no stamps, or settings do not fit
        the states.
        """
        if sample.notice:
            self.reset()
        self._arrived = sample.arrived or (bool(sample.fault) and self._arrived)
        if sample.skip:
            self._skipped[sample.skip] += 1
            outputs = [self._catch_up(estimate)]
        elif self.sync is None:
            outputs = [self._add(sample.stamp, sample.state, None, estimate)]
        elif sample.stamp is None:
            raise InputError("two topics are paired by their stamps: pass the time of arrival")
        else:
            pairs = self.sync.push(sample.state, sample.stamp, sample.side)
            outputs = [self._add(*pair, estimate) for pair in pairs]
            if not pairs:
                self.reason = "waiting: no pair of messages since the last one"
                outputs = [self._catch_up(estimate)]
        if sample.fault:
            self.reason = f"{'passed over' if sample.skip else 'refused'}: {sample.fault}"
        return [output for output in outputs if output]

    def estimate(self) -> list[Output]:
        """Estimate from the window, unless there is an estimate of its newest state."""
        output = self._catch_up(True)
        if output.estimate is not None:
            self.reason = self.window.reason
        return [output] if output else []

    def _add(
        self,
        stamp: float | None,
        state: NDArray[np.float64],
        other: NDArray[np.float64] | None,
        asked: bool,
    ) -> Output:
        accepted = self.window.add(state, stamp, other, counted=self._arrived)
        if self.window.counts["resets"] != self._resets:
            self._restart()
        output = self._estimate(asked) if accepted else Output()
        self.reason = self.window.reason
        if self.coupling is not None and other is not None and stamp is not None:
            last = self.coupling.window.newest
            fast = last is not None and 0 < stamp - last < SPACING
            usable = not fast and self.coupling.add(state, other, stamp)
            if usable and (asked or output.estimate is not None):
                output.events += self.coupling.detect()
        if self.tracker is not None and accepted:
            states = state if other is None else np.concatenate([state, other])
            output.events += self.tracker.push(states, stamp)
            if self.tools:
                output.subtasks += self._subtasks(self.tracker.subtask_states)
        return output

    def _subtasks(
        self, now: tuple[SubtaskState | None, ...]
    ) -> list[tuple[str, SubtaskState | None]]:
        """Sub-tasks of all tools, if one differs enough from what was reported last."""
        if not any(differs(one, state) for one, state in zip(self._reported, now, strict=True)):
            return []
        self._reported = list(now)
        return list(zip(self.tools, now, strict=True))

    def _catch_up(self, asked: bool) -> Output:
        output = self._estimate(asked)
        if self.coupling is not None and asked:
            output.events += self.coupling.detect()
        return output

    def _estimate(self, asked: bool) -> Output:
        """Estimate if requested, or if the detector needs it."""
        now = self.window.newest
        if now is None:
            return Output()
        # The microsecond allows for rounding of stamps; below 0, stamps have jumped back.
        soon = self.rate_limit and 0 <= now - self._shown < 1 / self.rate_limit - 1e-6
        if soon or (self.grid and cell(now, self.grid) == cell(self._shown, self.grid)):
            if asked and self.window.pending and now != self._left_out:
                self.limited, self._left_out = self.limited + 1, now
            asked = shown = False
        else:
            shown = self.window.due or not asked
        due = self.detector.due(now)
        if not asked and not due:
            return Output()
        found = self.window.estimate(self.estimator, anyway=due)
        if found is None:
            return Output()
        if shown:
            self._shown = now
        return Output(found, shown, self.detector.push(found) if due else [])


def differs(reported: SubtaskState | None, now: SubtaskState | None) -> bool:
    """Whether a sub-task has to be reported again."""
    if reported is None or now is None:
        return reported is not now
    return (
        reported.index != now.index
        or reported.stalled != now.stalled
        or abs(now.progress - reported.progress) >= PROGRESS
        or (now.progress == 1.0 and reported.progress < 1.0)
    )
