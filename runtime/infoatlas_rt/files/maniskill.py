"""Trajectories from the .h5 files that ManiSkill's `RecordEpisode` writes.

Such a file has a group `traj_0`, `traj_1`, ... for each episode. In it, `obs` holds T + 1
observations (an array, or groups of arrays), `env_states` the states of all actors and
articulations of the simulation, and `success` [T] a flag. Of its file .json beside it, the rate is
read. (ManiSkill 3.0)
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..errors import InputError
from ..inputs.trajectories import Trajectories
from .hdf5 import opened
from .numbers import LARGEST
from .rates import stated_rate

SUFFIXES = (".h5", ".hdf5")
SENSORS = ("sensor_data", "sensor_param")  # images and cameras, in observations


def read_maniskill(
    path: str | os.PathLike[str], only_successful: bool = True, env_states: bool = False
) -> Trajectories:
    """Read the trajectories of a ManiSkill file.

    Parameters
    ----------
    path : path
    only_successful : bool
        Leave out episodes whose last step is no success; all are taken if none has the flag.
    env_states : bool
        States of the simulation even where there are observations.

    Returns
    -------
    Trajectories
        Of the observations, or of `env_states` if observations have no numbers (`obs_mode="none"`).
        Images are left out, and so are flags: truth values, and columns that hold both 0 and 1
        and nothing else (a flag such as `is_grasped` in a flat observation would be the answer).
        Names say where each column is from: "agent.qpos.0", "actors.cube.2", or "obs.18" of a flat
        observation. The rate is the control frequency (Hz), where the environment was made with
        `sim_config=dict(control_freq=...)`: the file .json holds no defaults of tasks, and then
        the rate is None.

    Raises
    ------
    InputError
        h5py is not installed; the file is missing, damaged or of another kind; no episode is
        left; or episodes have different columns.
    """
    path = Path(path)
    with opened(path) as (file, h5py):
        return _read(path, file, h5py, only_successful, env_states)


def _read(
    path: Path, file: Any, h5py: Any, only_successful: bool, env_states: bool
) -> Trajectories:
    names = [name for name in file if name.startswith("traj_") and name[5:].isdecimal()]
    if not names:
        raise InputError(
            f"{path} has {sorted(file)[:5]} and no traj_0: pass a file of ManiSkill's "
            "RecordEpisode, or one with data/demo_0 of robomimic, MimicGen or Isaac Lab"
        )
    episodes = [file[name] for name in sorted(names, key=lambda name: int(name[5:]))]
    notes = []
    if only_successful and any("success" in episode for episode in episodes):
        episodes = [e for e in episodes if "success" in e and bool(e["success"][-1])]
        if not episodes:
            raise InputError(
                f"{path}: none of {len(names)} episodes ends in success: record more, or take "
                "them as they are with load_trajectories(path, only_successful=False)"
            )
        if len(episodes) < len(names):
            failed = len(names) - len(episodes)
            notes.append(
                f"Left out: {failed} of {len(names)} episodes, which do not end in success."
            )
    source = "obs"
    if env_states or not any(True for _ in _columns(episodes[0].get("obs"), "obs", h5py)):
        source = "env_states"
    states: list[NDArray[Any]] = []
    columns: list[str] = []
    total = 0
    for episode in episodes:
        found = list(_columns(episode.get(source), "obs" if source == "obs" else "", h5py))
        total += sum(array.size for _, array in found)
        if total > LARGEST:
            raise InputError(f"{path}: more than {LARGEST} numbers: save a part of them")
        own = [name for name, array in found for name in _numbered(name, array.shape[1])]
        lengths = {len(array) for _, array in found}
        if not own or len(lengths) != 1 or (columns and own != columns):
            raise InputError(
                f"{path}: {episode.name}/{source} has {len(own)} columns of lengths "
                f"{sorted(lengths)}, and {episodes[0].name} has {len(columns)}: record episodes of "
                "one task with observations or env_states"
            )
        columns = own
        states.append(np.concatenate([array for _, array in found], axis=1))
    lengths_of = np.array([len(s) for s in states])
    joined = np.concatenate(states)
    flags = np.isin(joined, (0, 1)).all(axis=0) & (joined != joined[0]).any(axis=0)
    kept = tuple(name for name, flag in zip(columns, flags, strict=True) if not flag)
    if flags.any():
        left = ", ".join(name for name, flag in zip(columns, flags, strict=True) if flag)
        notes.append(f"Left out: {left} (flags: 0 and 1 alone).")
    return Trajectories(
        joined[:, ~flags],
        lengths_of,
        kept,
        _rate(path.with_suffix(".json")),
        tuple(episode.name.strip("/") for episode in episodes),
        tuple(notes),
    )


def _rate(path: Path) -> float | None:
    """Control frequency in Hz by the file beside the trajectories; None if it says nothing."""
    try:
        node = json.loads(path.read_text(encoding="utf-8")) if path.is_file() else None
    except (OSError, ValueError, RecursionError):  # damaged; the trajectories do not depend on it
        return None
    for key in ("env_info", "env_kwargs", "sim_config", "control_freq"):
        node = node.get(key) if isinstance(node, dict) else None
    return stated_rate(node)


def _columns(node: Any, name: str, h5py: Any) -> Iterator[tuple[str, NDArray[Any]]]:
    """Arrays [T + 1, d] of numbers below a node of the file, with their names."""
    if isinstance(node, h5py.Group):
        for key in node:
            if key not in SENSORS:
                yield from _columns(
                    node[key], key if name in ("", "obs") else f"{name}.{key}", h5py
                )
    elif isinstance(node, h5py.Dataset) and node.dtype.kind in "iuf" and node.ndim in (1, 2):
        if node.size > LARGEST:
            raise InputError(f"{name} has {node.size} numbers, and {LARGEST} are the most")
        yield name, np.asarray(node[()]).reshape(len(node), -1)


def _numbered(name: str, width: int) -> list[str]:
    return [name] if width == 1 else [f"{name}.{column}" for column in range(width)]
