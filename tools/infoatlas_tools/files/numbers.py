"""Arrays from .npy and .npz files, checked before they are read."""

import json
import math
import stat
import warnings
from pathlib import Path
from typing import IO, Any
from zipfile import ZipFile, ZipInfo

import numpy as np
from numpy.typing import NDArray

from infoatlas_rt.errors import InputError

from ..trajectories import Trajectories
from .rates import stated_rate

LARGEST = 10**8  # numbers in a file (0.8 GB): a small archive can expand to any number of zeros
LONGEST_HEADER = 10_000  # bytes, of an .npy
POINTER = b"version https://git-lfs"
NUMPY_SUFFIXES = (".npy", ".npz")


def check_regular(path: Path) -> int:
    """Size of a file, in bytes; InputError if it cannot be read, or is a pointer of Git LFS."""
    try:
        found = path.stat()
    except FileNotFoundError as error:
        raise InputError(f"{path} does not exist: check the path") from error
    except (OSError, ValueError) as error:
        raise InputError(f"{path} cannot be read ({error}): check the path") from error
    if not (stat.S_ISREG(found.st_mode) or stat.S_ISDIR(found.st_mode)):
        raise InputError(f"{path} is a pipe or a device: save what it gives to a file")
    if is_pointer(path):
        raise InputError(f"{path} is a pointer of Git LFS, not the file itself: run git lfs pull")
    return found.st_size


def is_pointer(path: Path) -> bool:
    """Whether a file is a pointer of Git LFS to one that was not downloaded."""
    try:
        with path.open("rb") as file:
            return file.read(len(POINTER)) == POINTER
    except OSError:  # a folder; other errors are raised when the file is opened
        return False


def read_json(path: Path) -> Any:
    """The content of a file of JSON that the data do not depend on; None if it cannot be read."""
    try:
        return json.loads(path.read_text(encoding="utf-8-sig")) if path.is_file() else None
    except (OSError, ValueError, RecursionError):
        return None


def read_arrays(path: Path) -> Trajectories:
    """Trajectories in an .npz or .npy file, as in `load_trajectories`."""
    arrays = read_numpy(path, only=("states", "lengths", "names", "rate"))
    if "states" not in arrays:
        raise InputError(f"{path} has no array `states` [sum(lengths), d]: add it")
    states, rate, notes = arrays["states"], None, list[str]()
    names = tuple(str(name) for name in np.atleast_1d(arrays.get("names", ())))
    if "rate" in arrays:
        if arrays["rate"].ndim:
            raise InputError(
                f"{path}: rate has shape {arrays['rate'].shape}: store one number, samples per "
                "second (Hz), or leave it out"
            )
        rate = arrays["rate"].item()
        if arrays["rate"].dtype.kind in "iuf" and stated_rate(rate) is None:
            notes.append(f"No rate: the file has {rate} Hz.")
            rate = None
    if states.dtype.kind not in "buif":
        raise InputError(
            f"{path}: states have shape {states.shape}, dtype {states.dtype}: store numbers [n, d]"
        )
    states = states[:, None] if states.ndim == 1 else states
    lengths = arrays.get("lengths", np.array([len(states)]))
    try:
        return Trajectories(states, lengths, names, rate, notes=tuple(notes))
    except InputError as error:
        raise InputError(f"{path}: {error}") from error


def read_numpy(path: Path, only: tuple[str, ...] | None = None) -> dict[str, NDArray[Any]]:
    """Arrays of an .npz (all, or those in `only`), or that of an .npy as `states`.

    Sizes are checked before any array is loaded, so that a false size in the file needs no memory.
    """
    size = check_regular(path)
    try:
        with path.open("rb") as file, warnings.catch_warnings():
            warnings.simplefilter("ignore")  # about headers that Python 2 wrote
            if file.read(2) != b"PK":
                return {"states": _read_array(file, size)}
            with ZipFile(file) as archive:
                members = {info.filename.removesuffix(".npy"): info for info in archive.infolist()}
                names = members if only is None else set(only) & set(members)
                return {name: _read_member(archive, members[name]) for name in names}
    except InputError as error:
        raise InputError(f"{path}: {error}") from error
    # The parser of headers, that of archives and three decompressors raise different errors.
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
