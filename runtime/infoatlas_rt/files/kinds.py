"""What kind of data set a path is."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from .hdf5 import opened
from .lerobot import is_lerobot
from .maniskill import SUFFIXES

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
