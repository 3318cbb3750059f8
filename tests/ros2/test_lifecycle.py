"""Lifecycle and parameters, from another process: what the node refuses, and with which message."""

import re
import signal
import time

import numpy as np
import pytest
from harness import LIMIT, SMALL, START, TOPIC, Bench, NodeProcess, feed, joint_states, values, walk
from rclpy.duration import Duration

LATER = START + 100 * 10**9


def arrive(publisher, messages):
    """Publish messages, and wait until the middleware of the node has them."""
    feed(publisher, messages)
    assert publisher.wait_for_all_acked(Duration(seconds=LIMIT))


def test_transitions_and_silence_outside_active(bench):
    messages = iter(joint_states(walk(400)))
    bench.prepare()
    assert bench.state() == "unconfigured"
    assert bench.transition("configure") and bench.state() == "inactive"
    publisher = bench.publisher()
    arrive(publisher, [next(messages) for _ in range(80)])
    bench.diagnosis(lambda s: s.message == "inactive")
    assert not bench.estimates
    assert bench.transition("activate")
    feed(publisher, [next(messages) for _ in range(80)])
    bench.wait(lambda: bench.estimates)
    assert bench.transition("deactivate")
    bench.diagnosis(lambda s: s.message == "inactive")  # pending messages have arrived
    seen = len(bench.estimates)
    arrive(publisher, [next(messages) for _ in range(80)])
    bench.diagnosis()
    assert len(bench.estimates) == seen
    # After activation the window is empty: there may be another robot with more joints.
    assert bench.transition("activate")
    feed(publisher, joint_states(walk(80, dim=6), start=LATER))
    bench.wait(lambda: len(bench.estimates) > seen)
    assert values(bench.diagnosis())["coordinates"] == "6"
    assert bench.transition("deactivate")
    assert bench.transition("cleanup") and bench.state() == "unconfigured"
    answer = bench.reset()
    assert not answer.success and "unconfigured" in answer.message
    assert np.isfinite([m.value for _, m in bench.estimates]).all()
    assert values(bench.diagnosis(lambda s: s.message == "unconfigured"))["topic"] == TOPIC


# Invalid settings, and the reason that the node gives.
UNFIT = {
    "unknown type": (
        {"message_type": "sensor_msgs/msg/JointStates"},
        "message_type is 'sensor_msgs/msg/JointStates', but sensor_msgs has no message JointStates",
    ),
    "unknown package": ({"message_type": "robots_msgs/msg/Arm"}, "robots_msgs is not installed"),
    "no type": ({"message_type": "JointState"}, "write it as sensor_msgs/msg/JointState"),
    "unknown field": ({"fields": ["angle[:]"]}, "angle"),
    "field of text": ({"fields": ["name[:]"]}, "name"),
    "missing model": ({"model": "/no/such/model.onnx"}, "/no/such/model.onnx"),
    "provider not available": ({"provider": "cuda"}, "cuda"),
    "unknown provider": ({"provider": "tpu"}, "tpu"),
    "k too large for the model": ({"k": 6}, "k is 6"),
    "window too short for the model": ({"window": 20}, "window=20 is below the 32 samples"),
    "tolerance beyond the lag": ({"lag_tolerance": 0.5}, "tolerance=0.5"),
}


def test_configure_refuses_with_the_reason(bench, process):
    bench.prepare()
    for changes, reason in UNFIT.values():
        assert bench.set(**changes) == ""
        assert not bench.transition("configure") and bench.state() == "unconfigured"
        for past in (True, False):  # also in later reports
            status = bench.diagnosis(lambda s, why=reason: why in s.message, past=past)
            assert status.message.startswith("configure: ") and status.level == status.ERROR
        assert values(status)["last error"] == status.message
        assert reason in process.log.read_text()
        assert bench.set(**{key: SMALL[key] for key in changes}) == ""
    assert bench.transition("configure")  # valid values solve it without a restart


# Invalid changes, which are refused for this reason and have no effect.
LIVE_REFUSED = {
    "topic": ("/elsewhere", "topic: fixed while the node is configured"),
    "provider": ("cuda", "provider: fixed while the node is configured"),
    "k": (5, "k is 5, but the states have 4 coordinates"),
    "window": (31, "window=31 is below the 32 samples"),
    "lag": (0, "lag"),
    "extremum_kinds": (["summit"], "summit"),
    "rate_limit": (-1.0, "rate_limit"),
    "resolution": ([0.1, 0.2], "each of the 4 coordinates"),
    "slices": (1.5, "Wrong parameter type"),
    "windw": (50, "undeclared"),
}


def test_live_parameters(bench):
    bench.up()
    publisher = bench.publisher()
    messages = iter(joint_states(walk(1000)))
    bench.play(publisher, [next(messages) for _ in range(70)])
    for name, (value, reason) in LIVE_REFUSED.items():
        assert reason in bench.set(**{name: value}), name
    # All or none: a valid value beside an invalid one is not set.
    assert "window=31" in bench.set(seed=1, window=31)
    assert bench.set(slices=6, window=40, seed=3) == ""
    bench.estimates.clear()
    bench.play(publisher, [next(messages) for _ in range(80)])
    assert {(m.slices, m.samples, m.k) for _, m in bench.estimates} == {(6, 40, 2)}
    assert len(bench.estimates) <= 40  # the window was emptied
    # Parameters that do not concern the window leave it unchanged.
    assert bench.set(extremum_z=5.0, stall_after=2.0) == ""
    bench.play(publisher, [next(messages)])


@pytest.mark.parametrize("name", ["topic", "topic_b"])
def test_invalid_topics_are_refused(bench, name):
    """Also while unconfigured: the name would end the node when publishers are counted."""
    bench.prepare()
    for topic, reason in {
        "/arm-left/joint_states": "characters other than alphanumerics",
        "/joint_states/": "must not end with a forward slash",
        "/arm//joint_states": "repeated '/'",
        "/7dof": "start with a number",
    }.items():
        why = bench.set(**{name: topic})
        assert reason in why and f"{name} is {topic!r}" in why, topic
    bench.diagnosis(lambda s: s.message == "unconfigured")
    assert bench.set(topic_b=TOPIC) == f"topic_b equals topic, {TOPIC}: leave it empty or change it"


# Values at the start, and the reason that configure gives; "" if they are valid.
AT_THE_START = {
    "topic:=/arm-left/joint_states": "topic is '/arm-left/joint_states'",
    "extremum_kinds:=[summit]": "summit",
    "rate_limit:=10 -p resolution:=[1,2] -p fields:=[]": "",  # integers for numbers, no fields
}


@pytest.mark.parametrize("given", AT_THE_START)
def test_values_at_the_start(session, tmp_path, given):
    reason = AT_THE_START[given]
    words = f"-r __node:=other -p diagnostics_period:=1 -p {given}".split()
    node = NodeProcess(tmp_path / "log.txt", "--ros-args", *words)
    bench = Bench("other")
    try:
        assert bench.transition("configure") is not bool(reason), node.log.read_text()
        if reason:
            assert reason in bench.diagnosis(lambda s: "configure: " in s.message).message
            assert "diagnostics_period" not in node.log.read_text()
        else:
            assert bench.transition("activate") and bench.transition("active_shutdown")
            assert bench.state() == "finalized"
    finally:
        bench.close()
        assert node.alive() and node.stop() == 0, node.log.read_text()
    assert "Traceback" not in node.log.read_text()


def test_counts_start_anew_with_activate(bench):
    bench.up()
    publisher = bench.publisher()
    feed(publisher, joint_states(walk(60)))
    bench.diagnosis(lambda s: values(s)["messages: accepted"] == "60")
    assert bench.transition("deactivate")
    status = values(bench.diagnosis(lambda s: s.message == "inactive"))
    assert status["received"] == status["messages: accepted"] == "60"
    assert bench.transition("activate")
    feed(publisher, joint_states(walk(50)))
    status = values(bench.diagnosis(lambda s: values(s)["messages: accepted"] == "50"))
    assert status["received"] == "50"
    # A change at run time makes a new window; counts continue.
    assert bench.set(slices=5) == ""
    feed(publisher, joint_states(walk(50), start=LATER))
    status = values(bench.diagnosis(lambda s: values(s)["messages: accepted"] == "100"))
    assert status["received"] == "100"


def test_a_long_inference_holds_nothing_up(session, tmp_path):
    """With a window that lasts minutes, transitions are answered, and the process ends at once."""
    node = NodeProcess(
        tmp_path / "log.txt",
        *("--ros-args", "-r", "__node:=slow", "-p", "window:=5000", "-p", "slices:=400"),
        *("-p", "diagnostics_period:=0.2", "-p", f"topic:={TOPIC}", "-p", "k:=5"),
    )
    bench = Bench("slow")
    try:
        assert bench.transition("configure")
        status = bench.diagnosis(lambda s: "inference running for" in s.message)
        assert status.level == status.WARN and status.message.startswith("inactive")
        assert bench.transition("activate") and bench.transition("deactivate")
        assert bench.transition("cleanup") and bench.state() == "unconfigured"
        assert bench.transition("configure") and bench.transition("activate")
        bench.diagnosis(lambda s: "inference running for" in s.message)
        assert node.alive() and node.stop() == 0, node.log.read_text()
    finally:
        bench.close()
        node.process.kill()


def test_ctrl_c_under_load_is_no_traceback(session, tmp_path):
    """At 1 kHz the signal arrives during some operation."""
    for number in (0, 2, 4):
        words = ("-r", f"__node:=other{number}", "-p", "diagnostics_period:=0.05")
        words += ("-p", f"topic:={TOPIC}", "-p", "fields:=['position[:]']", "-p", "slices:=4")
        node = NodeProcess(tmp_path / f"{number}.txt", "--ros-args", *words)
        bench = Bench(f"other{number}")
        assert bench.transition("configure") and bench.transition("activate")
        publisher = bench.publisher()
        feed(publisher, joint_states(walk(700 + 3 * number), step=1_000_000), 1000)
        node.process.send_signal(signal.SIGINT)  # again, as launch does
        time.sleep(0.003 * number)
        node.process.send_signal(signal.SIGINT)
        feed(publisher, joint_states(walk(100), start=1_800_000_000 * 10**9), 1000)
        bench.close()
        assert node.process.wait(LIMIT) == 0, node.log.read_text()
        assert "Traceback" not in node.log.read_text(), node.log.read_text()


@pytest.mark.parametrize(
    ("given", "why"),
    [
        ("-p window:=lots", ".*window"),
        ("--params-file window.yaml", ".*window"),
        ("-p windw:=50", r"there is no parameter windw: is it window\?"),
        ("-p colour:=red", "there is no parameter colour: leave it out"),
    ],
)
def test_a_wrong_value_at_the_start_is_reported_in_one_line(tmp_path, process, given, why):
    node = NodeProcess(tmp_path / "log.txt", "--ros-args", *given.split())
    assert node.process.wait(LIMIT) == 2
    log = node.log.read_text()
    assert "Traceback" not in log and re.search(f"infoatlas_node: {why}", log)
