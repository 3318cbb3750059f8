"""Copies of objects that follow a stream: pushes to one do not change the other."""

import copy
from dataclasses import replace
from functools import cache
from types import SimpleNamespace

import numpy as np
import pytest

import infoatlas_rt as rt
from episodes import TASKS
from fakes import RecordingEstimator
from infoatlas_rt.estimation.result import WindowEstimate
from infoatlas_rt.messages.fields import Extractor
from infoatlas_rt.messages.receiver import Receiver, Sample
from infoatlas_rt.messages.schema import FieldType, Schema
from infoatlas_rt.messages.stream import Stream
from infoatlas_rt.messages.sync import Synchroniser
from infoatlas_rt.streams.lagged_pairs import PairWindow
from infoatlas_rt.streams.sliding_window import SlidingWindow
from refusals import refuses
from regimes import demonstrations
from vector_envs import ReplayEnv

STEPS = 60
FAKE = RecordingEstimator(n_min=8)
FAKE.seed = 0
ENGINE = rt.Estimator("edge", threads=1)
EPISODES, _ = demonstrations(count=6, seed=3)
FIELDS = {"lab_msgs/msg/Value": {"data": FieldType("float64", 0)}}


@cache
def found():
    return rt.Task.load(TASKS / "phases.json")


def stream():
    window = SlidingWindow(FAKE.model_file, window=10, two_streams=True)
    coupling = rt.CouplingDetector(FAKE, window=10)
    detector = rt.ExtremumDetector(delay=1.0)
    return Stream(window, FAKE, detector, sync=Synchroniser(0.02), coupling=coupling)


def take(stream, state, t):
    outputs = [
        stream.take(Sample(side, t / 10 + 0.001 * side, state, "", "", "", False))
        for side in (0, 1)
    ]
    stamps = [output.estimate.stamp for own in outputs for output in own if output.estimate]
    return stamps, stream.counts, stream.reason


def extractor():
    return Extractor(None, Schema("lab_msgs/msg/Value", FIELDS.__getitem__))


def receive(receiver, state, t):
    message = SimpleNamespace(data=state[: 2 + t // 40])  # another layout replaces it
    return repr(receiver.receive(message, t / 10))


def extract(extractor, state, t):
    return receive(Receiver(extractor), state, t)


def estimated(found):
    return found if found is None else (found.stamp, found.fill, found.steps.tolist())


def pairs(window, state, t):
    window.add(state, state, float(t))
    return repr(window.samples())


def added(window, state, t):
    samples = window.samples() if window.add(state, t / 10) else None
    return repr(samples), window.counts, window.reason


def extremum(detector, state, t):
    estimate = FAKE.estimate(np.zeros((10, 1)), np.zeros((10, 1)))
    estimate = replace(estimate, mi=1 + np.sin(t / 5) * state[0], influence=np.zeros(10))
    return repr(detector.push(WindowEstimate(t / 10, estimate, 0.0, 1.0, 2, np.arange(10) + t)))


def wide(state):
    return np.stack([state, state + 1])


CASES = {
    SlidingWindow: (lambda: SlidingWindow(FAKE.model_file, window=10), added),
    PairWindow: (lambda: PairWindow(2, None, None, 1, 10, False), pairs),
    rt.OnlineEstimator: (
        lambda: rt.OnlineEstimator(FAKE, window=10),
        lambda own, state, t: (estimated(own.push(state, t / 10)), own.counts),
    ),
    rt.CouplingDetector: (
        lambda: rt.CouplingDetector(FAKE, window=10),
        lambda own, state, t: (own.push(state, state, t), repr(own.resolution), own.window.counts),
    ),
    rt.ExtremumDetector: (lambda: rt.ExtremumDetector(delay=1.0), extremum),
    Stream: (stream, take),
    Synchroniser: (
        lambda: Synchroniser(0.2),
        lambda own, state, t: (repr(own.push(state, t / 10, t % 3 // 2)), own.counts),
    ),
    Extractor: (extractor, extract),
    Receiver: (lambda: Receiver(extractor()), receive),
    rt.KeyStateTracker: (
        lambda: rt.KeyStateTracker(found()),
        lambda own, state, t: (own.push(state), own.step),
    ),
    rt.VectorTracker: (
        lambda: rt.VectorTracker(2, found()),
        lambda own, state, t: (own.push(wide(state)), own.steps.tolist()),
    ),
    rt.VectorWindows: (
        lambda: rt.VectorWindows(2, ENGINE, every=10),
        lambda own, state, t: (own.push(wide(state[:2])), repr(own.information)),
    ),
    rt.PooledPairs: (
        lambda: rt.PooledPairs(2, 5),
        lambda own, state, t: repr(own.push(wide(state), [t % 9 == 0, False])),
    ),
}


@pytest.mark.parametrize("fed", ["the copy", "the original"])
@pytest.mark.parametrize("kind", CASES, ids=lambda kind: kind.__name__)
def test_a_copy_does_not_follow_the_original(kind, fed):
    """The continuing object equals an object without a copy, whatever the other one receives."""
    make, push = CASES[kind]
    alone, one = make(), make()
    states = np.concatenate(EPISODES[:3])
    for t in range(STEPS // 2):
        assert push(one, states[t], t) == push(alone, states[t], t)
    other = copy.copy(one)
    if fed == "the original":
        one, other = other, one
    for t in range(STEPS // 2, STEPS):
        for more in range(2):  # it is ahead, within what the other one still remembers
            push(other, states[-t] * 3, 2 * t + more)
        assert push(one, states[t], t) == push(alone, states[t], t)


def test_a_wrapper_is_not_copied():
    """Both would step the same environments."""
    replayed = ReplayEnv([EPISODES[:3], EPISODES[3:6]], "maniskill")
    envs = rt.KeyStateWrapper(replayed, rt.VectorTracker(2, found()))
    refuses("both would step the same environments", copy.copy, envs)


def test_a_copy_shares_the_estimator():
    """A stream does not change the estimator, and creating an engine lasts a moment."""
    original = stream()
    own = copy.copy(original)
    assert own.estimator is own.coupling.estimator is original.estimator
    assert own.coupling is not original.coupling


def test_all_that_can_be_pushed_to_is_among_the_cases():
    public = [getattr(rt, name) for name in rt.__all__ if name[0].isupper()]
    assert {own for own in public if hasattr(own, "push") or hasattr(own, "add")} <= {*CASES}
