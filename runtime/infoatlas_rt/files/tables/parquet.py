"""Tables of numbers in .parquet files, as pandas, polars and LeRobot write them."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...errors import InputError
from ...inputs.arrays import Reals, as_reals, merge
from ..lerobot.frames import require_pyarrow
from ..numbers import LARGEST, check_regular
from .text import Table

SUFFIXES = (".parquet", ".pq")
_UNITS = {"s": 1.0, "ms": 1e-3, "us": 1e-6, "ns": 1e-9}


def read_parquet_table(path: Path, is_label: Callable[[str], bool], missing: bool = False) -> Table:
    """Columns of a .parquet file.

    Numbers are columns, and lists of one length are as many columns (`name.0`, `name.1`). Dates and
    durations are whole numbers of their unit. Text, images and other types are left out.

    Parameters
    ----------
    path : Path
    is_label : function of a name
        Whether a column of this name is read as text.
    missing : bool
        Read nulls as NaN.

    Raises
    ------
    InputError
        pyarrow is not installed; the file is missing or damaged, has no column of numbers, lists of
        different lengths, or nulls without `missing`.
    """
    check_regular(path)
    pyarrow, parquet = require_pyarrow(path)
    try:
        with parquet.ParquetFile(path) as opened:
            about = opened.metadata
            groups = [about.row_group(i) for i in range(about.num_row_groups)]
            schema = opened.schema_arrow
            wanted = [
                field for field in schema if is_label(field.name) or _is_number(field.type, pyarrow)
            ]
            names = [field.name for field in wanted]
            other = [f"{f.name} ({_short(f.type)})" for f in schema if f not in wanted]
            if len(set(names)) < len(names):
                raise InputError(f"{path}: two columns have one name: rename one")
            # The elements of lists count, too, so that a false size in the file needs no memory.
            if sum(_count(group, name) for group in groups for name in names) > LARGEST:
                raise InputError(f"{path}: more than {LARGEST} numbers: save a part of them")
            read = _Columns(path, pyarrow, missing)
            table = opened.read(names)
            labels = {}
            for field in wanted:
                column = table.column(field.name)
                if is_label(field.name):
                    labels[field.name] = read.text(field.name, column)
                else:
                    read.add(field.name, column)
    except InputError:
        raise
    # Damaged names are not UTF-8, and damaged lists do not fit together.
    except (OSError, ValueError, pyarrow.ArrowException) as error:
        what = str(error).splitlines()[0] if str(error) else type(error).__name__
        raise InputError(f"{path} cannot be read ({what}): save it again") from error
    notes = (f"Left out: {', '.join(other)} (no numbers).",) if other else ()
    return read.table(labels, notes)


class _Columns:
    """Columns of numbers, side by side."""

    def __init__(self, path: Path, pyarrow: Any, missing: bool) -> None:
        self.path, self._pyarrow, self._missing = path, pyarrow, missing
        self._names: list[str] = []
        self._high: list[NDArray[np.float64]] = []
        self._low: list[NDArray[np.float64] | None] = []
        self._clocks: dict[int, float] = {}
        self._flags: list[int] = []

    def add(self, name: str, column: Any) -> None:
        """A column of numbers or of lists of them."""
        types, values = self._pyarrow.types, column.combine_chunks()
        first = len(self._names)
        width = 1
        if _is_list(values.type, types):
            lengths = values.value_lengths().unique()
            if values.null_count or len(lengths) != 1 or not lengths[0].as_py():
                raise InputError(
                    f"{self.path}: {name!r} has rows of different lengths, or none: fill them, or "
                    "remove that column"
                )
            width, values = lengths[0].as_py(), values.flatten()
        gone = np.asarray(values.is_null())
        if gone.any() and not self._missing:
            raise InputError(
                f"{self.path}, row {int(gone.argmax()) // width}: {name!r} is null, a missing "
                "value: fill it, or remove the row (and its partner in the other file, which "
                "--drop-missing of `estimate` and `test` does)"
            )
        kind = values.type
        if types.is_timestamp(kind) or types.is_duration(kind):
            self._clocks.update({first + i: _UNITS[kind.unit] for i in range(width)})
            values = values.cast(self._pyarrow.int64())
        elif types.is_boolean(kind):
            self._flags += range(first, first + width)
            values = values.cast(self._pyarrow.uint8())
        elif types.is_decimal(kind):
            values = values.cast(self._pyarrow.float64())
        if gone.any():  # with nulls, integers would become floats
            values = values.fill_null(0)
        reals = as_reals(np.asarray(values.to_numpy(zero_copy_only=False)), name)
        high = np.where(gone, np.nan, reals.high).reshape(-1, width)
        low = None if reals.low is None else np.where(gone, 0, reals.low).reshape(-1, width)
        self._high.append(high)
        self._low.append(low)
        self._names += [name] if width == 1 else [f"{name}.{i}" for i in range(width)]

    def text(self, name: str, column: Any) -> list[str]:
        """A column of labels."""
        if column.null_count:
            raise InputError(f"{self.path}: {name!r} has {column.null_count} nulls: fill them")
        if len(column) > LARGEST // 8:  # a string counts as 8 numbers
            raise InputError(f"{self.path}: more than {LARGEST // 8} rows: save a part of them")
        values = column.to_pylist()
        return [str(v[0] if isinstance(v, list) and len(v) == 1 else v) for v in values]

    def table(self, labels: dict[str, list[str]], notes: tuple[str, ...]) -> Table:
        if not self._high or not len(self._high[0]):
            raise InputError(f"{self.path}: no rows, or no columns of numbers: save a full table")
        low = None
        if any(part is not None for part in self._low):
            parts = zip(self._high, self._low, strict=True)
            low = np.hstack([np.zeros_like(h) if part is None else part for h, part in parts])
        values = merge(Reals(np.hstack(self._high), low))
        return Table(values, tuple(self._names), labels, self._clocks, tuple(self._flags), notes)


def _count(group: Any, name: str) -> int:
    """Number of numbers in a column, with the elements of lists, in a group of rows."""
    columns = (group.column(i) for i in range(group.num_columns))
    return sum(
        column.num_values
        for column in columns
        if column.path_in_schema == name or column.path_in_schema.startswith(f"{name}.")
    )


def _is_list(kind: Any, types: Any) -> bool:
    return bool(types.is_list(kind) or types.is_large_list(kind) or types.is_fixed_size_list(kind))


def _is_number(kind: Any, pyarrow: Any) -> bool:
    """Whether a type is of numbers, times, truth values, or of lists of them."""
    types = pyarrow.types
    kind = kind.value_type if _is_list(kind, types) else kind
    return any(
        test(kind)
        for test in (
            types.is_integer,
            types.is_floating,
            types.is_boolean,
            types.is_decimal,
            types.is_timestamp,
            types.is_duration,
        )
    )


def _short(kind: Any) -> str:
    return str(kind).partition("<")[0]
