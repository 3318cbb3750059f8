"""Sub-tasks of a running episode."""

from __future__ import annotations

import json
from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest

from infoatlas_rt import InputError, KeyStateTracker, Trajectories, discover_keystates
from infoatlas_rt.keystates.progress.live_subtasks import LiveSubtasks
from infoatlas_rt.keystates.result import KeyStates
from infoatlas_rt.keystates.subtasks import Subtask, Subtasks
from task_parts import RATE, pickcube, reach_and_carry, visits

NAMES = tuple(f"{body}.{axis}" for body in ("tool", "first") for axis in "xyz")
POSITIONS = {"tool": [0, 1, 2], "first": [3, 4, 5]}


def packed(states, names=()):
    return Trajectories(np.concatenate(states), np.array([len(s) for s in states]), names, RATE)


def follow(tracker, states, stamps=None):
    """The state of the sub-task after each push."""
    found = []
    for i, state in enumerate(states):
        tracker.push(state, None if stamps is None else stamps[i])
        found.append(tracker.subtask)
    return found


def resampled(states, factor):
    """The same motion with `factor` times as many steps, by linear interpolation."""
    t = np.arange(int((len(states) - 1) * factor) + 1) / factor
    return np.column_stack([np.interp(t, np.arange(len(states)), c) for c in states.T])


@pytest.fixture(scope="module")
def pick():
    """Ten demonstrations, their sub-tasks, and 30 other episodes with their grasps."""
    states, grasps, names = pickcube()
    found = discover_keystates(packed(states[:10], names), k=1)
    subtasks = reach_and_carry(states[:10], grasps[:10])
    return found, found.follow(subtasks), states[40:70], grasps[40:70]


@pytest.fixture(scope="module")
def three():
    states, subtasks = visits(seed=1)
    found = discover_keystates(packed(states), k=2)
    return found, found.follow(subtasks)


def test_parts_of_unseen_episodes(pick):
    """The part is right at 97% of the steps that are at least 0.25 s from the grasp."""
    found, live, episodes, grasps = pick
    tracker, right, off = KeyStateTracker(found, subtasks=live), [], []
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


def test_progress_rises_to_one_and_so_does_that_of_the_task(pick):
    found, live, episodes, _ = pick
    tracker = KeyStateTracker(found, subtasks=live)
    reported = follow(tracker, episodes[3])
    for a, b in pairwise(reported):
        assert b.index >= a.index
        if a.index == b.index:
            assert b.progress >= a.progress and b.seconds > a.seconds
    assert reported[0].progress < 0.1 and reported[0].total < 0.1
    assert reported[-1].progress > 0.9 and reported[-1].total > 0.9
    total = np.array([now.total for now in reported])
    assert ((total >= 0) & (total <= 1)).all() and (np.diff(total) > -0.1).all()


def test_waiting_begins_anew_with_progress(pick):
    found, live, episodes, _ = pick
    waiting = [now.waiting for now in follow(KeyStateTracker(found, subtasks=live), episodes[3])]
    assert sum(b < a for a, b in pairwise(waiting)) >= 5  # of about 16 bins
    assert max(waiting) < 1.5


def test_it_is_judged_by_demonstrations_left_out(pick):
    found, live, _, _ = pick
    (tool,) = live.tools
    assert (tool.right > 0.95).all() and (tool.error < 0.15).all() and tool.followed.all()
    text = KeyStateTracker(found, subtasks=live).describe()
    assert "sub-task 1 (reach cube): followed; right at" in text
    assert "key state 1" in text


def test_unreliable_parts_are_reported_only_on_request():
    """Parts of random walks without a pattern, cut at random."""
    rng = np.random.default_rng(0)
    walks = [np.cumsum(rng.standard_normal((80, 3)), axis=0) for _ in range(8)]
    cuts = rng.integers(10, 70, 8)
    lengths = np.full(8, 80)
    parts = Subtask("tool", 0 * cuts, cuts), Subtask("tool", cuts, lengths)
    found = discover_keystates(walks, k=2, method="phase")
    live = found.follow(Subtasks(parts, lengths))
    assert not live.tools[0].followed.any()
    tracker = KeyStateTracker(found, subtasks=live)
    assert "NOT followed" in tracker.describe()
    assert follow(tracker, walks[0]) == [None] * 80
    every = follow(KeyStateTracker(found, subtasks=live, every=True), walks[0])
    assert all(now is not None for now in every)


def test_a_part_that_a_demonstration_lacks():
    """Half of the demonstrations do not visit the second place, and half of the others, too."""
    states, subtasks = visits(count=16, seed=2, lacking=0.5)
    found = discover_keystates(packed(states), k=2)
    tracker = KeyStateTracker(found, subtasks=subtasks)
    others, truth = visits(count=8, seed=3, lacking=0.5)
    for i, episode in enumerate(others):
        tracker.reset()
        reported = np.array([now.index for now in follow(tracker, episode)])
        true = truth.active(i)
        assert (reported == true).mean() > 0.75  # the first steps to either place are similar
        assert ((reported == 1).sum() > 12) == (i >= 4)


def test_a_stop_is_a_stall_but_an_episode_is_not(pick):
    """The end of a task is not a stall, either, however long it lasts."""
    found, live, episodes, grasps = pick
    tracker = KeyStateTracker(found, subtasks=live)
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


def test_a_cube_left_behind_is_a_stall(pick):
    """The arm does the complete motion, and the cube stays."""
    found, live, episodes, _ = pick
    names = list(found.names)
    cube = [names.index(f"cube.{axis}") for axis in ("x", "y", "z", "qw", "qx", "qy", "qz")]
    to_cube = [names.index(f"tool_to_cube.{axis}") for axis in "xyz"]
    to_goal = [names.index(f"cube_to_goal.{axis}") for axis in "xyz"]
    tool = [names.index(f"tool.{axis}") for axis in "xyz"]
    tracker, stalled = KeyStateTracker(found, subtasks=live), 0
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
    found, live = three
    (episode,), truth = visits(count=1, seed=9)
    second, third = int(truth.parts[1].start[0]), int(truth.parts[2].start[0])
    back = episode[second:third][::-1]
    tracker = KeyStateTracker(found, subtasks=live)
    reported = follow(
        tracker, np.concatenate([episode[:third], np.repeat(back, 2, axis=0), episode])
    )
    assert reported[third - 5].index == 1
    assert reported[-1].index == 2 and reported[-1].progress > 0.8


@pytest.mark.parametrize("factor", [5.0, 2.0, 0.5])
def test_other_rates_by_argument_and_by_stamps(pick, factor):
    """Streams of 100, 40 and 10 Hz, followed with demonstrations of 20 Hz."""
    found, live, episodes, grasps = pick
    stream, rate = resampled(episodes[5], factor), 20 * factor
    stamps = np.arange(len(stream)) / rate
    for tracker in (
        KeyStateTracker(found, rate=rate, subtasks=live),
        KeyStateTracker(found, subtasks=live),
    ):
        reported = follow(tracker, stream, stamps)
        carries = next(i for i, now in enumerate(reported) if now is not None and now.index == 1)
        assert abs(stamps[carries] - grasps[5] / 20) <= 0.3
        assert reported[-1].total > 0.9 and not any(now and now.stalled for now in reported)


def test_a_saved_file_gives_the_same_tracker(pick, tmp_path):
    found, live, episodes, _ = pick
    expected = follow(KeyStateTracker(found, subtasks=live), episodes[0])
    for subtasks in (live, live.subtasks):
        found.save(tmp_path / "task.json", subtasks)
        tracker = KeyStateTracker(tmp_path / "task.json")
        assert follow(tracker, episodes[0]) == expected
        own = tracker.live_subtasks.subtasks
        assert own.names == live.subtasks.names and own.rate == RATE
        np.testing.assert_array_equal(own.parts[1].start, live.subtasks.parts[1].start)
    KeyStates.load(tmp_path / "task.json").save(tmp_path / "again.json")
    assert (tmp_path / "again.json").read_text() == (tmp_path / "task.json").read_text()


def test_files_of_the_format_before_are_read(pick, tmp_path):
    found, _, episodes, _ = pick
    found.save(tmp_path / "task.json")
    values = json.loads((tmp_path / "task.json").read_text())
    assert values["format"] == 4 and values.pop("subtasks") is None
    values["format"] = 3
    (tmp_path / "task.json").write_text(json.dumps(values))
    tracker = KeyStateTracker(tmp_path / "task.json")
    assert tracker.live_subtasks is None
    assert follow(tracker, episodes[0][:5]) == [None] * 5 and tracker.subtask_states == ()
    values["format"] = 2
    (tmp_path / "task.json").write_text(json.dumps(values))
    with pytest.raises(InputError, match="format 2, this version reads 3 and 4"):
        KeyStateTracker(tmp_path / "task.json")


@pytest.mark.parametrize(
    ("where", "value"),
    [
        (("tools", 0, "model", "bins"), [8, 0]),
        (("tools", 0, "model", "means"), [[1.0]]),
        (("tools", 0, "model", "pairs"), [[0, 1, 2, 3, 4, 99]]),
        (("tools", 0, "usual"), [1.0, 0.0]),
        (("tools", 0, "model", "back"), 0),
        (("subtasks", "parts", 0, "orientation"), "sideways"),
        (("subtasks", "parts", 0, "end"), [5]),
        (("tools",), []),
    ],
)
def test_a_damaged_file_is_refused(pick, tmp_path, where, value):
    found, live, _, _ = pick
    found.save(tmp_path / "task.json", live)
    values = json.loads((tmp_path / "task.json").read_text())
    at = values["subtasks"]
    for key in where[:-1]:
        at = at[key]
    at[where[-1]] = value
    (tmp_path / "task.json").write_text(json.dumps(values))
    with pytest.raises(InputError, match="no file of key states"):
        KeyStates.load(tmp_path / "task.json")


def test_two_tools(three):
    """Each tool has its own state; the first one is that of the tracker."""
    found, live = three
    one = live.subtasks
    both = replace(
        one,
        parts=(
            *one.parts,
            Subtask("other", one.parts[0].start, one.parts[1].end),
            Subtask("other", one.parts[2].start, one.parts[2].end),
        ),
    )
    tracker = KeyStateTracker(found, subtasks=both)
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
    named = discover_keystates(packed(states, NAMES), k=2).follow(subtasks)
    placed = replace(subtasks, places=POSITIONS)
    plain = discover_keystates(packed(states), k=2).follow(placed)
    np.testing.assert_array_equal(named.tools[0].model.pairs, [[0, 1, 2, 3, 4, 5]])
    np.testing.assert_array_equal(named.tools[0].model.means, plain.tools[0].model.means)
    assert not len(discover_keystates(packed(states), k=2).follow(subtasks).tools[0].model.pairs)


def test_a_model_survives_a_dictionary(pick):
    found, live, _, _ = pick
    width = found.live.coordinates.width
    values = json.loads(json.dumps(live.to_dict()))
    again = LiveSubtasks.from_dict(values, len(found.live.coordinates.names), width)
    assert again.to_dict() == live.to_dict()


def test_one_demonstration_is_followed_and_not_judged():
    states, subtasks = visits(count=1, seed=4)
    found = discover_keystates(packed(states), k=2)
    tracker = KeyStateTracker(found, subtasks=subtasks)
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


def test_a_part_that_is_lacking_or_in_another_order(pick):
    found, live, _, _ = pick
    own = live.subtasks
    bounds = [[(int(p.start[i]), int(p.end[i])) for p in own.parts] for i in range(2)]
    first, second, *rest = bounds[0]
    lacking = changed(own.parts, 0, [(first[0], second[1]), (0, 0), *rest])
    assert found.follow(replace(own, parts=lacking)).subtasks.tools == own.tools
    first, second, *rest = bounds[1]
    longer = second[1] - second[0]
    swapped = changed(lacking, 1, [(longer, second[1]), (0, longer), *rest])
    assert found.follow(replace(own, parts=swapped)).subtasks.tools == own.tools
    every = own.parts
    for i in range(len(own.lengths)):
        first, second, *rest = [(int(p.start[i]), int(p.end[i])) for p in own.parts]
        longer = second[1] - second[0]
        every = changed(every, i, [(longer, second[1]), (0, longer), *rest])
    with pytest.raises(InputError, match="in this order, so they cannot be followed: leave"):
        found.follow(replace(own, parts=every))


def test_invalid_sub_tasks_are_refused(pick, tmp_path):
    found, live, _, _ = pick
    own = live.subtasks
    with pytest.raises(InputError, match=r"9 demonstrations.*of the same demonstrations"):
        found.follow(replace(own, lengths=own.lengths[:9]))
    with pytest.raises(InputError, match="do not cover demonstration 0 completely"):
        found.follow(replace(own, parts=own.parts[1:]))
    with pytest.raises(InputError, match="no sub-tasks to follow"):
        found.follow(replace(own, parts=()))
    found.save(tmp_path / "task.json")
    with pytest.raises(InputError, match="loaded from a file"):
        KeyStateTracker(tmp_path / "task.json", subtasks=own)
