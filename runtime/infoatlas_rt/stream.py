"""Messages in, readings and key states out.

A recording and a robot go through the same lines here, so both give the same numbers to the last
bit. The work comes in two halves for those who must not keep a callback waiting: `extract` takes
the numbers out of a message, `take` does everything else.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from .errors import InputError
from .extrema import KeyState, KeyStateDetector
from .fields import Extractor, OtherJoints, stamp
from .online import OnlineEstimator
from .result import Reading
from .sync import Synchroniser

_NOTHING = np.zeros(0)


class Sample(NamedTuple):
    """What was in a message.

    Attributes
    ----------
    side : {0, 1}
        Which topic it came from.
    stamp : float or None
        Seconds: of its header, else of its arrival.
    state : [d] float64
        Empty if the message could not be used.
    fault : str
        Why it could not; empty if it could.
    skip : bool
        It is another robot's message: no step of this one.
    notice : str
        The coordinates are others from here on, and why; mostly empty.
    """

    side: int
    stamp: float | None
    state: NDArray[np.float64]
    fault: str
    skip: bool = False
    notice: str = ""


class Output(NamedTuple):
    """A reading, and the key states that it made certain (mostly none)."""

    reading: Reading
    keystates: list[KeyState]


class Stream:
    """One topic, or two that are paired by time, read message by message.

    Parameters
    ----------
    online : OnlineEstimator
        With `two_streams` for two topics: I(first topic; past of the second).
    detector : KeyStateDetector
    *extractors : Extractor
        One for each topic.
    sync : Synchroniser, optional
        Pairs the messages of two topics.

    Attributes
    ----------
    reason : str
        Why the last message gave what it did, as `OnlineEstimator.reason`.

    Raises
    ------
    InputError
        The number of extractors does not fit the estimator, or the synchroniser is missing.
    """

    def __init__(
        self,
        online: OnlineEstimator,
        detector: KeyStateDetector,
        *extractors: Extractor,
        sync: Synchroniser | None = None,
    ) -> None:
        topics = 1 + online.two_streams
        if len(extractors) != topics or (sync is not None) != online.two_streams:
            raise InputError(
                f"{len(extractors)} extractors and {'a' if sync else 'no'} synchroniser: pass one "
                "extractor, or two and a synchroniser for an estimator with two_streams"
            )
        self.online, self.detector, self.extractors, self.sync = online, detector, extractors, sync
        self.reason = online.reason
        self._resets = online.counts["resets"]
        # Messages of joints that were asked for, or not, by name, are nobody's fault.
        self._passed = "not asked for" if extractors[0].joints else "other joints"
        self._skipped = 0
        self._newest = [-np.inf] * topics  # stamps, by topic; of `extract` alone

    @property
    def counts(self) -> dict[str, int]:
        """Fates of states, of the estimator and the synchroniser together."""
        skipped = {self._passed: self._skipped} if self._skipped else {}
        return self.online.counts | (self.sync.counts if self.sync else {}) | skipped

    def forget(self) -> None:
        """Forget what `extract` has learned of the messages; for the thread that calls it."""
        for extractor in self.extractors:
            extractor.forget()
        self._newest = [-np.inf] * len(self.extractors)

    def reset(self) -> None:
        """Empty the window and everything behind it; for the thread that calls `take`."""
        if self.sync is not None:
            self.sync.reset()
        self.online.reset()
        self._resets = self.online.counts["resets"]
        self.detector.reset()
        self.reason = self.online.reason

    def push(self, message: Any, received: float | None = None, side: int = 0) -> list[Output]:
        """Take a message: `extract` and `take` in one."""
        return self.take(self.extract(message, received, side))

    def extract(self, message: Any, received: float | None = None, side: int = 0) -> Sample:
        """Take the numbers out of a message.

        Touches nothing that `take` does, so each may have a thread of its own. A message that
        cannot be used makes a sample with a fault, which leaves a hole in the stream.

        Parameters
        ----------
        message : a message of the topic's type
        received : float, optional
            Seconds; its stamp if it has none in a header.
        side : {0, 1}
            Which topic it came from.
        """
        extractor, time = self.extractors[side], stamp(message)
        time = received if time is None else time
        if time is not None:
            if time < self._newest[side] - self.online.reset_after:
                extractor.forget()  # a restart: what comes now may be another robot
                self._newest[side] = time
            self._newest[side] = max(self._newest[side], time)
        try:
            state = extractor(message).copy()
        except OtherJoints as error:
            return Sample(side, time, _NOTHING, str(error), skip=True)
        except InputError as error:
            return Sample(side, time, _NOTHING, str(error))
        notice, extractor.notice = extractor.notice, ""
        return Sample(side, time, state, "", notice=notice)

    def take(self, sample: Sample, *, read: bool = True) -> list[Output]:
        """Take a sample into the window, and read it.

        Parameters
        ----------
        sample : Sample
        read : bool
            False estimates nothing, for when messages come faster than they can be read: pairs
            stay what they are, and the next sample with True is read as if nothing had happened.

        Returns
        -------
        list of Output
            Mostly none or one. With two topics a message can complete two pairs.

        Raises
        ------
        InputError
            Two topics without stamps, or settings that do not fit the states.
        """
        if sample.notice:
            self.reset()
        if sample.skip:
            self._skipped += 1
            readings = [self.online.read()] if read else []
        elif self.sync is None:
            readings = [self._read(sample.stamp, sample.state, None, read)]
        elif sample.stamp is None:
            raise InputError("two topics are paired by their stamps: pass the time of arrival")
        else:
            pairs = self.sync.add(sample.side, sample.stamp, sample.state)
            readings = [self._read(*pair, read) for pair in pairs]
            if not pairs:
                self.reason = "waiting: no pair of messages since the last one"
                readings = [self.online.read()] if read else []
        if sample.fault:
            self.reason = f"{'passed over' if sample.skip else 'refused'}: {sample.fault}"
        return [Output(r, self.detector.push(r)) for r in readings if r is not None]

    def _read(
        self,
        stamp: float | None,
        state: NDArray[np.float64],
        other: NDArray[np.float64] | None,
        read: bool,
    ) -> Reading | None:
        reading = self.online.push(state, stamp, other, read=read)
        self.reason = self.online.reason
        if self.online.counts["resets"] != self._resets:
            self._resets = self.online.counts["resets"]
            self.detector.reset()
        return reading
