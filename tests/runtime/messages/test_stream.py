"""Two streams in one estimator, and estimates that are late, but never of an old state."""

import functools
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest

from fakes import RecordingEstimator
from infoatlas_rt.errors import InputError
from infoatlas_rt.estimation.estimator import Estimator
from infoatlas_rt.live.subtasks import SubtaskState
from infoatlas_rt.messages.receiver import Sample
from infoatlas_rt.messages.stream import Stream, differs
from infoatlas_rt.messages.sync import Synchroniser
from infoatlas_rt.streams.coupling import CouplingDetector
from infoatlas_rt.streams.extrema import ExtremumDetector
from infoatlas_rt.streams.online import OnlineEstimator
from infoatlas_rt.streams.sliding_window import SlidingWindow
from player import Player
from refusals import refuses


@pytest.fixture
def fake() -> RecordingEstimator:
    return RecordingEstimator(n_min=8)


@pytest.mark.parametrize(("lag", "history"), [(0, 1), (0, 3), (4, 2)])
def test_the_past_is_that_of_the_other_stream(fake, lag, history):
    online = OnlineEstimator(fake, lag=lag, history=history, window=10, two_streams=True)
    rng = np.random.default_rng(0)
    a, b = rng.standard_normal((40, 2)), rng.standard_normal((40, 3))
    for t in range(40):
        online.push(a[t], t / 100, b[t])
    np.testing.assert_array_equal(fake.calls[-1].x, a[30:])
    past = np.arange(30, 40)[:, None] - lag - np.arange(history)
    np.testing.assert_array_equal(fake.calls[-1].y, b[past].reshape(10, -1))


@pytest.mark.parametrize("broken", [np.array([np.nan, 0, 0]), np.zeros(2), np.array(["a"] * 3)])
def test_either_state_that_is_broken_leaves_a_hole(fake, broken):
    online = OnlineEstimator(fake, lag=1, window=10, two_streams=True)
    for t in range(30):
        other = broken if t == 20 else np.full(3, float(t))
        online.push([float(t), 1.0], other=other)
        if t in (20, 21):
            assert online.reason.startswith(("refused", "hole"))
    assert online.counts["accepted"] == 29
    for call in fake.calls:
        np.testing.assert_array_equal(call.x[:, 0] - call.y[:, 0], 1)


@pytest.mark.parametrize(("rate", "every"), [(20, 1), (30, 1), (60, 2), (100, 3)])
def test_pairs_for_a_coupling_have_a_distance_in_time(fake, rate, every):
    fake.seed = 0
    window = SlidingWindow(fake.model_file, lag=0, window=10, two_streams=True)
    coupling = CouplingDetector(fake, window=10)
    detector, sync = ExtremumDetector(delay=1.0), Synchroniser(0.001)
    stream = Stream(window, fake, detector, sync=sync, coupling=coupling)
    for t in [*range(180), *range(180)]:  # the second time is a restart
        for side in (0, 1):
            stream.take(Sample(side, t / rate, np.full(2, float(t)), ""))
    assert stream.window.counts["accepted"] == 360
    assert coupling.window.counts["accepted"] == 360 // every


def test_a_coupling_is_not_reported_with_an_older_estimate(fake, monkeypatch):
    """The detector of extrema needs step 20, and the coupling is of the newest step."""
    fake.seed, fake.seconds["total"] = 0, 1.0
    window = SlidingWindow(fake.model_file, lag=0, window=10, two_streams=True)
    coupling, detector = CouplingDetector(fake, window=10), ExtremumDetector(delay=4.0)
    monkeypatch.setattr(coupling, "detect", lambda: ["an event"])
    stream = Stream(window, fake, detector, sync=Synchroniser(0.001), coupling=coupling)
    for t in range(25):
        for side in (0, 1):
            assert stream.add(Sample(side, t / 100, np.full(2, float(t)), "")) == []
        if t == 15:
            stream.estimate()
    older, coupled = stream.estimate()
    assert (older.estimate.stamp, older.events) == (0.2, [])
    assert (coupled.estimate, coupled.events) == (None, ["an event"])


def test_an_estimate_later_is_of_the_window_as_it_is(fake):
    window = SlidingWindow(fake.model_file, lag=1, window=10)
    assert window.estimate(fake) is None
    for t in range(20):
        assert window.add([float(t)], t / 10)
    assert window.reason == "waiting: not estimated yet" and not fake.calls
    assert window.estimate(fake).stamp == 1.9
    np.testing.assert_array_equal(fake.calls[0].x[:, 0], range(10, 20))
    assert window.estimate(fake) is None  # nothing arrived since


def test_wrong_use(fake):
    refuses("two_streams", OnlineEstimator(fake, window=10).push, [1.0], other=[1.0])
    refuses("two_streams", OnlineEstimator(fake, window=10, two_streams=True).push, [1.0])
    with pytest.raises(InputError, match="let lag be at least 1"):
        OnlineEstimator(fake, window=10, lag=0, lag_seconds=0.1, two_streams=True)


@pytest.fixture(scope="module")
def swinging():
    """States [600, 4] at 100 Hz that tremble, and swing together from 2.5 to 4.3 s."""
    rng = np.random.default_rng(0)
    states = np.zeros((600, 4))
    for t in range(1, len(states)):
        held = 250 <= t < 430
        push = 0.3 * np.sin(0.1 * t + np.arange(4)) if held else 0.0
        noise = (0.05 if held else 0.3) * rng.standard_normal(4)
        states[t] = 0.8 * states[t - 1] + push + noise
    return states


@functools.cache
def remembering():
    """An estimator that keeps its results: all plays of the same states have the same windows."""
    estimator, known = Estimator(k=2, slices=2, threads=1, shifts=4), {}
    made = estimator.estimate_checked

    def estimate(samples, live=False):
        key = samples.x.tobytes(), samples.y.tobytes(), samples.redundant
        if key not in known:
            known[key] = made(samples, live)
        return known[key]

    estimator.estimate_checked = estimate
    return estimator


def play(states, asked, rate_limit=0.0):
    """Extrema and shown estimates; there is time for them after the states that `asked` selects."""
    estimator = remembering()
    window = SlidingWindow(estimator.model_file, lag=2, lag_seconds=0.02, window=80)
    stream = Stream(window, estimator, ExtremumDetector(delay=1.0), rate_limit=rate_limit)
    outputs = []
    for i, state in enumerate(states):
        outputs += stream.add(Sample(0, 1.7e9 + i / 100, state, ""))
        while asked(i) and (made := stream.estimate()):
            outputs += made
    extrema = [extremum for output in outputs for extremum in output.extrema]
    shown = {o.estimate.stamp: o.estimate.estimate.mi for o in outputs if o.shown}
    return extrema, shown, stream


@pytest.fixture(scope="module")
def unhurried(swinging):
    return play(swinging, lambda i: True)


@pytest.mark.parametrize("rate", [50.0, 10.0, 3.0])
def test_extrema_are_the_same_at_any_rate_of_estimates(swinging, unhurried, rate):
    """All extrema are equal, bit for bit; the estimates are fewer, and unchanged."""
    extrema, estimates, _ = unhurried
    assert extrema and len(estimates) > 500
    found, fewer, stream = play(swinging, lambda i: True, rate_limit=rate)
    assert found == extrema and fewer.items() <= estimates.items() and stream.limited > 0
    assert np.diff(np.array([*fewer])).min() > 1 / rate - 1e-6
    assert len(fewer) == pytest.approx(5.18 * rate, abs=2)


def test_a_state_that_the_limit_leaves_out_counts_once(fake, swinging):
    window = SlidingWindow(fake.model_file, window=20)
    stream = Stream(window, fake, ExtremumDetector(delay=1.0), rate_limit=5)
    shown = 0
    for i in range(200):
        sample = Sample(0, i / 100, swinging[i], "")
        shown += sum(output.shown for output in stream.take(sample) + stream.estimate())
    assert shown == 9 and stream.limited == 200 - 21 - shown  # the 22nd state fills the window


@pytest.mark.parametrize("every", [1, 7, 15])
def test_extrema_do_not_depend_on_the_load(swinging, unhurried, every):
    """A busy machine requests few estimates, at irregular times."""
    busy = np.random.default_rng(every).random(len(swinging)) < 1 / (every + 1)
    found, estimates, _ = play(swinging, busy.__getitem__)
    assert found == unhurried[0] and estimates.items() <= unhurried[1].items()


def test_a_slow_detector_has_fewer_estimates(fake, swinging):
    """As on a machine that is too slow: dates are as coarse as the estimates."""
    detector = ExtremumDetector(delay=1.0)
    stream = Stream(SlidingWindow(fake.model_file, window=20), fake, detector, rate_limit=1e-3)
    for i in range(600):
        if i == 300:
            detector.coarsen()
        stream.take(Sample(0, i / 100, swinging[i], ""))
    assert detector.period == 0.1
    assert detector.count == len(fake.calls) == pytest.approx(57 + 30, abs=1)


def test_memory_of_estimates_in_time():
    """`delay` is in the unit of the stamps: ten times the estimates exceed the memory."""
    detector = ExtremumDetector(delay=2.0)
    for t in range(3000):
        detector.update(np.sin(t / 70), influence=np.zeros(8), stamp=t / 100)
    assert len(detector._extrema.recent) <= 201 and len(detector._points) <= 42


def test_an_invalid_rate_limit(fake):
    window = SlidingWindow(fake.model_file, window=20)
    for rate in (-1.0, np.inf, np.nan):
        refuses("rate_limit", Stream, window, fake, ExtremumDetector(delay=1), rate_limit=rate)


@pytest.mark.parametrize("tick", [0.01, 0.02, 0.05])
def test_messages_without_stamps_on_a_coarse_clock(fake, tick):
    """Half of them or more have equal arrival times: none is a copy, and lags are right."""

    def extractor(message):
        return np.array([message.data])

    extractor.joints, extractor.forget, extractor.notice = (), lambda: None, ""
    extractor.stamp = lambda message: None  # no header
    player = Player(fake, extractor, lag=2, lag_seconds=0.02, window=20)
    counts = player.window.counts
    for i in range(100):
        late = 0.004 * (i % 3 == 0)  # of the messages, before the clock is read
        received = 1.7e9 + (i / 100 + late) // tick * tick
        player.push(SimpleNamespace(data=float(i)), received)
        if i == 60:
            assert counts["accepted"] == 61
    assert counts["accepted"] == 100 and counts["repeated stamp"] == 0
    for call in fake.calls:
        np.testing.assert_array_equal(call.x[:, 0] - call.y[:, 0], 2)
    # No pair spans a pause.
    for i in range(100, 140):
        player.push(SimpleNamespace(data=float(i)), received=1.7e9 + 5 + i / 100)
    assert not any(((call.x[:, 0] >= 100) & (call.y[:, 0] < 100)).any() for call in fake.calls)
    assert fake.calls[-1].x[-1, 0] == 139


def test_a_subtask_is_reported_again():
    """When it changes, begins or ceases to stall, or progresses by 0.05."""
    one = SubtaskState(0, "reach cube", "tool", "cube", "", 0.5, 0.3, False, 0.2, 1.0)
    near = replace(one, progress=0.54, task_progress=0.9, waiting=2.0, seconds=3.0)
    assert not differs(one, near)
    for changed in ({"index": 1}, {"stalled": True}, {"progress": 0.56}):
        assert differs(one, replace(one, **changed))
    assert differs(replace(one, progress=0.98), replace(one, progress=1.0))
    assert differs(None, one) and differs(one, None) and not differs(None, None)


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
    assert len(machine.ages) > 30 and max(machine.ages) <= 2 * seconds + period + 1e-6
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
