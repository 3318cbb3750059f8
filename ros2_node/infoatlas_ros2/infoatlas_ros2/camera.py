"""The camera of `image_topic`: by how much its pictures follow the states, for /diagnostics."""

import struct
import time
from collections import deque
from typing import Any

from rclpy.serialization import deserialize_message
from sensor_msgs.msg import CompressedImage, Image

from infoatlas_ros2 import topics
from infoatlas_ros2.message_thread import MessageThread
from infoatlas_rt.messages.camera_lag import PERIOD, SPAN, camera_lag, due, small_grey

SHARE = 0.01  # of a processor, at most, that computes offsets


class Camera:
    """Subscribes to the images of a camera; a thread of its own decodes some of them."""

    def __init__(self, node: Any, topic: str, fail: Any) -> None:
        self._node, self._topic, self._again = node, topic, 0.0
        self._states, self._pictures = (deque[Any](maxlen=round(SPAN / PERIOD)) for _ in range(2))
        kind = CompressedImage if topic.endswith("/compressed") else Image
        self._input = topics.subscribe(node, kind, topic, raw=True)
        self.thread = MessageThread(node, [self._input], self._on_image, fail)

    def add(self, sample: Any) -> None:
        """Add a state, if it is due and has a stamp of its own."""
        if not (sample.fault or sample.arrived) and due(self._states, sample.stamp):
            self._states.append((sample.stamp, sample.state))

    def report(self) -> tuple[str, bool]:
        """The offset as text, and whether it is more than `PERIOD` from 0."""
        now, begin = time.monotonic(), time.thread_time()
        if now >= self._again:
            self._offset = camera_lag(self._states, self._pictures)
            self._again = now + (time.thread_time() - begin) / SHARE
        infos = self._node.get_publishers_info_by_topic(self._topic)
        if why := topics.misfit(self._input, infos) or self._offset.why:
            return f"not known, because {why}", False
        late, low, high = (PERIOD * v for v in (self._offset.steps, *self._offset.interval))
        return f"{late:.2f} s ({low:.2f} to {high:.2f})", self._offset.apart

    def _on_image(self, _: int, content: bytes, info: Any) -> None:
        """Decode the image in a serialized message, which begins with its stamp, if it is due."""
        stamp = struct.unpack_from("<iI" if content[1] & 1 else ">iI", content, 4)
        seconds = stamp[0] + stamp[1] * 1e-9
        if seconds and due(self._pictures, seconds):
            message = deserialize_message(content, self._input.msg_type)
            self._pictures.append((seconds, small_grey(message)))
