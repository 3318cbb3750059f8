"""The client of examples/ prints what the node publishes."""

import signal
import subprocess
import sys
from pathlib import Path

from harness import feed, joint_states, seconds, walk

CLIENT = Path(__file__).parents[2] / "examples/ros_client.py"


def test_the_client_prints_what_the_node_publishes(bench, tmp_path):
    messages = joint_states(walk(150))
    bench.up()
    with (tmp_path / "out").open("w") as out, (tmp_path / "err").open("w") as err:
        client = subprocess.Popen([sys.executable, CLIENT], stdout=out, stderr=err)
    try:
        bench.wait(lambda: bench.node.count_subscribers("/infoatlas/mutual_information") > 1)
        feed(bench.publisher(), messages)
        bench.read(messages[-1])
        newest = bench.readings[-1][1]
        line = f"{seconds(newest.header.stamp):.2f} s: {newest.value:.2f} ± "
        bench.wait(lambda: line in (tmp_path / "out").read_text())
    finally:
        client.send_signal(signal.SIGINT)
        assert client.wait(10) == 0, (tmp_path / "err").read_text()
