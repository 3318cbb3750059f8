"""Random pushes to windows: a pair is always a state and the state `lag` steps before."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import numpy as np
from calls import Wrong, check
from values import Rng, pick

from infoatlas_rt import InfoAtlasError
from infoatlas_rt.streams.online import OnlineEstimator
from infoatlas_rt.vector.pooled_pairs import PooledPairs

sys.path.insert(0, str(Path(__file__).parents[1]))
from fakes import RecordingEstimator

POISON = 77_777  # a masked value, which must not appear in results


def state(rng: Rng, step: int, offset: int, form: str) -> Any:
    """A state [2] that contains its step, in some type."""
    if form == "small":
        kind = pick(rng, ("float32", "float64", "int16", "int64", "uint32", "longdouble", "list"))
        return [step, 1] if kind == "list" else np.array([step, 1], kind)
    kind = pick(rng, ("int64", "uint64", "list", "object"))
    values = [offset + step, 1]
    return values if kind == "list" else np.array(values, kind)


def bad(rng: Rng) -> tuple[str, Any]:
    """A state that is refused and leaves a hole, and the count for it."""
    return pick(
        rng,
        (
            ("NaN", [POISON, np.nan]),
            ("NaN", np.array([np.inf, POISON], np.float32)),
            ("NaN", np.array([-np.inf, 7], np.float16)),
            ("NaN", [POISON, 1e200]),
            ("NaN", np.ma.array([POISON, 1], mask=[True, False])),
            ("NaN", np.ma.array([POISON, 1.0], mask=True)),
            ("NaN", [np.ma.masked, POISON]),
            ("dimension", [POISON] * 3),
            ("dimension", np.full((1, 2), POISON)),
            ("dimension", []),
            ("dimension", POISON),
            ("dtype", ["a", "b"]),
            ("dtype", None),
            ("dtype", [POISON, None]),
            ("dtype", [[POISON], 1]),
            ("dtype", np.array([POISON, 1j])),
            ("dtype", {}),
            ("dtype", np.zeros(2, "datetime64[s]")),
        ),
    )


def stream(rng: Rng, pushes: int) -> int:
    """A stream of that many pushes; returns how many were refused.

    Raises
    ------
    Wrong
    """
    window, lag = int(rng.integers(8, 20)), int(rng.integers(1, 5))
    history, stamped = int(rng.integers(1, 3)), bool(rng.integers(2))
    by_time = stamped and bool(rng.integers(2))
    fake = RecordingEstimator(n_min=8)
    online = OnlineEstimator(
        fake, lag=lag, history=history, window=window, lag_seconds=lag * 0.01 if by_time else None
    )
    form = pick(rng, ("small", "large"))
    offset = pick(rng, (10**12, 2**53 - 10**6))
    expected = dict.fromkeys(online.counts, 0)
    step, first = 0, True
    for number in range(pushes):
        stamp = step * 0.01 if stamped else None
        event = "good" if first else pick(rng, ("good",) * 7 + ("bad", "repeat", "older", "stamp"))
        seen = len(fake.calls)
        if event == "good":
            online.push(state(rng, step, offset, form), stamp)
            expected["accepted"] += 1
            step, first = step + 1, False
        elif event == "bad":
            kind, value = bad(rng)
            check(online.push(value, stamp) is None, f"a reading of {value!r}")
            check(online.reason.startswith("refused"), f"{value!r}: {online.reason}")
            expected[kind] += 1
            step += 1
        elif event == "repeat" and stamped:
            online.push([POISON, POISON], (step - 1) * 0.01)
            expected["repeated stamp"] += 1
        elif event == "older" and stamped and step > 2:
            online.push([POISON, POISON], (step - 1.5) * 0.01)
            expected["older stamp"] += 1
        elif event == "stamp":
            junk = pick(rng, ("now", [1.0], {}, True) if stamped else ("now", 1.0, np.nan, {}))
            try:
                online.push([POISON, POISON], junk)
            except InfoAtlasError:
                pass
            else:
                raise Wrong(f"stamp {junk!r} was accepted")
        for call in fake.calls[seen:]:
            check_window(call, window, lag, history, f"push {number} ({event}, {form})")
    check(online.counts == expected, f"counts {online.counts}, expected {expected}")
    return pushes - expected["accepted"]


def check_window(call: Any, window: int, lag: int, history: int, what: str) -> None:
    x, y = call.x[:, 0], call.y[:, ::2]
    check(len(x) <= window, f"{what}: {len(x)} pairs in a window of {window}")
    check(POISON not in call.x and POISON not in call.y, f"{what}: a refused value was read")
    check(bool((np.diff(x) > 0).all()), f"{what}: steps are not in order")
    check(x[-1] - x[0] < window, f"{what}: older than the window")
    # Large numbers are centred by the middle of their column, and so are lags: they stay equal.
    sides = [x, *y.T]
    for newer, older, apart in zip(sides[:-1], sides[1:], [lag] + [1] * (history - 1), strict=True):
        lags = np.unique(newer - older)
        moved = abs(newer).max() < window
        check(len(lags) == 1 and (lags[0] == apart or moved), f"{what}: lags {lags}")


def pool(rng: Rng, pushes: int) -> int:
    """Parallel environments; returns in how many steps something was refused."""
    envs, lag = int(rng.integers(1, 5)), int(rng.integers(1, 4))
    pairs, found = PooledPairs(envs, 10, lag=lag), 0
    offset = pick(rng, (0, 10**12))
    for step in range(pushes):
        values = np.column_stack([np.full(envs, offset + step), np.arange(envs)])
        if rng.random() < 0.1:
            junk = pick(rng, (None, "ab", values[:, :1], values[:-1], values + 1j, [[1], [1, 2]]))
            try:
                pairs.push(junk)
            except InfoAtlasError:
                found += 1
            else:
                check(step == 0 or junk is values[:-1], f"{junk!r} was accepted")
            if step == 0:
                return found
        masked = rng.random(values.shape) < 0.05
        given = pick(rng, (values, np.ma.array(np.where(masked, POISON, values), mask=masked)))
        result = pairs.push(given, rng.random(envs) < 0.05 if rng.integers(2) else None)
        check(bool((result.x[:, 0] - result.y[:, 0] == lag).all()), f"lags {result}")
        check(bool((result.x[:, 1] == result.y[:, 1]).all()), "another environment")
        check(POISON not in result.x and POISON not in result.y, "a masked value was read")
    return found
