"""Reads trajectories from the HDF5 files of ALOHA and ACT, one for each episode.

Such a file has `observations/qpos` [T, 14], `qvel`, pictures in `observations/images`, and `action`
[T, 14]; recordings of a robot also have `effort`. A data set is a folder of `episode_0.hdf5`,
`episode_1.hdf5`, ...
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

from infoatlas_rt.errors import InputError

from ...trajectories import Trajectories
from .arrays import find_arrays
from .demonstrations import Demo, DemoReader, made
from .opening import files_in, first_names, opened

OBSERVATIONS, DEFAULT = "observations", "qpos"


def read_aloha(path: str | os.PathLike[str], features: Sequence[str] | None = None) -> Trajectories:
    """Read an episode of ALOHA, or all those of a folder.

    Parameters
    ----------
    path : path
        A file, or a folder of files that are one episode each.
    features : sequence of str, optional
        Arrays to read. Those of `observations` are given by name, others by path, as ["qpos",
        "qvel", "action"]; `qpos` unless given.

    Returns
    -------
    Trajectories
        Columns are named "qpos.0" to "qpos.13"; episodes have the names of their files. The files
        have no rate, so it is None.
    """
    path = Path(path)
    files = files_in(path) if path.is_dir() else [path]
    stems = [file.stem for file in files]
    twice = [stem for stem in stems if stems.count(stem) > 1]
    if twice:
        raise InputError(f"{path} has two files {twice[0]}: keep one of them")
    reader = DemoReader(path, features)
    known: list[str] = []
    for place in files:
        with opened(place) as (file, h5py):
            if not isinstance(file.get(OBSERVATIONS), h5py.Group):
                raise InputError(
                    f"{place} has {first_names(file)} and is no file of ALOHA, as "
                    f"{files[0].name} is: move it out of {path}"
                )
            arrays = find_arrays(place, file, OBSERVATIONS)
            default = (DEFAULT,) if DEFAULT in arrays else ()
            known = known or [name for name, a in arrays.items() if a.node.ndim in (1, 2)]
            rows = arrays["action"].node.shape if "action" in arrays else None
            reader.add(Demo(place.stem, arrays, default, rows[0] if rows else None), place)
    rest = ", ".join(name for name in known if name not in reader.keys)
    notes = []
    if features is None and rest:
        notes.append(f"Read: {DEFAULT}. The files have {rest} too (--features).")
    return made(reader, *reader.columns(), None, notes)
