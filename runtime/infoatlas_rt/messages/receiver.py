"""Messages of one topic in, states out: what a subscription's callback does, which must not wait.

A receiver shares nothing with the `Stream` that takes its samples, so each may have a thread of its
own: a node has one receiver for each topic in its subscription, and the stream in a worker thread.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..errors import InputError
from ..inputs.copies import Stateful
from .fields import Extractor
from .identity import Missing, PassedOver
from .sources import Sources

_NOTHING = np.zeros(0)
_UNDATED = (Missing, InputError, LookupError, AttributeError)  # of a stamp that is not there
TICK = 1e-6  # seconds between messages that arrive at once
MIXED = "two sources"  # what states of two sources count as
_SINGLE = "the states on this topic are of one source again: the window starts anew"


class Sample(NamedTuple):
    """The state in a message.

    Attributes
    ----------
    side : {0, 1}
        Which topic it came from.
    stamp : float or None
        Seconds: of its header, else of its arrival.
    state : [d] float64
        Empty if the message could not be used.
    fault : str
        Why the message could not be used; empty if it could.
    skip : str
        Another robot's or body's message, and no step of this one: what it counts as ("other
        joints", "other bodies", "not asked for"), or a state of two sources that alternate ("two
        sources"). Empty for all others.
    notice : str
        Why the coordinates, or the source of the states, change with this message; mostly empty.
    arrived : bool
        The message has no stamp of its own, and `stamp` is the time of its arrival.
    """

    side: int
    stamp: float | None
    state: NDArray[np.float64]
    fault: str
    skip: str = ""
    notice: str = ""
    arrived: bool = False


class Receiver(Stateful):
    """Takes states out of the messages of one topic.

    Parameters
    ----------
    extractor : Extractor
        Which fields make up a state.
    side : {0, 1}
        Which topic of a stream it is.
    reset_after : float
        Seconds. A stamp that is older than the newest by more is a restart: the layout of the
        messages is looked up again, because the next ones may be another robot's.
    """

    def __init__(self, extractor: Extractor, side: int = 0, reset_after: float = 1.0) -> None:
        self.extractor, self.side, self.reset_after = extractor, side, reset_after
        self._newest = -np.inf  # stamp
        self._sources = Sources()

    def forget(self) -> None:
        """Forget the newest stamp and the layout of the messages."""
        self.extractor.forget()
        self._newest = -np.inf
        self._sources.forget()

    def time(self, message: Any, received: float) -> float:
        """Seconds: stamp of a message, else its arrival; NaN where it lacks what is dated."""
        try:
            stamp = self.extractor.stamp(message)
        except _UNDATED:
            return float("nan")
        return received if stamp is None else stamp

    def receive(self, message: Any, received: float | None = None) -> Sample:
        """Take the state out of a message.

        A message that cannot be used makes a sample with a fault, which leaves a hole in the
        stream. While states of two sources alternate (`sources.py`), all samples have a fault and
        the `skip` "two sources", so they add no step.

        Parameters
        ----------
        message : a message of the topic's type
        received : float, optional
            Seconds; its stamp if it has none in a header.
        """
        extractor, side = self.extractor, self.side
        try:
            time = extractor.stamp(message)
        except _UNDATED:
            return self._without_stamp(message)
        if time is not None and np.isnan(time):
            why = f"stamp_field {extractor.stamp_field}: no time from 0 to 2^31 s; is it the unit?"
            return Sample(side, time, _NOTHING, why)
        arrived, before = time is None, self._newest
        time = received if time is None else time
        if time is not None:
            if arrived and before - self.reset_after <= time <= before:
                time = before + TICK  # a coarse clock: no copy of the message before
            if time < self._newest - self.reset_after:
                extractor.forget()  # a restart: the next messages may be another robot's
                self._newest = time
            self._newest = max(self._newest, time)
        try:
            state = extractor(message).copy()
        except PassedOver as error:
            return Sample(side, time, _NOTHING, str(error), skip=error.fate)
        except InputError as error:
            return Sample(side, time, _NOTHING, str(error))
        notice, extractor.notice = extractor.notice, ""
        sources = self._sources
        if notice:
            sources.forget()
        if sources.add(time, state):
            notice = sources.fault or _SINGLE
        if sources.fault:
            return Sample(side, time, _NOTHING, sources.fault, MIXED, notice, arrived)
        return Sample(side, time, state, "", notice=notice, arrived=arrived)

    def _without_stamp(self, message: Any) -> Sample:
        """Of a message that lacks the element with its stamp: mostly it is another body's."""
        fault, fate = "the message has no stamp where stamps are read", ""
        try:
            self.extractor(message)
        except PassedOver as error:
            fault, fate = str(error), error.fate
        except InputError as error:
            fault = str(error)
        return Sample(self.side, float("nan"), _NOTHING, fault, skip=fate)
