"""Hand-made annotations for tests."""

import numpy as np

from infoatlas_rt.live.timing import Timing
from infoatlas_tools import Trajectories
from infoatlas_tools.annotations.content import Annotations
from infoatlas_tools.keystates.contacts.contact_events import find_evidence
from infoatlas_tools.keystates.contacts.event_names import label_kind
from infoatlas_tools.keystates.contacts.keystate_steps import Steps
from infoatlas_tools.keystates.coordinates import read_coordinates
from infoatlas_tools.keystates.key_states import KeyStates
from infoatlas_tools.keystates.motion.motion_scales import Recordings, fit_scales
from infoatlas_tools.keystates.trust.quality import Quality


def named(steps, names):
    """Steps [N, K] of labelled kinds with these names."""
    count = len(names)
    kinds, shared = np.arange(count), np.ones(count, bool)
    return Steps(steps, np.ones(count), tuple(map(label_kind, names)), kinds, shared)


def without_evidence(found, recorded, labels=()):
    """Key states of demonstrations that show no contact."""
    none = find_evidence((), recorded.split(), 20.0)
    again = np.full(found.steps.shape[1], np.nan)
    coordinates, _, paths, _ = read_coordinates(recorded)
    scales = fit_scales(paths, Timing(1, 20.0, 20.0), coordinates.scale, coordinates.least)
    usual = (Quality((), (), (), "", 0.0, (), ()),) * len(recorded.lengths)
    recordings = Recordings(coordinates, scales, paths)
    return KeyStates(found, recorded, recordings, none, usual, tuple(labels), again, float("nan"))


def annotations(subtasks, episodes, states=(), names=(), labels=("grasp", "release")):
    """Key states one step before the ends of the first two parts, if these parts exist."""
    parts = subtasks.parts[: len(labels)]
    shape = (len(parts), len(subtasks.lengths))
    steps = np.reshape([part.end - 1 for part in parts], shape).astype(np.int64).T
    mask = np.reshape([part.end == part.start for part in parts], shape).astype(bool).T
    found = named(np.ma.array(steps, mask=mask), labels[: len(parts)])
    values = np.concatenate(states) if len(states) else np.zeros((sum(subtasks.lengths), 1))
    recorded = Trajectories(values, subtasks.lengths, names, subtasks.rate)
    keystates = without_evidence(found, recorded, labels)
    return Annotations(keystates, subtasks, tuple(episodes))
