"""The fields of a state: those that are given, or the usual ones of a message type."""

from collections.abc import Sequence
from typing import Any

from ..errors import InputError
from .field_syntax import choice_of
from .schema import HEADER_TYPE, Schema

_ARRAYS = "Float32 Float64 Int8 Int16 Int32 Int64 UInt8 UInt16 UInt32 UInt64".split()
DEFAULT_FIELDS: dict[str, tuple[str, ...]] = {
    "sensor_msgs/msg/JointState": ("position[:]", "velocity[:]"),
    "sensor_msgs/msg/Imu": ("angular_velocity", "linear_acceleration"),
    "nav_msgs/msg/Odometry": ("pose.pose", "twist.twist"),
    "geometry_msgs/msg/PoseWithCovarianceStamped": ("pose.pose",),
    "geometry_msgs/msg/TwistWithCovarianceStamped": ("twist.twist",),
    **{f"std_msgs/msg/{name}MultiArray": ("data[:]",) for name in _ARRAYS},
}


def default_fields(schema: Schema) -> tuple[str, ...]:
    """Fields of a state if none are given.

    They are those of `DEFAULT_FIELDS`. For other types they are all except the header, if these are
    only numbers (Pose, PoseStamped, Twist, WrenchStamped, ...); InputError otherwise.
    """
    if schema.name in DEFAULT_FIELDS:
        return DEFAULT_FIELDS[schema.name]
    fields = {name: kind for name, kind in schema.fields().items() if kind.base != HEADER_TYPE}
    if not fields or not all(schema.numeric(kind) for kind in fields.values()):
        raise InputError(f"name the fields that make up the state: {schema}")
    return tuple(fields)


def chosen_fields(
    fields: Sequence[str] | None, schema: Schema
) -> tuple[tuple[str, ...], dict[str, Any], list[str]]:
    """The given fields, the identity that they choose, and the fields without it."""
    given = tuple(default_fields(schema) if fields is None else fields)
    if not given:
        raise InputError(f"no fields given: {schema}")
    wanted: dict[str, Any] = {}
    paths = []
    for field in given:
        own, rest = choice_of(field, schema)
        if any(wanted.get(key, value) != value for key, value in own.items()):
            raise InputError(
                f"fields {', '.join(given)} are of several messages: a state is of one, so choose "
                "one identity, and read the other with --with-topic (topic_b)"
            )
        wanted |= own
        paths += [rest] if rest or not own else []
    if not paths:
        paths = [*default_fields(schema)]
        given = (*given, *paths)
    return given, wanted, paths
