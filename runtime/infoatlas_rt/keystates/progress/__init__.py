"""Sub-tasks in a running episode: which one is active, its progress, and stalls."""

from .live_subtasks import LiveSubtasks, SubtaskState, fit_subtasks

__all__ = ["LiveSubtasks", "SubtaskState", "fit_subtasks"]
