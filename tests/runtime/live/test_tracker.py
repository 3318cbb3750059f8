"""Key states of a running episode."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest

from infoatlas_rt import InputError, KeyStateTracker
from infoatlas_rt.live.coordinates import Coordinates, Follower
from infoatlas_rt.live.quaternions import SIZES, Group
from infoatlas_tools import Trajectories, discover_keystates
from infoatlas_tools.files.load import load_trajectories
from regimes import demonstrations
from task_parts import pickcube, reach_and_carry, resampled, retried

PICKCUBE = Path(__file__).parents[3] / "examples" / "data" / "pickcube.npz"


def follow(tracker, states, stamps=None):
    stamps = [None] * len(states) if stamps is None else stamps
    return [
        event
        for state, stamp in zip(states, stamps, strict=True)
        for event in tracker.push(state, stamp)
    ]


@pytest.fixture(scope="module")
def found():
    return discover_keystates(Trajectories(demonstrations(count=15, seed=3)[0], rate=20), count=2)


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
    found = discover_keystates(Trajectories(states[:15], rate=20), labels={0: {"grasp": grasps[0]}})
    assert found.detectors.once.all()
    tracker = KeyStateTracker(found.follow(reach_and_carry(states[:15], grasps[:15])))
    for episode, grasp in zip(states[15:25], grasps[15:25], strict=True):
        tracker.reset()
        (event,) = follow(tracker, episode)
        tracker.reset()
        first, second = follow(tracker, retried(episode, grasp))
        assert (first.step, second.step) == (event.step, event.step + 2 * 27)


def two_picks(rng, closed=False):
    """Two objects carried to one place: states [T, 3], and steps at which the gripper switches."""
    at = np.array([[0, 4], [0, -4]]) + rng.uniform(-1, 1, (2, 2))
    stops = np.stack([np.zeros(2), at[0], [6, 0], at[1], [6, 0], np.zeros(2)])
    place, grip, steps = [np.zeros(2)] * 10, [float(not closed)] * 10, []
    for i, (a, b) in enumerate(pairwise(stops)):
        length = int(rng.integers(35, 50))
        u = (np.arange(length) + 1) / length
        place += list(a + (b - a) * (3 * u**2 - 2 * u**3)[:, None])
        to, now = float(i % 2), grip[-1]
        grip += [1.0 if i in (0, 2) and t > 5 else now for t in range(length)]
        if i < 4:
            steps.append(len(grip))
            place, grip = place + [b] * 10, grip + np.linspace(grip[-1], to, 10).tolist()
    states = np.c_[np.array(place), grip]
    return states + 0.01 * rng.standard_normal(states.shape), np.array(steps)


def test_equal_motions_are_told_apart_by_the_sub_task():
    rng = np.random.default_rng(0)
    demos = [two_picks(rng)[0] for _ in range(12)]
    found = discover_keystates(Trajectories(demos, names=("x", "y", "gripper"), rate=20), count=4)
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


def test_it_is_judged_by_demonstrations_left_out(found):
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


def test_it_is_causal(found):
    """Reports up to step t do not depend on states after t."""
    (episode,), _ = demonstrations(count=1, seed=5)
    whole = follow(KeyStateTracker(found), episode)
    for cut in (10, 30, 50):
        part = follow(KeyStateTracker(found), episode[:cut])
        assert part == [event for event in whole if event.detected_step < cut]


def test_reset_starts_a_new_episode(found):
    (episode,), _ = demonstrations(count=1, seed=6)
    tracker = KeyStateTracker(found)
    first = follow(tracker, episode)
    tracker.reset()
    assert tracker.step == -1
    assert follow(tracker, episode) == first


def test_a_task_and_its_file_give_the_same_tracker(found, tmp_path):
    found.save(tmp_path / "task.json")
    (episode,), _ = demonstrations(count=1, seed=7)
    expected = follow(KeyStateTracker(found), episode)
    for task in (found.follow(), tmp_path / "task.json", str(tmp_path / "task.json")):
        assert follow(KeyStateTracker(task), episode) == expected


@pytest.mark.parametrize("factor", [5.0, 2.0, 0.5])
def test_other_rates_by_argument_and_by_stamps(found, factor):
    """Streams of 100, 40 and 10 Hz, followed with demonstrations of 20 Hz."""
    (episode,), cuts = demonstrations(count=1, seed=12)
    stream, rate = resampled(episode, factor), 20 * factor
    stamps = np.arange(len(stream)) / rate
    for tracker in (KeyStateTracker(found, rate=rate), KeyStateTracker(found)):
        events = follow(tracker, stream, stamps)
        assert [event.keystate for event in events] == [0, 1]
        assert np.abs([event.stamp for event in events] - cuts[0] / 20).max() <= 0.25
        assert all(e.stamp == stamps[e.step] for e in events)


@pytest.mark.parametrize("rate", [60, 180, 220])
def test_the_rate_by_stamps_in_milliseconds(found, rate):
    tracker, expected = KeyStateTracker(found), KeyStateTracker(found, rate=rate)
    (episode,), _ = demonstrations(count=1, seed=12)
    stream = resampled(episode, rate / 20)
    stamps = (np.arange(len(stream)) / rate).round(3)
    stamps[4:] += 0.4  # a pause
    events, other = (follow(one, stream, stamps) for one in (tracker, expected))
    assert [event.step for event in events] == [event.step for event in other]
    assert tracker._filter._stride == expected._filter._stride


def test_a_bad_state_is_refused_and_the_episode_goes_on(found):
    (episode,), _ = demonstrations(count=1, seed=9)
    tracker, other = KeyStateTracker(found), KeyStateTracker(found)
    events = []
    for step, state in enumerate(episode):
        if step == 12:
            with pytest.raises(InputError, match="NaN"):
                tracker.push(np.full_like(state, np.nan))
            with pytest.raises(InputError, match=r"state has shape \(3,\).*6 coordinates"):
                tracker.push(state[:3])
        events += tracker.push(state)
    assert events == follow(other, episode)


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
        with pytest.raises(InputError, match="rate is"):
            KeyStateTracker(found, rate=rate)
    with pytest.raises(InputError, match="follow_all is 'no'"):
        KeyStateTracker(found, follow_all="no")
    unknown = discover_keystates(demonstrations(count=15, seed=3)[0], count=2)
    with pytest.raises(InputError, match="that of the demonstrations is unknown"):
        KeyStateTracker(unknown, rate=50)
    with pytest.raises(InputError, match="does not exist"):
        KeyStateTracker(tmp_path / "none.json")
    with pytest.raises(InputError, match="task is of type int: pass a Task, KeyStates, or"):
        KeyStateTracker(3)


def test_a_large_integer_is_refused(found):
    """Its own first integer would be subtracted from a single state, which then is 0."""
    width = found.detectors.coordinates.width
    with pytest.raises(InputError, match="float64 is exact to 2"):
        KeyStateTracker(found).push(np.full(width, 2**60 + 1))


@pytest.mark.parametrize("kind", SIZES)
def test_a_rotation_that_is_no_measurement_is_passed_over(kind):
    own = Coordinates(SIZES[kind], (Group(kind, tuple(range(SIZES[kind]))),), ((0, 0),))
    lost = 0.0 if kind in ("quaternion", "matrix", "rotation_6d") else -9999.0
    made = Follower(own, 1).push(np.full((1, own.width), lost), np.zeros(1, np.int64))
    np.testing.assert_array_equal(made, [[0.0]])
