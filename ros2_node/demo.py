"""Detect when a robot carries a cube, by the couplings of the node, in replayed demonstrations.

The poses of the tool and of the cube are published on two topics at the 20 Hz of the recording.
Each demonstration is played forwards and then backwards, so that the arm puts the cube back,
releases it and retreats. The node publishes when the two begin to move together ("coupled") and
when they stop ("decoupled"). A flag of the simulator shows when the cube was held. Run it by
`make ros-demo`, or in a sourced workspace:

    python ros2_node/demo.py --demonstrations 4 --plot ros2.png
"""

import argparse
import os
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Any

os.environ.setdefault("ROS_AUTOMATIC_DISCOVERY_RANGE", "LOCALHOST")

import numpy as np
import rclpy
from ament_index_python.packages import get_package_prefix
from builtin_interfaces.msg import Time
from geometry_msgs.msg import PoseStamped
from infoatlas_msgs.msg import Coupling, MutualInformation
from lifecycle_msgs.msg import Transition
from lifecycle_msgs.srv import ChangeState
from matplotlib.figure import Figure
from rclpy.executors import ExternalShutdownException, SingleThreadedExecutor
from rclpy.qos import qos_profile_sensor_data
from std_msgs.msg import Header
from std_srvs.srv import Trigger

from infoatlas_rt.cli.console import check_target
from infoatlas_rt.cli.main import exit_code
from infoatlas_rt.errors import OutputError
from infoatlas_rt.estimation.result import FLAGS
from infoatlas_rt.streams.events import Event
from infoatlas_tools.bags.bag_curve import StreamCurve, StreamTopic
from infoatlas_tools.plots.drawing import INK, QUIET, check_format
from infoatlas_tools.plots.stream_plot import stream_figure

ROOT = Path(__file__).parents[1]
RATE = 20
WINDOW = 32
TOPICS = ("/tool_pose", "/cube_pose")
COLUMNS = (slice(18, 25), slice(28, 35))
TYPE = "geometry_msgs/msg/PoseStamped"
PARAMETERS = {
    "topic": TOPICS[0],
    "message_type": TYPE,
    "fields": ["pose.position"],
    "topic_b": TOPICS[1],
    "message_type_b": TYPE,
    "fields_b": ["pose.position"],
    "lag": 0,
    "window": WINDOW,
    "coupling": True,
    **{f"qos_overrides.{topic}.subscription.depth": 100 for topic in TOPICS},
}


def seconds(stamp: Time) -> float:
    return stamp.sec + 1e-9 * stamp.nanosec


class Robot:
    """Publishes two poses and stores the messages of the node."""

    def __init__(self) -> None:
        self.node = rclpy.create_node("robot")
        self.publishers = [
            self.node.create_publisher(PoseStamped, topic, qos_profile_sensor_data)
            for topic in TOPICS
        ]
        self.estimates: list[MutualInformation] = []
        self.events: list[tuple[float, Coupling]] = []  # arrival, message
        self.node.create_subscription(
            MutualInformation, "/infoatlas/motion_information", self.estimates.append, 100
        )
        self.node.create_subscription(Coupling, "/infoatlas/couplings", self._keep, 100)
        self._change = self.node.create_client(ChangeState, "/infoatlas/change_state")
        self._reset = self.node.create_client(Trigger, "/infoatlas/reset")
        self._executor = SingleThreadedExecutor()
        self._executor.add_node(self.node)
        threading.Thread(target=self._spin, daemon=True).start()

    def _spin(self) -> None:
        try:
            self._executor.spin()
        except ExternalShutdownException:
            pass

    def _keep(self, event: Coupling) -> None:
        self.events.append((time.time(), event))

    def _call(self, client: Any, request: Any) -> bool:
        if not client.wait_for_service(20):
            raise RuntimeError("the node does not answer")
        done = threading.Event()
        future = client.call_async(request)
        future.add_done_callback(lambda _: done.set())
        return done.wait(30) and future.result().success

    def change(self, name: str) -> None:
        """Request a transition of the node."""
        number = getattr(Transition, f"TRANSITION_{name.upper()}")
        if not self._call(self._change, ChangeState.Request(transition=Transition(id=number))):
            raise RuntimeError(f"the node refused to {name}: see what it printed")

    def reset(self) -> None:
        """Begin a new episode."""
        if not self._call(self._reset, Trigger.Request()):
            raise RuntimeError("the node refused to reset: see what it printed")

    def replay(self, states: np.ndarray) -> np.ndarray:
        """Publish the poses in states [n, 41] at RATE; returns their stamps, seconds [n]."""
        start = time.time_ns()
        stamps = start + np.arange(len(states)) * (10**9 // RATE)
        for stamp, state in zip(stamps.tolist(), states, strict=True):
            time.sleep(max(stamp - time.time_ns(), 0) / 1e9)
            header = Header(stamp=Time(sec=stamp // 10**9, nanosec=stamp % 10**9), frame_id="world")
            for publisher, columns in zip(self.publishers, COLUMNS, strict=True):
                message = PoseStamped(header=header)
                place, turn = message.pose.position, message.pose.orientation
                place.x, place.y, place.z, turn.w, turn.x, turn.y, turn.z = state[columns].tolist()
                publisher.publish(message)
        return stamps / 1e9


def report(
    number: int, stamps: np.ndarray, held: np.ndarray, events: list[Coupling]
) -> dict[str, int]:
    """Print the flags of the simulator and the events of the node; returns delays in steps."""
    print(f"Demonstration {number}, and back again: {len(stamps) / RATE:.1f} s")
    delays = {}
    flags = np.diff(np.r_[False, held, False].astype(int))
    for kind, action, change in (
        (Coupling.COUPLED, "taken", 1),
        (Coupling.DECOUPLED, "let go", -1),
    ):
        true = int(np.flatnonzero(flags == change)[0])
        line = f"  the simulator: cube {action} at step {true} ({true / RATE:.2f} s); the node: "
        found = [event for event in events if event.kind == kind]
        if not found:
            print(line + "nothing")
            continue
        detected = int(np.abs(stamps - seconds(found[0].detected_stamp)).argmin())
        begun = int(np.abs(stamps - seconds(found[0].header.stamp)).argmin())
        delays[action] = detected - true
        print(
            f"{line}{kind}, reported at step {detected}, {detected - true} steps "
            f"({1000 * (detected - true) // RATE} ms) after it, dated to step {begun}; "
            f"{found[0].value:.2f} nats"
        )
        for event in found[1:]:
            late = int(np.abs(stamps - seconds(event.detected_stamp)).argmin())
            print(f"  the node, wrongly: {kind} again at step {late}")
    return delays


def picture(robot: Robot, played: list[tuple[np.ndarray, np.ndarray, np.ndarray]]) -> Figure:
    """The published estimates above the states, with bars where the simulator's flag is set."""
    start = played[0][0][0]
    stamps = np.concatenate([stamps for stamps, _, _ in played])
    states = np.concatenate([states for _, states, _ in played])
    settings = {"lag": 0, "lag_seconds": None, "history": 1, "window": WINDOW}
    estimates = list(robot.estimates)  # more may arrive
    curve = StreamCurve(
        data="",
        topics=[StreamTopic(topic, TYPE, ["pose.position"], "xyz") for topic in TOPICS],
        settings=settings | {"z": 3.5, "delay": 2.0, "reset_after": 1.0},
        stamp=np.array([seconds(m.header.stamp) for m in estimates]),
        mi=np.array([m.value for m in estimates]),
        stderr=np.array([m.standard_error for m in estimates]),
        noise=np.array([m.noise for m in estimates]),
        local=np.array([m.local_value for m in estimates]),
        fill=np.array([m.fill for m in estimates]),
        **{name: np.array([getattr(m, name) for m in estimates]) for name in FLAGS},
        at_least=np.full(len(estimates), np.nan),
        extrema=[],
        start=start,
        states=[(stamps, states[:, columns][:, :3]) for columns in COLUMNS],
        how="",
        events=[
            Event(
                kind=event.kind,
                step=event.step,
                stamp=seconds(event.detected_stamp),
                value=event.value,
                stderr=event.standard_error,
                z=event.z,
                detected_step=event.detected_step,
                detected_stamp=seconds(event.detected_stamp),
            )
            for _, event in robot.events
        ],
    )
    figure = stream_figure(curve, title="")
    figure.texts[0].set_text("Live: when do the tool and the cube move together?")
    figure.texts[1].set_text(
        f"mutual information of their motions over {WINDOW} steps (band: ± noise), from a ROS 2 "
        "node · green: as it reported"
    )
    for stamps, _, held in played:
        first, last = stamps[held][[0, -1]] - start
        figure.axes[0].axvspan(first, last, ymax=0.03, color=INK, linewidth=0)
    figure.text(
        0.975,
        1 - 0.73 / figure.get_figheight(),
        "black: the cube is held (the simulator's flag)",
        color=QUIET,
        fontsize=9,
        ha="right",
    )
    return figure


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--demonstrations", type=int, default=4, help="how many to replay (4)")
    parser.add_argument("--plot", default="ros2.png", help="picture (ros2.png)")
    arguments = parser.parse_args()
    check_format(arguments.plot)
    check_target(Path(arguments.plot))

    with np.load(ROOT / "examples" / "data" / "pickcube.npz") as file:
        ends = np.cumsum(file["lengths"])[:-1]
        states = np.split(file["states"].astype(float), ends)[: arguments.demonstrations]
        flags = np.split(file["is_grasped"], ends)
    program = Path(get_package_prefix("infoatlas_ros2"), "lib/infoatlas_ros2/infoatlas_node")
    given = [word for k, v in PARAMETERS.items() for word in ("-p", f"{k}:={v}")]
    node = subprocess.Popen([sys.executable, program, "--ros-args", *given])
    rclpy.init()
    played, late = [], []
    delays: dict[str, list[int]] = {"taken": [], "let go": []}
    try:
        robot = Robot()
        robot.change("configure")
        robot.change("activate")
        print(f"{' and '.join(TOPICS)} at {RATE} Hz; the node has seen no demonstration")
        for number, (there, flag) in enumerate(zip(states, flags, strict=False), start=1):
            robot.reset()
            before = len(robot.events)
            path, held = np.r_[there, there[-2::-1]], np.r_[flag, flag[-2::-1]]
            stamps = robot.replay(path)
            time.sleep(0.5)  # until its last messages have arrived
            played.append((stamps, path, held))
            new = robot.events[before:]
            found = report(number, stamps, held, [event for _, event in new])
            for action, delay in found.items():
                delays[action].append(delay)
            late += [arrival - seconds(event.detected_stamp) for arrival, event in new]
    finally:
        node.terminate()
        node.wait(10)
        rclpy.try_shutdown()
    if not robot.estimates:
        raise OutputError("no estimate came: see what the node printed")
    for action, steps in delays.items():
        print(f"cube {action}: {len(steps)} of {len(played)} moments found")
        if steps:
            median, least, most = (1000 * f(steps) / RATE for f in (np.median, min, max))
            print(
                f"  {median:.0f} ms after the simulator's flag (median), {least:.0f} to "
                f"{most:.0f} ms"
            )
    if late:
        arrival = 1000 * np.median(late)
        print(f"from the state's stamp to the event's arrival: {arrival:.0f} ms (median)")
    picture(robot, played).savefig(arguments.plot)
    print(f"Picture: {arguments.plot}")


if __name__ == "__main__":
    sys.exit(exit_code(main, "demo"))
