"""Key states without a common order, in small synthetic recordings of people."""

from __future__ import annotations

import numpy as np
import pandas
import pytest

from infoatlas_rt import InputError
from infoatlas_tools import Trajectories, discover_keystates
from infoatlas_tools.keystates.changes import bursts

NAMES = ("tool.x", "tool.y", "tool.z", "finger1.position", "time")


def minimum_jerk(u):
    u = np.clip(u, 0, 1)
    return 10 * u**3 - 15 * u**4 + 6 * u**5


def recording(seed, rate=20.0, noise=2e-4, lacking=False):
    """Reach, close the fingers, carry, open them; seconds of both events (`lacking`: of one)."""
    rng = np.random.default_rng(seed)
    a, b, c = rng.uniform(1, 2.5, 3)
    grasp, release = 0.5 + a, 0.5 + a + 0.3 + b
    end = release + 0.3 + c
    t = np.arange(0, end, 1 / rate)
    goals = rng.normal(size=(3, 3)) * 0.3
    place = np.zeros((len(t), 3))
    for goal, start, seconds in zip(
        goals, (0.5, grasp + 0.3, release + 0.3), (a, b, c), strict=True
    ):
        place += goal * minimum_jerk((t - start) / seconds)[:, None]
    finger = 0.04 - 0.03 * np.clip((t - grasp) / 0.2, 0, 1)
    if not lacking:
        finger += 0.03 * np.clip((t - release) / 0.2, 0, 1)
    drawn = np.random.default_rng([seed, int(rate)]).normal(size=(len(t), 4))
    states = np.column_stack([place, finger]) + noise * drawn * [1, 1, 1, 0.1]
    return states, np.array([grasp, release])


def recordings(count=12, **options):
    made = [recording(seed, **options) for seed in range(count)]
    return [states for states, _ in made], np.array([times for _, times in made])


def away(found, times, rate=20.0):
    """Seconds from each event to the nearest key state of its demonstration [N, E]."""
    steps = found.steps.astype(float).filled(np.nan)
    return np.nanmin(np.abs(steps[:, :, None] / rate - times[:, None, :]), axis=1)


def test_gripper_events_are_found_and_said_to_be_reproduced():
    states, times = recordings()
    found = discover_keystates(states, count=4)
    assert (away(found, times) <= 0.25).mean() > 0.9
    assert found.evident and found.reproduced > 0.6 and found.warnings == ()
    assert (found.steps.count(axis=1) <= 4).all()


@pytest.mark.parametrize("rate", [10.0, 30.0, 100.0])
def test_the_same_motion_at_any_rate(rate):
    states, times = recordings(rate=rate)
    found = discover_keystates(Trajectories(states, rate=rate), count=4)
    assert found.recordings.timing.stride == {10.0: 1, 30.0: 1, 100.0: 4}[rate]
    assert (away(found, times, rate) <= 0.25).mean() > 0.9


def test_a_demonstration_that_lacks_an_event_is_masked():
    states, _ = recordings(10)
    states[3] = recording(3, lacking=True)[0]
    labels = {0: {}, 1: {}}
    for i in labels:
        grasp, release = np.rint(recording(i)[1] * 20).astype(int).tolist()
        labels[i] = {"grasp": grasp, "release": release}
    found = discover_keystates(states, labels=labels)
    assert found.labels == ("grasp", "release") and found.steps.shape == (10, 2)
    assert found.steps[3, 1] is np.ma.masked and found.steps[3, 0] is not np.ma.masked
    assert found.quality[3].missing == (1,)
    table = found.table()
    assert isinstance(table, pandas.DataFrame) and len(table) == 19
    assert list(table[table["demonstration"] == 3]["name"]) == ["grasp"]


def test_labels_of_two_demonstrations_are_found_in_the_others():
    states, times = recordings(14)
    steps = np.rint(times * 20).astype(int)
    found = discover_keystates(
        Trajectories(states, rate=20), labels={i: steps[i].tolist() for i in (2, 9)}
    )
    assert (np.abs(found.steps - steps) <= 5).mean() > 0.9
    np.testing.assert_array_equal(found.steps[[2, 9]], steps[[2, 9]])
    np.testing.assert_allclose(found.table()["seconds"], found.table()["step"] / 20)


def test_one_bad_frame_changes_no_other_demonstration():
    states, _ = recordings()
    clean = discover_keystates(states, count=4)
    for value in (-9999.0, 1e4):
        spoilt = [s.copy() for s in states]
        spoilt[5][40, 1] = value
        found = discover_keystates(spoilt, count=4)
        others = np.arange(12) != 5
        np.testing.assert_array_equal(
            found.steps[others].filled(-1), clean.steps[others].filled(-1)
        )
        assert found.quality[5].outliers == (40,)
        assert any("demonstration 5" in note.lower() for note in found.notes)


def test_a_clock_is_left_out_and_named():
    states, _ = recordings()
    timed = [np.c_[s, 1e9 + np.arange(len(s)) / 20] for s in states]
    tables = [pandas.DataFrame(s, columns=NAMES) for s in timed]
    found = discover_keystates(tables, count=4)
    np.testing.assert_array_equal(
        found.steps.filled(-1), discover_keystates(states, count=4).steps.filled(-1)
    )
    assert any("time" in note for note in found.notes)


def test_even_motion_has_no_key_state():
    line = np.linspace(0, 1, 150)[:, None] * [1.0, -2.0, 0.5]
    for dtype in (np.float64, np.float32):
        found = discover_keystates([line.astype(dtype) + i for i in range(5)], count="auto")
        assert found.steps.shape == (5, 0)
        assert not found.evident


def test_the_gripper_alone_decides_where_it_is_named():
    states, times = recordings()
    tables = [pandas.DataFrame(s, columns=NAMES[:4]) for s in states]
    for name in ("finger", "finger1.position", 3, ["finger"]):
        found = discover_keystates(Trajectories(tables, gripper=name), count=2)
        assert (away(found, times) <= 0.25).mean() > 0.9
    with pytest.raises(InputError, match="gripper names 'claw'"):
        discover_keystates(Trajectories(tables, gripper="claw"))
    with pytest.raises(InputError, match="these columns are ignored, constant or of one speed"):
        discover_keystates(Trajectories(tables, gripper="finger", ignore="finger"))


def test_ignored_columns_change_nothing():
    states, _ = recordings()
    noisy = [np.c_[s, np.random.default_rng(0).normal(size=len(s))] for s in states]
    found = discover_keystates(Trajectories(noisy, ignore=[4]), count=3)
    np.testing.assert_array_equal(
        found.steps.filled(-1), discover_keystates(states, count=3).steps.filled(-1)
    )


def test_idle_time_is_measured():
    states, _ = recordings(14)
    states[2] = np.concatenate([np.repeat(states[2][:1], 80, axis=0), states[2]])
    found = discover_keystates(states, count=3)
    assert all(0 < quality.likeness < 1.5 for quality in found.quality)
    assert max(q.idle for i, q in enumerate(found.quality) if i != 2) < 0.3
    assert found.quality[2].idle > 0.3


def test_one_and_two_demonstrations():
    states, times = recordings(2)
    for count in (1, 2):
        found = discover_keystates(states[:count], count=3)
        assert (found.steps.count(axis=1) == 3).all()
        assert (away(found, times[:count]) <= 0.25).mean() >= 0.5
    assert np.isnan(discover_keystates(states[:1], count=3).reproduced)


def test_constant_speed_has_no_bursts():
    """The entropy of equal shares exceeds its bound by rounding."""
    motion = [np.full((n, 1), 0.3) for n in range(50, 80)]
    found = bursts(motion, np.zeros(1))
    assert 0 <= found[0] < 1e-12
