"""Joints that are asked for by their names."""

import numpy as np
from harness import feed, in_turn, joint_states, offline, seconds, values, walk

NAMES = ("shoulder", "elbow", "wrist", "tip")


def test_joints_that_are_asked_for(bench):
    """An arm and a gripper share the topic; messages of the gripper leave no holes."""
    states = walk(150)
    joints = ["wrist", "shoulder", "elbow"]
    arm = joint_states(states, names=NAMES)
    gripper = joint_states(np.zeros((150, 1)), step=10_000_001, names=["finger"])
    expected, *_ = offline(arm, joints=joints)
    bench.up(joints=joints)
    feed(bench.publisher(), in_turn(arm, gripper))
    bench.read(seconds(arm[-1].header.stamp))
    bench.agree(expected)
    assert {m.fill for _, m in bench.estimates} == {1.0}
    status = bench.diagnosis(lambda s: values(s)["messages: not asked for"] == "150")
    assert values(status)["names"] == "position[wrist], position[shoulder], position[elbow]"
    assert values(status)["received"] == "300"
    assert not any("refused" in s.message for s in bench.statuses)
