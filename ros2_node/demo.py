"""A robot that picks cubes, live: replays demonstrations at 100 Hz into the node, and listens.

Key states are printed as they come out; at the end, a picture of what was published. Run it as
`make ros-demo`, or where the workspace is sourced:

    python ros2_node/demo.py --seconds 20 --plot ros2.png
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import threading
import time
from pathlib import Path

os.environ.setdefault("ROS_AUTOMATIC_DISCOVERY_RANGE", "LOCALHOST")

import numpy as np
import rclpy
from ament_index_python.packages import get_package_prefix
from builtin_interfaces.msg import Time
from diagnostic_msgs.msg import DiagnosticArray
from infoatlas_msgs.msg import KeyState, MutualInformation
from lifecycle_msgs.msg import Transition
from lifecycle_msgs.srv import ChangeState
from rclpy.executors import ExternalShutdownException, SingleThreadedExecutor
from rclpy.qos import qos_profile_sensor_data
from sensor_msgs.msg import JointState
from std_msgs.msg import Header

from infoatlas_rt import extrema
from infoatlas_rt.bags import StreamCurve
from infoatlas_rt.plots import check_file, stream_figure

ROOT = Path(__file__).parents[1]
RATE = 100
LAG, WINDOW = 2, 40
PARAMETERS = {
    "topic": "/joint_states",
    "fields": ["position[:]"],
    "lag": LAG,
    "lag_seconds": LAG / RATE,
    "window": WINDOW,
    "slices": 20,
    "qos_overrides./joint_states.subscription.depth": 100,
}


def seconds(stamp: Time) -> float:
    return stamp.sec + 1e-9 * stamp.nanosec


class Robot:
    """Publishes joint states, and keeps what the node says of them."""

    def __init__(self) -> None:
        self.node = rclpy.create_node("robot")
        self.joints = self.node.create_publisher(
            JointState, "/joint_states", qos_profile_sensor_data
        )
        self.start = time.time_ns()
        self.readings: list[MutualInformation] = []
        self.states: list[KeyState] = []
        self.status = None
        self.node.create_subscription(
            MutualInformation, "/infoatlas/mutual_information", self.readings.append, 100
        )
        self.node.create_subscription(KeyState, "/infoatlas/key_states", self._tell, 100)
        self.node.create_subscription(DiagnosticArray, "/diagnostics", self._keep, 10)
        self._change = self.node.create_client(ChangeState, "/infoatlas/change_state")
        self._executor = SingleThreadedExecutor()
        self._executor.add_node(self.node)
        threading.Thread(target=self._spin, daemon=True).start()

    def _spin(self) -> None:
        try:
            self._executor.spin()
        except ExternalShutdownException:
            pass

    def _tell(self, state: KeyState) -> None:
        self.states.append(state)
        at = seconds(state.header.stamp) - self.start / 1e9
        told = seconds(state.detected_stamp) - seconds(state.header.stamp)
        print(
            f"{at:7.2f} s  {state.kind:8}  {state.value:.2f} nats, stands out by "
            f"{state.prominence:+.2f} ({state.z:.1f} s.e.), told {told:.2f} s later",
            flush=True,
        )

    def _keep(self, array: DiagnosticArray) -> None:
        self.status = array.status[0]

    def change(self, name: str) -> None:
        """Take the node through a transition."""
        number = getattr(Transition, f"TRANSITION_{name.upper()}")
        if not self._change.wait_for_service(20):
            raise RuntimeError("the node does not answer")
        done = threading.Event()
        future = self._change.call_async(ChangeState.Request(transition=Transition(id=number)))
        future.add_done_callback(lambda _: done.set())
        if not done.wait(30) or not future.result().success:
            raise RuntimeError(f"the node refused to {name}: see what it printed")

    def replay(self, states: np.ndarray, names: list[str]) -> None:
        """Publish states [n, 18], positions and velocities of nine joints, at RATE."""
        self.start = time.time_ns()
        for i, state in enumerate(states.tolist()):
            stamp = self.start + i * 10**9 // RATE
            pause = (stamp - time.time_ns()) / 1e9
            if pause > 0:
                time.sleep(pause)
            stamp = Time(sec=stamp // 10**9, nanosec=stamp % 10**9)
            header = Header(stamp=stamp, frame_id="base")
            self.joints.publish(
                JointState(header=header, name=names, position=state[:9], velocity=state[9:])
            )


def curve(robot: Robot, states: np.ndarray, names: list[str]) -> StreamCurve:
    """What was published, as the library's pictures want it."""
    start = robot.start / 1e9
    last = robot.readings[-1]
    stamps = np.array([seconds(m.header.stamp) for m in robot.readings])
    found = [
        extrema.KeyState(
            kind=s.kind,
            index=s.index,
            stamp=seconds(s.header.stamp),
            value=s.value,
            prominence=s.prominence,
            z=s.z,
            detected_at=s.detected_at,
        )
        for s in robot.states
    ]
    return StreamCurve(
        stamp=stamps,
        mi=np.array([m.value for m in robot.readings]),
        stderr=np.array([m.standard_error for m in robot.readings]),
        noise=np.array([m.noise for m in robot.readings]),
        local=np.array([m.local_value for m in robot.readings]),
        fill=np.array([m.fill for m in robot.readings]),
        saturated=np.array([m.saturated for m in robot.readings]),
        keystates=found,
        start=start,
        states=[(start + np.arange(len(states)) / RATE, states[:, :9])],
        names=[tuple(names)],
        how=f"{last.slices} slices of {last.k} dimensions",
    )


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--seconds", type=float, default=20.0, help="how long to replay (20)")
    parser.add_argument("--plot", default="ros2.png", help="picture (ros2.png)")
    arguments = parser.parse_args()
    check_file(arguments.plot)

    with np.load(ROOT / "examples" / "data" / "pickcube.npz") as file:
        states = file["states"][: int(arguments.seconds * RATE), :18].astype(float)
        names = [name.removesuffix(".position") for name in file["names"][:9].tolist()]
    program = Path(get_package_prefix("infoatlas_ros2"), "lib/infoatlas_ros2/infoatlas_node")
    given = [word for k, v in PARAMETERS.items() for word in ("-p", f"{k}:={v}")]
    node = subprocess.Popen([sys.executable, program, "--ros-args", *given])
    rclpy.init()
    try:
        robot = Robot()
        robot.change("configure")
        robot.change("activate")
        print(f"Joint states of picking cubes at {RATE} Hz, for {len(states) / RATE:.0f} s")
        robot.replay(states, names)
        time.sleep(2.0)  # until it has said what it has to say
        told = {pair.key: pair.value for pair in robot.status.values}
    finally:
        node.terminate()
        node.wait(10)
        rclpy.try_shutdown()
    if not robot.readings:
        print(f"no reading: {told['reason']}", file=sys.stderr)
        return 1
    for key in (
        "received",
        "readings",
        "dropped: newer came",
        "inference (ms)",
        "latency p50 (ms)",
    ):
        print(f"{key}: {told[key]}")
    print(f"latency p99 (ms): {told['latency p99 (ms)']} from stamp to publication")
    figure = stream_figure(
        curve(robot, states, names),
        title="A ROS 2 topic, live",
        topics=["/joint_states"],
        lag=LAG,
        window=WINDOW,
    )
    figure.savefig(arguments.plot)
    print(f"Picture: {arguments.plot}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
