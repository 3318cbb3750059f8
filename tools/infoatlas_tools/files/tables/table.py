"""Columns of a table file as numbers, labels, clocks and flags."""

from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from infoatlas_rt.errors import InputError
from infoatlas_rt.inputs.arrays import as_shifted

from ...presentation import first_names
from ..numbers import LARGEST

SHOWN = 5  # columns in a note, at most
_UNITS = {"s": 1.0, "ms": 1e-3, "us": 1e-6, "ns": 1e-9}


class Table(NamedTuple):
    """Columns of a file."""

    values: NDArray[np.float64]  # [n, d], columns of numbers; a missing value is NaN
    names: tuple[str, ...]  # of the columns of numbers; empty without a header
    labels: dict[str, list[str]]  # columns that were requested as text, by name
    clocks: dict[int, float]  # columns of numbers whose type is a time, and their unit in seconds
    flags: tuple[int, ...]  # columns of numbers whose type is a truth value
    notes: tuple[str, ...]  # sentences about what was left out
    origins: dict[int, int]  # what `arrays.as_shifted` subtracted from columns of numbers


class Columns:
    """Collects the columns of a `Table`; `where` is the place of a row in the file, for errors.

    `missing`: missing values are NaN. If it is None, the rows are no pairs, and none is dropped.
    """

    def __init__(
        self, path: Path, missing: bool | None, where: Callable[[int], str] = "row {}".format
    ) -> None:
        self._path, self._missing, self._where = path, missing, where
        self._names: list[str] = []
        self._values: list[NDArray[np.float64]] = []
        self._origins: dict[int, int] = {}
        self._labels: dict[str, list[str]] = {}
        self._clocks: dict[int, float] = {}
        self._flags: list[int] = []
        self._empty: list[str] = []

    def add(self, name: str, column: Any) -> None:
        """A column of pyarrow with numbers or with lists of them."""
        from pyarrow import float64, int64, types, uint8

        values, width, first = column.combine_chunks(), 1, len(self._names)
        if is_list(values.type):
            lengths = values.value_lengths().unique()
            if values.null_count or len(lengths) != 1 or not lengths[0].as_py():
                raise InputError(
                    f"{self._path}: {name!r} has rows of different lengths, or none: fill them, or "
                    "remove that column"
                )
            width, values = lengths[0].as_py(), values.flatten()
        kind, gone = values.type, np.asarray(values.is_null())
        if gone.all():
            self._empty.append(repr(name) if name else "a column without a name")
            return
        if types.is_timestamp(kind) or types.is_duration(kind):
            self._clocks.update({first + i: _UNITS[kind.unit] for i in range(width)})
            values = values.cast(int64())
        elif types.is_boolean(kind):
            self._flags += range(first, first + width)
            values = values.cast(uint8())
        elif types.is_decimal(kind) or types.is_null(kind):
            values = values.cast(float64())
        if gone.any():  # with nulls, integers would become floats
            known = values.drop_null()
            values = values.fill_null(known[0] if len(known) else 0)
        array = np.asarray(values.to_numpy(zero_copy_only=False))
        self.add_numbers(name, array.reshape(-1, width), gone.reshape(-1, width))

    def add_numbers(self, name: str, values: NDArray[Any], gone: NDArray[np.bool_]) -> None:
        """Numbers [n, width]; some of them are missing."""
        first, width = len(self._names), values.shape[1]
        if gone.any() and not self._missing:
            way = "that row" if self._missing is None else "that pair (--drop-missing does)"
            way = "that column" if gone.mean() > 0.5 else way
            raise InputError(
                f"{self._path}, {self._where(int(gone.any(axis=1).argmax()))}: {name!r} is a "
                f"missing value: fill it, or remove {way}"
            )
        try:
            numbers, origins = as_shifted(values, repr(name))
        except InputError as error:
            raise InputError(f"{self._path}: {error}") from error
        self._values.append(np.where(gone, np.nan, numbers))
        self._origins.update({first + i: origin for i, origin in origins.items()})
        self._names += [name] if width == 1 else [f"{name}.{i}" for i in range(width)]

    def add_labels(self, name: str, column: Any) -> None:
        """A column of pyarrow with text."""
        if name in self._labels:
            raise InputError(f"{self._path}: two columns are called {name!r}: rename one")
        if len(column) > LARGEST // 8:  # a string counts as 8 numbers
            raise InputError(f"{self._path}: more than {LARGEST // 8} rows: save a part of them")
        values = column.to_pylist()
        if None in values:
            where = self._where(values.index(None))
            raise InputError(f"{self._path}, {where}: {name!r} is empty: fill it")
        self._labels[name] = [
            str(v[0] if isinstance(v, list) and len(v) == 1 else v) for v in values
        ]

    def table(self, notes: tuple[str, ...] = ()) -> Table:
        """All columns; InputError if there are no numbers."""
        if not self._values or not len(self._values[0]):
            raise InputError(f"{self._path}: no rows, or no columns of numbers: save a full table")
        if self._empty:
            notes = (*notes, f"Left out: {first_names(self._empty, SHOWN)} (empty).")
        values, names, flags = np.hstack(self._values), tuple(self._names), tuple(self._flags)
        return Table(values, names, self._labels, self._clocks, flags, notes, self._origins)


def is_list(kind: Any) -> bool:
    """Whether a type of pyarrow is one of lists."""
    from pyarrow import types

    return bool(types.is_list(kind) or types.is_large_list(kind) or types.is_fixed_size_list(kind))
