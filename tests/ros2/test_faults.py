"""Faults of robots, caused on purpose, of the list in docs/ros2-faults.md."""

import math
import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

from harness import (
    BASE,
    LIMIT,
    START,
    TOPIC,
    as_time,
    feed,
    joint_states,
    nanoseconds,
    offline,
    values,
    walk,
)
from rclpy.qos import qos_profile_sensor_data
from sensor_msgs.msg import JointState
from std_msgs.msg import Float32MultiArray

PUBLISHER = Path(__file__).with_name("publish.py")
LATER = START + 100 * 10**9


def run(bench, messages, *kinds, sent=None):
    """Feed messages with faults; the node has to agree with the library on all of them.

    `sent` are the same messages in another order, if the node puts them in order.

    Each estimate equals the library's at its stamp, bit for bit. Faults of `kinds` are counted as
    in the library and reported with a warning, and the node continues after the last of them.
    """
    expected, _, stream = offline(messages)
    bench.up()
    bench.play(bench.publisher(), sent or messages)
    bench.diagnosis(lambda s: counts(s, stream) == stream.counts)
    for kind in kinds:
        seen = [s for s in bench.statuses if f"({kind})" in s.message]
        assert seen and all(s.level == s.WARN for s in seen), kind
    bench.agree(expected)
    assert values(bench.statuses[-1])["last error"] == ""
    return expected, stream.counts


def counts(status, stream):
    """Fates of messages in a status."""
    reported = values(status)
    return {key: int(reported.get(f"messages: {key}", 0)) for key in stream.counts}


def test_messages_that_are_refused(bench):
    """NaN, infinite values, other dimensions and repeated stamps."""
    messages = joint_states(walk(300))
    for i in (60, 61, 90):
        messages[i].position[1] = math.nan
    messages[95].position[0] = math.inf
    for i in range(150, 160):
        messages[i].position = [0.0] * 2
    messages[240:240] = [messages[239]] * 2
    expected, found = run(bench, messages, "NaN", "dimension", "repeated stamp")
    assert (found["NaN"], found["dimension"], found["repeated stamp"]) == (4, 10, 2)
    assert min(r.fill for r in expected.values()) < 1  # holes, and no pair across them


def test_nan_in_two_of_ten(bench):
    """The window never has enough pairs; the status reports which window would."""
    messages = joint_states(walk(200))
    for t, message in enumerate(messages):
        if t % 10 in (3, 6):
            message.position[1] = math.nan
    bench.up(window=50)
    feed(bench.publisher(), messages)
    advice = re.compile(r"20% were refused and 2\d% have no past state: a window of [67]\d or more")
    status = bench.diagnosis(lambda s: advice.search(s.message), past=True)
    assert status.level == status.WARN and not bench.estimates


def test_older_stamps(bench):
    """The first message that comes too late is refused; the next pair is put in order."""
    messages = joint_states(walk(150))
    messages[60:62] = [messages[61], messages[60]]
    sent = [*messages[:90], messages[91], messages[90], *messages[92:]]
    _, found = run(bench, messages, "older stamp", sent=sent)
    assert found["older stamp"] == 1
    bench.diagnosis(lambda s: values(s)["messages: put in order"] == "1", past=True)


def robot(seed):
    return subprocess.Popen([sys.executable, PUBLISHER, TOPIC, "100", str(seed)])


def test_publisher_dies_and_another_takes_over(bench):
    bench.up(stall_after=0.5)
    one = robot(1)
    try:
        bench.wait(lambda: len(bench.estimates) > 5)
        os.kill(one.pid, signal.SIGKILL)
        one.wait(LIMIT)
        stalled = bench.diagnosis(
            lambda s: s.message.startswith(f"stalled: no message on {TOPIC} for")
        )
        assert stalled.level == stalled.WARN
        assert bench.state() == "active"
        two = robot(2)
        try:
            bench.wait(lambda: bench.estimates[-1][1].header.frame_id == "robot_2")
            bench.diagnosis(lambda s: s.message == "estimating")
        finally:
            two.kill()
            two.wait(LIMIT)
    finally:
        one.kill()
        one.wait(LIMIT)


def test_flood(bench):
    """Far more states than estimates: the newest state wins, and the others are counted."""
    messages = joint_states(walk(1000, dim=7), step=1_000_000)
    bench.up(lag=10, window=300, k=5, slices=8)
    bench.play(bench.publisher(), messages, rate=1e6)
    reported = values(bench.diagnosis(lambda s: values(s)["received"] == "1000"))
    estimates, dropped = int(reported["estimates"]), int(reported["dropped: newer came"])
    assert estimates > 0 and dropped > estimates
    assert 0 <= 1000 - estimates - dropped <= 320  # while the window was filling
    assert reported["dropped: queue full"] == "0"


def test_settings_that_do_not_fit_the_states(bench):
    """k exceeds the coordinates of the messages: an error on /diagnostics, no crash."""
    bench.up(k=5)
    publisher = bench.publisher()
    feed(publisher, joint_states(walk(90, dim=3)))
    status = bench.diagnosis(lambda s: s.level == s.ERROR)
    assert "k" in status.message and bench.state() == "active" and not bench.estimates
    assert bench.set(k=2) == ""
    bench.play(publisher, joint_states(walk(90, dim=3), LATER))


def test_a_topic_without_publishers(bench):
    bench.up(topic="/nowhere")
    status = bench.diagnosis(lambda s: s.message == "no message yet on /nowhere")
    assert status.level == status.WARN and values(status)["publishers"] == "0"


def test_publisher_that_does_not_fit(bench, process):
    """TOPIC needs a reliable publisher: a best-effort one is reported, and not received."""
    bench.up()
    publisher = bench.node.create_publisher(JointState, TOPIC, qos_profile_sensor_data)
    bench.diagnosis(lambda s: values(s)["publishers"] != "0")
    feed(publisher, joint_states(walk(60)))
    status = bench.diagnosis(lambda s: s.message.startswith(f"no message yet on {TOPIC}; qua"))
    assert status.level == status.WARN and not bench.estimates
    why = "quality of service of a publisher does not match this subscription: best effort"
    assert why in status.message and process.log.read_text().count(f"{TOPIC}: {why}") == 1


def test_publisher_of_another_type(bench):
    bench.up()
    publisher = bench.node.create_publisher(Float32MultiArray, TOPIC, 10)
    feed(publisher, [Float32MultiArray(data=[1.0])] * 20)
    status = bench.diagnosis(lambda s: "std_msgs/msg/Float32MultiArray" in s.message)
    assert status.level == status.WARN and status.hardware_id == TOPIC
    assert status.message.endswith("not sensor_msgs/msg/JointState")


def test_one_of_two_topics_stalls(bench):
    kind = "sensor_msgs/msg/JointState"
    bench.up(topic_b=BASE, message_type_b=kind, fields_b=["position[:]"], lag=0, stall_after=0.5)
    arm, wheels = bench.publisher(), bench.publisher(topic=BASE)
    messages = joint_states(walk(300))
    for message in messages[:100]:
        arm.publish(message)
        wheels.publish(message)
    bench.wait(lambda: bench.estimates)
    feed(arm, messages[100:])
    bench.diagnosis(lambda s: f"no message on {BASE} for" in s.message)


def test_messages_without_stamps_among_stamped_ones(bench):
    """Stamps of another year: those without are dated on the same clock, and one warning comes."""
    bench.up()
    publisher = bench.publisher()
    messages = joint_states(walk(200))
    for message in messages[100::25]:
        message.header.stamp = as_time(0)
    feed(publisher, messages, 100)
    status = values(bench.diagnosis(lambda s: values(s)["messages: accepted"] == "200"))
    assert status["messages: resets"] == "0" and "has no stamp" in status["last warning"]
    stamps = [nanoseconds(m.header.stamp) for _, m in bench.estimates]
    assert START < min(stamps) and max(stamps) < START + 10**10


def test_after_a_pause_no_estimate_is_old(bench):
    """With a slow engine; the age is in the message, and the newest one's on /diagnostics."""
    bench.up(provider="cpu", slices=60, k=2, window=100, extremum_delay=2.0, stall_after=0.5)
    publisher, states = bench.publisher(), walk(700, dim=7)
    for first in (0, 350):
        feed(publisher, joint_states(states[first : first + 350], time.time_ns()), 100)
        if not first:
            bench.diagnosis(lambda s: "stalled" in s.message)
            paused = time.time()
    status = values(bench.diagnosis(lambda s: values(s)["messages: accepted"] == "700"))
    ages = [m.age for at, m in bench.estimates if at > paused]
    took = float(status["inference (ms)"]) / 1e3
    assert len(ages) > 3 and max(ages) < 20 * took + 0.5 and min(ages) > 0
    assert float(status["age of the newest estimate (s)"]) >= ages[-1]
    assert "inference running" not in status["last warning"]
