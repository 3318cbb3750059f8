"""Key states in the running episodes of parallel environments, followed all at once."""

from __future__ import annotations

import os
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..errors import InputError
from ..keystates.result import KeyStates
from ..keystates.tracker import PhaseFilter, as_posterior, phases_of
from .episodes import VectorEpisodes


class VectorTracker(VectorEpisodes):
    """A `KeyStateTracker` for each of E environments, which report what it would.

    A refused state is left out of its episode: what follows is compared with the state before it.

    Parameters
    ----------
    keystates : KeyStates or path
        Of method "phase", or a file of `KeyStates.save`.
    envs : int
        E.
    posterior : float
        Probability above which a key state is reported, from 0.5 to below 1.

    Attributes
    ----------
    keystates : KeyStates
    newest : [E] int64
        Column of the newest key state of each running episode; -1 before the first.
    steps : [E, K] int64
        Most likely step of each key state in the running episode, counted from its first state;
        -1 of those that were not reached.

    Raises
    ------
    InputError
        As `KeyStateTracker`; and as `VectorEpisodes`.
    """

    key = "key_state"

    def __init__(
        self, keystates: KeyStates | str | os.PathLike[str], envs: int, *, posterior: float = 0.99
    ) -> None:
        super().__init__(envs)
        self.keystates, phases = phases_of(keystates)
        self.posterior = as_posterior(posterior)
        self._width = phases.motion.width
        self._filter = PhaseFilter(phases, self.envs)
        self.newest = np.empty(self.envs, np.int64)
        self.steps = np.empty((self.envs, len(phases.steps) - 1), np.int64)
        self._gain = np.zeros(self.envs, np.float32)
        self._restart(np.arange(self.envs))

    def latest(self) -> NDArray[Any]:
        """Column of the newest key state of each running episode [E] int64; -1 before one."""
        return np.array(self.newest)

    def gain(self) -> NDArray[np.float32]:
        """Key states that were reached with the newest state of each environment [E]."""
        return np.array(self._gain)

    @property
    def probability(self) -> NDArray[np.float64]:
        """Of each phase, now [E, K + 1]."""
        return self._filter.probability(np.arange(self.envs))

    def _restart(self, rows: NDArray[np.int64]) -> None:
        self._filter.reset(rows)
        self.newest[rows], self.steps[rows], self._gain[rows] = -1, -1, 0.0

    def _skip(self, rows: NDArray[np.int64]) -> None:
        self._gain[rows] = 0.0

    def _take(self, rows: NDArray[np.int64], states: NDArray[np.float64]) -> None:
        if states.shape[1] != self._width:
            raise InputError(
                f"states have {states.shape[1]} coordinates, and the key states were found with "
                f"{self._width}: pass the same ones in the same order"
            )
        self._filter.push(rows, states)
        self._gain[rows] = 0.0
        for row, event in self._filter.passed(rows, self.posterior):
            assert event.keystate is not None  # an event of a key state
            self.newest[row] = event.keystate
            self.steps[row, event.keystate] = event.step
            self._gain[row] += 1
