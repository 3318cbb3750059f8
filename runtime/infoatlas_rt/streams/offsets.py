"""By how many steps one series follows another: a correlation of amounts of motion, bootstrapped.

The correlation at each lag is of all episodes together, and its largest value is interpolated by a
parabola. The mutual information of `lag_scan` has no smaller errors, and needs five times as long
(docs/clocks.md).
"""

from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

Float = NDArray[np.float64]
Int = NDArray[np.int64]

REACH = 1.5  # s of the largest lag
WINDOW = 0.13  # s of a motion: pictures that are repeated, and noise, weigh less than in one step
REST = 0.05  # of the root mean square of a motion: the logarithm of less is that of rest
BLOCK = 2.0  # s of a block of the bootstrap within episodes
ENOUGH = 5  # episodes whose bootstrap needs no blocks
DRAWS = 400
FINEST = 0.15  # steps, half of an interval at least: a parabola errs by up to 0.1 of them
CORRELATED = 0.3  # at the best lag, at least
WIDEST = 3.0, 0.1  # steps or seconds, the larger one: half of an interval, at most
APART = 2.0  # steps by which an episode, or its second half, differs, at least
Z = 1.645  # of a 90% interval
NOISE = 8.0  # grey levels of 256: a smaller change of a picture is noise or light


class Offset(NamedTuple):
    """By how many steps one series follows another; below 0 it is ahead."""

    steps: float  # NaN if it is not known
    interval: tuple[float, float]  # 90%, steps
    correlation: float
    why: str  # why it is not known; else empty
    own: Float  # [N], offset of each episode; NaN if it is too short
    others: tuple[int, ...]  # episodes whose offset differs
    drift: float  # steps by which the second halves differ from the first ones; 0 if uncertain

    @property
    def apart(self) -> bool:
        """Whether it is known, and its interval more than a step from 0."""
        return not self.why and bool(self.interval[0] > 1 or self.interval[1] < -1)


def unknown(why: str) -> Offset:
    """No offset, and the reason."""
    return Offset(np.nan, (np.nan, np.nan), np.nan, why, np.zeros(0), (), 0.0)


def speeds(values: Iterable[Any], window: int, columns: Sequence[int]) -> list[Float]:
    """Logarithms of the motion within `window` steps, [T - window] of values [T, d]."""
    own = (np.asarray(each, np.float64)[:, list(columns)] for each in values)
    sizes = [np.linalg.norm(each[window:] - each[:-window], axis=1) for each in own]
    least = REST * np.sqrt(np.mean(np.concatenate(sizes) ** 2))
    return [np.log(size + max(least, 1e-12)) for size in sizes]


def picture_change(grey: NDArray[Any], window: int) -> Float:
    """Logarithm of the mean change [T - window] of pictures [T, h, w] within `window` steps."""
    change = np.abs(grey[window:] - grey[:-window])
    mean = np.where(change > NOISE, change, 0).mean(axis=(1, 2), dtype=np.float64)
    return np.asarray(np.log1p(mean))


def motion(values: NDArray[Any], times: Float, ticks: Float) -> Float:
    """Logarithm of the motion at even `ticks` of states [n, d] or pictures [n, h, w] at `times`."""
    own, window = values.reshape(len(values), -1), round(WINDOW / float(ticks[1] - ticks[0]))
    after = np.clip(np.searchsorted(times, ticks), 1, len(times) - 1)
    gap = np.maximum(times[after] - times[after - 1], 1e-9)
    share = np.clip((ticks - times[after - 1]) / gap, 0, 1)[:, None].astype(own.dtype)
    at = own[after - 1] * (1 - share) + own[after] * share
    if values.ndim == 3:
        return picture_change(at.reshape(len(at), *values.shape[1:]), max(1, window))
    return speeds([at], max(1, window), range(at.shape[1]))[0]


def find_offset(
    first: Sequence[Float], second: Sequence[Float], rate: float, seed: int = 0
) -> Offset:
    """By how many steps `second` follows `first`, each N arrays [T] at one rate, Hz.

    The interval is that of a bootstrap over episodes, widened as Student's t is; of fewer than five
    episodes, over blocks of two seconds within them, too. An offset is not known if the largest
    correlation is small or at an end of the lags, or if the interval is wide.
    """
    rng, count = np.random.default_rng(seed), len(first)
    own = np.full(count, np.nan)
    length = np.array([min(map(len, pair)) for pair in zip(first, second, strict=True)])
    reach = min(round(REACH * rate), int(np.median(length)) // 3) if count else 0
    rows = np.flatnonzero(length > 2 * reach)
    if reach < 2 or not len(rows):
        return unknown("episodes are too short")
    sums = [_sums(first[i], second[i], reach, round(BLOCK * rate)) for i in rows.tolist()]
    total = np.array([each.sum(axis=0) for each in sums])
    best, correlation = (float(value[0]) for value in _peaks(total.sum(axis=0)[None]))
    tops = _peaks(_drawn(sums, total, rng))[0]
    wide = _widening(len(rows))
    low, high = best + wide * (np.quantile(tops, (0.05, 0.95)) - best)
    low, high = min(low, best - FINEST), max(high, best + FINEST)
    own[rows] = _peaks(total)[0]
    why = ""
    if not correlation >= CORRELATED:
        why = f"they hardly move together (correlation {correlation:.2f})"
    elif abs(best) > reach - 2:
        why = f"no lag within {reach / rate:.2g} s is best"
    elif high - low > 2 * max(WIDEST[0], WIDEST[1] * rate):
        why = f"its interval has {high - low:.0f} steps"
    if why:
        return Offset(np.nan, (low, high), correlation, why, own, (), 0.0)
    others = _others(rows, sums, best, WIDEST[0] + WIDEST[1] * rate, rng)
    if len(others) > len(rows) / 3:
        why = f"it differs between episodes, from {own[rows].min():.0f} to {own[rows].max():.0f}"
        return Offset(np.nan, (low, high), correlation, f"{why} steps", own, others, 0.0)
    return Offset(best, (low, high), correlation, "", own, others, _drift(sums, best, wide, rng))


def _sums(first: Float, second: Float, reach: int, block: int) -> Float:
    """Sums [blocks, lags, 3] of x y, x², y², of pairs around the same steps at all lags."""
    length = min(len(first), len(second))
    x, y = (np.asarray(own[:length] - own[:length].mean()) for own in (first, second))
    steps = np.arange((reach + 1) // 2, length - (reach + 1) // 2)
    lags = np.arange(-reach, reach + 1)
    x, y = x[steps[:, None] - lags // 2], y[steps[:, None] + lags - lags // 2]
    number = max(2, round(len(steps) / block))
    begin = np.linspace(0, len(steps), number + 1)[:-1].astype(int)
    return np.add.reduceat(np.stack([x * y, x * x, y * y], axis=-1), begin, axis=0)


def _peaks(sums: Float) -> tuple[Float, Float]:
    """Lags and heights [n] of the largest correlations by sums [n, lags, 3]."""
    found = sums[..., 0] / np.sqrt(np.maximum(sums[..., 1] * sums[..., 2], 1e-24))
    top = found[:, 1:-1].argmax(axis=1) + 1
    rows = np.arange(len(found))
    before, at, after = (found[rows, top + k] for k in (-1, 0, 1))
    bend = np.maximum(2 * at - before - after, 1e-12)
    return top + np.clip((after - before) / 2 / bend, -1, 1) - found.shape[1] // 2, at


def _drawn(sums: Sequence[Float], total: Float, rng: np.random.Generator) -> Float:
    """Sums [DRAWS, lags, 3] of drawn episodes; of few, of drawn blocks in them."""
    count = len(sums)
    times = rng.multinomial(count, [1 / count] * count, DRAWS)
    if count >= ENOUGH:
        return np.tensordot(times, total, 1)
    found = np.zeros((DRAWS, *total.shape[1:]))
    for own, often in zip(sums, times.T, strict=True):
        blocks = len(own)
        found += np.tensordot(rng.multinomial(often * blocks, [1 / blocks] * blocks), own, 1)
    return found


def _widening(count: int) -> float:
    """Ratio of the interval of a mean of `count` values to that of their bootstrap."""
    if count < ENOUGH:
        return 1.0
    free = count - 1
    student = Z + (Z**3 + Z) / (4 * free) + (5 * Z**5 + 16 * Z**3 + 3 * Z) / (96 * free**2)
    return float(student / Z * np.sqrt(count / free))


def _others(
    rows: Int, sums: Sequence[Float], best: float, most: float, rng: np.random.Generator
) -> tuple[int, ...]:
    """Episodes whose own interval, and both halves, are on one side of the offset of all."""
    found = []
    for i, own in zip(rows.tolist(), sums, strict=True):
        drawn = _drawn([own], own.sum(axis=0)[None], rng)
        halves = [_peaks(half.sum(axis=0)[None])[0][0] for half in np.array_split(own, 2)]
        if -APART <= max(halves) - best and min(halves) - best <= APART:
            continue
        low, high = np.quantile(_peaks(drawn)[0], (0.05, 0.95))
        ends = np.array([low, high, *halves]) - best
        if (ends.min() > APART or ends.max() < -APART) and high - low <= 2 * most:
            found.append(i)
    return tuple(found)


def _drift(sums: Sequence[Float], best: float, wide: float, rng: np.random.Generator) -> float:
    """Steps by which the second halves follow later than the first ones; 0 if uncertain."""
    count, reach = len(sums), sums[0].shape[1] // 2
    near = reach + round(best) + np.array([-1, 1]) * max(3, reach // 4)
    if count < ENOUGH or near[0] < 0 or near[1] > 2 * reach:
        return 0.0
    halves = [
        np.array([np.array_split(own, 2)[k].sum(axis=0)[slice(*near)] for own in sums])
        for k in (0, 1)
    ]
    drawn = rng.multinomial(count, [1 / count] * count, DRAWS)
    (first, low), (second, other) = (_peaks(own.sum(axis=0)[None]) for own in halves)
    drift = float(second[0] - first[0])
    tops = np.subtract(*(_peaks(np.tensordot(drawn, own, 1))[0] for own in halves[::-1]))
    ends = drift + wide * (np.quantile(tops, (0.05, 0.95)) - drift)
    sure = ends[0] * ends[1] > 0 and min(low[0], other[0]) >= CORRELATED
    return drift if sure and abs(drift) >= APART / 2 else 0.0
