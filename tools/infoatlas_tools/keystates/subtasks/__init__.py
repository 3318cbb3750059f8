"""Sub-tasks: parts of demonstrations, and the reference object of each."""

from .poses import Pose, Position
from .recorded_subtasks import WORLD, Subtask, Subtasks

__all__ = ["WORLD", "Pose", "Position", "Subtask", "Subtasks"]
