"""The stream of one robot: pairing, holes, refusals, resets, bounded memory."""

import json
import re
import tracemalloc

import numpy as np
import pytest

from fakes import RecordingEstimator
from infoatlas_rt.streams.online import OnlineEstimator
from infoatlas_rt.streams.sliding_window import SlidingWindow
from refusals import refuses

NOT_REAL = "refused: not real numbers, or an integer beyond 2^53: subtract the first"


def state(step: float, d: int = 3) -> np.ndarray:
    """A state that contains its step in each coordinate."""
    return step + 1000.0 * np.arange(d)


@pytest.fixture
def fake() -> RecordingEstimator:
    return RecordingEstimator(n_min=8)


@pytest.mark.parametrize(("lag", "history"), [(1, 1), (2, 1), (2, 3), (5, 2)])
def test_pairs_are_lag_steps_apart(fake, lag, history):
    window = 10
    online = OnlineEstimator(fake, lag=lag, history=history, window=window)
    estimates = [online.push(state(t)) for t in range(40)]
    first = window + lag + history - 2
    assert [r is not None for r in estimates] == [t >= first for t in range(40)]
    for t, found, call in zip(range(first, 40), estimates[first:], fake.calls, strict=True):
        steps = np.arange(t - window + 1, t + 1)
        np.testing.assert_array_equal(call.x, [state(s) for s in steps])
        past = [[state(s - lag - h) for h in range(history)] for s in steps]
        np.testing.assert_array_equal(call.y, np.reshape(past, (window, -1)))
        np.testing.assert_array_equal(found.steps, steps)
        assert found.fill == 1.0
        assert found.local == window - 1  # local information of the newest pair
        assert call.time_series
    assert online.reason == "ok"


def test_an_estimate_is_that_of_its_window(estimator):
    walk = np.cumsum(np.random.default_rng(0).standard_normal((80, 2)), axis=0)
    online = OnlineEstimator(estimator, window=60)
    for t, now in enumerate(walk):
        found = online.push(now, stamp=t / 50)
    expected = estimator.estimate(walk[20:80], walk[18:78], time_series=True)
    assert found.stamp == 79 / 50 and found.estimate.mi == expected.mi
    assert found.estimate.stderr == expected.stderr and found.local == expected.pointwise[-1]


@pytest.mark.parametrize("step", [0.1, 2.0])
def test_windows_across_a_pause_are_marked(fake, step):
    """As long as a state or its past is from before the pause; slow states are no pauses."""
    online, late = OnlineEstimator(fake, lag=2, window=10), 0.0
    for t in range(60):
        late = 12 * step if t >= 30 else 0.0
        found = online.push(state(t), t * step + late)
        assert found is None or found.paused == (30 <= t < 30 + 10 + 2 - 1)
    assert not online.push(state(60), 60 * step + late + 0.7).paused  # lost messages


def test_nan_leaves_a_hole(fake):
    online = OnlineEstimator(fake, window=12, lag=2)
    for t in range(12):
        online.push(state(t))
    bad = state(12)
    bad[1] = np.nan
    assert online.push(bad) is None
    assert online.reason == "refused: NaN, masked, infinite or beyond 1e100"
    assert online.push(state(13)).fill == 11 / 12 and online.push(state(14)) is None
    assert online.reason == "hole: no past state to pair with"
    found = online.push(state(15))
    np.testing.assert_array_equal(found.steps, [4, 5, 6, 7, 8, 9, 10, 11, 13, 15])
    np.testing.assert_array_equal(fake.calls[-1].x - fake.calls[-1].y, 2)
    assert found.fill == 10 / 12 and online.counts["NaN"] == 1 and online.counts["accepted"] == 15


@pytest.mark.parametrize(
    ("bad", "stamp", "kind", "reason"),
    [
        (state(0), 1.9, "repeated stamp", "refused: repeated stamp"),
        (state(0), 1.7, "older stamp", "refused: older stamp (by 0.2 s; a restart is 1 s or more)"),
        (np.full(3, np.nan), 2.0, "NaN", "refused: NaN, masked, infinite or beyond 1e100"),
        ([0, 1e200, 0], 2.0, "NaN", "refused: NaN, masked, infinite or beyond 1e100"),
        (state(0, 5), 2.0, "dimension", "refused: dimension 5, expected 3"),
        (np.zeros((2, 3)), 2.0, "dimension", "refused: dimension (2, 3), expected 3"),
        ([], 2.0, "dimension", "refused: dimension 0, expected 3"),
        (["a", "b", "c"], 2.0, "dtype", NOT_REAL),
        ([[1, 2], [3]], 2.0, "dtype", NOT_REAL),
        (state(0), np.nan, "bad stamp", "refused: bad stamp nan"),
        (state(0), -np.inf, "bad stamp", "refused: bad stamp -inf"),
    ],
)
def test_refused_states_leave_the_window_intact(fake, bad, stamp, kind, reason):
    online = OnlineEstimator(fake, window=12, lag=2)
    for t in range(20):  # stamps 0.0 to 1.9
        assert (online.push(state(t), t / 10) is not None) == (t >= 13)
    before = fake.calls[-1]
    assert online.push(bad, stamp) is None and online.reason == reason
    refused = {name: count for name, count in online.counts.items() if name != "accepted"}
    assert refused == {**dict.fromkeys(refused, 0), kind: 1} and online.counts["accepted"] == 20
    for t in range(21, 24):
        online.push(state(t), t / 10)
    # All earlier states that are not too old are kept, and no others.
    after = fake.calls[-1].x[:, 0]
    kept = before.x[:, 0][before.x[:, 0] >= after.min()]
    np.testing.assert_array_equal(after[: len(kept)], kept)


def test_no_pair_across_a_straggler(fake):
    """Stamps 0 1 2 ... 14 16 15 17 ...: a late message leaves a hole of unknown place."""
    online = OnlineEstimator(fake, window=10, lag=2)
    order = [*range(15), 16, 15, *range(17, 30)]
    pairs = set()
    for t in order:
        if online.push(state(t), t / 10) is not None:
            pairs |= set(zip(fake.calls[-1].x[:, 0], fake.calls[-1].y[:, 0], strict=True))
    assert online.counts["older stamp"] == 1
    # 16 arrived before it was known that 15 was missing. After the late message no state is paired
    # with earlier states.
    assert {x for x, y in pairs if y <= 16 < x} == set()
    assert {x - y for x, y in pairs if y > 16} == {2}


def test_a_jump_back_starts_anew(fake):
    online = OnlineEstimator(fake, window=10, lag=2, reset_after=1.0)
    for t in range(30):
        online.push(state(t), 100 + t / 10)
    assert online.push(state(500, 4), 0.0) is None  # a bag that loops; also with another robot
    assert online.counts["resets"] == 1 and online.reason == "filling: 0 of 10 pairs"
    for t in range(501, 512):
        found = online.push(state(t, 4), (t - 500) / 10)
    assert found is not None and found.stamp == 1.1
    np.testing.assert_array_equal(fake.calls[-1].x[:, 0], np.arange(502, 512))
    assert online.counts["resets"] == 1 and online.counts["older stamp"] == 0


def test_lag_seconds_beyond_memory_is_reported(fake):
    online = OnlineEstimator(fake, window=10, lag=2, lag_seconds=5.0)
    for t in range(100):
        assert online.push(state(t), t / 100) is None
    assert online.reason.startswith("hole: no state 5 ± 1.25 s before")
    assert "let lag be the steps" in online.reason


@pytest.mark.parametrize("jitter", [0.0, 0.004])
@pytest.mark.parametrize(("step", "lag", "off"), [(0.03, 10, 0.0225), (0.04, 10, 0.03)])
def test_a_lag_between_two_states_finds_the_nearer_one(fake, step, lag, off, jitter):
    rng = np.random.default_rng(0)
    online = OnlineEstimator(fake, window=20, lag=lag, lag_seconds=0.1)
    estimates = 0
    for t in range(200):
        stamp = 1.7e9 + t * step + rng.uniform(-jitter, jitter)
        if 0 < t < 100 and rng.random() < 0.2:  # lost without notice
            continue
        estimates += online.push([stamp - 1.7e9], stamp) is not None
        if online.reason == "ok":
            lags = (fake.calls[-1].x - fake.calls[-1].y)[:, 0]
            assert abs(lags[-1] - 0.1) <= online.window.tolerance + 1e-6 <= off + 0.003
    assert estimates > 120
    assert fake.calls[-1].x.shape[0] >= 19  # of 20 pairs, because no message is lost
    assert np.abs(lags - 0.1).max() <= step / 2 + 2 * jitter + 1e-6
    online.reset()
    assert online.window.tolerance == pytest.approx(0.005)


def test_a_stream_at_the_steps_of_its_lag_keeps_half_a_step(fake):
    """Lost messages do not increase the tolerance, so that no state is mispaired by a step."""
    rng = np.random.default_rng(0)
    online = OnlineEstimator(fake, window=20, lag=10, lag_seconds=0.1)
    for t in range(600):
        if rng.random() < 0.5:
            continue
        online.push([float(t)], t / 100)
        assert online.window.tolerance == pytest.approx(0.005)
        if online.reason == "ok":
            np.testing.assert_array_equal(fake.calls[-1].x - fake.calls[-1].y, 10)
    assert len(fake.calls) > 50


@pytest.mark.parametrize(
    ("step", "tolerance", "way"),
    [
        (0.03, 0.005, "every 0.03 s: a tolerance of 0.0225 s finds the nearest"),
        (0.5, None, "every 0.5 s: let lag_seconds be 0.5 or more"),
    ],
)
def test_a_lag_that_no_state_meets_is_reported_with_the_way_out(fake, step, tolerance, way):
    online = OnlineEstimator(fake, window=10, lag=10, lag_seconds=0.1, lag_tolerance=tolerance)
    for t in range(12):  # long before the window could be full
        assert online.push(state(t), t * step) is None
    assert online.reason.startswith("hole: no state 0.1 ± 0.0") and online.reason.endswith(way)


def test_states_that_a_full_queue_has_dropped_are_no_reason_for_a_tolerance(fake):
    """States each millisecond, in groups of 20 every 0.15 s: those of 0.1 s before are missing."""
    online = OnlineEstimator(fake, window=10, lag=100, lag_seconds=0.1, lag_tolerance=0.005)
    for t in range(200):
        assert online.push(state(t), t // 20 * 0.15 + t % 20 / 1000) is None
    assert "states come every 0.001 s: those of that time were lost, so raise" in online.reason


def test_every(fake):
    online = OnlineEstimator(fake, window=10, lag=2, every=4)
    assert [t for t in range(40) if online.push(state(t)) is not None] == list(range(11, 40, 4))
    assert online.push(state(40)) is None and online.reason.startswith("waiting: ")


def test_too_many_holes_for_the_model(fake):
    online = OnlineEstimator(fake, window=12, lag=2)
    for t in range(60):
        found = online.push(state(t) if t % 3 else np.full(3, np.nan))
    assert found is None and not fake.calls
    for t in range(60, 80):
        found = online.push(state(t))
    assert found is not None


def test_a_resolution_that_does_not_fit_is_reported_with_the_first_state(fake):
    online = OnlineEstimator(fake, window=10, resolution=[0.1, 0.2])
    refuses("each of the 3 coordinates", online.push, [0.0, 1.0, 2.0])
    assert online.counts["accepted"] == 0 and online.window.newest is None


def test_resolution_goes_to_both_sides(fake):
    online = OnlineEstimator(fake, window=10, history=2, resolution=[0.1, 0.2, 0.0])
    for t in range(20):
        online.push(state(t))
    np.testing.assert_array_equal(fake.calls[-1].resolution_x, [0.1, 0.2, 0.0])
    np.testing.assert_array_equal(fake.calls[-1].resolution_y, [0.1, 0.2, 0.0] * 2)


def test_memory_is_bounded_by_the_window(fake):
    fake.estimate = lambda x, y, **options: RecordingEstimator().estimate(x[:8], y[:8])
    online = OnlineEstimator(fake, window=50)

    def run(steps):
        for t in steps:
            online.push(state(t % 977, 20), t / 10)

    run(range(200))
    tracemalloc.start()
    before = tracemalloc.get_traced_memory()[0]
    run(range(200, 600))
    grown = tracemalloc.get_traced_memory()[0] - before
    tracemalloc.stop()
    assert online.counts["accepted"] == 600
    assert grown < 20_000  # 400 states of 20 numbers are 64 kB


def test_robot_at_rest_and_copies_are_no_exceptions(estimator):
    rng = np.random.default_rng(0)
    rest = OnlineEstimator(estimator, window=50)
    estimates = [rest.push(np.ones(4)) for _ in range(60)]
    assert rest.reason == "degenerate" and estimates[-1].estimate.degenerate
    assert np.isfinite(estimates[-1].estimate.mi) and np.isfinite(estimates[-1].estimate.stderr)

    # One coordinate is constant, two are copies, and the past determines all of them.
    moving = OnlineEstimator(estimator, window=50)
    for t in range(60):
        found = moving.push([t, t, 1.0, -2.0 * t])
    assert moving.reason == "ok" and found.estimate.saturated
    assert np.isfinite(found.estimate.mi) and found.estimate.mi > 1
    json.dumps(found.estimate.to_dict(), allow_nan=False)
    assert np.isfinite(moving.push(rng.standard_normal(4) * 1e99).estimate.mi)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"lag": 0}, "lag is 0"),
        ({"history": 0}, "history is 0"),
        ({"every": 0}, "every is 0"),
        ({"window": 7}, "window=7 is below the 8 samples"),
        ({"lag_seconds": 0.0}, "lag_seconds is 0.0"),
        ({"lag_tolerance": 0.1}, "tolerance is for lag_seconds: pass that too"),
        ({"lag_seconds": 0.1, "lag_tolerance": 0.1}, "would pair a state with itself"),
        ({"reset_after": -1.0}, "reset_after is -1.0"),
        ({"resolution": -1.0}, "resolution is -1.0"),
        ({"resolution": [0.1, float("nan")]}, "resolution is .*nan"),
        ({"estimator": 5}, "estimator is 5"),
        ({"resolution": "fine"}, "resolution "),
        ({"resolution": [[0.1], [0.1, 0.2]]}, "resolution "),
    ],
)
def test_arguments_that_cannot_be(fake, options, message):
    refuses(message, OnlineEstimator, **{"estimator": fake, "window": 12, **options})


def test_stamps_are_all_or_nothing(fake):
    refuses("pass a stamp", OnlineEstimator(fake, window=10, lag_seconds=0.1).push, state(0))
    online = OnlineEstimator(fake, window=10)
    online.push(state(0), 0.1)
    refuses("stamps come and go", online.push, state(1))


def test_increments_are_of_the_step_before(fake):
    options = {"window": 10, "lag": 0, "two_streams": True, "increments": True}
    window = SlidingWindow(fake.model_file, **options)
    for t in range(30):
        window.add(state(t**2), None, state(3 * t, 2))
        found = window.estimate(fake)
    steps = np.arange(20, 30)
    np.testing.assert_array_equal(found.steps, steps)
    np.testing.assert_array_equal(fake.calls[-1].x, np.repeat(2 * steps - 1, 3).reshape(-1, 3))
    np.testing.assert_array_equal(fake.calls[-1].y, 3.0)
    assert [window.stamp(step) for step in (25, 29)] == [25.0, 29.0]


@pytest.mark.parametrize("how", ["NaN", "lost"])
def test_no_increment_reaches_across_a_hole(fake, how):
    window = SlidingWindow(fake.model_file, window=12, lag=1, increments=True)
    for t in range(24):
        if how == "lost" and t == 20:
            window.lost()
        window.add(state(t if how == "lost" or t != 20 else np.nan))
        found = window.estimate(fake)
    # Step 20 (or, after a NaN, step 21, too) has no increment, and the pair after it no past.
    assert set(range(12, 24)) - set(found.steps) == ({20, 21} | ({22} if how == "NaN" else set()))
    np.testing.assert_array_equal(fake.calls[-1].x, 1.0)
    np.testing.assert_array_equal(fake.calls[-1].y, 1.0)


@pytest.mark.parametrize("options", [{}, {"lag_seconds": 0.2}])
def test_refused_states_that_keep_a_window_from_filling(options):
    """Two of ten: each leaves its own step without a pair, and the step a lag later."""
    fake = RecordingEstimator(n_min=32)

    def follow(window):
        online = OnlineEstimator(fake, window=window, lag=2, **options)
        found = [online.push(state(np.nan if t % 10 in (3, 6) else t), t / 10) for t in range(300)]
        return online, found[-100:]

    online, found = follow(50)
    assert not any(found)
    assert online.reason == (
        "hole: 30 of the 32 pairs needed; of the last 300 steps 20% were refused and 21% have no "
        "past state: a window of 68 or more fills"
    )
    _, found = follow(68)
    assert sum(each is not None for each in found) == 60  # all that have a pair


def test_the_advice_is_steady_and_comes_with_refused_states():
    """The share of holes is that of the last 500 steps, for any content of the window."""
    fake, rng = RecordingEstimator(n_min=32), np.random.default_rng(0)
    online = OnlineEstimator(fake, window=34, lag=2)
    advice = []
    for t in range(2000):
        online.push(state(np.nan if rng.random() < 0.2 else t), t / 10)
        if t > 500 and (found := re.search(r"a window of (\d+)", online.reason)):
            advice.append(int(found[1]))
            assert online.reason.startswith(("hole: ", "refused: NaN"))
    assert len(advice) > 1200 and min(advice) > 55 and max(advice) < 75


def test_refused_states_that_no_window_fills_with(fake):
    online = OnlineEstimator(fake, window=10, lag=1)
    for t in range(10):
        online.push(state(t if t % 2 else np.nan))
    assert online.reason == "filling: 0 of 10 pairs"
    for t in range(10, 12):
        online.push(state(t if t % 2 else np.nan))
    assert online.reason.startswith("hole: 0 of the 8 pairs needed; of the last 11 steps 45% were")
    assert "choose another lag" in online.reason
