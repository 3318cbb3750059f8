"""`Task`: what a robot loads to follow the key states and sub-tasks of demonstrations."""

import os
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from ..errors import InputError
from . import json_file
from .detectors import Detectors
from .outcome import OutcomeModel
from .subtasks import LiveSubtasks


@dataclass(frozen=True, eq=False)
class Task:
    """Detectors of the key states of a task, and models of its sub-tasks.

    `KeyStates.follow` fits it to demonstrations. It contains none of them.

    Attributes
    ----------
    keystates : tuple of K str
        Names of the key states, as "grasp cube".
    columns : tuple of str
        Names of the columns of a state; empty if they have none.
    detectors : Detectors
        Detectors of the key states, with their recall, delay and false reports.
    outcome : OutcomeModel
        When the task is done, and grasps that may fail.
    subtasks : LiveSubtasks or None
        Parts of the task, with models of their progress and the accuracy of these.

    Examples
    --------
    >>> import numpy as np
    >>> from infoatlas_tools import discover_keystates
    >>> cuts = np.random.default_rng(0).integers(20, 40, 20)  # the gripper closes at these steps
    >>> demos = [np.c_[np.minimum(np.arange(60) / c, 1), np.arange(60) >= c] for c in cuts]
    >>> task = discover_keystates(demos, count=1).follow()
    >>> task.detectors.followed
    array([ True])
    """

    keystates: tuple[str, ...]
    columns: tuple[str, ...]
    detectors: Detectors
    outcome: OutcomeModel
    subtasks: LiveSubtasks | None = None

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write a .json file.

        Parameters
        ----------
        path : path
            The file to write; one that exists is replaced.

        Raises
        ------
        InputError
            The file cannot be written.
        """
        json_file.write(path, self)

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> "Task":
        """Read a file of `save`, `KeyStates.save`, or the option `--save` of a command.

        Parameters
        ----------
        path : path
            The .json file.

        Returns
        -------
        Task

        Raises
        ------
        InputError
            The file is missing, damaged or of another version.
        """
        return json_file.read(path, cls._from_dict)

    @classmethod
    def _from_dict(cls, values: dict[str, Any]) -> "Task":
        keystates, columns = (tuple(map(str, values[name])) for name in ("keystates", "columns"))
        subtasks = values["subtasks"]
        tools = 0 if subtasks is None else len(subtasks["tools"])
        detectors = Detectors.from_dict(values["detectors"], len(keystates), tools)
        coordinates = detectors.coordinates
        if len(columns) not in (0, coordinates.width):
            raise ValueError(f"{len(columns)} names for {coordinates.width} columns")
        if subtasks is not None:
            subtasks = LiveSubtasks.from_dict(subtasks, coordinates)
        pairs = sum(len(tool.model.pairs) for tool in subtasks.tools) if subtasks else 0
        outcome = OutcomeModel.from_dict(values["outcome"], len(coordinates.parts), pairs)
        return cls(keystates, columns, detectors, outcome, subtasks)

    def describe(self, follow_all: bool = False) -> str:
        """Text: what is followed, and its accuracy in held-out demonstrations.

        Parameters
        ----------
        follow_all : bool
            For a tracker that follows everything (`follow_all=True`).

        Returns
        -------
        str
            A line for each key state and each sub-task, and what the outcome is known by.
        """
        own, lines = self.detectors, []
        for j, followed in enumerate(own.reported(follow_all)):
            if np.isnan(own.recall[j]):
                figures = "not judged" if np.isfinite(own.threshold[j]) else "not common"
            else:
                figures = (
                    f"found in {own.recall[j]:.0%}, median delay {own.delay[j]:.2f} s, "
                    f"{own.false_reports[j]:.1f} false reports per demonstration"
                )
            name = f" ({self.keystates[j]})" if self.keystates[j] else ""
            lines.append(
                f"key state {j + 1}{name}: {'followed' if followed else 'NOT followed'}; {figures}"
            )
        if self.subtasks is not None:
            lines.append(self.subtasks.describe(own.timing.frequency, follow_all))
        return "\n".join(filter(None, [*lines, self.outcome.about])) or "no key states"

    def __str__(self) -> str:
        return self.describe()


class Followable(Protocol):
    """What a `Task` can be fitted to, as `KeyStates`."""

    def follow(self) -> Task:
        """The task of these demonstrations."""


def as_task(task: Task | Followable | str | os.PathLike[str]) -> Task:
    """A task as it is, fitted to key states, or loaded; InputError for anything else."""
    if isinstance(task, Task):
        return task
    if isinstance(task, str | os.PathLike):
        return Task.load(task)
    if not hasattr(task, "follow"):
        raise InputError(
            f"task is of type {type(task).__name__}: pass a Task, KeyStates, or the path of a file"
        )
    return task.follow()
