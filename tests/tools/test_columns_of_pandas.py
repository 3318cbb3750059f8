"""pandas objects are accepted like arrays, and results contain their names."""

import numpy as np
import pandas as pd
import pytest

from fakes import RecordingEstimator
from infoatlas_rt import Estimator, InputError, KeyStateTracker, OnlineEstimator, PooledPairs
from infoatlas_rt.inputs.checks import as_samples
from infoatlas_tools import Trajectories, discover_keystates, independence_test
from refusals import refuses
from regimes import demonstrations

NAMES = ["tool.x", "tool.y", "tool.z", "cube.x", "cube.y", "cube.z"]


@pytest.fixture(scope="module")
def frames():
    return [pd.DataFrame(states, columns=NAMES) for states in demonstrations()[0]]


def test_frames_and_series_are_read_like_arrays():
    rng = np.random.default_rng(0)
    values = rng.standard_normal((60, 3))
    frame = pd.DataFrame(values, columns=list("abc"), index=rng.permutation(60))
    np.testing.assert_array_equal(as_samples(frame, "x"), values)
    np.testing.assert_array_equal(as_samples(frame["b"], "x"), values[:, 1:2])
    estimator = Estimator(threads=1)
    expected = estimator.estimate(values, values[:, 0]).mi
    assert estimator.estimate(frame, frame["a"]).mi == expected
    expected = independence_test(values, values[:, 0], estimator, permutations=3).null
    found = independence_test(frame, frame["a"], estimator, permutations=3).null
    np.testing.assert_array_equal(found, expected)


def test_nullable_and_large_integers_keep_their_values():
    large = [2**60, 2**60 + 1, 2**60 + 2]
    nullable = pd.DataFrame({"count": pd.array(large, "Int64"), "on": [True, False, True]})
    np.testing.assert_array_equal(as_samples(nullable, "x")[:, 0], [0, 1, 2])
    mixed = pd.DataFrame({"count": large, "angle": [0.5, 1.5, 2.5]})
    np.testing.assert_array_equal(as_samples(mixed, "x"), [[0, 0.5], [1, 1.5], [2, 2.5]])


@pytest.mark.parametrize("missing", [np.nan, pd.NA, None])
def test_errors_name_the_column_of_a_missing_value(missing):
    frame = pd.DataFrame({"left": [0.0, 1.0], "right": pd.array([2.0, missing], "Float64")})
    refuses(r"1 NaN .* sample 1, coordinate 1 \('right'\)", as_samples, frame, "x")
    refuses(r"row 1, column 1 \('right'\)", Trajectories, frame, [2])


@pytest.mark.parametrize(
    ("column", "dtype"),
    [
        (pd.date_range("2026-01-01", periods=3), "datetime64"),
        (["open", "shut", "open"], "str|object"),
        (pd.Categorical(["open", "shut", "open"]), "category"),
        ([1 + 2j, 0j, 1j], "complex128"),
    ],
)
def test_errors_name_a_column_that_is_no_numbers(column, dtype):
    frame = pd.DataFrame({"angle": [0.0, 1.0, 2.0], "gripper": column})
    refuses(rf"x, column 1 \('gripper'\) has dtype ({dtype})", as_samples, frame, "x")


def test_numbered_columns_are_no_names():
    refuses("coordinate 1: remove", as_samples, pd.DataFrame([[0.0, np.nan]]), "x")
    assert Trajectories(pd.DataFrame(np.ones((4, 2))), [4]).names == ()


def test_names_of_columns_are_names_of_coordinates(frames):
    found = discover_keystates(frames, count=2)
    assert found.trajectories.names == tuple(NAMES)
    named = Trajectories([f.to_numpy() for f in frames], names=NAMES)
    np.testing.assert_array_equal(found.steps, discover_keystates(named, count=2).steps)
    joined = Trajectories(pd.concat(frames, ignore_index=True), pd.Series([len(f) for f in frames]))
    assert joined.names == tuple(NAMES)
    levels = pd.MultiIndex.from_tuples([("tool", "x"), ("tool", "y")])
    tool = Trajectories(pd.DataFrame(np.ones((3, 2)), columns=levels), [3])
    assert tool.names == ("tool.x", "tool.y")


def test_frames_with_other_columns_are_refused(frames):
    refuses("trajectory 1 has the columns", discover_keystates, [frames[0], frames[1][NAMES[::-1]]])
    refuses("groupby", discover_keystates, pd.concat(frames))
    gaps = frames[2].copy()
    gaps.loc[3, "cube.x"] = np.nan
    with pytest.raises(InputError, match=r"trajectory 2 .* sample 3, coordinate 3 \('cube.x'\)"):
        discover_keystates([*frames[:2], gaps])


def test_rows_of_a_frame_are_states(frames):
    tracker = KeyStateTracker(discover_keystates(frames[:10], count=2))
    other = KeyStateTracker(tracker.task)
    for (_, row), state in zip(frames[11].iterrows(), frames[11].to_numpy(), strict=True):
        assert tracker.push(row) == other.push(state)
    refuses("pass the same ones in the same order", tracker.push, frames[0].iloc[0][NAMES[::-1]])
    assert tracker.step == other.step

    online = OnlineEstimator(RecordingEstimator(8), window=20)
    estimates = [online.push(row, stamp=float(i)) for i, row in frames[0].iterrows()]
    assert online.counts["accepted"] == len(frames[0]) and estimates[-1] is not None

    pool = PooledPairs(3, 4, lag=1)
    rows = [pd.DataFrame([f.iloc[i] for f in frames[:3]]) for i in range(2)]
    pool.push(rows[0], done=pd.Series([False, True, False]))
    pairs = pool.push(rows[1])
    np.testing.assert_array_equal(pairs.x, rows[1].to_numpy()[[0, 2]])
    np.testing.assert_array_equal(pairs.y, rows[0].to_numpy()[[0, 2]])
