"""The client of examples/ prints what the node publishes."""

import signal
import subprocess
import sys
from pathlib import Path

from harness import LIMIT, START, joint_states, seconds, until, walk

CLIENT = Path(__file__).parents[2] / "examples/ros_client.py"


def test_the_client_prints_what_the_node_publishes(bench, tmp_path):
    """It prints the newest value; messages before the discovery of a client are lost."""
    bench.up()
    publisher = bench.publisher()
    with (tmp_path / "out").open("w") as out, (tmp_path / "err").open("w") as err:
        client = subprocess.Popen([sys.executable, CLIENT], stdout=out, stderr=err)
    try:
        subscribers = bench.node.count_subscribers
        bench.wait(lambda: subscribers("/infoatlas/mutual_information") > 1)

        def printed():
            return (tmp_path / "out").read_text()

        for second in range(100):
            bench.play(publisher, joint_states(walk(100), START + second * 10**9))
            if printed():
                break
        newest = bench.estimates[-1][1]
        until(lambda: f"{seconds(newest.header.stamp):.2f} s: {newest.value:.2f} ± " in printed())
    finally:
        client.send_signal(signal.SIGINT)
        assert client.wait(LIMIT) == 0, (tmp_path / "err").read_text()
