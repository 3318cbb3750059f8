"""Twenty seconds of a robot at 100 Hz over DDS: stamps, values, drops and latency."""

import json
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest
from builtin_interfaces.msg import Time
from diagnostic_msgs.msg import DiagnosticStatus
from geometry_msgs.msg import Point, TwistStamped
from harness import (
    BASE,
    LIVE,
    RELIABLE,
    TOPIC,
    as_time,
    feed,
    feed_live,
    joint_states,
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
from infoatlas_tools.bags.states import Bag
from player import Player

sys.path.insert(0, str(Path(__file__).parents[2] / "examples"))
from make_bag import STORE, make_bag

RATE, LAG, WINDOW = 100, 2, 100


def nanoseconds(stamp):
    return stamp.sec * 10**9 + stamp.nanosec


def test_twenty_seconds_at_100_hz(bench, capsys):
    """Best effort, as sensors. Values are checked without the pairing of this project."""
    bench.up(topic=LIVE, window=WINDOW, lag=LAG, lag_seconds=LAG / RATE, k=5, slices=20)
    publisher = bench.publisher(topic=LIVE, qos=qos_profile_sensor_data)
    states = walk(20 * RATE, dim=7, seed=1)
    messages = feed_live(publisher, states, RATE)

    def at_rest(status):
        """Whether all sent messages were processed; a busy machine may stall in between."""
        every = int(values(status)["estimates"]) == len(bench.estimates)
        return every and status.message.startswith("stalled")

    status = values(bench.diagnosis(at_rest, seconds=30))

    sent = {nanoseconds(m.header.stamp): i for i, m in enumerate(messages)}
    estimator = Estimator(k=5, slices=20, threads=1)
    whole = 0
    newest = -1
    for _, m in bench.estimates:
        i = sent[nanoseconds(m.header.stamp)]  # each stamp is that of an input
        assert m.header.frame_id == messages[i].header.frame_id
        assert i > newest
        newest = i
        if m.fill < 1.0 or whole == 300:
            continue
        whole += 1
        window = np.arange(i - WINDOW + 1, i + 1)
        expected = estimator.estimate(states[window], states[window - LAG], time_series=True)
        assert m.value == expected.mi and m.standard_error == expected.stderr
        assert m.noise == expected.noise
        assert m.local_value == expected.pointwise[-1]
        assert (m.samples, m.slices, m.k, m.lag) == (WINDOW, 20, 5, LAG)
    assert whole >= 10, "too few estimates of whole windows"

    count = {key: int(status[key]) for key in ("received", "estimates", "dropped: newer came")}
    received, estimates, dropped = count.values()
    # Each message was estimated, or superseded, or arrived while the window was filling.
    assert 0 <= received - estimates - dropped <= WINDOW + LAG + 5
    assert int(status["dropped: queue full"]) == 0
    with capsys.disabled():
        print(
            f"\n20 s at {RATE} Hz: {len(states)} sent, {len(states) - received} lost on the way, "
            f"{estimates} estimates, {dropped} overtaken; {whole} equal to the offline estimate; "
            f"stamp to publication p50 {status['latency p50 (ms)']} ms, "
            f"p99 {status['latency p99 (ms)']} ms, inference {status['inference (ms)']} ms"
        )
    # Published before it arrived here: the same unit and clock.
    longest = 1e3 * max(at - seconds(m.header.stamp) for at, m in bench.estimates)
    p50, p99 = (float(status[f"latency {p} (ms)"]) for p in ("p50", "p99"))
    assert 0 < p50 <= p99 <= longest + 0.1  # a digit is printed


def offline(messages, extractor_of=JointState, detector=None, **options):
    """Results of the library for the same messages, one at a time: by stamp, and all extrema."""
    options = {"lag": 2, "lag_seconds": 0.02, "window": 48} | options
    estimator = Estimator(k=2, slices=4, threads=1)
    extractor = Extractor(["position[:]"], Schema.of_class(extractor_of))
    player = Player(estimator, extractor, detector=detector, **options)
    outputs = [output for message in messages for output in player.push(message)]
    extrema = [extremum for output in outputs for extremum in output.extrema]
    return {o.estimate.stamp: o.estimate for o in outputs}, extrema, player.stream


def test_every_estimate_and_extremum_is_the_library_s(bench):
    """Messages one at a time, each with an estimate: then extrema are equal, too."""
    rng = np.random.default_rng(2)
    states = np.zeros((270, 4))
    for t in range(1, len(states)):  # still from 110 to 190, otherwise it trembles
        held = 110 <= t < 190
        push = 0.6 * np.sin(0.1 * t + np.arange(4)) if held else 0.0
        noise = (0.05 if held else 0.3) * rng.standard_normal(4)
        states[t] = 0.8 * states[t - 1] + push + noise
    # Stamps are 0.1 s apart, so that the detector needs one estimate per second, which even a busy
    # machine achieves.
    messages = joint_states(states, step=100_000_000)
    options = {"window": 40, "lag_seconds": 0.2}
    detector = ExtremumDetector(delay=20.0)
    expected, extrema, _ = offline(messages, detector=detector, **options)
    assert extrema, "nothing stands out: make it stand out more"

    bench.up(extremum_delay=20.0, **options)
    publisher = bench.publisher()
    for message in messages:
        publisher.publish(message)
        if seconds(message.header.stamp) in expected:
            bench.wait(
                lambda m=message: bench.estimates and bench.estimates[-1][1].header == m.header
            )
    found = {seconds(m.header.stamp): m for _, m in bench.estimates}
    assert list(found) == list(expected)
    for stamp, estimate in expected.items():
        assert found[stamp].value == estimate.estimate.mi
        assert found[stamp].standard_error == estimate.estimate.stderr
        assert found[stamp].fill == estimate.fill
    frames = {nanoseconds(m.header.stamp): m.header.frame_id for m in messages}
    assert len(bench.extrema) == len(extrema)
    for reported, state in zip(bench.extrema, extrema, strict=True):
        assert (
            reported.kind,
            reported.value,
            reported.prominence,
            reported.z,
            reported.index,
            reported.detected_at,
        ) == (
            state.kind,
            state.value,
            state.prominence,
            state.z,
            state.index,
            state.detected_at,
        )
        assert frames[nanoseconds(reported.header.stamp)] == reported.header.frame_id
        assert seconds(reported.header.stamp) == state.stamp
        assert seconds(reported.detected_stamp) == state.detected_stamp
    assert Extremum.MAXIMUM == "maximum"


def test_a_bag_gives_the_same_numbers(bench, tmp_path):
    """Recorded demonstrations: read as a bag without ROS, and played over DDS into the node.

    They are played twice: with a wait for each estimate, and at five times the speed, so that many
    states are superseded. Extrema are equal in both, bit for bit.
    """
    make_bag(tmp_path / "bag", 4)
    command = [Path(sys.executable).with_name("infoatlas-rt"), "bag", tmp_path / "bag"]
    options = "--topic /joint_states --lag-seconds 0.1 --window 40 --slices 8 --threads 1 --json"
    done = subprocess.run(
        [*command, *options.split(), "--delay", "5", "--z", "2"], capture_output=True, check=True
    )
    result = json.loads(done.stdout)
    curve = dict(zip(result["curve"]["stamp"], result["curve"]["mi"], strict=True))
    names = "kind value prominence z index detected_at stamp detected_stamp".split()
    expected = sorted(tuple(state[name] for name in names) for state in result["extrema"])
    assert len(curve) > 50 and expected, "nothing stands out: let it stand out more"

    kind = "sensor_msgs/msg/JointState"
    with Bag(tmp_path / "bag") as bag:
        messages = [
            (seconds_of(m), bytes(STORE.serialize_cdr(m, kind)))  # as in the bag
            for _, _, m in bag.messages("/joint_states")
        ]
    settings = {"extremum_delay": 5.0, "extremum_z": 2.0}
    fields = ["position[:]", "velocity[:]"]
    bench.up(fields=fields, lag_seconds=0.1, window=40, k=0, slices=8, **settings)
    publisher = bench.publisher()

    def reported():
        return sorted(
            (*(getattr(m, name) for name in names[:6]), seconds_of(m), seconds(m.detected_stamp))
            for m in bench.extrema
        )

    for stamp, message in messages:
        publisher.publish(message)
        if stamp in curve:
            bench.wait(lambda t=stamp: bench.estimates and seconds_of(bench.estimates[-1][1]) == t)
    assert {seconds_of(m): m.value for _, m in bench.estimates} == curve
    assert reported() == expected

    assert bench.reset().success
    bench.estimates.clear()
    bench.extrema.clear()
    feed(publisher, (message for _, message in messages), 100)
    bench.wait(
        lambda: bench.estimates and seconds_of(bench.estimates[-1][1]) == messages[-1][0], 60
    )
    assert {seconds_of(m): m.value for _, m in bench.estimates}.items() <= curve.items()
    assert reported() == expected


def seconds_of(message):
    return seconds(message.header.stamp)


def test_two_topics(bench):
    """I(A; B): joints at 100 Hz, and a base at 50 Hz with stamps that differ by 2 ms."""
    start = 1_700_000_000 * 10**9
    bench.up(
        topic_b=BASE,
        message_type_b="geometry_msgs/msg/TwistStamped",
        fields_b=["twist.linear.x", "twist.angular.z"],
        sync_tolerance=0.004,
        lag=0,
        lag_seconds=0.1,  # has no effect at lag 0
        window=64,
    )
    arm, wheels = bench.publisher(), bench.publisher(TwistStamped, BASE)
    states = walk(400, dim=4, seed=3)
    joints = joint_states(states, start)
    twists = []
    for i in range(0, 400, 2):
        twist = TwistStamped(header=Header(stamp=as_time(start + i * 10_000_000 + 2_000_000)))
        twist.twist.linear.x, twist.twist.angular.z = states[i, 0] ** 3, states[i, 1] - states[i, 2]
        twists.append(twist)

    player = Player(
        Estimator(k=2, slices=4, threads=1),
        Extractor(["position[:]"], Schema.of_class(JointState)),
        Extractor(["twist.linear.x", "twist.angular.z"], Schema.of_class(TwistStamped)),
        sync=Synchroniser(0.004),
        lag=0,
        window=64,
    )
    expected = {}
    for i, joint in enumerate(joints):
        outputs = player.push(joint, side=0)
        if i % 2 == 0:
            outputs += player.push(twists[i // 2], side=1)
        expected |= {o.estimate.stamp: o.estimate for o in outputs}
    for i, joint in enumerate(joints):
        arm.publish(joint)
        if i % 2 == 0:
            wheels.publish(twists[i // 2])
        time.sleep(0.003)
    bench.diagnosis(lambda s: values(s)["received"] == "600")
    stamps = [seconds(m.header.stamp) for _, m in bench.estimates]
    assert len(stamps) > 10
    for stamp, (_, m) in zip(stamps, bench.estimates, strict=True):
        assert m.value == expected[stamp].estimate.mi
        assert (m.lag, m.lag_seconds) == (0, 0.0)
        assert m.header.frame_id.startswith("base_")
    assert int(values(bench.diagnosis())["messages: paired"]) >= 190


def test_messages_without_a_header_are_stamped_on_arrival(bench):
    topic = "/features"
    bench.up(
        topic=topic,
        message_type="std_msgs/msg/Float32MultiArray",
        fields=["data[:]"],
        lag_seconds=0.0,
    )
    publisher = bench.publisher(Float32MultiArray, topic, RELIABLE)
    before = time.time_ns()
    feed(publisher, [Float32MultiArray(data=state.tolist()) for state in walk(150)], 100)
    bench.wait(lambda: bench.estimates)
    stamps = [nanoseconds(m.header.stamp) for _, m in bench.estimates]
    assert stamps == sorted(stamps)
    assert before < stamps[0] < time.time_ns()


def test_reset_empties_the_window(bench):
    """After the end of an episode no pair reaches back, and another robot may follow."""
    bench.prepare()
    answer = bench.reset()
    assert not answer.success and "unconfigured" in answer.message
    bench.up()
    publisher = bench.publisher()
    messages = joint_states(walk(90))
    feed(publisher, messages)
    bench.read(messages[-1])
    assert bench.reset().success
    seen = len(bench.estimates)
    # Stamps continue, so without the reset the window would, too; the dimension differs.
    later = joint_states(walk(90, dim=6, seed=1), start=1_700_000_000 * 10**9 + 10**9)
    expected, _, _ = offline(later)
    feed(publisher, later)
    bench.read(later[-1])
    for _, m in bench.estimates[seen:]:
        assert m.value == expected[seconds(m.header.stamp)].estimate.mi
    reported = values(bench.diagnosis())
    assert reported["coordinates"] == "6" and reported["messages: resets"] == "1"


def test_simulated_time(bench):
    """/clock stamps messages without a header, and determines the latency."""
    topic = "/simulated"
    bench.up(
        topic=topic,
        message_type="std_msgs/msg/Float32MultiArray",
        fields=["data[:]"],
        use_sim_time=True,
    )
    clock = bench.node.create_publisher(Clock, "/clock", RELIABLE)
    publisher = bench.publisher(Float32MultiArray, topic, RELIABLE)
    for i, state in enumerate(walk(80)):
        now = Time(sec=50 + i // 100, nanosec=i % 100 * 10_000_000)
        clock.publish(Clock(clock=now))
        time.sleep(0.01)  # its arrival, before that of the message
        publisher.publish(Float32MultiArray(data=state.tolist()))
        time.sleep(0.01)
    bench.wait(lambda: bench.estimates)
    assert {m.header.stamp.sec for _, m in bench.estimates} == {50}
    assert float(values(bench.diagnosis())["latency p99 (ms)"]) <= 800  # all that the clock ran
    bench.node.destroy_publisher(clock)


def test_diagnostics_say_what_there_is_to_know(bench):
    bench.up()
    feed(bench.publisher(), joint_states(walk(200)), 50)
    statuses = [s for s in bench.statuses if s.message == "estimating"]
    assert {s.level for s in statuses} == {DiagnosticStatus.OK}
    status = values(statuses[-1])
    assert status["topic"] == TOPIC and status["publishers"] == "1" and status["coordinates"] == "4"
    assert status["provider"] == "cpu" and status["model"].startswith("edge ")
    assert status["window fill"] == "1.00" and status["reason"] == "ok"
    assert status["last error"] == ""
    rates = [[float(values(s)[f"rate {way} (Hz)"]) for way in ("in", "out")] for s in statuses]
    received, published = np.median(rates, axis=0)
    assert received == pytest.approx(50, rel=0.3) and 0 < published <= received
    assert 0 < float(status["inference (ms)"])


def test_stamps_of_a_field_of_their_own(bench):
    """Microseconds since the start of a board, used for lags and published stamps."""
    options = {"message_type": "geometry_msgs/msg/Point", "fields": ["y", "z"], "k": 0}
    bench.up(**options, stamp_field="x us", lag=2, lag_seconds=0.02, window=48)
    publisher = bench.publisher(Point)
    states = walk(80, dim=2, seed=3)
    feed(publisher, [Point(x=5e6 + i * 1e4, y=y, z=z) for i, (y, z) in enumerate(states)], 100)
    last = 5 * 10**9 + 79 * 10**7
    bench.wait(lambda: bench.estimates and nanoseconds(bench.estimates[-1][1].header.stamp) == last)
    for _, estimate in bench.estimates:
        stamp = nanoseconds(estimate.header.stamp)
        assert 5 * 10**9 < stamp <= last and stamp % 10**7 == 0
        assert estimate.fill == 1.0
    bench.transition("deactivate")
    bench.transition("cleanup")
    bench.prepare(**options, stamp_field="x")
    assert not bench.transition("configure")
    status = bench.diagnosis(lambda s: "write a field and its unit" in s.message)
    assert status.level == DiagnosticStatus.ERROR
