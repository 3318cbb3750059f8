"""Determines the kind of data set at a path."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from ..errors import InputError
from .formats import known_way
from .hdf5.demonstrations import SHOWN
from .hdf5.maniskill import maniskill_episodes
from .hdf5.minari import minari_episodes, minari_file
from .hdf5.opening import SUFFIXES, files_in, first_names, opened, shown_name
from .hdf5.robomimic import demo_names
from .lerobot.reader import is_lerobot

LEROBOT, ROBOMIMIC, ISAACLAB = "LeRobot", "robomimic", "Isaac Lab"
MANISKILL, ALOHA, D4RL, MINARI, TABLE = "ManiSkill", "ALOHA", "D4RL", "Minari", "table"
_SUPPORTED = (
    "data/demo_0 (robomimic, MimicGen, Isaac Lab, robosuite), traj_0 (ManiSkill), "
    "observations/qpos (ALOHA), observations with terminals (D4RL) and episode_0/observations "
    "(Minari) are read; or save .npz with states [sum, d] and lengths [N]"
)


def kind_of(path: str | os.PathLike[str]) -> str:
    """Kind of a data set.

    Returns
    -------
    str
        "LeRobot", "robomimic" (or MimicGen, robosuite), "Isaac Lab", "ManiSkill", "ALOHA" (a file,
        or a folder of them), "D4RL", "Minari" (its folder or its file), or "table".

    Raises
    ------
    InputError
        h5py is not installed, or an HDF5 file is damaged or has none of these layouts. A folder of
        HDF5 files is not of ALOHA, or the kind of data is not supported (`formats.py`).
    """
    path = Path(path)
    if is_lerobot(path):
        return LEROBOT
    if way := known_way(path):
        raise InputError(f"{path} is of a kind that is not read: {way}")
    if not path.is_dir():
        return _kind_of_file(path) if path.suffix in SUFFIXES else TABLE
    if minari_file(path):
        return MINARI
    files = files_in(path)
    if not files:
        return TABLE
    kind = _kind_of_file(files[0])
    if kind != ALOHA:
        raise InputError(
            f"{path} is a folder with {files[0].name}, a file of {kind}, which contains all "
            "demonstrations: pass that file"
        )
    return ALOHA


def _kind_of_file(path: Path) -> str:
    """Kind of an HDF5 file, by its content."""
    with opened(path) as (file, h5py):
        data, observations = file.get("data"), file.get("observations")
        if isinstance(data, h5py.Group) and len(data):
            first: Any = next((data.get(name) for name in demo_names(data)), None)
            # Isaac Lab's recorder writes the initial state of an episode.
            own = isinstance(first, h5py.Group) and (
                "obs/datagen_info" in first or "initial_state" in first
            )
            return ISAACLAB if own else ROBOMIMIC
        if maniskill_episodes(file):
            return MANISKILL
        if minari_episodes(file):
            return MINARI
        if isinstance(observations, h5py.Dataset):
            return D4RL
        if isinstance(observations, h5py.Group):
            return ALOHA
        inside = ", ".join(_described(file, name) for name in list(file)[:SHOWN])
        raise InputError(f"{path} has {inside or 'nothing'}: {_SUPPORTED}")


def _described(file: Any, name: str) -> str:
    node = file.get(name)
    if hasattr(node, "shape"):
        return f"{shown_name(name)} {node.shape} {node.dtype}"
    inside = ", ".join(first_names(node)) if hasattr(node, "keys") else "a link"
    return f"{shown_name(name)} ({inside})"
