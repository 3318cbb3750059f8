"""Detectors that are fitted to key states, followed in other episodes."""

from __future__ import annotations

import numpy as np

from episodes import PICKCUBE, RATE, pickcube, retried
from infoatlas_rt import KeyStateTracker, Task
from infoatlas_tools import Trajectories, discover_keystates
from infoatlas_tools.files.load import load_trajectories
from regimes import demonstrations
from task_parts import reach_and_carry, two_picks, visits


def follow(tracker, states):
    return [event for state in states for event in tracker.push(state)]


def test_grasps_of_unseen_demonstrations_within_three_steps():
    trajectories = load_trajectories(PICKCUBE)
    ends = np.cumsum(trajectories.lengths)[:-1]
    states = np.split(trajectories.states, ends)
    with np.load(PICKCUBE) as file:
        grasp = [flag.argmax() for flag in np.split(file["is_grasped"], ends)]
    found = discover_keystates(states[:15], count=1)
    tracker = KeyStateTracker(found)
    column = int(found.order[0])
    away = []
    for episode, true in zip(states[15:45], grasp[15:45], strict=True):
        tracker.reset()
        away += [e.step - true for e in follow(tracker, episode) if e.keystate == column]
    assert len(away) == 30
    assert np.abs(away).max() <= 3


def test_a_key_state_is_reported_again_after_a_retry():
    states, grasps, _ = pickcube()
    found = discover_keystates(
        Trajectories(states[:15], rate=RATE), labels={0: {"grasp": grasps[0]}}
    )
    assert found.detectors.once.all()
    tracker = KeyStateTracker(found.follow(reach_and_carry(states[:15], grasps[:15])))
    for episode, grasp in zip(states[15:25], grasps[15:25], strict=True):
        tracker.reset()
        (event,) = follow(tracker, episode)
        tracker.reset()
        first, second = follow(tracker, retried(episode, grasp))
        assert (first.step, second.step) == (event.step, event.step + 2 * 27)


def test_equal_motions_are_told_apart_by_the_sub_task():
    rng = np.random.default_rng(0)
    demos = [two_picks(rng)[0] for _ in range(12)]
    found = discover_keystates(Trajectories(demos, names=("x", "y", "gripper"), rate=RATE), count=4)
    alone, task = found.follow(), found.follow(found.subtasks())
    assert alone.detectors.followed.tolist() == [True, True, False, False]
    assert task.detectors.followed.all()
    assert (task.detectors.earliest.ravel() >= [1, 2, 2, 3]).all()
    tracker = KeyStateTracker(task)
    for closed in (False, True):  # its first opening is no release
        for _ in range(5):
            states, steps = two_picks(rng, closed)
            tracker.reset()
            events = follow(tracker, states)
            assert [event.keystate for event in events] == [0, 1, 2, 3]
            assert np.abs([event.step for event in events] - steps).max() <= 10


def test_it_is_judged_by_demonstrations_left_out():
    states, _ = demonstrations(count=15, seed=3)
    found = discover_keystates(Trajectories(states, rate=RATE), count=2)
    own = found.detectors
    assert (own.recall == 15.5 / 16).all()  # one more demonstration counts half
    assert (own.false_reports <= 0.2).all()
    assert ((own.delay > 0.1) & (own.delay < 0.5)).all()
    assert "followed" in KeyStateTracker(found).describe()


def test_unreliable_key_states_are_reported_only_on_request():
    rng = np.random.default_rng(0)
    walks = [np.cumsum(rng.standard_normal((80, 3)), axis=0) for _ in range(8)]
    steps = rng.integers(10, 70, (8, 2)).tolist()  # labels of nothing
    found = discover_keystates(walks, labels=dict(enumerate(steps)))
    assert (found.detectors.recall < 0.6).any()
    tracker, every = KeyStateTracker(found), KeyStateTracker(found, follow_all=True)
    np.testing.assert_array_equal(tracker.followed, found.detectors.followed)
    assert every.followed.all() and not tracker.followed.all()
    assert "NOT followed" in tracker.describe()
    reported = {event.keystate for walk in walks for event in follow(tracker, walk)}
    assert reported <= set(np.flatnonzero(tracker.followed).tolist())


def test_what_is_not_shared_or_not_judged_survives(tmp_path):
    states, _ = visits(count=1, seed=2)
    own = discover_keystates(states, count=2).follow()
    own.detectors.threshold[0], own.detectors.followed[0] = np.inf, False
    own.save(tmp_path / "task.json")
    again = Task.load(tmp_path / "task.json")
    for name in ("threshold", "recall", "delay", "false_reports"):
        np.testing.assert_array_equal(getattr(again.detectors, name), getattr(own.detectors, name))
    assert "NOT followed; not common" in str(again)
    assert again.subtasks is None
