"""Fields of messages of rosbags; `tests/ros2` has those of rclpy."""

from types import SimpleNamespace

import numpy as np
import pytest

from infoatlas_rt.errors import InputError
from infoatlas_rt.messages.defaults import default_fields
from infoatlas_rt.messages.field_syntax import stamp
from infoatlas_rt.messages.fields import Extractor
from infoatlas_rt.messages.identity import PassedOver
from infoatlas_rt.messages.schema import FieldType, _from_rclpy
from refusals import refuses
from ros_messages import T, schema


def header(sec: int = 1_700_000_000, nanosec: int = 123_456_789):
    return T["std_msgs/msg/Header"](T["builtin_interfaces/msg/Time"](sec, nanosec), "base")


def joints(position, velocity=()):
    names = [f"joint{i}" for i in range(len(position))]
    arrays = (np.array(position, float), np.array(velocity, float), np.zeros(0))
    return T["sensor_msgs/msg/JointState"](header(), names, *arrays)


def point(*xyz):
    return T["geometry_msgs/msg/Point"](*map(float, xyz))


def pose():
    turn = T["geometry_msgs/msg/Quaternion"](0.5, 0.6, 0.7, 0.8)
    return T["geometry_msgs/msg/Pose"](point(1, 2, 3), turn)


def odometry():
    covariance = np.arange(36.0)
    still = T["geometry_msgs/msg/Vector3"](0.0, 0.0, 9.0)
    twist = T["geometry_msgs/msg/Twist"](still, still)
    return T["nav_msgs/msg/Odometry"](
        header(),
        "base",
        T["geometry_msgs/msg/PoseWithCovariance"](pose(), covariance),
        T["geometry_msgs/msg/TwistWithCovariance"](twist, covariance),
    )


def grip():
    force, contacts = np.array([1, 2, 3], np.float32), np.array([True, False])
    return T["lab_msgs/msg/Grip"](force, contacts, 7, [point(1, 2, 3), point(4, 5, 6)], 1)


@pytest.mark.parametrize(
    ("fields", "expected"),
    [
        (["position[:]"], [0, 1, 2, 3]),
        (["position"], [0, 1, 2, 3]),
        (["velocity[1:]", "position[0:2]"], [11, 12, 13, 0, 1]),
        (["position[3]", "velocity[:2]"], [3, 10, 11]),
        (["header.stamp.sec", "position[1]"], [1_700_000_000, 1]),
        (["header.stamp"], [1_700_000_000, 123_456_789]),
        (None, [0, 1, 2, 3, 10, 11, 12, 13]),
    ],
)
def test_joint_states(fields, expected):
    extractor = Extractor(fields, schema("sensor_msgs/msg/JointState"))
    state = extractor(joints(range(4), range(10, 14)))
    assert state.dtype == np.float64 and state.tolist() == expected
    assert len(extractor.names) == extractor.dim == len(expected)


@pytest.mark.parametrize(
    ("field", "expected", "first"),
    [
        ("pose.pose.position.x", [1], "pose.pose.position.x"),
        ("pose.pose.orientation", [0.5, 0.6, 0.7, 0.8], "pose.pose.orientation.x"),
        ("pose.covariance[34:36]", [34, 35], "pose.covariance[34]"),
        ("pose", [1, 2, 3, 0.5, 0.6, 0.7, 0.8, *range(36)], "pose.pose.position.x"),
    ],
)
def test_nested_messages_stand_for_their_numbers(field, expected, first):
    extractor = Extractor([field], schema("nav_msgs/msg/Odometry"))
    assert extractor.dim == len(expected)  # known before any message
    assert extractor(odometry()).tolist() == expected and extractor.names[0] == first


def test_types_of_numbers():
    fields = ["force", "contacts[:]", "count", "ends[1]", "ends[0].z"]
    extractor = Extractor(fields, schema("lab_msgs/msg/Grip"))
    assert extractor(grip()).tolist() == [1, 2, 3, 1, 0, 7, 4, 5, 6, 3]
    assert extractor.names[-2:] == ("ends[1].z", "ends[0].z")


def test_integers_that_floats_round_are_refused():
    extract = Extractor(["force", "count"], schema("lab_msgs/msg/Grip"))
    message = grip()
    assert extract(message)[-1] == message.count
    message.count = 2**60 + 1
    refuses("an integer beyond 2\\^53", extract, message)


def test_one_array_for_all_messages():
    extractor = Extractor(["position[:]"], schema("sensor_msgs/msg/JointState"))
    first = extractor(joints([1, 2]))
    assert extractor(joints([3, 4])) is first and first.tolist() == [3, 4]


@pytest.mark.parametrize(
    ("name", "fields", "dim"),
    [
        ("sensor_msgs/msg/JointState", ("position[:]", "velocity[:]"), None),
        ("sensor_msgs/msg/Imu", ("angular_velocity", "linear_acceleration"), 6),
        ("nav_msgs/msg/Odometry", ("pose.pose", "twist.twist"), 13),
        ("geometry_msgs/msg/Pose", ("position", "orientation"), 7),
        ("geometry_msgs/msg/PoseStamped", ("pose",), 7),
        ("geometry_msgs/msg/PoseWithCovarianceStamped", ("pose.pose",), 7),
        ("geometry_msgs/msg/TwistStamped", ("twist",), 6),
        ("geometry_msgs/msg/WrenchStamped", ("wrench",), 6),
        ("std_msgs/msg/Float32MultiArray", ("data[:]",), None),
        ("std_msgs/msg/UInt16MultiArray", ("data[:]",), None),
        ("std_msgs/msg/Float64", ("data",), 1),
    ],
)
def test_defaults(name, fields, dim):
    extractor = Extractor(None, schema(name))
    assert extractor.fields == fields and extractor.dim == dim


@pytest.mark.parametrize("name", ["tf2_msgs/msg/TFMessage", "std_msgs/msg/String"])
def test_no_default_where_there_is_more_than_numbers(name):
    refuses(f"name the fields that make up the state: {name} has ", default_fields, schema(name))


@pytest.mark.parametrize(
    ("name", "field", "message"),
    [
        ("sensor_msgs/msg/JointState", "positions", "no 'positions'.*position .float64"),
        ("sensor_msgs/msg/JointState", "name", "string.*, no number.*velocity .float64"),
        ("sensor_msgs/msg/JointState", "position.x", "has no fields: end with it"),
        ("sensor_msgs/msg/JointState", "header", "more than numbers"),
        ("sensor_msgs/msg/JointState", "header[0]", "no array: leave out"),
        ("sensor_msgs/msg/JointState", "position[-1]", "cannot be read: write it as in"),
        ("sensor_msgs/msg/JointState", "position[a:b]", "cannot be read"),
        ("sensor_msgs/msg/JointState", "position[", "cannot be read"),
        ("sensor_msgs/msg/JointState", "", "cannot be read"),
        ("sensor_msgs/msg/JointState", "position[3:3]", "is empty"),
        ("nav_msgs/msg/Odometry", "pose.covariance[36]", "has elements 0 to 35 only"),
        ("nav_msgs/msg/Odometry", "pose.covariance[30:40]", "has elements 0 to 35 only"),
        ("nav_msgs/msg/Odometry", "pose.pose.position.w", "no 'w'.*geometry_msgs/msg/Point has x"),
        ("tf2_msgs/msg/TFMessage", "transforms.transform", r"as in transforms\[child_frame_id="),
        ("tf2_msgs/msg/TFMessage", "transforms[:].transform", r"as in transforms\[child_frame_id="),
        ("lab_msgs/msg/Grip", "raw", "byte, no number"),
    ],
)
def test_fields_that_cannot_be(name, field, message):
    refuses(message, Extractor, [field], schema(name))


def test_no_fields():
    refuses("no fields given", Extractor, [], schema("sensor_msgs/msg/JointState"))


def test_changed_length_is_refused_and_nothing_else():
    extractor = Extractor(["position[:]", "velocity[:]"], schema("sensor_msgs/msg/JointState"))
    extractor(joints([1, 2, 3], [4, 5, 6]))
    refuses("velocity has 2 elements for 3 names", extractor, joints([1, 2, 3], [4, 5]))
    refuses("others: with joint3", extractor, joints([1, 2, 3, 4], [4, 5, 6]))
    assert extractor(joints([7, 8, 9], [1, 2, 3])).tolist() == [7, 8, 9, 1, 2, 3]
    extractor.forget()
    assert extractor.dim is None and extractor.names == ()
    assert extractor(joints([1], [2])).tolist() == [1, 2]


def test_a_closed_slice_minds_only_its_own_part():
    extractor = Extractor(["position[1:3]"], schema("sensor_msgs/msg/JointState"))
    assert extractor.dim == 2 and extractor.names == ("position[1]", "position[2]")
    with pytest.raises(InputError, match="position has 1 elements, but 3 are needed"):
        extractor(joints([1]))  # NumPy would broadcast it to both
    assert extractor(joints([1, 2, 3])).tolist() == [2, 3]
    assert extractor.names == ("position[joint1]", "position[joint2]")
    assert extractor(joints([1, 2, 3, 4])).tolist() == [2, 3]
    refuses("others: without joint1, joint2", extractor, joints([1]))


def array(*data):
    layout = T["std_msgs/msg/MultiArrayLayout"]([], 0)
    return T["std_msgs/msg/Float64MultiArray"](layout, np.array(data, float))


def test_arrays_without_names():
    extractor = Extractor(["data[1:3]"], schema("std_msgs/msg/Float64MultiArray"))
    assert extractor(array(1, 2, 3)).tolist() == extractor(array(1, 2, 3, 4)).tolist() == [2, 3]
    refuses("data has 1 elements, but 3 are needed", extractor, array(1))
    extractor = Extractor(["data[:]"], schema("std_msgs/msg/Float64MultiArray"))
    extractor(array(1, 2, 3))
    refuses("dimension 4, before it was 3: data has 4 elements", extractor, array(1, 2, 3, 4))


def named(**positions):
    arrays = (np.array([*positions.values()], float), np.zeros(0), np.zeros(0))
    return T["sensor_msgs/msg/JointState"](header(), [*positions], *arrays)


JOINTS = schema("sensor_msgs/msg/JointState")


def test_order_is_that_of_the_names():
    extractor = Extractor(["position[:]"], JOINTS)
    assert extractor(named(a=1, b=2, c=3)).tolist() == [1, 2, 3]
    assert extractor(named(c=3, a=1, b=2)).tolist() == [1, 2, 3]
    assert extractor.names == ("position[a]", "position[b]", "position[c]")
    for others, changes in {
        "abcd": "others: with d",
        "ab": "others: without c",
        "abd": "others: without c and with d",
        "": "others: without a, b, c",
    }.items():
        refuses(changes + "$", extractor, named(**dict.fromkeys(others, 0.0)))
    twice = named(a=1, b=2, c=3)
    twice.name[1] = "a"
    with pytest.raises(InputError):
        extractor(twice)
    assert extractor(named(b=2, c=3, a=1)).tolist() == [1, 2, 3]


def test_joints_by_name():
    extractor = Extractor(["position[elbow]", "position[arm.wrist]"], JOINTS)
    assert extractor.names == ("position[elbow]", "position[arm.wrist]") and extractor.dim == 2
    assert extractor(named(**{"elbow": 1, "arm.wrist": 2, "tip": 3})).tolist() == [1, 2]
    assert extractor(named(**{"arm.wrist": 2, "elbow": 1})).tolist() == [1, 2]
    refuses(r"without arm\.wrist", extractor, named(elbow=1))
    with pytest.raises(PassedOver):
        extractor(named(tip=3))


def test_joints_out_of_whole_arrays():
    extractor = Extractor(["position[:]"], JOINTS, ["c", "a"])
    assert extractor.names == ("position[c]", "position[a]") and extractor.dim == 2
    assert extractor(named(a=1, b=2, c=3)).tolist() == [3, 1]
    assert extractor(named(d=4, c=3, a=1)).tolist() == [3, 1]
    for fields, names, why in (
        (["position[0:2]"], ["a"], r"write position\[:\]"),
        (["position[:]"], ["a", "a"], "name each once"),
        (["header.stamp.sec"], ["a"], "comes with names"),
    ):
        refuses(why, Extractor, fields, JOINTS, names)
    with pytest.raises(InputError, match="no names go with"):
        Extractor(["data[elbow]"], schema("std_msgs/msg/Float64MultiArray"))


def fates(extractor, messages):
    """Number of coordinates from each message; 0 if it was refused."""
    found = []
    for message in messages:
        try:
            found.append(len(extractor(message)))
        except InputError:
            found.append(0)
    return found


def test_the_majority_takes_over():
    """Three messages without velocities, then some of 14 coordinates; nine of these are refused."""
    extractor = Extractor(None, JOINTS)
    few, whole = joints(range(7)), joints(range(7), range(7))
    assert fates(extractor, [few] * 3 + [whole] * 20) == [7] * 3 + [0] * 9 + [14] * 11
    assert "14 coordinates now" in extractor.notice and "before it had 7" in extractor.notice
    extractor.notice = ""
    assert fates(extractor, [few] * 3 + [whole] * 20) == [0] * 3 + [14] * 20  # no return
    assert not extractor.notice


def test_an_arm_is_preferred_to_its_gripper():
    """At the same rate, whichever is first; later the arm stays."""
    arm, gripper = joints(range(7)), named(finger=0.1)
    for messages in ([gripper, arm] * 50, [arm, gripper] * 50):
        extractor = Extractor(["position[:]"], JOINTS)
        found = fates(extractor, messages)
        assert extractor.dim == 7 and found.count(7) >= 40 and found[-20:].count(7) == 10
    with pytest.raises(PassedOver):
        extractor(gripper)


def test_a_malformed_first_message_decides_nothing():
    assert fates(Extractor(None, JOINTS), [joints(range(7), range(3)), joints(range(7))]) == [0, 7]


def test_empty_arrays():
    extractor = Extractor(None, schema("sensor_msgs/msg/JointState"))
    refuses("the arrays are empty", extractor, joints([]))
    assert extractor(joints([1, 2])).tolist() == [1, 2]  # drivers without velocities are common


def test_another_type_and_too_few_messages():
    extractor = Extractor(["pose.position.x"], schema("geometry_msgs/msg/PoseStamped"))
    refuses("expected a geometry_msgs/msg/PoseStamped", extractor, joints([1]))
    extractor = Extractor(["transforms[0].transform"], schema("tf2_msgs/msg/TFMessage"))
    refuses("list index out of range", extractor, T["tf2_msgs/msg/TFMessage"]([]))


def test_stamp():
    assert stamp(joints([1])) == 1_700_000_000 + 1e-9 * 123_456_789
    assert abs(stamp(joints([1])) - 1_700_000_000.123456789) < 2.4e-7
    assert stamp(point(1, 2, 3)) is None and stamp(SimpleNamespace(header=header(0, 0))) is None
    assert stamp(SimpleNamespace(header=SimpleNamespace(stamp=1.5))) is None


@pytest.mark.parametrize(
    ("text", "base", "length"),
    [
        ("double", "float64", None),
        ("float[9]", "float32", 9),
        ("sequence<double>", "float64", 0),
        ("sequence<double, 3>", "float64", 0),
        ("boolean", "bool", None),
        ("string<10>", "string<10>", None),
        ("std_msgs/Header", "std_msgs/msg/Header", None),
        ("geometry_msgs/Point[2]", "geometry_msgs/msg/Point", 2),
        ("sequence<geometry_msgs/Pose>", "geometry_msgs/msg/Pose", 0),
    ],
)
def test_words_of_rclpy(text, base, length):
    assert _from_rclpy(text) == FieldType(base, length)
