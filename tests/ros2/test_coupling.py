"""Coupling of two topics, and key states of demonstrations, over DDS, compared with true grasps."""

import sys
from pathlib import Path

import numpy as np
import pytest
from geometry_msgs.msg import PoseStamped
from harness import BASE, RELIABLE, START, TOPIC, feed, joint_states, poses, seconds, values
from infoatlas_msgs.msg import MutualInformation

from episodes import pickcube
from infoatlas_rt import CouplingDetector, Estimator
from infoatlas_tools import discover_keystates

sys.path.insert(0, str(Path(__file__).parents[2] / "examples"))

POSE = {"message_type": "geometry_msgs/msg/PoseStamped", "fields": ["pose.position"]}
POSES = POSE | {f"{name}_b": value for name, value in POSE.items()}
POSES |= {"topic_b": BASE, "lag": 0, "k": 0, "slices": 0}
STEP = 50_000_000


@pytest.fixture(scope="module")
def demonstrations():
    """States [T, 41] and first step of the grasp of PickCube."""
    states, grasps, _ = pickcube()
    return list(zip(states, grasps.tolist(), strict=True))


def test_the_grasp_couples_tool_and_cube(bench, demonstrations):
    """Events and estimates equal those of the library; a reset restarts everything."""
    motions = []
    topic = "/infoatlas/motion_information"
    subscription = bench.node.create_subscription(
        MutualInformation, topic, lambda m: bench._add(motions, m), RELIABLE
    )
    bench.up(**POSES, coupling=True, window=32)
    tool, cube = (bench.publisher(PoseStamped, topic) for topic in (TOPIC, BASE))
    detector = CouplingDetector(Estimator(threads=1))
    for episode, start in ((0, START), (3, START + 5 * 10**9)):
        states, grasp = demonstrations[episode]
        detector.reset()
        assert bench.reset().success
        motions.clear()
        bench.couplings.clear()
        expected, found = {}, []
        sides = (poses(states[:, c : c + 3], start, STEP) for c in (18, 28))
        for a, b in zip(*sides, strict=True):
            stamp = seconds(a.header.stamp)
            ours = [
                np.array([m.pose.position.x, m.pose.position.y, m.pose.position.z]) for m in (a, b)
            ]
            found += detector.push(*ours, stamp)
            if detector.latest is not None:
                expected[stamp] = detector.latest.estimate
            tool.publish(a)
            cube.publish(b)
            if stamp in expected:
                bench.wait(lambda t=stamp: motions and seconds(motions[-1].header.stamp) == t)
        got = {seconds(m.header.stamp): m.value for m in motions}
        assert got == {stamp: estimate.mi for stamp, estimate in expected.items()}
        reported = bench.wait(lambda: bench.couplings)
        assert [event.kind for event in found] == ["coupled"]
        for message, event in zip(reported, found, strict=True):
            for name in ("kind", "value", "z", "step", "detected_step"):
                assert getattr(message, name) == getattr(event, name), name
            assert message.standard_error == event.stderr
            assert seconds(message.header.stamp) == event.stamp
            assert seconds(message.detected_stamp) == event.detected_stamp
            assert message.header.frame_id == "world"
        assert grasp <= reported[0].detected_step <= grasp + 20
    bench.node.destroy_subscription(subscription)


@pytest.mark.parametrize(
    ("settings", "why"),
    [
        ({"coupling": True}, "set topic_b"),
        ({"coupling": True, "topic_b": BASE, "coupling_resolution": [-1.0]}, "resolution"),
        ({"coupling": True, "topic_b": BASE, "coupling_resolution": [1.0] * 3}, "3 numbers"),
        ({"coupling": True, "topic_b": BASE, "coupling_resolution": [0.0, 1.0]}, "set it to 0"),
    ],
)
def test_couplings_that_cannot_work(bench, settings, why):
    bench.prepare()
    assert why in bench.set(**settings) or not bench.transition("configure")


def test_topics_of_detectors_are_there_with_them(bench, demonstrations, tmp_path):
    """`~/extrema` always exists; others exist with their settings until the clean-up."""
    file = tmp_path / "task.json"
    discover_keystates([states[:, :9] for states, _ in demonstrations[:5]], count=1).save(file)
    own = "key_states", "couplings", "motion_information"

    def wait_for(*expected):
        count = bench.node.count_publishers
        bench.wait(lambda: [t for t in own if count(f"/infoatlas/{t}")] == list(expected))
        assert count("/infoatlas/extrema") == count("/infoatlas/mutual_information") == 1

    bench.up()
    wait_for()
    bench.up(task_file=str(file))
    wait_for("key_states")
    bench.up(**POSES, coupling=True, task_file="")
    wait_for("couplings", "motion_information")
    bench.down()
    wait_for()


def test_a_task_file_that_cannot_work(bench, demonstrations, tmp_path):
    bench.prepare(task_file=str(tmp_path / "none.json"))
    assert not bench.transition("configure")
    bench.diagnosis(lambda s: "none.json" in s.message, past=True)
    # Demonstrations of other coordinates, which only a message can reveal.
    file = tmp_path / "task.json"
    discover_keystates([states[:, :5] for states, _ in demonstrations[:3]], count=1).save(file)
    bench.up(task_file=str(file))
    feed(bench.publisher(), joint_states(demonstrations[0][0][:20, :4]))
    status = bench.diagnosis(lambda s: "5" in values(s)["last error"], past=True)
    assert "coordinates" in values(status)["last error"]
