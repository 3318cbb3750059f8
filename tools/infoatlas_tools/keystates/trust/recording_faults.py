"""Faults of recordings: coordinates that freeze, values far out, frames of another demonstration.

A coordinate freezes if it moves, and then keeps exactly one value for a tenth of the demonstration:
objects and joints slow down before they rest. One that never moves is frozen, too, and so is one
that keeps its value after a slow motion, if it never rests in most demonstrations. These are faults
only if four of five demonstrations have nothing like it. A robot that waits can look the same, so
the texts say only that the value does not change.
"""

from collections.abc import Sequence

import numpy as np

from ...array_types import Bool, Float, Int
from ..contacts.keystate_steps import ENOUGH, SHARED
from ..coordinates import ReadCoordinates
from ..motion.motion_scales import AT_REST, root_mean_square

LONG = 0.1  # of a demonstration: what is frozen, or equal to another one, for so long is a fault
TIMES = 5.0  # the longest time in the others: a coordinate that keeps its value longer freezes
FAR = 30.0  # times the range in the others: a value is farther out than any task needs


def recording_faults(coordinates: ReadCoordinates, paths: Sequence[Float]) -> list[list[str]]:
    """Texts on coordinates that drop out, freeze or are far out, by demonstration of `paths`.

    These are N arrays [T, p].
    """
    found: list[list[str]] = [[] for _ in paths]
    for one in coordinates.dropouts:
        found[one.demonstration].append(f"dropout, {one}")
    if len(paths) < ENOUGH:
        return found
    other, names = max(int(len(paths) * SHARED), 1), coordinates.names
    plain = np.array([group < 0 for group, _ in coordinates.parts])
    rms = root_mean_square(paths)
    moves = np.maximum(AT_REST * rms, coordinates.least)
    rests = np.median([_frozen(own, np.full(len(rms), -1.0))[1] for own in paths], axis=0)
    moves[plain & (rests <= 1)] = -1.0
    rows = [_frozen(own, moves) for own in paths]
    frozen = np.array([row[1] / max(len(o) - 1, 1) for row, o in zip(rows, paths, strict=True)])
    bad = (frozen >= LONG) & (frozen > TIMES * np.sort(frozen, axis=0)[-1 - other])
    for i in np.flatnonzero(bad.any(axis=1)).tolist():
        (begin, length), column = rows[i], int((frozen[i] * bad[i]).argmax())
        first, last = int(begin[column]), int(begin[column] + length[column])
        what = _list_names(names, bad[i], column, "keeps", "keep")
        found[i].append(f"{what} exactly one value from step {first} to {last}")
    low, high = (np.array([end(path, axis=0) for path in paths]) for end in (np.min, np.max))
    least, most = np.sort(low, axis=0)[other], np.sort(high, axis=0)[-1 - other]
    far = (np.maximum(least - low, high - most) > FAR * (most - least)) & plain
    for i in np.flatnonzero(far.any(axis=1)).tolist():
        column = int(far[i].argmax())
        below = least[column] - low[i, column] > high[i, column] - most[column]
        usual = f"usual {least[column]:.3g} to {most[column]:.3g}"
        value = (low if below else high)[i, column]
        what = _list_names(names, far[i], column, "is", "are")
        found[i].append(f"{what} far out: {value:.4g} ({usual})")
    return found


def equal_frames(
    states: Float, columns: Int, lengths: Int, episodes: Sequence[str]
) -> list[list[str]]:
    """Texts about demonstrations that share a tenth of their frames with another one.

    Their states [n, d] are end to end, and those of the `columns` are compared, by a hash.
    """
    value = np.zeros(len(states), np.uint64)
    for c in columns.tolist():
        value ^= states[:, c].astype(np.float64).view(np.uint64)
        value *= np.uint64(0x9E3779B97F4A7C15)
        value ^= value >> np.uint64(32)
    rows = [np.unique(own) for own in np.split(value, np.cumsum(lengths)[:-1])]  # rest counts once
    every, times = np.unique(np.concatenate(rows), return_counts=True)
    seen: dict[int, list[int]] = {one: [] for one in every[times > 1].tolist()}
    several = [[one for one in own.tolist() if one in seen] for own in rows]
    for i, own in enumerate(several):
        for one in own:
            seen[one].append(i)
    found: list[list[str]] = [[] for _ in rows]
    for i, own in enumerate(several):
        count = len(rows[i])
        if len(own) >= max(LONG * count, 2):
            shared = np.bincount([j for one in own for j in seen[one]], minlength=len(rows))
            shared[i] = 0
            if shared.max() >= max(LONG * count, 2):
                j = int(shared.argmax())
                found[i].append(f"{shared[j]} of {count} frames equal to those of {episodes[j]}")
    return found


def _frozen(path: Float, moves: Float) -> tuple[Int, Int]:
    """Begin and length, steps, of the longest time [p] in which each coordinate is frozen.

    An increment of the path [T, p] that is above `moves` [p] precedes such a time.
    """
    motion = np.diff(path, axis=0)
    step = np.arange(len(motion) + 1)[:, None]
    still = np.zeros((1, motion.shape[1]), bool)
    begin = np.maximum.accumulate(np.where(np.r_[still, motion != 0], step, 0), axis=0)
    moving = np.r_[still, np.abs(motion) > moves]
    sudden = np.take_along_axis(moving, begin, axis=0) | (begin[-1] == 0)
    length = np.where(sudden, step - begin, 0)
    longest = length.argmax(axis=0)
    columns = np.arange(motion.shape[1])
    return begin[longest, columns], length[longest, columns]


def _list_names(names: Sequence[str], bad: Bool, first: int, one: str, more: str) -> str:
    """The first name, and how many more there are, with the verb for one or for more."""
    return (
        f"{names[first]} {one}"
        if bad.sum() == 1
        else f"{names[first]} and {bad.sum() - 1} more {more}"
    )
