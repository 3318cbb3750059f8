"""Sub-tasks of a running episode."""

from itertools import pairwise

import numpy as np
import pytest

from episodes import RATE, TASKS, follow_parts as follow, pickcube, places
from infoatlas_rt import KeyStateTracker, Task, VectorTracker


def follow_all(task, streams):
    """Whether each of parallel episodes has stalled, and the sub-tasks at their ends."""
    tracker, stalled = VectorTracker(len(streams), task), np.zeros(len(streams), bool)
    for step in range(max(map(len, streams))):
        rows = [row for row, own in enumerate(streams) if step < len(own)]
        tracker.push(np.stack([streams[row][step] for row in rows]), rows)
        stalled |= tracker.subtask()["subtask_stalled"]
    return stalled, tracker.subtask()


# Ten demonstrations of PickCube, 30 other episodes and their grasps; a visit of three places.
TASK, THREE = (Task.load(TASKS / f"{name}.json") for name in ("pickcube", "three_places"))
EPISODES, GRASPS = (own[40:70] for own in pickcube()[:2])


def test_parts_of_unseen_episodes():
    """The part is right at 97% of the steps that are at least 0.25 s from the grasp."""
    tracker, right, off = KeyStateTracker(TASK), [], []
    for states, grasp in zip(EPISODES, GRASPS, strict=True):
        tracker.reset()
        assert tracker.subtask is None
        for t, now in enumerate(follow(tracker, states)):
            if abs(t - grasp) <= 5:
                continue
            carries = t >= grasp
            right.append(now.index == carries)
            start, end = (grasp, len(states)) if carries else (0, grasp)
            off.append(abs(now.progress - (t - start) / (end - start)))
            if now.index == 1:
                assert (now.name, now.tool) == ("carry cube to goal", "tool")
                assert (now.reference, now.held) == ("goal", "cube")
    assert np.mean(right) > 0.97 and np.mean(off) < 0.12


def test_progress_rises_to_one_and_so_does_that_of_the_task():
    reported = follow(KeyStateTracker(TASK), EPISODES[3])
    for a, b in pairwise(reported):
        assert b.index >= a.index
        if a.index == b.index:
            assert b.progress >= a.progress and b.seconds > a.seconds
    assert reported[0].progress < 0.1 and reported[0].task_progress < 0.1
    assert reported[-1].progress > 0.9 and reported[-1].task_progress > 0.9
    total = np.array([now.task_progress for now in reported])
    assert ((total >= 0) & (total <= 1)).all() and (np.diff(total) > -0.1).all()

    waiting = [now.waiting for now in reported]  # it begins anew with progress
    assert sum(b < a for a, b in pairwise(waiting)) >= 5  # of about 16 bins
    assert max(waiting) < 1.5


def test_a_stop_is_a_stall_but_an_episode_is_not():
    """The end of a task is not a stall, either, however long it lasts."""
    rng, stopped = np.random.default_rng(0), []
    for states, grasp in zip(EPISODES, GRASPS, strict=True):
        at = int(rng.integers(10, grasp + 10))
        noise = 0.0005 * rng.standard_normal((200, states.shape[1]))
        stopped.append(np.concatenate([states[:at], states[at] + noise]))
    ends = [np.concatenate([states, np.repeat(states[-1:], 200, axis=0)]) for states in EPISODES]
    assert follow_all(TASK, ends)[0].sum() <= 3
    last = follow_all(TASK, stopped)[1]
    assert last["subtask_stalled"].sum() >= 27
    assert (last["subtask_waiting"] > 3)[last["subtask_stalled"]].all()


def test_a_cube_left_behind_is_a_stall():
    """The arm does the complete motion, and the cube stays."""
    names = list(TASK.columns)
    cube = [names.index(f"cube.{axis}") for axis in ("x", "y", "z", "qw", "qx", "qy", "qz")]
    to_cube = [names.index(f"tool_to_cube.{axis}") for axis in "xyz"]
    to_goal = [names.index(f"cube_to_goal.{axis}") for axis in "xyz"]
    tool = [names.index(f"tool.{axis}") for axis in "xyz"]
    streams = []
    for states in EPISODES:
        left = states.copy()
        left[:, cube], left[:, to_goal] = states[0, cube], states[0, to_goal]
        left[:, to_cube] = left[:, cube[:3]] - states[:, tool]
        streams.append(np.concatenate([left, np.repeat(left[-1:], 120, axis=0)]))
    assert follow_all(TASK, streams)[1]["subtask_stalled"].sum() >= 27


def test_a_pose_of_the_last_part_is_not_that_part_before_the_others():
    """The point rests, as the first thing it does, where all demonstrations pass at the end."""
    (episode,), _ = places(count=1, seed=20)
    tracker = KeyStateTracker(THREE)
    assert follow(tracker, episode[-1:])[0].index == 0
    pose = episode[0] + np.array([-0.12, 0.12, 0.21, 0, 0, 0])
    share = (0.5 - 0.5 * np.cos(np.linspace(0, np.pi, 24)))[:, None]
    path = episode[0] + share * (pose - episode[0])
    path = np.concatenate([path, np.repeat(path[-1:], 20, axis=0)])
    tracker.reset()
    assert {now.index for now in follow(tracker, path)} == {0}


@pytest.mark.parametrize("share", [0.0, 0.3, 0.6, 1.0])
def test_a_rest_changes_no_part(share):
    """The arm rests for 20 s and goes on: the parts are those of the episode without the rest."""
    (episode,), _ = places(count=1, seed=9)
    at = round(share * (len(episode) - 1))
    rest = np.repeat(episode[at : at + 1], 20 * RATE, axis=0)
    tracker = KeyStateTracker(THREE)
    parts = [now.index for now in follow(tracker, episode)]
    tracker.reset()
    path = np.concatenate([episode[: at + 1], rest, episode[at + 1 :]])
    rested = [now.index for now in follow(tracker, path)]
    assert np.mean(np.delete(rested, slice(at, at + len(rest))) != parts) < 0.1
    assert min(rested[at : at + len(rest)]) >= parts[at]
