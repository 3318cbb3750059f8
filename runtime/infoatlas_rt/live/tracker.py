"""Follows key states and sub-tasks in a running episode.

The models are fitted to demonstrations: `live.py` for key states, `progress/live_subtasks.py` for
sub-tasks.
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
from ..inputs.checks import as_flag, as_samples
from ..inputs.copies import Stateful
from ..streams.events import Event
from .live import LiveModel
from .live_filter import LiveFilter
from .progress.live_subtasks import LiveSubtasks, SubtaskState
from .result import KeyStates
from .subtasks.result import Subtasks

Float = NDArray[np.float64]

REMEMBERED = 2000  # stamps that are kept, of an episode's newest states
TIMED = 10  # first states, from whose stamps the rate is estimated


class KeyStateTracker(Stateful):
    """Follows the key states of one episode at a time.

    Parameters
    ----------
    keystates : KeyStates or path
        Key states of demonstrations, or a file of `KeyStates.save`.
    rate : float, optional
        States a second (Hz) that are pushed. Unless given, it is estimated from the stamps of the
        first ten states. Without stamps, or if the rate of the demonstrations is not known, it is
        that of the demonstrations. States are averaged or interpolated to the working steps of the
        demonstrations.
    every : bool
        Follow key states and sub-tasks that cannot be followed well, too.
    subtasks : Subtasks or LiveSubtasks, optional
        Sub-tasks to follow: of the same demonstrations, or from `KeyStates.follow`. Unless given,
        those that were saved with the key states, if any.

    Attributes
    ----------
    keystates : KeyStates
        The key states, loaded if a path was given.
    followed : [K] bool
        Key states that are reported.
    subtask : SubtaskState or None
        Present sub-task and progress of the first tool. None without sub-tasks, before the first
        working step, and in a part that cannot be followed.
    subtask_states : tuple of SubtaskState or None
        The same for each tool.
    step : int
        Number of the newest state, from 0; -1 before the first.

    Raises
    ------
    InputError
        The key states have no detectors, the file cannot be read, a rate is given but that of the
        demonstrations is not known, or the sub-tasks are of other demonstrations.
    """

    def __init__(
        self,
        keystates: KeyStates | str | os.PathLike[str],
        *,
        rate: float | None = None,
        every: bool = False,
        subtasks: Subtasks | LiveSubtasks | None = None,
    ) -> None:
        self.keystates, model = live_model(keystates)
        self.live_subtasks = live_subtasks(self.keystates, subtasks)
        self._width = model.coordinates.width
        self._model, self._every = model, as_flag(every, "every")
        self._filter = LiveFilter(model, 1, rate, self._every, self.live_subtasks)
        self._timed = rate is not None or model.timing.rate is None  # the rate is known
        self._waiting: list[tuple[Float, float]] = []
        self._row = np.zeros(1, np.int64)
        self._stamps: deque[float | None] = deque(maxlen=REMEMBERED)

    @property
    def followed(self) -> NDArray[np.bool_]:
        """Key states that are reported [K]."""
        return self._filter.followed

    @property
    def step(self) -> int:
        """Number of the newest state, from 0; -1 before the first."""
        return int(self._filter.step[0]) + len(self._waiting)

    @property
    def subtask(self) -> SubtaskState | None:
        """Present sub-task and progress of the first tool."""
        return self._filter.subtask_state(0) if self.live_subtasks is not None else None

    @property
    def subtask_states(self) -> tuple[SubtaskState | None, ...]:
        """Present sub-task and progress of each tool."""
        tools = () if self.live_subtasks is None else self.live_subtasks.tools
        return tuple(self._filter.subtask_state(0, i) for i in range(len(tools)))

    def reset(self) -> None:
        """Forget the episode; the next state is the first of a new one."""
        self._filter.reset(self._row)
        self._waiting.clear()
        self._stamps.clear()

    def describe(self) -> str:
        """Text: what is followed, with recall and delay in the demonstrations."""
        model, lines = self._model, []
        for j, followed in enumerate(self.followed):
            if np.isnan(model.recall[j]):
                figures = "not judged" if np.isfinite(model.threshold[j]) else "not shared"
            else:
                figures = (
                    f"found in {model.recall[j]:.0%}, median delay {model.delay[j]:.2f} s, "
                    f"{model.false_reports[j]:.1f} false reports an episode"
                )
            name = self.keystates.name(j)
            lines.append(
                f"key state {j + 1}{f' ({name})' if name else ''}: "
                f"{'followed' if followed else 'NOT followed'}; {figures}"
            )
        if self.live_subtasks is not None:
            lines.append(self.live_subtasks.describe())
        return "\n".join(lines) or "no key states"

    def push(self, state: Any, stamp: float | None = None) -> list[Event]:
        """Take the next state of the episode.

        Parameters
        ----------
        state : array-like [d]
            The coordinates of the demonstrations, in their order. Names of a pandas Series are
            compared with those of the demonstrations.
        stamp : float, optional
            Time of the state, seconds. Events have the stamps of their steps.

        Returns
        -------
        list of Event
            Key states that this state completes; usually empty.

        Raises
        ------
        InputError
            The state has another number of coordinates, other names, or values that are not finite.
            The episode is unchanged.
        """
        own, names = self.keystates.names, state_names(state)
        if own and names and own != names:
            raise InputError(
                f"state has the coordinates {names}, and the key states were found with {own}: "
                "pass the same ones in the same order"
            )
        if state is None:
            raise InputError("state is None: pass the coordinates of a step, or nothing at all")
        given = np.atleast_1d(np.asarray(state))
        if given.shape != (self._width,):
            raise InputError(
                f"state has shape {given.shape}, and the key states were found with "
                f"{self._width} coordinates: pass [{self._width}], in the same order"
            )
        now = as_samples(given[None], "state (skip it; [0, coordinate])")
        self._stamps.append(stamp)
        found = self._take(now, stamp)
        if not found:
            return []
        oldest, subtask = self.step + 1 - len(self._stamps), self.subtask
        return [
            replace(
                event,
                stamp=self._stamps[max(event.step - oldest, 0)],
                detected_stamp=stamp,
                subtask=None if subtask is None else subtask.name,
            )
            for _, event in found
        ]

    def _take(self, state: Float, stamp: float | None) -> list[tuple[int, Event]]:
        """Push a state, or keep it until the rate of the stream is known."""
        if not self._timed and stamp is None:
            self._timed = True
        if not self._timed and stamp is not None:
            self._waiting.append((state, stamp))
            if len(self._waiting) < TIMED:
                return []
            gap = float(np.median(np.diff([s for _, s in self._waiting])))
            own, self._timed = self._model.timing.rate, True
            if own is not None and gap > 0 and not 0.8 < own * gap < 1.25:
                self._filter = LiveFilter(self._model, 1, 1 / gap, self._every, self.live_subtasks)
        elif not self._waiting:
            return self._filter.push(self._row, state)
        else:
            self._waiting.append((state, np.nan))
        waiting, self._waiting = self._waiting, []
        return [event for s, _ in waiting for event in self._filter.push(self._row, s)]


def live_model(keystates: KeyStates | str | os.PathLike[str]) -> tuple[KeyStates, LiveModel]:
    """Key states, loaded if a path is given, and their detectors.

    Raises
    ------
    InputError
        The key states have neither demonstrations nor detectors, or the file cannot be read.
    """
    if not isinstance(keystates, KeyStates):
        keystates = KeyStates.load(keystates)
    return keystates, keystates.live


def live_subtasks(
    keystates: KeyStates, subtasks: Subtasks | LiveSubtasks | None
) -> LiveSubtasks | None:
    """Sub-tasks to follow: those given, or those that were saved, if any.

    Raises
    ------
    InputError
        Sub-tasks of other demonstrations, or of key states that were loaded from a file.
    """
    if subtasks is None:
        return keystates.live_subtasks
    return keystates.follow(subtasks) if isinstance(subtasks, Subtasks) else subtasks
