"""What kind of data set a path is, and what it calls its demonstrations."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from ..errors import InputError
from .lerobot import episode_lengths, is_lerobot
from .maniskill import SUFFIXES
from .numbers import check_regular

LEROBOT, ROBOMIMIC, ISAACLAB = "LeRobot", "robomimic", "Isaac Lab"
MANISKILL, TABLE = "ManiSkill", "table"


def kind_of(path: str | os.PathLike[str]) -> str:
    """Kind of a data set: "LeRobot", "robomimic" (or MimicGen), "Isaac Lab", "ManiSkill", "table".

    Raises
    ------
    InputError
        h5py is not installed, or an HDF5 file is damaged.
    """
    path = Path(path)
    if is_lerobot(path):
        return LEROBOT
    if path.suffix not in SUFFIXES:
        return TABLE
    check_regular(path)
    try:
        import h5py
    except ImportError as error:
        raise InputError(
            f"{path}: h5py reads it and is not installed: pip install 'infoatlas-rt[datasets]'"
        ) from error
    try:
        with h5py.File(path, "r") as file:
            data = file.get("data")
            if not isinstance(data, h5py.Group):
                return MANISKILL
            first: Any = next((data[name] for name in data if name.startswith("demo_")), ())
            # Isaac Lab's recorder writes the state that an episode starts in.
            own = "obs/datagen_info" in first or "initial_state" in first
            return ISAACLAB if own else ROBOMIMIC
    except (OSError, RuntimeError, KeyError) as error:
        raise InputError(f"{path} cannot be read ({error}): record it again") from error


def episode_names(path: str | os.PathLike[str], count: int) -> tuple[str, ...]:
    """Names of the demonstrations that `load_trajectories(path)` gives, in its order.

    Parameters
    ----------
    path : path
    count : int
        Their number.

    Returns
    -------
    tuple of str
        Numbers of the episodes of a LeRobot data set or of a table; names of groups in an HDF5
        file.

    Raises
    ------
    InputError
        As `kind_of`.
    """
    path, kind = Path(path), kind_of(path)
    if kind == LEROBOT:
        names = [str(episode) for episode in sorted(episode_lengths(path))]
    elif kind == TABLE:
        names = [str(i) for i in range(count)]
    else:
        import h5py

        with h5py.File(path, "r") as file:
            group, start = (file, "traj_") if kind == MANISKILL else (file["data"], "demo_")
            names = [n for n in group if n.startswith(start) and n[len(start) :].isdecimal()]
            names.sort(key=lambda name: int(name[len(start) :]))
            if kind == MANISKILL and any("success" in group[n] for n in names):
                names = [n for n in names if "success" in group[n] and group[n]["success"][-1]]
    if len(names) != count:
        raise InputError(
            f"{path} has {len(names)} demonstrations, and {count} were read: load it again"
        )
    return tuple(names)
