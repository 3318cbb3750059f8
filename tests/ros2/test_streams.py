"""The node reports what the cases of tests/streams have, over DDS."""

from itertools import groupby, pairwise

import pytest
from harness import as_time, feed, seconds
from sensor_msgs.msg import JointState
from std_msgs.msg import Header

from infoatlas_rt.messages.stream import PROGRESS
from stream_cases import CLOSE, OUTCOME, SUBTASK, read

# Each kind of stamps, faults and reports. What the tracker computes is tested with all cases.
NODE = (
    "normal nan dimension lost_frames repeated_stamp stamps_jump_back faster_by_stamps "
    "few_stamps_kept reset pause missed retry camera two_tools unknown_rate"
).split()


def messages(case, first, last):
    return [
        JointState(header=Header(stamp=as_time(round(stamp * 1e9))), position=state)
        for stamp, state in zip(case.stamps[first:last], case.states[first:last], strict=True)
    ]


def runs(indices):
    """Different sub-tasks in a row, without unknown ones."""
    return [index for index, _ in groupby(i for i in indices if i is not None and i >= 0)]


def arrived(bench, case, count):
    """Whether all reports about the first states are there."""
    wanted = [event for event in case.expected["events"] if event[0] < count]
    if len(bench.keystates) < len(wanted):
        return False
    for tool, states in case.tools.items():
        own = [m for m in bench.subtasks if m.tool == tool and m.index >= 0]
        if runs(m.index for m in own) != runs(states["index"][:count]):
            return False
        known = [p for p in states["progress"][:count] if p is not None]
        if known and abs(own[-1].progress - known[-1]) >= PROGRESS + CLOSE:
            return False
    newest = [own for own in case.expected["outcomes"] if own[0] < count][-1]
    return bool(bench.outcomes) and bench.outcomes[-1].state == newest[1]


def check(bench, case):
    """Compare all reports."""
    assert len(bench.keystates) == len(case.expected["events"])
    for m, (_, keystate, *steps, stamp, detected, score, subtask) in zip(
        bench.keystates, case.expected["events"], strict=True
    ):
        assert (m.keystate, m.step, m.detected_step) == (keystate, *steps)
        assert (m.subtask or None) == subtask
        found = seconds(m.header.stamp), seconds(m.detected_stamp), m.score
        assert found == pytest.approx((stamp, detected, score), abs=CLOSE)
    found = [[getattr(m, name) for name in OUTCOME] for m in bench.outcomes if m.since >= 0]
    # A new episode may begin with the same outcome.
    assert [own for own, _ in groupby(found)] == [
        own[1:] for own in case.expected["outcomes"] if own[2] >= 0
    ]
    at = {round(1e3 * stamp): i for i, stamp in enumerate(case.stamps)}
    for m in bench.subtasks:
        if m.index < 0:
            continue
        i, states = at[round(1e3 * seconds(m.header.stamp))], case.tools[m.tool]
        found, wanted = [getattr(m, n) for n in SUBTASK], [states[n][i] for n in SUBTASK]
        assert found == pytest.approx(wanted, rel=1e-6, abs=2 * CLOSE)


@pytest.mark.parametrize("name", NODE)
def test_a_stream(bench, tmp_path, name):
    case = read(name)
    bench.up(lag_seconds=0.0, task_file=str(case.save(tmp_path)))
    publisher = bench.publisher()
    for first, last in pairwise([0, *case.resets, len(case.states)]):
        if first:
            assert bench.reset().success
        feed(publisher, messages(case, first, last))
        bench.wait(lambda last=last: arrived(bench, case, last))
    check(bench, case)
