"""Key states of a running episode."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from infoatlas_rt import InputError, KeyStateTracker, discover_keystates
from infoatlas_rt.files.load import load_trajectories
from regimes import demonstrations

PICKCUBE = Path(__file__).parents[3] / "examples" / "data" / "pickcube.npz"


def follow(tracker, states):
    return [event for state in states for event in tracker.push(state)]


@pytest.fixture(scope="module")
def found():
    return discover_keystates(demonstrations(count=15, seed=3)[0], k=2)


def test_unseen_episodes_within_two_steps(found):
    states, cuts = demonstrations(count=10, seed=4)
    tracker = KeyStateTracker(found)
    for episode, true in zip(states, cuts, strict=True):
        tracker.reset()
        events = follow(tracker, episode)
        assert [event.keystate for event in events] == [0, 1]
        assert np.abs([event.detected_step for event in events] - true).max() <= 3
        assert np.abs([event.step for event in events] - true).max() <= 2
        assert all(0.99 < event.posterior <= 1 for event in events)
        assert all(event.step <= event.detected_step for event in events)


def test_grasps_of_unseen_demonstrations_within_two_steps():
    trajectories = load_trajectories(PICKCUBE)
    ends = np.cumsum(trajectories.lengths)[:-1]
    states = np.split(trajectories.states, ends)
    with np.load(PICKCUBE) as file:
        grasp = [flag.argmax() for flag in np.split(file["is_grasped"], ends)]
    found = discover_keystates(states[:15], k=1)
    tracker = KeyStateTracker(found)
    delays = []
    for episode, true in zip(states[15:45], grasp[15:45], strict=True):
        tracker.reset()
        delays += [event.detected_step - true for event in follow(tracker, episode)]
    assert len(delays) == 30
    assert np.abs(delays).max() <= 2


def test_it_is_causal(found):
    """What is reported by step t does not depend on states after t."""
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


def test_a_saved_file_tracks_alike(found, tmp_path):
    found.save(tmp_path / "task.json")
    (episode,), _ = demonstrations(count=1, seed=7)
    assert follow(KeyStateTracker(tmp_path / "task.json"), episode) == follow(
        KeyStateTracker(found), episode
    )


def test_probabilities_sum_to_one_and_start_in_the_first_phase(found):
    (episode,), _ = demonstrations(count=1, seed=8)
    tracker = KeyStateTracker(found)
    tracker.push(episode[0])
    np.testing.assert_allclose(tracker.probability, [1, 0, 0], atol=1e-12)
    for state in episode[1:]:
        tracker.push(state)
        assert np.isclose(tracker.probability.sum(), 1)
    assert tracker.probability[-1] > 0.99


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


def test_a_robot_at_rest_that_jitters_reports_nothing():
    states, _ = demonstrations(count=15, seed=3)
    held = [np.concatenate([np.repeat(s[:1], 20, axis=0), s]) for s in states]  # at rest first
    rest = held[0][0] + 1e-3 * np.random.default_rng(0).standard_normal((100, 6))
    tracker = KeyStateTracker(discover_keystates(held, k=2, resolution=1e-2))
    assert follow(tracker, rest) == []


def test_what_cannot_be_tracked(found):
    for posterior in (1.5, "0.9", None):
        with pytest.raises(InputError, match=f"posterior is {posterior!r}"):
            KeyStateTracker(found, posterior=posterior)
    states, _ = demonstrations(count=12)
    pointwise = discover_keystates(states, k=2, method="pointwise")
    with pytest.raises(InputError, match="method='phase'"):
        KeyStateTracker(pointwise)
