"""Message types by name, extractors of states, and headers of messages."""

from collections.abc import Sequence
from copy import copy
from importlib import import_module
from typing import Any

from rclpy.qos import QoSCompatibility, qos_check_compatible, qos_profile_sensor_data
from rclpy.qos_overriding_options import QoSOverridingOptions
from rclpy.time import Time
from std_msgs.msg import Header

from infoatlas_ros2.message_thread import UNEXECUTED
from infoatlas_rt.errors import InputError
from infoatlas_rt.messages.fields import Extractor
from infoatlas_rt.messages.schema import Schema


def message_class(name: str) -> Any:
    """The class of a message type such as sensor_msgs/msg/JointState.

    InputError if this is not the name of a message type, or the type is not installed.
    """
    package, _, kind = name.replace("/msg/", "/").partition("/")
    if not package or not kind or "/" in kind:
        raise InputError(f"message_type is {name!r}: write it as sensor_msgs/msg/JointState")
    try:
        return getattr(import_module(f"{package}.msg"), kind)
    except ImportError as error:
        raise InputError(
            f"message_type is {name!r}, but package {package} is not installed here ({error}): "
            "source the workspace of this package"
        ) from error
    except AttributeError:
        raise InputError(f"message_type is {name!r}, but {package} has no message {kind}") from None


def extractor(
    kind: Any, fields: Sequence[str], joints: Sequence[str] = (), stamp_field: str = ""
) -> Extractor:
    """An extractor of states from messages of a class; it checks the fields once, in advance."""
    chosen = [field for field in fields if field] or None
    named = [joint for joint in joints if joint]
    return Extractor(chosen, Schema.of_class(kind), named, stamp_field)


def subscribe(node: Any, kind: Any, topic: str, raw: bool = False) -> Any:
    """A subscription whose messages a `MessageThread` receives, as bytes if `raw`."""
    return node.create_subscription(
        kind,
        topic,
        lambda message: None,
        copy(qos_profile_sensor_data),  # a copy: rclpy writes overrides into it
        qos_overriding_options=QoSOverridingOptions.with_default_policies(),
        callback_group=UNEXECUTED,
        raw=raw,
    )


def misfit(subscription: Any, publishers: list[Any]) -> str:
    """Why publishers do not match a subscription (type or quality of service); "" if they do."""
    wanted = (
        f"{subscription.msg_type.__module__.split('.')[0]}/msg/{subscription.msg_type.__name__}"
    )
    others = {info.topic_type for info in publishers} - {wanted}
    if others:
        return f"publishers send {', '.join(sorted(others))}, not {wanted}"
    for info in publishers:
        fits, why = qos_check_compatible(info.qos_profile, subscription.qos_profile)
        if fits == QoSCompatibility.ERROR:
            why = why.replace("ERROR: ", " ").strip("; ").lower()
            return f"quality of service of a publisher does not match this subscription: {why}"
    return ""


def header(message: Any, now: Any, stamp: float | None = None) -> Header:
    """The header of a message; without a header or stamp, its stamp is the time of arrival.

    `stamp`, in seconds, replaces the stamp of the message.
    """
    if stamp is not None:
        now = Time(nanoseconds=round(stamp * 1e9))
        frame = getattr(getattr(message, "header", None), "frame_id", "")
        return Header(stamp=now.to_msg(), frame_id=frame)
    found = getattr(message, "header", None)
    if isinstance(found, Header):
        if found.stamp.sec or found.stamp.nanosec:
            return found
        return Header(stamp=now.to_msg(), frame_id=found.frame_id)
    return Header(stamp=now.to_msg())
