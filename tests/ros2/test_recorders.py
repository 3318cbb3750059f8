"""Recorders of rosbag2 over DDS, with stand-ins that have its services."""

import sys

import numpy as np
import pytest
from harness import START, feed, joint_states
from rosbag2_interfaces.srv import Snapshot, SplitBagfile

from episodes import pickcube
from infoatlas_ros2.recorders import Recorders
from infoatlas_rt import KeyStateTracker
from infoatlas_rt.errors import InputError

STEP = 50_000_000
EPISODES = 3


@pytest.fixture
def asked(bench):
    """Events and outcomes that had arrived when the recorders /bags and /failures were asked."""
    asked, failing = {"bags": [], "failures": []}, []

    def take(name, response):
        asked[name].append((len(bench.keystates), [m.state for m in bench.outcomes]))
        if hasattr(response, "success"):
            response.success = not failing
        return response

    services = [
        bench.node.create_service(kind, name, lambda _, r, own=own: take(own, r))
        for kind, name, own in (
            (SplitBagfile, "/bags/split_bagfile", "bags"),
            (SplitBagfile, "/failures/split_bagfile", "splits of snapshots"),
            (Snapshot, "/failures/snapshot", "failures"),
        )
    ]
    yield asked, failing
    for service in services:
        bench.node.destroy_service(service)


def test_each_execution_is_in_a_bag_of_its_own(bench, asked, task_file):
    bags, failures = asked[0].values()
    bench.up(lag_seconds=0.0, task_file=str(task_file), recorders=["/bags", "/failures"])
    publisher, start, events = bench.publisher(), START, 0
    for n in range(EPISODES):
        own = pickcube()[0][40 + n]
        own = np.concatenate([own, np.repeat(own[-1:], 20, axis=0)])
        tracker = KeyStateTracker(task_file)
        events += sum(len(tracker.push(s, i * STEP * 1e-9)) for i, s in enumerate(own))
        feed(publisher, joint_states(own, start, STEP))
        start += len(own) * STEP
        bench.wait(lambda n=n: len(bench.outcomes) and len(bags) == 2 * n + 1)
        assert bags[-1][1][-1] == "done" and bags[-1][0] == len(bench.keystates) == events
        assert bench.reset().success
        bench.wait(lambda n=n: len(bags) == 2 * n + 2)
        bench.wait(lambda: bench.outcomes[-1].state == "unknown")
    assert not failures


def test_a_stall_is_in_a_snapshot(bench, asked, task_file):
    (bags, failures), failing = asked[0].values(), asked[1]
    bench.up(lag_seconds=0.0, task_file=str(task_file), recorders=["/failures", "/absent"])
    failing.append(True)
    own = pickcube()[0][40]
    stuck = np.concatenate([own[:20], np.repeat(own[20:21], 150, axis=0)])
    feed(bench.publisher(), joint_states(stuck, START, STEP))
    bench.diagnosis(lambda s: "/failures has written nothing: it does not record" in s.message)
    assert len(failures) == 1 and not bags
    assert bench.reset().success
    bench.diagnosis(lambda s: "recorder /absent: it does not run" in s.message)


def test_recorders_that_cannot_be_used(bench, monkeypatch):
    bench.prepare()
    assert "set task_file, too" in bench.set(recorders=["/bags"])
    monkeypatch.setitem(sys.modules, "rosbag2_interfaces.srv", None)
    with pytest.raises(InputError, match="install ros-DISTRO-rosbag2"):
        Recorders(None, ["/bags"], print)
