"""The thread that runs inference, so that subscriptions do not wait for it."""

import math
import threading
import time
from collections import Counter, deque
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from infoatlas_ros2.health import Health
from infoatlas_ros2.maker import Maker
from infoatlas_ros2.parameters import Settings, differ
from infoatlas_rt.errors import InfoAtlasError
from infoatlas_rt.estimation.result import WindowEstimate
from infoatlas_rt.live.outcome import NOT_BEGUN, STATES, UNKNOWN, Outcome
from infoatlas_rt.live.subtasks import SubtaskState
from infoatlas_rt.messages.in_order import LiveOrder
from infoatlas_rt.messages.receiver import Sample
from infoatlas_rt.messages.stream import Output
from infoatlas_rt.streams.events import Event
from infoatlas_rt.streams.extrema import Extremum

ESTIMATES, WARM_UP = "estimates", "warm-up"  # names of threads that run inference
# Parameters that can change without emptying the window.
DETECTOR = {"extremum_kinds", "extremum_z", "extremum_delay"}
RATE = {"rate_limit"}
ASIDE = RATE | {"stall_after", "diagnostics_period"}
JOIN = 0.3  # seconds to wait for a thread, which cannot be stopped within an inference
SLOW = 0.9  # share of the detector's period; longer estimates are too slow
RECOVERED = 0.8  # share of half the period; faster estimates allow twice as many
HEADERS = 2000  # most headers of states that may still wait for their partner


@dataclass
class Published:
    """Results to publish after a state: estimates and detections, with headers."""

    header: Any  # of the newest state; None if there is none
    estimate: WindowEstimate | None = None
    motions: WindowEstimate | None = None  # of the motions; couplings are detected from it
    extrema: list[tuple[Extremum, Any]] = field(default_factory=list)
    events: list[tuple[Event, Any]] = field(default_factory=list)
    subtasks: list[tuple[str, SubtaskState | None]] = field(default_factory=list)  # by tool
    outcome: Outcome | None = None


class Worker:
    """Receives states from the subscriptions, and makes estimates at the newest state.

    All states enter the window, so that pairs are exactly a lag apart (no pair spans states that a
    full queue has dropped). In each turn, the worker adds all waiting states and makes one estimate
    at most. So a state waits for one inference at most, whatever happened before. States without
    an estimate are counted.
    """

    def __init__(
        self,
        maker: Maker,
        settings: Callable[[], Settings],
        publish: Callable[[Published], None],
        health: Health,
        warn: Callable[[str], None] | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._clock = clock
        self._warn = warn or health.warn
        self._maker, self._read, self._publish, self._health = maker, settings, publish, health
        self.settings = settings()
        self.stream, self.receivers = maker.stream(self.settings), maker.receivers(self.settings)
        self._before = Counter[str]()  # fates of states in earlier streams
        self.reason = self.stream.reason  # result of the last attempt to estimate
        self._ring: deque[Sample] = deque()
        self._orders = [LiveOrder(self.settings.reset_after) for _ in self.receivers]
        self._most = self.settings.queue
        self._overflown = False  # whether states before the oldest one were dropped
        self._ready = threading.Condition()
        self._stopping = False
        self._resetting = False  # whether to reset before the next batch
        self._round = 0  # number of resets; results of an earlier round are not published
        self._newest: Any = None  # header of the newest state
        self._headers: dict[float | None, Any] = {}
        self._sent: deque[tuple[float, Any]] = deque()  # headers that extrema and events may need
        self._motions: Any = None  # the last published estimate of motions
        self._missed = 0  # estimates that the detector missed in the last turn with states
        self._slow_at = -math.inf  # time of the clock when the detector last got fewer estimates
        self._took: deque[float] = deque(maxlen=5)  # seconds of the last estimates
        self._thread = threading.Thread(target=self._run, name=ESTIMATES, daemon=True)
        self._thread.start()

    @property
    def counts(self) -> dict[str, int]:
        """Fates of states since the node was activated."""
        with self._ready:
            counts = {key: n + self._before[key] for key, n in self.stream.counts.items()}
            return counts | {"put in order": sum(order.moved.total() for order in self._orders)}

    def offer(self, sample: Sample, header: Any) -> None:
        """Add a state to the queue; called by subscriptions, it never waits for an inference."""
        sample = sample._replace(header=header)
        with self._ready:
            for ready in [sample] if sample.skip else self._orders[sample.side].push(sample):
                if len(self._ring) >= self._most:
                    self._ring.popleft()
                    self._overflown = True
                    self._health.overflown += 1
                self._ring.append(ready)
            self._ready.notify()

    def reset(self) -> None:
        """Drop all messages; later results do not depend on them."""
        with self._ready:
            for receiver, order in zip(self.receivers, self._orders, strict=True):
                receiver.forget()
                order.forget()
            self._ring.clear()
            self._overflown = False
            self._resetting = True
            self._round += 1
            self._ready.notify()

    def stop(self) -> None:
        """Stop publishing; the thread ends after its current inference."""
        with self._ready:
            self._stopping = True
            self._ready.notify()
        self._thread.join(JOIN)

    def unknown(self) -> Published:
        """Sub-tasks and outcome of an episode that has not begun."""
        outcome = Outcome(STATES[UNKNOWN], -1, NOT_BEGUN, math.nan, math.nan)
        return Published(
            None,
            subtasks=[(tool, None) for tool in self.stream.tools],
            outcome=None if self.stream.tracker is None else outcome,
        )

    def _run(self) -> None:
        more = False  # whether another estimate may be due without a new message
        while True:
            with self._ready:
                if not more:
                    self._ready.wait_for(lambda: self._ring or self._resetting or self._stopping)
                if self._stopping:
                    return
                batch, overflown = list(self._ring), self._overflown
                resetting, number = self._resetting, self._round
                self._ring.clear()
                self._overflown = self._resetting = False
            try:
                if resetting:
                    self.stream.reset()
                    self.reason, self._health.fill = self.stream.reason, 0.0
                    self._publish_once(self.unknown(), number)
                with self._maker.timed():
                    more = self._turn(batch, overflown, number)
            except InfoAtlasError as error:
                more = False
                self._health.fail(str(error))
            except Exception as error:  # an error must not end the node
                more = False
                self._health.fail(f"{type(error).__name__}: {error}")

    def _turn(self, batch: list[Sample], overflown: bool, number: int) -> bool:
        """Add a batch of states, and make one estimate at most; return whether one was made."""
        settings = self._read()
        if settings is not self.settings:
            self._change(settings)
        if not (settings.slices or self._maker.measured) and self._maker.sliced(settings):
            self._choose(settings)
        if overflown:
            self.stream.lost()
        stream, health = self.stream, self._health
        before = stream.superseded, stream.limited, stream.resting, stream.needed.missed
        for sample in batch:
            if not sample.skip:
                self._newest = sample.header
                if sample.side == 0:
                    self._headers.pop(sample.stamp, None)  # from an earlier loop of a bag
                    self._headers[sample.stamp] = sample.header
            for output in stream.add(sample):
                self._publish_output(output, number)
        if batch:
            self._keep_up(stream.needed.missed - before[3])
        start = time.monotonic()
        outputs = stream.estimate()
        made = any(output.estimate is not None for output in outputs)
        if made:
            self._took.append(time.monotonic() - start)
        for output in outputs:
            self._publish_output(output, number)
        self._publish_motions(number)
        self.reason = stream.reason
        health.superseded += stream.superseded - before[0]
        health.limited += stream.limited - before[1]
        health.resting += stream.resting - before[2]
        while len(self._headers) > HEADERS:
            del self._headers[next(iter(self._headers))]
        return made

    def _change(self, settings: Settings) -> None:
        """Apply changed parameters; most of them empty the window."""
        changed = differ(self.settings, settings)
        self.settings = settings
        if changed - DETECTOR - ASIDE:
            stream = self._maker.stream(settings)
            with self._ready:  # a report must not count the states of the old stream twice
                self._before.update(self.stream.counts)
                self.stream = stream
            self.receivers = self._maker.receivers(settings)
            for order in self._orders:
                order.reset_after = settings.reset_after
        elif changed & DETECTOR:
            self.stream.detector = settings.detector()
        if changed & RATE:
            self.stream.rate_limit, self.stream.grid = settings.rate_limit, 0.0

    def _choose(self, settings: Settings) -> None:
        """Choose the number of slices; if the smallest is too slow, reduce the rate, too."""
        warning, slow = self._maker.choose_slices(settings)
        if slow and not settings.rate_limit:
            # Publish only the estimates of the detector, so that no others delay them.
            period = self.stream.grid = self.stream.detector.period
            warning += (
                f". This is still slow, so {1 / period:g} estimates a second are published: set "
                "rate_limit to decide it"
            )
        if warning:
            self._warn(warning)

    def _keep_up(self, missed: int) -> None:
        """Give the detector fewer estimates while they are too slow, and more again afterwards.

        The detector gets its estimates in order, so it catches up after a stall. `missed` are those
        that are lost with the states of this turn. On a machine that is too slow, there are some in
        each turn. A single long batch is no sign of that: the network may have delayed it.
        """
        detector, now = self.stream.detector, self._clock()
        took = sorted(self._took)[len(self._took) // 2] if self._took else 0.0
        why, behind = "", missed and self._missed and now > self._slow_at + detector.delay
        self._missed = missed
        if took > SLOW * detector.period:
            why = f"inference ({took:.3f} s) is too slow for extrema"
        elif behind:
            why = "states arrive faster than they are processed for extrema"
        elif missed:
            self._health.warn(
                f"states were late by more than extremum_delay ({detector.delay:g} s): {missed} "
                "estimates for extrema are missing"
            )
        if why:
            self._slow_at = now
            detector.coarsen()
            while took > SLOW * detector.period:
                detector.coarsen()
            self._health.warn(
                f"{why} with extremum_delay {detector.delay:g} s: they use an estimate "
                f"every {detector.period:g} s, and may differ from those of a faster machine: "
                "raise the delay, or use fewer slices"
            )
        elif took <= RECOVERED * detector.period / 2 and now > self._slow_at + detector.delay:
            self._slow_at = now  # so that the next refinement waits as long
            detector.refine()
        if self.stream.grid:
            self.stream.grid = detector.period

    def _publish_output(self, output: Output, number: int) -> None:
        """Publish a result with the headers of its states."""
        found, newest = output.estimate, self._newest
        if output.events:
            newest = self._headers.get(output.events[0].detected_stamp, newest)
        if found is not None:
            newest = self._headers.get(found.stamp, newest)
            self._sent.append((found.stamp, newest))
            now = self.stream.window.newest or 0.0
            while (
                self._sent and not now - 1.1 * self.stream.detector.delay <= self._sent[0][0] <= now
            ):
                self._sent.popleft()  # too old, or before a jump
        headers: dict[float | None, Any] = {}
        if output.extrema or output.events:
            headers.update([*self._headers.items(), *self._sent])
        self._publish_once(
            Published(
                newest,
                estimate=found if output.shown else None,
                extrema=[(it, headers.get(it.stamp, newest)) for it in output.extrema],
                events=[(it, headers.get(it.stamp, newest)) for it in output.events],
                subtasks=output.subtasks,
                outcome=output.outcome,
            ),
            number,
        )

    def _publish_motions(self, number: int) -> None:
        """Publish the mutual information of the motions, from which couplings are detected."""
        motions = None if self.stream.coupling is None else self.stream.coupling.latest
        if motions is None or motions is self._motions:
            return
        self._motions = motions
        self._publish_once(Published(self._headers[motions.stamp], motions=motions), number)

    def _publish_once(self, batch: Published, number: int) -> None:
        """Publish, unless the stream was reset or stopped after the states arrived."""
        with self._ready:
            if number == self._round and not self._stopping:
                self._publish(batch)
