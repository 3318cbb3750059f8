"""What kind of data set a path is, what it calls its demonstrations, and what is not read of it."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from ..errors import InputError
from .hdf5 import opened
from .lerobot import episode_lengths, is_lerobot
from .maniskill import SUFFIXES
from .robomimic import contents

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
    with opened(path) as (file, h5py):
        data = file.get("data")
        if not isinstance(data, h5py.Group):
            return MANISKILL
        first: Any = next((data[name] for name in data if name.startswith("demo_")), ())
        # Isaac Lab's recorder writes the state that an episode starts in.
        own = "obs/datagen_info" in first or "initial_state" in first
        return ISAACLAB if own else ROBOMIMIC


def passed_over(path: str | os.PathLike[str]) -> list[str]:
    """What `load_trajectories(path)` leaves out of a file of robomimic or Isaac Lab, and why.

    Raises
    ------
    InputError
        As `kind_of`, or as `robomimic.contents`.
    """
    if kind_of(path) not in (ROBOMIMIC, ISAACLAB):
        return []
    return [f"{where}: {reason}" for where, reason in contents(path).left_out.items()]


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
    elif kind == MANISKILL:
        with opened(path) as (file, _):
            names = [n for n in file if n.startswith("traj_") and n[5:].isdecimal()]
            names.sort(key=lambda name: int(name[5:]))
            if any("success" in file[n] for n in names):
                names = [n for n in names if "success" in file[n] and file[n]["success"][-1]]
    else:
        names = list(contents(path).demos)
    if len(names) != count:
        raise InputError(
            f"{path} has {len(names)} demonstrations, and {count} were read: load it again"
        )
    return tuple(names)
