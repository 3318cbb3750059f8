"""Reads trajectories from the data sets of Minari that are stored as HDF5.

Its file `main_data.hdf5` has a group `episode_0`, `episode_1`, ... for each episode: `observations`
(T + 1 of them, an array or groups of arrays), `actions` [T], `rewards`, `terminations`,
`truncations` and `infos`. The file lies in the folder `data` of the data set. (Minari 0.4, 0.5)
"""

import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from infoatlas_rt.errors import InputError

from ...trajectories import Trajectories
from .arrays import Source, find_arrays, find_stated, names_under, open_node
from .demonstrations import Demo, DemoReader, make_trajectories
from .opening import open_hdf5, sort_by_number

FILE = "main_data.hdf5"
OBSERVATIONS = "observations"
_EPISODE = re.compile(r"episode_[0-9]{1,18}")


def minari_file(path: Path) -> Path | None:
    """The HDF5 file in the folder of a Minari data set; None if there is none."""
    found = [path / FILE, path / "data" / FILE]
    return next((file for file in found if file.is_file()), None)


def minari_episodes(file: Any) -> list[str]:
    """Names of the episodes of an open file, in the order of their numbers."""
    return sort_by_number(file, _EPISODE)


def read_minari(path: Path, features: Sequence[str] | None = None) -> Trajectories:
    """Read the episodes of a Minari data set: its folder, or its `main_data.hdf5`.

    `features` are arrays to read. Those in `observations` are given by name, with dots in groups;
    others by path, as "actions" (one row less than observations) and "infos.qpos". Unless given,
    all observations that are numbers of one or two dimensions. Columns are named "observations.0",
    or "achieved_goal.0" in groups. The rate is None.
    """
    place = minari_file(path) or path
    reader = DemoReader(place, features)
    with open_hdf5(place) as (file, h5py):
        for name in minari_episodes(file):
            group = open_node(place, file, name)
            if not isinstance(group, h5py.Group):
                raise InputError(f"{place}: {name} is no group: remove it")
            arrays = find_arrays(place, group, OBSERVATIONS)
            _check_steps(place, group, arrays)
            default = tuple(names_under(arrays, OBSERVATIONS))
            reader.add(Demo(name, arrays, default, stated=find_stated(group)))
    return make_trajectories(reader, *reader.columns(), None, ())


def _check_steps(path: Path, group: Any, arrays: dict[str, Source]) -> None:
    """Raise InputError if an episode has not one observation more than steps."""
    counts = {
        source.path: len(source.node)
        for source in arrays.values()
        if source.path.split("/")[0] == "actions" and source.node.shape
    }
    counts |= {key: group.attrs[key] for key in ("total_steps",) if key in group.attrs}
    for name in names_under(arrays, OBSERVATIONS):
        node, inside = arrays[name]
        for what, count in counts.items() if node.shape else ():
            if not np.array_equal(count, len(node) - 1):
                raise InputError(
                    f"{path}: {inside} of {group.name.strip('/')} has {len(node)} rows, and {what} "
                    f"{count}, which should be one less: record the episode again"
                )
