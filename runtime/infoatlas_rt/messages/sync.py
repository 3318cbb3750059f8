"""Pairs two streams by time: each state of one with the nearest state of the other.

The pairs depend on the stamps alone, not on the order in which messages of the two streams arrive.
So a recording results in the same pairs as on the robot. The pairing is causal: a pair is returned
as soon as no nearer partner can be expected. This is at once if the stamps are equal, or if the
stream of the older state was never fast enough for a nearer one. Otherwise it is at the next
message of that stream.
"""

from collections import deque
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..inputs.checks import as_count, as_seconds
from ..inputs.copies import Stateful


class Pair(NamedTuple):
    """States [da] and [db] of two streams that belong together; `stamp` is of `a`, seconds."""

    stamp: float
    a: NDArray[np.float64]
    b: NDArray[np.float64]


class _Waiting(NamedTuple):
    stamp: float
    state: NDArray[np.float64]
    shortest: float  # shortest step of its stream so far, seconds; 0 before there is one


class Synchroniser(Stateful):
    """Pairs the states of two streams; each is used at most once.

    The states of a pair are at most `tolerance` seconds apart. `queue` states of a stream may wait
    for the other one; the oldest are dropped first. A stamp older than the newest of its stream by
    more than `reset_after` seconds is a restart: all waiting states are dropped. A state with a
    stamp that is older by less is refused.

    `counts` are "paired" (pairs), "unpaired" (states without a partner), "repeated stamp" and "out
    of order" (refused; the latter also bad stamps), "pairing resets".
    """

    def __init__(self, tolerance: float, queue: int = 100, *, reset_after: float = 1.0) -> None:
        self.tolerance = as_seconds(tolerance, "tolerance")
        self.reset_after = as_seconds(reset_after, "reset_after")
        self.queue = as_count(queue, "queue", 1)
        kinds = "paired", "unpaired", "repeated stamp", "out of order", "pairing resets"
        self.counts = dict.fromkeys(kinds, 0)
        self._forget()

    def reset(self) -> None:
        """Drop all waiting states, but keep the counts."""
        self.counts["pairing resets"] += 1
        self._forget()

    def _forget(self) -> None:
        self._queues: tuple[deque[_Waiting], deque[_Waiting]] = (deque(), deque())
        self._newest = [-np.inf, -np.inf]
        self._shortest = [np.inf, np.inf]

    def push(self, state: NDArray[np.float64], stamp: float, side: int) -> list[Pair]:
        """Take a state [d] of stream 0 or 1; return the pairs that it completes, usually 0 or 1.

        Stamps are seconds on the same clock for both. The state is stored without a copy: do not
        write to it later.
        """
        if stamp < self._newest[side] - self.reset_after:
            self.reset()
        if not self._newest[side] < stamp < np.inf:
            kind = "repeated stamp" if stamp == self._newest[side] else "out of order"
            self.counts[kind] += 1
            return []
        self._shortest[side] = min(self._shortest[side], stamp - self._newest[side])
        self._newest[side] = stamp
        shortest = self._shortest[side] if self._shortest[side] < np.inf else 0.0
        waiting = self._queues[side]
        waiting.append(_Waiting(stamp, state, shortest))
        pairs = self._match()
        if len(waiting) > self.queue:
            waiting.popleft()
            self.counts["unpaired"] += 1
        return pairs

    def _match(self) -> list[Pair]:
        pairs: list[Pair] = []
        first, second = self._queues
        while first and second:
            side = 0 if first[0].stamp <= second[0].stamp else 1
            older, newer = self._queues[side], self._queues[1 - side]
            apart = newer[0].stamp - older[0].stamp
            if apart > self.tolerance:  # and later states of the other stream are newer still
                older.popleft()
                self.counts["unpaired"] += 1
                continue
            if 0 < apart and older[0].shortest < 2 * apart:  # its successor may be nearer
                if len(older) == 1:
                    break
                if abs(older[1].stamp - newer[0].stamp) < apart:
                    older.popleft()
                    self.counts["unpaired"] += 1
                    continue
            a, b = first.popleft(), second.popleft()
            pairs.append(Pair(a.stamp, a.state, b.state))
        self.counts["paired"] += len(pairs)
        return pairs
