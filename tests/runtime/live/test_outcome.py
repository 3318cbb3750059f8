"""Outcome of running episodes; more in tests/streams."""

import numpy as np
import pytest

from episodes import TASKS, pickcube
from infoatlas_rt import KeyStateTracker, Task
from infoatlas_rt.live.outcome import Gripper, OutcomeFilter, OutcomeModel

TASK = Task.load(TASKS / "pickcube.json")
LEFT = "attempt failed: the object does not move with the gripper"


def follow(tracker, states, hold=12):
    """The outcome after an episode whose last state is held."""
    for state in [*states, *[states[-1]] * hold]:
        tracker.push(state)
    return tracker.outcome


def test_done_at_the_end_and_not_where_it_stops_before():
    for states in pickcube()[0][20:26]:
        tracker = KeyStateTracker(TASK)
        assert (tracker.outcome.state, tracker.outcome.since) == ("unknown", -1)
        assert follow(tracker, states[: int(0.7 * len(states))]).state == "running"
        tracker.reset()
        found = follow(tracker, [*states, *[states[-1]] * 12, *states[::-1]])
        assert found.state == "done" and abs(found.since - len(states)) <= 12
        assert found.false_done == pytest.approx(1 / 11) and "at most 9%" in str(TASK)


@pytest.mark.parametrize("after", [None, 12])  # steps: the cube is missed, or dropped
def test_a_cube_that_stays_behind(after):
    states, grasps, names = pickcube()
    cube = [i for i, name in enumerate(names) if name.startswith("cube.")]
    for own, grasp in zip(states[20:26], grasps[20:26].tolist(), strict=True):
        first, tracker = 0 if after is None else grasp + after, KeyStateTracker(TASK)
        own[first:, cube] = own[first, cube]
        found = follow(tracker, own)
        assert (found.state, found.reason, tracker.subtask.index) == ("failed", LEFT, 0)
        assert 0 <= found.since - max(first, grasp) <= 20
        tracker.reset()
        follow(tracker, own[: found.since + 1], hold=0)
        assert tracker.subtask.progress > 0.9  # the part that ends in the grasp


def test_a_failed_grasp_is_that_of_its_gripper():
    """The left gripper opens before it has closed, misses, and grasps; the right one grasps."""
    left = [1, 0.5, 1, 0, 0, 0, 0, 0, 0, 1, 0.5, 0.5, 0.5, 0.5]
    right = [1] * 6 + [0.5] * 8
    one, none = np.ones(1), np.array([-1])
    grippers = tuple(
        Gripper("", np.array([c]), one, 0.0, 0.3, 0.05, 2, ("",), 0.3 * one, -one, none, one, none)
        for c in (0, 1)
    )
    model, row, found = OutcomeModel(0.0, 0, "", np.nan, np.nan, "", grippers), np.arange(1), []
    followed = OutcomeFilter(model, (), 1)
    for t, openings in enumerate(zip(left, right, strict=True)):
        followed.push(np.array([openings]), np.empty((1, 0)), row + t, row + t, row)
        found.append(followed.outcome(0).state)
    assert found == ["unknown"] * 5 + ["failed"] * 7 + ["unknown"] * 2
