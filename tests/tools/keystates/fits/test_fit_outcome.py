"""When a task is done: ranks among demonstrations that were left out, and their bound."""

import numpy as np
import pytest

from infoatlas_rt import KeyStateTracker
from infoatlas_tools import Trajectories, discover_keystates
from infoatlas_tools.keystates.fits.fit_outcome import Ending, fit_ends
from refusals import refuses
from task_parts import two_picks


def ending(stopped, at_end=0.5, length=150, soon=40):
    """At a distance from the ends where it is stopped, and at another one at its end."""
    far = np.full(length + soon + 1, 9.0)
    far[length:] = at_end
    return Ending(far, np.array([9.0, stopped]), length)


@pytest.mark.parametrize(
    ("count", "level", "near", "bound"),
    [
        (10, None, 0.55, 1 / 11),
        (10, 0.1, 0.55, 1 / 11),
        (30, None, 0.625, 3 / 31),
        (30, 0.05, 0.55, 1 / 31),
        (10, 0.05, None, np.nan),  # 19 are needed
        (1, None, None, np.nan),
        (-10, None, None, np.nan),  # the ends are no nearer than the stops
    ],
)
def test_rank_and_bound(count, level, near, bound):
    endings = [ending(0.6 + i if count > 0 else 0.4) for i in range(abs(count))]
    limit, false_done, share, why = fit_ends(endings, 3, 40, level)
    np.testing.assert_equal(false_done, bound)
    assert ("left out" in why) == (near is None) and limit == pytest.approx(near or 0)
    # An end that is reported is one before which none of the others is.
    assert near is None or share == np.sum([own.stopped[1] > near for own in endings]) / (count + 1)


def test_the_retry_of_the_first_of_two_objects():
    """With joints alone: the gripper closes, opens on the way, and closes again."""
    rng = np.random.default_rng(0)
    demos = [two_picks(rng)[0] for _ in range(12)]
    found = discover_keystates(Trajectories(demos, names=("x", "y", "gripper"), rate=20), count=4)
    refuses("false_done", found.follow, false_done=1)
    task = found.follow(found.subtasks())
    assert task.outcome.grippers[0].part.tolist() == [0, 2]
    right = 0
    for _ in range(10):
        states, steps = two_picks(rng)
        begin, end = steps[0] - 15, steps[0] + 22
        states = np.concatenate([states[:end], states[begin:end][::-1], states[begin:]])
        tracker, again = KeyStateTracker(task), end + (end - begin) + 15
        parts, reasons = [], set()
        for state in states:
            tracker.push(state)
            reasons |= {tracker.outcome.reason} if tracker.outcome.state == "failed" else set()
            parts.append(-1 if tracker.subtask is None else tracker.subtask.index)
        assert all("gripper opened at" in reason for reason in reasons)
        right += parts[again - 5] == 0 and max(parts[again : again + 20]) == 1 and len(reasons) == 1
    assert right >= 9


@pytest.mark.parametrize(
    ("widths", "dip", "judged"),
    [
        ((0.3, 0.02), 0.0, True),
        ((0.3, 0.02), 0.25, True),
        ((0.3, 0.2), 0.0, False),
        ((0.0, 0.0), 0.0, False),
    ],
    ids=["one width", "closes further at first", "widths differ as much", "nothing between"],
)
def test_the_width_of_a_grasp_is_judged_if_demonstrations_agree(widths, dip, judged):
    rng = np.random.default_rng(1)
    demos = []
    for _ in range(10):
        states, _ = two_picks(rng)
        width = widths[0] + widths[1] * rng.uniform(-1, 1)
        held = states[:, 2] < width
        states[:, 2] = np.maximum(states[:, 2], width)
        for begin in np.flatnonzero(np.diff(held.astype(int), prepend=0) == 1):
            states[begin + 1 : begin + 3, 2] -= dip
        demos.append(states)
    found = discover_keystates(Trajectories(demos, names=("x", "y", "gripper"), rate=20), count=4)
    task = found.follow()
    assert ("closes to less than half" in task.outcome.about) == judged
    tracker = KeyStateTracker(task)
    for states in demos:  # no demonstration fails by its own limits
        tracker.reset()
        for state in states:
            tracker.push(state)
            assert tracker.outcome.state != "failed", tracker.outcome.reason
