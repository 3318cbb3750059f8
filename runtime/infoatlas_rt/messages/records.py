"""Records of a stream: a state in, and what is detected with it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..curves.extrema import KeyState
from ..estimation.result import WindowEstimate
from ..streams.coupling import CouplingEvent


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
    keystates : list of KeyState, CouplingEvent or TrackedKeyState
        Those detected with this message, mostly none.
    shown : bool
        True: the reading was asked for and is within the rate limit. False: it is for the detector
        of key states alone.
    """

    reading: WindowEstimate | None
    keystates: list[KeyState | CouplingEvent | TrackedKeyState]
    shown: bool
