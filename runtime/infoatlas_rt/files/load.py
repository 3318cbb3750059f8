"""Loads trajectories and samples from files.

`Trajectories` does not contain a simulator's flags (`is_grasped`, `success`, ...).
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..errors import InputError
from ..inputs.trajectories import Trajectories
from .formats import KNOWN, known_way, way_out
from .hdf5.aloha import read_aloha
from .hdf5.d4rl import read_d4rl
from .hdf5.maniskill import read_maniskill
from .hdf5.minari import read_minari
from .hdf5.robomimic import read_robomimic
from .kinds import ALOHA, D4RL, ISAACLAB, LEROBOT, MANISKILL, MINARI, ROBOMIMIC, TABLE, kind_of
from .lerobot.reader import read_lerobot
from .numbers import read_numpy
from .tables.columns import as_demonstrations, as_sample, label_columns
from .tables.parquet import SUFFIXES as PARQUET, read_parquet_table
from .tables.text import SUFFIXES as TEXT, Table, read_csv


def load_trajectories(
    path: str | os.PathLike[str],
    *,
    features: Sequence[str] | None = None,
    only_successful: bool | None = None,
    env_states: bool | None = None,
    split: str | None = None,
    episode_column: str | None = None,
) -> Trajectories:
    """Read trajectories.

    Parameters
    ----------
    path : path
        .npz: `states` [sum, d] and `lengths` [N] (one trajectory without them), optional `names`
        [d] and `rate`, samples per second (Hz). .npy: [n, d], one trajectory.

        .csv, .tsv, .txt, .parquet: a table, with a header or without. Columns such as
        `episode_index`, `frame` and `time_s` separate trajectories and are left out. Times with
        even steps determine the rate (`tables/`).

        .h5, .hdf5: files of robomimic, MimicGen, Isaac Lab, robosuite, ManiSkill, ALOHA, D4RL or
        Minari, which are recognised by their content (`hdf5/`).

        A folder: a LeRobot data set (`lerobot/`), a Minari data set, or files of ALOHA, one for
        each episode.
    features : sequence of str, optional
        For a LeRobot data set: features of numbers, side by side, as in ["observation.state",
        "action"]; `observation.state` unless given. For an HDF5 file: names of arrays, as
        ["robot0_eef_pos", "object"], ["states"] or ["qpos", "qvel"]; observations unless given.
    only_successful : bool, optional
        For a ManiSkill file: leave out episodes whose last step is no success (True unless given);
        all are kept if none has the flag.
    env_states : bool, optional
        For a ManiSkill file: read states of the simulation even if there are observations (False
        unless given).
    split : str, optional
        For a file of robomimic or Isaac Lab: name of a list of demonstrations in `mask`, as
        "train"; all unless given.
    episode_column : str, optional
        For a table: name of the column that separates trajectories: a label, or a counter or time
        that restarts with each. "none" if all rows are of one trajectory. Recognised by its name
        unless given (`episode`, `traj_id`, `Demo`, `run`, ...).

    Returns
    -------
    Trajectories
        Their `rate` (Hz) is None if it is not in the file. `episodes` are the names of the
        trajectories in the file, and `notes` are sentences about what was left out.

    Raises
    ------
    InputError
        The file is missing, damaged, pickled or of another kind. Its arrays do not fit together, or
        have NaN or infinite values. A counter or clock of a table indicates several trajectories
        that no column names. An option is for another kind of file. The message names the file and
        the remedy.
    """
    path = Path(path)
    kind = kind_of(path)
    for name, value, kinds, what in (
        (
            "features",
            features,
            (LEROBOT, ROBOMIMIC, ISAACLAB, MANISKILL, ALOHA, D4RL, MINARI),
            "a LeRobot data set or an HDF5 file",
        ),
        ("only_successful", only_successful, (MANISKILL,), "a ManiSkill file (.h5)"),
        ("env_states", env_states, (MANISKILL,), "a ManiSkill file (.h5)"),
        (
            "split",
            split,
            (ROBOMIMIC, ISAACLAB),
            "a file of robomimic, MimicGen or Isaac Lab (.hdf5)",
        ),
        ("episode_column", episode_column, (TABLE,), "a table (.csv, .parquet)"),
    ):
        if value is not None and kind not in kinds:
            raise InputError(f"{name} is for {what}, and {path} is none: leave it out")
    if kind == MANISKILL:
        return read_maniskill(path, only_successful is not False, bool(env_states), features)
    if kind in (ROBOMIMIC, ISAACLAB):
        return read_robomimic(path, split, features)
    if kind in (ALOHA, D4RL, MINARI):
        return {ALOHA: read_aloha, D4RL: read_d4rl, MINARI: read_minari}[kind](path, features)
    if kind == TABLE and path.is_dir():
        raise InputError(
            f"{path} cannot be read: it is a folder, and none of LeRobot, Minari or ALOHA's .hdf5 "
            "files: pass one, or a file"
        )
    if kind == LEROBOT:
        return read_lerobot(path, features)
    return _read_table(path, episode_column)


def _read_table(path: Path, episode_column: str | None) -> Trajectories:
    """Trajectories in a table, or in an .npz or .npy file."""
    read = _table_reader(path)
    if read is not None:
        table = read(path, label_columns(episode_column))
        try:
            return as_demonstrations(table, episode_column)
        except InputError as error:
            raise InputError(f"{path}: {error}") from error
    if episode_column is not None:
        raise InputError(
            f"episode_column is for a table (.csv, .parquet), and {path} is none: leave it out"
        )
    arrays = read_numpy(path, only=("states", "lengths", "names", "rate"))
    if "states" not in arrays:
        raise InputError(f"{path} has no array `states` [sum(lengths), d]: add it")
    states, rate = arrays["states"], None
    names = tuple(str(name) for name in np.atleast_1d(arrays.get("names", ())))
    if "rate" in arrays:
        if arrays["rate"].ndim:
            raise InputError(
                f"{path}: rate has shape {arrays['rate'].shape}: store one number, samples per "
                "second (Hz), or leave it out"
            )
        rate = arrays["rate"].item()
    if states.dtype.kind not in "buif":
        raise InputError(
            f"{path}: states have shape {states.shape}, dtype {states.dtype}: store numbers [n, d]"
        )
    states = states[:, None] if states.ndim == 1 else states
    lengths = arrays.get("lengths", np.array([len(states)]))
    try:
        return Trajectories(states, lengths, names, rate)
    except InputError as error:
        raise InputError(f"{path}: {error}") from error


def _table_reader(path: Path) -> Callable[..., Table] | None:
    """The reader of a table; None for arrays of NumPy; InputError for other files."""
    suffix = path.suffix.lower()
    if suffix in TEXT:
        return read_csv
    if suffix in PARQUET:
        return read_parquet_table
    if suffix in (".npy", ".npz"):
        return None
    raise InputError(f"{path} is no {KNOWN} file: {known_way(path) or way_out(path)}")


def load_samples(
    path: str | os.PathLike[str], *, missing: bool = False
) -> tuple[NDArray[Any], tuple[str, ...]]:
    """Samples [n, d] of one variable, from .npy, a table, or an .npz with a single array; notes.

    All columns of a table are coordinates, except for an index that pandas wrote without a name.
    The notes name it, and columns that look like labels of demonstrations, counters or times.

    Parameters
    ----------
    path : path
    missing : bool
        Read the missing values of a table (blank rows, empty cells, NA and the like, nulls) as NaN
        instead of refusing them; for `drop_missing`.

    Raises
    ------
    InputError
        As in `load_trajectories`; but the estimator checks the numbers.
    """
    path = Path(path)
    read = _table_reader(path)
    if read is not None:
        table = read(path, lambda name: False, missing)
        try:
            values, notes = as_sample(table)
        except InputError as error:
            raise InputError(f"{path}: {error}") from error
        return values, tuple(f"{path}: {note}" for note in notes)
    arrays = read_numpy(path)
    if len(arrays) != 1:
        raise InputError(f"{path} has {sorted(arrays)}: pass a file with one array [n, d]")
    return next(iter(arrays.values())), ()


class Pairs(NamedTuple):
    """Samples of two variables.

    Attributes
    ----------
    x, y : [n, dx], [n, dy]
    dropped : int
        Pairs that were left out because a value is missing.
    notes : tuple of str
        Sentences about what was left out of the files, or is ambiguous in them.
    """

    x: NDArray[Any]
    y: NDArray[Any]
    dropped: int
    notes: tuple[str, ...]


def load_pairs(
    x_path: str | os.PathLike[str], y_path: str | os.PathLike[str], *, drop_missing: bool = False
) -> Pairs:
    """Samples of two variables.

    Parameters
    ----------
    x_path, y_path : path
        As in `load_samples`, row by row.
    drop_missing : bool
        Leave out pairs in which a value of either side is missing, instead of refusing the files.

    Raises
    ------
    InputError
        As in `load_samples`; or values are missing and the sides have different numbers of samples,
        so that pairs cannot be formed.
    """
    (x, about_x), (y, about_y) = (load_samples(p, missing=drop_missing) for p in (x_path, y_path))
    notes = (*about_x, *(note for note in about_y if note not in about_x))
    if not drop_missing:
        return Pairs(x, y, 0, notes)
    if x.shape[:1] != y.shape[:1] or not x.ndim:
        raise InputError(f"x has shape {x.shape} and y {y.shape}: pass pairs, as many of each")
    complete = np.ones(len(x), bool)
    for side in (x, y):
        if side.dtype.kind == "f":
            complete &= ~np.isnan(side.reshape(len(side), -1)).any(axis=1)
    return Pairs(x[complete], y[complete], int((~complete).sum()), notes)
