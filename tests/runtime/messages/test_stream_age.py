"""Live estimates are those of the newest states, whatever happened before: a simulated clock."""

import numpy as np
import pytest

from fakes import RecordingEstimator
from infoatlas_rt.messages.receiver import Sample
from infoatlas_rt.messages.stream import Stream
from infoatlas_rt.streams.extrema import ExtremumDetector
from infoatlas_rt.streams.sliding_window import SlidingWindow

RATE = 100  # Hz
WINDOW = 30


class Machine:
    """A stream whose inference takes `seconds` of a simulated clock, and its shown estimates."""

    def __init__(self, seconds: float) -> None:
        self.now, self.seconds, self.inferences = 0.0, seconds, 0
        self.stood: list[tuple[float, float]] = []  # begin and end of each time without work
        self.estimator = RecordingEstimator(n_min=8)
        self._made = self.estimator.estimate_checked
        self.estimator.estimate_checked = self._estimate
        self.renew()
        self.ages: list[float] = []  # from the arrival of the state to its shown estimate
        self.behind: list[float] = []  # seconds of stamps to the newest state at the start of it
        self._arrivals: dict[float, float] = {}

    def renew(self) -> None:
        """A new stream, as after a change of most parameters."""
        window = SlidingWindow(self.estimator.model_file, lag=2, window=WINDOW)
        self.stream = Stream(window, self.estimator, ExtremumDetector(delay=2.0), sparse_rest=True)

    def _estimate(self, samples, live=False):
        self.now += self.seconds
        self.inferences += 1
        self.estimator.calls.clear()
        self.estimator.seconds["total"] = self.seconds
        return self._made(samples)

    def turn(self, samples: list[tuple[float, Sample]]) -> bool:
        """Add samples with their times of arrival, and make one estimate at most."""
        for arrival, sample in samples:
            self._arrivals[sample.stamp] = arrival
            self.stream.add(sample)
        newest, before = self.stream.window.newest, self.inferences
        for output in self.stream.estimate():
            if output.shown:
                begin = self._arrivals[output.estimate.stamp]
                stood = sum(max(end - max(start, begin), 0) for start, end in self.stood)
                self.ages.append(self.now - begin - stood)
                self.behind.append(newest - output.estimate.stamp)
        assert self.inferences <= before + 1
        return self.inferences > before

    def stand(self, seconds: float) -> None:
        self.stood.append((self.now, self.now + seconds))
        self.now += seconds

    def run(self, messages: list[tuple[float, Sample]], happen=lambda machine: None) -> None:
        """Take messages (arrival, sample) as they arrive; `happen` is called before each turn."""
        at, more = 0, False
        while at < len(messages) or more:
            if not more:
                self.now = max(self.now, messages[at][0])
            happen(self)
            first = at
            while at < len(messages) and messages[at][0] <= self.now:
                at += 1
            more = self.turn(messages[first:at])


def disturbed(rng, seconds: int) -> list[tuple[float, Sample]]:
    """Messages of a robot with pauses, rests, late deliveries and jumps of its clock."""
    clock = now = 0.0
    state, messages = np.zeros(3), []
    while now < seconds:
        kind = rng.choice(["move", "rest", "pause", "burst", "back", "ahead"], p=[0.4, *[0.12] * 5])
        length = rng.uniform(0.05, 3.0)
        if kind == "pause":
            now += length
        elif kind in ("back", "ahead"):
            clock += rng.uniform(2.0, 9.0) * (1 if kind == "ahead" else -1)
        else:
            end = now + length
            while now < end:
                now += 1 / RATE
                state = state + rng.normal(size=3) * (1e-6 if kind == "rest" else 1.0)
                arrival = end if kind == "burst" else now
                messages.append((arrival, Sample(0, now + clock, state, "")))
    return messages


@pytest.mark.parametrize("seconds", [0.004, 0.03, 0.085, 0.3])
def test_an_estimate_is_never_old(seconds):
    """Two inferences and one period of the detector, at any load and after any disturbance."""
    rng = np.random.default_rng(round(1e4 * seconds))
    machine = Machine(seconds)
    while machine.seconds > 0.9 * machine.stream.detector.period:  # as a node on a slow machine
        machine.stream.detector.coarsen()
    period = machine.stream.detector.period

    def happen(machine):
        if rng.random() < 0.002:  # the process stands still
            machine.stand(rng.uniform(0.1, 5.0))
        if rng.random() < 0.002:
            machine.stream.reset()
        if rng.random() < 0.002:
            machine.stream.detector = ExtremumDetector(delay=20 * period)
        if rng.random() < 0.001:
            machine.renew()
            machine.stream.detector = ExtremumDetector(delay=20 * period)

    machine.run(disturbed(rng, 90), happen)
    assert len(machine.ages) > 30
    assert max(machine.ages) <= 2 * seconds + period + 1e-6
    assert max(machine.behind) <= min(2 * seconds, period) + 1e-6


@pytest.mark.parametrize("seconds", [0.004, 0.03])
def test_a_robot_at_rest_costs_less_than_one_that_moves(seconds):
    """Also after a pause of 3 s, and none of its estimates is old."""
    machine = Machine(seconds)
    rng = np.random.default_rng(0)
    states = np.cumsum(rng.normal(size=(1500, 3)), axis=0)
    states[500:] = states[499] + 1e-6 * rng.normal(size=(1000, 3))
    times = np.r_[np.arange(250), np.arange(550, 1800)] / RATE
    messages = [(t, Sample(0, t, s, "")) for t, s in zip(times.tolist(), states, strict=True)]
    machine.run(messages[:500])
    moved = machine.inferences
    machine.run(messages[500:1000])  # the noise at rest becomes known
    before = machine.inferences
    machine.run(messages[1000:])
    assert max(machine.ages) <= 2 * seconds + 1 / RATE
    assert machine.inferences - before == pytest.approx(5 / 0.5, abs=1)
    assert machine.inferences - before < moved / 5
    counted = machine.stream.resting + machine.stream.superseded
    assert counted == 1500 - WINDOW - 1 - len(machine.ages) and machine.stream.resting > 400
    assert machine.stream.reason == "waiting: at rest, an estimate every 0.5 s"
