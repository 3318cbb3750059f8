"""Arrays from .npy and .npz files and tables from .csv files, checked before they are read."""

from __future__ import annotations

import csv
import math
import stat
import warnings
from array import array
from collections.abc import Iterator
from pathlib import Path
from typing import IO, Any
from zipfile import ZipFile, ZipInfo

import numpy as np
from numpy.typing import NDArray

from ..errors import InputError
from ..inputs.arrays import EXACT, Reals, merge

EPISODE = "episode"  # the CSV column that separates trajectories
MISSING = frozenset({"", "na", "n/a", "nan", "null", "none", "-", "?"})  # in lower case
LARGEST = 10**8  # numbers in a file (0.8 GB): a small archive can hold any number of zeros
LONGEST_LINE = 10**7  # characters
LONGEST_HEADER = 10_000  # bytes, of an .npy


def check_regular(path: Path) -> int:
    """Size of a file, in bytes.

    Raises
    ------
    InputError
        It is missing, or a pipe or device, which may never end.
    """
    try:
        found = path.stat()
    except FileNotFoundError as error:
        raise InputError(f"{path} does not exist: check the path") from error
    except (OSError, ValueError) as error:
        raise InputError(f"{path} cannot be read ({error}): check the path") from error
    if not (stat.S_ISREG(found.st_mode) or stat.S_ISDIR(found.st_mode)):
        raise InputError(f"{path} is a pipe or a device: save what it gives to a file")
    return found.st_size


def read_numpy(path: Path, only: tuple[str, ...] | None = None) -> dict[str, NDArray[Any]]:
    """Arrays of an .npz (all, or `only` some), or the one of an .npy as `states`.

    Sizes are checked before anything is read, so what a file claims to hold costs no memory.

    Raises
    ------
    InputError
        The file is missing, damaged, encrypted, pickled, too large or of another kind.
    """
    if path.suffix not in (".npy", ".npz"):
        raise InputError(f"{path} is no .npy, .npz or .csv file: convert it to one of them")
    size = check_regular(path)
    try:
        with path.open("rb") as file, warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of headers that Python 2 wrote
            if file.read(2) != b"PK":
                return {"states": _read_array(file, size)}
            with ZipFile(file) as archive:
                members = {info.filename.removesuffix(".npy"): info for info in archive.infolist()}
                names = members if only is None else set(only) & set(members)
                return {name: _read_member(archive, members[name]) for name in names}
    except InputError as error:
        raise InputError(f"{path}: {error}") from error
    # NumPy's parser of headers, the archive's and three decompressors have errors of their own.
    except Exception as error:
        what = str(error).splitlines()[0] if str(error) else type(error).__name__
        hint = "save plain arrays, not objects" if "pickle" in what else "save it again"
        raise InputError(f"{path} cannot be read ({what}): {hint}") from error


def _read_member(archive: ZipFile, info: ZipInfo) -> NDArray[Any]:
    if info.flag_bits & 1:
        raise InputError(f"{info.filename} is encrypted: save it without a password")
    with archive.open(info) as file:
        return _read_array(file, info.file_size)


def _read_array(file: IO[bytes], size: int) -> NDArray[Any]:
    """An array in NumPy's format, from a file of `size` bytes."""
    file.seek(0)
    start = file.read(12)
    if not start.startswith(np.lib.format.MAGIC_PREFIX):
        raise ValueError("no array in NumPy's format")
    length = int.from_bytes(start[8:10] if start[6] == 1 else start[8:12], "little")
    if length > LONGEST_HEADER:
        raise ValueError(f"a header of {length} bytes, and {LONGEST_HEADER} are the most")
    file.seek(0)
    first = np.lib.format.read_magic(file) == (1, 0)
    read = np.lib.format.read_array_header_1_0 if first else np.lib.format.read_array_header_2_0
    shape, _, dtype = read(file)
    if dtype.hasobject:
        raise ValueError("objects, which would need pickle")
    if min(shape, default=0) < 0:
        raise ValueError(f"its header promises shape {shape}")
    count = math.prod(shape)
    if count > LARGEST or count * dtype.itemsize > 16 * LARGEST:
        raise InputError(f"{count} numbers are more than {LARGEST}: save a part of them")
    if file.tell() + count * dtype.itemsize != size:
        raise ValueError(f"its header promises shape {shape}, {dtype}, which is not its size")
    file.seek(0)
    return np.asarray(np.lib.format.read_array(file, allow_pickle=False))


def read_csv(
    path: Path, episodes: bool = True, missing: bool = False
) -> tuple[NDArray[np.float64], tuple[str, ...], NDArray[Any] | None]:
    """Numbers [n, d], names (empty without a header), and episodes of rows if given.

    Raises
    ------
    InputError
        The file is missing, no table of numbers, or holds missing values without `missing`.
    """
    check_regular(path)
    table = _Table(path, missing)
    try:
        with path.open(newline="", encoding="utf-8-sig") as file:
            rows = csv.reader(_lines(file, path))
            for row in rows:
                table.add(row, rows.line_num, episodes)
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        raise InputError(f"{path} cannot be read ({error}): save it as UTF-8 text") from error
    if not len(table.values):
        raise InputError(f"{path}: no rows, or no columns: save a full table")
    high = np.array(table.values).reshape(-1, table.width)
    low = np.zeros_like(high)
    for at, number in table.large.items():
        low.flat[at] = float(number - int(high.flat[at]))
    which = np.array(table.episodes) if table.episodes else None
    return merge(Reals(high, low)), table.names, which


class _Table:
    """The rows of a CSV file as they come in: 8 bytes a number."""

    def __init__(self, path: Path, missing: bool) -> None:
        self.path, self.missing = path, missing
        self.names: tuple[str, ...] = ()
        self.width = 0  # without the column of episodes
        self.values = array("d")
        self.large: dict[int, int] = {}  # integers that floats round, by place
        self.episodes: list[str] = []
        self._column: int | None = None  # of the episodes
        self._blank: list[int] = []  # lines; at the end of a file they are nothing

    def add(self, row: list[str], line: int, episodes: bool) -> None:
        if not row:
            self._blank.append(line)
            return
        cells = [cell.strip() for cell in row]
        if not self.width and not self._blank and _is_header(cells):
            if episodes and EPISODE in cells:
                self._column = cells.index(EPISODE)
            self.names = tuple(c for i, c in enumerate(cells) if i != self._column)
            self.width = len(self.names)
            return
        self.width = self.width or len(cells)
        for blank in self._blank:
            if not self.missing or self._column is not None:
                raise self._fault("the row is blank", blank)
            self.values.extend([np.nan] * self.width)
        self._blank.clear()
        if len(cells) != self.width + (self._column is not None):
            raise InputError(
                f"{self.path}, line {line}: rows of different length ({len(cells)} cells): save a "
                "full table"
            )
        if self._column is not None:
            self.episodes.append(cells.pop(self._column))
        for cell in cells:
            self._add_number(cell, line)
        if len(self.values) > LARGEST:
            raise InputError(f"{self.path}: more than {LARGEST} numbers: save a part of them")

    def _add_number(self, cell: str, line: int) -> None:
        if cell.lower() in MISSING:
            if not self.missing:
                raise self._fault(f"{cell!r} is a missing value", line)
            self.values.append(np.nan)
            return
        if not _is_number(cell):
            raise InputError(
                f"{self.path}, line {line}: {cell!r} is no number: remove that row or column"
            )
        self.values.append(float(cell))
        if abs(self.values[-1]) > EXACT and cell.lstrip("+-").isdecimal():
            self.large[len(self.values) - 1] = int(cell)

    def _fault(self, what: str, line: int) -> InputError:
        return InputError(
            f"{self.path}, line {line}: {what}: fill it, or remove the row (and its partner in the "
            "other file, which --drop-missing of `estimate` and `test` does)"
        )


def _lines(file: IO[str], path: Path) -> Iterator[str]:
    """Lines of a text file, none longer than `LONGEST_LINE`."""
    while line := file.readline(LONGEST_LINE):
        if len(line) == LONGEST_LINE:
            raise InputError(f"{path} has a line of {LONGEST_LINE} characters: is it a CSV file?")
        yield line


def _is_header(cells: list[str]) -> bool:
    """Whether a first row is of names; numbers of columns may be among them, but no other ones."""
    words = [cell for cell in cells if not _is_number(cell) and cell.lower() not in MISSING]
    others = [cell for cell in cells if _is_number(cell)]
    return bool(words) and all(cell.isdecimal() for cell in others)


def _is_number(cell: str) -> bool:
    try:
        float(cell)
    except ValueError:
        return False
    return "_" not in cell  # 1_000 is for programs
