"""A robot over DDS: stamps, values, drops and latency."""

import time

import numpy as np
from diagnostic_msgs.msg import DiagnosticStatus
from geometry_msgs.msg import Point, TwistStamped
from harness import (
    BASE,
    LIVE,
    START,
    STEP,
    TOPIC,
    as_time,
    feed,
    joint_states,
    nanoseconds,
    offline,
    seconds,
    values,
    walk,
)
from infoatlas_msgs.msg import Extremum
from rclpy.qos import qos_profile_sensor_data
from rosgraph_msgs.msg import Clock
from sensor_msgs.msg import JointState
from std_msgs.msg import Float32MultiArray, Header

from infoatlas_rt import Estimator, ExtremumDetector
from infoatlas_rt.messages.fields import Extractor
from infoatlas_rt.messages.schema import Schema
from infoatlas_rt.messages.sync import Synchroniser
from player import Player

RATE, LAG, WINDOW = 100, 2, 100


def test_a_robot_at_100_hz(bench):
    """Best effort, as sensors. Values are checked without the pairing of this project."""
    bench.up(topic=LIVE, window=WINDOW, lag=LAG, lag_seconds=LAG / RATE, k=5, slices=20)
    publisher = bench.publisher(topic=LIVE, qos=qos_profile_sensor_data)
    states = walk(5 * RATE, dim=7, seed=1)
    messages = joint_states(states, time.time_ns(), 10**9 // RATE)
    feed(publisher, messages, RATE)

    def at_rest(status):
        """Whether all messages were processed; a busy machine may stall in between."""
        every = int(values(status)["estimates"]) == len(bench.estimates)
        return every and status.message.startswith("stalled")

    status = values(bench.diagnosis(at_rest))
    sent = {nanoseconds(m.header.stamp): i for i, m in enumerate(messages)}
    estimator = Estimator(k=5, slices=20, threads=1)
    whole = 0
    newest = -1
    for _, m in bench.estimates:
        i = sent[nanoseconds(m.header.stamp)]  # each stamp is that of an input
        assert m.header.frame_id == messages[i].header.frame_id
        assert i > newest
        newest = i
        if m.fill < 1.0:
            continue
        whole += 1
        window = np.arange(i - WINDOW + 1, i + 1)
        expected = estimator.estimate(states[window], states[window - LAG], time_series=True)
        assert m.value == expected.mi and m.standard_error == expected.stderr
        assert m.noise == expected.noise
        assert m.local_value == expected.pointwise[-1]
        assert (m.samples, m.slices, m.k, m.lag) == (WINDOW, 20, 5, LAG)
    assert whole, "no estimate of a whole window"

    count = {key: int(status[key]) for key in ("received", "estimates", "dropped: newer came")}
    received, estimates, dropped = count.values()
    # Each message was estimated, or superseded, or arrived while the window was filling.
    assert 0 <= received - estimates - dropped <= WINDOW + LAG + 5
    assert int(status["dropped: queue full"]) == 0
    # Published before it arrived here: the same unit and clock.
    longest = 1e3 * max(at - seconds(m.header.stamp) for at, m in bench.estimates)
    p50, p99 = (float(status[f"latency {p} (ms)"]) for p in ("p50", "p99"))
    assert 0 < p50 <= p99 <= longest + 0.1  # a digit is printed


def test_every_estimate_and_extremum_is_the_library_s(bench):
    """Messages one at a time, each with an estimate: then extrema are equal, too."""
    rng = np.random.default_rng(2)
    states = np.zeros((270, 4))
    for t in range(1, len(states)):  # still from 110 to 190, otherwise it trembles
        held = 110 <= t < 190
        push = 0.6 * np.sin(0.1 * t + np.arange(4)) if held else 0.0
        noise = (0.05 if held else 0.3) * rng.standard_normal(4)
        states[t] = 0.8 * states[t - 1] + push + noise
    messages = joint_states(states, step=100_000_000)
    options = {"window": 40, "lag_seconds": 0.2}
    detector = ExtremumDetector(delay=20.0)
    expected, extrema, _ = offline(messages, detector=detector, **options)
    assert extrema, "nothing stands out: make it stand out more"

    bench.up(**options)
    publisher = bench.publisher()
    for message in messages:
        publisher.publish(message)
        if seconds(message.header.stamp) in expected:
            bench.read(seconds(message.header.stamp))
    assert [seconds(m.header.stamp) for _, m in bench.estimates] == list(expected)
    bench.agree(expected)
    frames = {nanoseconds(m.header.stamp): m.header.frame_id for m in messages}
    assert len(bench.extrema) == len(extrema)
    for reported, state in zip(bench.extrema, extrema, strict=True):
        for name in ("kind", "value", "prominence", "z", "index", "detected_at"):
            assert getattr(reported, name) == getattr(state, name), name
        assert frames[nanoseconds(reported.header.stamp)] == reported.header.frame_id
        assert seconds(reported.header.stamp) == state.stamp
        assert seconds(reported.detected_stamp) == state.detected_stamp
    assert Extremum.MAXIMUM == "maximum"


def test_two_topics(bench):
    """I(A; B): joints at 100 Hz, and a base at 50 Hz with stamps that differ by 2 ms."""
    fields = ["twist.linear.x", "twist.angular.z"]
    base = {"message_type_b": "geometry_msgs/msg/TwistStamped", "fields_b": fields}
    # A lag in seconds has no effect at lag 0.
    bench.up(topic_b=BASE, **base, sync_tolerance=0.004, lag=0, lag_seconds=0.1, window=64)
    arm, wheels = bench.publisher(), bench.publisher(TwistStamped, BASE)
    states = walk(400, dim=4, seed=3)
    joints = joint_states(states)
    twists = []
    for i in range(0, 400, 2):
        twist = TwistStamped(header=Header(stamp=as_time(START + i * STEP + 2_000_000)))
        twist.twist.linear.x, twist.twist.angular.z = states[i, 0] ** 3, states[i, 1] - states[i, 2]
        twists.append(twist)

    expected = {}
    player = Player(
        Estimator(k=2, slices=4, threads=1),
        Extractor(["position[:]"], Schema.of_class(JointState)),
        Extractor(fields, Schema.of_class(TwistStamped)),
        **{"sync": Synchroniser(0.004), "lag": 0, "window": 64},
    )
    for i, joint in enumerate(joints):
        outputs = player.push(joint, side=0)
        if i % 2 == 0:
            outputs += player.push(twists[i // 2], side=1)
        arm.publish(joint)
        if i % 2 == 0:
            wheels.publish(twists[i // 2])
        sent = i + 1 + i // 2 + 1
        if not expected and i % 8 == 7:  # DDS does not order the messages of two topics
            bench.diagnosis(lambda s, sent=sent: values(s)["received"] == str(sent))
        for output in outputs:
            expected[output.estimate.stamp] = output.estimate
            bench.read(output.estimate.stamp)
    bench.agree(expected)
    for _, m in bench.estimates:
        assert (m.lag, m.lag_seconds) == (0, 0.0)
        assert m.header.frame_id.startswith("base_")
    bench.diagnosis(lambda s: int(values(s)["messages: paired"]) >= 190)


def test_simulated_time(bench):
    """/clock stamps messages without a header, and determines the latency."""
    bench.up(message_type="std_msgs/msg/Float32MultiArray", fields=["data[:]"], use_sim_time=True)
    clock, publisher = bench.publisher(Clock, "/clock"), bench.publisher(Float32MultiArray)
    states = walk(1000)
    for i, state in enumerate(states):  # some may arrive before their time
        clock.publish(Clock(clock=as_time(50 * 10**9 + i * STEP)))
        time.sleep(0.01)
        publisher.publish(Float32MultiArray(data=state.tolist()))
        time.sleep(0.01)
        if bench.estimates:
            break
    assert 50 <= seconds(bench.estimates[0][1].header.stamp) <= 60
    latency = float(values(bench.diagnosis())["latency p99 (ms)"])
    assert latency <= i * STEP * 1e-6  # all that the clock ran


def test_diagnostics_say_what_there_is_to_know(bench):
    bench.up()
    bench.play(bench.publisher(), joint_states(walk(80)))
    found = bench.diagnosis(
        lambda s: s.message == "estimating" and values(s)["reason"] == "ok", past=True
    )
    assert found.level == DiagnosticStatus.OK
    status = values(found)
    assert status["topic"] == TOPIC and status["publishers"] == "1" and status["coordinates"] == "4"
    assert status["provider"] == "native" and status["model"].startswith("edge ")
    assert status["window fill"] == "1.00" and status["last error"] == ""
    rates = [float(status[f"rate {way} (Hz)"]) for way in ("in", "out")]
    assert min(rates) > 0 and float(status["inference (ms)"]) > 0


def test_stamps_of_a_field_of_their_own(bench):
    """Microseconds since the start of a board, used for lags and published stamps."""
    options = {"message_type": "geometry_msgs/msg/Point", "fields": ["y", "z"], "k": 0}
    bench.up(**options, stamp_field="x us")
    publisher = bench.publisher(Point)
    states = walk(80, dim=2, seed=3)
    feed(publisher, [Point(x=5e6 + i * 1e4, y=y, z=z) for i, (y, z) in enumerate(states)])
    last = 5 * 10**9 + 79 * 10**7
    bench.read(last * 1e-9)
    for _, estimate in bench.estimates:
        stamp = nanoseconds(estimate.header.stamp)
        assert 5 * 10**9 < stamp <= last and stamp % 10**7 == 0
        assert estimate.fill == 1.0
    bench.prepare(**options, stamp_field="x")
    assert not bench.transition("configure")
    status = bench.diagnosis(lambda s: "write a field and its unit" in s.message)
    assert status.level == DiagnosticStatus.ERROR
