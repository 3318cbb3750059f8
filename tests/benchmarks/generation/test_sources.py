"""Files of source demonstrations and their changed copies."""

import numpy as np
import pytest

from benchmarks.generation import sources

from .made import demos


@pytest.fixture(scope="module")
def made():
    return demos()


def column(some, name):
    return [states[:, some.names.index(name)] for states in some.states]


def test_files(made, tmp_path):
    path = tmp_path / "deep" / "made.npz"
    sources.write(made, path)
    again = sources.read(path)
    assert again.names == made.names and again.seeds.tolist() == list(range(10))
    for one, other in zip(made.states, again.states, strict=True):
        np.testing.assert_allclose(one, other, atol=1e-6)
    for one, other in zip(made.flags["is_grasped"], again.flags["is_grasped"], strict=True):
        assert one.tolist() == other.tolist()
    assert [p.name for p in path.parent.iterdir()] == ["made.npz"]  # no unfinished file remains
    some = again.take([3, 1])
    assert some.seeds.tolist() == [3, 1] and len(some.flags["is_grasped"]) == 2


def test_actions_change_with_the_states(made):
    changed = sources.changed(made, ["tool", "cube"], 0)
    assert (changed.lengths != made.lengths).sum() > 5
    for states, actions in zip(changed.states, changed.actions, strict=True):
        assert len(states) == len(actions)
        np.testing.assert_allclose(actions[:, 0], 2 * states[:, 0], atol=1e-9)  # unchanged
        assert set(actions[:, -1]) == {-1.0, 1.0}
    for before, after in zip(made.flags["is_grasped"], changed.flags["is_grasped"], strict=True):
        assert abs(before.mean() - after.mean()) < 0.3 and np.diff(after.astype(int)).any()


def test_pauses_and_tempo(made):
    changed = sources.changed(made, [], 0)
    steps = np.concatenate([np.diff(joint) for joint in column(changed, "joint1.position")])
    assert (steps == 0).sum() >= 2 * len(made)  # two pauses in each
    rate = steps[steps > 1e-3] * np.median(made.lengths)
    assert rate.min() < 0.8 and rate.max() > 1.4
    for joint, velocity in zip(
        column(changed, "joint1.position"), column(changed, "joint1.velocity"), strict=True
    ):
        paused = np.flatnonzero(np.diff(joint) == 0) + 1
        assert (velocity[paused] == 0).all()


def test_noise_is_that_of_sensors(made):
    plain, noisy = (sources.changed(made, some, 0) for some in ([], ["tool", "cube"]))
    for name, spread in (("tool.x", 5e-4), ("cube.z", 5e-4), ("goal.x", 0.0), ("tool.qw", 0.0)):
        apart = np.concatenate(column(noisy, name)) - np.concatenate(column(plain, name))
        assert apart.std() == pytest.approx(spread, rel=0.1)
    away = np.concatenate(column(noisy, "cube.x")) - np.concatenate(column(noisy, "tool.x"))
    np.testing.assert_allclose(np.concatenate(column(noisy, "tool_to_cube.x")), away)
