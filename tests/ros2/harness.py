"""Run the node in a separate process with real DDS: transitions, parameters, messages, faults."""

import os
import subprocess
import sys
import threading
import time
from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np
import rclpy
from ament_index_python.packages import get_package_prefix
from builtin_interfaces.msg import Time
from diagnostic_msgs.msg import DiagnosticArray
from geometry_msgs.msg import PoseStamped
from infoatlas_msgs.msg import Coupling, Extremum, KeyState, MutualInformation, Outcome, Subtask
from lifecycle_msgs.msg import Transition
from lifecycle_msgs.srv import ChangeState, GetState
from rcl_interfaces.srv import SetParametersAtomically
from rclpy.executors import ExternalShutdownException, SingleThreadedExecutor
from rclpy.parameter import Parameter
from rclpy.qos import QoSProfile
from sensor_msgs.msg import JointState
from std_msgs.msg import Header
from std_srvs.srv import Trigger

from infoatlas_ros2.parameters import Settings
from infoatlas_rt import Estimator
from infoatlas_rt.messages.fields import Extractor
from infoatlas_rt.messages.schema import Schema
from player import Player

TOPIC = "/arm/joint_states"
BASE = "/base/twist"
LIVE = "/live/joint_states"
CAMERA = "/front/image_raw"
RELIABLE = QoSProfile(depth=1000)
LIMIT = 60.0  # seconds to wait for what must happen; a busy machine needs many
START, STEP = 1_700_000_000 * 10**9, 10_000_000  # usual stamps, nanoseconds
# Small and fast settings; `prepare` resets parameters to these, or to their defaults. The detector
# needs an estimate per second of stamps, which even a busy machine achieves.
SMALL: dict[str, Any] = {
    name: list(value) if isinstance(value, tuple) else value
    for name, value in vars(Settings()).items()
} | {
    "topic": TOPIC, "fields": ["position[:]"], "lag": 2, "lag_seconds": 0.02, "window": 48,
    "k": 2, "slices": 4, "threads": 1, "extremum_delay": 20.0, "use_sim_time": False,
    "diagnostics_period": 0.2,
}  # fmt: skip


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
        return self.process.wait(LIMIT)


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
        self.outcomes: list[Outcome] = []
        self.statuses: list[Any] = []
        self._news = threading.Condition()
        node, base = self.node, f"/{name}"
        at, topic = self.estimates, f"{base}/mutual_information"
        node.create_subscription(
            MutualInformation, topic, lambda m: self._add(at, (time.time(), m)), RELIABLE
        )
        for kind, topic, where in (
            (Extremum, "extrema", self.extrema),
            (KeyState, "key_states", self.keystates),
            (Coupling, "couplings", self.couplings),
            (Subtask, "subtask", self.subtasks),
            (Outcome, "outcome", self.outcomes),
        ):
            node.create_subscription(kind, f"{base}/{topic}", partial(self._add, where), RELIABLE)
        node.create_subscription(DiagnosticArray, "/diagnostics", self._diagnose, 10)
        self._change = node.create_client(ChangeState, f"{base}/change_state")
        self._get = node.create_client(GetState, f"{base}/get_state")
        self._set = node.create_client(SetParametersAtomically, f"{base}/set_parameters_atomically")
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
        self._thread.join(LIMIT)
        self.node.destroy_node()

    def wait(self, condition: Callable[[], Any]) -> Any:
        """Wait until a condition on messages is true; returns its value."""
        with self._news:
            found = self._news.wait_for(condition, LIMIT)
        assert found, f"not within {LIMIT} s; last said: {self.statuses[-1:]}"
        return found

    def read(self, stamp: float) -> None:
        """Wait for the estimate at a stamp, the newest."""
        self.wait(lambda: self._newest_is(stamp))

    def _newest_is(self, stamp: float) -> bool:
        return bool(self.estimates) and seconds(self.estimates[-1][1].header.stamp) == stamp

    def play(self, publisher: Any, messages: list[Any], rate: float = 400.0) -> None:
        """Publish messages, and wait for the estimate at the last of them."""
        feed(publisher, messages, rate)
        self.read(seconds(messages[-1].header.stamp))

    def agree(self, expected: dict[float, Any]) -> None:
        """Check that estimates equal the library's at their stamps, bit for bit."""
        assert self.estimates
        for _, m in self.estimates:
            found = expected[seconds(m.header.stamp)]
            assert (m.value, m.standard_error) == (found.estimate.mi, found.estimate.stderr)
            assert m.fill == found.fill

    def _ask(self, client: Any, request: Any) -> Any:
        """The response to a request, or None.

        A service that has not yet discovered the client's reader drops its response. This happens
        just after the start of a node.
        """
        assert client.wait_for_service(LIMIT), f"no service {client.srv_name}"
        done = threading.Event()
        future = client.call_async(request)
        future.add_done_callback(lambda _: done.set())
        if done.wait(LIMIT / 3):
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
            self.outcomes,
        ):  # fmt: skip
            received.clear()
        self.statuses.clear()

    def up(self, **values: Any) -> None:
        """Bring the node to active, with these parameters or SMALL."""
        self.prepare(**values)
        assert self.transition("configure"), self.diagnosis(lambda s: "configure" in s.message)
        assert self.transition("activate")

    def diagnosis(
        self, condition: Callable[[Any], Any] = lambda s: True, *, past: bool = False
    ) -> Any:
        """The next status for which a condition is true; with `past` also one since `prepare`."""
        start = 0 if past else len(self.statuses)
        return self.wait(lambda: next((s for s in self.statuses[start:] if condition(s)), None))

    def publisher(self, kind: Any = JointState, topic: str = TOPIC, qos: Any = RELIABLE) -> Any:
        """A publisher that has discovered the subscription of the node."""
        publisher = self.node.create_publisher(kind, topic, qos)
        until(publisher.get_subscription_count)
        return publisher


def until(condition: Callable[[], Any]) -> None:
    """Wait until a condition is true that has no messages of its own."""
    end = time.monotonic() + LIMIT
    while not condition():
        assert time.monotonic() < end, f"not within {LIMIT} s"
        time.sleep(0.002)


def values(status: Any) -> defaultdict[str, str]:
    """Key-value pairs of a status; "" for counts that exist only while the node is active."""
    return defaultdict(str, {pair.key: pair.value for pair in status.values})


def seconds(time: Any) -> float:
    return time.sec + 1e-9 * time.nanosec


def nanoseconds(time: Any) -> int:
    return time.sec * 10**9 + time.nanosec


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
    states: np.ndarray, start: int = START, step: int = STEP, names: Sequence[str] = ()
) -> list[JointState]:
    """Messages of states [n, d], with the names of the joints; stamps in nanoseconds."""
    return [
        JointState(
            header=Header(stamp=as_time(start + i * step), frame_id="base_0"),
            name=list(names),
            position=state.tolist(),
        )
        for i, state in enumerate(states)
    ]


def poses(
    positions: np.ndarray, start: int = START, step: int = STEP, frame: str = "world"
) -> list[PoseStamped]:
    """Messages of positions [n, 3]; stamps in nanoseconds."""
    messages = []
    for i, (x, y, z) in enumerate(positions.tolist()):
        message = PoseStamped(header=Header(stamp=as_time(start + i * step), frame_id=frame))
        message.pose.position.x, message.pose.position.y, message.pose.position.z = x, y, z
        messages.append(message)
    return messages


def in_turn(*series: list[Any]) -> list[Any]:
    """Messages of several series of the same length, one of each in turn."""
    return list(chain.from_iterable(zip(*series, strict=True)))


def offline(
    messages: list[Any],
    fields: Sequence[str] = ("position[:]",),
    joints: Sequence[str] = (),
    detector: Any = None,
    **options: Any,
) -> tuple[dict[float, Any], list[Any], Any]:
    """Results of the library with SMALL, one message at a time.

    Returns
    -------
    dict
        Stamp -> estimate.
    list of infoatlas_rt.Extremum
    infoatlas_rt.messages.stream.Stream
    """
    options = {"lag": 2, "lag_seconds": 0.02, "window": 48} | options
    extractor = Extractor(fields, Schema.of_class(type(messages[0])), joints)
    estimator = Estimator(k=2, slices=4, threads=1)
    player = Player(estimator, extractor, detector=detector, **options)
    outputs = [output for message in messages for output in player.push(message)]
    extrema = [extremum for output in outputs for extremum in output.extrema]
    return {o.estimate.stamp: o.estimate for o in outputs}, extrema, player.stream


def feed(publisher: Any, messages: Iterable[Any], rate: float = 400.0) -> None:
    """Publish messages at a rate."""
    begin = time.monotonic()
    for i, message in enumerate(messages):
        pause = begin + i / rate - time.monotonic()
        if pause > 0:
            time.sleep(pause)
        publisher.publish(message)
