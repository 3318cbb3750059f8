"""The shortest cycle of events that repeats, and the rests at which executions begin and end.

Executions begin at one pose, to which the robot returns between them. They have a cost in nats:
that of the cycle itself, of events that differ from it, of each cut, and of the poses at the cuts.
A dynamic program finds the cheapest cuts for a cycle. The pose and its spread are then those of the
cuts, until both stay.
"""

from collections import Counter
from collections.abc import Sequence
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np

from ..array_types import Bool, Float, Int
from .rests import Motion

DIFFERS = 3.0  # nats of an event that is added to the cycle or lacks: one of 20
CUT = 4.0  # nats of a cut: one of 50 rests
NO_EVENT = 6.0  # more nats of an execution without any event: one of 400
ELSEWHERE = 0.02  # share of executions that begin, or end, at another pose
USUAL, PRECISE = 0.1, 0.03  # of a coordinate's range: spread of a shared pose, before and at least
DIMENSIONS = 6  # independent coordinates of a pose, at most: those of a free body
FAR = 0.5  # of the usual largest distance from the pose: an execution goes as far
LONGEST = 30  # events of a cycle, at most
PASSES = 6  # over the pose, at most: it stays after two or three
SHARED = 8.0  # nats of the pose and the time of a rest before a return: one of 3,000
TIME = 0.4  # spread of the logarithm of the time from the last event to the end
UNLIKE = 4.5  # nats of another time, at most: that of 3 standard deviations
POINTS = 40  # of a way that is compared with others
SAME_WAY = 0.5  # of the distance to the way before: a return along it is nearer

Cycle = tuple[int, ...]  # numbers of kinds


class Found(NamedTuple):
    """Executions that a cycle explains."""

    cycle: Cycle
    starts: list[int]  # rests at which executions begin; the first is 0
    home: Float  # [M] logarithm of how much likelier each rest is at the shared pose
    far: Bool  # [M] whether the robot goes far away from it before the next rest
    cost: float


def find_cycle(motion: Motion, kinds: Cycle, marked: tuple[Bool, Bool] | None) -> Found:
    """The cheapest executions; a single one if nothing repeats.

    `kinds` are those of the events. `marked` are the rests [M] at which a person marked a start,
    and those within marked executions.
    """
    rests, poses, first, n = motion.rests, motion.poses, motion.first, len(kinds)
    longer = np.log(rests[:, 1] - rests[:, 0])  # the robot waits between executions
    symbol = np.log(max(2, len({*kinds})))
    away = np.linalg.norm(poses - poses[0], axis=1)
    far = np.maximum.reduceat(away, rests[:, 0]) >= FAR * np.quantile(away, 0.9)
    known = [] if marked is None else np.flatnonzero(marked[0]).tolist()
    begin = int(first[known[0]]) if known else 0
    todo = [kinds[begin : begin + k] for k in range(min(n, 1), min(LONGEST, max(1, n // 2)) + 1)]
    best, seen = Found(kinds, [0], np.zeros(len(rests)), far, n * symbol), set[Cycle]()
    while todo:
        cycle = todo.pop(0)
        if cycle in seen:
            continue
        seen.add(cycle)
        costs, starts, before = _count_edits(kinds, cycle), [0, *known], list[int]()
        for _ in range(PASSES):
            own = known or starts
            home = longer + pose_ratios(poses, rests[:, 1] - 1, rests[own[0], 1] - 1, own[1:])
            gain = np.logaddexp(home, np.log(ELSEWHERE))
            if marked is not None:  # more than all else
                gain = np.where(marked[0], 1e3, np.where(marked[1], -1e3, gain))
            starts, cost = _divide(first, n, costs, gain, far)
            if starts == before:
                break
            before = starts
        cost += len(cycle) * symbol
        if cost < best.cost or (known and len(best.starts) == 1):
            best = Found(cycle, starts, home, far, cost)
        if len(starts) > 2:  # the first execution may have a failed attempt
            usual = Counter(kinds[first[i] : first[j]] for i, j in pairwise(starts))
            todo += [row for row, _ in usual.most_common(1) if row]
    return best


def pose_ratios(poses: Float, at: Int, pose: int, own: Sequence[int]) -> Float:
    """Logarithms [M] of how much likelier rows `at` are at a shared pose than anywhere.

    The pose is that of the row `pose` and of the rests `own` among `at`; its spread is theirs.
    """
    rows, count = poses[[pose, *at[list(own)]]], len(own)
    middle = np.median(rows, axis=0)
    spread = 1.48 * np.median(np.abs(rows - middle), axis=0)
    spread = np.sqrt((count * spread**2 + 2 * USUAL**2) / (count + 2))
    broad = poses.std(axis=0)
    spread = np.minimum(np.maximum(spread, PRECISE), broad)
    here = ((poses[at] - middle) / spread) ** 2 / 2 + np.log(spread)
    anywhere = ((poses[at] - poses.mean(axis=0)) / broad) ** 2 / 2 + np.log(broad)
    return np.asarray((anywhere - here).mean(axis=1) * min(DIMENSIONS, poses.shape[1]))


def _count_edits(kinds: Cycle, cycle: Cycle) -> Float:
    """Events that differ from the cycle [2, n + 1, most + 1], by first event and number of events.

    The second array is of the beginning of the cycle that differs least: a recording may end
    before the return.
    """
    n, most = len(kinds), min(len(kinds), 3 * len(cycle) + 2)
    found = np.full((2, n + 1, most + 1), np.inf)
    row = np.tile(np.arange(len(cycle) + 1.0), (n + 1, 1))
    padded = np.array([*kinds, *[-1] * (most + 1)])
    for count in range(most + 1):
        inside = np.arange(n + 1) + count <= n
        found[0, inside, count], found[1, inside, count] = row[inside, -1], row[inside].min(axis=1)
        row = _edit_step(row, padded[count : count + n + 1], cycle)
    return found


def _edit_step(row: Float, kind: Int, cycle: Cycle) -> Float:
    """Edit distances [n, len(cycle) + 1] to beginnings of the cycle after one more event [n]."""
    new = row + 1
    for j, own in enumerate(cycle):
        other = np.minimum(row[:, j + 1], new[:, j]) + 1
        new[:, j + 1] = np.minimum(other, row[:, j] + 2 * (kind != own))
    return new


def _divide(first: Int, n: int, edits: Float, gain: Float, far: Bool) -> tuple[list[int], float]:
    """Rests at which executions begin, and their cost; `gain` [M] is that of a cut at each rest."""
    most, best, back = edits.shape[2] - 1, np.zeros(len(first)), np.zeros(len(first), int)

    def costs(last: int, end: int, differ: Float) -> tuple[Int, Float]:
        i = np.arange(np.searchsorted(first, end - most), last)
        leaves = np.logical_or.accumulate(far[i][::-1])[::-1]
        empty = np.where(leaves, NO_EVENT * (most > 2), np.inf)
        count = end - first[i]
        return i, best[i] + DIFFERS * differ[first[i], count] + np.where(count > 0, 0.0, empty)

    for j in range(1, len(first)):
        i, cost = costs(j, int(first[j]), edits[0])
        best[j], back[j] = cost.min() + CUT - gain[j], i[cost.argmin()]
    i, cost = costs(len(first) - 1, n, edits[1])
    starts = [int(i[cost.argmin()])]
    while starts[-1]:
        starts.append(int(back[starts[-1]]))
    return starts[::-1], float(cost.min())


def find_borders(motion: Motion, kinds: Cycle, found: Found) -> tuple[Int, Bool]:
    """Rests at which executions begin and end [N, 2], and whether their poses recur [N, 2].

    The recording ends with an execution. Events of the cycle that it lacks belong to returns. The
    others end where the robot rests before these: at a pose like that of the end of the recording,
    or as long after an event. If it and most others share no such pose, the recording is cut off,
    and executions end where the next one begins. Rests at one pose are one: an execution ends with
    the first of them, and the next one begins with the last.
    """
    starts, home, first, last = found.starts, found.home, motion.first, len(found.home) - 1
    row = np.arange(len(found.cycle) + 1.0)[None]
    for kind in kinds[first[starts[-1]] :]:
        row = _edit_step(row, np.array([kind]), found.cycle)
    back = int(np.flatnonzero(row[0, ::-1] == row.min())[0])
    ends, likely = _find_ends(motion, found, back)
    long = np.log(np.diff(motion.rests)[:, 0])
    apart = len(ends) > 2 and likely[last] < 0  # two have no spread
    if apart or (back and ends and np.median((likely + long)[ends]) < SHARED):
        ends, likely = starts[1:], home  # the last one is cut off
    stays, begins = np.maximum(likely, home) > 0, [0]
    for k, start in enumerate(starts[1:]):
        end, stop = ends[k], (*starts, last)[k + 2]
        for rest in range(end - 1, starts[k], -1):
            if first[rest] < first[end] or found.far[rest]:
                break
            ends[k] = rest if stays[rest] else ends[k]
        begins.append(start)
        for rest in range(start + 1, stop):
            if first[rest] > first[start] or found.far[rest - 1]:
                break
            begins[-1] = rest if home[rest] > 0 else begins[-1]
    recurs = np.stack([home[begins] > 0, [*stays[ends], True]], axis=1)
    recurs[0, 0] = True
    return np.stack([begins, [*ends, last]], axis=1), recurs


def _find_ends(motion: Motion, found: Found, back: int) -> tuple[list[int], Float]:
    """Rests at which executions but the last end, before `back` events of a return, and ratios."""
    starts, rests, first, at = found.starts, motion.rests, motion.first, motion.events
    begin, longer, end = rests[:, 0], np.log(rests[:, 1] - rests[:, 0]), len(motion.poses) - 1
    choices, late, n = list[Any](), list[Float](), len(at)
    stops, counts = [*starts[1:], len(rests) - 1], [*first[starts[1:]] - back, n]
    for i, j, count in zip(starts, stops, counts, strict=True):
        done = max(first[i], count)
        since = at[done - 1].step / motion.stride if done > first[i] else rests[i, 1] - 1
        after = [
            k for k in range(i + 1, j + 1) if first[k] == done or (first[k] > done and not back)
        ]
        choices.append(np.array(after or [j]))
        late.append(np.log(np.maximum(begin[choices[-1]] - since, 1.0)))
    times, ends = [np.log(max(end - since, 1.0))], list[int]()
    for _ in range(PASSES):
        ratios, usual, before = pose_ratios(motion.poses, begin, end, ends), np.median(times), ends
        likely, ends, times = np.logaddexp(ratios, np.log(ELSEWHERE)) + longer, [], times[:1]
        for after, own_late in zip(choices[:-1], late, strict=False):
            unlike = np.minimum(((own_late - usual) / TIME) ** 2 / 2, UNLIKE)
            best = int((likely[after] - unlike).argmax())
            ends.append(int(after[best]))
            times.append(own_late[best])
        if ends == before:
            break
    return ends, ratios


def way_of(poses: Float) -> Float:
    """A way [POINTS, p] at even distances along the poses [T, p], whatever the pace."""
    length = np.cumsum(np.linalg.norm(np.diff(poses, axis=0, prepend=poses[:1]), axis=1))
    even = np.linspace(0, length[-1], POINTS)
    return np.stack([np.interp(even, length, column) for column in poses.T], axis=1)


def find_returns(ways: Sequence[Float]) -> list[int]:
    """Which of successive ways [POINTS, p] lead back along the way before."""
    found = list[int]()
    for k, (one, other) in enumerate(pairwise(ways), start=1):
        ahead, back = (float(np.abs(one - way).mean()) for way in (other, other[::-1]))
        if k - 1 not in found and back < SAME_WAY * ahead:
            found.append(k)
    return found


def alikeness(ways: Sequence[Float]) -> float:
    """Median correlation of ways with the median of the others; 0 of a single one."""
    found = [0.0] * (len(ways) < 2)
    for k, way in enumerate(ways if len(ways) > 1 else ()):
        usual = np.median([*ways[:k], *ways[k + 1 :]], axis=0)
        found.append(np.corrcoef([(own - own.mean(axis=0)).ravel() for own in (way, usual)])[0, 1])
    return float(np.median(found))
