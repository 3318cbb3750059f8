"""The states of a part of a bag, in the order of their stamps."""

from __future__ import annotations

import heapq
import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from infoatlas_rt.errors import InputError
from infoatlas_rt.inputs.checks import as_number, as_seconds
from infoatlas_rt.messages.receiver import Receiver, Sample

from .states import Bag

HELD = 8  # messages of a topic among which stamps are put in order
MOST = 2000  # messages that are held in all, while a slow topic has none


@dataclass(frozen=True)
class Part:
    """A part of a recording.

    Parameters
    ----------
    start : float
        Seconds since the first message, by the stamps.
    duration : float, optional
        Seconds; to the end unless given.
    """

    start: float = 0.0
    duration: float | None = None

    def __post_init__(self) -> None:
        if not 0 <= as_number(self.start, "start", "seconds since the first message") < np.inf:
            raise InputError(f"start is {self.start}: pass seconds since the first message")
        if self.duration is not None:
            as_seconds(self.duration, "duration")

    @property
    def end(self) -> float:
        """End in seconds since the first message; infinite for the end of the recording."""
        return np.inf if self.duration is None else self.start + self.duration


class InOrder:
    """Releases the samples of some topics in the order of their stamps.

    Parameters
    ----------
    topics : sequence of str
    reset_after : float
        Seconds. A stamp older than the newest of its topic by more than this is a restart: the
        samples before it are released first.
    """

    def __init__(self, topics: Sequence[str], reset_after: float) -> None:
        self._topics, self._reset_after = topics, reset_after
        self._held: list[tuple[float, int, Sample]] = []  # a heap; the number keeps equal stamps
        self._waiting = [0] * len(topics)
        self._newest, self._released = ([-math.inf] * len(topics) for _ in range(2))
        self._moved, self._furthest = [0] * len(topics), [0.0] * len(topics)
        self._number = 0

    def push(self, sample: Sample) -> list[Sample]:
        """Take the next sample; return those whose order is certain now."""
        side, newest = sample.side, self._newest[sample.side]
        stamp = newest if sample.stamp is None or math.isnan(sample.stamp) else sample.stamp
        ready = []
        if sample.notice or stamp < newest - self._reset_after:
            ready = self.flush()
            self._newest[side] = self._released[side] = newest = -math.inf
        if self._released[side] < stamp < newest:
            self._moved[side] += 1
            self._furthest[side] = max(self._furthest[side], newest - stamp)
        self._newest[side] = max(newest, stamp)
        heapq.heappush(self._held, (stamp, self._number, sample))
        self._number += 1
        self._waiting[side] += 1
        while self._waiting[self._held[0][2].side] > HELD or len(self._held) > MOST:
            ready.append(self._pop())
        return ready

    def flush(self) -> list[Sample]:
        """Return all samples that are left."""
        return [self._pop() for _ in range(len(self._held))]

    def notices(self) -> list[str]:
        """A sentence for each topic whose samples were not in order."""
        return [
            f"{moved} messages on {topic} came after messages with newer stamps (by up to "
            f"{furthest:.3g} s); they were put in order"
            for topic, moved, furthest in zip(
                self._topics, self._moved, self._furthest, strict=True
            )
            if moved
        ]

    def _pop(self) -> Sample:
        stamp, _, sample = heapq.heappop(self._held)
        self._waiting[sample.side] -= 1
        self._released[sample.side] = stamp
        return sample


class PartSamples:
    """Samples of one or two topics, within a part of a bag, for one iteration.

    `progress` is called with the completed share, 0 to 1.

    Attributes
    ----------
    start : float
        Stamp of the first message, seconds; also outside the part.
    """

    def __init__(
        self,
        bag: Bag,
        topics: Sequence[str],
        receivers: Sequence[Receiver],
        part: Part | None = None,
        progress: Callable[[float], None] | None = None,
    ) -> None:
        self.part, self.start = part or Part(), np.inf
        self._bag, self._topics, self._receivers = bag, topics, receivers
        self._progress = progress or (lambda share: None)
        self._order = InOrder(topics, max(receiver.reset_after for receiver in receivers))

    def __iter__(self) -> Iterator[Sample]:
        part, receivers, used = self.part, self._receivers, False
        newest = [-np.inf] * len(receivers)  # stamps, of all messages
        self._progress(0.0)
        total = sum(self._bag.topics[topic].messages for topic in self._topics)
        for number, (side, received, message) in enumerate(self._bag.messages(*self._topics), 1):
            time = receivers[side].time(message, received)
            if not np.isnan(time):
                self.start, newest[side] = min(self.start, time), max(newest[side], time)
            share = number / total
            if part.duration is not None and np.isfinite(self.start):
                share = max(share, (newest[side] - self.start) / part.end)
            self._progress(min(share, 1.0))
            # A message a little out of order can still be within the part.
            if min(newest) - self.start > part.end + receivers[side].reset_after:
                break
            since = (newest[side] if np.isnan(time) else time) - self.start
            if since < part.start > 0 or since >= part.end:
                continue
            used = True
            yield from self._order.push(receivers[side].receive(message, received))
        yield from self._order.flush()
        if not used and max(newest) - self.start < part.start:
            raise InputError(
                f"start is {part.start:g} s, but {' and '.join(self._topics)} of "
                f"{self._bag.path} ends {max(newest) - self.start:.2f} s after its first message: "
                "start earlier"
            )

    def notices(self) -> list[str]:
        """A sentence for each topic whose messages were not in the order of their stamps."""
        return self._order.notices()
