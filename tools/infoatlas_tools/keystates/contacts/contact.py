"""Contacts: when bodies begin and cease to move, and the tool, hand or body that moves them.

A body rests while its position stays within a small range for a while. Everything between two rests
is a motion. The mover of a motion is the body that goes the same way at the same time, if it also
moves without this one. A hand moves without the box, but an elbow does not move without the hand.
Without the position of any tool, what rests, moves and rests again is moved, too.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import permutations, takewhile

import numpy as np

from ...array_types import Bool, Float
from ..motion.durations import MOMENT, tempo
from .bodies import Body
from .keystate_steps import SHARED

Span = tuple[int, int, float]  # begin, end and size of a motion

REST = 0.8  # s for which a body stays in its place, at least: what is carried stops for less
STAYS = 0.005  # of the body's range of positions: within it, a body stays in its place
NOISY = 6.0  # standard deviations of the sensor noise, within which it stays, too
WAY = 0.05  # of the range: shorter motions are jitter
POSE = re.compile(r"pose|position|state|cartesian", re.I)  # names that may be those of a tool
WITH = 0.3  # share of a motion on which its mover goes the same way, at least: fingers slip
ALONE = 0.1  # share of its path that a mover goes while the body rests, at least


@dataclass(frozen=True)
class Motion:
    """One motion of a body in one demonstration.

    It is from the first recorded step away from the place of rest to the first one in the next.
    If the body does not come to rest, it is to the length of the demonstration.
    """

    body: str
    begin: int
    end: int
    mover: str  # body that moves it; "" if that is not known
    size: float  # distance that it goes away from where it lay, as a share of its range
    taker: str = ""  # another body that moves it in the end, as a second hand
    taken: int = 0  # step from which it does


def find_motions(
    bodies: Sequence[Body], states: Sequence[Float], frequency: float, markers: bool = True
) -> list[list[Motion]]:
    """Motions of all bodies that are moved by another one, in order of time, by demonstration.

    Bodies that move by themselves, such as tools, have none. With `markers`, bodies that move at
    the same times are markers of one; the first stands for it. The frequency (Hz) is of recorded
    steps.
    """
    rest = max(3, round(REST * tempo([len(s) for s in states], frequency) * frequency))
    paths = {
        body: [running_median(s[:, list(body.columns)], MOMENT * frequency) for s in states]
        for body in bodies
    }
    spans = {
        body: _spans((s[:, list(body.columns)] for s in states), own, rest)
        for body, own in paths.items()
    }
    length = {
        body: float(np.median([np.linalg.norm(np.diff(p, axis=0), axis=1).sum() for p in own]))
        for body, own in paths.items()
    }
    every: dict[Body, list[list[Motion]]] = {}
    for body in bodies:
        movers = [
            a for a in bodies if length[a] > length[body] and _alone(paths[a], spans[body]) > ALONE
        ]
        every[body] = [
            [_motion(body, span, movers, paths, i, frequency) for span in spans[body][i]]
            for i in range(len(states))
        ]
    tool = any(body.of_robot for body in bodies)  # or another mover
    tool = tool or any(m.mover for rows in every.values() for row in rows for m in row)
    chosen: dict[Body, list[list[Motion]]] = {}
    called: dict[Body, str] = {}
    for body, rows in every.items():
        kept = [[m for m in row if m.mover] for row in rows]
        if not tool and not POSE.match(body.name):
            kept = [
                [m for m in row if 0 < m.begin and m.end < len(s)]
                for row, s in zip(rows, states, strict=True)
            ]
        if body.of_robot or np.mean([bool(row) for row in kept]) < SHARED:
            continue
        same = [o for o in chosen if markers and _together(spans[body], spans[o], states)]
        if same:  # two markers: box of box_back and box_left
            called[same[0]] = _shared_name(called[same[0]], body.name)
        else:
            chosen[body], called[body] = kept, body.name
    found = [
        [replace(m, body=called[body]) for body, own in chosen.items() for m in own[i]]
        for i in range(len(states))
    ]
    return [sorted(row, key=lambda m: m.begin) for row in found]


def _shared_name(one: str, other: str) -> str:
    """Words with which two names begin, or the first name."""
    words = zip(*(re.split(r"([._/ ]|\d+)", name) for name in (one, other)), strict=False)
    same = takewhile(lambda pair: pair[0] == pair[1], words)
    return "".join(word for word, _ in same).rstrip("._/ ") or one


def running_median(values: Float, window: float) -> Float:
    """Running median of [T, k] over an odd number of steps, at most `window`."""
    half = min(round(window) // 2, (len(values) - 1) // 2)
    if half < 1:
        return values
    padded = np.pad(values, ((half, half), (0, 0)), mode="edge")
    windows = np.lib.stride_tricks.sliding_window_view(padded, 2 * half + 1, axis=0)
    return np.array(np.partition(windows, half, axis=-1)[..., half])  # no view of all windows


def _spans(raw: Iterable[Float], paths: Sequence[Float], rest: int) -> list[list[Span]]:
    """(begin, end, size) of the motions of one body, by demonstration."""
    extent = float(np.median([np.linalg.norm(np.ptp(p, axis=0)) for p in paths]))
    extent = extent or max(float(np.linalg.norm(np.ptp(p, axis=0))) for p in paths)
    third = [np.linalg.norm(np.diff(p, 3, axis=0), axis=1) for p in raw if len(p) > 3]
    noise = float(np.median(np.concatenate(third))) / np.sqrt(20) if third else 0.0
    still = max(STAYS * extent, NOISY * noise)
    found = []
    for p in paths:
        resting = _at_rest(p, still, rest)
        turns = np.diff(np.concatenate([[0], ~resting, [0]]))
        row: list[Span] = []
        begins, ends = np.flatnonzero(turns > 0), np.flatnonzero(turns < 0)
        for begin, end in zip(begins.tolist(), ends.tolist(), strict=True):
            away = p[max(begin - 1, 0) : end + 1]
            size = float(np.linalg.norm(away - away[0], axis=1).max()) / max(extent, 1e-300)
            settles = begin == 0 and end <= rest  # a simulator drops objects at the start
            if size > WAY and not settles:
                begin, end = _sharpen(p, still, rest, begin, end)
                row.append((begin, end, size))
        found.append(row)
    return found


def _at_rest(path: Float, still: float, rest: int) -> Bool:
    """Steps of a path [T, k] within `rest` steps that stay within a range of `still` [T].

    The path is continued at its ends.
    """
    half = rest // 2
    padded = np.pad(path, ((half, half), (0, 0)), mode="edge")
    windows = np.lib.stride_tricks.sliding_window_view(padded, min(rest, len(padded)), axis=0)
    stays = np.linalg.norm(np.ptp(windows, axis=-1), axis=1) <= still
    total = np.concatenate([[0], np.cumsum(stays)])
    step = np.arange(half, half + len(path))
    first = np.maximum(step - windows.shape[-1] + 1, 0)
    last = np.minimum(step + 1, len(stays))
    return np.asarray(total[last] > total[np.minimum(first, len(stays))])


def _sharpen(path: Float, still: float, rest: int, begin: int, end: int) -> tuple[int, int]:
    """Begin and end of a motion by the distance from its places of rest."""
    if begin > 0:
        first = max(0, begin - rest)
        place = np.median(path[first:begin], axis=0)
        near = np.linalg.norm(path[first : end + 1] - place, axis=1) <= still
        far = np.flatnonzero(~near[begin - first :])
        stop = begin - first + int(far[0]) if len(far) else begin - first
        at = np.flatnonzero(near[: stop + 1])
        begin = first + int(at[-1]) + 1 if len(at) else begin
    if end < len(path):
        last = min(len(path), end + rest)
        place = np.median(path[end:last], axis=0)
        far = np.flatnonzero(np.linalg.norm(path[begin:last] - place, axis=1) > still)
        far = far[far < end - begin]
        end = begin + int(far[-1]) + 1 if len(far) else end
    return begin, end


def _moving(spans: Sequence[Span], length: int) -> Bool:
    """Steps [T] within motions."""
    steps = np.arange(length)[:, None]
    begin, end, _ = np.array(spans).reshape(-1, 3).T
    return np.asarray(((begin <= steps) & (steps < end)).any(axis=1))


def _alone(path: Sequence[Float], spans: Sequence[Sequence[Span]]) -> float:
    """Share of a path on which another body, with these motions, rests."""
    shares = []
    for p, row in zip(path, spans, strict=True):
        way = np.linalg.norm(np.diff(p, axis=0), axis=1)
        shares.append(way[~_moving(row, len(p))[1:]].sum() / max(way.sum(), 1e-300))
    return float(np.median(shares))


def _motion(
    body: Body,
    span: Span,
    movers: Sequence[Body],
    paths: Mapping[Body, Sequence[Float]],
    number: int,
    frequency: float,
) -> Motion:
    """A motion with its mover in one demonstration."""
    begin, end, size = span
    ways: dict[str, Float] = {}
    half = max(1, round(MOMENT / 2 * frequency))
    for mover in movers:
        axes = [axis for axis in body.axes if axis in mover.axes]
        if not axes:
            continue
        own = paths[body][number][:, [body.axes.index(axis) for axis in axes]]
        other = paths[mover][number][:, [mover.axes.index(axis) for axis in axes]]
        ways[mover.name] = _same_way(own, other, begin, end, half)
    shares = {name: float(way.sum()) for name, way in ways.items() if way.sum() > WITH}
    if not shares:
        return Motion(body.name, begin, end, "", size)
    best = max(shares, key=lambda name: shares[name])
    # Steps up to which one moves the body, and from which another one does, by their common share.
    done = {name: np.r_[0, np.cumsum(way)] for name, way in ways.items()}
    both = {
        (a, b): done[a] + done[b][-1] - done[b] - max(done[a][-1], done[b][-1])
        for a, b in permutations(shares, 2)
    }
    if both:
        first, second = max(both, key=lambda pair: float(both[pair].max()))
        gain = both[first, second]
        if gain.max() > WITH:
            return Motion(body.name, begin, end, first, size, second, begin + int(gain.argmax()))
    return Motion(body.name, begin, end, best, size)


def _same_way(own: Float, other: Float, begin: int, end: int, half: int) -> Float:
    """Share of a body's way from `begin` to `end` at each step where another one goes the same."""
    steps = np.arange(begin, end)
    before, after = np.maximum(steps - half, 0), np.minimum(steps + half, len(own) - 1)
    way = own[after] - own[before]
    length = np.linalg.norm(way, axis=1)
    apart = np.linalg.norm(way - (other[after] - other[before]), axis=1)
    return np.asarray(np.where(apart < 0.9 * length, length, 0) / max(length.sum(), 1e-300))


def _together(
    one: Sequence[Sequence[Span]], other: Sequence[Sequence[Span]], states: Sequence[Float]
) -> bool:
    """Whether two bodies move at the same times, as two markers of one body do."""
    shares = []
    for a, b, s in zip(one, other, states, strict=True):
        moving, other_moving = _moving(a, len(s)), _moving(b, len(s))
        shares.append((moving & other_moving).sum() / max(int((moving | other_moving).sum()), 1))
    return float(np.median(shares)) > 0.8  # intersection over union: markers are not exact
