"""Key states of a running episode."""

from dataclasses import replace

import numpy as np
import pytest

from infoatlas_rt import KeyStateTracker
from infoatlas_rt.live.coordinates import Coordinates, Follower
from infoatlas_rt.live.quaternions import SIZES, Group
from refusals import refuses
from regimes import demonstrations


def follow(tracker, states, stamps=None):
    stamps = [None] * len(states) if stamps is None else stamps
    return [
        event
        for state, stamp in zip(states, stamps, strict=True)
        for event in tracker.push(state, stamp)
    ]


def test_unseen_episodes(found):
    states, cuts = demonstrations(count=10, seed=4)
    tracker = KeyStateTracker(found)
    assert tracker.followed.all()
    away = []
    for episode, true in zip(states, cuts, strict=True):
        tracker.reset()
        events = follow(tracker, episode)
        assert [event.keystate for event in events] == [0, 1]
        away += np.abs([event.step for event in events] - true).tolist()
        assert all(0 < event.score <= 1 for event in events)
        assert all(4 <= event.detected_step - event.step <= 6 for event in events)
    assert np.mean(np.array(away) <= 3) >= 0.9


def test_it_is_causal(found):
    """Reports up to step t do not depend on states after t."""
    (episode,), _ = demonstrations(count=1, seed=5)
    whole = follow(KeyStateTracker(found), episode)
    for cut in (10, 30, 50):
        part = follow(KeyStateTracker(found), episode[:cut])
        assert part == [event for event in whole if event.detected_step < cut]


def test_a_reused_array_is_no_rest(found):
    (episode,), _ = demonstrations(count=1, seed=10)
    buffer, tracker = np.empty(6), KeyStateTracker(found)
    events = []
    for state in episode:
        buffer[:] = state
        events += tracker.push(buffer)
    assert events == follow(KeyStateTracker(found), episode)


def test_a_robot_at_rest_reports_nothing(found):
    assert follow(KeyStateTracker(found), np.zeros((100, 6))) == []


def test_invalid_trackers_are_refused(found, tmp_path):
    for rate in (0, -5, "fast", np.inf):
        refuses("rate is", KeyStateTracker, found, rate=rate)
    refuses("follow_all is 'no'", KeyStateTracker, found, follow_all="no")
    timing = replace(found.detectors.timing, rate=None)
    unknown = replace(found, detectors=replace(found.detectors, timing=timing))
    refuses("that of the demonstrations is unknown", KeyStateTracker, unknown, rate=50)
    refuses("does not exist", KeyStateTracker, tmp_path / "none.json")
    refuses("task is of type int: pass a Task, KeyStates, or", KeyStateTracker, 3)


@pytest.mark.parametrize("kind", SIZES)
def test_a_rotation_that_is_no_measurement_is_passed_over(kind):
    own = Coordinates(SIZES[kind], (Group(kind, tuple(range(SIZES[kind]))),), ((0, 0),))
    lost = 0.0 if kind in ("quaternion", "matrix", "rotation_6d") else -9999.0
    made = Follower(own, 1).push(np.full((1, own.width), lost), np.zeros(1, np.int64))
    np.testing.assert_array_equal(made, [[0.0]])
