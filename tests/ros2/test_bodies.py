"""Topics shared by several bodies: the node reads one, and reports the others."""

from contextlib import nullcontext
from types import SimpleNamespace

import numpy as np
from geometry_msgs.msg import PoseStamped
from harness import feed, seconds, values, walk

from infoatlas_ros2.health import Health
from infoatlas_ros2.parameters import Settings
from infoatlas_ros2.worker import Worker
from infoatlas_rt import Estimator
from infoatlas_rt.messages.fields import Extractor
from infoatlas_rt.messages.receiver import Receiver, Sample
from infoatlas_rt.messages.schema import Schema
from infoatlas_rt.messages.stream import Stream
from player import Player

START = 1_700_000_000_000_000_000
KIND = "geometry_msgs/msg/PoseStamped"


def poses(frame, states, start=START):
    """Positions at intervals of 10 ms."""
    messages = []
    for i, state in enumerate(states):
        message = PoseStamped()
        message.header.frame_id = frame
        time = message.header.stamp
        time.sec, time.nanosec = divmod(start + i * 10_000_000, 10**9)
        at = message.pose.position
        at.x, at.y, at.z = map(float, state)
        messages.append(message)
    return messages


def mixed(first, second):
    tool = poses(first, walk(120)[:, :3])
    cube = poses(second, np.zeros((120, 3)), START + 1_000_000)
    return tool, [message for pair in zip(tool, cube, strict=True) for message in pair]


def agree(bench, tool):
    """Check that the estimates are those of one body only."""
    player = Player(
        Estimator(k=2, slices=4, threads=1),
        Extractor(["pose.position"], Schema.of_class(PoseStamped)),
        lag=2,
        lag_seconds=0.02,
        window=48,
    )
    found = [output.estimate for message in tool for output in player.push(message)]
    expected = {each.stamp: each.estimate.mi for each in found}
    assert bench.estimates
    for _, message in bench.estimates:
        assert message.value == expected[seconds(message.header.stamp)]


def test_a_body_that_is_asked_for(bench):
    tool, both = mixed("tool", "cube")
    bench.up(message_type=KIND, fields=["[header.frame_id=tool].pose.position"])
    feed(bench.publisher(PoseStamped), both, 600)
    status = bench.diagnosis(lambda s: values(s).get("messages: not asked for") == "120")
    assert values(status)["messages: accepted"] == "120"
    agree(bench, tool)
    assert not any("another body" in s.message for s in bench.statuses)


def test_a_body_that_was_not_named(bench):
    """The body of the first message is used, and a warning names the others."""
    tool, both = mixed("tool", "cube")
    bench.up(message_type=KIND, fields=["pose.position"])
    feed(bench.publisher(PoseStamped), both, 600)
    counts = {"messages: other bodies": "120", "messages: accepted": "120"}
    status = bench.diagnosis(lambda s: counts.items() <= values(s).items())
    agree(bench, tool)
    warning = values(status)["last warning"]
    assert "[header.frame_id=cube] is another body than [header.frame_id=tool]" in warning


def test_the_newest_state_has_an_estimate_after_messages_of_another_body():
    real = Estimator(k=2, slices=2, threads=1)
    settings = Settings(lag=2, lag_seconds=0.0, window=40, slices=2, extremum_delay=1.0)
    extractor = Extractor(["pose.position"], Schema.of_class(PoseStamped))
    maker = SimpleNamespace(
        stream=lambda s: Stream(s.sliding_window(real), real, s.detector()),
        receivers=lambda s: [Receiver(extractor)],
        estimator=real,
        timed=nullcontext,
    )
    published = []
    worker = Worker(maker, lambda: settings, published.append, Health())
    states = walk(60)[:, :3]
    batch = [(Sample(0, t / 100, state, ""), t) for t, state in enumerate(states)]
    other = Sample(0, float("nan"), np.zeros(0), "another body", skip="other bodies")

    def newest():
        return [each.header for each in published if each.estimate is not None][-1]

    worker._turn([*batch[:50], (other, "other"), (other, "other")], False, 0)
    assert newest() == 49 and worker.reason == "ok"
    # While that batch is estimated, a message of the other body arrives, and no state.
    worker._ring.append((other, "other"))
    worker._turn(batch[50:], False, 0)
    assert newest() < 59
    worker._ring.clear()
    worker._turn([(other, "other")], False, 0)
    worker.stop()
    assert newest() == 59
    assert worker.counts["other bodies"] == 3
