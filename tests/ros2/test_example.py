"""The client of examples/ prints what the node publishes."""

import signal
import subprocess
import sys
import time
from pathlib import Path

from harness import feed, joint_states, seconds, walk

CLIENT = Path(__file__).parents[2] / "examples/ros_client.py"


def test_the_client_prints_what_the_node_publishes(bench, tmp_path):
    """It prints the newest value; messages before the discovery of a client are lost."""
    bench.up()
    publisher = bench.publisher()
    with (tmp_path / "out").open("w") as out, (tmp_path / "err").open("w") as err:
        client = subprocess.Popen([sys.executable, CLIENT], stdout=out, stderr=err)
    try:
        bench.wait(lambda: bench.node.count_subscribers("/infoatlas/mutual_information") > 1)
        for second in range(6):
            messages = joint_states(walk(100), start=(1_700_000_000 + second) * 10**9)
            feed(publisher, messages)
            bench.read(messages[-1])
            newest = bench.estimates[-1][1]
            line = f"{seconds(newest.header.stamp):.2f} s: {newest.value:.2f} ± "
            time.sleep(1)
            if line in (tmp_path / "out").read_text():
                break
        assert line in (tmp_path / "out").read_text(), (tmp_path / "err").read_text()
    finally:
        client.send_signal(signal.SIGINT)
        assert client.wait(10) == 0, (tmp_path / "err").read_text()
