"""Joints by name, and topics whose first messages differ from the others."""

import numpy as np
from harness import feed, joint_states, seconds, values, walk
from sensor_msgs.msg import JointState

from infoatlas_rt import Estimator
from infoatlas_rt.messages.fields import Extractor
from infoatlas_rt.messages.schema import Schema
from player import Player

NAMES = ("shoulder", "elbow", "wrist", "tip")


def named(messages, names=NAMES):
    for message in messages:
        message.name = list(names)
    return messages


def offline(messages, fields=("position[:]",), joints=(), **options):
    """Estimates of the library by stamp, and the stream."""
    options = {"lag": 2, "lag_seconds": 0.02, "window": 48} | options
    extractor = Extractor(fields, Schema.of_class(JointState), joints)
    player = Player(Estimator(k=2, slices=4, threads=1), extractor, **options)
    found = [output.estimate for message in messages for output in player.push(message)]
    return {each.stamp: each.estimate.mi for each in found}, player.stream


def agree(bench, expected):
    assert bench.estimates
    for _, m in bench.estimates:
        assert m.value == expected[seconds(m.header.stamp)]


def test_reordered_joints_are_the_same_joints(bench):
    states = walk(150)
    expected, _ = offline(named(joint_states(states)))
    messages = named(joint_states(states))
    rng = np.random.default_rng(0)
    for message in messages[1:]:
        order = rng.permutation(4)
        message.name = [NAMES[i] for i in order]
        message.position = [message.position[i] for i in order]
    bench.up()
    feed(bench.publisher(), messages)
    bench.read(messages[-1])
    agree(bench, expected)
    status = values(bench.diagnosis())
    assert status["names"] == ", ".join(f"position[{name}]" for name in NAMES)
    assert status["messages: accepted"] == "150"


def test_joints_that_are_asked_for(bench):
    """An arm and a gripper share the topic; messages of the gripper leave no holes."""
    states = walk(150)
    joints = ["wrist", "shoulder", "elbow"]
    arm = named(joint_states(states))
    gripper = named(joint_states(np.zeros((150, 1)), step=10_000_001), ["finger"])
    messages = [message for pair in zip(arm, gripper, strict=True) for message in pair]
    expected, _ = offline(arm, joints=joints)
    bench.up(joints=joints)
    feed(bench.publisher(), messages, 600)
    bench.read(arm[-1])
    agree(bench, expected)
    assert {m.fill for _, m in bench.estimates} == {1.0}
    status = bench.diagnosis(lambda s: values(s)["messages: not asked for"] == "150")
    assert values(status)["names"] == "position[wrist], position[shoulder], position[elbow]"
    assert values(status)["received"] == "300"
    assert not any("refused" in s.message for s in bench.statuses)


def test_another_set_of_joints_is_reported_and_refused(bench):
    messages = named(joint_states(walk(150)))
    for message in messages[60:64]:
        message.name[3] = "tool"
    expected, _ = offline(messages)
    bench.up()
    feed(bench.publisher(), messages)
    bench.read(messages[-1])
    agree(bench, expected)
    assert any("(dimension)" in s.message for s in bench.statuses)
    assert values(bench.diagnosis())["messages: dimension"] == "4"


def test_first_messages_without_velocities(bench):
    states = walk(150)
    messages = named(joint_states(states))
    for message in messages[3:]:
        message.velocity = message.position
    fields = ["position[:]", "velocity[:]"]
    expected, _ = offline(messages, fields)
    bench.up(fields=fields)
    feed(bench.publisher(), messages)
    bench.read(messages[-1])
    agree(bench, expected)
    warned = [s for s in bench.statuses if "8 coordinates now" in s.message]
    assert warned and all(s.level == s.WARN for s in warned)
    assert any("before it had 4" in s.message for s in warned)
    assert values(bench.diagnosis())["coordinates"] == "8"


def test_a_gripper_that_comes_first(bench):
    """A gripper and its arm share the topic: the arm is used."""
    states = walk(150)
    arm = named(joint_states(states))
    gripper = named(joint_states(np.zeros((150, 1)), start=1_699_999_999_999_000_000), ["finger"])
    messages = [message for pair in zip(gripper, arm, strict=True) for message in pair]
    expected, _ = offline(messages)
    alone, _ = offline(arm)
    bench.up()
    feed(bench.publisher(), messages, 600)
    bench.read(arm[-1])
    agree(bench, expected)
    last = seconds(arm[-1].header.stamp)
    assert bench.estimates[-1][1].value == alone[last] != 0  # as if there were no gripper
    assert any("(other joints)" in s.message for s in bench.statuses)
