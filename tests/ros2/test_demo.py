"""The picture of `ros2_node/demo.py`."""

import sys
from pathlib import Path
from types import SimpleNamespace

import numpy as np
from harness import as_time
from infoatlas_msgs.msg import Coupling, MutualInformation
from std_msgs.msg import Header

sys.path.insert(0, str(Path(__file__).parents[2] / "ros2_node"))
from demo import RATE, picture


def test_a_coupling_that_the_node_did_not_end(tmp_path):
    """As on a busy machine: the picture is drawn, and the band ends with the estimates."""
    stamps = 1.7e9 + np.arange(100) / RATE
    headers = [Header(stamp=as_time(round(t * 1e9))) for t in stamps]
    found = Coupling(header=headers[60], kind="coupled", detected_stamp=headers[65].stamp)
    robot = SimpleNamespace(
        estimates=[MutualInformation(header=header, value=0.1) for header in headers[32:]],
        events=[(0.0, found)],
    )
    states = np.random.default_rng(0).normal(size=(100, 41)).cumsum(axis=0)
    figure = picture(robot, [(stamps, states, np.arange(100) > 55)])
    figure.savefig(tmp_path / "picture.png")
    assert len(figure.axes) == 3
