"""The monitor of stalls, on episodes with known stops."""

from __future__ import annotations

import json

import numpy as np
import pytest

from benchmarks.keystates import monitor
from infoatlas_tools import Trajectories, discover_keystates
from task_parts import visits


@pytest.fixture(scope="module")
def task():
    states, subtasks = visits(count=10, seed=1)
    return discover_keystates(Trajectories(states, rate=20), count=2).follow(subtasks)


@pytest.fixture(scope="module")
def episodes():
    """Ten complete episodes, and ten that stop half-way for ten seconds."""
    good, _ = visits(count=10, seed=2)
    bad = [
        np.concatenate([s[:30], np.repeat(s[30:31], 200, axis=0)])
        for s in visits(count=10, seed=3)[0]
    ]
    return [*good, *bad], np.arange(20) < 10


def test_stops_are_found_and_successes_left_alone(task, episodes):
    result = monitor.evaluate(*episodes, task)
    assert (result["successes"], result["failures"]) == (10, 10)
    assert result["false_alarms"] == 0 and result["found"] == 1
    assert result["auroc"] == result["auroc_length"] == 1 and result["auroc_early"] > 0.9
    assert 1.5 < result["detection_seconds"] < 6
    assert 3 < result["timeout_seconds"] < 5


def test_auroc_counts_ties_by_halves():
    assert monitor.auroc(np.array([1.0, 2.0]), np.array([2.0, 3.0])) == 0.875


def test_command(task, episodes, tmp_path, capsys):
    states, success = episodes
    lengths = np.array([len(s) for s in states])
    flags = np.zeros(lengths.sum(), bool)
    flags[np.cumsum(lengths)[success] - 1] = True
    np.savez(
        tmp_path / "rollouts.npz",
        states=np.concatenate(states),
        lengths=lengths,
        success=flags,
        names=np.array([f"c{i}" for i in range(6)]),
    )
    task.save(tmp_path / "task.json")
    monitor.main([str(tmp_path / "rollouts.npz"), str(tmp_path / "task.json")])
    assert json.loads(capsys.readouterr().out)["found"] == 1
