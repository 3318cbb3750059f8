"""Two streams in one estimator, and states that are taken and read later."""

from __future__ import annotations

import numpy as np
import pytest

from fakes import RecordingEstimator
from infoatlas_rt.errors import InputError
from infoatlas_rt.online import OnlineEstimator


@pytest.fixture
def fake() -> RecordingEstimator:
    return RecordingEstimator(n_min=8)


@pytest.mark.parametrize(("lag", "history"), [(0, 1), (0, 3), (4, 2)])
def test_the_past_is_that_of_the_other_stream(fake, lag, history):
    online = OnlineEstimator(fake, lag=lag, history=history, window=10, two_streams=True)
    rng = np.random.default_rng(0)
    a, b = rng.standard_normal((40, 2)), rng.standard_normal((40, 3))
    for t in range(40):
        online.push(a[t], t / 100, b[t])
    np.testing.assert_array_equal(fake.calls[-1].x, a[30:])
    past = np.arange(30, 40)[:, None] - lag - np.arange(history)
    np.testing.assert_array_equal(fake.calls[-1].y, b[past].reshape(10, -1))


@pytest.mark.parametrize("broken", [np.array([np.nan, 0, 0]), np.zeros(2), np.array(["a"] * 3)])
def test_either_state_that_is_broken_leaves_a_hole(fake, broken):
    online = OnlineEstimator(fake, lag=1, window=10, two_streams=True)
    for t in range(30):
        other = broken if t == 20 else np.full(3, float(t))
        online.push([float(t), 1.0], other=other)
        if t in (20, 21):
            assert online.reason.startswith(("refused", "hole"))
    assert online.counts["accepted"] == 29
    for call in fake.calls:
        np.testing.assert_array_equal(call.x[:, 0] - call.y[:, 0], 1)


def test_two_streams_that_need_a_resolution(fake):
    online = OnlineEstimator(fake, lag=1, history=2, window=10, two_streams=True, resolution=0.5)
    for t in range(30):
        online.push(np.full(2, t), other=np.full(3, t))
    assert fake.calls[-1].resolution_x.tolist() == [0.5] * 2
    assert fake.calls[-1].resolution_y.tolist() == [0.5] * 6


def test_reading_later_reads_the_window_as_it_is(fake):
    online = OnlineEstimator(fake, lag=1, window=10)
    assert online.read() is None
    for t in range(20):
        assert online.push([float(t)], t / 10, read=False) is None
    assert online.reason == "waiting: told not to read" and not fake.calls
    assert online.read().stamp == 1.9
    np.testing.assert_array_equal(fake.calls[0].x[:, 0], range(10, 20))
    assert online.read() is None  # nothing has come since


def test_wrong_use(fake):
    with pytest.raises(InputError, match="two_streams"):
        OnlineEstimator(fake, window=10).push([1.0], other=[1.0])
    with pytest.raises(InputError, match="two_streams"):
        OnlineEstimator(fake, window=10, two_streams=True).push([1.0])
    with pytest.raises(InputError, match="let lag be at least 1"):
        OnlineEstimator(fake, window=10, lag=0, lag_seconds=0.1, two_streams=True)
