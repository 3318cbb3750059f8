"""Publish states to the ROS 2 node at a steady rate, and record its memory and latency.

python -m benchmarks.ros2_soak --minutes 10 --rate 200 --out benchmarks/results/ros2_soak.json

With `--disturbed`, each minute has 37 s of motion, 3 s without messages, and 20 s at rest.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import subprocess
import sys
import threading
import time
from pathlib import Path

os.environ["ROS_AUTOMATIC_DISCOVERY_RANGE"] = "LOCALHOST"
os.environ["ROS_DOMAIN_ID"] = str(1 + os.getpid() % 100)

import numpy as np
import rclpy
from ament_index_python.packages import get_package_prefix
from builtin_interfaces.msg import Time
from diagnostic_msgs.msg import DiagnosticArray
from infoatlas_msgs.msg import MutualInformation
from lifecycle_msgs.msg import Transition
from lifecycle_msgs.srv import ChangeState
from rclpy.executors import ExternalShutdownException, SingleThreadedExecutor
from rclpy.qos import qos_profile_sensor_data
from sensor_msgs.msg import JointState
from std_msgs.msg import Header

from infoatlas_rt.cli.console import progress
from infoatlas_rt.cli.latency import processor

JOINTS = 7
PAUSE, REST = 37.0, 40.0  # seconds of a disturbed minute at which they begin
MOVING, RESTING = (5.0, PAUSE), (REST + 5.0, 60.0)  # seconds of a minute for the processor time


class Soak:
    """A publisher of joint states, and a listener that records messages of the node with times.

    `share` is the processor time of the node divided by the elapsed time, of the run and of
    seconds of motion and of rest; `feed` sets it.
    """

    def __init__(self, pid: int) -> None:
        self.pid = pid
        self.node = rclpy.create_node("soak")
        self.publisher = self.node.create_publisher(
            JointState, "/joint_states", qos_profile_sensor_data
        )
        self.latencies: list[float] = []
        self.memory: list[tuple[float, float]] = []  # seconds, MB
        self.share: dict[str, float] = {}
        self.status: dict[str, str] = {}
        self.node.create_subscription(
            MutualInformation, "/infoatlas/mutual_information", self._read, 100
        )
        self.node.create_subscription(DiagnosticArray, "/diagnostics", self._diagnose, 10)
        self._change = self.node.create_client(ChangeState, "/infoatlas/change_state")
        self._executor = SingleThreadedExecutor()
        self._executor.add_node(self.node)
        threading.Thread(target=self._spin, daemon=True).start()

    def _spin(self) -> None:
        try:
            self._executor.spin()
        except ExternalShutdownException:
            pass

    def _read(self, message: MutualInformation) -> None:
        stamp = message.header.stamp
        self.latencies.append(time.time() - stamp.sec - 1e-9 * stamp.nanosec)

    def _diagnose(self, array: DiagnosticArray) -> None:
        self.status = {pair.key: pair.value for pair in array.status[0].values}

    def change(self, number: int) -> None:
        if not self._change.wait_for_service(20):
            raise RuntimeError("the node does not answer")
        done = threading.Event()
        future = self._change.call_async(ChangeState.Request(transition=Transition(id=number)))
        future.add_done_callback(lambda _: done.set())
        if not done.wait(30) or not future.result().success:
            raise RuntimeError("the node refused: see what it printed")

    def feed(self, minutes: float, rate: float, disturbed: bool, velocities: bool, advance) -> int:
        """Publish states for some minutes; returns their number."""
        rng = np.random.default_rng(0)
        state, sent = np.zeros(JOINTS), 0
        total, start, begin = int(minutes * 60 * rate), time.time_ns(), time.monotonic()
        noted = at = begin
        first = used = processor_seconds(self.pid)
        parts: dict[str, list[float]] = {"moving": [], "resting": []}
        for i in range(total):
            pause = begin + i / rate - time.monotonic()
            if pause > 0:
                time.sleep(pause)
            second = i / rate % 60 if disturbed else 0.0
            moves = 0.1 * np.sin(0.01 * i) + 0.2 * rng.standard_normal(JOINTS)
            before, state = state, state if second >= PAUSE else 0.95 * state + moves
            shown = state + 1e-4 * moves if second >= REST else state
            if not PAUSE <= second < REST:
                stamp = start + int(i * 1e9 / rate)
                header = Header(stamp=Time(sec=stamp // 10**9, nanosec=stamp % 10**9))
                message = JointState(header=header, position=shown.tolist())
                if velocities:
                    message.velocity = (rate * (state - before) + 1e-4 * moves).tolist()
                self.publisher.publish(message)
                sent += 1
            now = time.monotonic()
            if now - at > 1:
                share = (processor_seconds(self.pid) - used) / (now - at)
                for name, (low, high) in (("moving", MOVING), ("resting", RESTING)):
                    if low + 1 <= second < high:
                        parts[name].append(share)
                used, at = processor_seconds(self.pid), now
            if now - noted > 5:
                noted = now
                self.memory.append((now - begin, resident(self.pid)))
                advance(i / total)
        took = time.monotonic() - begin
        self.share = {"all": (processor_seconds(self.pid) - first) / took}
        self.share |= {name: float(np.mean(own)) for name, own in parts.items() if own}
        return sent


def resident(pid: int) -> float:
    """Resident memory of a process, MB."""
    pages = int(Path(f"/proc/{pid}/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE") / 1e6


def processor_seconds(pid: int) -> float:
    """Processor time of a process so far, summed over its threads."""
    values = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(values[11]) + int(values[12])) / os.sysconf("SC_CLK_TCK")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--minutes", type=float, default=10.0)
    parser.add_argument("--rate", type=float, default=200.0, help="Hz (200)")
    parser.add_argument("--slices", type=int, default=40, help="0: chosen by the node (40)")
    parser.add_argument("--provider", default="auto", help="of the node (auto)")
    parser.add_argument("--disturbed", action="store_true", help="with pauses and rests")
    parser.add_argument("--params", help="parameter file of the node; states have velocities, too")
    parser.add_argument("--out", help="JSON file")
    arguments = parser.parse_args()

    program = Path(get_package_prefix("infoatlas_ros2"), "lib/infoatlas_ros2/infoatlas_node")
    values = {"lag_seconds": 0.1, "lag": round(0.1 * arguments.rate), "slices": arguments.slices}
    values["provider"] = arguments.provider
    given = ["--params-file", arguments.params] if arguments.params else []
    given += [word for k, v in values.items() for word in ("-p", f"{k}:={v}")]
    node = subprocess.Popen([sys.executable, program, "--ros-args", *given])
    rclpy.init()
    try:
        soak = Soak(node.pid)
        soak.change(Transition.TRANSITION_CONFIGURE)
        soak.change(Transition.TRANSITION_ACTIVATE)
        with progress("soak") as advance:
            sent = soak.feed(
                arguments.minutes, arguments.rate, arguments.disturbed, bool(arguments.params),
                advance,
            )  # fmt: skip
        time.sleep(2.5)  # the last report
        status = soak.status
    finally:
        node.terminate()
        code = node.wait(10)
        rclpy.try_shutdown()

    seconds, memory = np.array(soak.memory).T
    settled = seconds > min(60.0, seconds[-1] / 3)  # buffers have reached their size
    slope = np.polyfit(seconds[settled] / 60, memory[settled], 1)[0]
    late = np.array(soak.latencies) * 1e3
    result = {
        "minutes": arguments.minutes,
        "rate_hz": arguments.rate,
        "sent": sent,
        "received": int(status["received"]),
        "lost_on_the_way": sent - int(status["received"]),
        "estimates": int(status["estimates"]),
        "overtaken": int(status["dropped: newer came"]),
        "at_rest": int(status.get("dropped: at rest", 0)),
        "queue_full": int(status["dropped: queue full"]),
        "extrema": int(status["extrema"]),
        # Shares of one core.
        "processor": {name: round(share, 3) for name, share in soak.share.items()},
        "memory_mb": {
            "after_a_minute": round(float(memory[settled][0]), 1),
            "end": round(float(memory[-1]), 1),
            "largest": round(float(memory.max()), 1),
            "slope_per_minute": round(float(slope), 3),
            "every_half_minute": np.round(memory[:: max(1, round(30 / 5))], 1).tolist(),
        },
        "latency_ms": {
            "what": "from when the input was due to be sent to the arrival of its estimate",
            "p50": round(float(np.percentile(late, 50)), 1),
            "p99": round(float(np.percentile(late, 99)), 1),
            "max": round(float(late.max()), 1),
        },
        "last_error": status["last error"],
        "exit_code": code,
        "model": status["model"],
        "window": 100,
        "coordinates": int(status["coordinates"]),
        "slices": status["slices"],
        "provider": status["provider"],
        "warning": status["last warning"],
        "machine": processor(),
        "cores": len(os.sched_getaffinity(0)),
        "python": platform.python_version(),
        "date": time.strftime("%Y-%m-%d"),
        "command": f"python -m benchmarks.ros2_soak --minutes {arguments.minutes:g} "
        f"--rate {arguments.rate:g} --slices {arguments.slices} "
        f"--provider {arguments.provider}"
        + " --disturbed" * arguments.disturbed
        + f" --params {arguments.params}" * bool(arguments.params),
    }
    text = json.dumps(result, indent=2)
    print(text)
    if arguments.out:
        Path(arguments.out).write_text(text + "\n", encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
