"""Recorders of rosbag2: one bag for each execution, and a snapshot of each failure.

A recorder in snapshot mode keeps the last messages and writes them when it is asked to. The others
begin a new file. They are nodes of rosbag2, which have these services.
"""

import threading
from collections.abc import Callable, Sequence
from typing import Any

from rclpy.clock import Clock, ClockType

from infoatlas_ros2.worker import Published
from infoatlas_rt.errors import InputError
from infoatlas_rt.live.outcome import DONE, FAILED, STATES

AFTER = 1.0  # seconds of an execution that are recorded after its outcome


class Recorders:
    """The services of recorders, which are given by the names of their nodes."""

    def __init__(self, node: Any, names: Sequence[str], warn: Callable[[str], None]) -> None:
        try:
            from rosbag2_interfaces.srv import Snapshot, SplitBagfile
        except ImportError:
            raise InputError(
                f"recorders is {list(names)}, but no package rosbag2_interfaces with SplitBagfile "
                "is installed here: install ros-DISTRO-rosbag2, and source the setup file of ROS 2"
            ) from None
        self._node, self._warn, self._lock = node, warn, threading.Lock()
        self._clients = {
            name: (
                node.create_client(Snapshot, f"{name}/snapshot"),
                node.create_client(SplitBagfile, f"{name}/split_bagfile"),
            )
            for name in names
        }
        self._timers: dict[bool, Any] = {}  # of requests that wait: of snapshots, of splits
        self._stalled: set[str] = set()  # tools

    def take(self, batch: Published) -> None:
        """Ask for what the results of a state need; called by the worker's thread."""
        state = "" if batch.outcome is None else batch.outcome.state
        stalled = {tool for tool, own in batch.subtasks if own is not None and own.stalled}
        stalls = stalled - self._stalled
        self._stalled = self._stalled - {tool for tool, _ in batch.subtasks} | stalled
        if state == STATES[DONE]:
            self._wait(snapshot=False)
        if state == STATES[FAILED] or stalls:
            self._wait(snapshot=True)

    def reset(self) -> None:
        """End an execution: a new bag, and the snapshot that is due."""
        with self._lock:
            due = {False, *self._timers}
        for snapshot in sorted(due):
            self._ask(snapshot)
        self._stalled.clear()

    def close(self) -> None:
        """Ask for what is due, and remove the clients."""
        for snapshot in [*self._timers]:
            self._ask(snapshot)
        for client in (own for pair in self._clients.values() for own in pair):
            self._node.destroy_client(client)

    def _wait(self, snapshot: bool) -> None:
        with self._lock:
            if snapshot not in self._timers:
                steady = Clock(clock_type=ClockType.STEADY_TIME)  # also if a simulation pauses
                timer = self._node.create_timer(AFTER, lambda: self._ask(snapshot), clock=steady)
                self._timers[snapshot] = timer

    def _ask(self, snapshot: bool) -> None:
        with self._lock:
            timer = self._timers.pop(snapshot, None)
        if timer is not None:
            self._node.destroy_timer(timer)
        for name, (snapshots, splits) in self._clients.items():
            mode = snapshots.service_is_ready()  # only in snapshot mode
            if not mode and not splits.service_is_ready():
                self._warn(f"recorder {name}: it does not run, so an execution has no bag")
            elif mode == snapshot:
                client = snapshots if mode else splits
                future = client.call_async(client.srv_type.Request())
                future.add_done_callback(lambda own, name=name: self._check(name, own.result()))

    def _check(self, name: str, answer: Any) -> None:
        """Warn if a request failed; older versions of rosbag2 say nothing about a split."""
        failed = not getattr(answer, "success", True) or getattr(answer, "return_code", 0) != 0
        if failed:
            why = getattr(answer, "error_string", "") or "it does not record"
            self._warn(f"recorder {name} has written nothing: {why}")
