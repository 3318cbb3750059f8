"""From states to estimates and detections: the window, the detectors and their rate.

Recordings and robots use the same code, so both have the same results, bit by bit. A `Receiver`
extracts the states from the messages.
"""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from ..errors import InputError
from ..estimation.estimator import Estimator
from ..estimation.result import WindowEstimate
from ..inputs.copies import Stateful
from ..live.outcome import Outcome
from ..live.subtasks import SubtaskState
from ..live.tracker import KeyStateTracker
from ..streams.coupling import CouplingDetector
from ..streams.events import Event
from ..streams.extrema import Extremum, ExtremumDetector, cell
from ..streams.needed_windows import NeededWindows
from ..streams.sliding_window import SlidingWindow
from .receiver import Sample
from .sync import Synchroniser

Array = NDArray[np.float64]

PROGRESS = 0.05  # a sub-task is reported again after so much progress
REST = 5  # periods of the detector for one estimate of a robot at rest
SPACING = 0.025  # seconds between pairs for a coupling: it is set for 20 to 30 pairs per second


@dataclass
class Output:
    """Results of a sample."""

    # None if only a tracker or a coupling detector has something to report.
    estimate: WindowEstimate | None = None
    # The estimate is for the user: of the newest states, and within the rate limit. Others are only
    # for the detector of extrema.
    shown: bool = False
    extrema: list[Extremum] = field(default_factory=list)  # detected with this sample, usually none
    # Key states and couplings detected with this sample, usually none.
    events: list[Event] = field(default_factory=list)
    # Of all tools, if one of them has changed, has begun or ceased to stall, or has progressed by
    # 0.05. None if it is not known: in a new episode, or in a part that cannot be followed.
    subtasks: list[tuple[str, SubtaskState | None]] = field(default_factory=list)
    outcome: Outcome | None = None  # of the episode, if it has changed

    def __bool__(self) -> bool:
        found = self.estimate is not None or self.outcome is not None
        return found or bool(self.events) or bool(self.subtasks)


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
    sparse_rest : bool
        While a robot rests, estimate only once in `REST` periods of the detector.
        So it costs less than one that moves.

    Attributes
    ----------
    limited, resting : int
        Numbers of states without an estimate because of the rate limit or the grid, and because of
        `sparse_rest`.
    needed : NeededWindows
        Windows that the detector needs.
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
        sparse_rest: bool = False,
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
        self._outcome: tuple[str, int] | None = None
        self.rate_limit, self.grid, self.sparse_rest = rate_limit, grid, sparse_rest
        self.limited = self.resting = self._estimable = self._answered = 0
        self.needed = NeededWindows()
        self.reason = window.reason
        self._arrived = False  # whether the last message had no stamp
        self._shown = -np.inf  # stamp of the last estimate that was shown
        self._left_out = np.nan  # stamp of the last state counted in `limited` or `resting`
        self._added = False  # whether a state was added since the last `estimate`
        self._needed = False  # whether the detector needs one of these
        self._showed = False  # whether the last estimate was shown
        self._counts = False  # whether that one is due by the window's `every`
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
        self.needed.clear()
        self._restart()
        self.reason = self.window.reason

    def lost(self) -> None:
        """Forbid pairs across this point, because messages have been lost."""
        self.window.lost()
        if self.coupling is not None:
            self.coupling.window.lost()

    @property
    def superseded(self) -> int:
        """Number of states of full windows without an estimate, because newer ones came."""
        return self._estimable - self._answered - self.limited - self.resting

    def _restart(self) -> None:
        """Restart the detector and the tracker with the window."""
        self._resets = self.window.counts["resets"]
        self._needed = False
        self.needed.restart(self.detector)
        self._pass_on(Output())
        if self.tracker is not None:
            self.tracker.reset()
            self._outcome = None  # to be reported again, also if it is the same

    def take(self, sample: Sample) -> list[Output]:
        """Add a sample to the window, and estimate; usually no output or one.

        With two topics, a message can complete two pairs. InputError if two topics have no stamps,
        or settings do not fit the states.
        """
        return self._receive(sample, at_once=True)

    def add(self, sample: Sample) -> list[Output]:
        """Add a sample to the window without an estimate, which `estimate` makes.

        For messages that come faster than estimates can be made. The pairs in the window are those
        of `take`, and so is the next estimate. Key states and sub-tasks are found at once. Windows
        that the detector needs are kept; they depend on the states alone. InputError as of `take`.
        """
        return self._receive(sample, at_once=False)

    def estimate(self) -> list[Output]:
        """Make one estimate at most, so that no later one waits for long; none if none is due.

        It is of the newest state, or of the first one in the detector's period if that is at most
        two inferences older. In between, and while no states are added, it is of older states that
        the detector needs; these are not shown.
        """
        outputs = self._pass_on(Output())
        added, needed, waiting = self._added, self._needed, self.needed.waiting
        self._added = self._needed = False
        late = 2 * self.estimator.seconds.get("total", 0.0)
        output, chosen = Output(), None
        if needed and waiting and waiting[-1].stamp >= (self.window.newest or 0.0) - late:
            chosen = waiting[-1]
        elif added and waiting and self._showed:
            chosen, needed = waiting[0], False
        elif added or self.window.pending:
            output = self._newest()
        if chosen is None and waiting and output.estimate is None:
            chosen, needed = waiting[0], False
        if chosen is not None:
            found = self.window.evaluate(chosen, self.estimator)
            self.needed.set_estimate(chosen, found)
            shown = needed and self._counts and not self._held_back(found.stamp)
            output = self._show(found) if shown else Output(found)
        self._showed = output.shown
        if added or output.estimate is not None:
            self.reason = self.window.reason
        outputs += self._pass_on(output)
        # Couplings are of the newest state, which may be newer than that of the estimate.
        events = [] if self.coupling is None else self.coupling.detect()
        return [*outputs, Output(events=events)] if events else outputs

    def _receive(self, sample: Sample, at_once: bool) -> list[Output]:
        if sample.notice:
            self.reset()
        self._arrived = sample.arrived or (bool(sample.fault) and self._arrived)
        pairs: Sequence[tuple[float | None, Array, Array | None] | None] = [None]
        if sample.skip:
            self._skipped[sample.skip] += 1
        elif self.sync is None:
            pairs = [(sample.stamp, sample.state, None)]
        elif sample.stamp is None:
            raise InputError("two topics are paired by their stamps: pass the time of arrival")
        else:
            pairs = self.sync.push(sample.state, sample.stamp, sample.side) or pairs
            if pairs[0] is None:
                self.reason = "waiting: no pair of messages since the last one"
        outputs = []
        for pair in pairs:
            if pair is not None:
                outputs.append(self._add(*pair))
            while at_once and (made := self.estimate()):
                outputs += made
        if sample.fault:
            self.reason = f"{'passed over' if sample.skip else 'refused'}: {sample.fault}"
        return [output for output in outputs if output]

    def _add(self, stamp: float | None, state: Array, other: Array | None) -> Output:
        output = Output()
        accepted = self.window.add(state, stamp, other, counted=self._arrived)
        if self.window.counts["resets"] != self._resets:
            self._restart()
        if accepted:
            self._added = True
            self._estimable += self.window.ready
            counts = self.window.due
            if self.needed.add(self.window, self.detector):
                self._needed, self._counts = True, counts
        self.reason = self.window.reason
        if self.coupling is not None and other is not None and stamp is not None:
            last = self.coupling.window.newest
            if last is None or not 0 < stamp - last < SPACING:
                self.coupling.add(state, other, stamp)
        if self.tracker is not None and accepted:
            states = state if other is None else np.concatenate([state, other])
            output.events += self.tracker.push(states, stamp)
            outcome = self.tracker.outcome
            if (outcome.state, outcome.since) != self._outcome:
                self._outcome, output.outcome = (outcome.state, outcome.since), outcome
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

    def _pass_on(self, output: Output) -> list[Output]:
        """Pass kept estimates to the detector, in order; return its extrema, and `output`."""
        outputs = [output]
        for found, extrema in self.needed.pass_on(self.detector):
            if found is output.estimate:
                output.extrema += extrema
            elif extrema:
                outputs.append(Output(found, extrema=extrema))
        return [one for one in outputs if one]

    def _newest(self) -> Output:
        """Estimate from the window as it is, if that is due and is not held back."""
        now = self.window.newest
        if now is None or (self.window.pending and self._held_back(now)):
            return Output()
        found = self.window.estimate(self.estimator)
        return Output() if found is None else self._show(found)

    def _show(self, found: WindowEstimate) -> Output:
        self._shown = found.stamp
        self._answered += 1
        return Output(found, shown=True)

    def _held_back(self, now: float) -> bool:
        """Whether an estimate at this stamp is not shown; it is counted then."""
        # The microsecond allows for rounding of stamps; below 0, stamps have jumped back.
        soon = self.rate_limit and 0 <= now - self._shown < 1 / self.rate_limit - 1e-6
        period = REST * self.detector.period
        if soon or (self.grid and cell(now, self.grid) == cell(self._shown, self.grid)):
            self.limited += now != self._left_out
        elif (
            self.sparse_rest
            and cell(now, period) == cell(self._shown, period)
            and self.window.ready
            and self.window.at_rest
        ):
            self.resting += now != self._left_out
            self.window.reason = f"waiting: at rest, an estimate every {period:g} s"
        else:
            return False
        self._left_out = now
        return True


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
