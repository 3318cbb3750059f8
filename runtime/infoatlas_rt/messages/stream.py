"""Messages in, readings and key states out.

Recordings and robots use the same code, so both give the same bits. The work has two halves,
because a subscription's callback must not wait: `extract` takes the numbers out of a message, and
`take` does everything else.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..curves.extrema import Extremum, ExtremumDetector
from ..errors import InputError
from ..estimation.result import WindowEstimate
from ..keystates.tracker import KeyStateTracker
from ..streams.coupling import CouplingDetector, CouplingEvent
from ..streams.sliding_window import OnlineEstimator
from .fields import Extractor, OtherJoints
from .sync import Synchroniser

_NOTHING = np.zeros(0)
TICK = 1e-6  # seconds between messages that arrive at once
REMEMBERED = 2000  # stamps of an episode's newest states


class Stream:
    """One topic, or two that are paired by time, read message by message.

    Parameters
    ----------
    online : OnlineEstimator
        With `two_streams` for two topics: I(first topic; past of the second).
    detector : ExtremumDetector
    *extractors : Extractor
        One for each topic.
    sync : Synchroniser, optional
        Pairs the messages of two topics.
    coupling : CouplingDetector, optional
        Gets the states of two topics too; its newest reading is `coupling.reading`.
    tracker : KeyStateTracker, optional
        Gets every accepted state too; of two topics, both side by side.
    rate_limit : float
        Largest number of readings shown per second of stamps; 0: no limit. Readings that the
        detector needs are made in any case, so the limit changes no key state.

    Attributes
    ----------
    limited : int
        States that the rate limit left without a reading.
    reason : str
        Why the last message had no reading, or "ok"; as `OnlineEstimator.reason`.

    Raises
    ------
    InputError
        The number of extractors does not fit the estimator, or the synchroniser is missing.
    """

    def __init__(
        self,
        online: OnlineEstimator,
        detector: ExtremumDetector,
        *extractors: Extractor,
        sync: Synchroniser | None = None,
        coupling: CouplingDetector | None = None,
        tracker: KeyStateTracker | None = None,
        rate_limit: float = 0.0,
    ) -> None:
        topics = 1 + online.two_streams
        if len(extractors) != topics or (sync is not None) != online.two_streams:
            raise InputError(
                f"{len(extractors)} extractors and {'a' if sync else 'no'} synchroniser: pass one "
                "extractor, or two and a synchroniser for an estimator with two_streams"
            )
        if coupling is not None and not online.two_streams:
            raise InputError("coupling is of two topics: pass two, or leave it out")
        self.online, self.detector, self.extractors, self.sync = online, detector, extractors, sync
        self.coupling, self.tracker = coupling, tracker
        self._stamps: deque[float | None] = deque(maxlen=REMEMBERED)  # of the tracker's steps
        if not 0 <= rate_limit < np.inf:
            raise InputError(f"rate_limit is {rate_limit!r}: pass readings per second, or 0")
        self.rate_limit, self.limited = rate_limit, 0
        self._arrived = False  # the last message had no stamp
        self._shown = -np.inf  # stamp of the last reading that was
        self.reason = online.reason
        self._resets = online.counts["resets"]
        # Messages without the joints that were asked for are passed over, and are no faults.
        self._passed = "not asked for" if extractors[0].joints else "other joints"
        self._skipped = 0
        self._newest = [-np.inf] * topics  # stamps, by topic; of `extract` alone

    @property
    def counts(self) -> dict[str, int]:
        """Fates of states, of the estimator and the synchroniser together."""
        skipped = {self._passed: self._skipped} if self._skipped else {}
        return self.online.counts | (self.sync.counts if self.sync else {}) | skipped

    def forget(self) -> None:
        """Forget the layout of the messages that `extract` found; for the thread that calls it."""
        for extractor in self.extractors:
            extractor.forget()
        self._newest = [-np.inf] * len(self.extractors)

    def reset(self) -> None:
        """Empty the window and everything behind it; for the thread that calls `take`."""
        if self.sync is not None:
            self.sync.reset()
        self.online.reset()
        if self.coupling is not None:
            self.coupling.reset()
        self._restart()
        self.reason = self.online.reason

    def lost(self) -> None:
        """Messages have been lost before the next one: no pair is formed across them."""
        self.online.lost()
        if self.coupling is not None:
            self.coupling.online.lost()

    def _restart(self) -> None:
        """Restart the detector and the tracker with the window."""
        self._resets = self.online.counts["resets"]
        self.detector.reset()
        self._stamps.clear()
        if self.tracker is not None:
            self.tracker.reset()

    def push(self, message: Any, received: float | None = None, side: int = 0) -> list[Output]:
        """Take a message: `extract` and `take` in one."""
        return self.take(self.extract(message, received, side))

    def extract(self, message: Any, received: float | None = None, side: int = 0) -> Sample:
        """Take the numbers out of a message.

        It shares no state with `take`, so each may have a thread of its own. A message that cannot
        be used makes a sample with a fault, which leaves a hole in the stream.

        Parameters
        ----------
        message : a message of the topic's type
        received : float, optional
            Seconds; its stamp if it has none in a header.
        side : {0, 1}
            Which topic it came from.
        """
        extractor = self.extractors[side]
        time = extractor.stamp(message)
        if time is not None and np.isnan(time):
            why = f"stamp_field {extractor.stamp_field}: no time from 0 to 2^31 s; is it the unit?"
            return Sample(side, time, _NOTHING, why)
        arrived, before = time is None, self._newest[side]
        time = received if time is None else time
        if time is not None:
            if arrived and before - self.online.reset_after <= time <= before:
                time = before + TICK  # a coarse clock: no copy of the message before
            if time < self._newest[side] - self.online.reset_after:
                extractor.forget()  # a restart: the next messages may be another robot's
                self._newest[side] = time
            self._newest[side] = max(self._newest[side], time)
        try:
            state = extractor(message).copy()
        except OtherJoints as error:
            return Sample(side, time, _NOTHING, str(error), skip=True)
        except InputError as error:
            return Sample(side, time, _NOTHING, str(error))
        notice, extractor.notice = extractor.notice, ""
        return Sample(side, time, state, "", notice=notice, arrived=arrived)

    def take(self, sample: Sample, *, read: bool = True) -> list[Output]:
        """Take a sample into the window, and read it.

        Readings that the detector is due are made in any case; the stamps alone decide which.

        Parameters
        ----------
        sample : Sample
        read : bool
            False: make no reading. For messages that come faster than readings can be made. The
            pairs in the window are the same, and so is the next reading.

        Returns
        -------
        list of Output
            Mostly none or one; of two topics a message can complete two pairs.

        Raises
        ------
        InputError
            Two topics without stamps, or settings that do not fit the states.
        """
        if sample.notice:
            self.reset()
        self._arrived = sample.arrived or (bool(sample.fault) and self._arrived)
        if sample.skip:
            self._skipped += 1
            outputs = [self._catch_up(read)]
        elif self.sync is None:
            outputs = [self._push(sample.stamp, sample.state, None, read)]
        elif sample.stamp is None:
            raise InputError("two topics are paired by their stamps: pass the time of arrival")
        else:
            pairs = self.sync.add(sample.side, sample.stamp, sample.state)
            outputs = [self._push(*pair, read) for pair in pairs]
            if not pairs:
                self.reason = "waiting: no pair of messages since the last one"
                outputs = [self._catch_up(read)]
        if sample.fault:
            self.reason = f"{'passed over' if sample.skip else 'refused'}: {sample.fault}"
        return [output for output in outputs if output.reading is not None or output.keystates]

    def read(self) -> list[Output]:
        """Read the window, unless a reading of its newest state was made."""
        output = self._catch_up(True)
        return [output] if output.reading is not None or output.keystates else []

    def _push(
        self,
        stamp: float | None,
        state: NDArray[np.float64],
        other: NDArray[np.float64] | None,
        read: bool,
    ) -> Output:
        accepted = self.online.counts["accepted"]
        self.online.push(state, stamp, other, read=False, counted=self._arrived)
        self.reason = self.online.reason
        if self.online.counts["resets"] != self._resets:
            self._restart()
        output = Output(None, [], False)
        if self.online.counts["accepted"] > accepted:
            output = self._read(read)
            self.reason = self.online.reason
        if self.coupling is not None and other is not None:
            wanted = read or output.reading is not None
            output.keystates.extend(self.coupling.push(state, other, stamp, read=wanted))
        if self.tracker is not None and self.online.counts["accepted"] > accepted:
            states = state if other is None else np.concatenate([state, other])
            output.keystates.extend(self._track(self.tracker, states, stamp))
        return output

    def _catch_up(self, asked: bool) -> Output:
        output = self._read(asked)
        if self.coupling is not None and asked:
            output.keystates.extend(self.coupling.read())
        return output

    def _read(self, asked: bool) -> Output:
        """Read the window if that is asked for, or if the detector is due."""
        now, nothing = self.online.newest, Output(None, [], False)
        if now is None:
            return nothing
        if self.rate_limit and 0 <= now - self._shown < 1 / self.rate_limit - 1e-6:
            # Stamps are floats, hence the microsecond; below 0 they jumped back.
            self.limited += asked
            asked = shown = False
        else:
            shown = self.online.due or not asked
        due = self.detector.due(now)
        if not asked and not due:
            return nothing
        reading = self.online.read(anyway=due)
        if reading is None:
            return nothing
        if shown:
            self._shown = now
        return Output(reading, [*self.detector.push(reading)] if due else [], shown)

    def _track(
        self, tracker: KeyStateTracker, state: NDArray[np.float64], stamp: float | None
    ) -> list[TrackedKeyState]:
        events = tracker.push(state)
        self._stamps.append(stamp)
        oldest = tracker.step + 1 - len(self._stamps)
        return [
            TrackedKeyState(
                kind="phase",
                keystate=event.keystate,
                posterior=event.posterior,
                index=event.step,
                stamp=self._stamps[max(event.step - oldest, 0)],
                detected_at=event.detected_at,
                detected_stamp=stamp,
            )
            for event in events
        ]


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
    skip : bool
        It is another robot's message, and no step of this one.
    notice : str
        Why the coordinates change with this message; mostly empty.
    arrived : bool
        The message has no stamp of its own, and `stamp` is the time of its arrival.
    """

    side: int
    stamp: float | None
    state: NDArray[np.float64]
    fault: str
    skip: bool = False
    notice: str = ""
    arrived: bool = False


@dataclass(frozen=True)
class TrackedKeyState:
    """A key state of the running episode, as `KeyStateTracker` reports it, with its stamps.

    Attributes
    ----------
    kind : "phase"
    keystate : int
        Its number in order of time, from 0: column of `KeyStates.steps`.
    posterior : float
        Probability that the episode has passed it.
    index, detected_at : int
        Most likely step, and the step of the detection; the episode's first state is 0.
    stamp, detected_stamp : float or None
        Stamps of those steps, seconds.
    """

    kind: str
    keystate: int
    posterior: float
    index: int
    stamp: float | None
    detected_at: int
    detected_stamp: float | None


class Output(NamedTuple):
    """Results of a message.

    Attributes
    ----------
    reading : WindowEstimate or None
        None where a tracker or a coupling detector alone has an event.
    keystates : list of Extremum, CouplingEvent or TrackedKeyState
        Those detected with this message, mostly none.
    shown : bool
        True: the reading was asked for and is within the rate limit. False: it is for the detector
        of key states alone.
    """

    reading: WindowEstimate | None
    keystates: list[Extremum | CouplingEvent | TrackedKeyState]
    shown: bool
