"""Opens HDF5 files with plain messages for errors, and makes copies for changes."""

import re
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from infoatlas_rt.errors import InputError, OutputError

from ...presentation import require
from ..numbers import check_regular

HDF5_SUFFIXES = (".hdf5", ".h5")


@contextmanager
def open_hdf5(path: Path) -> Iterator[tuple[Any, Any]]:
    """An open HDF5 file, and the package h5py."""
    check_regular(path)
    h5py = require("h5py", f"{path}: h5py reads it and", "datasets")
    try:
        with h5py.File(path, "r") as file:
            yield file, h5py
    # h5py has no error type for damage: any of these may be raised, depending on the bytes.
    except (OSError, RuntimeError, KeyError, ValueError, TypeError, MemoryError) as error:
        if isinstance(error, InputError | OutputError):
            raise
        what = " ".join(str(error).split()) or type(error).__name__
        raise InputError(f"{path} cannot be read ({what}): {_way_out(what)}") from error


def _way_out(what: str) -> str:
    if "signature not found" in what:
        return "it is no HDF5 file"
    if "lock file" in what:
        return "close the program that writes it"
    if "truncated" in what:
        return "its end is missing: copy it again, or record it again"
    if "filter" in what:
        return "store it with gzip, as h5repack -f GZIP=4 does"
    return "record it again"


def shown_name(name: str | bytes) -> str:
    """A name that can be printed: HDF5 allows any bytes in names."""
    content = name if isinstance(name, bytes) else name.encode("utf-8", "surrogateescape")
    return content.decode("utf-8", "backslashreplace")


def first_names(group: Any, count: int = 5) -> list[str]:
    """The first names in a group, for an error."""
    return [shown_name(name) for name in list(group)[:count]]


def sort_by_number(group: Any, pattern: re.Pattern[str]) -> list[str]:
    """Names in a group that match a pattern, in the order of their numbers."""
    names = [name for name in group if isinstance(name, str) and pattern.fullmatch(name)]
    return sorted(names, key=by_number)


def by_number(name: str) -> tuple[bool, int, str]:
    """Key for sorting: the last number in a name, then the name."""
    numbers = re.findall(r"[0-9]+", name)
    return not numbers, int(numbers[-1][:18]) if numbers else 0, name


@contextmanager
def changed_copy(path: Path, out: Path) -> Iterator[Any]:
    """A copy of an HDF5 file, open for changes."""
    import h5py

    try:
        shutil.copyfile(path, out)
        with h5py.File(out, "r+") as file:
            yield file
    except (OSError, RuntimeError) as error:
        if isinstance(error, OutputError):
            raise
        raise OutputError(f"{out} cannot be written ({error}): choose another place") from error
