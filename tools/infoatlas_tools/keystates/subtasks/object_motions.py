"""Motions of objects: steps at which a tool begins and ceases to move each object."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from .cuts import Cuts, make_cuts
from .poses import Track

Float = NDArray[np.float64]
Int = NDArray[np.int64]

MEDIAN = 0.25  # seconds of the running median of positions
LEAVES = 0.005  # m from rest, at which a motion begins
STAYS = 0.002  # m, within which an object stays when its motion has ended
REST = 0.6  # seconds for which it stays there
WAY = 0.010  # m: length of a motion, at least
DIFFERENT = 0.6  # of the object's displacement, by which the tool's may differ
MOTIONS = 3  # motions of one object
LATE = 0.9  # of a demonstration: the end of a motion after it is no cut
LAST = 0.15  # seconds at the end, in which no motion begins
NOISY = 6.0  # standard deviations of the noise that count as distance


def object_cuts(
    tool: Sequence[Track], objects: Mapping[str, Sequence[Track]], frequency: float
) -> Cuts:
    """Steps at which most demonstrations begin or cease to move an object.

    For an object that never moves, the step is that at which the tool leaves the place nearest to
    it.

    Parameters
    ----------
    tool : sequence of N Track
    objects : dict of str to sequence of N Track
    frequency : float
        Steps a second, Hz.
    """
    lengths = np.array([len(t.position) for t in tool], np.int64)
    paths = {
        name: [smooth(t.position, frequency) for t in tracks] for name, tracks in objects.items()
    }
    moving = {
        name: [
            _motions(path, track.position, frequency)
            for path, track in zip(paths[name], tracks, strict=True)
        ]
        for name, tracks in objects.items()
    }
    with_tool = _motions_with_tool(tool, paths, moving, frequency)
    columns: list[Int] = []
    labels: list[str] = []
    for name, rows in with_tool.items():
        for number in range(MOTIONS):
            for end in (False, True):
                steps = np.array(
                    [row[number][end] if len(row) > number else -1 for row in rows], np.int64
                )
                if end:
                    steps[steps >= LATE * (lengths - 1)] = -1
                else:
                    steps[steps >= lengths - max(1, round(LAST * frequency))] = -1
                columns.append(steps)
                labels.append(f"{name} {'comes to rest' if end else 'begins to move'}")
        if not any(moving[name]):
            pairs = zip(tool, objects[name], strict=True)
            steps = np.array([_leaves(hand, own, frequency) for hand, own in pairs], np.int64)
            steps[steps >= LATE * (lengths - 1)] = -1
            columns.append(steps)
            labels.append(f"the tool leaves {name}")
    return make_cuts(np.ma.masked_less(np.array(columns).T, 0), labels, lengths)


def smooth(position: Float, frequency: float) -> Float:
    """Running median of positions [T, 3] over `MEDIAN` seconds."""
    half = min(round(MEDIAN * frequency) // 2, (len(position) - 1) // 2)
    if half < 1:
        return position
    padded = np.pad(position, ((half, half), (0, 0)), mode="edge")
    windows = np.lib.stride_tricks.sliding_window_view(padded, 2 * half + 1, axis=0)
    return np.asarray(np.median(windows, axis=-1))


def _motions(p: Float, raw: Float, frequency: float) -> list[tuple[int, int]]:
    """Motions in smoothed positions [T, 3], by the distance from the place of rest."""
    noise = float(np.median(np.abs(np.diff(raw, 2, axis=0)))) * 1.48 / 6**0.5 if len(p) > 2 else 0.0
    far, still = max(LEAVES, NOISY * noise), max(STAYS, NOISY / 2 * noise)
    rest, count = max(2, round(REST * frequency)), len(p)
    found, place, t = [], p[0], 0
    while t < count:
        away = np.flatnonzero(np.linalg.norm(p[t:] - place, axis=1) > far)
        if not len(away):
            break
        first = t + int(away[0])
        last = first
        while last < count - 1:
            ahead = np.linalg.norm(p[last : last + rest] - p[last], axis=1)
            leaves = np.flatnonzero(ahead > still)
            if not len(leaves):
                break
            last += 1
        found.append((first, last))
        place, t = p[last], last + 1
    return found


def _motions_with_tool(
    tool: Sequence[Track],
    paths: Mapping[str, Sequence[Float]],
    moving: Mapping[str, Sequence[Sequence[tuple[int, int]]]],
    frequency: float,
) -> dict[str, list[list[tuple[int, int]]]]:
    """Motions of each object together with the tool, by demonstration."""
    found: dict[str, list[list[tuple[int, int]]]] = {name: [] for name in paths}
    for i, hand in enumerate(tool):
        way = smooth(hand.position, frequency)
        own = {name: _with_tool(moving[name][i], paths[name][i], way, frequency) for name in paths}
        for name, spans in own.items():
            others = [first for o, them in own.items() if o != name for first, _ in them]
            found[name].append(_merge(spans, others))
    return found


def _with_tool(
    spans: Sequence[tuple[int, int]], p: Float, tool: Float, frequency: float
) -> list[tuple[int, int]]:
    """Motions that are long enough, cut to the steps at which object and tool move together."""
    half, kept = max(1, round(MEDIAN * frequency / 2)), []
    for first, last in spans:
        steps = np.arange(first, last + 1)
        before, after = np.maximum(steps - half, 0), np.minimum(steps + half, len(p) - 1)
        way = p[after] - p[before]
        length = np.linalg.norm(way, axis=1)
        apart = np.linalg.norm(way - (tool[after] - tool[before]), axis=1)
        along = (length > STAYS) & (apart < DIFFERENT * length)
        if length[along].sum() < (1 - DIFFERENT) * length.sum() / 2:
            continue
        begin, end = steps[along][[0, -1]].tolist()
        # The borders of a motion are sharper than those of the comparison.
        begin = first if begin - first <= 2 * half else begin
        end = last if last - end <= round(REST * frequency) else end
        if np.linalg.norm(p[begin : end + 1] - p[begin], axis=1).max() > WAY:
            kept.append((begin, end))
    return kept


def _leaves(tool: Track, body: Track, frequency: float) -> int:
    """The last step before the tool goes away from where it is nearest to a body."""
    distance = np.linalg.norm(smooth(tool.position - body.position, frequency), axis=1)
    nearest = int(distance.argmin())
    gone = np.flatnonzero(distance[nearest:] > distance[nearest] + LEAVES)
    return nearest + int(gone[0]) - 1 if len(gone) else len(distance) - 1


def _merge(spans: Sequence[tuple[int, int]], others: Sequence[int]) -> list[tuple[int, int]]:
    """Join motions between which no other object begins to move."""
    found: list[tuple[int, int]] = []
    for first, last in spans:
        if found and not any(found[-1][1] <= other <= first for other in others):
            found[-1] = (found[-1][0], last)
        else:
            found.append((first, last))
    return found
