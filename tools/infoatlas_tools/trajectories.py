"""`Trajectories`: recorded trajectories of one robot or task, end to end."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from infoatlas_rt.errors import InputError
from infoatlas_rt.inputs.arrays import as_shifted, column_label, column_names, is_table, shift_notes
from infoatlas_rt.inputs.checks import as_rate, as_samples


@dataclass(frozen=True, eq=False)
class Trajectories:
    """Recorded trajectories, end to end.

    Parameters
    ----------
    states : array-like [sum(lengths), d]
        Real numbers; an array of floats is used as it is. A column with integers beyond 2^53 has
        its first value subtracted, so that differences are exact; a note names it.
    lengths : array-like [N] int
        Steps of each trajectory.
    names : sequence of str, d of them, or empty
        Names of the coordinates; by default the columns of a pandas DataFrame.
    rate : float, optional
        Samples per second (Hz) of all trajectories; None if unknown.
    episodes : sequence of str, N of them, or empty
        Names of the trajectories in the file that they are from.
    notes : sequence of str
        Sentences about what was decided or left out when they were read.

    Raises
    ------
    InputError
        The arguments do not fit together; states are not numbers, or are masked, NaN or infinite;
        or the rate is no finite number above 0.
    """

    states: NDArray[np.floating]
    lengths: NDArray[np.int64]
    names: tuple[str, ...] = ()
    rate: float | None = None
    episodes: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        given = self.states
        states, origins = as_shifted(given, "states")
        if states.ndim != 2 or states.size == 0:
            raise InputError(f"states have shape {states.shape}: store numbers [n, d]")
        bad = np.argwhere(~np.isfinite(states))
        if len(bad):
            row, column = bad[0]
            raise InputError(
                f"{len(bad)} states are NaN, masked or infinite, the first at row {row}, column "
                f"{column_label(given, int(column))}: cut those trajectories, or fill in these "
                "values"
            )
        lengths = as_lengths(self.lengths, len(states))
        names = column_names(given) if self.names == () else self.names
        if not isinstance(names, list | tuple):
            raise InputError(f"names are {names!r}: pass a tuple of str, or none at all: ()")
        if names and len(names) != states.shape[1]:
            raise InputError(
                f"{len(names)} names for {states.shape[1]} coordinates: store one for each"
            )
        if self.episodes and len(self.episodes) != len(lengths):
            raise InputError(
                f"{len(self.episodes)} episodes for {len(lengths)} trajectories: name each of them"
            )
        rate = None if self.rate is None else as_rate(self.rate, "rate")
        short = type(given) is np.ndarray and given.dtype in (np.float16, np.float32)
        object.__setattr__(self, "states", given if short else states)
        object.__setattr__(self, "lengths", lengths)
        object.__setattr__(self, "names", tuple(names))
        object.__setattr__(self, "rate", rate)
        object.__setattr__(self, "episodes", tuple(self.episodes))
        object.__setattr__(self, "notes", (*self.notes, *shift_notes(origins, names)))


def as_trajectories(values: Trajectories | Sequence[Any]) -> Trajectories:
    """Trajectories unchanged, or made from a sequence of arrays.

    Parameters
    ----------
    values : Trajectories, or sequence of [T_i, d] array-like
        Columns of pandas DataFrames give the coordinates their names. The rate of a sequence is
        unknown (None).

    Raises
    ------
    InputError
        There are no trajectories, their values cannot be used, or their coordinates differ.
    """
    if isinstance(values, Trajectories):
        return values
    if isinstance(values, str | os.PathLike):
        raise InputError(f"trajectories is the path {str(values)!r}: pass load_trajectories(path)")
    if is_table(values):
        raise InputError(
            "trajectories is one table: pass a list of tables, one for each trajectory, as in "
            "[t.drop(columns='episode') for _, t in table.groupby('episode')]"
        )
    if getattr(values, "ndim", 3) != 3:
        raise InputError(
            f"trajectories is one array of shape {np.shape(values)}: pass a list of [T, d] arrays, "
            "or Trajectories(states, lengths)"
        )
    try:
        given = list(values)
    except TypeError as error:
        raise InputError(f"trajectories cannot be iterated ({error}): pass a list") from error
    states = [as_samples(s, f"trajectory {i}", shift=False) for i, s in enumerate(given)]
    if not states:
        raise InputError("there are no trajectories: pass at least one [T, d] array")
    names = column_names(given[0])
    for i, s in enumerate(states):
        if s.shape[1] != states[0].shape[1]:
            raise InputError(
                f"trajectory {i} has {s.shape[1]} coordinates, trajectory 0 has "
                f"{states[0].shape[1]}: pass the same ones"
            )
        if column_names(given[i]) != names:
            raise InputError(
                f"trajectory {i} has the columns {column_names(given[i])}, trajectory 0 has "
                f"{names}: pass the same ones in the same order"
            )
    # The states are checked: `__post_init__` would check all of them again.
    made = object.__new__(Trajectories)
    object.__setattr__(made, "states", np.concatenate(states))
    object.__setattr__(made, "lengths", np.array([len(s) for s in states], np.int64))
    object.__setattr__(made, "names", names)
    for name, value in (("rate", None), ("episodes", ()), ("notes", ())):
        object.__setattr__(made, name, value)
    return made


def as_lengths(values: Any, total: int) -> NDArray[np.int64]:
    """Lengths of trajectories that lie end to end.

    Parameters
    ----------
    values : array-like [N] int
    total : int
        Number of states.

    Returns
    -------
    [N] int64, each at least 1

    Raises
    ------
    InputError
        Lengths are not integers, one is below 1, or their sum is not the number of states.
    """
    try:
        lengths = np.asarray(values)
    except Exception as error:
        raise InputError(f"lengths cannot be read as a NumPy array: {error}") from error
    kind = f"lengths {lengths.shape} {lengths.dtype}"
    way_out = "pass the steps of each trajectory, end to end"
    if lengths.ndim != 1 or lengths.dtype.kind not in "ui" or not lengths.size:
        raise InputError(f"{kind} are no list of integers: {way_out}")
    if lengths.min() < 1 or lengths.max() > total:
        raise InputError(
            f"{kind} are from {lengths.min()} to {lengths.max()}, but there are {total} states, "
            f"and each trajectory has one at least: {way_out}"
        )
    if lengths.sum() != total:
        raise InputError(f"lengths sum to {lengths.sum()}, but there are {total} states: {way_out}")
    return lengths.astype(np.int64)
