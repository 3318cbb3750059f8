"""Types, masks and large integers have the same meaning for all inputs."""

import warnings

import numpy as np
import pytest

from fakes import RecordingEstimator
from infoatlas_rt import Estimator
from infoatlas_rt.inputs.checks import as_samples
from infoatlas_rt.streams.online import OnlineEstimator
from refusals import refuses

N = 100
NOW = 1_763_800_000_123_456_789  # nanoseconds since 1970; floats resolve 256 of them
rng = np.random.default_rng(0)
COUNTS = np.cumsum(rng.integers(1, 4, N))  # neighbours differ by 1 to 3
OTHER = COUNTS + rng.integers(0, 30, N)


def test_distances_of_large_integers_are_kept():
    """Sliced sides are not ranked first, so the shape of their distribution is kept."""
    far = 2**62 + 1000 * COUNTS
    np.testing.assert_array_equal(np.diff(as_samples(far, "x")[:, 0]), 1000 * np.diff(COUNTS))
    sliced = Estimator(k=2, slices=5, threads=1)
    x = np.stack([COUNTS, COUNTS[::-1], OTHER], axis=1)
    expected = sliced.estimate(x, OTHER[:, None] + [[0, 1]] * rng.random((N, 2)))
    assert np.isfinite(expected.mi)
    moved, still = sliced.estimate(x + NOW, x[:, :2]), sliced.estimate(x, x[:, :2])
    assert moved.mi == pytest.approx(still.mi, abs=1e-3)


def test_a_table_of_stamps_and_floats(estimator):
    """NumPy makes a list of rows one float array, which would round the stamps in it."""
    rows = [[NOW + int(c), c / 7] for c in COUNTS]
    assert len(np.unique(as_samples(rows, "x")[:, 0])) == N
    np.testing.assert_array_equal(as_samples(rows, "x")[:, 1], COUNTS / 7)
    arrays = [
        np.array([NOW + int(c), 5]) if c % 2 else np.array([NOW + int(c), 5], np.uint64)
        for c in COUNTS
    ]
    assert len(np.unique(as_samples(arrays, "x")[:, 0])) == N


def test_values_that_floats_represent_are_unchanged():
    for values in (np.arange(9) + 2**53 - 9, np.arange(9.0) * 1e300, np.arange(9, dtype=np.uint8)):
        np.testing.assert_array_equal(as_samples(values, "x")[:, 0], values)
    floats = rng.standard_normal((N, 2))
    assert as_samples(floats, "x") is floats


def test_rounding_of_long_doubles_and_infinities_beside_integers():
    np.testing.assert_array_equal(
        as_samples(np.array([1, 2]) / np.longdouble(3), "x")[:, 0], [1 / 3, 2 / 3]
    )
    refuses("x has 1 NaN", as_samples, [[NOW**20], [np.nan], [NOW**20 + 3]], "x")


@pytest.mark.parametrize("kind", [np.int64, np.uint64, list])
def test_a_large_integer_in_a_window_is_refused(kind):
    online = OnlineEstimator(RecordingEstimator(8), window=10)
    for t in range(12):
        online.push([float(t), 0.0])
    assert online.push([NOW, 0] if kind is list else np.array([NOW, 0], kind)) is None
    assert online.reason == (
        "refused: not real numbers, or an integer beyond 2^53: subtract the first"
    )
    assert online.counts["dtype"] == 1


@pytest.mark.parametrize("dtype", [np.float16, np.float32])
def test_short_floats_are_pushed_without_warnings_and_infinities_refused(estimator, dtype):
    states = rng.standard_normal((60, 3)).astype(dtype)
    online, wide = (OnlineEstimator(estimator, window=50) for _ in range(2))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for t, state in enumerate(states):
            if t == 55:
                for bad in (np.inf, -np.inf, np.nan):
                    assert online.push(np.array([bad, 0, 0], dtype)) is None
                    assert online.reason.startswith("refused: NaN, masked, infinite")
                    wide.push(np.array([bad, 0, 0]))
            newest = online.push(state)
            expected = wide.push(state.astype(float))
    assert online.counts["NaN"] == 3
    assert newest.estimate.mi == expected.estimate.mi
