"""Detection of key states in a running episode: a forward filter over phases of demonstrations.

The phases come from `discover_keystates(demonstrations)`; `phase_filter.py` says how they follow
each other. A key state is reported when the probability that the episode has passed it
exceeds `posterior`.

Noise that the demonstrations lack counts as motion, and can be taken for a later phase. Record the
demonstrations with the sensors of the run, or give `discover_keystates` their `resolution`.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..errors import InputError
from ..inputs.checks import as_number, as_samples
from ..inputs.tables import state_names
from .phase_filter import PhaseFilter
from .phases import Phases
from .result import KeyStates


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
        self.keystates, phases = phases_of(keystates)
        self.posterior = as_posterior(posterior)
        self._width = phases.motion.width
        self._filter, self._row = PhaseFilter(phases, 1), np.zeros(1, np.int64)

    def reset(self) -> None:
        """Forget the episode; the next state is the first of a new one."""
        self._filter.reset(self._row)

    @property
    def step(self) -> int:
        """Of the newest state; -1 before the first."""
        return int(self._filter.step[0])

    @property
    def probability(self) -> NDArray[np.float64]:
        """Of each phase, now [K + 1]."""
        return np.asarray(self._filter.probability(self._row)[0])

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
        return [
            KeyStateEvent(found.keystate, found.step, self.step, found.posterior)
            for found in self._filter.passed(self._row, self.posterior)
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
