"""Detection of key states in a running episode: a forward filter over phases of demonstrations.

The phases come from `discover_keystates(demonstrations)`. They follow each other from left to
right; a phase ends with a probability of one over its mean length at every step, and emits motion
by its Gaussian. A key state is reported when the probability that the episode has passed it
exceeds `posterior`.

Noise that the demonstrations lack counts as motion, and can be taken for a later phase. Record the
demonstrations with the sensors of the run, or give `discover_keystates` their `resolution`.
"""

from __future__ import annotations

import os
from collections import deque
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .checks import as_number, as_samples
from .errors import InputError
from .keystates import KeyStates
from .phases import SPANS
from .tables import state_names

SURPRISE = 12.0  # nats: largest log-ratio of two phases that one state contributes


@dataclass(frozen=True)
class KeyStateEvent:
    """A key state of the running episode.

    Attributes
    ----------
    keystate : int
        Column of `KeyStates.steps`.
    step : int
        Most likely step, counted from the episode's first state, 0.
    detected_at : int
        Step of the detection.
    posterior : float
        Probability that the episode has passed it, under the fitted phases.
    """

    keystate: int
    step: int
    detected_at: int
    posterior: float


class KeyStateTracker:
    """Follows one episode at a time through the phases of demonstrations.

    Parameters
    ----------
    keystates : KeyStates or path
        Of method "phase", or a file of `KeyStates.save`.
    posterior : float
        Probability above which a key state is reported, between 0.5 and 1.

    Attributes
    ----------
    keystates : KeyStates
    step : int
        Of the newest state; -1 before the first.
    probability : [K + 1] float64
        Of each phase, now.

    Raises
    ------
    InputError
        Key states without phases, a file that cannot be read, a posterior out of range.
    """

    def __init__(
        self, keystates: KeyStates | str | os.PathLike[str], *, posterior: float = 0.99
    ) -> None:
        if not isinstance(keystates, KeyStates):
            keystates = KeyStates.load(keystates)
        if keystates.phases is None:
            raise InputError(
                f"key states of method {keystates.method!r} have no phases to follow: discover "
                "them with method='phase'"
            )
        self.posterior = as_number(posterior, "posterior")
        if not 0.5 <= self.posterior < 1:
            raise InputError(f"posterior is {posterior!r}: pass a probability from 0.5 to below 1")
        self.keystates = keystates
        self._phases = keystates.phases
        self._back = [-1 - span * self._phases.motion.lag for span in SPANS]
        # A phase of mean length m ends with probability 1 / m; the last one does not end.
        leave = 1 / np.maximum(self._phases.steps, 2.0)
        self._leave, self._stay = np.log(leave), np.log1p(-leave)
        self._stay[-1] = 0.0
        self.reset()

    def reset(self) -> None:
        """Forget the episode; the next state is the first of a new one."""
        count = len(self._stay)
        self.step = -1
        self._recent: deque[NDArray[np.float64]] = deque(maxlen=self._phases.motion.reach + 1)
        self._forward = np.full(count, -np.inf)
        self._best = np.full(count, -np.inf)  # log-probability of the best path into each phase
        self._forward[0] = self._best[0] = 0.0
        self._entries = np.zeros((count, count), np.int64)  # [phase, phase entered] of that path
        self._reported = 0

    @property
    def probability(self) -> NDArray[np.float64]:
        """Of each phase, now [K + 1]."""
        weight = np.exp(self._forward - self._forward.max())
        return np.asarray(weight / weight.sum())

    def push(self, state: Any) -> list[KeyStateEvent]:
        """Take the next state of the episode.

        Parameters
        ----------
        state : array-like [d]
            The coordinates of the demonstrations, in their order. Names of a pandas Series are
            compared with those of the demonstrations.

        Returns
        -------
        list of KeyStateEvent
            Key states detected with this state, mostly none. Each is reported once.

        Raises
        ------
        InputError
            Another number of coordinates, NaN or infinite values; the episode stays as it is.
        """
        width = self._phases.motion.width
        own, names = self.keystates.names, state_names(state)
        if own and names and own != names:
            raise InputError(
                f"state has the coordinates {names}, and the key states were found with {own}: "
                "pass the same ones in the same order"
            )
        given = np.atleast_1d(np.asarray(state))
        if given.shape != (width,):
            raise InputError(
                f"state has shape {given.shape}, and the key states were found with {width} "
                f"coordinates: pass [{width}], in the same order"
            )
        # A copy, for the caller may fill the same array again.
        now = as_samples(given[None], "state (skip it; [0, coordinate])")[0].copy()
        self.step += 1
        self._recent.append(now)
        if self.step < self._phases.motion.reach:
            return []
        increments = np.concatenate([now - self._recent[back] for back in self._back])[
            self._phases.motion.columns
        ]
        density = self._phases.log_density(self._phases.motion.score(increments[None]))[0]
        # The tails of a Gaussian are too light: no single state may decide by more than this.
        self._advance(np.maximum(density, density.max() - SURPRISE))
        return self._events()

    def _advance(self, density: NDArray[np.float64]) -> None:
        moved = self._forward[:-1] + self._leave[:-1]
        self._forward += self._stay
        self._forward[1:] = np.logaddexp(self._forward[1:], moved)
        self._forward += density
        self._forward -= self._forward.max()
        moved = self._best[:-1] + self._leave[:-1]
        self._best += self._stay
        entered = np.flatnonzero(moved > self._best[1:]) + 1
        self._best[entered] = moved[entered - 1]
        self._entries[entered] = self._entries[entered - 1]
        self._entries[entered, entered] = self.step
        self._best += density
        self._best -= self._best.max()

    def _events(self) -> list[KeyStateEvent]:
        passed = self.probability[::-1].cumsum()[::-1]  # of having reached phase j or a later one
        events = []
        while self._reported + 1 < len(passed) and passed[self._reported + 1] > self.posterior:
            self._reported += 1
            path = self._entries[int(self._best[self._reported :].argmax()) + self._reported]
            events.append(
                KeyStateEvent(
                    self._reported - 1,
                    int(path[self._reported]),
                    self.step,
                    float(min(passed[self._reported], 1.0)),
                )
            )
        return events
