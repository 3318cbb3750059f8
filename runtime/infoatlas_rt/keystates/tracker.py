"""Detection of key states in a running episode: a forward filter over phases of demonstrations.

The phases come from `discover_keystates(demonstrations)`. They follow each other from left to
right. At every step a phase ends with a probability of one over its mean length, and emits motion
by its Gaussian. A key state is reported when the probability that the episode has passed it exceeds
`posterior`.

Noise that the demonstrations lack counts as motion, and can be taken for a later phase. Record the
demonstrations with the sensors of the run, or give `discover_keystates` their `resolution`.
"""

from __future__ import annotations

import os
from collections import deque
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..errors import InputError
from ..inputs.arrays import state_names
from ..inputs.checks import as_number, as_samples
from ..inputs.ring import Ring
from ..streams.events import KEY_STATE, Event
from .phases import SPANS, Phases
from .result import KeyStates

REMEMBERED = 2000  # stamps of an episode's newest states
SURPRISE = 12.0  # nats: largest log-ratio of two phases that one state contributes


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
        self.keystates, phases = phases_of(keystates)
        self.posterior = as_posterior(posterior)
        self._width = phases.motion.width
        self._filter, self._row = PhaseFilter(phases, 1), np.zeros(1, np.int64)
        self._stamps: deque[float | None] = deque(maxlen=REMEMBERED)

    def reset(self) -> None:
        """Forget the episode; the next state is the first of a new one."""
        self._filter.reset(self._row)
        self._stamps.clear()

    @property
    def step(self) -> int:
        """Of the newest state; -1 before the first."""
        return int(self._filter.step[0])

    @property
    def probability(self) -> NDArray[np.float64]:
        """Of each phase, now [K + 1]."""
        return np.asarray(self._filter.probability(self._row)[0])

    def push(self, state: Any, stamp: float | None = None) -> list[Event]:
        """Take the next state of the episode.

        Parameters
        ----------
        state : array-like [d]
            The coordinates of the demonstrations, in their order. Names of a pandas Series are
            compared with those of the demonstrations.
        stamp : float, optional
            Seconds; events have the stamps of their steps.

        Returns
        -------
        list of Event
            Key states detected with this state, mostly none. Each is reported once.

        Raises
        ------
        InputError
            Another number of coordinates, NaN or infinite values; the episode stays as it is.
        """
        own, names = self.keystates.names, state_names(state)
        if own and names and own != names:
            raise InputError(
                f"state has the coordinates {names}, and the key states were found with {own}: "
                "pass the same ones in the same order"
            )
        given = np.atleast_1d(np.asarray(state))
        if given.shape != (self._width,):
            raise InputError(
                f"state has shape {given.shape}, and the key states were found with "
                f"{self._width} coordinates: pass [{self._width}], in the same order"
            )
        now = as_samples(given[None], "state (skip it; [0, coordinate])")
        self._filter.push(self._row, now)
        self._stamps.append(stamp)
        oldest = self.step + 1 - len(self._stamps)
        return [
            replace(event, stamp=self._stamps[max(event.step - oldest, 0)], detected_stamp=stamp)
            for _, event in self._filter.passed(self._row, self.posterior)
        ]


def phases_of(keystates: KeyStates | str | os.PathLike[str]) -> tuple[KeyStates, Phases]:
    """Key states, read from their file if need be, and the phases that they were found by.

    Raises
    ------
    InputError
        Key states without phases, or a file that cannot be read.
    """
    if not isinstance(keystates, KeyStates):
        keystates = KeyStates.load(keystates)
    if keystates.phases is None:
        raise InputError(
            f"key states of method {keystates.method!r} have no phases to follow: discover "
            "them with method='phase'"
        )
    return keystates, keystates.phases


def as_posterior(value: Any) -> float:
    """Return a probability from 0.5 to below 1.

    Raises
    ------
    InputError
    """
    posterior = as_number(value, "posterior")
    if not 0.5 <= posterior < 1:
        raise InputError(f"posterior is {value!r}: pass a probability from 0.5 to below 1")
    return posterior


class PhaseFilter:
    """Follows episodes, one a row, through fitted phases.

    Parameters
    ----------
    phases : Phases
        K + 1 of them.
    rows : int
        E, episodes.

    Attributes
    ----------
    step : [E] int64
        Of the newest state of each episode; -1 before the first.
    reported : [E] int64
        Key states that `passed` has returned so far.
    """

    def __init__(self, phases: Phases, rows: int) -> None:
        self._phases = phases
        count, motion = len(phases.steps), phases.motion
        self._back = np.array([0, *(span * motion.lag for span in SPANS)])
        # A phase of mean length m ends with probability 1 / m; the last one does not end.
        leave = 1 / np.maximum(phases.steps, 2.0)
        self._leave, self._stay = np.log(leave), np.log1p(-leave)
        self._stay[-1] = 0.0
        self.step = np.empty(rows, np.int64)
        self.reported = np.empty(rows, np.int64)
        self._recent = Ring(motion.reach + 1, rows, motion.width)
        self._forward = np.empty((rows, count))
        self._best = np.empty((rows, count))  # log-probability of the best path into each phase
        # [row, phase, phase entered] of that path
        self._entries = np.empty((rows, count, count), np.int64)
        self.reset(np.arange(rows))

    def reset(self, rows: NDArray[np.int64]) -> None:
        """Forget some episodes; their next state is the first of a new one."""
        self.step[rows], self.reported[rows] = -1, 0
        self._forward[rows] = self._best[rows] = -np.inf
        self._forward[rows, 0] = self._best[rows, 0] = 0.0
        self._entries[rows] = 0

    def probability(self, rows: NDArray[np.int64]) -> NDArray[np.float64]:
        """Of each phase, now [m, K + 1]."""
        weight = np.exp(self._forward[rows])
        return np.asarray(weight / weight.sum(axis=1, keepdims=True))

    def push(self, rows: NDArray[np.int64], states: NDArray[np.float64]) -> None:
        """Take the next state [m, d], finite, of the episodes in `rows` [m], all different."""
        motion = self._phases.motion
        self.step[rows] += 1
        self._recent[self.step[rows], rows] = states
        rows = rows[self.step[rows] >= motion.reach]
        if not len(rows):
            return
        near = self._recent[self.step[rows, None] - self._back, rows[:, None]]  # [m, 1 + spans, d]
        increments = (near[:, :1] - near[:, 1:]).reshape(len(rows), -1)[:, motion.columns]
        density = self._phases.log_density(motion.score(increments))
        # The tails of a Gaussian are too light: no single state may decide by more than this.
        floor = density.max(axis=1, keepdims=True) - SURPRISE
        self._advance(rows, np.maximum(density, floor))

    def _advance(self, rows: NDArray[np.int64], density: NDArray[np.float64]) -> None:
        forward = self._forward[rows]
        moved = forward[:, :-1] + self._leave[:-1]
        forward += self._stay
        forward[:, 1:] = np.logaddexp(forward[:, 1:], moved)
        forward += density
        self._forward[rows] = forward - forward.max(axis=1, keepdims=True)
        best = self._best[rows]
        moved = best[:, :-1] + self._leave[:-1]
        best += self._stay
        which, phase = np.nonzero(moved > best[:, 1:])
        best[which, phase + 1] = moved[which, phase]
        row = rows[which]
        self._entries[row, phase + 1] = self._entries[row, phase]
        self._entries[row, phase + 1, phase + 1] = self.step[row]
        best += density
        self._best[rows] = best - best.max(axis=1, keepdims=True)

    def passed(self, rows: NDArray[np.int64], posterior: float) -> list[tuple[int, Event]]:
        """Key states passed with a probability above `posterior`, each returned once.

        Rows and events, without stamps; in order of the rows, and of time within a row.
        """
        reached = self.probability(rows)[:, ::-1].cumsum(axis=1)[:, ::-1]  # phase j or a later one
        found = []
        count = reached.shape[1]
        following = np.minimum(self.reported[rows] + 1, count - 1)
        new = reached[np.arange(len(rows)), following] > posterior
        for i in np.flatnonzero(new & (self.reported[rows] + 1 < count)):
            row = int(rows[i])
            phase = int(self.reported[row])
            while phase + 1 < count and reached[i, phase + 1] > posterior:
                phase += 1
                path = self._entries[row, int(self._best[row, phase:].argmax()) + phase]
                certainty = float(min(reached[i, phase], 1.0))
                step, now = int(path[phase]), int(self.step[row])
                event = Event(KEY_STATE, step, None, now, None, phase - 1, certainty)
                found.append((row, event))
            self.reported[row] = phase
        return found
