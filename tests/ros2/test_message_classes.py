"""Fields of rclpy's message classes equal those of the definitions in a bag."""

from dataclasses import replace
from importlib import import_module

import numpy as np
import pytest
from geometry_msgs.msg import Transform
from nav_msgs.msg import Odometry
from rclpy.serialization import serialize_message
from rosbags.rosbag2 import Writer
from rosbags.typesys import Stores, get_typestore
from sensor_msgs.msg import JointState, MultiDOFJointState
from std_msgs.msg import Header, UInt8MultiArray

from infoatlas_ros2.messages import estimate
from infoatlas_rt import Estimator
from infoatlas_rt.estimation.result import WindowEstimate
from infoatlas_rt.messages.field_syntax import stamp
from infoatlas_rt.messages.fields import Extractor
from infoatlas_rt.messages.schema import Schema
from infoatlas_tools.bags.bag_reader import schema_of
from infoatlas_tools.bags.states import Bag

STORE = get_typestore(Stores.ROS2_KILTED)
NUMERIC = {
    "sensor_msgs": ("JointState", "Imu", "MultiDOFJointState", "Range", "LaserScan"),
    "nav_msgs": ("Odometry",),
    "geometry_msgs": ("Pose", "PoseStamped", "Twist", "TwistStamped", "Wrench", "WrenchStamped"),
    "std_msgs": ("Float32MultiArray", "Float64MultiArray", "Int16MultiArray", "Bool", "Float64"),
}
NAMES = [(package, name) for package, names in NUMERIC.items() for name in names]


def tree(schema: Schema) -> dict:
    """All known properties of a type."""
    return {
        name: (str(kind), tree(schema.nested(kind.base)) if "/" in kind.base else None)
        for name, kind in schema.fields().items()
    }


@pytest.mark.parametrize(("package", "name"), NAMES)
def test_same_types_as_in_a_bag(package, name):
    message_class = getattr(import_module(f"{package}.msg"), name)
    live, recorded = Schema.of_class(message_class), f"{package}/msg/{name}"
    assert live.name == recorded
    assert tree(live) == tree(schema_of(STORE, recorded))


def test_same_state_as_from_a_bag(tmp_path):
    """A message of rclpy, and the same message read from a bag with its bytes."""
    kind = "sensor_msgs/msg/JointState"
    live = JointState(name=["a", "b"], position=[0.1, 1 / 3], velocity=[-2.0, 3e-7])
    live.header.stamp.sec, live.header.stamp.nanosec = 1_700_000_000, 123_456_789
    with Writer(tmp_path / "bag", version=9) as bag:
        topic = bag.add_connection("/j", kind, typestore=STORE)
        bag.write(topic, 1, serialize_message(live))
    with Bag(tmp_path / "bag") as bag:
        ((_, _, recorded),) = bag.messages("/j")
        state = Extractor(None, bag.schema("/j"))(recorded)
    assert state.tolist() == [0.1, 1 / 3, -2.0, 3e-7]
    np.testing.assert_array_equal(Extractor(None, Schema.of_class(JointState))(live), state)
    assert stamp(live) == stamp(recorded) == 1_700_000_000 + 1e-9 * 123_456_789


def test_flags_of_an_estimate():
    one = Estimator(threads=1).estimate(*np.random.default_rng(0).standard_normal((2, 40)))
    one = replace(one, saturated=True, atoms=13, heavy_tails=True)
    message = estimate(WindowEstimate(0.0, one, 0.1, 1.0, 2, np.arange(40)), Header(), 0.0)
    assert (message.saturated, message.atoms, message.heavy_tails) == (True, 13, True)


def test_arrays_of_all_kinds():
    odometry = Odometry()
    odometry.pose.covariance[3] = 5.0
    fields = ["pose.covariance[2:5]", "pose.pose.orientation"]
    state = Extractor(fields, Schema.of_class(Odometry))(odometry)
    assert state.tolist() == [0, 5, 0, 0, 0, 0, 1]
    array = UInt8MultiArray(data=[1, 2, 255])
    assert Extractor(None, Schema.of_class(UInt8MultiArray))(array).tolist() == [1, 2, 255]
    joints = MultiDOFJointState()
    joints.transforms = [Transform()]
    joints.transforms[0].translation.y = 4.0
    fields = ["transforms[0].translation"]
    assert Extractor(fields, Schema.of_class(MultiDOFJointState))(joints).tolist() == [0, 4, 0]
