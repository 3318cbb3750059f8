"""The curve over recorded trajectories and parallel environments: pairs, moments, coordinates."""

import numpy as np
import pytest

from fakes import RecordingEstimator
from infoatlas_rt.errors import InputError
from infoatlas_rt.estimation.estimator import Estimator
from infoatlas_rt.estimation.result import FLAGS
from infoatlas_rt.vector.pooled_pairs import PooledPairs
from infoatlas_tools.curves.ensemble_curve import MICurve, _normalise, ensemble_pairs, mi_curve
from infoatlas_tools.trajectories import Trajectories
from refusals import refuses


def recorded(lengths, goals=True) -> Trajectories:
    """States (number of the trajectory, step, goal of the trajectory, always one)."""
    rows = [[i, t, 7.0 * i, 1.0] for i, length in enumerate(lengths) for t in range(length)]
    return Trajectories(np.array(rows)[:, : 4 if goals else 2], np.array(lengths))


def test_raw_steps_while_enough_trajectories_remain():
    lengths = [30] * 5 + [12] * 3 + [20] * 4
    fake = RecordingEstimator(n_min=8)
    curve = mi_curve(recorded(lengths), fake, lag=2, mode="raw")
    np.testing.assert_array_equal(curve.position, np.arange(2, 20))
    np.testing.assert_array_equal(curve.samples, [12] * 10 + [9] * 8)
    np.testing.assert_array_equal(np.isnan(curve.influence).sum(1), [0] * 10 + [3] * 8)
    assert np.isnan(curve.influence[-1, 5:8]).all()
    for t, call in zip(range(2, 20), fake.calls, strict=True):
        assert (call.x[:, 0] == t).all() and (call.y[:, 0] == t - 2).all()


def test_normalised_time_aligns_starts_and_ends():
    lengths = list(range(20, 40))
    fake = RecordingEstimator(n_min=8)
    done = []
    options = {"lag": 3, "history": 2, "points": 25}
    curve = mi_curve(recorded(lengths), fake, **options, progress=lambda i, n: done.append((i, n)))
    assert curve.mode == "normalised" and done == [(i, 25) for i in range(1, 26)]
    assert (fake.calls[0].x[:, 0] == 4).all()
    np.testing.assert_array_equal(fake.calls[-1].x[:, 0], np.array(lengths) - 1)
    for call in fake.calls:  # lag original steps, however long the trajectory is
        np.testing.assert_array_equal(call.x[:, 0] - call.y[:, 0], 3)
        np.testing.assert_array_equal(call.x[:, 0] - call.y[:, 1], 4)
    assert curve.position[-1] == 1.0 and (np.diff(curve.position) > 0).all()
    expected = np.mean([4 / (n - 1) for n in lengths])
    assert curve.position[0] == pytest.approx(expected)


def test_auto_is_raw_for_equal_lengths():
    assert mi_curve(recorded([20] * 9), RecordingEstimator(8)).mode == "raw"
    assert mi_curve(recorded([20] * 9 + [21]), RecordingEstimator(8)).mode == "normalised"


def test_coordinates_that_are_constant_within_trajectories_are_left_out():
    fake = RecordingEstimator(8)
    # Number and goal differ between trajectories, but never within one.
    assert mi_curve(recorded([20] * 9), fake).dropped == (0, 2, 3)
    assert fake.calls[0].x.shape == (9, 1)
    with pytest.raises(InputError, match="all 2 coordinates are constant"):
        states = np.repeat(np.arange(18.0).reshape(9, 2), 20, axis=0)
        mi_curve(Trajectories(states, np.full(9, 20)), fake)


@pytest.mark.parametrize(
    ("lengths", "options", "message"),
    [
        ([20] * 7, {}, "7 of 7 trajectories are longer than 2 steps.*needs 8.*record more of them"),
        ([20] * 7 + [2] * 9, {}, "7 of 16 trajectories.*pass a smaller lag.*median is 2 steps"),
        ([1] * 9, {"lag": 1}, "0 of 9 trajectories are longer than 1 steps.*record longer ones"),
        ([20] * 9, {"mode": "warped"}, "mode is 'warped'"),
        ([20] * 9, {"points": 1}, "points is 1"),
        ([20] * 9, {"lag": 0}, "lag is 0"),
    ],
)
def test_refusals(lengths, options, message):
    refuses(message, mi_curve, recorded(lengths), RecordingEstimator(8), **options)
    refuses("trajectories cannot be iterated", mi_curve, 5, RecordingEstimator(8))


def test_the_curve_is_made_of_the_estimates_of_its_moments():
    states = np.cumsum(np.random.default_rng(0).standard_normal((60, 6, 7)), axis=1)
    estimator = Estimator(k=3, slices=4, threads=1)
    curve = mi_curve(Trajectories(states.reshape(-1, 7), np.full(60, 6)), estimator)
    assert curve.per_slice.shape == (4, 4) and curve.influence.shape == (4, 60)
    one = estimator.estimate(states[:, 4], states[:, 2])
    assert (curve.mi[2], curve.stderr[2], curve.noise[2]) == (one.mi, one.stderr, one.noise)
    assert one.stderr != one.noise
    np.testing.assert_array_equal(curve.per_slice[2], one.per_slice)
    np.testing.assert_array_equal(curve.influence[2], one.influence)


def hill(top):
    return 1.0 + np.exp(-0.5 * ((np.arange(100) - top) / 12) ** 2)


def curve_of(values, influence):
    count = len(values)
    return MICurve(
        position=np.linspace(0, 1, count), mi=values, stderr=np.zeros(count), noise=np.zeros(count),
        samples=np.full(count, 100), per_slice=np.repeat(values[:, None], 3, axis=1),
        influence=influence, **dict.fromkeys((*FLAGS, "at_least"), np.zeros(count)),
        mode="normalised", lag=2, history=1, dropped=(), how="",
    )  # fmt: skip


def test_offline_and_online_agree_and_the_future_changes_nothing():
    rng = np.random.default_rng(0)
    values = hill(30) + hill(70) - 1
    curve = curve_of(values, 0.2 * rng.standard_normal((100, 100)))
    whole = curve.extrema()
    assert len(whole) >= 3 and [s.stamp for s in whole] == sorted(s.stamp for s in whole)
    assert all(s.stamp == curve.position[s.index] for s in whole)
    part = curve_of(values[:60], curve.influence[:60]).extrema()
    reported = [s for s in whole if s.detected_at < 60]
    assert [s.index for s in part] == [s.index for s in reported]


def test_trajectories_that_end_are_left_out_of_the_pairing():
    """The share of a trajectory ends with it; that alone is not a significant difference."""
    shared = np.random.default_rng(5).standard_normal(100)
    influence = np.tile(2 * (shared - shared.mean()), (60, 1))
    influence[30:, 50:] = np.nan
    values = np.where(np.arange(60) < 30, 1.3, 1.0)
    assert curve_of(values, influence).extrema(delay=10 / 59) == []
    influence[30:, 50:] = influence[0, 50:]
    assert len(curve_of(values, influence).extrema(delay=10 / 59)) == 1


LENGTHS = np.array([5, 9, 3, 20])


def trajectories() -> np.ndarray:
    """States that contain the numbers of their trajectory and step."""
    return np.array([[i, t] for i, length in enumerate(LENGTHS) for t in range(length)], float)


def pairs_at(step, lag=2, history=1):
    return ensemble_pairs(trajectories(), LENGTHS, np.broadcast_to(step, 4), lag, history)


def test_raw_steps():
    x, y, who = pairs_at(4, history=3)
    np.testing.assert_array_equal(who, [0, 1, 3])
    np.testing.assert_array_equal(x, [[0, 4], [1, 4], [3, 4]])
    np.testing.assert_array_equal(y[1], [1, 2, 1, 1, 1, 0])
    assert len(pairs_at(3, history=3).x) == len(pairs_at(20).x) == 0


def test_normalised_time_takes_original_steps():
    steps, position = _normalise(LENGTHS, 2, 17)
    assert position[0] < position[-1] == 1 and (np.diff(position) > 0).all()
    for step, at in zip(steps, np.linspace(0, 1, 17), strict=True):
        x, y, who = pairs_at(step)
        np.testing.assert_array_equal(who, [0, 1, 2, 3])
        np.testing.assert_array_equal(x - y, [[0, 2]] * 4)  # the same trajectory, lag steps apart
        fraction = (x[:, 1] - 2) / np.maximum(LENGTHS - 3, 1)
        assert (np.abs(fraction - at) * np.maximum(LENGTHS - 3, 1))[LENGTHS > 3].max() < 0.5001
    first, last = _normalise(LENGTHS, 3, 17)[0][[0, -1]]
    np.testing.assert_array_equal(pairs_at(first, history=2).samples, [0, 1, 3])  # three: too few
    np.testing.assert_array_equal(pairs_at(first, history=2).x[:, 1], 3)
    np.testing.assert_array_equal(last, LENGTHS - 1)


@pytest.mark.parametrize("same_step", [False, True])
def test_pool_never_pairs_across_resets(same_step):
    """Both conventions: `done` comes with the final state, or with the first state afterwards."""
    rng = np.random.default_rng(0)
    envs, window, lag, history = 6, 4, 2, 2
    pool = PooledPairs(envs, window, lag=lag, history=history)
    episode, step = np.zeros(envs), np.zeros(envs)
    over = np.zeros(envs, bool)
    total = 0
    for _ in range(200):
        step += 1
        done = rng.random(envs) < 0.1
        begins = done if same_step else over
        episode[begins] += 1
        step[begins] = 0
        over = done
        pairs = pool.push(np.stack([np.arange(envs), episode, step], axis=1), done)
        total += len(pairs.x)
        expected = [[0, 0, lag, 0, 0, lag + 1]] * len(pairs.x)
        np.testing.assert_array_equal(np.tile(pairs.x, 2) - pairs.y, np.reshape(expected, (-1, 6)))
        assert len(np.unique(pairs.samples)) == len(pairs.samples) and len(pairs.x) <= envs * window
    assert total > 200 * envs * window / 3


def test_pool_is_full_without_resets_and_leaves_holes_for_nan():
    pool = PooledPairs(3, 5, lag=2)
    sizes, seen = [], {}
    for t in range(12):
        states = np.full((3, 1), float(t))
        if t == 8:
            states[1] = np.nan
        pairs = pool.push(states)
        sizes.append(len(pairs.x))
        np.testing.assert_array_equal(pairs.x - pairs.y, 2)
        for who, x in zip(pairs.samples, pairs.x[:, 0], strict=True):
            assert seen.setdefault(who, x) == x  # a sample keeps its number
    assert sizes == [0, 0, 3, 6, 9, 12, 15, 15, 14, 14, 13, 13]


def test_pool_refuses_what_does_not_fit():
    pool = PooledPairs(3, 5)
    pool.push(np.zeros((3, 2)))
    for states, done, why in (
        (np.zeros((4, 2)), None, r"pass numbers \[3, d\]"),
        (np.zeros((3, 5)), None, "before they had"),
        (np.zeros((3, 2)), [2, 0, 0], "done has shape"),
    ):
        refuses(why, pool.push, states, done)
