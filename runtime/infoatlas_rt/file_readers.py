"""Reading recorded trajectories and samples from .npy, .npz and .csv files.

A simulator's flags (`is_grasped`, `success`, ...) are not read here but in `events.py`, and only to
be compared with: what `load_trajectories` returns has no room for them.
"""

from __future__ import annotations

import csv
import math
import os
import stat
import warnings
from array import array
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any
from zipfile import ZipFile, ZipInfo

import numpy as np
from numpy.typing import NDArray

from .errors import InputError
from .inputs import EXACT, Reals, as_lengths, as_reals, merge

EPISODE = "episode"  # the CSV column that tells trajectories apart
MISSING = frozenset({"", "na", "n/a", "nan", "null", "none", "-", "?"})  # in lower case
LARGEST = 10**8  # numbers in a file (0.8 GB): a small archive can hold any number of zeros
LONGEST_LINE = 10**7  # characters
LONGEST_HEADER = 10_000  # bytes, of an .npy


@dataclass(frozen=True, eq=False)
class Trajectories:
    """Recorded trajectories, end to end.

    Parameters
    ----------
    states : array-like [sum(lengths), d]
        Real numbers; kept as they are if they are an array of floats. Integers that float64 would
        round are moved (see `inputs.merge`).
    lengths : array-like [N] int
    names : sequence of str, d of them, or empty
        What each coordinate is.

    Raises
    ------
    InputError
        They do not fit together, or states are no numbers, masked, NaN or infinite.
    """

    states: NDArray[np.floating]
    lengths: NDArray[np.int64]
    names: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        given = self.states
        states = as_reals(given, "states")
        high = states.high
        if high.ndim != 2 or high.size == 0:
            raise InputError(f"states have shape {high.shape}: store numbers [n, d]")
        bad = np.argwhere(~np.isfinite(high))
        if len(bad):
            row, column = bad[0]
            raise InputError(
                f"{len(bad)} states are NaN, masked or infinite, the first at row {row}, column "
                f"{column}: cut those trajectories, or fill the gaps"
            )
        lengths, names = as_lengths(self.lengths, len(high)), self.names
        if not isinstance(names, list | tuple):
            raise InputError(f"names are {names!r}: pass a tuple of str, or none at all: ()")
        if names and len(names) != high.shape[1]:
            raise InputError(
                f"{len(names)} names for {high.shape[1]} coordinates: store one for each"
            )
        short = type(given) is np.ndarray and given.dtype in (np.float16, np.float32)
        object.__setattr__(self, "states", given if short else merge(states))
        object.__setattr__(self, "lengths", lengths)
        object.__setattr__(self, "names", tuple(names))


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
    if states.dtype.kind not in "buif":
        raise InputError(
            f"{path}: states have shape {states.shape}, dtype {states.dtype}: store numbers [n, d]"
        )
    states = states[:, None] if states.ndim == 1 else states
    try:
        lengths = np.array([len(states)]) if lengths is None else lengths
        return Trajectories(states, lengths, names)
    except InputError as error:
        raise InputError(f"{path}: {error}") from error


def load_samples(path: str | os.PathLike[str], *, missing: bool = False) -> NDArray[Any]:
    """Samples [n, d] of one variable, from .npy, .csv, or an .npz with a single array.

    Parameters
    ----------
    path : path
    missing : bool
        Read missing values (NaN, and in a .csv blank rows, empty cells, NA and the like) as NaN
        instead of refusing those of a .csv: for `drop_missing`.

    Raises
    ------
    InputError
        As `load_trajectories`; whether the numbers can be used is the estimator's to say.
    """
    path = Path(path)
    if path.suffix == ".csv":
        return _read_csv(path, episodes=False, missing=missing)[0]
    arrays = read_numpy(path)
    if len(arrays) != 1:
        raise InputError(f"{path} has {sorted(arrays)}: pass a file with one array [n, d]")
    return next(iter(arrays.values()))


def load_pairs(
    x_path: str | os.PathLike[str], y_path: str | os.PathLike[str], *, drop_missing: bool = False
) -> tuple[NDArray[Any], NDArray[Any], int]:
    """Samples of two variables, and how many pairs were dropped because a value is missing.

    Parameters
    ----------
    x_path, y_path : path
        As in `load_samples`, row by row.
    drop_missing : bool
        Leave out pairs in which a value of either side is missing, instead of refusing the files.

    Returns
    -------
    x, y : [n, dx], [n, dy]
    dropped : int

    Raises
    ------
    InputError
        As `load_samples`; or values are missing and there are not as many samples of each side, so
        which of them are pairs is not known.
    """
    x, y = (load_samples(path, missing=drop_missing) for path in (x_path, y_path))
    if not drop_missing:
        return x, y, 0
    if x.shape[:1] != y.shape[:1] or not x.ndim:
        raise InputError(f"x has shape {x.shape} and y {y.shape}: pass pairs, as many of each")
    there = np.ones(len(x), bool)
    for side in (x, y):
        if side.dtype.kind == "f":
            there &= ~np.isnan(side.reshape(len(side), -1)).any(axis=1)
    return x[there], y[there], int((~there).sum())


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


def _read_csv(
    path: Path, episodes: bool = True, missing: bool = False
) -> tuple[NDArray[np.float64], tuple[str, ...], NDArray[Any] | None]:
    """Numbers [n, d], names (empty without a header), and the episode of each row if told."""
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
