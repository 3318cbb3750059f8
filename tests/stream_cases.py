"""Streams of states with what has to be reported about them: one suite for all followers.

tests/streams/NAME.json is a case, and tests/streams/tasks/NAME.json a task file; make.py wrote
both. The followers are `KeyStateTracker`, the C functions, the C++ classes and the ROS 2 node. A
case has

- "about": what happens in it
- "task": name of the task file, and "change": {"detectors.gap": 3}, values that replace its own
- "rate" and "follow_all" of the tracker
- "states": [n, d], null for NaN; "stamps": [n], seconds, or null
- "resets": states before which the episode is said to end
- "events": for each key state the number of the state with which it is reported, and the fields
  keystate, step, detected_step, stamp, detected_stamp, score, subtask
- "outcomes": [number, state, since, reason] of the states with which the outcome changes
- "refused": states that are refused
- "subtasks": for each tool "index", "progress", "task_progress", "waiting", "seconds", "stalled"
  after each state [n]; null if no sub-task is known

The node passes over a state with the stamp of the one before, and a stamp that is older by more
than a second begins an episode. Of the other followers, the program that pushes states does that:
here `steps`.
"""

import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

FOLDER = Path(__file__).parent / "streams"
CASES = tuple(sorted(path.stem for path in FOLDER.glob("*.json")))
EVENT = ("keystate", "step", "detected_step", "stamp", "detected_stamp", "score", "subtask")
SUBTASK = ("index", "progress", "task_progress", "waiting", "seconds", "stalled")
OUTCOME = ("state", "since", "reason")
BACK = 1.0  # seconds by which a stamp is older in a new episode, as `reset_after` of the node
CLOSE = 2e-6  # files have six decimals


@dataclass(frozen=True)
class Case:
    """A stream of states for a task, and what has to be reported."""

    task: dict[str, Any]  # the content of its file
    options: dict[str, Any]  # of the tracker
    states: list[list[float]]
    stamps: list[float | None]
    resets: list[int]
    expected: dict[str, Any]

    @property
    def tools(self) -> dict[str, Any]:
        """What is expected of the sub-tasks of each tool, by its name."""
        parts = (self.task["subtasks"] or {"parts": []})["parts"]
        names = dict.fromkeys(part["tool"] for part in parts)
        return dict(zip(names, self.expected["subtasks"], strict=True))

    def save(self, folder: Path) -> Path:
        """Write the task file."""
        path = folder / "task.json"
        path.write_text(json.dumps(self.task))
        return path

    def steps(self) -> Iterator[tuple[int, bool, bool]]:
        """(number, resets, pushed) of each state: whether an episode ends before it, and so on."""
        newest = None
        for i, stamp in enumerate(self.stamps):
            again = newest is not None and stamp is not None and newest - BACK <= stamp <= newest
            back = newest is not None and stamp is not None and stamp < newest - BACK
            yield i, back or i in self.resets, not again
            newest = newest if again else stamp


def read(name: str) -> Case:
    """A case by its name."""
    values = json.loads((FOLDER / f"{name}.json").read_text())
    task = json.loads((FOLDER / "tasks" / f"{values['task']}.json").read_text())
    for where, value in values["change"].items():
        change(task, where, value)
    states = [[np.nan if v is None else v for v in state] for state in values["states"]]
    stamps = values["stamps"] or [None] * len(states)
    options = {"rate": values["rate"], "follow_all": values["follow_all"]}
    return Case(task, options, states, stamps, values["resets"], values)


def change(task: Any, where: str, value: Any) -> None:
    """Replace a value of a task file, as "subtasks.tools.0.limit"."""
    *path, last = where.split(".")
    for key in path:
        task = task[int(key) if isinstance(task, list) else key]
    assert last in task
    task[last] = value


def run(case: Case, follower: Any) -> dict[str, Any]:
    """What a follower reports, in the form of the file.

    It has `push(state, stamp)`, which returns events, `subtask_states` and `reset()`. An exception
    of `push` is a refusal.
    """
    events, refused, rows, outcomes = [], [], [], []
    for i, resets, pushed in case.steps():
        if resets:
            follower.reset()
        if pushed:
            try:
                found = follower.push(case.states[i], case.stamps[i])
            except (ValueError, RuntimeError):
                refused.append(i)
            else:
                events += [[i, *(_plain(event, name) for name in EVENT)] for event in found]
        rows.append(
            [now and [_plain(now, name) for name in SUBTASK] for now in follower.subtask_states]
        )
        outcome = [_plain(follower.outcome, name) for name in OUTCOME]
        if not outcomes or outcomes[-1][1:] != outcome:
            outcomes.append([i, *outcome])
    tools = [list(tool) for tool in zip(*rows, strict=True)]
    found = {"events": events, "outcomes": outcomes, "refused": refused}
    return found | {"subtasks": [columns(tool) for tool in tools]}


def columns(rows: list[list[Any] | None]) -> dict[str, list[Any]]:
    """Fields of a tool's sub-tasks by name."""
    return {name: [row and row[c] for row in rows] for c, name in enumerate(SUBTASK)}


def _plain(found: Any, name: str) -> Any:
    value = found[name] if isinstance(found, dict) else getattr(found, name)
    if isinstance(value, float):
        return None if np.isnan(value) else round(value, 6)
    return (value or None) if name == "subtask" else value


def check(case: Case, found: dict[str, Any]) -> None:
    """AssertionError unless all that was reported is expected."""
    assert found["refused"] == case.expected["refused"]
    assert found["outcomes"] == case.expected["outcomes"]
    assert len(found["events"]) == len(case.expected["events"]), found["events"]
    for event, wanted in zip(found["events"], case.expected["events"], strict=True):
        assert same(event, wanted), (event, wanted)
    for tool, wanted in zip(found["subtasks"], case.expected["subtasks"], strict=True):
        for name in SUBTASK:
            for i, values in enumerate(zip(tool[name], wanted[name], strict=True)):
                assert same([values[0]], [values[1]]), (i, name, values)


def same(found: list[Any], wanted: list[Any]) -> bool:
    """Whether values are equal, floats up to rounding in the file."""
    return all(
        abs(a - b) <= CLOSE if isinstance(a, float) and b is not None else a == b
        for a, b in zip(found, wanted, strict=True)
    )
