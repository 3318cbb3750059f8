"""Random pushes to windows: a pair is always a state and the state `lag` steps before."""

import numpy as np
import pytest
from hypothesis import given, strategies as st

from fakes import RecordingEstimator
from fuzz.outcomes import REFUSED, chosen, fuzzed, outcome, seeds
from infoatlas_rt.streams.online import OnlineEstimator
from infoatlas_rt.vector.pooled_pairs import PooledPairs

pytestmark = pytest.mark.filterwarnings("error")
POISON = 77_777  # a refused value, which must not appear in results

SMALL = ("float32", "float64", "int16", "int64", "uint32", "longdouble", "list")
BIG = ("int64", "uint64", "list", "object")
# States that leave a hole, by the reason that is counted.
BAD = [
    *(("NaN", value) for value in (
        [POISON, np.nan], np.array([np.inf, POISON], np.float32), [POISON, 1e200],
        np.array([-np.inf, 7], np.float16), np.ma.array([POISON, 1], mask=[True, False]),
        np.ma.array([POISON, 1.0], mask=True), [np.ma.masked, POISON],
    )),
    *(("dimension", value) for value in ([POISON] * 3, np.full((1, 2), POISON), [], POISON)),
    *(("dtype", value) for value in (
        ["a", "b"], None, [POISON, None], [[POISON], 1], np.array([POISON, 1j]), {},
        np.zeros(2, "datetime64[s]"),
    )),
]  # fmt: skip
GOOD = chosen(range(len(SMALL)))
EVENTS = st.one_of(
    GOOD, GOOD, GOOD, st.sampled_from(BAD), chosen(("repeat", "older", "now", [1.0], {}, True))
)


@fuzzed(60)
@given(
    st.lists(EVENTS, min_size=40, max_size=100), st.integers(8, 19), st.integers(1, 4),
    st.integers(1, 2), chosen(("", "stamps", "seconds")), chosen((0, 10**12, 2**53 - 10**6)),
)  # fmt: skip
def test_windows_pair_states_that_are_a_lag_apart(events, window, lag, history, times, offset):
    fake = RecordingEstimator(n_min=8)
    seconds = lag * 0.01 if times == "seconds" else None
    online = OnlineEstimator(fake, lag=lag, history=history, window=window, lag_seconds=seconds)
    expected, step = dict.fromkeys(online.counts, 0), 0
    for event in [0, *events]:
        stamp, seen = step * 0.01 if times else None, len(fake.calls)
        if isinstance(event, int) and not isinstance(event, bool):
            kind = BIG[event % len(BIG)] if offset else SMALL[event]
            values = [offset + step, 1]
            online.push(values if kind == "list" else np.array(values, kind), stamp)
            expected["accepted"] += 1
            step += 1
        elif isinstance(event, tuple):
            assert online.push(event[1], stamp) is None
            assert online.reason.startswith("refused")
            expected[event[0]] += 1
            step += 1
        elif event == "repeat" and times:
            online.push([POISON, POISON], (step - 1) * 0.01)
            expected["repeated stamp"] += 1
        elif event == "older" and times and step > 2:
            online.push([POISON, POISON], (step - 1.5) * 0.01)
            expected["older stamp"] += 1
        elif event not in ("repeat", "older"):
            assert outcome(lambda junk=event: online.push([POISON, POISON], junk)) is REFUSED
        for call in fake.calls[seen:]:
            check_window(call, window, lag, history)
    assert online.counts == expected


def check_window(call, window, lag, history):
    x, y = call.x[:, 0], call.y[:, ::2]
    assert POISON not in call.x and POISON not in call.y
    assert (np.diff(x) > 0).all() and x[-1] - x[0] < window and len(x) <= window
    # Large numbers are centred by the middle of their column, and so are lags: they stay equal.
    sides = [x, *y.T]
    for newer, older, apart in zip(sides[:-1], sides[1:], [lag] + [1] * (history - 1), strict=True):
        lags = np.unique(newer - older)
        moved = abs(newer).max() < window
        assert len(lags) == 1 and (lags[0] == apart or moved)


@fuzzed(30)
@given(seeds, st.integers(1, 4), st.integers(1, 3), chosen((0, 10**12)))
def test_pooled_pairs_are_of_one_environment(rng, envs, lag, offset):
    pairs = PooledPairs(envs, 10, lag=lag)
    for step in range(60):
        values = np.column_stack([np.full(envs, offset + step), np.arange(envs)])
        junk = (None, "ab", values[:, :1], values + 1j, [[1], [1, 2]], values[:-1])
        if step and rng.random() < 0.1:
            value = junk[rng.integers(len(junk))]
            assert outcome(lambda value=value: pairs.push(value)) is REFUSED
        masked = rng.random(values.shape) < 0.05
        poisoned = np.ma.array(np.where(masked, POISON, values), mask=masked)
        ended = rng.random(envs) < 0.05 if rng.integers(2) else None
        found = pairs.push(poisoned if rng.integers(2) else values, ended)
        assert (found.x[:, 0] - found.y[:, 0] == lag).all()
        assert (found.x[:, 1] == found.y[:, 1]).all()
        assert POISON not in found.x and POISON not in found.y
