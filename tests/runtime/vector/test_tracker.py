"""Key states in parallel environments."""

import numpy as np
import pytest

from episodes import TASKS, places
from infoatlas_rt import KeyStateTracker, Task, VectorTracker
from refusals import refuses
from regimes import demonstrations


def alone(found, states):
    """Steps and times of detection by a tracker of one episode."""
    tracker = KeyStateTracker(found)
    return [(e.step, e.detected_step) for state in states for e in tracker.push(state)]


def test_it_agrees_with_single_trackers(found):
    states, _ = demonstrations(count=6, seed=4)
    tracker = VectorTracker(6, found)
    detected = [[] for _ in states]
    for step in range(max(map(len, states))):
        rows = [row for row, episode in enumerate(states) if step < len(episode)]
        tracker.push(np.stack([states[row][step] for row in rows]), rows)
        for row in rows:
            detected[row] += [step] * int(tracker.gain()[row])
    for row, episode in enumerate(states):
        expected = alone(found, episode)
        assert list(tracker.steps[row]) == [step for step, _ in expected]
        assert detected[row] == [at for _, at in expected]
    assert list(tracker.newest) == [1] * 6


def test_a_reset_concerns_its_environments_alone(found):
    (episode, other), _ = demonstrations(count=2, seed=6)
    tracker = VectorTracker(3, found)
    for state in episode[: min(len(episode), len(other)) // 2]:
        tracker.push(np.stack([state, state, state]))
    before = tracker.newest.copy(), tracker.steps.copy()
    tracker.reset(np.array([False, True, False]))
    assert tracker.newest[1] == -1 and tracker.newest[0] == before[0][0] >= 0
    np.testing.assert_array_equal(tracker.steps[[0, 2]], before[1][[0, 2]])
    for state in other:
        tracker.push(state[None], [1])
    assert list(tracker.steps[1]) == [step for step, _ in alone(found, other)]


def test_a_refused_state_is_left_out(found):
    (episode,), _ = demonstrations(count=1, seed=9)
    tracker = VectorTracker(2, found)
    for step, state in enumerate(episode):
        if step == 12:
            tracker.push(np.full((1, 6), np.nan), [1])
        tracker.push(np.stack([state, state]))
    assert list(tracker.refused) == [0, 1]
    assert list(tracker.steps[1]) == list(tracker.steps[0]) != [-1, -1]


def test_bonus_counts_each_key_state_once(found):
    states, _ = demonstrations(count=2, seed=11)
    expected = len(alone(found, states[0])) + len(alone(found, states[1]))
    stream = np.concatenate(states)
    ends = np.cumsum([len(s) for s in states])
    for known in (True, False):  # the true last state
        tracker = VectorTracker(1, found)
        tracker.push(stream[:1])
        total = 0.0
        for step in range(1, len(stream)):
            # The step that ends the first episode returns the first state of the second.
            if step == ends[0] - 1:
                final = stream[step][None] if known else None
                value = tracker.bonus(stream[step + 1][None], np.array([True]), final)
            elif step == ends[0]:
                continue  # it came with the reset
            else:
                value = tracker.bonus(stream[step][None], np.array([False]))
            assert value.dtype == np.float32 and value.shape == (1,)
            total += float(value[0])
        assert total == expected
        assert list(tracker.steps[0]) == [step for step, _ in alone(found, states[1])]


def test_refusals(found, parts):
    tracker = VectorTracker(2, found)
    assert list(tracker.infos()) == ["key_state", "task_done", "task_failed"]
    refuses("no sub-tasks to follow: pass KeyStates", tracker.subtask)
    refuses("tool is 'left': use one of tool", VectorTracker(2, parts).subtask, "left")
    refuses(r"states have shape \(3, 6\).*\[2, d\]", tracker.push, np.zeros((3, 6)))
    refuses(r"5 coordinates.*found with 6", tracker.push, np.zeros((2, 5)))
    refuses(r"done has shape \(3,\)", tracker.bonus, np.zeros((2, 6)), np.zeros(3, bool))
    refuses("dtype float64: pass booleans", tracker.bonus, np.zeros((2, 6)), np.full(2, 0.5))
    refuses("envs", VectorTracker, 0, found)
    refuses("follow_all is 2", VectorTracker, 1, found, follow_all=2)


@pytest.fixture(scope="module")
def parts():
    return Task.load(TASKS / "three_places.json")


@pytest.mark.parametrize("rate", [None, 40.0, 10.0])
def test_sub_tasks_are_those_of_single_trackers(parts, rate):
    """One of the parallel episodes stops half-way; no report is early."""
    states, _ = places(count=4, seed=5)
    states[3] = np.concatenate([states[3][:30], np.repeat(states[3][30:31], 200, axis=0)])
    tracker = VectorTracker(4, parts, rate=rate)
    single = [KeyStateTracker(parts, rate=rate) for _ in states]
    assert list(tracker.subtask()["subtask"]) == [-1] * 4
    for step in range(max(map(len, states))):
        rows = [row for row, episode in enumerate(states) if step < len(episode)]
        tracker.push(np.stack([states[row][step] for row in rows]), rows)
        found_now = tracker.infos()
        for row in rows:
            single[row].push(states[row][step])
            assert (single[row].outcome.state == "done") == tracker.done[row]
            own, now = single[row].subtask, {key: v[row] for key, v in found_now.items()}
            if own is None:
                assert (now["subtask"], now["subtask_progress"], now["task_progress"]) == (-1, 0, 0)
                continue
            assert now["subtask"] == own.index and now["subtask_stalled"] == own.stalled
            np.testing.assert_allclose(now["subtask_progress"], own.progress, atol=1e-6)
            np.testing.assert_allclose(now["task_progress"], own.task_progress, atol=1e-6)
            np.testing.assert_allclose(now["subtask_waiting"], own.waiting, rtol=1e-6)
    assert found_now["subtask_stalled"][3] and not found_now["subtask_stalled"][:3].any()
    assert (found_now["subtask"][:3] == 2).all()
    for _ in range(20):
        tracker.push(states[0][-1:], [0])
    assert tracker.infos()["task_done"][0]
    tracker.reset([0])
    assert not tracker.done[0] and not tracker.failed.any()
    assert list(tracker.subtask()["subtask"])[:2] == [-1, 2]
