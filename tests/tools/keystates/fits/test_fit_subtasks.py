"""Models of sub-tasks that are fitted to demonstrations, followed in other episodes."""

from dataclasses import replace

import numpy as np
import pytest

from episodes import RATE, follow_parts as follow, pickcube
from infoatlas_rt import InputError, KeyStateTracker
from infoatlas_tools import Trajectories, discover_keystates
from infoatlas_tools.keystates.subtasks import Subtask, Subtasks
from refusals import refuses
from task_parts import reach_and_carry, visits

NAMES = tuple(f"{body}.{axis}" for body in ("tool", "first") for axis in "xyz")
POSITIONS = {"tool": [0, 1, 2], "first": [3, 4, 5]}


def packed(states, names=()):
    return Trajectories(states, names=names, rate=RATE)


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
    poor = replace(task.subtasks, tools=(replace(tool, followed=np.array([True, False])),))
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
    assert "NOT followed" in tracker.describe() and follow(tracker, walks[0]) == [None] * 80
    every = KeyStateTracker(task, follow_all=True)
    assert "NOT followed" not in every.describe()
    assert all(now is not None for now in follow(every, walks[0]))


def test_a_part_that_a_demonstration_lacks():
    """Half of the demonstrations do not visit the second place, and half of the others, too."""
    states, subtasks = visits(count=16, seed=2, lacking=0.5)
    tracker = KeyStateTracker(discover_keystates(packed(states), count=2).follow(subtasks))
    others, truth = visits(count=8, seed=3, lacking=0.5)
    for i, episode in enumerate(others):
        tracker.reset()
        reported = np.array([now.index for now in follow(tracker, episode)])
        true = truth.active(i)
        assert (reported == true).mean() > 0.75  # the first steps to either place are similar
        assert ((reported == 1).sum() > 12) == (i >= 4)


def test_noise_while_the_arm_rests_is_no_motion():
    """A joint that never moves has noise, too, and so has the rest of 10 s."""
    rng = np.random.default_rng(0)
    states, subtasks = visits(seed=1)
    states = [np.column_stack([s, 1e-3 * rng.normal(size=len(s))]) for s in states]
    task = discover_keystates(packed(states), count=2).follow(subtasks)
    for seed in (9, 10, 11, 12):
        (episode,), _ = visits(count=1, seed=seed)
        episode = np.column_stack([episode, 1e-3 * rng.normal(size=len(episode))])
        parts = [now.index for now in follow(KeyStateTracker(task), episode)]
        for share in (0.0, 0.15, 0.8, 1.0):
            at = round(share * (len(episode) - 1))
            rest = np.repeat(episode[at : at + 1], 10 * int(RATE), axis=0)
            rest[:, [0, 1, 2, 6]] += 1e-3 * rng.normal(size=(len(rest), 4))
            path = np.concatenate([episode[: at + 1], rest, episode[at + 1 :]])
            held = [now.index for now in follow(KeyStateTracker(task), path)][at : at + len(rest)]
            assert set(held) == {parts[at]}, (seed, share)


def test_a_saved_file_gives_the_same_tracker(demos, task, tmp_path):
    found, subtasks = demos
    found.save(tmp_path / "task.json", subtasks)
    tracker = KeyStateTracker(tmp_path / "task.json")
    episode = pickcube()[0][40]
    assert follow(tracker, episode) == follow(KeyStateTracker(task), episode)
    assert tracker.task.subtasks.parts == task.subtasks.parts
    found.save(tmp_path / "task.json")
    assert KeyStateTracker(tmp_path / "task.json").subtask_states == ()


def test_positions_by_columns_are_those_by_name():
    states, subtasks = visits(seed=1)
    parts = (replace(subtasks.parts[0], reference="first"), *subtasks.parts[1:])
    subtasks = replace(subtasks, parts=parts)
    named = discover_keystates(packed(states, NAMES), count=2).follow(subtasks).subtasks
    placed = replace(subtasks, places=POSITIONS)
    plain = discover_keystates(packed(states), count=2).follow(placed).subtasks
    np.testing.assert_array_equal(named.tools[0].model.pairs, [[0, 1, 2, 3, 4, 5]])
    np.testing.assert_array_equal(named.tools[0].model.means, plain.tools[0].model.means)
    alone = discover_keystates(packed(states), count=2).follow(subtasks)
    assert not len(alone.subtasks.tools[0].model.pairs)


def test_one_demonstration_is_followed_and_not_judged():
    states, subtasks = visits(count=1, seed=4)
    tracker = KeyStateTracker(discover_keystates(packed(states), count=2).follow(subtasks))
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
    refuses("no sub-tasks to follow", found.follow, replace(own, parts=()))
