"""Calls of the API: equal data gives equal estimates, and invalid arguments are refused."""

from __future__ import annotations

import copy
import math
import pickle
from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np
from values import JUNK, Rng, broken, clothes, counts, dependent, extreme, pick

from infoatlas_rt import Estimator, ExtremumDetector, InfoAtlasError, estimate as estimate_once
from infoatlas_rt.messages.sync import Synchroniser
from infoatlas_rt.streams.online import OnlineEstimator
from infoatlas_rt.vector.pooled_pairs import PooledPairs
from infoatlas_tools import independence_test
from infoatlas_tools.curves.ensemble_curve import ensemble_pairs, mi_curve
from infoatlas_tools.trajectories import Trajectories

LEAST = -0.1  # nats; no estimate is lower


class Wrong(Exception):
    """A wrong result without a warning."""


def check(holds: bool, what: str) -> None:
    if not holds:
        raise Wrong(what)


def refuse(what: str, call: Callable[[], Any]) -> str:
    """A call that has to be refused with a reason."""
    try:
        result = call()
    except InfoAtlasError as error:
        check(len(str(error)) > 10, f"{what}: refused without a reason")
        return "refused"
    raise Wrong(f"{what}: accepted, {result!s:.200}")


@cache
def unsliced() -> Estimator:
    return Estimator(threads=1)


@cache
def sliced() -> Estimator:
    return Estimator(k=2, slices=4, threads=1)


def entropy(side: Any) -> float:
    """Entropy of the rows of a side in nats, an upper bound of the mutual information."""
    _, often = np.unique(np.asarray(side), axis=0, return_counts=True)
    share = often / often.sum()
    return float(-(share * np.log(share)).sum())


def check_sane(result: Any, n: int, what: str, sides: tuple[Any, ...] = ()) -> None:
    """Check properties of any estimate."""
    for name, value in result.to_dict(arrays=True).items():
        if name != "seed" and not isinstance(value, str | None):
            check(bool(np.isfinite(value).all()), f"{what}: {name} is not finite")
    check(result.samples == n == len(result.pointwise) == len(result.influence), f"{what}: sizes")
    check(result.stderr >= 0 and result.noise >= 0, f"{what}: negative error")
    check(result.mi >= LEAST, f"{what}: {result.mi:.3f} nats")
    check(0 < result.effective_samples <= n, f"{what}: effective samples")
    check(math.isclose(result.per_slice.mean(), result.mi, abs_tol=1e-9), f"{what}: mean of slices")
    for side in sides:
        most = entropy(side)
        if most < 0.7 * math.log(n):  # a discrete side
            over = result.mi - most - 2 * result.stderr - 0.02
            check(over <= 0, f"{what}: {result} of at most {most:.3f} nats")
    constant = any(len(np.unique(np.asarray(side), axis=0)) == 1 for side in sides)
    check(constant == result.degenerate or not sides, f"{what}: degenerate {result.degenerate}")
    check(not constant or result.mi == result.stderr == 0, f"{what}: a constant side")


def pair(rng: Rng) -> tuple[np.ndarray, np.ndarray]:
    x = counts(rng, int(rng.integers(32, 120)), int(rng.integers(1, 4)))
    return x, dependent(rng, x, int(rng.integers(1, 4)))


def equivalent(rng: Rng) -> str:
    x, y = pair(rng)
    estimator = pick(rng, (unsliced(), unsliced(), sliced()))
    if estimator is sliced() and min(x.shape[1], y.shape[1]) < 2:
        estimator = unsliced()
    options = {"time_series": bool(rng.integers(2))}
    expected = estimator.estimate(x, y, **options)
    check_sane(expected, len(x), "integers", (x, y))
    large = estimator is unsliced()
    (what_x, as_x), (what_y, as_y) = clothes(rng, x, large=large), clothes(rng, y, large=large)
    found = estimator.estimate(as_x, as_y, **options)
    off = abs(found.mi - expected.mi)
    check(off <= 1e-6, f"x as {what_x}, y as {what_y}: {found.mi} instead of {expected.mi}")
    again = pick(rng, (copy.copy, copy.deepcopy, lambda e: pickle.loads(pickle.dumps(e))))
    if rng.random() < 0.005:
        check(again(estimator).estimate(x, y, **options).mi == expected.mi, "a copy differs")
    return "ok"


def refused(rng: Rng) -> str:
    x, y = pair(rng)
    name, bad = broken(rng, x)
    sides = (bad, y) if rng.integers(2) else (y, bad)
    call = pick(
        rng,
        (
            lambda: unsliced().estimate(*sides),
            lambda: sliced().estimate(*sides),
            lambda: independence_test(*sides, unsliced(), permutations=2),
            lambda: estimate_once(*sides, threads=1),
        ),
    )
    return refuse(f"samples with {name}", call)


def unusual(rng: Rng) -> str:
    n = int(rng.integers(32, 150))
    (what_x, x), (what_y, y) = (extreme(rng, n, int(rng.integers(1, 4))) for _ in "xy")
    if rng.random() < 0.3:
        what_y, y = f"x, {what_x}", x.copy()
    estimator = unsliced() if min(x.shape[1], y.shape[1]) < 2 else pick(rng, (unsliced(), sliced()))
    what = f"{what_x} and {what_y}, n={n}"
    result = estimator.estimate(x, y, time_series=bool(rng.integers(2)))
    check_sane(result, n, what, (x, y))
    if rng.random() < 0.1:
        same = estimator.estimate(x.copy(), y.copy(), time_series=True)
        again = estimator.estimate(x, y, time_series=True)
        check(same.to_dict(True) == again.to_dict(True), f"{what}: other bits the second time")
    return "ok"


def options(rng: Rng) -> str:
    """Settings of the wrong type are refused; NumPy's numbers are accepted as numbers."""
    x, y = np.random.default_rng(0).standard_normal((2, 40, 3))
    good = {
        "k": (None, 1, 3, np.int64(2)),
        "slices": (None, 1, 5, np.int32(3)),
        "shifts": (None, 4, 1000, np.int64(39)),
        "seed": (0, 7, np.int64(3), 10**30),
        "sides": ("auto", "both", "x", "y"),
        "threads": (None, 1, np.int64(2)),
        "model": ("edge",),
        "provider": ("cpu",),
    }
    name = pick(rng, good)
    if rng.random() < 0.3:
        value = pick(rng, good[name])
        given = {"threads": 1, "k": 2, "slices": 2, name: value}
        call = pick(
            rng, (lambda: Estimator(**given).estimate(x, y), lambda: estimate_once(x, y, **given))
        )
        check_sane(call(), 40, f"{name}={value!r}")
        return "ok"
    bad = [v for v in JUNK if not _fits(v, good[name], name)]
    value = pick(rng, bad)
    given = {"k": 2, "slices": 2, "threads": 1, name: value}
    return refuse(f"{name}={value!r}", lambda: Estimator(**given).estimate(x, y))


def _fits(value: Any, good: tuple[Any, ...], name: str) -> bool:
    if value is None:
        return None in good
    least, most = {"slices": (1, 10**5), "shifts": (4, math.inf), "seed": (0, math.inf)}.get(
        name, (1, 5 if name == "k" else 4096)
    )
    whole = isinstance(value, int) and not isinstance(value, bool)
    return whole and name in ("k", "slices", "shifts", "seed", "threads") and least <= value <= most


def arguments(rng: Rng) -> str:
    """Arguments of any type for calls and constructors; accepted ones have to work."""
    junk = pick(rng, JUNK)
    table = every_argument(junk)
    name = pick(rng, table)
    call, fits = table[name]
    if not fits:
        return refuse(f"{name} = {junk!r}", call)
    call()
    return "ok"


def every_argument(junk: Any) -> dict[str, tuple[Callable[[], Any], bool]]:
    """For each argument, a call with this value, and whether the value is valid."""
    x, y = np.random.default_rng(1).standard_normal((2, 40, 2))
    numbers = (int, float, np.floating, np.integer)
    number = isinstance(junk, numbers) and not isinstance(junk, bool)
    seconds = number and 0 < junk < math.inf
    count = isinstance(junk, int) and not isinstance(junk, bool) and 1 <= junk
    flag = isinstance(junk, bool)
    detector = ExtremumDetector(delay=20)
    stepped = Trajectories(np.cumsum(x.repeat(4, 0), 0), np.full(40, 4))
    e = unsliced()
    return {
        "time_series": (lambda: e.estimate(x, y, time_series=junk), flag),
        "resolution": (
            lambda: e.estimate(x, y, resolution_x=junk),
            junk is None or _steps(junk, 2),
        ),
        "groups": (lambda: e.estimate(x, y, groups=junk), junk is None),
        "permutations": (
            lambda: independence_test(x, y, e, permutations=junk),
            count and junk < 10**4,
        ),
        "estimator of a test": (
            lambda: independence_test(x, y, junk, permutations=1),
            junk is None,
        ),
        "window": (lambda: OnlineEstimator(e, window=junk), count and 32 <= junk < 10**4),
        "lag": (lambda: OnlineEstimator(e, lag=junk, window=50), count and junk < 10**4),
        "lag_seconds": (lambda: OnlineEstimator(e, lag_seconds=junk), junk is None or seconds),
        "tolerance": (
            lambda: OnlineEstimator(e, lag_seconds=10.0, tolerance=junk),
            junk is None or (seconds and junk < 10),
        ),
        "reset_after": (lambda: OnlineEstimator(e, reset_after=junk), seconds),
        "two_streams": (lambda: OnlineEstimator(e, two_streams=junk), flag),
        "estimator of a stream": (lambda: OnlineEstimator(junk), junk is None),
        "stamp": (lambda: OnlineEstimator(e).push([1.0], junk), junk is None or number),
        "envs": (lambda: PooledPairs(junk, 5), count and junk < 10**6),
        "trajectories": (lambda: mi_curve(junk, e), False),
        "mode": (lambda: mi_curve(stepped, e, mode=junk), False),
        "points": (lambda: mi_curve(stepped, e, points=junk), count and 2 <= junk < 10**4),
        "lengths": (lambda: Trajectories(x, junk), False),
        "lengths of pairs": (lambda: ensemble_pairs(x, junk, 2), False),
        "states": (lambda: Trajectories(junk, [3]), False),
        "rate": (lambda: Trajectories(x, [len(x)], rate=junk), junk is None or seconds),
        "at": (
            lambda: ensemble_pairs(x, [20, 20], junk),
            number and float(junk).is_integer(),
        ),
        "mi": (lambda: detector.update(junk, noise=0.1), number and abs(junk) < 1e100),
        "noise": (lambda: detector.update(1.0, noise=junk), number and 0 <= junk < 1e100),
        "influence": (
            lambda: detector.update(1.0, influence=junk),
            isinstance(junk, list | tuple | range) or junk is JUNK[15],
        ),
        "kinds": (lambda: ExtremumDetector(junk, delay=1), False),
        "z": (lambda: ExtremumDetector(z=junk, delay=1), seconds),
        "pairing tolerance": (lambda: Synchroniser(junk), seconds),
    }


def _steps(value: Any, d: int) -> bool:
    try:
        steps = np.asarray(float(value) if type(value) is int else value)
        if steps.dtype.kind not in "bif":
            return False
        steps = np.broadcast_to(steps, (d,))
        return bool((np.isfinite(steps) & (steps >= 0)).all())
    except ValueError:
        return False


def curve(rng: Rng) -> str:
    lengths = rng.integers(3, 9, 45) if rng.integers(2) else np.full(45, 5)
    states = counts(rng, int(lengths.sum()), 2)
    expected = mi_curve(Trajectories(states, lengths), unsliced(), points=3)
    if rng.integers(2):
        name, given = clothes(rng, states, large=True)
        found = mi_curve(Trajectories(given, lengths.tolist()), unsliced(), points=3)
        check(np.allclose(found.mi, expected.mi, atol=1e-6), f"trajectories as {name}")
        check(found.dropped == expected.dropped, f"trajectories as {name}: constants")
        return "ok"
    name, bad = broken(rng, states)
    if name == "generator":
        return "ok"
    return refuse(f"trajectories with {name}", lambda: Trajectories(bad, lengths))


def independence(rng: Rng) -> str:
    x, y = pair(rng)
    count = int(rng.integers(1, 9))
    expected = independence_test(x, y, unsliced(), permutations=count)
    check(1 / (count + 1) <= expected.p_value <= 1, f"p = {expected.p_value}")
    check(bool(np.isfinite(expected.null).all()), "null is not finite")
    name, given = clothes(rng, x, large=True)
    found = independence_test(given, y, unsliced(), permutations=count)
    check(np.allclose(found.null, expected.null, atol=1e-6), f"null with x as {name}")
    return "ok"


# How many of 100 calls are of each kind.
CASES: dict[Callable[[Rng], str], int] = {
    equivalent: 25,
    refused: 25,
    unusual: 25,
    options: 3,
    arguments: 18,
    curve: 2,
    independence: 2,
}
