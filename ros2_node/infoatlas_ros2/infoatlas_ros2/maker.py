"""Make streams from settings, and choose the number of slices that the machine can sustain."""

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager

import numpy as np

from infoatlas_ros2.parameters import Settings
from infoatlas_rt import Estimator
from infoatlas_rt.messages.fields import Extractor
from infoatlas_rt.messages.receiver import Receiver
from infoatlas_rt.messages.stream import Stream
from infoatlas_rt.messages.sync import Synchroniser

SLICES = 40  # largest number of slices that is chosen
TRIED = (10, SLICES)  # numbers of slices that are timed
LEAST = 5
FAST = 0.02  # seconds; an estimate that waits for another one is then done within 0.05 s
MEASURING = 0.2  # seconds of timing for each number in TRIED


class Maker:
    """Makes streams from settings; the model stays loaded while its settings are the same."""

    def __init__(self, settings: Settings, extractors: list[Extractor]) -> None:
        self.extractors = extractors
        # One worker estimates at a time: the next one waits for the inference of a stopped one.
        self.turn = threading.Lock()
        self.since: float | None = None  # time.monotonic() at the start of the current inference
        self._load(settings)

    def _load(self, settings: Settings) -> None:
        self.estimator: Estimator = settings.estimator()
        self.measured = False  # whether the slices of the current stream were chosen
        self._key = self._relevant(settings)

    @staticmethod
    def _relevant(settings: Settings) -> tuple[int, int, int]:
        return settings.k, settings.slices, settings.seed

    def stream(self, settings: Settings) -> Stream:
        """A new stream with an empty window."""
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
            sparse_rest=True,
        )

    def receivers(self, settings: Settings) -> list[Receiver]:
        """A receiver for each topic."""
        again = settings.reset_after
        return [Receiver(extractor, i, again) for i, extractor in enumerate(self.extractors)]

    def warm_up(self, settings: Settings) -> float:
        """Seconds of an estimate from noise; the first call of an engine is slow."""
        rng = np.random.default_rng(0)
        dims = [e.dim or max(settings.k, self.estimator.model_file.dim) for e in self.extractors]
        x, y = (rng.standard_normal((settings.window, d)) for d in (dims[0], dims[-1]))
        start = time.monotonic()
        with self.timed():
            self.estimator.estimate(x, y, time_series=True)
        return time.monotonic() - start

    def sliced(self, settings: Settings) -> bool:
        """Whether a side is sliced; False until the first states determine the dimensions."""
        dims = [extractor.dim for extractor in self.extractors]
        if None in dims:
            return False
        widest = max(dims[0] or 0, (dims[-1] or 0) * settings.history)
        return self.estimator.k is not None or widest > self.estimator.model_file.dim

    def about(self, settings: Settings) -> dict[str, str]:
        """Entries on states, slices and model for a report."""
        estimator, extractors = self.estimator, self.extractors
        slices = str(estimator.slices or SLICES) if self.sliced(settings) else "unsliced"
        return {
            "coordinates": " and ".join(str(e.dim or "not known yet") for e in extractors),
            "names": " and ".join(", ".join(e.names) for e in extractors),
            "slices": slices,
            "provider": estimator.backend.provider,
            "model": f"{estimator.model_file.name} {estimator.model_file.version}",
        }

    def choose_slices(self, settings: Settings) -> tuple[str, bool]:
        """Time estimates of two numbers of slices, and choose one that the machine can sustain.

        The number is kept until the next stream is made, because extrema of estimates with
        different slices would be meaningless. The settings have `slices` 0. Returns the choice and
        its reason, empty if it is the default number; and whether even estimates with this number
        are too slow.
        """
        self.measured = True
        took = {}
        for slices in TRIED:
            self.estimator.slices = slices
            took[slices] = self._longest(settings)
        (few, quick), (many, slow) = took.items()
        self.estimator.slices = None  # the default number
        if slow <= FAST:
            return "", False
        each = max(slow - quick, 1e-9) / (many - few)
        chosen = int(min(max(few + (FAST - quick) / each, LEAST), many))
        self.estimator.slices = chosen
        warning = (
            f"an estimate of {many} slices lasts {slow * 1e3:.0f} ms on this machine: "
            f"slices is {chosen} until the next activation or restart of the window, for a latency "
            "below 50 ms. Set the parameter slices to decide it"
        )
        return warning, quick + (chosen - few) * each > FAST * 1.01

    def _longest(self, settings: Settings) -> float:
        """Longest duration of several estimates of window and motions, seconds."""
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
        return max(took[1:])  # the first estimate of a new size is slow

    @contextmanager
    def timed(self) -> Iterator[None]:
        """A context for an inference, one at a time; `since` is its start."""
        with self.turn:
            self.since = time.monotonic()
            try:
                yield
            finally:
                self.since = None
