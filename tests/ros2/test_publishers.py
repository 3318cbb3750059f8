"""Publishers that share a topic: the node reads one, and says which others there are."""

from contextlib import contextmanager

import numpy as np
import pytest
import rclpy
from harness import RELIABLE, TOPIC, feed, joint_states, seconds, values, walk
from sensor_msgs.msg import JointState

from infoatlas_rt import Estimator
from infoatlas_rt.messages.fields import Extractor
from infoatlas_rt.messages.schema import Schema
from player import Player

STEP = 10_000_000
START = 1_700_000_000 * 10**9


@contextmanager
def robot(name):
    """A publisher of a node of its own, known to the node under test."""
    node = rclpy.create_node(name, namespace="/arms")
    try:
        publisher = node.create_publisher(JointState, TOPIC, RELIABLE)
        while not publisher.get_subscription_count():
            pass
        yield publisher
    finally:
        node.destroy_node()


class Turns:
    """Publishes messages in turn."""

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
    """The estimates are those of one robot alone."""
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


@pytest.mark.parametrize("asked", [0, 1])
def test_two_robots_without_names(bench, estimator, asked):
    """The first one is read, or the one that is asked for."""
    *robots, both = mixed()
    bench.up(**({"publisher": "/arms/right"} if asked else {}))
    with robot("left") as left, robot("right") as right:
        feed(Turns(left, right), both, 600)
        aside = "not asked for" if asked else "other publishers"
        status = bench.diagnosis(lambda s: values(s).get(f"messages: {aside}") == "120", past=True)
    assert values(status)["messages: accepted"] == "120"
    agree(bench, estimator, robots[asked])
    warned = [s for s in bench.statuses if "publish" in values(s)["last warning"]]
    assert bool(warned) != bool(asked)
    for status in warned[:1]:
        assert status.level == status.WARN
        assert (
            "/arms/right publishes on this topic beside /arms/left, which the state is of: choose "
            "one with the parameter publisher" in values(status)["last warning"]
        )


def test_an_arm_and_its_gripper_have_a_publisher_each(bench, estimator):
    """Other joints are no other robot, whoever publishes them, and leave no trace."""
    arm, _, both = mixed(names=(("a", "b", "c", "d"), ("e", "f", "g", "h")))
    bench.up(joints=["a", "b", "c", "d"])
    with robot("arm") as left, robot("gripper") as right:
        feed(Turns(left, right), both, 600)
        bench.diagnosis(lambda s: values(s).get("messages: not asked for") == "120", past=True)
    agree(bench, estimator, arm)
    assert not any("refused" in s.message for s in bench.statuses)


def test_a_driver_that_is_started_again(bench, estimator):
    """Its new publisher takes the place of the old one at once, and the window goes on."""
    messages = joint_states(walk(120))
    bench.up()
    with robot("arm") as first:
        feed(first, messages[:60])
        bench.read(messages[59])
    with robot("arm") as second:
        feed(second, messages[60:])
        agree(bench, estimator, messages)
    assert values(bench.diagnosis())["messages: accepted"] == "120"


def test_a_publisher_that_falls_silent(bench):
    """Another one is read after 15 messages, with an empty window."""
    left, right = joint_states(walk(60)), joint_states(walk(120, seed=1), start=START + STEP // 2)
    bench.up()
    with robot("left") as first, robot("right") as second:
        feed(first, left[:30])
        bench.diagnosis(lambda s: values(s)["received"] == "30", past=True)
        feed(second, right[30:31])
        feed(first, left[30:])
        bench.diagnosis(lambda s: values(s)["received"] == "61", past=True)
        feed(second, right[60:])
        status = bench.diagnosis(lambda s: values(s)["received"] == "121", past=True)
    counts = values(status)
    assert counts["messages: accepted"] == "106"
    assert counts["messages: other publishers"] == "15" and counts["messages: resets"] != "0"
    assert (
        "a state is of publisher /arms/right now, before it was of /arms/left, of which none of "
        "the last 15 messages is; the window starts anew" in counts["last warning"]
    )


def test_joints_that_take_over_bring_their_publisher(bench):
    """A gripper comes first; then the arm has most coordinates, and its publisher is read."""
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
