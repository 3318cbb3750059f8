"""Tables of numbers in text files (.csv, .tsv, .txt), in the dialects that programs write.

The separator (comma, semicolon, tab or space) is determined from the first rows. A comma within a
cell is a decimal comma if the rest of the file requires it. `columns.py` classifies the columns.
"""

from __future__ import annotations

import csv
import re
from array import array
from collections.abc import Callable, Iterator, Sequence
from itertools import chain
from pathlib import Path
from typing import IO, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ...errors import InputError
from ...inputs.arrays import EXACT, Reals, merge
from ..numbers import LARGEST, check_regular
from .dialects import (
    DECIMAL,
    LONGEST_LINE,
    MISSING,
    SEPARATORS,
    TRUTHS,
    beginning,
    is_header,
    is_number,
    looks_decimal,
    may_be_number,
    rows_of,
    separator_of,
)

SUFFIXES = (".csv", ".tsv", ".txt")
_THOUSANDS = re.compile(r"[+-]?[1-9]\d{0,2},\d{3}")  # or three decimals


class Table(NamedTuple):
    """Columns of a file.

    Attributes
    ----------
    values : [n, d] float64
        Columns of numbers; a missing value is NaN. Integers that float64 would round are shifted
        (`arrays.merge`).
    names : tuple of str, d of them, or empty
        Names of the columns of numbers; empty without a header.
    labels : dict of str to list of str, n of them
        Columns that were requested as text, by name.
    clocks : dict of int to float
        Columns of numbers whose type is a time, and their unit in seconds.
    flags : tuple of int
        Columns of numbers whose type is a truth value.
    notes : tuple of str
        Sentences about what was left out.
    """

    values: NDArray[np.float64]
    names: tuple[str, ...]
    labels: dict[str, list[str]]
    clocks: dict[int, float] = {}  # noqa: RUF012 (never written to)
    flags: tuple[int, ...] = ()
    notes: tuple[str, ...] = ()


def read_csv(path: Path, is_label: Callable[[str], bool], missing: bool = False) -> Table:
    """Columns of a text file.

    Parameters
    ----------
    path : Path
    is_label : function of a name
        Whether a column of this name is read as text.
    missing : bool
        Read missing values as NaN.

    Raises
    ------
    InputError
        The file is missing, is no table of numbers, has missing values without `missing`, or its
        numbers are ambiguous.
    """
    check_regular(path)
    try:
        with path.open(newline="", encoding="utf-8-sig") as file:
            lines = _lines(file, path)
            comments, sample, skipped = beginning(lines)
            reader = _Reader(path, separator_of(sample), is_label, missing)
            if reader.separator == "," and looks_decimal(sample):
                raise InputError(
                    f"{path}: the commas look like decimal marks ({sample[0].strip()[:40]!r}), and "
                    "they separate cells: write numbers with points, and without leading zeros"
                )
            for line, row in rows_of(chain(sample, lines), reader.separator):
                reader.add(row, line + skipped, comments)
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        raise InputError(f"{path} cannot be read ({error}): save it as UTF-8 text") from error
    return reader.table()


def _lines(file: IO[str], path: Path) -> Iterator[str]:
    """Lines of a text file, none longer than `LONGEST_LINE`."""
    while line := file.readline(LONGEST_LINE):
        if len(line) == LONGEST_LINE:
            raise InputError(f"{path} has a line of {LONGEST_LINE} characters: is it a CSV file?")
        yield line


class _Reader:
    """Collects the rows of a text file, with 8 bytes a number."""

    def __init__(
        self, path: Path, separator: str, is_label: Callable[[str], bool], missing: bool
    ) -> None:
        self.path, self.separator = path, separator
        self._is_label, self._missing = is_label, missing
        self._names: tuple[str, ...] = ()  # of all columns
        self._width = 0  # of all columns
        self._labels: dict[int, list[str]] = {}
        self._strings = 0  # of labels; each counts as 8 numbers
        self._values = array("d")
        self._large: dict[int, int] = {}  # integers that floats round, by place
        self._blank: list[int] = []  # blank lines; at the end of a file they are ignored
        self._decimal = self._unclear = self._point = ""  # first cell of each kind
        self._truths: dict[int, int] = {}  # cells of true or false, by column of numbers

    def add(self, row: list[str], line: int, comments: list[str]) -> None:
        if not row:
            self._blank.append(line)
            return
        if not self._width:
            self._width = len(row)
            cells = [cell.strip() for cell in row]
            header = not self._blank and is_header(cells)
            if header and any(map(may_be_number, cells)) and self._commented(comments):
                header = False  # a faulty row below the names
            self._set_names(cells if header else self._commented(comments))
            if header:
                return
        for blank in self._blank:
            if not self._missing or self._labels:
                raise self._fault("the row is blank", blank)
            self._values.extend([np.nan] * self._width)
        self._blank.clear()
        if len(row) != self._width:
            raise self._ragged(len(row), line)
        for column in reversed(self._labels):
            label = row.pop(column).strip()
            if not label:
                raise InputError(
                    f"{self.path}, line {line}: {self._names[column]!r} is empty: fill it"
                )
            labels = self._labels[column]
            known = labels[-1:] == [label]  # the rows of a demonstration share one string
            labels.append(labels[-1] if known else label)
            self._strings += not known
        self._add_numbers(row, line)
        if len(self._values) + 8 * self._strings > LARGEST:
            raise InputError(f"{self.path}: more than {LARGEST} numbers: save a part of them")

    def table(self) -> Table:
        width = self._width - len(self._labels)
        if not width or not len(self._values):
            raise InputError(f"{self.path}: no rows, or no columns of numbers: save a full table")
        if (comma := self._decimal or self._unclear) and self._point:
            raise InputError(
                f"{self.path} has numbers with a comma ({comma!r}) and others with a point "
                f"({self._point!r}): write all with points, as 1234.5"
            )
        if self._unclear and not self._decimal:
            raise InputError(
                f"{self.path}: {self._unclear!r} may be a number with three decimals or thousands, "
                "and no number of the file shows which: write numbers with points, as 1234.5"
            )
        high = np.array(self._values).reshape(-1, width)
        low = np.zeros_like(high) if self._large else None
        for at, number in self._large.items():
            low.flat[at] = float(number - int(high.flat[at]))  # type: ignore[union-attr]
        names = tuple(n for i, n in enumerate(self._names) if i not in self._labels)
        labels = {self._names[i]: labels for i, labels in self._labels.items()}
        for column, count in self._truths.items():
            if count < len(high):
                raise InputError(
                    f"{self.path}: column {names[column] if names else column} has {count} cells "
                    f"of true or false, and {len(high) - count} others: write one kind"
                )
        flags = tuple(sorted(self._truths))
        return Table(merge(Reals(high, low)), names, labels, flags=flags)

    def _set_names(self, names: Sequence[str]) -> None:
        self._names = tuple(names)
        found = [i for i, name in enumerate(names) if self._is_label(name)]
        if len({names[i] for i in found}) < len(found):
            raise InputError(f"{self.path}: two columns are called {names[found[0]]!r}: rename one")
        self._labels = {i: [] for i in found}

    def _commented(self, comments: list[str]) -> Sequence[str]:
        """Names in the last comment above the numbers, with any separator; empty if there are none.

        If the words have the separator of the numbers but another count, the numbers are separated
        wrongly: their commas are decimal marks.
        """
        for separator in (self.separator, *SEPARATORS) if comments else ():
            rows = [row for _, row in rows_of(comments[-1:], separator)]
            names = [cell.strip().strip(",;") for row in rows for cell in row]
            if not all(names) or not is_header(names):
                continue
            if len(names) == self._width:
                return names
            words = len(names) > 1 and not any(" " in name for name in names)
            if separator == self.separator != " " and words:
                raise InputError(
                    f"{self.path}: the comment {comments[-1][:40]!r} names {len(names)} columns, "
                    f"and rows have {self._width} cells, separated by {SEPARATORS[separator]}: "
                    "name all columns; where commas are decimal marks, separate by semicolons"
                )
        return ()

    def _add_numbers(self, row: list[str], line: int) -> None:
        text = "".join(row)
        if not self._point and "." in text:
            self._point = next(cell.strip() for cell in row if "." in cell)
        plain = row
        if self._decimal and "." not in text and "," in text:
            plain = [cell.replace(",", ".") for cell in row]
        try:
            numbers = [*map(float, plain)]
        except ValueError:
            numbers = []
        # A sum is NaN if a number is; float() accepts 1_000, which is source code.
        if numbers and sum(numbers) == sum(numbers) and "_" not in text:
            if -EXACT <= min(numbers) and max(numbers) <= EXACT:
                self._values.extend(numbers)
                return
        for column, cell in enumerate(row):
            self._add_number(cell.strip(), line, column)

    def _add_number(self, cell: str, line: int, column: int) -> None:
        if cell.lower() in MISSING:
            if not self._missing:
                raise self._fault(f"{cell!r} is a missing value", line)
            self._values.append(np.nan)
            return
        if is_number(cell):
            self._values.append(float(cell))
        elif DECIMAL.fullmatch(cell):
            self._values.append(float(cell.replace(",", ".")))
            if _THOUSANDS.fullmatch(cell):
                self._unclear = self._unclear or cell
            else:
                self._decimal = self._decimal or cell
        elif cell.lower() in TRUTHS:
            self._truths[column] = self._truths.get(column, 0) + 1
            self._values.append(float(TRUTHS[cell.lower()]))
        else:
            raise self._no_number(cell, line, column)
        if abs(self._values[-1]) > EXACT and cell.lstrip("+-").isdecimal():
            self._large[len(self._values) - 1] = int(cell)

    def _no_number(self, cell: str, line: int, column: int) -> InputError:
        names = [name for i, name in enumerate(self._names) if i not in self._labels]
        where = f", column {names[column]!r}" if names and names[column] else ""
        how = f"cells are separated by {SEPARATORS[self.separator]} here"
        if re.fullmatch(r"[+-]?\d{1,3}([., ']\d{3})+([.,]\d*)?", cell):
            hint = "write numbers without marks of thousands, as 1234.5"
        elif re.search(r"\d\d\d\d-\d\d|\d:\d\d", cell):
            hint = "write dates and times in seconds, or remove that column"
        elif any(mark in cell for mark in ";,\t"):
            hint = f"{how}; separate all by commas, and write numbers with points"
        else:
            hint = f"remove that row or column ({how})"
        return InputError(f"{self.path}, line {line}{where}: {cell!r} is no number: {hint}")

    def _ragged(self, cells: int, line: int) -> InputError:
        hint = "save a full table"
        if self.separator == "," and cells == 2 * self._width:
            hint = "if commas are decimal marks too, separate cells by semicolons"
        return InputError(
            f"{self.path}, line {line}: rows of different length ({cells} cells, separated by "
            f"{SEPARATORS[self.separator]}, instead of {self._width}): {hint}"
        )

    def _fault(self, what: str, line: int) -> InputError:
        return InputError(
            f"{self.path}, line {line}: {what}: fill it, or remove the row (and its partner in the "
            "other file, which --drop-missing of `estimate` and `test` does)"
        )
