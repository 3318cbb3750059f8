"""Reads trajectories from the HDF5 files of D4RL: all episodes one after another.

Such a file has `observations` [n, d], `actions` [n, a], `rewards`, `terminals` and `timeouts` [n],
and further arrays in `infos`. An episode ends at a row whose terminal or timeout is true.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from infoatlas_rt.errors import InputError

from ...trajectories import Trajectories
from .arrays import Source, find_arrays
from .demonstrations import Demo, DemoReader, make_trajectories
from .opening import open_hdf5

OBSERVATIONS, TERMINALS, TIMEOUTS = "observations", "terminals", "timeouts"


def read_d4rl(path: Path, features: Sequence[str] | None = None) -> Trajectories:
    """Read the episodes of a D4RL file.

    `features` are arrays to read, as ["observations", "actions", "infos.qpos"]; `observations`
    unless given. Columns are named "observations.0". Episodes end at terminals and timeouts; rows
    after the last of them are an unfinished episode, named in `notes`. The rate is None.
    """
    reader = DemoReader(path, features)
    with open_hdf5(path) as (file, _):
        arrays = find_arrays(path, file, OBSERVATIONS)
        rows = len(arrays[OBSERVATIONS].node) if arrays[OBSERVATIONS].node.shape else None
        reader.add(Demo("the file", arrays, (OBSERVATIONS,), rows))
        states, columns = reader.columns()
        ends = {
            name: _flags(path, name, arrays[name], len(states))
            for name in (TERMINALS, TIMEOUTS)
            if name in arrays
        }
    last = np.any([np.zeros(len(states), bool), *ends.values()], axis=0)
    if not last.any() and TIMEOUTS not in ends:
        raise InputError(
            f"{path} has no timeouts and no terminal that is true, so the ends of episodes are "
            "unknown: add timeouts, or save .npz with states [sum, d] and lengths [N]"
        )
    notes = []
    if TIMEOUTS not in ends:
        notes.append(
            "The file has no timeouts: episodes end at terminals alone, and those that ran out of "
            "time are joined to the next one."
        )
    edges = np.r_[0, np.flatnonzero(last) + 1]
    if edges[-1] < len(states):
        notes.append(f"The last {len(states) - edges[-1]} rows are an episode without an end.")
        edges = np.r_[edges, len(states)]
    lengths = np.diff(edges)
    names = [str(i) for i in range(len(lengths))]
    return make_trajectories(reader, states, columns, None, notes, lengths, names)


def _flags(path: Path, name: str, source: Source, rows: int) -> NDArray[np.bool_]:
    """Truth values [n] that mark the ends of episodes."""
    node: Any = source.node
    shape = node.shape or ()
    if shape not in ((rows,), (rows, 1)) or node.dtype.kind not in "biuf":
        raise InputError(
            f"{path}: {name} is {source.text}, and there are {rows} rows: store a truth value for "
            "each"
        )
    values = np.asarray(node[()]).reshape(rows)
    if not np.isin(values, (0, 1)).all():
        raise InputError(f"{path}: {name} has other numbers than 0 and 1: store truth values")
    return values.astype(bool)
