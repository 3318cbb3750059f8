"""Hand-made annotations for tests."""

from __future__ import annotations

import numpy as np

from infoatlas_tools import Trajectories
from infoatlas_tools.annotate.content import Annotations
from infoatlas_tools.keystates.key_states import KeyStates
from infoatlas_tools.keystates.steps import Steps


def annotations(subtasks, episodes, states=(), names=(), labels=("grasp", "release")):
    """Key states one step before the ends of the first two parts, if these parts exist."""
    parts = subtasks.parts[: len(labels)]
    shape = (len(parts), len(subtasks.lengths))
    steps = np.reshape([part.end - 1 for part in parts], shape).astype(np.int64).T
    mask = np.reshape([part.end == part.start for part in parts], shape).astype(bool).T
    found = Steps(np.ma.array(steps, mask=mask), np.ones(len(parts)), origin=tuple(labels))
    values = np.concatenate(states) if len(states) else np.zeros((sum(subtasks.lengths), 1))
    recorded = Trajectories(values, subtasks.lengths, names, subtasks.rate)
    keystates = KeyStates(found, recorded, None, (), labels=tuple(labels))
    return Annotations(keystates, subtasks, tuple(episodes))
