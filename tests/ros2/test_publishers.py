"""Publishers that share a topic: the node uses one, and reports the others."""

from contextlib import contextmanager
from functools import partial
from types import SimpleNamespace
from unittest.mock import Mock

import numpy as np
import pytest
import rclpy
from harness import (
    RELIABLE,
    START,
    STEP,
    TOPIC,
    in_turn,
    joint_states,
    offline,
    until,
    values,
    walk,
)
from sensor_msgs.msg import JointState

from infoatlas_ros2 import publishers
from infoatlas_ros2.node import InfoAtlasNode
from infoatlas_ros2.parameters import Settings
from infoatlas_ros2.publishers import UNKNOWN, Publishers
from infoatlas_rt import InputError
from infoatlas_rt.messages.fields import Extractor
from infoatlas_rt.messages.receiver import Receiver
from infoatlas_rt.messages.schema import Schema

NEEDS_IDS = pytest.mark.skipif(
    not publishers.GIVEN, reason="this rclpy gives no ids of publishers with messages"
)


@contextmanager
def robots(bench, *names):
    """Publishers of a separate node each, which the tested node has discovered."""
    nodes = [rclpy.create_node(name, namespace="/arms") for name in names]
    try:
        publishers = [node.create_publisher(JointState, TOPIC, RELIABLE) for node in nodes]
        for publisher in publishers:
            until(publisher.get_subscription_count)
        bench.diagnosis(
            lambda s: (
                values(s)["publishers"] == str(len(names))
                and "does not publish on this topic" not in s.message
            )
        )
        yield publishers
    finally:
        for node in nodes:
            node.destroy_node()


class Turns:
    """Publishes messages of several publishers in turn."""

    def __init__(self, *publishers):
        self.publishers = publishers

    def publish(self, message):
        self.publishers[message.header.stamp.nanosec // (STEP // 2) % 2].publish(message)


def mixed():
    """Messages of two robots, and of both in turn, half a step apart."""
    left, right = (joint_states(walk(120, seed=seed), START + seed * STEP // 2) for seed in (0, 1))
    return left, right, in_turn(left, right)


@NEEDS_IDS
@pytest.mark.parametrize("asked", [0, 1])
def test_two_robots_without_names(bench, asked):
    """The first robot is used, or the one that the parameter names."""
    *own, both = mixed()
    bench.up(stall_after=60.0, **({"publisher": "/arms/right"} if asked else {}))
    with robots(bench, "left", "right") as publishers:
        bench.play(Turns(*publishers), both if asked else both[:-1])  # the last message is read
    bench.agree(offline(own[asked])[0])
    aside = "not asked for" if asked else "other publishers"
    counts = {"messages: accepted": "120", f"messages: {aside}": str(120 - (not asked))}
    bench.diagnosis(lambda s: counts.items() <= values(s).items(), past=True)
    active = [s for s in bench.statuses if values(s)["state"] == "active"]
    warned = [s for s in active if "beside" in values(s)["last warning"]]
    assert bool(warned) != bool(asked)
    for status in warned[:1]:
        assert status.level == status.WARN
        assert (
            "/arms/right publishes on this topic beside /arms/left, whose messages are read: "
            "choose one with the parameter publisher" in values(status)["last warning"]
        )


def test_a_driver_that_is_started_again(bench):
    """The new publisher replaces the old one immediately, and the window is kept."""
    messages = joint_states(walk(120))
    bench.up()
    for half in (messages[:60], messages[60:]):
        with robots(bench, "arm") as (publisher,):
            bench.play(publisher, half)
        bench.diagnosis(lambda s: values(s)["publishers"] == "0")
    bench.agree(offline(messages)[0])
    bench.diagnosis(lambda s: values(s).get("messages: accepted") == "120", past=True)


def test_joints_that_take_over_bring_their_publisher(bench):
    """A gripper is first; then the arm has most coordinates, and its publisher is used."""
    arm = joint_states(walk(150), names=["a", "b", "c", "d"])
    gripper = joint_states(np.zeros((150, 1)), START - STEP // 2, names=["finger"])
    bench.up(stall_after=60.0)
    with robots(bench, "arm", "gripper") as publishers:
        bench.play(Turns(*publishers), in_turn(gripper, arm))
    status = values(bench.diagnosis())
    assert int(status["messages: other joints"]) > 130
    assert status.get("messages: other publishers", "0") == "0"


class Heard:
    """Messages of publishers without DDS; ids are bytes, and nodes have the same names.

    Publishers in `hidden` have no id in the graph; `names` gives nodes other names.
    """

    def __init__(self, wanted="", stall=60.0, hidden=()):
        self.present, self.hidden, self.asked, self.stamp = {}, set(hidden), 0, 0
        self.names, self.now = {}, 100.0
        self.receiver = Receiver(Extractor(["position[:]"], Schema.of_class(JointState)))
        self.publishers = Publishers(
            self.infos, wanted, "publisher", lambda: stall, clock=lambda: self.now
        )

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
        self.now += 0.01
        (message,) = joint_states(np.ones((1, dim)), START + self.stamp)
        given = None if gid is None else {"data": gid}
        info = {"publisher_gid": given}
        return self.publishers.receive(self.receiver, message, 0.0, info)


@NEEDS_IDS
def test_a_publisher_that_falls_silent():
    """After 15 messages of another publisher that one is used, with an empty window."""
    heard = Heard(stall=60.0)
    assert not heard(b"a").skip and heard(b"b").skip and not heard(b"a").skip
    found = [heard(b"b") for _ in range(17)]
    assert [bool(sample.skip) for sample in found] == [True] * 14 + [False] * 3
    assert (
        "a state is of publisher /b now, before it was of /a, which sent none of the last 15 "
        "messages; the window starts anew" in found[14].notice + found[15].notice
    )


def test_a_publisher_that_leaves_among_several():
    heard = Heard()
    skips = [heard(gid).skip for gid in (b"a", b"b", b"a", b"b")]
    assert skips == ["", "other publishers"] * 2
    del heard.present[b"a"]
    found = [heard(b"b") for _ in range(3)]
    assert [bool(sample.skip) for sample in found] == [True, False, False]
    assert "before it was of /a, which is gone; the window starts anew" in found[1].notice
    assert not found[2].notice


def test_a_node_whose_name_comes_after_its_messages():
    heard = Heard(wanted="a")
    heard.names[b"a"] = UNKNOWN
    for _ in range(20):
        found = heard(b"a")
        assert found.skip == "not asked for" and UNKNOWN not in found.fault
    assert (
        heard.publishers.absent(heard.infos())
        == "publisher is /a, which does not publish on this topic"
    )
    del heard.names[b"a"]
    heard.now += 0.3
    assert not heard(b"a").skip and not heard.publishers.absent(heard.infos())


def test_a_warning_waits_for_the_names():
    heard = Heard()
    heard.names[b"b"] = UNKNOWN
    assert not heard(b"a").skip and heard(b"b").skip and not heard.publishers.named
    heard.now += 2.0
    heard(b"a")
    assert heard(b"b").skip and heard.publishers.named  # it will never have a name


def test_a_node_that_does_not_publish():
    heard = Heard(wanted="/rihgt")
    assert heard(b"left").skip and heard(b"right").skip
    assert heard.publishers.absent(heard.infos()) == (
        "publisher is /rihgt, which does not publish on this topic: publishers there are /left, "
        "/right"
    )


@pytest.mark.parametrize("silence", [0.0, 0.3])
def test_a_driver_that_is_started_again_at_once(silence):
    """The graph still has the old publisher. Two robots can share a name, but are not silent."""
    heard = Heard()
    heard.names |= {b"a": "arm", b"b": "arm"}
    assert not heard(b"a").skip
    heard.now += silence
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
def test_ids_that_the_graph_lacks(wanted):
    """The graph is queried at intervals, and a late name is used."""
    heard = Heard(wanted, hidden=(b"a", b"b"))
    for i in range(1000):
        sample = heard(b"b" if i % 2 else b"a")
    assert "a publisher of unknown name" in sample.fault
    assert heard.asked < 40
    heard.hidden.clear()
    heard.now += 1.0
    assert "message of /b;" if wanted else "/b publishes" in heard(b"b").fault


@pytest.mark.usefixtures("session")
def test_remapped_topics():
    """Names are remapped once: if two topics swap names, each has its own publishers."""
    words = "-r __node:=swapped -r /first:=/second -r /second:=/first -p topic:=first".split()
    node, other = InfoAtlasNode(cli_args=["--ros-args", *words]), rclpy.create_node("driver")
    try:
        node.trigger_configure()
        publisher = other.create_publisher(JointState, "/second", 10)
        (chosen,) = publishers.of_topics(node, node._settings)
        until(lambda: publisher.get_subscription_count() and chosen.present())
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
