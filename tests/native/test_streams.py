"""The follower of libinfoatlas reports what the cases of tests/streams have."""

import json
import subprocess

import pytest

from follower import Follower
from stream_cases import CASES, change, check, read, run


class Program:
    """consumer/follow.cpp in a process, with the methods of `KeyStateTracker`."""

    def __init__(self, program, path, rate, follow_all):
        self._process = subprocess.Popen(
            [program, path, str(rate or 0), str(int(follow_all))],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
        )  # fmt: skip
        self._read()

    def close(self):
        self._process.communicate()
        assert not self._process.returncode

    def push(self, state, stamp):
        return self._ask(" ".join(map(repr, [float("nan") if stamp is None else stamp, *state])))

    def reset(self):
        self._ask("reset")

    def _ask(self, line):
        self._process.stdin.write(f"{line}\n")
        self._process.stdin.flush()
        return self._read()

    def _read(self):
        found = json.loads(self._process.stdout.readline())
        if "refused" in found:
            raise RuntimeError(found["refused"])
        self.subtask_states, self.outcome = found["subtasks"], found["outcome"]
        return found["events"]


CHANGED = {  # values of a task file, each far from what the fit writes
    "detectors.gap": 40, "detectors.rise": 0.02, "detectors.timing.frequency": 17.0,
    "detectors.timing.rate": 10.0, "detectors.timing.stride": 2,
    "detectors.stream.stamps_kept": 12, "detectors.stream.stamps_for_rate": 12,
    "detectors.stream.usual": [0.5, 30.0], "detectors.stream.same": [0.9, 1.1],
    "detectors.stream.averaged": 2.0, "detectors.features.clip": 1.5,
    "detectors.features.fewest": 5, "outcome.wait": 20, "outcome.near": 0.01,
    "outcome.grippers.0.zero": 0.9, "outcome.grippers.0.change": 2.0,
    "outcome.grippers.0.jitter": 0.5, "outcome.grippers.0.settle": 9, "subtasks.stalled": 1.0,
    "subtasks.tools.0.limit": 0.5, "subtasks.tools.0.model.anywhere": 1e-3,
    "subtasks.tools.0.model.back": 2, "subtasks.tools.0.model.cap": 2.0,
    "subtasks.tools.0.model.certain": 0.5, "subtasks.tools.0.model.clip": 2.0,
    "subtasks.tools.0.model.near": 5.0, "subtasks.tools.0.model.resolution": 0.1,
    "subtasks.tools.0.model.temper": 0.3,
}  # fmt: skip


@pytest.mark.parametrize("where", CHANGED)
def test_some_stream_shows_each_number_of_a_task_file(library, where, tmp_path):
    for name in CASES:
        case = read(name)
        try:
            change(case.task, where, CHANGED[where])
        except (AssertionError, IndexError, TypeError):
            continue  # a task without sub-tasks, or without a gripper
        try:
            found = run(case, Follower(library, case.save(tmp_path), **case.options))
            check(case, found)
        except (AssertionError, RuntimeError):
            return
    pytest.fail(f"{where} has no effect")


@pytest.mark.parametrize("name", CASES)
def test_a_stream_in_cpp(programs, name, tmp_path):
    case = read(name)
    follower = Program(programs[0] / "follow", case.save(tmp_path), **case.options)
    check(case, run(case, follower))
    follower.close()
