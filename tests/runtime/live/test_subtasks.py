"""Sub-tasks of a running episode."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest

from infoatlas_rt import InputError, KeyStateTracker
from infoatlas_tools import Trajectories, discover_keystates
from infoatlas_tools.keystates.subtasks import Subtask, Subtasks
from task_parts import RATE, pickcube, reach_and_carry, resampled, visits

NAMES = tuple(f"{body}.{axis}" for body in ("tool", "first") for axis in "xyz")
POSITIONS = {"tool": [0, 1, 2], "first": [3, 4, 5]}


def packed(states, names=()):
    return Trajectories(states, names=names, rate=RATE)


def follow(tracker, states, stamps=None):
    """The state of the sub-task after each push."""
    found = []
    for i, state in enumerate(states):
        tracker.push(state, None if stamps is None else stamps[i])
        found.append(tracker.subtask)
    return found


@pytest.fixture(scope="module")
def demos():
    """Key states of ten demonstrations, and their sub-tasks."""
    states, grasps, names = pickcube()
    found = discover_keystates(packed(states[:10], names), count=1)
    return found, reach_and_carry(states[:10], grasps[:10])


@pytest.fixture(scope="module")
def task(demos):
    found, subtasks = demos
    return found.follow(subtasks)


@pytest.fixture(scope="module")
def episodes():
    """30 other episodes."""
    return pickcube()[0][40:70]


@pytest.fixture(scope="module")
def grasps():
    """Their grasps."""
    return pickcube()[1][40:70]


@pytest.fixture(scope="module")
def three():
    """Key states of demonstrations that visit three places, and their sub-tasks."""
    states, subtasks = visits(seed=1)
    return discover_keystates(packed(states), count=2), subtasks


def test_parts_of_unseen_episodes(task, episodes, grasps):
    """The part is right at 97% of the steps that are at least 0.25 s from the grasp."""
    tracker, right, off = KeyStateTracker(task), [], []
    for states, grasp in zip(episodes, grasps, strict=True):
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
    assert np.mean(right) > 0.97
    assert np.mean(off) < 0.12


def test_progress_rises_to_one_and_so_does_that_of_the_task(task, episodes):
    tracker = KeyStateTracker(task)
    reported = follow(tracker, episodes[3])
    for a, b in pairwise(reported):
        assert b.index >= a.index
        if a.index == b.index:
            assert b.progress >= a.progress and b.seconds > a.seconds
    assert reported[0].progress < 0.1 and reported[0].task_progress < 0.1
    assert reported[-1].progress > 0.9 and reported[-1].task_progress > 0.9
    total = np.array([now.task_progress for now in reported])
    assert ((total >= 0) & (total <= 1)).all() and (np.diff(total) > -0.1).all()


def test_waiting_begins_anew_with_progress(task, episodes):
    waiting = [now.waiting for now in follow(KeyStateTracker(task), episodes[3])]
    assert sum(b < a for a, b in pairwise(waiting)) >= 5  # of about 16 bins
    assert max(waiting) < 1.5


def test_it_is_judged_by_demonstrations_left_out(task):
    (tool,) = task.subtasks.tools
    assert (tool.right > 0.95).all() and (tool.error < 0.15).all() and tool.followed.all()
    text = str(task)
    assert "sub-task 1 (reach cube): followed; right at" in text
    own = task.subtasks.tools[0]
    seconds = 3 * own.usual / task.detectors.timing.frequency
    assert [line.split("stalled after ")[1] for line in text.splitlines() if "stalled" in line] == [
        f"{time:.1f} s without progress" for time in seconds
    ]
    assert "key state 1" in text
    poor = replace(task.subtasks, tools=(replace(tool, right=np.array([1, 0.5])),))
    lines = [poor.describe(20, follow_all).splitlines()[1] for follow_all in (False, True)]
    assert ["stalled" in line for line in lines] == [False, True]


def test_unreliable_parts_are_reported_only_on_request():
    """Parts of random walks without a pattern, cut at random."""
    rng = np.random.default_rng(0)
    walks = [np.cumsum(rng.standard_normal((80, 3)), axis=0) for _ in range(8)]
    cuts = rng.integers(10, 70, 8)
    lengths = np.full(8, 80)
    parts = Subtask("tool", 0 * cuts, cuts), Subtask("tool", cuts, lengths)
    found = discover_keystates(walks, labels={i: [int(cut)] for i, cut in enumerate(cuts)})
    task = found.follow(Subtasks(parts, lengths))
    assert not task.subtasks.tools[0].followed.any()
    tracker = KeyStateTracker(task)
    assert "NOT followed" in tracker.describe()
    assert follow(tracker, walks[0]) == [None] * 80
    every = KeyStateTracker(task, follow_all=True)
    assert "NOT followed" not in every.describe()
    assert all(now is not None for now in follow(every, walks[0]))


def test_a_part_that_a_demonstration_lacks():
    """Half of the demonstrations do not visit the second place, and half of the others, too."""
    states, subtasks = visits(count=16, seed=2, lacking=0.5)
    found = discover_keystates(packed(states), count=2)
    tracker = KeyStateTracker(found.follow(subtasks))
    others, truth = visits(count=8, seed=3, lacking=0.5)
    for i, episode in enumerate(others):
        tracker.reset()
        reported = np.array([now.index for now in follow(tracker, episode)])
        true = truth.active(i)
        assert (reported == true).mean() > 0.75  # the first steps to either place are similar
        assert ((reported == 1).sum() > 12) == (i >= 4)


def test_a_stop_is_a_stall_but_an_episode_is_not(task, episodes, grasps):
    """The end of a task is not a stall, either, however long it lasts."""
    tracker = KeyStateTracker(task)
    rng = np.random.default_rng(0)
    false, missed = 0, 0
    for states, grasp in zip(episodes, grasps, strict=True):
        tracker.reset()
        reported = follow(tracker, np.concatenate([states, np.repeat(states[-1:], 200, axis=0)]))
        false += any(now.stalled for now in reported)
        tracker.reset()
        at = int(rng.integers(10, grasp + 10))
        noise = 0.0005 * rng.standard_normal((200, states.shape[1]))
        reported = follow(tracker, np.concatenate([states[:at], states[at] + noise]))
        missed += not reported[-1].stalled
        assert reported[-1].waiting > 3 or not reported[-1].stalled
    assert false <= 3
    assert missed <= 3


def test_a_cube_left_behind_is_a_stall(task, episodes):
    """The arm does the complete motion, and the cube stays."""
    names = list(task.columns)
    cube = [names.index(f"cube.{axis}") for axis in ("x", "y", "z", "qw", "qx", "qy", "qz")]
    to_cube = [names.index(f"tool_to_cube.{axis}") for axis in "xyz"]
    to_goal = [names.index(f"cube_to_goal.{axis}") for axis in "xyz"]
    tool = [names.index(f"tool.{axis}") for axis in "xyz"]
    tracker, stalled = KeyStateTracker(task), 0
    for states in episodes:
        left = states.copy()
        left[:, cube], left[:, to_goal] = states[0, cube], states[0, to_goal]
        left[:, to_cube] = left[:, cube[:3]] - states[:, tool]
        tracker.reset()
        reported = follow(tracker, np.concatenate([left, np.repeat(left[-1:], 120, axis=0)]))
        stalled += reported[-1].stalled
    assert stalled >= 27


def test_a_retry_begins_the_part_anew(three):
    """From the third place back to the first: the part is an earlier one again."""
    found, subtasks = three
    (episode,), truth = visits(count=1, seed=9)
    second, third = int(truth.parts[1].start[0]), int(truth.parts[2].start[0])
    back = episode[second:third][::-1]
    tracker = KeyStateTracker(found.follow(subtasks))
    reported = follow(
        tracker, np.concatenate([episode[:third], np.repeat(back, 2, axis=0), episode])
    )
    assert reported[third - 5].index == 1
    assert reported[-1].index == 2 and reported[-1].progress > 0.8


def test_a_pose_of_the_last_part_is_not_that_part_before_the_others(three):
    """The point rests, as the first thing it does, where all demonstrations pass at the end."""
    found, subtasks = three
    (episode,), _ = visits(count=1, seed=20)
    tracker = KeyStateTracker(found.follow(subtasks))
    assert follow(tracker, episode[-1:])[0].index == 0
    pose = episode[0] + np.array([-0.12, 0.12, 0.21, 0, 0, 0])
    share = (0.5 - 0.5 * np.cos(np.linspace(0, np.pi, 24)))[:, None]
    path = episode[0] + share * (pose - episode[0])
    path = np.concatenate([path, np.repeat(path[-1:], 20, axis=0)])
    tracker.reset()
    assert {now.index for now in follow(tracker, path)} == {0}


@pytest.mark.parametrize("share", [0.0, 0.3, 0.6, 1.0])
def test_a_rest_changes_no_part(three, share):
    """The arm rests for 20 s and goes on: the parts are those of the episode without the rest."""
    found, subtasks = three
    (episode,), _ = visits(count=1, seed=9)
    at = round(share * (len(episode) - 1))
    rest = np.repeat(episode[at : at + 1], 20 * RATE, axis=0)
    tracker = KeyStateTracker(found.follow(subtasks))
    parts = [now.index for now in follow(tracker, episode)]
    tracker.reset()
    path = np.concatenate([episode[: at + 1], rest, episode[at + 1 :]])
    rested = [now.index for now in follow(tracker, path)]
    assert np.mean(np.delete(rested, slice(at, at + len(rest))) != parts) < 0.1
    assert min(rested[at : at + len(rest)]) >= parts[at]


@pytest.mark.parametrize("seed", [9, 10, 11, 12])
def test_noise_while_the_arm_rests_is_no_motion(seed):
    """A joint that never moves has noise, too, and so has the rest of 20 s."""
    rng = np.random.default_rng(0)
    states, subtasks = visits(seed=1)
    states = [np.column_stack([s, 1e-3 * rng.normal(size=len(s))]) for s in states]
    task = discover_keystates(packed(states), count=2).follow(subtasks)
    (episode,), _ = visits(count=1, seed=seed)
    episode = np.column_stack([episode, 1e-3 * rng.normal(size=len(episode))])
    parts = [now.index for now in follow(KeyStateTracker(task), episode)]
    for share in (0.0, 0.15, 0.8, 1.0):
        at = round(share * (len(episode) - 1))
        rest = np.repeat(episode[at : at + 1], 20 * int(RATE), axis=0)
        rest[:, [0, 1, 2, 6]] += 1e-3 * rng.normal(size=(len(rest), 4))
        path = np.concatenate([episode[: at + 1], rest, episode[at + 1 :]])
        held = [now.index for now in follow(KeyStateTracker(task), path)][at : at + len(rest)]
        assert set(held) == {parts[at]}


@pytest.mark.parametrize("factor", [5.0, 2.0, 0.5])
def test_other_rates_by_argument_and_by_stamps(task, episodes, grasps, factor):
    """Streams of 100, 40 and 10 Hz, followed with demonstrations of 20 Hz."""
    stream, rate = resampled(episodes[5], factor), 20 * factor
    stamps = np.arange(len(stream)) / rate
    for tracker in (KeyStateTracker(task, rate=rate), KeyStateTracker(task)):
        reported = follow(tracker, stream, stamps)
        carries = next(i for i, now in enumerate(reported) if now is not None and now.index == 1)
        assert abs(stamps[carries] - grasps[5] / 20) <= 0.3
        assert reported[-1].task_progress > 0.9 and not any(now and now.stalled for now in reported)


def test_a_saved_file_gives_the_same_tracker(demos, task, episodes, tmp_path):
    found, subtasks = demos
    found.save(tmp_path / "task.json", subtasks)
    tracker = KeyStateTracker(tmp_path / "task.json")
    assert follow(tracker, episodes[0]) == follow(KeyStateTracker(task), episodes[0])
    assert tracker.task.subtasks.parts == task.subtasks.parts
    found.save(tmp_path / "task.json")
    assert KeyStateTracker(tmp_path / "task.json").subtask_states == ()


def test_two_tools(three):
    """Each tool has its own state; the first one is that of the tracker."""
    found, one = three
    both = replace(
        one,
        parts=(
            *one.parts,
            Subtask("other", one.parts[0].start, one.parts[1].end),
            Subtask("other", one.parts[2].start, one.parts[2].end),
        ),
    )
    tracker = KeyStateTracker(found.follow(both))
    (episode,), _ = visits(count=1, seed=7)
    follow(tracker, episode)
    first, second = tracker.subtask_states
    assert tracker.subtask == first
    assert (first.tool, first.index, second.tool, second.index) == ("tool", 2, "other", 4)
    assert second.name == "other: part 2"


def test_positions_by_columns_are_those_by_name():
    states, subtasks = visits(seed=1)
    parts = (replace(subtasks.parts[0], reference="first"), *subtasks.parts[1:])
    subtasks = replace(subtasks, parts=parts)
    named = discover_keystates(packed(states, NAMES), count=2).follow(subtasks).subtasks
    placed = replace(subtasks, places=POSITIONS)
    plain = discover_keystates(packed(states), count=2).follow(placed).subtasks
    np.testing.assert_array_equal(named.tools[0].model.pairs, [[0, 1, 2, 3, 4, 5]])
    np.testing.assert_array_equal(named.tools[0].model.means, plain.tools[0].model.means)
    assert not len(
        discover_keystates(packed(states), count=2).follow(subtasks).subtasks.tools[0].model.pairs
    )


def test_one_demonstration_is_followed_and_not_judged():
    states, subtasks = visits(count=1, seed=4)
    found = discover_keystates(packed(states), count=2)
    tracker = KeyStateTracker(found.follow(subtasks))
    assert "followed; not judged" in tracker.describe()
    assert follow(tracker, states[0])[-1].index == 2


def changed(parts, i, bounds):
    """Sub-tasks with other bounds in demonstration i; the place of an empty part is arbitrary."""
    out = []
    for part, (start, end) in zip(parts, bounds, strict=True):
        starts, ends = part.start.copy(), part.end.copy()
        starts[i], ends[i] = start, end
        out.append(replace(part, start=starts, end=ends))
    return tuple(out)


def test_a_part_that_is_lacking_or_in_another_order(demos):
    found, own = demos
    bounds = [[(int(p.start[i]), int(p.end[i])) for p in own.parts] for i in range(2)]
    first, second, *rest = bounds[0]
    lacking = changed(own.parts, 0, [(first[0], second[1]), (0, 0), *rest])
    assert found.follow(replace(own, parts=lacking)).subtasks.tool_names == own.tools
    first, second, *rest = bounds[1]
    longer = second[1] - second[0]
    swapped = changed(lacking, 1, [(longer, second[1]), (0, longer), *rest])
    assert found.follow(replace(own, parts=swapped)).subtasks.tool_names == own.tools
    every = own.parts
    for i in range(len(own.lengths)):
        first, second, *rest = [(int(p.start[i]), int(p.end[i])) for p in own.parts]
        longer = second[1] - second[0]
        every = changed(every, i, [(longer, second[1]), (0, longer), *rest])
    with pytest.raises(InputError, match="in this order, so they cannot be followed: leave"):
        found.follow(replace(own, parts=every))


def test_invalid_sub_tasks_are_refused(demos):
    found, own = demos
    with pytest.raises(InputError, match=r"9 demonstrations.*of the same demonstrations"):
        found.follow(replace(own, lengths=own.lengths[:9]))
    with pytest.raises(InputError, match="do not cover demonstration 0 completely"):
        found.follow(replace(own, parts=own.parts[1:]))
    with pytest.raises(InputError, match="no sub-tasks to follow"):
        found.follow(replace(own, parts=()))
