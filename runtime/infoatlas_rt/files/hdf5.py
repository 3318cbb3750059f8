"""HDF5 files, opened with reasons in plain words, and copies of them that are changed."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from ..errors import InputError, OutputError
from .numbers import check_regular


@contextmanager
def opened(path: Path) -> Iterator[tuple[Any, Any]]:
    """An HDF5 file, open for reading, and the package h5py.

    Raises
    ------
    InputError
        h5py is not installed; or the file is missing or damaged, which may show while it is read.
    """
    check_regular(path)
    try:
        import h5py
    except ImportError as error:
        raise InputError(
            f"{path}: h5py reads it and is not installed: pip install 'infoatlas-rt[datasets]'"
        ) from error
    try:
        with h5py.File(path, "r") as file:
            yield file, h5py
    except (OSError, RuntimeError, KeyError, UnicodeDecodeError) as error:  # of h5py, on damage
        if isinstance(error, InputError | OutputError):
            raise
        raise InputError(f"{path} cannot be read ({error}): record it again") from error


@contextmanager
def changed_copy(path: Path, out: Path) -> Iterator[Any]:
    """A copy of an HDF5 file that can be read, open for changes.

    Raises
    ------
    OutputError
        It cannot be written.
    """
    import h5py

    try:
        shutil.copyfile(path, out)
        with h5py.File(out, "r+") as file:
            yield file
    except (OSError, RuntimeError) as error:
        if isinstance(error, OutputError):
            raise
        raise OutputError(f"{out} cannot be written ({error}): choose another place") from error
