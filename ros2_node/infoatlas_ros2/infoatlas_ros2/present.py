"""The current settings of the node, cached for use at each message."""

import math
import threading
import time
from typing import Any

from infoatlas_ros2.parameters import Settings, read

SETTLED = 1.0  # seconds within which ROS makes an accepted change


class Present:
    """The settings of a node with declared parameters.

    They are read only after a change, because that lasts 70 us: at each call within `SETTLED` after
    a change was accepted, and by `refresh`. (ROS calls back before it makes a change. Humble has no
    callback after it.)
    """

    def __init__(self, node: Any) -> None:
        self._node, self._settings = node, read(node)
        self._until = -math.inf  # time.monotonic()
        self._reading = threading.Lock()  # an older value must not replace a newer one

    def __call__(self) -> Settings:
        """The current settings; the same object as before unless a value has changed."""
        return self.refresh() if time.monotonic() < self._until else self._settings

    def accepted(self) -> None:
        """Note that ROS is about to make a change."""
        self._until = time.monotonic() + SETTLED

    def refresh(self) -> Settings:
        """Read all values."""
        with self._reading:
            settings = read(self._node)
            if settings != self._settings:
                self._settings = settings
            return self._settings
