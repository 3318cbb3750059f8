"""Reading recorded trajectories and samples from .npy, .npz and .csv files.

A simulator's flags (`is_grasped`, `success`, ...) are not read here but in `events.py`, and only to
be compared with: what `load_trajectories` returns has no room for them.
"""

from __future__ import annotations

import csv
import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from zipfile import BadZipFile

import numpy as np
from numpy.typing import NDArray

from .errors import InputError

EPISODE = "episode"  # the CSV column that tells trajectories apart


@dataclass(frozen=True, eq=False)
class Trajectories:
    """Recorded trajectories, end to end.

    Attributes
    ----------
    states : [sum(lengths), d] floating
    lengths : [N] int64
    names : tuple of str, d of them, or empty
        What each coordinate is.
    """

    states: NDArray[np.floating]
    lengths: NDArray[np.int64]
    names: tuple[str, ...] = ()


def load_trajectories(path: str | os.PathLike[str]) -> Trajectories:
    """Read trajectories.

    Parameters
    ----------
    path : path
        .npz: `states` [sum, d] and `lengths` [N] (one trajectory without them), optional `names`
        [d]. .npy: [n, d], one trajectory. .csv: numbers, with an optional header; a column
        called `episode` tells trajectories apart.

    Returns
    -------
    Trajectories

    Raises
    ------
    InputError
        The file is missing, damaged, pickled, of another kind, or its arrays do not fit together
        or hold NaN or infinite values. The message names the file and the way out.
    """
    path = Path(path)
    names: tuple[str, ...] = ()
    lengths: Any = None
    if path.suffix == ".csv":
        states, names, episodes = _read_csv(path)
        if episodes is not None:
            starts = np.flatnonzero(np.r_[True, episodes[1:] != episodes[:-1]])
            if len(np.unique(episodes)) != len(starts):
                raise InputError(f"{path}: rows of an episode are not together: sort them")
            lengths = np.diff(np.r_[starts, len(episodes)])
    else:
        arrays = read_numpy(path, only=("states", "lengths", "names"))
        if "states" not in arrays:
            raise InputError(f"{path} has no array `states` [sum(lengths), d]: add it")
        states = arrays["states"]
        lengths = arrays.get("lengths")
        names = tuple(str(name) for name in np.atleast_1d(arrays.get("names", ())))
    if states.ndim == 1:
        states = states[:, None]
    if states.ndim != 2 or states.size == 0 or states.dtype.kind not in "buif":
        raise InputError(
            f"{path}: states have shape {states.shape}, dtype {states.dtype}: store numbers [n, d]"
        )
    if states.dtype.kind != "f":
        states = states.astype(np.float64)
    bad = np.argwhere(~np.isfinite(states))
    if len(bad):
        row, column = bad[0]
        raise InputError(
            f"{path}: {len(bad)} states are NaN or infinite, the first at row {row}, column "
            f"{column}: cut those trajectories, or fill the gaps"
        )
    lengths = np.array([len(states)]) if lengths is None else np.asarray(lengths)
    if (
        lengths.ndim != 1
        or lengths.dtype.kind not in "ui"
        or (lengths < 1).any()
        or lengths.sum() != len(states)
    ):
        raise InputError(
            f"{path}: lengths {lengths.shape} {lengths.dtype} sum to {lengths.sum()}, but there "
            f"are {len(states)} states: store the steps of each trajectory, end to end"
        )
    if names and len(names) != states.shape[1]:
        raise InputError(
            f"{path}: {len(names)} names for {states.shape[1]} coordinates: store one for each"
        )
    return Trajectories(states, lengths.astype(np.int64), names)


def load_samples(path: str | os.PathLike[str]) -> NDArray[np.floating]:
    """Samples [n, d] of one variable, from .npy, .csv, or an .npz with a single array.

    Raises
    ------
    InputError
        As `load_trajectories`; whether the numbers can be used is the estimator's to say.
    """
    path = Path(path)
    if path.suffix == ".csv":
        return _read_csv(path, episodes=False)[0]
    arrays = read_numpy(path)
    if len(arrays) != 1:
        raise InputError(f"{path} has {sorted(arrays)}: pass a file with one array [n, d]")
    return next(iter(arrays.values()))


def read_numpy(path: Path, only: tuple[str, ...] | None = None) -> dict[str, NDArray[Any]]:
    """Arrays of an .npz (all, or `only` some), or the one of an .npy as `states`.

    Raises
    ------
    InputError
        The file is missing, damaged, pickled or of another kind.
    """
    if path.suffix not in (".npy", ".npz"):
        raise InputError(f"{path} is no .npy, .npz or .csv file: convert it to one of them")
    try:
        content = np.load(path, allow_pickle=False)
        if isinstance(content, np.ndarray):
            return {"states": content}
        with content:
            names = content.files if only is None else set(only) & set(content.files)
            return {name: content[name] for name in names}
    except FileNotFoundError as error:
        raise InputError(f"{path} does not exist: check the path") from error
    except (OSError, ValueError, EOFError, BadZipFile, KeyError) as error:
        hint = "save plain arrays, not objects" if "pickle" in str(error) else "save it again"
        raise InputError(f"{path} cannot be read ({error}): {hint}") from error


def _read_csv(
    path: Path, episodes: bool = True
) -> tuple[NDArray[np.float64], tuple[str, ...], NDArray[Any] | None]:
    """Numbers [n, d], names (empty without a header), and the episode of each row if told."""
    try:
        with path.open(newline="", encoding="utf-8-sig") as file:
            rows = [row for row in csv.reader(file) if row]
    except FileNotFoundError as error:
        raise InputError(f"{path} does not exist: check the path") from error
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        raise InputError(f"{path} cannot be read ({error}): save it as UTF-8 text") from error
    names: tuple[str, ...] = ()
    if rows and not all(_is_number(cell) for cell in rows[0]):
        names, rows = tuple(cell.strip() for cell in rows[0]), rows[1:]
    width = len(names) or len(rows[0]) if rows else 0
    if not rows or any(len(row) != width for row in rows):
        raise InputError(f"{path}: no rows, or rows of different length: save a full table")
    table = np.array(rows, dtype=object)
    which = None
    if episodes and EPISODE in names:
        column = names.index(EPISODE)
        which = table[:, column].astype(str)
        table = np.delete(table, column, axis=1)
        names = names[:column] + names[column + 1 :]
    for cell in table.flat:
        if not _is_number(cell):
            raise InputError(f"{path}: {cell!r} is no number: remove that row or column")
    return table.astype(np.float64), names, which


def _is_number(cell: str) -> bool:
    try:
        float(cell)
    except ValueError:
        return False
    return True
