"""Joins the files of a folder, one for each demonstration, as trajectories."""

from collections.abc import Callable
from pathlib import Path

import numpy as np

from infoatlas_rt.errors import InputError

from ..folder_entries import entries
from ..presentation import first_names
from ..trajectories import Stated, Trajectories
from .hdf5.opening import HDF5_SUFFIXES, by_number
from .numbers import LARGEST, NUMPY_SUFFIXES
from .rates import other_rates, rates_of
from .tables.table_formats import TABLES

# The kind of most files is read, of as many the first one: others may describe the demonstrations.
KINDS = (
    HDF5_SUFFIXES,
    *(table.suffixes for table in TABLES if not table.text),
    NUMPY_SUFFIXES,
    *(table.suffixes for table in TABLES if table.text),
)
SHOWN = 3  # files in a note, at most


def files_in(folder: Path) -> tuple[list[Path], list[Path]]:
    """Files of demonstrations in the order of their numbers, and files of other kinds."""
    try:
        files = [file for file in entries(folder) if not file.is_dir()]
    except OSError as error:
        raise InputError(f"{folder} cannot be read ({error}): check the path") from error
    files.sort(key=lambda file: by_number(file.stem))
    of_kinds = [[file for file in files if file.suffix.lower() in kind] for kind in KINDS]
    chosen = max(of_kinds, key=len)
    return chosen, [file for file in files if file not in chosen]


def read_folder(folder: Path, read: Callable[[Path], Trajectories]) -> Trajectories:
    """Trajectories of the files of a folder, each read by `read`; episodes have their names.

    InputError if a file cannot be read, contains several demonstrations, or has other columns than
    the first.
    """
    files, others = files_in(folder)
    parts: dict[str, Trajectories] = {}
    said: dict[str, list[str]] = {}
    for file in files:
        move = f"move it out of {folder}" if len(files) > 1 else "pass a folder of others"
        try:
            own = read(file)
        except InputError as error:
            raise InputError(f"{error}. If it is no demonstration, {move}") from error
        if len(own.lengths) > 1:
            raise InputError(f"{file} contains {len(own.lengths)} demonstrations: pass that file")
        if file.stem in parts:
            raise InputError(f"{folder} has two files {file.stem}: keep one of them")
        first = next(iter(parts.values()), own)
        if own.names != first.names or own.states.shape[1] != first.states.shape[1]:
            lacks = first_names((n for n in first.names if n not in own.names), SHOWN)
            more = first_names((n for n in own.names if n not in first.names), SHOWN)
            raise InputError(
                f"{file} has {own.states.shape[1]} columns and {files[0].name} "
                f"{first.states.shape[1]} (it lacks {lacks or 'none'} and adds {more or 'none'}): "
                f"store the same ones in the same order, or {move}"
            )
        parts[file.stem] = own
        if sum(each.states.size for each in parts.values()) > LARGEST:
            raise InputError(f"{folder}: more than {LARGEST} numbers: take a part of the files")
        for note in own.notes:
            note = note.replace(str(file), file.name).replace(" of demonstration 0", "")
            said.setdefault(note, []).append(file.stem)
    every = [*parts.values()]
    notes = [
        note if len(names) == len(every) else f"{first_names(names, SHOWN)}: {note}"
        for note, names in said.items()
    ]
    if others:
        names = first_names((file.name for file in others), SHOWN)
        notes.append(f"Set aside, because they are of another kind: {names}.")
    rates = {name: own.rate for name, own in parts.items()}
    for name, own in parts.items():
        if own.rate is None and own.times is not None:  # they jitter, or rows are lost
            rates |= rates_of(own.times, own.lengths, [name])
    usual, far = other_rates(rates)
    if far:
        notes.append(f"Files {far}: move them out of {folder}.")
    none = first_names((name for name, own in parts.items() if own.rate is None), SHOWN)
    if none and usual is not None:
        notes.append(f"No rate: {none} has none, and others {usual:.4g} Hz: pass the rate.")
    return Trajectories(
        np.concatenate([each.states for each in every]),
        np.concatenate([each.lengths for each in every]),
        every[0].names,
        None if far or none else usual,
        tuple(parts),
        tuple(notes),
        times=None
        if all(own.times is None for own in every)
        else np.concatenate([own.seconds(0)[:-1] for own in every]),
        stated=tuple(next(iter(each.stated), Stated()) for each in every),
    )
