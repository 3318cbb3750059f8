"""Tables of a LeRobot data set: files of frames, and their columns as arrays of numbers."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from infoatlas_rt.errors import InputError

from ...presentation import require
from ..numbers import LARGEST, check_regular

Int = NDArray[np.int64]
EPISODE, FRAME, TIME = "episode_index", "frame_index", "timestamp"
TASK, SUCCESS = "task_index", ("next.success", "success")


class Frames(NamedTuple):
    """Rows of a file, or of all files."""

    values: list[NDArray[Any]]  # of each feature [n, d]
    missing: NDArray[np.bool_]  # [n, features]: null
    episodes: Int  # [n]
    frames: Int  # [n]
    times: NDArray[np.float64]  # [n] s, NaN where there are none
    tasks: NDArray[np.float64]  # [n] numbers of tasks, NaN where there are none
    success: NDArray[np.float64]  # [n] 0 or 1, NaN where there is none


def read_parquet(
    file: Path,
    columns: Sequence[str] | None = None,
    most: int | None = None,
    also: Sequence[str] = (),
) -> Any:
    """A table of some columns, or of all; `also` names more, which are read if they are there."""
    with opened_parquet(file) as opened:
        names = opened.schema_arrow.names
        check_columns(names, columns or (), file)
        if most is not None and opened.metadata.num_rows > most:
            raise InputError(
                f"{file}: more than {LARGEST} numbers in the data set: take a part of the episodes"
            )
        if columns is not None:
            columns = [*columns, *(n for n in also if n in names and n not in columns)]
        return opened.read(columns)


@contextmanager
def opened_parquet(file: Path, way_out: str = "load the data set again") -> Iterator[Any]:
    """An open .parquet file; errors of it become an InputError with this way out."""
    check_regular(file)
    pyarrow, parquet = require_pyarrow(file)
    try:
        with parquet.ParquetFile(file) as opened:
            yield opened
    except InputError:
        raise
    # Damaged names are not UTF-8, and damaged lists do not fit together.
    except (OSError, KeyError, ValueError, MemoryError, pyarrow.ArrowException) as error:
        what = str(error).splitlines()[0] if str(error) else type(error).__name__
        raise InputError(f"{file} cannot be read ({what}): {way_out}") from error


def check_columns(names: Sequence[str], wanted: Sequence[str], file: Path) -> None:
    """Raise InputError unless each column is there once."""
    missing = sorted(set(wanted) - set(names))
    repeated = sorted({name for name in wanted if names.count(name) > 1})
    if missing or repeated:
        what = f"has no column {', '.join(missing)}"
        if not missing:
            what = f"has several columns {', '.join(repeated)}"
        raise InputError(f"{file} {what}: load the data set again")


def require_pyarrow(path: Path) -> tuple[Any, Any]:
    """pyarrow and pyarrow.parquet; InputError if they are not installed."""
    what = f"{path}: pyarrow reads it and"
    parquet = require("pyarrow.parquet", what, "datasets")
    return require("pyarrow", what, "datasets"), parquet


def as_frames(table: Any, features: Sequence[str], timed: bool, file: Path) -> Frames:
    """Features of numbers, and the episode and frame of each row; `timed`: `timestamp`, too."""
    place = {name: counters(table, name, file) for name in (EPISODE, FRAME)}

    def where(row: int) -> str:
        return f"episode {place[EPISODE][row]}, frame {place[FRAME][row]}"

    values, missing = [], np.zeros((len(table), len(features)), bool)
    for i, feature in enumerate(features):
        numbers, missing[:, i] = _numbers(table.column(feature), f"{file}: {feature}", where)
        values.append(numbers)
    times = np.full(len(table), np.nan)
    if timed:
        found, gone = _numbers(table.column(TIME), f"{file}: {TIME}", where)
        if found.shape[1] == 1:
            times = np.where(gone, np.nan, found[:, 0].astype(np.float64))
    about = (_stated(table, (TASK,), file), _stated(table, SUCCESS, file))
    return Frames(values, missing, place[EPISODE], place[FRAME], times, *about)


def _stated(table: Any, names: Sequence[str], file: Path) -> NDArray[np.float64]:
    """Numbers [n] of the first of these columns that has one in each row; else NaN."""
    for name in names:
        if table.column_names.count(name) == 1:
            try:
                return scalars(table, name, file).astype(np.float64)
            except InputError:  # of another kind, as text
                continue
    return np.full(len(table), np.nan)


def counters(table: Any, name: str, file: Path) -> Int:
    """Whole numbers [n] of a column such as `episode_index`."""
    found = scalars(table, name, file)
    if found.dtype == np.int64:
        return found
    with np.errstate(invalid="ignore"):
        whole = found.astype(np.int64)
    if not (whole == found).all():
        raise InputError(
            f"{file}: {name} has numbers that are no integers: load the data set again"
        )
    return whole


def places_of(numbers: Int) -> Iterator[tuple[int, Int]]:
    """Each of the numbers [n], and the places [m] where it is."""
    order = np.argsort(numbers, kind="stable")
    for own in np.split(order, np.flatnonzero(np.diff(numbers[order])) + 1):
        if len(own):
            yield int(numbers[own[0]]), own


def scalars(table: Any, name: str, file: Path) -> NDArray[Any]:
    """Numbers [n] of a column; InputError if a row has none, or several."""
    found, missing = _numbers(table.column(name), f"{file}: {name}", "row {}".format)
    if not len(found):
        return np.zeros(0)
    if found.shape[1] != 1 or missing.any():
        raise InputError(f"{file}: {name} is not one number in each row: load the data set again")
    return np.asarray(found[:, 0])


def _numbers(column: Any, what: str, where: Any) -> tuple[NDArray[Any], NDArray[np.bool_]]:
    """Numbers [n, d] of a column of numbers or of (nested) lists, and whether rows are null [n].

    Lists are flattened. Null rows, and rows with a null in them, are 0.
    """
    if not column.null_count and column.type.num_fields == 0:  # a shortcut for the usual counters
        plain = _plain(column.combine_chunks())
        if plain.dtype.kind in "iuf":
            return plain[:, None], np.zeros(len(plain), bool)
    import pyarrow

    array = column.combine_chunks()
    rows = np.arange(len(array))
    while True:
        leaf, width, bad = _flatten(array, what, where, rows)
        if bad is None:
            break
        rows, array = rows[~bad], array.filter(pyarrow.array(~bad))
    missing = np.ones(len(column), bool)
    missing[rows] = False
    if not len(rows):
        return np.zeros((len(column), 0)), missing
    try:
        found = _plain(leaf)
    except (ValueError, TypeError, NotImplementedError):
        found = np.zeros(0, object)
    if found.dtype.kind not in "buif" or not width:
        kind = str(leaf.type) if width else "nothing"
        raise InputError(
            f"{what} contains {kind} and no numbers: pass other ones by --features NAME"
        )
    found = found.reshape(-1, width)
    found = found.astype(np.float32) if found.dtype.kind == "b" else found
    if not missing.any():
        return found, missing
    whole = np.zeros((len(column), width), found.dtype)
    whole[rows] = found
    return whole, missing


def _plain(array: Any) -> NDArray[Any]:
    """Values [n] of an array, without a copy if they are numbers and none is null."""
    from pyarrow.types import is_floating, is_integer

    plain = is_integer(array.type) or is_floating(array.type)
    if plain and not array.null_count and hasattr(np, "from_dlpack"):  # NumPy 1.23
        return np.asarray(np.from_dlpack(array))  # to_numpy imports pandas: half a second
    return np.asarray(array.to_numpy(zero_copy_only=False))


def _flatten(
    array: Any, what: str, where: Any, rows: Int
) -> tuple[Any, int, NDArray[np.bool_] | None]:
    """Numbers of an array of (nested) lists, their count in a row, and rows with a null in them."""
    count, width = len(array), 1
    while True:
        array = getattr(array, "storage", array)  # in an extension, such as Hugging Face's Array2D
        if array.null_count:
            null = np.asarray(array.is_null().to_numpy(zero_copy_only=False))
            return array, width, np.asarray(null.reshape(count, width).any(axis=1), np.bool_)
        if not hasattr(array, "flatten") or not hasattr(array.type, "value_type"):
            return array, width, None
        fixed = getattr(array.type, "list_size", None)
        sizes = np.diff(_plain(array.offsets)) if fixed is None else np.full(count, fixed)
        if len(sizes) and (sizes != sizes[0]).any():
            other = int((sizes != sizes[0]).argmax())
            raise InputError(
                f"{what} has {sizes[0]} numbers in {where(rows[0])} and {sizes[other]} in "
                f"{where(rows[other // width])}: store as many in each frame"
            )
        width *= int(sizes[0]) if len(sizes) else 1
        array = array.flatten()
