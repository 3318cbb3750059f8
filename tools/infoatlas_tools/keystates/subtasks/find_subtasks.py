"""Sub-tasks between key states: by poses in the states, by a camera, or without references."""

import os
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from infoatlas_rt.errors import InputError
from infoatlas_rt.estimation.estimator import Estimator

from ...clocks.pictures import correct_clock
from ...trajectories import Trajectories
from ..contacts.contact_events import Evidence
from ..contacts.event_names import LABEL, MOTION
from ..contacts.keystate_steps import Steps
from ..motion.durations import NOMINAL
from .camera_subtasks import camera_subtasks
from .cuts import make_cuts
from .subtask_discovery import find_subtasks
from .subtask_results import Subtasks


def subtasks_of(
    data: Trajectories,
    found: Steps,
    evidence: Evidence,
    stride: int,
    tool: Any,
    objects: Any,
    object_names: Mapping[int, str],
    estimator: Estimator | str | os.PathLike[str] | None,
) -> Subtasks:
    """Sub-tasks of the key states of demonstrations; see `KeyStates.subtasks`.

    `stride` is the number of recorded steps of a working step.
    """
    frequency = data.rate or NOMINAL * stride
    if object_names and not isinstance(object_names, Mapping):
        raise InputError(f"object_names is {object_names}: pass names by numbers, {{1: 'cup'}}")
    if object_names and (objects or data.camera is None):
        raise InputError(
            f"object_names is {dict(object_names)}: it names objects of a camera; pass "
            "Trajectories(..., camera=) to discover_keystates, and no objects here"
        )
    shared = found.take(np.flatnonzero(found.shared))
    if tool is None and not objects and data.camera is not None:
        shows = np.flatnonzero([source != MOTION for source in shared.source])
        some = shared.take(shows) if len(shows) else shared  # contacts, switches and labels
        late = correct_clock(data.camera, data.doubles(), data.names, frequency)
        seen = camera_subtasks(
            data.camera, data.doubles(), evidence.columns,
            make_cuts(some.steps, some.events, data.lengths, 0.0), frequency, object_names,
            evidence.switches, evidence.closing,
        )  # fmt: skip
        notes = *seen.notes, *late
        return replace(seen, rate=data.rate, notes=notes, times=data.split_times())
    parts, places, said = find_subtasks(
        data.doubles(), data.names, shared.steps, shared.events, frequency, tool, objects,
        evidence.switches, estimator, LABEL in found.source,
    )  # fmt: skip
    if data.rate is None:
        said.append(f"The rate is not known: {NOMINAL:g} working steps count as a second. Pass it.")
    return Subtasks(
        tuple(parts), data.lengths, data.rate, notes=tuple(said), places=places,
        times=data.split_times(),
    )  # fmt: skip
