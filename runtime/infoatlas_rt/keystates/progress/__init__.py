"""Sub-tasks in a running episode: the present one, its progress, and stalls."""

from .live_subtasks import LiveSubtasks, SubtaskState, fit_subtasks

__all__ = ["LiveSubtasks", "SubtaskState", "fit_subtasks"]
