"""Sub-tasks: parts of demonstrations, and the reference object of each."""

from .poses import Pose, Position
from .subtask_results import WORLD, Subtask, Subtasks

__all__ = ["WORLD", "Pose", "Position", "Subtask", "Subtasks"]
