"""Topics shared by several bodies: the node reads one, and reports the others."""

import numpy as np
from geometry_msgs.msg import PoseStamped
from harness import START, feed, in_turn, offline, poses, values, walk

KIND = "geometry_msgs/msg/PoseStamped"


def mixed():
    """Messages of a tool, and the same with those of a cube between them."""
    tool = poses(walk(120)[:, :3], frame="tool")
    return tool, in_turn(tool, poses(np.zeros((120, 3)), START + 1_000_000, frame="cube"))


def test_a_body_that_is_asked_for(bench):
    tool, both = mixed()
    bench.up(message_type=KIND, fields=["[header.frame_id=tool].pose.position"])
    feed(bench.publisher(PoseStamped), both)
    status = bench.diagnosis(lambda s: values(s).get("messages: not asked for") == "120")
    assert values(status)["messages: accepted"] == "120"
    bench.agree(offline(tool, ["pose.position"])[0])
    assert not any("another body" in s.message for s in bench.statuses)
