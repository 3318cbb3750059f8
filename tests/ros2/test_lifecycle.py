"""Lifecycle and parameters, from another process: what the node refuses, and how it says so."""

import re

import numpy as np
import pytest
from harness import SMALL, TOPIC, Bench, NodeProcess, feed, joint_states, values, walk


def test_transitions_and_silence_outside_active(bench):
    messages = iter(joint_states(walk(400)))
    bench.prepare()
    assert bench.state() == "unconfigured"
    assert bench.transition("configure") and bench.state() == "inactive"
    publisher = bench.publisher()
    feed(publisher, [next(messages) for _ in range(80)])
    bench.diagnosis(lambda s: s.message == "inactive")
    assert not bench.readings
    assert bench.transition("activate")
    feed(publisher, [next(messages) for _ in range(80)])
    bench.wait(lambda: bench.readings)
    assert bench.transition("deactivate")
    seen = len(bench.readings)
    feed(publisher, [next(messages) for _ in range(80)])
    bench.diagnosis()
    assert len(bench.readings) == seen
    # Activated again, it starts afresh: another robot may be there, with more joints.
    assert bench.transition("activate")
    feed(publisher, joint_states(walk(80, dim=6), start=1_700_000_100 * 10**9))
    bench.wait(lambda: len(bench.readings) > seen)
    assert values(bench.diagnosis())["coordinates"] == "6"
    assert bench.transition("deactivate")
    assert bench.transition("cleanup") and bench.state() == "unconfigured"
    assert np.isfinite([m.value for _, m in bench.readings]).all()
    assert values(bench.diagnosis(lambda s: s.message == "unconfigured"))["topic"] == TOPIC


# What is wrong, and what the node says of it.
UNFIT = {
    "unknown type": (
        {"message_type": "sensor_msgs/msg/JointStates"},
        "message_type is 'sensor_msgs/msg/JointStates', but sensor_msgs has no message JointStates",
    ),
    "unknown package": ({"message_type": "robots_msgs/msg/Arm"}, "robots_msgs is not installed"),
    "no type": ({"message_type": "JointState"}, "write it as in sensor_msgs/msg/JointState"),
    "unknown field": ({"fields": ["angle[:]"]}, "angle"),
    "field of text": ({"fields": ["name[:]"]}, "name"),
    "missing model": ({"model_file_path": "/no/such/model.onnx"}, "/no/such/model.onnx"),
    "provider not available": ({"provider": "cuda"}, "cuda"),
    "unknown provider": ({"provider": "tpu"}, "tpu"),
    "k too large for the model": ({"k": 6}, "k is 6"),
    "window too short for the model": ({"window": 20}, "window=20 is below the 32 samples"),
    "tolerance beyond the lag": ({"lag_tolerance": 0.5}, "tolerance=0.5"),
}


@pytest.mark.parametrize("name", UNFIT)
def test_configure_refuses_with_the_reason(bench, process, name):
    changes, reason = UNFIT[name]
    bench.prepare(**changes)
    assert not bench.transition("configure")
    assert bench.state() == "unconfigured"
    status = bench.diagnosis(lambda s: s.message.startswith("configure: "), past=True)
    assert reason in status.message and status.level == status.ERROR
    assert values(status)["last error"] == status.message
    assert reason in process.log.read_text()
    # And the way out is to set it right: no restart is needed.
    assert bench.set(**{key: SMALL[key] for key in changes}) == ""
    assert bench.transition("configure")


# Each is refused for this reason, and changes nothing.
LIVE_REFUSED = {
    "topic": ("/elsewhere", "topic: fixed while the node is configured"),
    "provider": ("cuda", "provider: fixed while the node is configured"),
    "k": (5, "k is 5, but the states have 4 coordinates"),
    "window": (31, "window=31 is below the 32 samples"),
    "lag": (0, "lag"),
    "key_state_kinds": (["summit"], "summit"),
    "rate_limit": (-1.0, "rate_limit"),
    "resolution": ([0.1, 0.2], "each of the 4 coordinates"),
    "slices": (1.5, "Wrong parameter type"),
}


def test_live_parameters(bench):
    bench.up()
    publisher = bench.publisher()
    messages = iter(joint_states(walk(1000)))
    feed(publisher, [next(messages) for _ in range(70)])
    bench.wait(lambda: bench.readings)
    for name, (value, reason) in LIVE_REFUSED.items():
        assert reason in bench.set(**{name: value}), name
    # All or none: a good value beside a bad one is not taken.
    assert "window=31" in bench.set(seed=1, window=31)
    bench.diagnosis(lambda s: s.message.startswith("stalled"))  # all is read
    assert bench.set(slices=6, window=40, seed=3) == ""
    bench.readings.clear()
    feed(publisher, [next(messages) for _ in range(80)])
    bench.wait(lambda: bench.readings and bench.readings[-1][1].slices == 6)
    assert {(m.slices, m.samples, m.k) for _, m in bench.readings} == {(6, 40, 2)}
    assert len(bench.readings) <= 40  # the window started anew
    # What has nothing to do with the window leaves it alone.
    assert bench.set(key_state_z=5.0, stall_after=2.0) == ""
    before = len(bench.readings)
    feed(publisher, [next(messages)])
    bench.wait(lambda: len(bench.readings) == before + 1)


def test_rate_limit(bench):
    bench.up(rate_limit=10.0)
    publisher = bench.publisher()
    feed(publisher, joint_states(walk(300)), 150)
    bench.diagnosis(lambda s: values(s)["received"] == "300")
    stamps = np.array(
        [m.header.stamp.sec * 10**9 + m.header.stamp.nanosec for _, m in bench.readings]
    )
    assert len(stamps) > 10 and np.diff(stamps).min() >= 100_000_000
    assert int(values(bench.diagnosis())["dropped: rate limit"]) > 0


def test_parameters_are_described(bench):
    for name, told in zip(SMALL, bench.describe(SMALL), strict=True):
        if name != "use_sim_time":
            assert told.description, name
    lag, timed, path = bench.describe(["lag", "lag_seconds", "model_file_path"])
    assert lag.integer_range[0].from_value == 0
    assert timed.floating_point_range[0].to_value == 3600.0
    assert "fixed while configured" in path.description


def test_shutdown_from_active_and_the_end_of_the_process(session, tmp_path):
    node = NodeProcess(tmp_path / "log.txt", "--ros-args", "-r", "__node:=other")
    bench = Bench("other")
    assert bench.transition("configure") and bench.transition("activate")
    assert bench.transition("active_shutdown") and bench.state() == "finalized"
    bench.close()
    assert node.alive() and node.stop() == 0, node.log.read_text()


def test_a_wrong_value_at_the_start_is_said_in_one_line(tmp_path, process):
    node = NodeProcess(tmp_path / "log.txt", "--ros-args", "-p", "window:=lots")
    assert node.process.wait(20) == 2
    log = node.log.read_text()
    assert "Traceback" not in log
    assert re.search(r"infoatlas_node: .*window", log)
