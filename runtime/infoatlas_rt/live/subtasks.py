"""Sub-tasks in running episodes: models of their progress, and the accuracy of these."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .coordinates import Coordinates
from .json_file import flags, floats, number
from .progress_filter import ProgressFilter
from .progress_model import ProgressModel

Float = NDArray[np.float64]


@dataclass(frozen=True)
class SubtaskState:
    """Sub-task and progress of a running episode.

    Attributes
    ----------
    index : int
        Index of the part in `Subtasks.parts`.
    name : str
        Name of the part, as "reach cube".
    tool : str
        Name of the tool that moves.
    reference : str
        Name of the reference object; "world" or "" if there is none.
    held : str
        Name of the object that moves with the tool; "" if none.
    progress : float
        Share of the part's duration in the demonstrations that has passed, 0 to 1. It does not fall
        while the part lasts.
    task_progress : float
        Progress of the task, 0 to 1.
    stalled : bool
        There was no progress for 3 times the longest such time in the demonstrations.
    waiting : float
        Time without progress, divided by that longest time.
    seconds : float
        Time since the part began; a working step counts as 0.05 s if the rate is not known.
    """

    index: int
    name: str
    tool: str
    reference: str
    held: str
    progress: float
    task_progress: float
    stalled: bool
    waiting: float
    seconds: float


@dataclass(frozen=True)
class Part:
    """One sub-task; its fields are those of `SubtaskState`."""

    name: str
    tool: str
    reference: str
    held: str


@dataclass(frozen=True, eq=False)
class ToolProgress:
    """The parts of one tool, with their model and its accuracy."""

    model: ProgressModel
    # [P], the smaller one of recall and precision of the part, over the steps of held-out
    # demonstrations, except those within 0.25 s of a cut. NaN if it was not judged (one
    # demonstration).
    right: Float
    error: Float  # [P], mean absolute error of the progress at the right steps; NaN if not judged
    # [P], the longest time, in working steps, in which a demonstration reached no further bin.
    usual: Float
    limit: float  # distance from its bin above which a state is unlike the demonstrations
    followed: NDArray[np.bool_]  # [P], right often enough, or not judged

    def filter(self, rows: int) -> ProgressFilter:
        """A filter for so many episodes."""
        return ProgressFilter(self.model, rows, self.limit)

    @classmethod
    def from_dict(cls, values: dict[str, Any], coordinates: Coordinates) -> "ToolProgress":
        """From the values of a file; ValueError, KeyError or TypeError if they do not fit."""
        model = ProgressModel.from_dict(values["model"], coordinates)
        count, limit = len(model.parts), values["limit"]
        return cls(
            model,
            floats(values, "right", count, gaps=True),
            floats(values, "error", count, gaps=True),
            floats(values, "usual", count, positive=True),
            np.inf if limit is None else float(limit),
            flags(values, "followed", count),
        )


@dataclass(frozen=True, eq=False)
class LiveSubtasks:
    """Sub-tasks of demonstrations, and models to follow them."""

    parts: tuple[Part, ...]  # in the order of `Subtasks.parts`
    tools: tuple[ToolProgress, ...]  # in the order of `tool_names`
    stalled: float  # multiple of the longest usual time above which no progress is a stall

    @property
    def tool_names(self) -> tuple[str, ...]:
        """Names of the tools, in the order of the parts."""
        return tuple(dict.fromkeys(part.tool for part in self.parts))

    def describe(self, frequency: float, follow_all: bool = False) -> str:
        """Text: which parts are followed, with their accuracy in the demonstrations.

        `frequency` is in working steps a second.
        """
        lines = []
        for tool in self.tools:
            seconds = self.stalled * tool.usual / frequency
            numbers = tool.model.parts.tolist()
            figures = zip(numbers, tool.followed, tool.right, tool.error, seconds, strict=True)
            for index, followed, right, error, time in figures:
                judged = "not judged"
                if not np.isnan(right):
                    judged = f"right at {right:.0%} of the steps"
                    if not np.isnan(error):
                        judged += f", progress off by {error:.2f}"
                state = "NOT followed"
                if follow_all or followed:
                    state, judged = "followed", f"{judged}; stalled after {time:.1f} s"
                    judged += " without progress"
                name = self.parts[index].name
                lines.append(f"sub-task {index + 1} ({name}): {state}; {judged}")
        return "\n".join(lines)

    @classmethod
    def from_dict(cls, values: dict[str, Any], coordinates: Coordinates) -> "LiveSubtasks":
        """From the values of a file; ValueError, KeyError or TypeError if they do not fit."""
        parts = tuple(Part(**{name: str(v) for name, v in p.items()}) for p in values["parts"])
        tools = tuple(ToolProgress.from_dict(tool, coordinates) for tool in values["tools"])
        made = cls(parts, tools, number(values, "stalled"))
        own = [[i for i, p in enumerate(parts) if p.tool == name] for name in made.tool_names]
        if [tool.model.parts.tolist() for tool in tools] != own:
            raise ValueError("models of other sub-tasks")
        return made
