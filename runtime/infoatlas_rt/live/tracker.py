"""Follows key states and sub-tasks in a running episode."""

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
from .episode_filter import LiveFilter
from .outcome import Outcome
from .subtasks import SubtaskState
from .task import Followable, Task, as_task

Float = NDArray[np.float64]


class KeyStateTracker(Stateful):
    """Follows the key states of one episode at a time.

    Parameters
    ----------
    task : Task, KeyStates or path
        Key states and sub-tasks to follow, or the file of a task. Of `KeyStates`, it is
        `KeyStates.follow()`.
    rate : float, optional
        States a second (Hz) that are pushed. Unless given, it is estimated from the stamps of the
        first ten states. Without stamps, or if the rate of the demonstrations is not known, it is
        that of the demonstrations. States are averaged or interpolated to their working steps.
    follow_all : bool
        Follow key states and sub-tasks that cannot be followed well, too.

    Attributes
    ----------
    task : Task
        What is followed.
    followed : [K] bool
        Key states that are reported.
    subtask : SubtaskState or None
        Present sub-task and progress of the first tool. None without sub-tasks, before the first
        working step, and in a part that cannot be followed.
    subtask_states : tuple of SubtaskState or None
        The same for each tool.
    outcome : Outcome
        Whether the episode is done or has failed, since when, and why.
    step : int
        Number of the newest state, from 0; -1 before the first.

    Raises
    ------
    InputError
        The file cannot be read, or a rate is given but that of the demonstrations is not known.

    Examples
    --------
    >>> import numpy as np
    >>> from infoatlas_rt import KeyStateTracker
    >>> from infoatlas_tools import discover_keystates
    >>> cuts = np.random.default_rng(0).integers(20, 40, 20)  # the gripper closes at these steps
    >>> demos = [np.c_[np.minimum(np.arange(60) / c, 1), np.arange(60) >= c] for c in cuts]
    >>> tracker = KeyStateTracker(discover_keystates(demos, count=1))
    >>> print(cuts[0], [event.step for state in demos[0] for event in tracker.push(state)])
    37 [36]
    """

    def __init__(
        self,
        task: Task | Followable | str | os.PathLike[str],
        *,
        rate: float | None = None,
        follow_all: bool = False,
    ) -> None:
        self.task, self._follow_all = as_task(task), as_flag(follow_all, "follow_all")
        self._filter = LiveFilter(self.task, 1, rate, self._follow_all)
        own = self.task.detectors
        self._timed = rate is not None or own.timing.rate is None  # the rate is known
        self._waiting: list[tuple[Float, float]] = []
        self._row = np.zeros(1, np.int64)
        self._stamps: deque[float | None] = deque(maxlen=own.stream.stamps_kept)

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
        return self._filter.subtask_state(0) if self._filter.progress else None

    @property
    def subtask_states(self) -> tuple[SubtaskState | None, ...]:
        """Present sub-task and progress of each tool."""
        return tuple(
            self._filter.subtask_state(0, tool) for tool in range(len(self._filter.progress))
        )

    @property
    def outcome(self) -> Outcome:
        """Whether the episode is done or has failed, since when, and why."""
        return self._filter.outcome(0)

    def reset(self) -> None:
        """Forget the episode; the next state is the first of a new one."""
        self._filter.reset(self._row)
        self._waiting.clear()
        self._stamps.clear()

    def describe(self) -> str:
        """Text: what is followed, with its accuracy in held-out demonstrations."""
        return self.task.describe(self._follow_all)

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
        own, names = self.task.columns, state_names(state)
        if own and names and own != names:
            raise InputError(
                f"state has the coordinates {names}, and the key states were found with {own}: "
                "pass the same ones in the same order"
            )
        if state is None:
            raise InputError("state is None: pass the coordinates of a step, or nothing at all")
        given = np.atleast_1d(np.asarray(state))
        width = self.task.detectors.coordinates.width
        if given.shape != (width,):
            raise InputError(
                f"state has shape {given.shape}, and the key states were found with "
                f"{width} coordinates: pass [{width}], in the same order"
            )
        now = as_samples(given[None], "state (skip it; [0, coordinate])", shift=False)
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
        self._timed |= stamp is None
        if not self._timed and stamp is not None:
            rates = self.task.detectors.stream
            self._waiting.append((state, stamp))
            if len(self._waiting) < rates.stamps_for_rate:
                return []
            gaps = np.sort(np.diff([s for _, s in self._waiting]))
            (least, most), median = rates.usual, gaps[len(gaps) // 2]
            near = (gaps >= least * median) & (gaps <= most * median)
            # Summed in order, as by the C++ follower.
            gap = float(np.where(near, gaps, 0.0).cumsum()[-1]) / max(near.sum(), 1)
            own, self._timed = self.task.detectors.timing.rate, True
            below, above = rates.same
            if own is not None and gap > 0 and not below < own * gap < above:
                self._filter = LiveFilter(self.task, 1, 1 / gap, self._follow_all)
        elif not self._waiting:
            return self._filter.push(state, self._row)
        else:
            self._waiting.append((state, np.nan))
        waiting, self._waiting = self._waiting, []
        return [event for s, _ in waiting for event in self._filter.push(s, self._row)]
