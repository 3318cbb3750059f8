"""The forward filter over phases, for any number of running episodes at once.

The phases follow each other from left to right; a phase ends with a probability of one over its
mean length at every step, and emits motion by its Gaussian. `tracker.py` follows one episode,
`vector_tracker.py` those of parallel environments.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from .phases import SPANS, Phases

SURPRISE = 12.0  # nats: largest log-ratio of two phases that one state contributes


class Passed(NamedTuple):
    """A key state that an episode has passed.

    Attributes
    ----------
    row : int
        Of the episode.
    keystate, step : int
        Its column, and its most likely step, counted from the episode's first state, 0.
    posterior : float
        Probability that the episode has passed it.
    """

    row: int
    keystate: int
    step: int
    posterior: float


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
        self._recent = np.zeros((rows, motion.reach + 1, motion.width))  # a ring over steps
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
        motion, reach = self._phases.motion, self._recent.shape[1]
        self.step[rows] += 1
        self._recent[rows, self.step[rows] % reach] = states
        rows = rows[self.step[rows] >= motion.reach]
        if not len(rows):
            return
        places = (self.step[rows, None] - self._back) % reach
        near = self._recent[rows[:, None], places]  # [m, 1 + spans, d]
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

    def passed(self, rows: NDArray[np.int64], posterior: float) -> list[Passed]:
        """Key states passed with a probability above `posterior`, each returned once.

        They are in order of the rows, and ascend within one.
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
                found.append(Passed(row, phase - 1, int(path[phase]), certainty))
            self.reported[row] = phase
        return found
