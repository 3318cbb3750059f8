"""Executions and returns that repeat, between the rests of a recording.

An execution leads from one rest to another, and a return to the next start. The motions of all
executions are similar, as are those of the returns; or a return leads back along the execution.
A part that is like the median of its kind is explained: its gain in nats is that of a code. Starts
have a pose, a motion and a time to an event in common, and so have ends. A dynamic program finds
the parts of the largest gain, in turn with the medians and what is common.
"""

from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from ..array_types import Bool, Float, Int
from .rests import Motion

POINTS = 16  # of a motion that is compared with others, whatever the pace
DIMENSIONS = 6  # independent coordinates of a pose, at most: those of a free body
WINDOW = 70  # rests of an execution, or of a cycle, at most
SEARCHED = 500  # rests, the first, in which the cycle is sought
CUT = 4.0  # nats of an execution, and of one that begins unlike the others: one of 50
USUAL, PRECISE = 0.1, 0.03  # of a coordinate's range: spread of a shared pose, before and at least
STRETCH = 2.5  # by which the path of an execution is longer or shorter than the median, at most
AROUND = 1.0  # s of motion after a start, or before an end
TIME = 0.25  # weight of the logarithm of a time beside coordinates
STAYS = 0.1  # of the median path: rests at one pose that are no farther apart are one
SURE = 12.0  # nats of a sure border, at least: 0.95 of these are right, 0.64 of the others
CERTAIN = 20.0  # nats of cycles, at least
# A return is no longer than this times the distance, or its correlation with the way back is this.
DETOUR, BACK = 2.0, 0.8
ALIKE = 0.4  # correlation of executions, at least: joined ones have 0.4 to 0.9
COVERED = 0.4  # share of the path that is in executions, at least
PASSES = 6  # over the medians, at most: they stay after two to four

Pairs = list[tuple[int, int]]  # rests at which each execution begins and ends


class Marks(NamedTuple):
    """Rests at which a person marked starts and ends, and those within marked executions."""

    starts: list[int]
    ends: list[int]
    inside: Bool  # [M]


class Parts:
    """All parts [M, K] of a recording that lead to rest k from the rest j + 1 before it."""

    def __init__(self, motion: Motion, most: int | None = None) -> None:
        rests, poses = motion.rests[:most], motion.poses
        centred = poses - poses.mean(axis=0)
        count = min(DIMENSIONS, poses.shape[1])
        axes = np.linalg.eigh(centred.T @ centred)[1][:, -count:]
        self.places = (centred @ axes) * np.sqrt(count / poses.shape[1])
        steps = np.linalg.norm(np.diff(self.places, axis=0, prepend=self.places[:1]), axis=1)
        self.path = np.cumsum(steps + 1e-9)
        self.begin, self.end = rests[:, 0], rests[:, 1] - 1
        self.count, self.window = len(rests), min(WINDOW, len(rests) - 1)
        self.anything = 2 * self.places.var(axis=0).mean()
        before = np.arange(self.count)[:, None] - 1 - np.arange(self.window)
        self.before = before.clip(0)
        self.length = self.lengths(self.before, np.arange(self.count)[:, None])
        self.kept = [*self._chunks()] if self.count <= SEARCHED else []

    def motions(self, i: Int, k: Int) -> Float:
        """Motions [n, POINTS * q] from rests i to rests k, at even distances along the way."""
        one, other = self.path[self.end[i]], self.path[self.begin[k]]
        at = one[:, None] + (other - one)[:, None] * np.linspace(0, 1, POINTS)
        found = [np.interp(at, self.path, column) for column in self.places.T]
        return np.stack(found, axis=-1).reshape(len(at), -1).astype(np.float32)

    def _chunks(self) -> Iterator[tuple[slice, Float]]:
        for first in range(0, self.count, 25):
            rows = slice(first, first + 25)
            i, k = self.before[rows], np.arange(self.count)[rows]
            found = self.motions(i.ravel(), np.repeat(k, self.window))
            yield rows, found.reshape(*i.shape, -1)

    def gains(self, usual: Float, length: float, back: Float | None = None) -> Float:
        """Nats [M, K] by which parts are explained by a motion; `back` [M, .] is from each rest."""
        far = np.full((self.count, self.window), np.inf)
        for rows, motions in self.kept or self._chunks():
            own = ((motions - usual) ** 2).mean(axis=2)
            far[rows] = np.where(self.length[rows] > STRETCH * length, np.inf, own)
            if back is not None:
                other = ((motions - back[self.before[rows]]) ** 2).mean(axis=2)
                far[rows] = np.minimum(far[rows], other)
        return self.worth(far)

    def worth(self, far: Float) -> Float:
        """Nats [..., K] of parts at mean squared distances from what explains them."""
        return self.likeness(far) * np.arange(1, self.window + 1)

    def likeness(self, far: Float) -> Float:
        """Nats [...] of each rest of parts at mean squared distances from what explains them."""
        share = self.anything / (far + 2 * PRECISE**2)
        return np.asarray(np.log(np.maximum(share, 1.0)) * DIMENSIONS / 2)

    def executions(self, usual: Float, length: float) -> Float:
        """Gains [M, K] of executions: their paths are not much shorter than the median."""
        found = self.gains(usual, length)
        found[self.length < length / STRETCH] = -np.inf
        return found

    def unfinished(self, usual: Float, length: float) -> Float:
        """Gains [K] of parts up to the last rest as beginnings of a cycle."""
        even, cycle = np.linspace(0, 1, POINTS), usual.reshape(POINTS, -1).T
        motions = self.motions(self.before[-1], np.full(self.window, self.count - 1))
        gains = np.zeros(self.window)
        for share in even[POINTS // 3 :]:
            begun = np.stack([np.interp(even * share, even, column) for column in cycle], axis=-1)
            far = ((motions - begun.ravel()) ** 2).mean(axis=1)
            ratio = self.length[-1] / (length * share)
            fits = (ratio < STRETCH) & (ratio > 1 / STRETCH)
            gains = np.maximum(gains, self.worth(np.where(fits, far, np.inf)))
        gains[self.length[-1] < length / STRETCH] = -np.inf
        return gains

    def median(self, pairs: Sequence[tuple[int, int]]) -> tuple[Float, float]:
        """Median motion [.] and length of the path of parts."""
        i, k = np.array(pairs).T
        return np.median(self.motions(i, k), axis=0), float(np.median(self.lengths(i, k)))

    def lengths(self, i: Int | int, k: Int | int) -> Float:
        """Lengths of the path from rests i to rests k."""
        return np.asarray(self.path[self.begin[k]] - self.path[self.end[i]])


class Borders:
    """What borders have in common: pose, motion beside it, and time from or to an event."""

    def __init__(self, motion: Motion, most: int | None, ends: bool) -> None:
        rests, poses, rate = motion.rests[:most], motion.poses, motion.rate
        at, last, beside = rests[:, 0] if ends else rests[:, 1] - 1, len(poses) - 1, AROUND * rate
        other = (at + round(-beside if ends else beside)).clip(0, last)
        self.longer = np.log(rests[:, 1] - rests[:, 0])  # the robot waits between executions
        self.about, self.relative = [poses[at], poses[other] - poses[at]], False
        if motion.events:
            rows = np.array([0, *(e.step / motion.stride for e in motion.events), last])
            k = np.searchsorted(rows[1:-1], at + 0.5 if ends else at - 0.5)
            wait = at - rows[k] if ends else rows[k + 1] - at
            self.about.append(TIME * np.log(np.maximum(wait, 0) / rate + 0.3)[:, None])

    def ratios(self, own: Sequence[int] | Int, parts: int | None = None) -> Float:
        """Logarithms [M] of how much likelier rests are borders, as the rests `own`, than not."""
        total = np.zeros(len(self.longer))
        count = len(own) - 1
        for values in self.about[:parts]:
            rows, broad = values[list(own)], values.std(axis=0) + 1e-9
            middle = np.median(rows, axis=0)
            spread = 1.48 * np.median(np.abs(rows - middle), axis=0)
            spread = np.sqrt((count * spread**2 + 2 * USUAL**2) / (count + 2))
            spread = np.minimum(np.maximum(spread, PRECISE), broad)
            here = ((values - middle) / spread) ** 2 / 2 + np.log(spread)
            anywhere = ((values - values.mean(axis=0)) / broad) ** 2 / 2 + np.log(broad)
            total += (anywhere - here).mean(axis=1) * min(DIMENSIONS, values.shape[1])
        return total

    def gains(self, own: Sequence[int], parts: int | None = None) -> Float:
        """Nats [M] of a border at each rest; `relative` to a usual one, so that none is a gain."""
        found = self.longer + np.logaddexp(self.ratios(own, parts), -CUT)
        return np.asarray(found - np.median(found[list(own)]) * self.relative)


def find_pairs(motion: Motion, marks: Marks | None) -> tuple[Pairs, Bool]:
    """Rests at which executions begin and end, and whether both are sure [N, 2].

    A single pair if nothing repeats.
    """
    found, single = marks.starts if marks else _find_starts(motion), [(0, len(motion.rests) - 1)]
    if len(found) == 1 and not marks:
        return single, np.ones((1, 2), bool)
    parts, begins, stops = Parts(motion), Borders(motion, None, False), Borders(motion, None, True)
    cycles = _every_second(parts, found) if len(found) > 4 and not marks else found
    if len(cycles) < len(found):  # borders in a cycle may share a pose with its start
        found = _tile(parts, None, cycles, PASSES)[1]
        begins.relative = stops.relative = True
    given = [*zip(found, marks.ends, strict=True)] if marks else [(found[-1], parts.count - 1)]
    pairs = _refine(parts, begins, stops, found, given, marks)
    if not marks and _are_indirect(parts, pairs):  # the last execution is cut off
        pairs = _refine(parts, begins, stops, found, [*pairwise(found)], None, complete=False)
    i, k = np.array(pairs).T
    if not marks and parts.lengths(i, k).sum() < COVERED * parts.path[-1]:
        return single, np.ones((1, 2), bool)
    return _tighten(parts, pairs, begins, stops)


def _refine(
    parts: Parts,
    begins: Borders,
    stops: Borders,
    starts: list[int],
    pairs: Pairs,
    marks: Marks | None,
    complete: bool = True,
) -> Pairs:
    """Executions that `pairs` are examples of; the last one may not be `complete`."""
    usual, length = parts.median(pairs)
    nothing: tuple[Float, float] = np.full_like(usual, np.inf), 0.0
    ends, back, from_end, former = [k for _, k in pairs], nothing, np.zeros(0, int), Pairs()
    for _ in range(PASSES):
        start, own = begins.gains(starts), parts.executions(usual, length)
        if marks:  # more than all else
            start[marks.inside], start[marks.starts] = -1e3, 1e3
        if not complete:
            own[-1] = parts.unfinished(usual, length)
        between = np.zeros_like(own)
        if len(from_end):
            way = parts.motions(from_end, np.arange(parts.count)).reshape(parts.count, POINTS, -1)
            between = parts.gains(*back, way[:, ::-1].reshape(parts.count, -1))
        pairs, _, from_end = _divide(own, between, start, stops.gains(ends))
        if pairs == former:
            break
        former, starts, ends = pairs, [i for i, _ in pairs], [k for _, k in pairs]
        usual, length = parts.median(pairs)
        returns = [(k, i) for k, i in zip(ends, starts[1:], strict=False) if k < i]
        back = parts.median(returns) if len(returns) * 2 >= len(ends) else nothing
        ends = ends if complete or len(ends) < 2 else ends[:-1]
    return pairs


def _are_indirect(parts: Parts, pairs: Pairs) -> bool:
    """Whether most returns lead neither directly to the next start nor back along the way."""
    found = list[bool]()
    for (i, k), (j, _) in pairwise(pairs):
        ahead, back = parts.motions(np.array([i, k]), np.array([k, j])).reshape(2, POINTS, -1)
        direct_way = DETOUR * float(np.linalg.norm(back[-1] - back[0]))
        direct = k == j or parts.lengths(k, j) < direct_way
        found.append(not direct and alikeness([ahead[::-1], back]) < BACK)
    return len(found) > 0 and sum(found) * 2 > len(found)


def _find_starts(motion: Motion) -> list[int]:
    """Rests at which cycles begin: those of the cycle that explains most of the recording."""
    parts, begins = Parts(motion, SEARCHED), Borders(motion, SEARCHED, False)
    top, found, best = CERTAIN, [0], 0
    for k in range(1, min(parts.count - 1, parts.window + 1)):
        gain, starts = _tile(parts, begins, [0, k], 2)
        if len(starts) > 1 and gain > top:
            top, best, found = gain, k, starts
    if best and parts.count < len(motion.rests):
        parts, begins = Parts(motion), Borders(motion, None, False)
    return _tile(parts, begins, [0, best], PASSES)[1] if best else found


def _every_second(parts: Parts, starts: list[int]) -> list[int]:
    """Starts of cycles of two kinds of parts in turn, if the parts are so; else those given."""
    i, k = np.array([*pairwise(starts)]).T
    motions, turns = parts.motions(i, k), np.arange(len(i)) % 2
    kinds, gains = np.zeros_like(turns), list[float]()
    for _ in range(PASSES):  # of all, every second, then the nearest
        every = [motions[kinds == kind] for kind in {*kinds.tolist()}]
        far = [((motions - np.median(own, axis=0)) ** 2).mean(axis=1) for own in every]
        nats = parts.likeness(np.array(far)) * (k - i)
        best = nats.max(axis=0)
        gains.append(float(best.sum() - len(every) * np.median(best)))
        kinds = nats.argmax(axis=0) if len(every) > 1 else turns
    turn = (np.diff(kinds) != 0).mean()
    if gains[-1] > gains[0] and turn >= 0.5 + 1 / np.sqrt(len(i) - 1):  # two standard errors
        return [start for start, kind in zip(starts, kinds, strict=False) if kind == kinds[0]]
    return starts


def _tile(
    parts: Parts, begins: Borders | None, own: list[int], passes: int
) -> tuple[float, list[int]]:
    """Gain of cycles beyond one of those between the rests `own`, as nothing explains it; starts.

    Without `begins`, what starts share is no gain.
    """
    former, gain, starts, nothing = list[int](), 0.0, [0], np.zeros(parts.count)
    for _ in range(passes):
        usual, length = parts.median([*pairwise(own)])
        gains = parts.executions(usual, length)
        gains[-1] = parts.unfinished(usual, length)
        home = begins.gains(own, 1) if begins else nothing
        pairs, gain, _ = _divide(gains, None, home, nothing)
        starts = [i for i, _ in pairs]
        if starts == former or len(starts) < 2:
            break
        former = own = starts
    i, k = np.array(starts[:-1], int), np.array(starts[1:], int)
    return gain - float(np.median(gains[k, k - 1 - i])) if len(k) else 0.0, starts


def _divide(
    own: Float, between: Float | None, start: Float, end: Float
) -> tuple[Pairs, float, Int]:
    """The pairs of the largest gain, the gain, and from where an execution leads to each rest."""
    count, window = own.shape
    begun, ended = np.full((2, count), -np.inf)
    begun[0], first, former = 0.0, np.zeros(count, int), np.zeros(count, int)
    for k in range(1, count):
        n = min(k, window)
        gains = begun[k - n : k][::-1] + own[k, :n]
        j = int(gains.argmax())
        ended[k], first[k] = gains[j] + end[k], k - 1 - j
        begun[k], former[k] = ended[k], k
        if between is not None:
            gains = ended[k - n : k][::-1] + between[k, :n]
            j = int(gains.argmax())
            if gains[j] > begun[k]:
                begun[k], former[k] = gains[j], k - 1 - j
        begun[k] += start[k] - CUT
    last, gain = count - 1, float(ended[-1] - end[-1])
    if not np.isfinite(gain):
        return [(0, last)], 0.0, first
    pairs = [(int(first[last]), last)]
    while pairs[-1][0]:
        last = int(former[pairs[-1][0]])
        pairs.append((int(first[last]), last))
    return pairs[::-1], gain, first


def _tighten(parts: Parts, pairs: Pairs, begins: Borders, stops: Borders) -> tuple[Pairs, Bool]:
    """Pairs without the rests at one pose at both borders, and whether borders are sure."""
    start, end = begins.ratios([i for i, _ in pairs], 1), stops.ratios([k for _, k in pairs], 1)
    near, found = STAYS * parts.median(pairs)[1], Pairs()
    for n, (i, k) in enumerate(pairs):
        own = np.arange(i + 1, k)
        early = parts.lengths(i, own) <= near
        late = parts.lengths(own, k) <= near
        first = max([i, *own[early & (start[own] > 0)]]) if n else i
        last = min([k, *own[late & (end[own] > 0) & (own > first)]]) if n < len(pairs) - 1 else k
        found.append((int(first), int(last)))
    chosen = np.array(found).T
    nats = [o.ratios(at)[at] + o.longer[at] for o, at in ((begins, chosen[0]), (stops, chosen[1]))]
    return found, (np.stack(nats, axis=1) > SURE) & (len(found) > 2)  # or two parts of one


def way_of(poses: Float) -> Float:
    """A way [POINTS, p] at even distances along the poses [T, p], whatever the pace."""
    length = np.cumsum(np.linalg.norm(np.diff(poses, axis=0, prepend=poses[:1]), axis=1))
    even = np.linspace(0, length[-1], POINTS)
    return np.stack([np.interp(even, length, column) for column in poses.T], axis=1)


def alikeness(ways: Sequence[Float]) -> float:
    """Median correlation of ways with the median of the others; 0 of a single one."""
    found = [0.0] * (len(ways) < 2)
    for k, way in enumerate(ways if len(ways) > 1 else ()):
        usual = np.median([*ways[:k], *ways[k + 1 :]], axis=0)
        found.append(np.corrcoef([(own - own.mean(axis=0)).ravel() for own in (way, usual)])[0, 1])
    return float(np.median(found))
