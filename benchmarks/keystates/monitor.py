"""Stall reports of running episodes: false alarms on successes, and detected failures.

    python -m benchmarks.keystates.monitor ROLLOUTS.npz TASK.json

The rollouts are those of `policies.demos.record_rollouts`: states, lengths, success at each step,
names. TASK.json has the sub-tasks of demonstrations (`KeyStates.save(path, subtasks)`).
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from infoatlas_rt import Task, VectorTracker

from .run import finite

Float = NDArray[np.float64]
NOMINAL = 20.0  # steps a second where the rate is not known


def evaluate(states: Sequence[Float], success: Any, task: Task) -> dict[str, float]:
    """Follow episodes and compare stalls with outcomes.

    Parameters
    ----------
    states : sequence of N arrays [T_i, d]
        Episodes at the rate of the demonstrations, each up to its success or its end.
    success : [N] bool
    task : Task
        With sub-tasks.

    Returns
    -------
    dict
        Values are NaN if they cannot be computed.

        - successes, failures: numbers of episodes
        - false_alarms, found: share of successes and of failures with a reported stall
        - auroc: area under the ROC curve of the largest time without progress of an episode,
          relative to the usual time
        - auroc_early: the same up to the median length of the successes
        - auroc_length: area of the length alone, which is 1 if failures run to a limit that
          successes do not reach
        - detection_seconds: median time from the start of a detected failure to the report
        - timeout_seconds: 95% quantile of the length of successes
    """
    assert task.subtasks is not None
    outcome = np.asarray(success, bool)
    waiting = waits(states, task)
    rate, limit = task.detectors.timing.rate, task.subtasks.stalled
    lengths = np.array([len(s) for s in states])
    seconds = np.array([np.argmax(w > limit) if (w > limit).any() else np.nan for w in waiting])
    seconds /= NOMINAL if rate is None else rate
    largest = np.array([w.max() for w in waiting])
    stalled = largest > limit
    middle = int(np.median(lengths[outcome])) if outcome.any() else int(lengths.max())
    early = np.array([w[:middle].max() for w in waiting])
    late = float(np.quantile(lengths[outcome], 0.95)) if outcome.any() else np.nan
    times = seconds[~outcome & stalled]
    return {
        "successes": float(outcome.sum()),
        "failures": float((~outcome).sum()),
        "false_alarms": float(stalled[outcome].mean()) if outcome.any() else np.nan,
        "found": float(stalled[~outcome].mean()) if (~outcome).any() else np.nan,
        "auroc": auroc(largest[outcome], largest[~outcome]),
        "auroc_length": auroc(lengths[outcome], lengths[~outcome]),
        "auroc_early": auroc(early[outcome], early[~outcome]),
        "detection_seconds": float(np.median(times)) if len(times) else np.nan,
        "timeout_seconds": late / (NOMINAL if rate is None else rate),
    }


def waits(states: Sequence[Float], task: Task) -> list[Float]:
    """Time without progress relative to the usual time [T_i], at each step of each episode."""
    tracker = VectorTracker(len(states), task)
    made = [np.zeros(len(s)) for s in states]
    for step in range(max(map(len, states))):
        rows = np.array([row for row, own in enumerate(states) if step < len(own)])
        tracker.push(np.stack([states[row][step] for row in rows]), rows)
        now = tracker.subtask()["subtask_waiting"]
        for row in rows.tolist():
            made[row][step] = now[row]
    return made


def auroc(successes: NDArray[Any], failures: NDArray[Any]) -> float:
    """Probability that a failure has the larger score, ties counted half; NaN if one is empty."""
    if not len(successes) or not len(failures):
        return float("nan")
    above = failures[:, None] - successes[None]
    return float(((above > 0) + 0.5 * (above == 0)).mean())


def read(path: Path) -> tuple[list[Float], NDArray[np.bool_], tuple[str, ...]]:
    """States of each rollout, whether it succeeded, and names of the columns."""
    with np.load(path, allow_pickle=False) as file:
        ends = np.cumsum(file["lengths"])
        states = np.split(file["states"].astype(np.float64), ends[:-1])
        return states, file["success"][ends - 1].astype(bool), tuple(map(str, file["names"]))


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser("benchmarks.keystates.monitor", description=__doc__)
    parser.add_argument("rollouts", type=Path)
    parser.add_argument("task", type=Path, help="file of KeyStates.save(path, subtasks)")
    chosen = parser.parse_args(arguments)
    states, success, names = read(chosen.rollouts)
    task = Task.load(chosen.task)
    if task.columns and task.columns != names:
        parser.error(f"rollouts have the columns {names}, and the task {task.columns}")
    print(json.dumps(finite(evaluate(states, success, task)), indent=1))


if __name__ == "__main__":
    main()
