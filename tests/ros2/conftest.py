"""One process of the node for all tests; each test runs it through its lifecycle."""

import os

import pytest

# Localhost and a separate domain, so that topics of others are not received.
os.environ["ROS_AUTOMATIC_DISCOVERY_RANGE"] = "LOCALHOST"
os.environ["ROS_DOMAIN_ID"] = str(1 + os.getpid() % 100)

import rclpy
from harness import BASE, CAMERA, LIVE, TOPIC, Bench, NodeProcess

from episodes import RATE, pickcube
from infoatlas_tools import Trajectories, discover_keystates
from task_parts import reach_and_carry


@pytest.fixture(scope="session")
def process(tmp_path_factory):
    """The node; TOPIC and BASE are reliable, so that tests can compare all messages.

    LIVE is best effort, as sensors are, but deep enough for a busy machine.
    """
    parameters = {f"qos_overrides.{LIVE}.subscription.depth": 500}
    for topic in (TOPIC, BASE, CAMERA):
        parameters[f"qos_overrides.{topic}.subscription.reliability"] = "reliable"
        parameters[f"qos_overrides.{topic}.subscription.depth"] = 1000
    arguments = [word for name, value in parameters.items() for word in ("-p", f"{name}:={value}")]
    log = tmp_path_factory.mktemp("node") / "log.txt"
    process = NodeProcess(log, "--ros-args", *arguments)
    yield process
    assert process.alive(), process.log.read_text()
    assert process.stop() == 0, process.log.read_text()


@pytest.fixture(scope="session")
def session(process):
    rclpy.init()
    bench = Bench()
    yield bench
    bench.close()
    rclpy.try_shutdown()


@pytest.fixture
def bench(session, process):
    yield session
    assert process.alive(), process.log.read_text()
    session.down()
    for publisher in list(session.node.publishers):
        if publisher.topic_name not in ("/rosout", "/parameter_events"):
            session.node.destroy_publisher(publisher)


@pytest.fixture(scope="session")
def task_file(tmp_path_factory):
    """Key states and sub-tasks of ten demonstrations."""
    states, grasps, names = pickcube()
    some = Trajectories(states[:10], names=names, rate=RATE)
    path = tmp_path_factory.mktemp("keystates") / "task.json"
    discover_keystates(some, count=1).save(path, reach_and_carry(states[:10], grasps[:10]))
    return path
