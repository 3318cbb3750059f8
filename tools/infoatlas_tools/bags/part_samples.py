"""The states of a part of a bag, in the order of their stamps."""

from __future__ import annotations

from array import array
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from infoatlas_rt.errors import InputError
from infoatlas_rt.inputs.checks import as_number, as_seconds
from infoatlas_rt.messages.in_order import InOrder
from infoatlas_rt.messages.receiver import Receiver, Sample

from .states import Bag, undated_notice

DRIFT = 0.01  # seconds between two clocks that are reported, the usual error of a lag
APART = 0.75  # of a step: farther from the nearest message of a topic, that topic has lost some
MANY = 0.1  # of the messages of a topic: share without a partner that is reported


@dataclass(frozen=True)
class Part:
    """A part of a recording."""

    start: float = 0.0  # seconds since the first message, by the stamps
    duration: float | None = None  # seconds; to the end unless given

    def __post_init__(self) -> None:
        if not 0 <= as_number(self.start, "start", "seconds since the first message") < np.inf:
            raise InputError(f"start is {self.start}: pass seconds since the first message")
        if self.duration is not None:
            as_seconds(self.duration, "duration")

    @property
    def end(self) -> float:
        """End in seconds since the first message; infinite for the end of the recording."""
        return np.inf if self.duration is None else self.start + self.duration


class PartSamples:
    """Samples of one or two topics, within a part of a bag, for one iteration.

    `progress` is called with the completed share, 0 to 1. `start` is the stamp of the first
    message, seconds; also outside the part.
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
        self._seen, self._undated = Counter[int](), Counter[int]()  # messages by topic
        self._progress = progress or (lambda share: None)
        self._order = InOrder(max(receiver.reset_after for receiver in receivers))
        self._newest = [-np.inf] * len(topics)  # stamps, of all messages
        self._times, self._delays = ([array("d") for _ in topics] for _ in range(2))

    def __iter__(self) -> Iterator[Sample]:
        part, receivers, used, newest = self.part, self._receivers, False, self._newest
        self._progress(0.0)
        total = sum(self._bag.topics[topic].messages for topic in self._topics)
        for topic, receiver in zip(self._topics, receivers, strict=True):
            self._bag.anchor(topic, receiver)
        for number, (side, received, message) in enumerate(self._bag.messages(*self._topics), 1):
            time = receivers[side].time(message, received)
            if not np.isnan(time):
                self.start, newest[side] = min(self.start, time), max(newest[side], time)
                self._times[side].append(time)
                self._delays[side].append(received - time)
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
            sample = receivers[side].receive(message, received)
            self._seen[side] += 1
            self._undated[side] += sample.arrived
            yield from self._order.push(sample)
        yield from self._order.flush()
        if not used and max(newest) - self.start < part.start:
            raise InputError(
                f"start is {part.start:g} s, but {' and '.join(self._topics)} of "
                f"{self._bag.path} ends {max(newest) - self.start:.2f} s after its first message: "
                "start earlier"
            )

    def notices(self) -> list[str]:
        """Sentences on stamps out of order or missing, an early end, and clocks that drift."""
        found = self._order.notices(self._topics)
        for side, topic in enumerate(self._topics):
            found += undated_notice(topic, self._undated[side], self._seen[side])
        if len(self._topics) == 1:
            return found
        first, last = np.argsort(self._newest)
        early = self._newest[last] - self._newest[first]
        if early > self._receivers[first].reset_after and self.part.duration is None:
            found.append(
                f"{self._topics[first]} ends {early:.2f} s before {self._topics[last]}, and the "
                "two are compared up to there"
            )
        (one, error), (other, error_of_other) = map(_rise, self._times, self._delays)
        drift, sure = one - other, 4 * float(np.hypot(error, error_of_other))
        if abs(drift) > max(DRIFT, sure):
            slow, fast = self._topics if drift > 0 else self._topics[::-1]
            found.append(
                f"the stamps of {slow} fall behind those of {fast} by {abs(drift):.3f} s in this "
                "recording, compared with arrival: synchronise the clocks, or lags are shifted"
            )
        return found


def far_partners(topics: Sequence[str], stamps: Sequence[Sequence[float]], tolerance: float) -> str:
    """Text: two topics are further apart than the tolerance, s, by their phases; or empty.

    Of the topic with fewer messages, each has a near one of the other, unless that has a pause.
    """
    if min(map(len, stamps)) < 2:
        return ""
    slow, fast = sorted((0, 1), key=lambda side: len(stamps[side]))
    own, other = np.sort(stamps[slow]), np.sort(stamps[fast])
    after = np.clip(np.searchsorted(other, own), 1, len(other) - 1)
    apart = np.minimum(np.abs(own - other[after - 1]), np.abs(other[after] - own))
    far = apart[(apart > tolerance) & (apart <= APART * np.median(np.diff(other)))]
    if len(far) <= MANY * len(own):
        return ""
    return (
        f"{len(far)} of {len(own)} messages on {topics[slow]} are more than {tolerance:g} s from "
        f"the nearest one on {topics[fast]} ({np.median(far):.2g} s), and have no partner: try "
        f"--sync-tolerance {1.05 * np.quantile(far, 0.95):.2g}"
    )


def _rise(times: array[float], delays: array[float]) -> tuple[float, float]:
    """Rise of a line through the delays, s, from the first to the last time; and its error."""
    since = np.array(times) - (times[0] if times else 0.0)
    if len(since) < 3 or not np.ptp(since):
        return 0.0, np.inf
    (slope, _), covariance = np.polyfit(since, np.array(delays) - delays[0], 1, cov=True)
    return float(slope * since[-1]), float(np.sqrt(covariance[0, 0]) * abs(since[-1]))
