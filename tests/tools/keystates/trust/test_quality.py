"""Unusual demonstrations: failed grasps, missing events, idle time, faults of recordings."""

import numpy as np
import pytest

from infoatlas_tools import Trajectories, discover_keystates
from infoatlas_tools.keystates.contacts.gripper import Switch
from infoatlas_tools.keystates.trust.quality import CAUSES, Grip, _widths, at_rest
from infoatlas_tools.keystates.trust.recording_faults import equal_frames

NAMES = ("tool.x", "cube.x", "finger")
GRASP, RELEASE, END = 4.0, 8.0, 11.0  # seconds


def demonstration(rate, *, attempts=(), width=0.3, holds=True, end=END, idle=0.0, home=False):
    """Reach, grasp, carry and release [T, 3]; `attempts` (s) and `home` close fingers, too."""
    t = np.maximum(np.arange(0, end + idle, 1 / rate) - idle, 0)
    ways = [0.5, 3.5, GRASP + 0.5, RELEASE - 0.5, RELEASE + 0.5, END]
    tool = np.interp(t, ways, [0, 1, 1, 2, 2, 0])
    carried = np.interp(t, [0.5, GRASP + 0.5, RELEASE - 0.5], [1, 1, 2 if holds else 1])
    knots = [(0, 1), *((GRASP, 1), (GRASP + 0.3, width), (RELEASE, width), (RELEASE + 0.3, 1))]
    knots += [(END - 1, 1), (END - 0.7, 0)] if home else []
    for second in attempts:
        grip = (0, 1), (0.2, width), (0.7, width), (0.9, 1)
        knots += [(second + at, level) for at, level in grip]
    return np.column_stack([tool, carried, np.interp(t, *np.transpose(sorted(knots)))])


def found_in(made, names=NAMES, count=5, rate=20.0, noise=1e-3):
    """Key states of demonstrations with noise."""
    rng = np.random.default_rng(0)
    states = [own + noise * rng.normal(size=own.shape) for own in made]
    return discover_keystates(Trajectories(states, names=names, rate=rate), count)


def discover(changed, rate=20.0, columns=(0, 1, 2), count=5):
    """Quality of twelve demonstrations, of which those of the dict `changed` differ."""
    made = [demonstration(rate, **changed.get(i, {}))[:, columns] for i in range(12)]
    return found_in(made, [NAMES[c] for c in columns], count, rate).quality


def flagged(quality):
    return {i: q.attempts for i, q in enumerate(quality) if q.attempts}


@pytest.mark.parametrize("rate", [10.0, 30.0, 100.0])
def test_a_gripper_closes_on_nothing(rate):
    quality = discover({3: {"attempts": [1.0, 2.5]}, 7: {"holds": False}}, rate)
    found = flagged(quality)
    assert set(found) == {3, 7}
    assert np.abs([step / rate for step, _ in found[3]] - np.array([1.2, 2.7])).max() < 0.15
    assert abs(found[7][0][0] / rate - 4.3) < 0.15
    seen = f"no object follows the closed gripper {CAUSES}"
    assert {reason for row in found.values() for _, reason in row} == {seen}
    assert quality[7].failures == [f"at step {found[7][0][0]}, {seen}"]
    assert "grasp cube" in quality[7].missing and not quality[3].missing


def test_without_bodies_the_width_tells():
    changed = {i: {"width": 0.3 + 0.01 * (i % 3)} for i in range(12)} | {5: {"width": 0.12}}
    found = flagged(discover(changed, columns=(0, 2)))
    assert set(found) == {5}
    ((_, reason),) = found[5]
    how, share = reason.removesuffix("% of its usual opening").split(", by ")
    assert how == "gripper closes further than usual" and 15 <= int(share) <= 35
    assert not flagged(discover({i: {"width": 0.05 * (i % 7)} for i in range(12)}, columns=(0, 2)))


@pytest.mark.parametrize("columns", [(0, 1, 2), (0, 2)])
def test_fingers_that_close_at_home_are_no_attempt(columns):
    home = {i: {"home": True} for i in range(12)}
    assert not flagged(discover(home, columns=columns))
    home[5] = {"home": True, "width": 0.1, "holds": False}
    found = flagged(discover(home, columns=columns))
    assert set(found) == {5} and abs(found[5][0][0] / 20 - 4.3) < 0.15 and len(found[5]) == 1


def test_without_bodies_an_extra_time_is_the_shortest():
    found = flagged(discover({5: {"attempts": [2.0]}}, columns=(0, 2)))
    ((step, reason),) = found.pop(5)
    assert not found and abs(step / 20 - 2.1) < 0.15 and reason == "gripper closes an extra time"
    assert not flagged(discover({i: {"attempts": [2.0]} for i in range(6)}, columns=(0, 2)))


def test_widths_are_those_of_the_same_grip():
    made = []
    for i in range(12):
        widths = [0.5 if i == 2 else 0.2, -0.3 if i == 5 else 0.5]
        made.append(np.concatenate([demonstration(20.0, width=w)[:, [0, 2]] for w in widths]))
    found = flagged(found_in(made, ("tool.x", "finger")).quality)
    assert [reason[:27] for _, reason in found.pop(2)] == ["gripper closes less than us"]
    assert [reason[:27] for _, reason in found.pop(5)] == ["gripper closes further than"]
    assert not found


def test_the_second_of_two_is_missing():
    one = demonstration(20.0)[:, [0, 2]]
    made = [one if i == 7 else np.concatenate([one, one]) for i in range(12)]
    quality = found_in(made, ("tool.x", "finger")).quality
    assert quality[7].missing == ("gripper closes 2", "gripper opens 2")
    assert not any(q.missing for i, q in enumerate(quality) if i != 7)


def test_another_order_is_named():
    made = []
    for i in range(12):
        tool, moved, finger = demonstration(20.0).T
        first, second = np.r_[moved, np.full(220, 2.0)], np.r_[np.ones(220), moved]
        bodies = (second, first) if i == 3 else (first, second)
        made.append(np.column_stack([np.tile(tool, 2), *bodies, np.tile(finger, 2)]))
    for count in (1, 5):
        quality = found_in(made, ("tool.x", "cube.x", "can.x", "finger"), count).quality
        assert [q.reasons for i, q in enumerate(quality) if i != 3] == [[]] * 11
        assert quality[3].reasons == ["another order: grasp can before grasp cube"]


def test_missing_and_repeated_events_do_not_depend_on_the_count():
    for count in (1, 5):
        quality = discover({2: {"end": 3.8}, 4: {"attempts": [2.0]}}, columns=(0, 2), count=count)
        assert quality[2].missing == ("gripper closes", "gripper opens")
        assert quality[4].repeated == ("gripper closes", "gripper opens")
        others = [q for i, q in enumerate(quality) if i not in (2, 4)]
        assert not any(q.missing or q.repeated or q.attempts for q in others)


def test_a_contact_within_a_grasp_is_not_lacking():
    """The cube begins to move 1 s after the gripper closes, and in one demonstration at once."""
    path, made = demonstration(20.0), []
    for late in (0 if i == 3 else 20 for i in range(12)):
        finger = np.r_[path[late:, 2], np.repeat(path[-1:, 2], late)]
        made.append(np.column_stack([path[:, :2], finger]))
    found = found_in(made)
    begun = [["cube begins to move" in [e.kind.name for e in row]] for row in found.evidence.events]
    assert np.flatnonzero(~np.ravel(begun)).tolist() == [3]
    assert not any(q.missing for q in found.quality)


@pytest.mark.parametrize("lasts", [0.8, 2.6])
def test_attempts_and_the_numbers_of_switches(lasts):
    """The arm pushes with the closed gripper, and in two demonstrations fails to grasp at first.

    A short attempt has the last number. A long one may be a grasp, and takes its number.
    """
    push = [(0, 1), (1, 1), (1.2, 0), (7, 0), (7.2, 1)]
    fails = [(8, 1), (8.2, 0), (8.2 + lasts, 0), (8.4 + lasts, 1)]
    grasps = [(12, 1), (12.2, 0.3), (17, 0.3), (17.2, 1)]
    names, made = ("tool.x", "gripper"), []
    for i in range(12):
        knots = [*push, *(fails if i in (2, 5) else []), *grasps, (20, 1)]
        t = np.arange(0, 20, 0.05)
        tool = np.interp(t, [0, 1, 7, 9, 12, 17, 20], [0, 0.5, 1, 1.5, 1.5, 3, 0])
        made.append(np.column_stack([tool, np.interp(t, *np.transpose(knots))]))
    found = found_in(made, names, "auto")
    assert not found.warnings
    assert [bool(quality.attempts) for quality in found.quality] == [i in (2, 5) for i in range(12)]
    if lasts < 2:
        expected = [22, 142, 242, 342]  # switches of 0.2 s
        np.testing.assert_allclose(found.steps[:, :4], [expected] * 12, atol=3)
    assert not found_in(made[6:], names, "auto").warnings


def test_idle_time_is_measured():
    quality = discover({2: {"idle": 20.0}}, columns=(0, 2))
    assert max(q.idle for i, q in enumerate(quality) if i != 2) + 0.3 < quality[2].idle


def frozen(first, last, *columns):
    def spoil(states):
        states[first:last, list(columns)] = states[first, list(columns)]

    return spoil


def coded(states):
    states[60:64, 0] = -9999


@pytest.mark.parametrize(
    ("spoil", "reason"),
    [
        (frozen(70, None, 0), "tool.x keeps exactly one value from step 70 to 219"),
        (frozen(110, None, 1), "cube.x keeps exactly one value from step 110 to 219"),
        (frozen(0, None, 1), "cube.x keeps exactly one value from step 0 to 219"),
        (frozen(40, 70, 0, 1, 2), "tool.x and 2 more keep exactly one value from step 40 to 69"),
        (coded, "tool.x is far out: -9999 (usual "),
    ],
)
@pytest.mark.parametrize("spoiled", [[5], [2, 5]])
def test_faults_of_recordings_are_named_and_are_no_failed_grasps(spoil, reason, spoiled):
    rng = np.random.default_rng(0)
    states = [demonstration(20.0) for _ in range(12)]
    states = [s + 1e-3 * rng.normal(size=s.shape) for s in states]
    for i in spoiled:
        spoil(states[i])
    quality = discover_keystates(Trajectories(states, names=NAMES, rate=20), 5).quality
    assert [i for i, q in enumerate(quality) if q.faults] == spoiled
    assert all(quality[i].faults[0].startswith(reason) for i in spoiled) and not flagged(quality)


def test_objects_and_quantised_joints_may_rest():
    states = [demonstration(20.0, idle=0.3 * i).round(2) for i in range(12)]
    quality = discover_keystates(Trajectories(states, names=NAMES, rate=20), 5).quality
    assert not any("one value" in fault for q in quality for fault in q.faults)


def test_equal_frames_are_named():
    rng = np.random.default_rng(0)
    states = [s + 1e-3 * rng.normal(size=s.shape) for s in [demonstration(20.0)] * 6]
    states[3], states[4][20:60] = states[1], states[0][30:70]
    named = Trajectories(states, names=NAMES, rate=20, episodes=[*"abcdef"])
    faults = [q.faults for q in discover_keystates(named, 5).quality]
    assert faults[1] == ("220 of 220 frames equal to those of d",)
    assert faults[3] == ("220 of 220 frames equal to those of b",)
    assert faults[0] == ("40 of 220 frames equal to those of e",)
    assert not faults[2] and not faults[5]
    # The same values in other columns are other frames.
    turned = np.concatenate([states[0], states[0][:, ::-1]])
    columns, lengths = np.arange(turned.shape[1]), np.repeat(len(states[0]), 2)
    assert equal_frames(turned, columns, lengths, ("a", "b")) == [[], []]


def test_rest_with_the_steps_of_an_encoder():
    """Steps of 0.088 degrees, and noise of half of it: the arm rests for three seconds at first."""
    rng, states = np.random.default_rng(0), []
    for i in range(10):
        t = np.arange(60 + 200)
        way = np.interp(t, [0, 60, 110, 150, 260], [0, 0, 40, 10 + i, 60])
        path = way[:, None] * [1, 0.6, -0.8]
        states.append(np.round((path + rng.normal(0, 0.04, path.shape)) / 0.088) * 0.088)
    found = discover_keystates(Trajectories(states, names=("a", "b", "c"), rate=20.0), 2)
    recordings = found.recordings
    for own in recordings.states:
        still = at_rest(recordings.scales, own)
        stride = recordings.timing.stride
        assert abs(stride * np.flatnonzero(~still)[0] - 60) <= 4 * stride
        assert not still[60 // stride + 4 :].any()


def test_rest_of_a_joint_that_hardly_moves():
    """Joint c moves by two steps of its encoder, and dithers by one before and after."""
    rng, step, states = np.random.default_rng(0), 360 / 4096, []
    for i in range(10):
        way = np.interp(np.arange(340), [0, 90, 150, 190, 250, 340], [0, 0, 40, 10 + i, 60, 60])
        path = way[:, None] * [1, 0.6, 0.003]
        path[:, 2] += 0.3 * step * rng.normal(size=340) * (rng.random(340) < 0.4)
        states.append(np.round(path / step) * step)
    found = discover_keystates(Trajectories(states, names=("a", "b", "c"), rate=20.0), 2)
    scales = found.recordings.scales
    assert scales.noise[2] == 0 and scales.quantum[2] == pytest.approx(step)
    for own in found.recordings.states:
        moving = np.flatnonzero(~at_rest(scales, own))
        assert 86 <= moving[0] <= 94 and 246 <= moving[-1] <= 254 and len(moving) > 150


def test_a_failed_grasp_is_compared_with_the_one_that_follows():
    """A wide handle, then a thin cube that one demonstration misses at first."""

    def grip(i, level, duration):
        return Grip(i, Switch("gripper", 0, 1, 2, level - 1.0, level), duration, False)

    rng = np.random.default_rng(0)
    rows = [[grip(i, w + 0.01 * rng.normal(), 40.0) for w in (0.6, 0.3)] for i in range(9)]
    missed = grip(9, 0.02, 8.0)
    rows.append([grip(9, 0.6, 40.0), missed, grip(9, 0.3, 40.0)])
    failed = _widths(rows, 2, "gripper")
    assert list(failed) == [missed]
    assert failed[missed] == "gripper closes further than usual, by 28% of its usual opening"
