"""Publishers that share a topic: the node uses one, and reports the others."""

import time
from contextlib import contextmanager
from functools import partial
from types import SimpleNamespace
from unittest.mock import Mock

import numpy as np
import pytest
import rclpy
from harness import RELIABLE, TOPIC, feed, joint_states, seconds, values, walk
from sensor_msgs.msg import JointState

from infoatlas_ros2 import publishers
from infoatlas_ros2.node import InfoAtlasNode
from infoatlas_ros2.parameters import Settings
from infoatlas_ros2.publishers import UNKNOWN, Publishers
from infoatlas_rt import Estimator, InputError
from infoatlas_rt.messages.fields import Extractor
from infoatlas_rt.messages.receiver import Receiver
from infoatlas_rt.messages.schema import Schema
from player import Player

STEP = 10_000_000
START = 1_700_000_000 * 10**9
NEEDS_IDS = pytest.mark.skipif(
    not publishers.GIVEN, reason="this rclpy gives no ids of publishers with messages"
)


@contextmanager
def robot(name):
    """A publisher of a separate node that the tested node has discovered."""
    node = rclpy.create_node(name, namespace="/arms")
    try:
        publisher = node.create_publisher(JointState, TOPIC, RELIABLE)
        limit = time.monotonic() + 10
        while not publisher.get_subscription_count():
            assert time.monotonic() < limit, "the node under test has no subscription"
            time.sleep(0.005)
        yield publisher
    finally:
        node.destroy_node()


class Turns:
    """Publishes messages of several publishers in turn."""

    def __init__(self, *publishers):
        self.publishers = publishers

    def publish(self, message):
        self.publishers[message.header.stamp.nanosec // (STEP // 2) % 2].publish(message)


def mixed(n=120, names=((), ())):
    """Messages of two robots in turn, half a step apart."""
    both = []
    for seed, joints in enumerate(names):
        messages = joint_states(walk(n, seed=seed), start=START + seed * STEP // 2)
        for message in messages:
            message.name = list(joints)
        both.append(messages)
    return *both, [message for pair in zip(*both, strict=True) for message in pair]


@pytest.fixture(scope="module")
def estimator():
    return Estimator(k=2, slices=4, threads=1)


def agree(bench, estimator, own):
    """Check that the estimates are those of one robot only."""
    player = Player(
        estimator,
        Extractor(["position[:]"], Schema.of_class(JointState)),
        lag=2,
        lag_seconds=0.02,
        window=48,
    )
    found = [output.estimate for message in own for output in player.push(message)]
    expected = {each.stamp: each.estimate.mi for each in found}
    bench.read(own[-1])
    for _, message in bench.estimates:
        assert message.value == expected[seconds(message.header.stamp)]


@NEEDS_IDS
@pytest.mark.parametrize("asked", [0, 1])
def test_two_robots_without_names(bench, estimator, asked):
    """The first robot is used, or the one that the parameter names."""
    *robots, both = mixed()
    bench.up(**({"publisher": "/arms/right"} if asked else {}))
    with robot("left") as left, robot("right") as right:
        feed(Turns(left, right), both if asked else both[:-1], 600)  # the last message is read
        agree(bench, estimator, robots[asked])
    aside = "not asked for" if asked else "other publishers"
    counts = {"messages: accepted": "120", f"messages: {aside}": str(120 - (not asked))}
    bench.diagnosis(lambda s: counts.items() <= values(s).items(), past=True)
    active = [s for s in bench.statuses if values(s)["state"] == "active"]
    warned = [s for s in active if "publish" in values(s)["last warning"]]
    assert bool(warned) != bool(asked)
    for status in warned[:1]:
        assert status.level == status.WARN
        assert (
            "/arms/right publishes on this topic beside /arms/left, whose messages are read: "
            "choose one with the parameter publisher" in values(status)["last warning"]
        )


def test_an_arm_and_its_gripper_have_a_publisher_each(bench, estimator):
    """Another publisher with other joints is not another robot, and has no effect."""
    arm, _, both = mixed(names=(("a", "b", "c", "d"), ("e", "f", "g", "h")))
    bench.up(joints=["a", "b", "c", "d"])
    with robot("arm") as left, robot("gripper") as right:
        feed(Turns(left, right), both[:-1], 600)
        agree(bench, estimator, arm)
    bench.diagnosis(lambda s: values(s).get("messages: not asked for") == "119", past=True)
    assert not any("refused" in s.message for s in bench.statuses)


def test_a_driver_that_is_started_again(bench, estimator):
    """The new publisher replaces the old one immediately, and the window is kept."""
    messages = joint_states(walk(120))
    bench.up()
    with robot("arm") as first:
        feed(first, messages[:60])
        bench.read(messages[59])
    with robot("arm") as second:
        feed(second, messages[60:])
        agree(bench, estimator, messages)
    bench.diagnosis(lambda s: values(s).get("messages: accepted") == "120", past=True)


@NEEDS_IDS
def test_a_publisher_that_falls_silent(bench):
    """After 15 messages another publisher is used, with an empty window."""
    left, right = joint_states(walk(60)), joint_states(walk(120, seed=1), start=START + STEP // 2)
    bench.up()
    with robot("left") as first, robot("right") as second:
        feed(first, left[:30])
        bench.diagnosis(lambda s: values(s)["received"] == "30", past=True)
        feed(second, right[30:31])
        feed(first, left[30:])
        bench.diagnosis(lambda s: values(s)["received"] == "61", past=True)
        feed(second, right[60:])
        status = bench.diagnosis(lambda s: values(s).get("messages: accepted") == "106", past=True)
    counts = values(status)
    assert counts["messages: other publishers"] == "15" and counts["messages: resets"] != "0"
    assert (
        "a state is of publisher /arms/right now, before it was of /arms/left, which sent none of "
        "the last 15 messages; the window starts anew" in counts["last warning"]
    )


def test_joints_that_take_over_bring_their_publisher(bench):
    """A gripper is first; then the arm has most coordinates, and its publisher is used."""
    arm = joint_states(walk(150))
    for message in arm:
        message.name = ["a", "b", "c", "d"]
    gripper = joint_states(np.zeros((150, 1)), start=START - STEP // 2)
    for message in gripper:
        message.name = ["finger"]
    both = [message for pair in zip(gripper, arm, strict=True) for message in pair]
    bench.up()
    with robot("gripper") as one, robot("arm") as other:
        feed(Turns(other, one), both, 600)
        bench.read(arm[-1])
    status = values(bench.diagnosis())
    assert int(status["messages: other joints"]) > 130
    assert status.get("messages: other publishers", "0") == "0"


class Heard:
    """Messages of publishers without DDS; ids are bytes, and nodes have the same names.

    Publishers in `hidden` have no id in the graph; `names` gives nodes other names.
    """

    def __init__(self, wanted="", stall=60.0, hidden=()):
        self.present, self.hidden, self.asked, self.stamp = {}, set(hidden), 0, 0
        self.names = {}
        self.receiver = Receiver(Extractor(["position[:]"], Schema.of_class(JointState)))
        self.publishers = Publishers(self.infos, wanted, "publisher", lambda: stall)

    def infos(self):
        self.asked += 1
        return [
            SimpleNamespace(
                endpoint_gid=list(gid),
                node_namespace="/",
                node_name=self.names.get(gid, gid.decode()),
            )
            for gid in self.present.keys() - self.hidden
        ]

    def __call__(self, gid, dim=3):
        """A sample; without a publisher if `gid` is None."""
        self.present.setdefault(gid)
        self.stamp += STEP
        (message,) = joint_states(np.ones((1, dim)), START + self.stamp)
        given = None if gid is None else {"data": gid}
        info = {"publisher_gid": given}
        return self.publishers.receive(self.receiver, message, 0.0, info)


def test_a_publisher_that_leaves_among_several():
    heard = Heard()
    skips = [heard(gid).skip for gid in (b"a", b"b", b"a", b"b")]
    assert skips == ["", "other publishers"] * 2
    del heard.present[b"a"]
    found = [heard(b"b") for _ in range(3)]
    assert [bool(sample.skip) for sample in found] == [True, False, False]
    assert "before it was of /a, which is gone; the window starts anew" in found[1].notice
    assert not found[2].notice


@pytest.fixture
def clock(monkeypatch):
    clock = SimpleNamespace(now=100.0)
    monkeypatch.setattr("infoatlas_ros2.publishers.time.monotonic", lambda: clock.now)
    return clock


def test_a_node_whose_name_comes_after_its_messages(clock):
    heard = Heard(wanted="a")
    heard.names[b"a"] = UNKNOWN
    for _ in range(20):
        clock.now += 0.01
        found = heard(b"a")
        assert found.skip == "not asked for" and UNKNOWN not in found.fault
    assert (
        heard.publishers.absent(heard.infos())
        == "publisher is /a, which does not publish on this topic"
    )
    del heard.names[b"a"]
    clock.now += 0.3
    assert not heard(b"a").skip and not heard.publishers.absent(heard.infos())


def test_a_warning_waits_for_the_names(clock):
    heard = Heard()
    heard.names[b"b"] = UNKNOWN
    assert not heard(b"a").skip and heard(b"b").skip and not heard.publishers.named
    clock.now += 2.0
    heard(b"a")
    assert heard(b"b").skip and heard.publishers.named  # it will never have a name


def test_a_node_that_does_not_publish(clock):
    heard = Heard(wanted="/rihgt")
    assert heard(b"left").skip and heard(b"right").skip
    assert heard.publishers.absent(heard.infos()) == (
        "publisher is /rihgt, which does not publish on this topic: publishers there are /left, "
        "/right"
    )


@pytest.mark.parametrize("silence", [0.01, 0.3])
def test_a_driver_that_is_started_again_at_once(clock, silence):
    """The graph still has the old publisher. Two robots can share a name, but are not silent."""
    heard = Heard()
    heard.names |= {b"a": "arm", b"b": "arm"}
    assert not heard(b"a").skip
    clock.now += silence
    found = heard(b"b")
    assert bool(found.skip) == (silence < 0.2) and not found.notice
    if found.skip:
        assert not heard(b"a").skip and heard(b"b").skip


def test_a_publisher_that_only_seemed_to_have_stopped():
    heard = Heard(stall=0.0)
    assert not heard(b"a").skip
    assert heard(b"b")[3:6] == ("", "", "")  # as if it were restarted
    found = heard(b"a")
    assert found.skip and "/a publishes on this topic beside /b" in found.notice
    assert not heard(b"b").notice and not heard(b"a").notice


@pytest.mark.parametrize("stall", [0.0, 60.0])
def test_messages_that_are_no_states_do_not_take_over(stall):
    """Neither after a silence, nor after many messages, nor if the used publisher has left."""
    heard = Heard(stall=stall)
    assert not heard(b"a").fault
    others = [heard(b"b", dim=0) for _ in range(40)]
    assert {sample.skip for sample in others} == {"other publishers"}
    assert not heard(b"a").fault and not heard(b"a").notice
    del heard.present[b"a"]
    assert {heard(b"b", dim=0).skip for _ in range(40)} == {"other publishers"}
    assert not heard(b"a").fault  # it is still used


def test_another_robot_after_a_silence():
    """One message with other coordinates does not end the window; the earlier ones continue."""
    heard = Heard(stall=0.0)
    assert not heard(b"a").fault
    assert heard(b"b", dim=4).skip == "other publishers"
    assert [heard(b"a")[3:6] for _ in range(3)] == [("", "", "")] * 3


@pytest.mark.parametrize("wanted", ["", pytest.param("c", marks=NEEDS_IDS)])
def test_ids_that_the_graph_lacks(monkeypatch, wanted):
    """The graph is queried at intervals, and a late name is used."""
    heard, clock = Heard(wanted, hidden=(b"a", b"b")), SimpleNamespace(now=0.0)
    monkeypatch.setattr(publishers, "time", SimpleNamespace(monotonic=lambda: clock.now))
    for i in range(1000):
        clock.now = i * 0.01
        sample = heard(b"b" if i % 2 else b"a")
    assert "a publisher of unknown name" in sample.fault
    assert heard.asked < 40
    heard.hidden.clear()
    clock.now += 1.0
    assert "message of /b;" if wanted else "/b publishes" in heard(b"b").fault


@pytest.mark.usefixtures("session")
def test_remapped_topics():
    """Names are remapped once: if two topics swap names, each has its own publishers."""
    words = "-r __node:=swapped -r /first:=/second -r /second:=/first -p topic:=first".split()
    node, other = InfoAtlasNode(cli_args=["--ros-args", *words]), rclpy.create_node("driver")
    try:
        node.trigger_configure()
        publisher = other.create_publisher(JointState, "/second", 10)
        (chosen,), limit = publishers.of_topics(node, node._settings), time.monotonic() + 5
        while not (publisher.get_subscription_count() and chosen.present()):
            assert time.monotonic() < limit, "the publisher is not listed"
            time.sleep(0.005)
        node._diagnostics = Mock()
        node._report()
        (array,), _ = node._diagnostics.publish.call_args
        assert array.status[0].hardware_id == "/second"
        assert values(array.status[0])["publishers"] == "1"
    finally:
        node.destroy_node()
        other.destroy_node()


def test_without_ids():
    heard = Heard()
    assert not any(heard(None).skip for _ in range(9))


@NEEDS_IDS
def test_the_publisher_that_is_asked_for():
    heard = Heard("b")
    assert [heard(gid).skip for gid in (b"a", b"b", b"a")] == ["not asked for", "", "not asked for"]
    assert "a message of /a; publisher is /b" in heard(b"a").fault


def test_an_older_rclpy(monkeypatch):
    monkeypatch.setattr(publishers, "GIVEN", False)
    assert len(publishers.of_topics(Mock(), Settings)) == 1
    with pytest.raises(InputError, match=r"publisher_b is /x, but this rclpy gives no publisher"):
        publishers.of_topics(Mock(), partial(Settings, topic_b="b", publisher_b="/x"))
