"""Run the node in a separate process with real DDS: transitions, parameters, messages, faults."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import rclpy
from ament_index_python.packages import get_package_prefix
from builtin_interfaces.msg import Time
from diagnostic_msgs.msg import DiagnosticArray
from infoatlas_msgs.msg import Coupling, Extremum, KeyState, MutualInformation, Subtask
from lifecycle_msgs.msg import Transition
from lifecycle_msgs.srv import ChangeState, GetState
from rcl_interfaces.srv import DescribeParameters, SetParametersAtomically
from rclpy.executors import ExternalShutdownException, SingleThreadedExecutor
from rclpy.parameter import Parameter
from rclpy.qos import QoSProfile
from sensor_msgs.msg import JointState
from std_msgs.msg import Header
from std_srvs.srv import Trigger

from infoatlas_ros2.parameters import Settings

TOPIC = "/arm/joint_states"
BASE = "/base/twist"
LIVE = "/live/joint_states"
RELIABLE = QoSProfile(depth=1000)
# Small and fast settings; `prepare` resets parameters to these, or to their defaults.
SMALL: dict[str, Any] = {
    name: list(value) if isinstance(value, tuple) else value
    for name, value in vars(Settings()).items()
} | {
    "topic": TOPIC,
    "fields": ["position[:]"],
    "lag": 2,
    "lag_seconds": 0.02,
    "window": 48,
    "k": 2,
    "slices": 4,
    "threads": 1,
    "use_sim_time": False,
    "diagnostics_period": 0.2,
}


class NodeProcess:
    """The node as installed by colcon; its output is in `log`."""

    def __init__(self, log: Path, *arguments: str) -> None:
        program = Path(get_package_prefix("infoatlas_ros2"), "lib/infoatlas_ros2/infoatlas_node")
        self.log = log
        with log.open("w") as file:
            self.process = subprocess.Popen(
                [sys.executable, program, *arguments],
                stdout=file,
                stderr=subprocess.STDOUT,
                # Types of fields are checked, as in older distributions.
                env=os.environ | {"PYTHONUNBUFFERED": "1", "ROS_PYTHON_CHECK_FIELDS": "1"},
            )

    def alive(self) -> bool:
        return self.process.poll() is None

    def stop(self) -> int:
        """Stop it like Ctrl-C; returns its exit code."""
        self.process.terminate()
        return self.process.wait(10)


class Bench:
    """A node in the process of the test, which sends and receives for the tests."""

    def __init__(self, name: str = "infoatlas") -> None:
        self.node = rclpy.create_node("bench")
        self.name = name
        self.estimates: list[tuple[float, MutualInformation]] = []  # arrival, message
        self.extrema: list[Extremum] = []
        self.keystates: list[KeyState] = []
        self.couplings: list[Coupling] = []
        self.subtasks: list[Subtask] = []
        self.statuses: list[Any] = []
        self._news = threading.Condition()
        node, base = self.node, f"/{name}"
        node.create_subscription(
            MutualInformation,
            f"{base}/mutual_information",
            lambda m: self._add(self.estimates, (time.time(), m)),
            RELIABLE,
        )
        for kind, topic, where in (
            (Extremum, "extrema", self.extrema),
            (KeyState, "key_states", self.keystates),
            (Coupling, "couplings", self.couplings),
            (Subtask, "subtask", self.subtasks),
        ):
            node.create_subscription(kind, f"{base}/{topic}", partial(self._add, where), RELIABLE)
        node.create_subscription(DiagnosticArray, "/diagnostics", self._diagnose, 10)
        self._change = node.create_client(ChangeState, f"{base}/change_state")
        self._get = node.create_client(GetState, f"{base}/get_state")
        self._set = node.create_client(SetParametersAtomically, f"{base}/set_parameters_atomically")
        self._describe = node.create_client(DescribeParameters, f"{base}/describe_parameters")
        self._reset = node.create_client(Trigger, f"{base}/reset")
        self._executor = SingleThreadedExecutor()
        self._executor.add_node(node)
        self._thread = threading.Thread(target=self._spin, daemon=True)
        self._thread.start()

    def _spin(self) -> None:
        try:
            self._executor.spin()
        except ExternalShutdownException:
            pass

    def _add(self, where: list[Any], what: Any) -> None:
        with self._news:
            where.append(what)
            self._news.notify_all()

    def _diagnose(self, array: DiagnosticArray) -> None:
        for status in array.status:
            if status.name.startswith(f"{self.name}:"):
                self._add(self.statuses, status)

    def close(self) -> None:
        self._executor.shutdown()
        self._thread.join(5)
        self.node.destroy_node()

    def wait(self, condition: Callable[[], Any], seconds: float = 15.0) -> Any:
        """Wait until a condition on messages is true; returns its value."""
        with self._news:
            found = self._news.wait_for(condition, seconds)
        assert found, f"not within {seconds} s; last said: {self.statuses[-1:]}"
        return found

    def read(self, message: Any, seconds: float = 15.0) -> None:
        """Wait until the node has read a message."""
        self.wait(
            lambda: self.estimates and self.estimates[-1][1].header == message.header, seconds
        )

    def _ask(self, client: Any, request: Any) -> Any:
        """The response to a request, or None.

        A service that has not yet discovered the client's reader drops its response. This happens
        just after the start of a node.
        """
        assert client.wait_for_service(20), f"no service {client.srv_name}"
        done = threading.Event()
        future = client.call_async(request)
        future.add_done_callback(lambda _: done.set())
        if done.wait(15):
            return future.result()
        client.remove_pending_request(future)
        return None

    def _call(self, client: Any, request: Any) -> Any:
        """The response to a request that may be repeated."""
        for _ in range(3):
            answer = self._ask(client, request)
            if answer is not None:
                return answer
        raise AssertionError(f"no answer from {client.srv_name}")

    def state(self) -> str:
        return self._call(self._get, GetState.Request()).current_state.label

    def transition(self, name: str) -> bool:
        number = getattr(Transition, f"TRANSITION_{name.upper()}")
        request = ChangeState.Request(transition=Transition(id=number))
        before = self.state()
        for _ in range(3):
            answer = self._ask(self._change, request)
            if answer is not None:
                return answer.success
            if self.state() != before:
                return True
        raise AssertionError(f"no answer to {name}")

    def reset(self) -> Any:
        return self._call(self._reset, Trigger.Request())

    def set(self, **values: Any) -> str:
        """Set parameters, all or none; returns the reason of a refusal, or ""."""
        messages = [
            Parameter(name, value=value).to_parameter_msg() for name, value in values.items()
        ]
        result = self._call(self._set, SetParametersAtomically.Request(parameters=messages)).result
        return "" if result.successful else result.reason

    def describe(self, names: Iterable[str]) -> list[Any]:
        return self._call(self._describe, DescribeParameters.Request(names=list(names))).descriptors

    def down(self) -> None:
        """Bring the node to unconfigured from any state."""
        if self.state() == "active":
            assert self.transition("deactivate")
        if self.state() == "inactive":
            assert self.transition("cleanup")

    def prepare(self, **values: Any) -> None:
        """Bring the node to unconfigured, with these parameters or SMALL; clears messages."""
        self.down()
        assert self.set(**(SMALL | values)) == ""
        for received in (
            self.estimates, self.extrema, self.keystates, self.couplings, self.subtasks,
        ):  # fmt: skip
            received.clear()
        self.statuses.clear()

    def up(self, **values: Any) -> None:
        """Bring the node to active, with these parameters or SMALL."""
        self.prepare(**values)
        assert self.transition("configure"), self.diagnosis(lambda s: "configure" in s.message)
        assert self.transition("activate")

    def diagnosis(
        self,
        condition: Callable[[Any], Any] = lambda s: True,
        *,
        seconds: float = 15,
        past: bool = False,
    ) -> Any:
        """The next status for which a condition is true; with `past` also one since `prepare`."""
        start = 0 if past else len(self.statuses)
        return self.wait(
            lambda: next((s for s in self.statuses[start:] if condition(s)), None), seconds
        )

    def publisher(self, kind: Any = JointState, topic: str = TOPIC, qos: Any = RELIABLE) -> Any:
        """A publisher that the node has discovered."""
        publisher = self.node.create_publisher(kind, topic, qos)
        end = time.monotonic() + 10
        while not publisher.get_subscription_count():
            assert time.monotonic() < end, f"nobody subscribes to {topic}"
            time.sleep(0.01)
        return publisher


def values(status: Any) -> dict[str, str]:
    """Key-value pairs of a status."""
    return {pair.key: pair.value for pair in status.values}


def seconds(time: Any) -> float:
    return time.sec + 1e-9 * time.nanosec


def as_time(nanoseconds: int) -> Time:
    return Time(sec=nanoseconds // 10**9, nanosec=nanoseconds % 10**9)


def walk(n: int, dim: int = 4, seed: int = 0) -> np.ndarray:
    """States [n, d] of a moving robot: autoregressive and coupled."""
    rng = np.random.default_rng(seed)
    states = np.zeros((n, dim))
    for t in range(1, n):
        states[t] = 0.8 * states[t - 1] + 0.3 * states[t - 1, ::-1] ** 2
        states[t] = np.tanh(states[t]) + 0.3 * rng.standard_normal(dim)
    return states


def joint_states(
    states: np.ndarray, start: int = 1_700_000_000 * 10**9, step: int = 10_000_000
) -> list[JointState]:
    """Messages of states [n, d]; stamps in nanoseconds."""
    return [
        JointState(
            header=Header(stamp=as_time(start + i * step), frame_id="base_0"),
            position=state.tolist(),
        )
        for i, state in enumerate(states)
    ]


def feed(publisher: Any, messages: Iterable[Any], rate: float = 400.0) -> None:
    """Publish messages at a rate."""
    begin = time.monotonic()
    for i, message in enumerate(messages):
        pause = begin + i / rate - time.monotonic()
        if pause > 0:
            time.sleep(pause)
        publisher.publish(message)


def feed_live(publisher: Any, states: np.ndarray, rate: int) -> list[JointState]:
    """Publish states at a rate, stamped with the times at which they are due."""
    lead = 500_000_000  # time to create the messages
    start = time.time_ns() + lead
    messages = joint_states(states, start, 10**9 // rate)
    time.sleep(max(0, start - time.time_ns()) / 1e9)
    feed(publisher, messages, rate)
    return messages
