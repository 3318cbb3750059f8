"""Reads trajectories from the HDF5 files of ALOHA and ACT, one for each episode.

Such a file has `observations/qpos` [T, 14], `qvel`, pictures in `observations/images`, and `action`
[T, 14]; recordings of a robot also have `effort`. A data set is a folder of `episode_0.hdf5`,
`episode_1.hdf5`, ...
"""

from collections.abc import Sequence
from pathlib import Path

from ...trajectories import Trajectories
from .arrays import find_arrays, find_stated
from .demonstrations import Demo, DemoReader, make_trajectories
from .opening import open_hdf5

OBSERVATIONS, DEFAULT = "observations", "qpos"


def read_aloha(path: Path, features: Sequence[str] | None = None) -> Trajectories:
    """Read an episode of ALOHA; those of a folder are joined by `folders.read_folder`.

    `features` are arrays to read. Those of `observations` are given by name, others by path, as
    ["qpos", "qvel", "action"]; `qpos` unless given. Columns are named "qpos.0" to "qpos.13". The
    files have no rate, so it is None.
    """
    reader = DemoReader(path, features)
    with open_hdf5(path) as (file, _):
        arrays = find_arrays(path, file, OBSERVATIONS)
        default = (DEFAULT,) if DEFAULT in arrays else ()
        known = [name for name, array in arrays.items() if array.node.ndim in (1, 2)]
        rows = arrays["action"].node.shape if "action" in arrays else None
        length = rows[0] if rows else None
        reader.add(Demo(path.stem, arrays, default, length, stated=find_stated(file)))
        states, columns = reader.columns()
    rest = ", ".join(name for name in known if name not in reader.keys)
    notes = []
    if features is None and rest:
        notes.append(f"Read: {DEFAULT}. The file has {rest} too (--features).")
    return make_trajectories(reader, states, columns, None, notes)
