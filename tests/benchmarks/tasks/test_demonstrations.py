"""The demonstrations of the key-state benchmark, and their changed copies."""

import numpy as np
import pytest

from benchmarks.tasks import changed_demonstrations as variants, demonstrations as tasks


def test_when():
    flag = np.array([0, 0, 1, 0, 1, 0], bool)
    assert tasks.when(tasks.GRASP, flag) == 2
    assert tasks.when(tasks.RELEASE, flag) == 4
    assert np.isnan(tasks.when(tasks.GRASP, np.zeros(5, bool)))
    assert np.isnan(tasks.when(tasks.RELEASE, np.ones(5, bool)))  # held until the end


@pytest.mark.parametrize("task", tasks.SETS)
def test_demonstrations(task):
    """Real motion, with all events in each trajectory in order, and no flag among the states."""
    demos = tasks.load(task)
    n = len(demos.trajectories)
    at_least = 2 if tasks.SETS[task].people else 30 if task in tasks.UNPLANNED else 40
    assert n >= at_least and len(set(demos.seeds.tolist())) == n
    assert demos.times.shape == (n, len(demos.events))
    present = ~np.isnan(demos.times)
    assert present.any(axis=1).all() and (present.all() or task == "pusht")
    if tasks.SETS[task].ordered:
        assert (np.diff(demos.times, axis=1) > 0).all()
    end = demos.lengths[:, None] - (task != "pusht")  # some touch the T at the end
    within = (demos.times > 0) & (demos.times < end)
    assert np.array_equal(within, present) and demos.rate == tasks.SETS[task].rate
    states = np.concatenate(demos.trajectories)
    assert states.shape[1] == len(demos.names) == len(set(demos.names))
    assert np.isfinite(states).all()
    for name, column in zip(demos.names, states.T, strict=True):
        # "Grasped" has two values; so would any other flag.
        assert len(np.unique(column)) > 2 or np.ptp(column) == 0, name


def test_events_that_a_file_lists(tmp_path):
    path = tmp_path / "listed.npz"
    states = np.arange(10, dtype=np.float32).reshape(5, 2)
    events = {"event_names": ["grasp"], "event_times": [[1], [np.nan]]}
    boxes = {"box_names": ["begins"], "box_times": [[0], [1]]}
    about = {"lengths": [2, 3], "names": ["a", "b"], "rate": np.float64(30)}
    np.savez(path, states=states, **events, **boxes, **about)
    demos = tasks.read(path, truth="box")
    assert demos.events == ("begins",) and demos.times.tolist() == [[0], [1]]
    demos = tasks.read(path)
    assert demos.rate == 30
    assert demos.events == ("grasp",) and demos.names == ("a", "b")
    assert demos.times[0, 0] == 1 and np.isnan(demos.times[1, 0])
    assert np.array_equal(demos.trajectories[1], [[4, 5], [6, 7], [8, 9]])
    assert demos.seeds.tolist() == [0, 1]


def slope(states, names):
    """Motion of a joint in a step as a function of its velocity."""
    position, velocity = (states[:, names.index(f"joint4.{k}")] for k in ("position", "velocity"))
    return np.polyfit((velocity[1:] + velocity[:-1]) / 2, np.diff(position), 1)[0]


@pytest.mark.parametrize("change", [variants.warped, variants.unequal])
def test_events_move_with_what_happens(change):
    """The state at an event is the same in a copy at another rate."""
    demos = tasks.load("push", number=4)
    copy = change(demos)
    assert not np.array_equal(copy.lengths, demos.lengths)
    cube = demos.names.index("cube.x")
    joint = demos.names.index("joint1.position")
    for old, new, then, now in zip(
        demos.trajectories, copy.trajectories, demos.times[:, 0], copy.times[:, 0], strict=True
    ):
        before, after = new[int(now)], new[min(int(now) + 1, len(new) - 1)]
        for column in (cube, joint):
            low, high = sorted([before[column], after[column]])
            assert low - 1e-3 <= old[int(then), column] <= high + 1e-3
        assert np.allclose(new[0, :9], old[0, :9])
        # Velocities are those of the copy: they explain its motion as before.
        assert slope(new, demos.names) == pytest.approx(slope(old, demos.names), rel=0.1)
    again = change(demos)
    assert np.array_equal(copy.trajectories[1], again.trajectories[1])


def test_noise_is_of_the_range_and_spares_what_rests():
    demos = tasks.load("push", number=10)
    copy = variants.noisy(demos, 0.01)
    pooled = np.concatenate(demos.trajectories)
    noise = np.concatenate(copy.trajectories) - pooled
    share = noise.std(axis=0) / np.maximum(np.ptp(pooled, axis=0), 1e-9)
    goal = [i for i, name in enumerate(demos.names) if name.startswith("goal")]
    rest = np.setdiff1d(np.flatnonzero(np.ptp(pooled, axis=0) > 1e-6), goal)
    assert share[rest] == pytest.approx(0.01, rel=0.2)
    assert (noise[:, goal] == 0).all()


def column(demos, name):
    return [states[:, demos.names.index(name)] for states in demos.trajectories]


@pytest.mark.parametrize("rate", [10, 60])
def test_another_rate(rate):
    """The same curve in seconds, including events; velocities are unchanged."""
    demos = tasks.load("stack", number=4)
    copy = variants.at_rate(demos, rate, share=0)
    assert copy.rate == rate and demos.rate == 20
    assert copy.times / rate == pytest.approx(demos.times / 20)
    assert (copy.lengths - 1) / rate == pytest.approx((demos.lengths - 1) / 20, abs=1 / rate)
    every = {10: (slice(None, None, 2), slice(None)), 60: (slice(None), slice(None, None, 3))}
    for old, new in zip(demos.trajectories, copy.trajectories, strict=True):
        old, new = old[every[rate][0]], new[every[rate][1]]
        assert new == pytest.approx(old[: len(new)], abs=1e-9)


def same_states_at_events(demos, copy):
    for old, new, then, now in zip(
        demos.trajectories, copy.trajectories, demos.times, copy.times, strict=True
    ):
        still = [i for i, name in enumerate(demos.names) if not name.endswith(".velocity")]
        for a, b in zip(then.astype(int), now.astype(int), strict=True):
            assert np.array_equal(old[a][still], new[b][still])


def test_idle_times():
    demos = tasks.load("stack", number=6)
    copy = variants.with_idle_times(demos)
    same_states_at_events(demos, copy)
    added = copy.lengths - demos.lengths
    assert (added >= 2).all() and (added <= 0.25 * demos.lengths).all()
    speeds = np.concatenate(column(copy, "joint4.velocity"))
    steps = np.concatenate([np.append(np.diff(j), 1) for j in column(copy, "joint4.position")])
    assert np.count_nonzero((steps == 0) & (speeds == 0)) >= (added - 2).sum()
    assert (copy.times >= demos.times).all() and (copy.times > demos.times).any()


def test_retries_go_back_and_come_again():
    demos = tasks.load("stack", number=12)
    copy = variants.with_retries(demos)
    added = copy.lengths - demos.lengths
    assert np.count_nonzero(added) == 4 and (added % 2 == 0).all()
    same_states_at_events(demos, copy)
    for i in np.flatnonzero(added):
        old, new = demos.trajectories[i], copy.trajectories[i]
        shift = copy.times[i] - demos.times[i]
        assert set(shift.tolist()) <= {0, added[i]} and shift.any()
        assert np.array_equal(old[-1], new[-1]) and np.array_equal(old[0], new[0])
        # No jumps; on the way back velocities are reversed.
        position = demos.names.index("joint4.position")
        largest = np.abs(np.diff(old[:, position])).max()
        assert np.abs(np.diff(new[:, position])).max() <= largest
        assert slope(new, demos.names) == pytest.approx(slope(old, demos.names), rel=0.25)


@pytest.mark.parametrize("name", variants.VARIANTS)
def test_every_variant_keeps_events_within(name):
    demos = tasks.load("push", number=6)
    copy = variants.VARIANTS[name](demos)
    assert copy.times.shape == demos.times.shape and len(copy.trajectories) == 6
    assert (copy.times > 0).all() and (copy.times < copy.lengths[:, None] - 1).all()
    assert all(s.shape[1] == len(copy.names) for s in copy.trajectories)
    assert all(np.isfinite(s).all() for s in copy.trajectories)
    again = variants.VARIANTS[name](demos)
    assert np.array_equal(copy.trajectories[2], again.trajectories[2])
