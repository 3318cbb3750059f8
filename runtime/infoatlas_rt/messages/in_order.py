"""Puts samples in the order of their stamps, if messages arrive in another one."""

import heapq
import math
from collections import Counter, defaultdict, deque
from collections.abc import Sequence
from itertools import pairwise

from .receiver import Sample

HELD = 8  # messages of a topic among which stamps are put in order
MOST = 2000  # messages that are held in all, while a slow topic has none
RECENT = 9  # stamps, whose usual step is known
HOLE = 1.5  # usual steps


class InOrder:
    """Releases the samples of a recording, of one topic or of several.

    A stamp older than the newest of its topic by more than `reset_after` seconds is a restart: the
    samples before it are released first. `moved` counts the samples of each side that were put in
    order.
    """

    def __init__(self, reset_after: float) -> None:
        self.reset_after = reset_after
        self._held: list[tuple[float, int, Sample]] = []  # a heap; the number keeps equal stamps
        self._newest: dict[int, float] = defaultdict(lambda: -math.inf)
        self._released: dict[int, float] = defaultdict(lambda: -math.inf)
        self._furthest: dict[int, float] = defaultdict(float)
        self._waiting, self.moved = Counter[int](), Counter[int]()
        self._number = 0

    def push(self, sample: Sample) -> list[Sample]:
        """Take the next sample; return those whose order is certain now."""
        side, newest = sample.side, self._newest[sample.side]
        stamp = newest if sample.stamp is None or math.isnan(sample.stamp) else sample.stamp
        ready = []
        if sample.notice or stamp < newest - self.reset_after:
            ready, newest = self.flush(), -math.inf
            self._restart(side)
        if self._released[side] < stamp < newest:
            self.moved[side] += 1
            self._furthest[side] = max(self._furthest[side], newest - stamp)
        self._newest[side] = max(newest, stamp)
        self._arrive(stamp, newest)
        heapq.heappush(self._held, (stamp, self._number, sample))
        self._number += 1
        self._waiting[side] += 1
        while self._held and self._certain(*self._held[0]):
            ready.append(self._pop())
        return ready

    def flush(self) -> list[Sample]:
        """Return all samples that are left."""
        return [self._pop() for _ in range(len(self._held))]

    def notices(self, topics: Sequence[str]) -> list[str]:
        """A sentence for each topic whose samples were not in order."""
        return [
            f"{self.moved[side]} messages on {topic} came after messages with newer stamps (by up "
            f"to {self._furthest[side]:.3g} s); they were put in order"
            for side, topic in enumerate(topics)
            if self.moved[side]
        ]

    def _restart(self, side: int) -> None:
        self._newest[side] = self._released[side] = -math.inf

    def _arrive(self, stamp: float, newest: float) -> None:
        """Take notice of a stamp, and of the newest one before it."""

    def _certain(self, stamp: float, number: int, sample: Sample) -> bool:
        return self._waiting[sample.side] > HELD or len(self._held) > MOST

    def _pop(self) -> Sample:
        stamp, _, sample = heapq.heappop(self._held)
        self._waiting[sample.side] -= 1
        self._released[sample.side] = max(self._released[sample.side], stamp)
        return sample


class LiveOrder(InOrder):
    """Releases the samples of one topic of a running robot, at once if they are in order.

    The first message that comes too late is released too late. After it, a message that follows a
    hole in the stamps is held until the next one arrives, because this may belong before it.
    """

    def __init__(self, reset_after: float) -> None:
        super().__init__(reset_after)
        self._recent, self._late = deque[float](maxlen=RECENT), False

    def forget(self) -> None:
        """Drop the samples that are held; those that follow may have any stamps."""
        self.flush()
        self._newest.clear()
        self._released.clear()
        self._recent.clear()

    def _restart(self, side: int) -> None:
        super()._restart(side)
        self._recent.clear()

    def _arrive(self, stamp: float, newest: float) -> None:
        self._recent.append(stamp)
        self._late |= stamp < newest

    def _certain(self, stamp: float, number: int, sample: Sample) -> bool:
        if not self._late or len(self._recent) < RECENT or self._waiting[sample.side] > 1:
            return True
        steps = sorted(b - a for a, b in pairwise(sorted(self._recent)))
        return not stamp - self._released[sample.side] > HOLE * steps[len(steps) // 2]
