"""Hand-made sub-tasks of the demonstrations of episodes.py."""

from __future__ import annotations

import numpy as np

from episodes import RATE, places
from infoatlas_tools.keystates.subtasks import Subtask, Subtasks


def reach_and_carry(states, grasps):
    """Reach the cube until the grasp, then carry it to the goal."""
    lengths = np.array([len(s) for s in states])
    zero = np.zeros_like(lengths)
    return Subtasks(
        (
            Subtask("tool", zero, np.asarray(grasps), reference="cube"),
            Subtask("tool", np.asarray(grasps), lengths, reference="goal", held="cube"),
        ),
        lengths,
        RATE,
    )


def visits(count=12, seed=0, lacking=0.0):
    """States and sub-tasks of `places`."""
    states, cuts = places(count, seed, lacking)
    parts = tuple(Subtask("tool", cuts[:, p], cuts[:, p + 1]) for p in range(3))
    return states, Subtasks(parts, cuts[:, -1], RATE)
