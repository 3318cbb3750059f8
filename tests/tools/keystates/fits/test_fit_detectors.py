"""Detectors fitted to key states: followed in other episodes, and what they promise of these."""

import json

import numpy as np
import pytest

from episodes import RATE, TASKS, pickcube, retried
from infoatlas_rt import KeyStateTracker, Task
from infoatlas_rt.live.json_file import plain
from infoatlas_rt.live.timing import Timing
from infoatlas_tools import Trajectories, discover_keystates
from infoatlas_tools.keystates.fits.fit_detectors import _judge, _space, maxima
from infoatlas_tools.keystates.motion.durations import ONE_EVENT
from regimes import demonstrations
from task_files import make
from task_parts import reach_and_carry, two_picks, visits

TIMING = Timing(1, 20.0, 20.0)
GAP = TIMING.steps(ONE_EVENT)


def follow(tracker, states):
    return [event for state in states for event in tracker.push(state)]


def test_grasps_of_unseen_demonstrations_within_three_steps():
    states, grasp, _ = pickcube()
    found = discover_keystates(states[:15], count=1)
    tracker = KeyStateTracker(found)
    column = int(found.order[0])
    away = []
    for episode, true in zip(states[15:45], grasp[15:45], strict=True):
        tracker.reset()
        away += [e.step - true for e in follow(tracker, episode) if e.keystate == column]
    assert len(away) == 30 and np.abs(away).max() <= 3


def test_a_key_state_is_reported_again_after_a_retry():
    states, grasps, _ = pickcube()
    given = Trajectories(states[:15], rate=RATE)
    found = discover_keystates(given, labels={0: {"grasp": grasps[0]}})
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
    assert task.detectors.followed.all() and (task.detectors.earliest.ravel() >= [1, 2, 2, 3]).all()
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
    assert (own.false_reports <= 0.2).all() and ((own.delay > 0.1) & (own.delay < 0.5)).all()
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
    assert "NOT followed; not common" in str(again) and again.subtasks is None


def scores(rng, count, height):
    """Noise, with a bump of a height at a random step of each episode."""
    steps, made = rng.integers(20, 80, count).astype(float), []
    for step in steps:
        bump = height * np.exp(-0.5 * ((np.arange(100) - step) / 2) ** 2)
        made.append(bump + 0.2 * rng.standard_normal(100))
    return made, steps


def without(made):
    """A single part."""
    return [np.zeros((len(score), 1), np.int64) for score in made]


@pytest.mark.parametrize("count", [5, 20])
@pytest.mark.parametrize("height", [0.5, 1.0])
def test_a_promise_holds_on_other_episodes(count, height):
    rng, found = np.random.default_rng(0), []
    for _ in range(40):
        made, steps = scores(rng, count, height)
        threshold, once, _, recall, _, false = _judge(made, steps, without(made), TIMING, 0.0)
        hits = reports = 0
        for score, step in zip(*scores(rng, 40, height), strict=True):
            peak = maxima(score)
            peak = _space(peak[score[peak] > threshold], GAP)[: 1 if once else None]
            hits += (np.abs(peak - step) <= GAP).any()
            reports += len(peak)
        found.append((recall - hits / 40, (reports - hits) / 40 - false))
    assert (np.mean(found, axis=0) <= 0.05).all()


def test_of_equal_thresholds_the_middle_one_is_taken():
    score = np.zeros(60)
    score[[10, 40]] = 0.3, 0.9
    made = _judge([score] * 4, np.full(4, 40.0), without([score] * 4), TIMING, 0.2)
    threshold, once, _, recall, delay, false = made
    assert once and 0.5 < threshold < 0.7
    assert (recall, false) == (0.9, 0.1)  # one more counts half
    assert delay == pytest.approx(0.2)


def test_the_second_of_two_equal_motions_is_found_by_its_part():
    score = np.zeros(60)
    score[[10, 40]] = 0.9
    parts = np.repeat([[0], [1]], 30, axis=0)
    made = [score] * 10, np.full(10, 40.0)
    once, earliest, recall, _, false = _judge(*made, [parts] * 10, TIMING, 0.2)[1:]
    assert once and earliest.tolist() == [1] and recall > 0.9 and false < 0.1
    false = _judge(*made, without(made[0]), TIMING, 0.2)[-1]
    assert false > 0.9
    # In two demonstrations the sub-task comes too late: the other eight decide.
    late = [np.repeat([[0], [1]], [50, 10], axis=0)] * 2
    once, earliest, recall, _, false = _judge(*made, [parts] * 8 + late, TIMING, 0.2)[1:]
    assert once and earliest.tolist() == [1] and (recall, false) == (8.5 / 11, 0.5 / 11)


def test_reports_after_steps_back_are_counted():
    score = np.zeros(60)
    score[[10, 40]] = 0.9
    parts = np.repeat([[1], [0], [1]], 20, axis=0)
    steps = np.full(10, 10.0)
    back = _judge([score] * 10, steps, [parts] * 10, TIMING, 0.2)
    straight = _judge([score] * 10, steps, [np.ones_like(parts)] * 10, TIMING, 0.2)
    assert back[-1] > 0.9 and straight[-1] < 0.1


def test_rounding_at_rest_is_no_maximum():
    score = np.repeat([0.2, 0.7, 0.4], [5, 200, 5])
    score[5:205] += 1e-16 * np.random.default_rng(0).integers(-3, 4, 200)
    assert len(np.unique(score)) > 3
    np.testing.assert_array_equal(maxima(score), [5])


def test_a_rare_key_state_is_not_followed():
    moves = [np.repeat([[1, 0], [0, 1]], [20 + i, 20], axis=0).cumsum(axis=0) for i in range(6)]
    found = discover_keystates(moves, count=1).found
    assert found.common.all()
    found.steps[:4, 0] = np.ma.masked
    assert found.shared.all() and not found.common.any()


@pytest.mark.parametrize("name", make.FITS)
def test_the_tasks_of_the_tests_are_what_is_fitted(name):
    """Run tests/task_files/make.py after a change of the fit or of the format."""

    def flat(value):
        if isinstance(value, dict):
            return [one for key in value for one in (key, *flat(value[key]))]
        return [one for item in value for one in flat(item)] if isinstance(value, list) else [value]

    tasks = Task.load(TASKS / f"{name}.json"), make.FITS[name]()
    stored, fitted = (flat(json.loads(json.dumps(plain(task)))) for task in tasks)
    assert len(stored) == len(fitted)
    for one, other in zip(stored, fitted, strict=True):
        if isinstance(other, float):  # sums of other lengths or orders, on other processors
            other = pytest.approx(other, rel=1e-4, abs=1e-6)
        assert one == other
