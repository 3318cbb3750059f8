"""From messages of one topic to states, as in the callback of a subscription, which must not wait.

A receiver shares no data with the `Stream` that uses its samples, so each may have a thread of its
own. A node has a receiver for each topic in its subscription, and the stream in a worker thread.
"""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..errors import InputError
from ..inputs.copies import Stateful
from .fields import Extractor
from .identity import Missing, PassedOver

_NOTHING = np.zeros(0)
_UNDATED = (Missing, InputError, LookupError, AttributeError)  # raised if there is no stamp
TICK = 1e-6  # seconds between messages that arrive at the same time


class Sample(NamedTuple):
    """The state in a message."""

    side: int  # index of its topic, 0 or 1
    stamp: float | None  # seconds, from its header, or otherwise from its arrival
    state: NDArray[np.float64]  # [d]; empty if the message could not be used
    fault: str  # why the message could not be used; empty if it could
    # Key of `counts` for messages that are no steps of this robot: "other joints", "other bodies"
    # or "not asked for". Empty for all others.
    skip: str = ""
    notice: str = ""  # why the coordinates, or the body, change with this message; usually empty
    arrived: bool = False  # no stamp of its own: `stamp` is the time of arrival
    header: Any = None  # of the results from this sample, if a node publishes them


class Receiver(Stateful):
    """Extracts states from the messages of one topic, of index `side` (0 or 1) in the stream.

    A stamp that is older than the newest by more than `reset_after` seconds is a restart: the
    layout of the messages is determined again. The next ones may be from another robot.

    A message without a stamp has the time of its arrival. Among messages with stamps, it is dated
    on their clock, which may be another one: `ahead`, the last difference to an arrival in seconds,
    is subtracted. `mixed` is whether there were both.
    """

    def __init__(self, extractor: Extractor, side: int = 0, reset_after: float = 1.0) -> None:
        self.extractor, self.side, self.reset_after = extractor, side, reset_after
        self._newest = -np.inf  # stamp
        self.ahead: float | None = None
        self.mixed = False

    def forget(self) -> None:
        """Forget the newest stamp and the layout of the messages."""
        self.extractor.forget()
        self._newest, self.ahead, self.mixed = -np.inf, None, False

    def time(self, message: Any, received: float) -> float:
        """Stamp of a message or its arrival, seconds; NaN if the dated element is absent."""
        try:
            stamp = self.extractor.stamp(message)
        except _UNDATED:
            return float("nan")
        return received - (self.ahead or 0.0) if stamp is None else stamp

    def receive(self, message: Any, received: float | None = None) -> Sample:
        """Extract the state from a message of the topic's type.

        A message that cannot be used makes a sample with a fault, which leaves a hole in the
        stream. `received` is the time of arrival, seconds: the stamp of a message without one.
        """
        extractor, side, undated = self.extractor, self.side, ""
        try:
            time = extractor.stamp(message)
            if time is not None and np.isnan(time):
                field = extractor.stamp_field
                undated = f"stamp_field {field}: no time from 0 to 2^31 s; is it the unit?"
        except _UNDATED:  # usually a message of another body
            time, undated = float("nan"), "the message has no stamp where stamps are read"
        arrived, before = time is None, self._newest
        if time is None and received is not None:
            time = received - (self.ahead or 0.0)
            self.mixed |= self.ahead is not None
        elif received is not None and time is not None and not undated:
            self.mixed |= self.ahead is None and before > -np.inf
            self.ahead = received - time
        if time is not None and not undated:
            if arrived and before - self.reset_after <= time <= before:
                time = before + TICK  # a coarse clock, not a copy of the message before
            if time < self._newest - self.reset_after:
                extractor.forget()  # a restart: the next messages may be from another robot
                self._newest = time
            self._newest = max(self._newest, time)
        try:
            state = extractor(message).copy()
        except PassedOver as error:
            return Sample(side, time, _NOTHING, str(error), skip=error.fate)
        except InputError as error:
            return Sample(side, time, _NOTHING, str(error))
        if undated:
            return Sample(side, time, _NOTHING, undated)
        notice, extractor.notice = extractor.notice, ""
        return Sample(side, time, state, "", notice=notice, arrived=arrived)
