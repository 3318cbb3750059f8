"""Follows key states and sub-tasks in the running episodes of parallel environments."""

import os
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..errors import InputError
from ..inputs.checks import as_choice, as_flag
from ..live.episode_filter import LiveFilter
from ..live.outcome import DONE, FAILED
from ..live.task import Followable, Task, as_task
from .episodes import VectorEpisodes


class VectorTracker(VectorEpisodes):
    """Follows E environments, with the results of a `KeyStateTracker` for each.

    A refused state is left out of its episode: the next state follows the one before it.

    Parameters
    ----------
    num_envs : int
        E, environments.
    task : Task, KeyStates or path
        Key states and sub-tasks to follow, or the file of a task. Of `KeyStates`, it is
        `KeyStates.follow()`.
    rate : float, optional
        States a second (Hz); that of the demonstrations unless given.
    follow_all : bool
        Follow key states and sub-tasks that cannot be followed well, too.

    Attributes
    ----------
    task : Task
        What is followed.
    newest : [E] int64
        Column of the newest key state of each running episode; -1 before the first.
    steps : [E, K] int64
        Newest step of each key state in the running episode, counted from its first state; -1 if it
        was not reached.
    done, failed : [E] bool
        Outcome of each running episode (`Outcome`), as for resets and rewards.

    Raises
    ------
    InputError
        The file cannot be read. A rate is given but that of the demonstrations is not known. There
        is less than one environment. In every method: states are not [E, d], or have another d than
        before.

    Examples
    --------
    >>> import numpy as np
    >>> from infoatlas_rt import VectorTracker
    >>> from infoatlas_tools import discover_keystates
    >>> cuts = np.random.default_rng(0).integers(20, 40, 20)  # the gripper closes at these steps
    >>> demos = [np.c_[np.minimum(np.arange(60) / c, 1), np.arange(60) >= c] for c in cuts]
    >>> tracker = VectorTracker(3, discover_keystates(demos, count=1))
    >>> for states in np.swapaxes(demos[:3], 0, 1):
    ...     tracker.push(states)
    >>> tracker.newest
    array([0, 0, 0])
    """

    key = "key_state"

    def __init__(
        self,
        num_envs: int,
        task: Task | Followable | str | os.PathLike[str],
        *,
        rate: float | None = None,
        follow_all: bool = False,
    ) -> None:
        super().__init__(num_envs)
        self.task = as_task(task)
        self._filter = LiveFilter(self.task, self.num_envs, rate, as_flag(follow_all, "follow_all"))
        self.newest = np.empty(self.num_envs, np.int64)
        self.steps = np.empty((self.num_envs, len(self.task.keystates)), np.int64)
        self._gain = np.zeros(self.num_envs, np.float32)
        self._restart(np.arange(self.num_envs))

    def latest(self) -> NDArray[Any]:
        """Column of the newest key state of each running episode [E] int64; -1 before one."""
        return np.array(self.newest)

    def subtask(self, tool: str | None = None) -> dict[str, NDArray[Any]]:
        """Sub-task and progress of each running episode.

        Parameters
        ----------
        tool : str, optional
            Name of the tool; the first unless given.

        Returns
        -------
        dict of str to [E]
            `subtask` is the index in `Subtasks.parts` (int64): -1 before the first working step,
            and in a part that cannot be followed. `subtask_progress` and `task_progress` are the
            progress within the part and the task, 0 to 1 (float32); 0 if the index is -1.
            `subtask_stalled` (bool) is true if there was no progress for 3 times the longest such
            time in the demonstrations. `subtask_waiting` (float32) is the time without progress,
            divided by that longest time.

        Raises
        ------
        InputError
            There are no sub-tasks, or none of this tool.
        """
        if self.task.subtasks is None:
            raise InputError(
                "there are no sub-tasks to follow: pass KeyStates.follow(subtasks), or a file of "
                "KeyStates.save(path, subtasks)"
            )
        tools = self.task.subtasks.tool_names
        tool = as_choice(tools[0] if tool is None else tool, "tool", tools)
        index, progress, total, waiting = self._filter.place(tools.index(tool))
        return {
            "subtask": index,
            "subtask_progress": progress.astype(np.float32),
            "task_progress": total.astype(np.float32),
            "subtask_stalled": waiting > self.task.subtasks.stalled,
            "subtask_waiting": waiting.astype(np.float32),
        }

    def infos(self) -> dict[str, NDArray[Any]]:
        """Values for the info of an environment: the newest key state, outcome and sub-task."""
        own = super().infos() | {"task_done": self.done, "task_failed": self.failed}
        return own if self.task.subtasks is None else own | self.subtask()

    def gain(self) -> NDArray[np.float32]:
        """Key states that were reached with the newest state of each environment [E]."""
        return np.array(self._gain)

    @property
    def done(self) -> NDArray[np.bool_]:
        """Whether each running episode is done [E]."""
        return np.asarray(self._filter.outcomes.state == DONE)

    @property
    def failed(self) -> NDArray[np.bool_]:
        """Whether each running episode has failed [E]."""
        return np.asarray(self._filter.outcomes.state == FAILED)

    @property
    def followed(self) -> NDArray[np.bool_]:
        """Key states that are reported [K]."""
        return self._filter.followed

    def _restart(self, rows: NDArray[np.int64]) -> None:
        self._filter.reset(rows)
        self.newest[rows], self.steps[rows], self._gain[rows] = -1, -1, 0.0

    def _skip(self, rows: NDArray[np.int64]) -> None:
        self._gain[rows] = 0.0

    def _take(self, states: NDArray[np.float64], rows: NDArray[np.int64]) -> None:
        width = self.task.detectors.coordinates.width
        if states.shape[1] != width:
            raise InputError(
                f"states have {states.shape[1]} coordinates, and the key states were found with "
                f"{width}: pass the same ones in the same order"
            )
        self._gain[rows] = 0.0
        for row, event in self._filter.push(states, rows):
            assert event.keystate is not None  # an event of a key state
            self.newest[row] = event.keystate
            self.steps[row, event.keystate] = event.step
            self._gain[row] += 1
