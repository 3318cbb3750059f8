"""Writes sub-tasks and key states into a copy of a ManiSkill file.

Each annotated episode `traj_i` has two new arrays as long as its observations, T + 1. `subtask` is
the number of the sub-task of each step. `key_state` is that of the newest key state, -1 before the
first. Their attribute `names` has a text for each number.
"""

from pathlib import Path

import numpy as np

from infoatlas_rt.errors import InputError

from ..files.hdf5.maniskill import maniskill_episodes
from ..files.hdf5.opening import changed_copy, open_hdf5
from .content import Annotations

SUBTASK, KEY_STATE, NAMES = "subtask", "key_state", "names"


def write_maniskill(annotations: Annotations, path: Path, out: Path) -> tuple[str, ...]:
    """Write a copy of a ManiSkill file with the sub-tasks and key states of its episodes.

    With several tools, a number stands for the sub-tasks of all of them.
    """
    with open_hdf5(path) as (file, h5py):
        for name, length in zip(annotations.episodes, annotations.lengths.tolist(), strict=True):
            actions = file[name].get("actions") if name in file else None
            if actions is None or len(actions) + 1 != length:
                own = "no actions" if actions is None else f"{len(actions)} actions"
                raise InputError(
                    f"{path}: {name} has {own}, and its sub-tasks are of {length} observations: "
                    "record both"
                )
        episodes = maniskill_episodes(file)
    columns = range(annotations.keystates.steps.shape[1])
    names = [annotations.keystates.name(column) for column in columns]
    with changed_copy(path, out) as file:
        for name in episodes:
            for key in (SUBTASK, KEY_STATE):
                if key in file[name]:
                    del file[name][key]
        for i, name in enumerate(annotations.episodes):
            for key, values, texts in (
                (SUBTASK, annotations.active(i), annotations.labels),
                (KEY_STATE, annotations.newest(i), names),
            ):
                file[name][key] = np.asarray(values, np.int64)
                file[name][key].attrs.create(NAMES, list(texts), dtype=h5py.string_dtype())
    notes = []
    rest = [name for name in episodes if name not in annotations.episodes]
    if rest:
        shown = ", ".join(rest[:3]) + (f" and {len(rest) - 3} more" if len(rest) > 3 else "")
        notes.append(f"{shown}: no sub-tasks are known, as of episodes without success")
    beside = path.with_suffix(".json")
    if beside.is_file():
        notes.append(f"ManiSkill reads {beside.name} beside the .h5: copy it along with a copy")
    return tuple(notes)
