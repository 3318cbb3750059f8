"""The thread that takes messages, the lock for handling them, and the warm-up."""

from types import SimpleNamespace

import pytest
import rclpy
from harness import RELIABLE, SMALL, until
from rclpy.lifecycle import LifecycleNode
from rclpy.parameter import Parameter
from sensor_msgs.msg import JointState

from infoatlas_ros2.health import Health
from infoatlas_ros2.message_thread import UNEXECUTED, MessageThread
from infoatlas_ros2.node import InfoAtlasNode
from infoatlas_ros2.parameters import Settings


class Broken:
    """A subscription with one message that cannot be taken."""

    def __init__(self, subscription):
        self.handle, self.raw, self.errors = subscription.handle, False, 1

    @property
    def msg_type(self):
        if self.errors:
            self.errors -= 1
            raise RuntimeError("no message")
        return JointState


def test_an_error_does_not_end_the_thread(session):
    node = rclpy.create_node("listening")
    subscription = node.create_subscription(
        JointState, "/listened", print, RELIABLE, callback_group=UNEXECUTED
    )
    publisher = node.create_publisher(JointState, "/listened", RELIABLE)
    taken, faults = [], []
    thread = MessageThread(
        node, [Broken(subscription)], lambda _, message, info: taken.append(message), faults.append
    )
    until(publisher.get_subscription_count)
    for number in range(30):
        publisher.publish(JointState(position=[float(number)]))
    until(lambda: taken and taken[-1].position[0] == 29)
    thread.stop()
    assert faults == ["messages cannot be taken: RuntimeError: no message"]
    node.destroy_node()


def test_no_message_is_handled_before_the_publishers_are_active(session, monkeypatch):
    node = InfoAtlasNode(
        cli_args=["--ros-args", "-r", "__node:=activated"],
        parameter_overrides=[Parameter(name, value=value) for name, value in SMALL.items()],
    )
    node.trigger_configure()
    seen = []
    enable = LifecycleNode.on_activate

    def enabled(own, state):
        seen.append(node._taking.locked())  # a message would wait
        return enable(own, state)

    monkeypatch.setattr(LifecycleNode, "on_activate", enabled)
    node.trigger_activate()
    assert seen == [True] and not node._taking.locked()
    node.destroy_node()


@pytest.mark.parametrize(("second", "warned"), [(0.0, False), (0.15, True)])
def test_a_cold_start_is_no_slow_inference(second, warned):
    took = [0.15, second]
    maker = SimpleNamespace(warm_up=lambda settings: took.pop(0))
    node = SimpleNamespace(_health=Health(), get_logger=lambda: SimpleNamespace(warning=print))
    InfoAtlasNode._warm_up(node, maker, Settings(extremum_delay=2.0))
    assert ("but extrema need one every 0.10 s" in node._health.warning) is warned
