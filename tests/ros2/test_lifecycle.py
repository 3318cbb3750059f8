"""The node's lifecycle, driven from another process; what it refuses, and how it says so."""

import numpy as np
from harness import SMALL, feed, joint_states, values, walk


def test_transitions_and_silence_outside_active(bench):
    messages = iter(joint_states(walk(400)))
    bench.prepare()
    assert bench.state() == "unconfigured"
    assert bench.transition("configure") and bench.state() == "inactive"
    publisher = bench.publisher()
    feed(publisher, [next(messages) for _ in range(60)])
    bench.diagnosis(lambda s: s.message == "inactive")
    assert not bench.readings
    assert bench.transition("activate")
    feed(publisher, [next(messages) for _ in range(60)])
    bench.wait(lambda: bench.readings)
    assert bench.transition("deactivate")
    seen = len(bench.readings)
    feed(publisher, [next(messages) for _ in range(60)])
    bench.diagnosis()
    assert len(bench.readings) == seen
    assert bench.transition("cleanup") and bench.state() == "unconfigured"
    assert np.isfinite([m.value for _, m in bench.readings]).all()
    assert values(bench.diagnosis(lambda s: s.message == "unconfigured"))["topic"] == SMALL["topic"]
