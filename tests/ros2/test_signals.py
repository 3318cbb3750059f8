"""Signals to the process of the node: exit code 0 and one line at any time."""

import os
import signal
import subprocess
import sys

import pytest
from harness import LIMIT

AT_IMPORT = """
import os, sys
from importlib import abc
class Signal(abc.MetaPathFinder):
    def find_spec(self, name, path, target=None):
        if name == {name!r}:
            os.kill(os.getpid(), {number})
sys.meta_path.insert(0, Signal())
"""
# Two signals within a transition, as from launch.
AT_CONFIGURE = """
import os, threading, time
import infoatlas_ros2.__main__ as program
from infoatlas_ros2 import node
start, configure = node.InfoAtlasNode.__init__, node.InfoAtlasNode._configure
def started(self, **options):
    start(self, **options)
    self.create_timer(0.01, self.trigger_configure)
def configured(self, settings):
    program.CLEAN_UP = {limit}
    os.kill(os.getpid(), {number})
    time.sleep(0.05)
    os.kill(os.getpid(), {number})
    time.sleep({seconds})
    configure(self, settings)
node.InfoAtlasNode.__init__, node.InfoAtlasNode._configure = started, configured
"""
START = "import sys; from infoatlas_ros2.__main__ import main; sys.exit(main())"


def stopped(code, number, hangup=signal.SIG_DFL):
    """Output of a node that a signal stops, without lines of its log."""
    words = ["--ros-args", "-r", "__node:=signalled", "-p", "topic:=/signalled/value"]
    words += ["-p", "message_type:=sensor_msgs/msg/JointState", "-p", "slices:=2"]
    done = subprocess.run(
        [sys.executable, "-c", code + START, *words], capture_output=True, text=True,
        timeout=2 * LIMIT, env=os.environ | {"PYTHONUNBUFFERED": "1"},
        preexec_fn=lambda: signal.signal(signal.SIGHUP, hangup),
    )  # fmt: skip
    assert done.returncode == 0, (done.returncode, done.stdout, done.stderr)
    lines = [line for line in done.stderr.splitlines() if not line.startswith(("[INFO]", "[WARN]"))]
    assert lines == [f"infoatlas_node: stopped by {number.name}"], done.stderr
    assert "Traceback" not in done.stdout
    return done.stdout + done.stderr


@pytest.mark.parametrize(
    ("name", "number"),
    [("rclpy", signal.SIGINT), ("numpy", signal.SIGTERM), ("infoatlas_ros2.worker", signal.SIGHUP)],
)
def test_during_imports(name, number):
    stopped(AT_IMPORT.format(name=name, number=int(number)), number)


def test_nohup():
    """A SIGHUP that is ignored stays ignored."""
    code = "".join(
        AT_IMPORT.format(name="rclpy", number=n) for n in (signal.SIGHUP, signal.SIGTERM)
    )
    stopped(code, signal.SIGTERM, signal.SIG_IGN)


def test_within_a_transition():
    """The transition is completed first: nothing is closed during it."""
    code = AT_CONFIGURE.format(number=int(signal.SIGTERM), limit=LIMIT, seconds=0)
    log = stopped(code, signal.SIGTERM)
    assert "configured: /signalled/value" in log


def test_within_a_transition_that_does_not_end():
    """For example a model on a slow disk."""
    code = AT_CONFIGURE.format(number=int(signal.SIGTERM), limit=0.2, seconds=50)
    log = stopped(code, signal.SIGTERM)
    assert "configured" not in log
