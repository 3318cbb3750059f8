"""The thread that runs inference, so that no subscription waits for it."""

from __future__ import annotations

import threading
import time
from collections import Counter, deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from infoatlas_rt import Estimator
from infoatlas_rt.curves.extrema import Extremum
from infoatlas_rt.errors import InfoAtlasError
from infoatlas_rt.estimation.result import WindowEstimate
from infoatlas_rt.keystates.progress.live_subtasks import SubtaskState
from infoatlas_rt.messages.fields import Extractor
from infoatlas_rt.messages.receiver import Receiver
from infoatlas_rt.messages.stream import Output, Stream
from infoatlas_rt.messages.sync import Synchroniser
from infoatlas_rt.streams.events import Event

from .health import Health
from .parameters import Settings, differ

# Parameters whose change keeps the window.
DETECTOR = {"extremum_kinds", "extremum_z", "extremum_delay"}
RATE = {"rate_limit"}
ASIDE = RATE | {"stall_after", "diagnostics_period"}
JOIN = 0.3  # seconds to wait for a thread, which cannot be stopped within an inference
SLICES = 40  # at most, where they are chosen
TRIED = (10, SLICES)  # numbers of slices that are timed
LEAST = 5
FAST = 0.02  # seconds: an estimate that waits for another one, and takes as long, is within 0.05 s
MEASURING = 0.2  # seconds, for each of the numbers that are timed
HEADERS = 2000  # of states that may still wait for their partner


class Maker:
    """Makes streams from settings; keeps the model loaded while its settings stay the same."""

    def __init__(self, settings: Settings, extractors: list[Extractor]) -> None:
        self.extractors = extractors
        # One worker estimates at a time: a stopped one finishes its inference, and the next waits.
        self.turn = threading.Lock()
        self.since: float | None = None  # time.monotonic() at which the present turn began
        self._load(settings)

    def _load(self, settings: Settings) -> None:
        self.estimator: Estimator = settings.estimator()
        self.measured = False  # how long estimates take, for the present stream
        self._key = self._relevant(settings)

    @staticmethod
    def _relevant(settings: Settings) -> tuple[int, int, int]:
        return settings.k, settings.slices, settings.seed

    def stream(self, settings: Settings) -> Stream:
        """A new stream, its window empty."""
        if self._relevant(settings) != self._key:
            self._load(settings)
        if not settings.slices:
            self.estimator.slices, self.measured = None, False
        sync = None
        if len(self.extractors) == 2:
            sync = Synchroniser(settings.sync_tolerance, reset_after=settings.reset_after)
        return Stream(
            settings.sliding_window(self.estimator),
            self.estimator,
            settings.detector(),
            sync=sync,
            rate_limit=settings.rate_limit,
            coupling=settings.couplings(self.estimator),
            tracker=settings.tracker(),
        )

    def receivers(self, settings: Settings) -> list[Receiver]:
        """A receiver for each topic."""
        again = settings.reset_after
        return [Receiver(extractor, i, again) for i, extractor in enumerate(self.extractors)]

    def warm_up(self, settings: Settings) -> None:
        """Estimate once on noise of the right size: the first call of an engine is slow."""
        rng = np.random.default_rng(0)
        dims = [e.dim or max(settings.k, self.estimator.model_file.dim) for e in self.extractors]
        x, y = (rng.standard_normal((settings.window, d)) for d in (dims[0], dims[-1]))
        with self.timed():
            self.estimator.estimate(x, y, time_series=True)

    def sliced(self, settings: Settings) -> bool:
        """Whether a side is sliced; False until the first states show how wide they are."""
        dims = [extractor.dim for extractor in self.extractors]
        if None in dims:
            return False
        widest = max(dims[0] or 0, (dims[-1] or 0) * settings.history)
        return self.estimator.k is not None or widest > self.estimator.model_file.dim

    def choose_slices(self, settings: Settings) -> tuple[str, bool]:
        """Time estimates of two numbers of slices, and choose one that the machine can sustain.

        The number stays until the next stream is made, so that no extremum is searched among
        estimates of different slices.

        Parameters
        ----------
        settings : Settings
            Whose `slices` is 0.

        Returns
        -------
        str
            What was chosen and why, if it is not the usual number; else empty.
        bool
            Whether an estimate of these takes too long all the same.
        """
        self.measured = True
        took = {}
        for slices in TRIED:
            self.estimator.slices = slices
            took[slices] = self._longest(settings)
        (few, quick), (many, slow) = took.items()
        self.estimator.slices = None  # as many as usual
        if slow <= FAST:
            return "", False
        each = max(slow - quick, 1e-9) / (many - few)
        chosen = int(min(max(few + (FAST - quick) / each, LEAST), many))
        self.estimator.slices = chosen
        warning = (
            f"an estimate of {many} slices takes {slow * 1e3:.0f} ms beside what else runs here, "
            f"too long for a latency below 50 ms: slices is {chosen} until the node is activated "
            "anew, or a parameter restarts the window. Set the parameter slices to decide it"
        )
        return warning, quick + (chosen - few) * each > FAST * 1.01

    def _longest(self, settings: Settings) -> float:
        """Seconds of the longest of some estimates: of the window, and of motions if there are."""
        rng = np.random.default_rng(0)
        dims = [extractor.dim or 1 for extractor in self.extractors]
        past = dims[-1] * settings.history
        x, y = (rng.standard_normal((settings.window, d)) for d in (dims[0], past))
        sizes = [settings.window]
        if settings.coupling:
            sizes.append(self.estimator.model_file.n_min)
        took: list[float] = []
        begin = time.monotonic()
        while len(took) < 3 or (len(took) < 6 and time.monotonic() < begin + MEASURING):
            start = time.monotonic()
            for n in sizes:
                self.estimator.estimate(x[:n], y[:n], time_series=True)
            took.append(time.monotonic() - start)
        return max(took[1:])  # the first one of a new size is slow

    @contextmanager
    def timed(self) -> Iterator[None]:
        """Take a turn, which `since` dates."""
        with self.turn:
            self.since = time.monotonic()
            try:
                yield
            finally:
                self.since = None


@dataclass
class Published:
    """What there is to publish after a state: estimates and detections, with headers."""

    header: Any  # of the newest state; None: there is none
    estimate: WindowEstimate | None = None
    motions: WindowEstimate | None = None  # of the motions, from which couplings are detected
    extrema: list[tuple[Extremum, Any]] = field(default_factory=list)
    events: list[tuple[Event, Any]] = field(default_factory=list)
    subtasks: list[tuple[str, SubtaskState | None]] = field(default_factory=list)  # by tool


class Worker:
    """Takes states from the subscriptions, and estimates at the newest.

    Every state enters the window, so that pairs stay exactly a lag apart (none is formed across
    states that a full queue has dropped). Inference is for the newest state alone. States without
    an estimate of their own are counted.
    """

    def __init__(
        self,
        maker: Maker,
        settings: Callable[[], Settings],
        publish: Callable[[Published], None],
        health: Health,
        warn: Callable[[str], None] | None = None,
    ) -> None:
        self._warn = warn or health.warn
        self._maker, self._read, self._publish, self._health = maker, settings, publish, health
        self.settings = settings()
        self.stream, self.receivers = maker.stream(self.settings), maker.receivers(self.settings)
        self._before = Counter[str]()  # fates of states, in streams before this one
        self.reason = self.stream.reason  # of the last attempt to estimate
        self._ring: deque[tuple[Any, Any]] = deque()
        self._most = self.settings.queue
        self._overflown = False  # states are missing in front of the oldest
        self._ready = threading.Condition()
        self._stopping = False
        self._resetting = False  # before the next batch
        self._round = 0  # of messages between two resets; the thread publishes of its own alone
        self._headers: dict[float, Any] = {}
        self._sent: deque[tuple[float, Any]] = deque()  # headers that extrema and events may need
        self._motions: Any = None  # the last estimate of motions that was published
        self._behind = 0.0  # seconds of stamps, of the last batch
        self._took: deque[float] = deque(maxlen=5)  # seconds of the last estimates
        self._thread = threading.Thread(target=self._run, name="infoatlas", daemon=True)
        self._thread.start()

    @property
    def counts(self) -> dict[str, int]:
        """Fates of states since the node was activated."""
        return {key: n + self._before[key] for key, n in self.stream.counts.items()}

    def offer(self, sample: Any, header: Any) -> None:
        """Hand over a state; called by the subscriptions, never waits for an inference."""
        with self._ready:
            if len(self._ring) >= self._most:
                self._ring.popleft()
                self._overflown = True
                self._health.overflown += 1
            self._ring.append((sample, header))
            self._ready.notify()

    def reset(self) -> None:
        """Drop all messages; nothing that is published after this depends on them."""
        with self._ready:
            for receiver in self.receivers:
                receiver.forget()
            self._ring.clear()
            self._overflown = False
            self._resetting = True
            self._round += 1
            self._ready.notify()

    def stop(self) -> None:
        """Publish nothing more; the thread ends with its present inference."""
        with self._ready:
            self._stopping = True
            self._ready.notify()
        self._thread.join(JOIN)

    def unknown(self) -> list[tuple[str, SubtaskState | None]]:
        """Sub-tasks of an episode that has not begun."""
        return [(tool, None) for tool in self.stream.tools]

    def _run(self) -> None:
        while True:
            with self._ready:
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
                    self.reason = self.stream.reason
                    self._publish_once(Published(None, subtasks=self.unknown()), number)
                if batch:
                    with self._maker.timed():
                        self._turn(batch, overflown, number)
            except InfoAtlasError as error:
                self._health.fail(str(error))
            except Exception as error:  # no error may end the node
                self._health.fail(f"{type(error).__name__}: {error}")

    def _turn(self, batch: list[tuple[Any, Any]], overflown: bool, number: int) -> None:
        settings = self._read()
        changed = differ(self.settings, settings)
        self.settings = settings
        if changed - DETECTOR - ASIDE:
            self._before.update(self.stream.counts)
            self.stream = self._maker.stream(settings)
            self.receivers = self._maker.receivers(settings)
        elif changed & DETECTOR:
            self.stream.detector = settings.detector()
        if changed & RATE:
            self.stream.rate_limit, self.stream.grid = settings.rate_limit, 0.0
        if not (settings.slices or self._maker.measured) and self._maker.sliced(settings):
            self._choose(settings)
        if overflown:
            self.stream.lost()
        self._keep_up([s.stamp for s, _ in batch if s.side == 0 and not s.skip])
        limited, count = self.stream.limited, 0
        for place, (sample, header) in enumerate(batch, start=1):
            if sample.side == 0:
                self._headers.pop(sample.stamp, None)  # of an earlier round of a bag
                self._headers[sample.stamp] = header
            # For the newest, unless the detector has just had an estimate of its own.
            newest = place == len(batch) and not count
            for output in self.stream.take(sample, estimate=newest):
                count += output.estimate is not None
                self._publish_output(output, header, number)
            self._publish_motions(number)
        self.reason = self.stream.reason
        self._health.superseded += len(batch) - max(count, 1)
        if count and not self._ring:  # no newer state has arrived
            for output in self.stream.estimate():
                self._health.superseded -= output.estimate is not None
                self._publish_output(output, batch[-1][1], number)
            self._publish_motions(number)
        self._health.limited += self.stream.limited - limited
        while len(self._headers) > HEADERS:
            del self._headers[next(iter(self._headers))]

    def _choose(self, settings: Settings) -> None:
        """Choose the number of slices; if the least one is too slow, the rate as well."""
        warning, slow = self._maker.choose_slices(settings)
        if slow and not settings.rate_limit:
            # Those of the detector alone, so that none waits for another one.
            period = self.stream.grid = self.stream.detector.period
            warning += (
                f". Even so it takes long, so {1 / period:g} estimates a second are published: set "
                "rate_limit to decide it"
            )
        if warning:
            self._warn(warning)

    def _keep_up(self, stamps: list[float]) -> None:
        """Give the detector fewer estimates while they take too long, and more again afterwards.

        The detector gets all estimates that it is due, in order, so it catches up after a stall. A
        machine that is too slow for that would fall behind more and more: a batch holds the states
        that arrived during the last one.
        """
        behind = max(stamps) - min(stamps) if stamps else 0.0
        detector, took = self.stream.detector, float(np.median(self._took)) if self._took else 0.0
        growing = behind > detector.delay and behind >= self._behind
        self._behind = behind
        if growing or took > 0.8 * detector.period:
            while growing or took > 0.8 * detector.period:
                growing = False
                detector.coarsen()
            self._health.warn(
                f"inference ({took:.3f} s) is too slow for extrema with extremum_delay "
                f"{detector.delay:g} s: they use an estimate every {detector.period:g} s, and may "
                "differ from those of a faster machine: raise the delay, or use fewer slices"
            )
        elif took < 0.2 * detector.period and behind < detector.period:
            detector.refine()
        if self.stream.grid:
            self.stream.grid = detector.period

    def _publish_output(self, output: Output, newest: Any, number: int) -> None:
        """Publish, with the headers that the states came with."""
        found = output.estimate
        if found is not None:
            self._took.append(self._maker.estimator.seconds["total"])
            newest = self._headers[found.stamp]
            self._sent.append((found.stamp, newest))
            start = found.stamp - 1.1 * self.stream.detector.delay
            while not start <= self._sent[0][0] <= found.stamp:  # too old, or before a jump back
                self._sent.popleft()
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
            ),
            number,
        )

    def _publish_motions(self, number: int) -> None:
        """Publish the information of the motions, from which couplings are detected."""
        motions = None if self.stream.coupling is None else self.stream.coupling.latest
        if motions is None or motions is self._motions:
            return
        self._motions = motions
        self._publish_once(Published(self._headers[motions.stamp], motions=motions), number)

    def _publish_once(self, batch: Published, number: int) -> None:
        """Publish, unless the stream was reset or stopped since the states came."""
        with self._ready:
            if number == self._round and not self._stopping:
                self._publish(batch)
