"""Tables of numbers in text files (.csv, .tsv, .txt), in the dialects that programs write.

`dialects.py` determines the separator and the names of columns from the first rows, and pyarrow
reads the cells. A column with commas has decimal commas if no number of the file has a point.
"""

import csv
import math
import re
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from infoatlas_rt.errors import InputError
from infoatlas_rt.inputs.arrays import EXACT

from ..lerobot.frames import require_pyarrow
from ..numbers import LARGEST, check_regular
from .dialects import DECIMAL, MISSING, SEPARATORS, Dialect, dialect_of, is_number
from .table import Columns, Table

LARGEST_TEXT = 2**31 - 1  # bytes; pyarrow infers the types of columns from one block
_THOUSANDS = re.compile(r"[+-]?[1-9]\d{0,2},\d{3}")  # or three decimals


class _Cells(NamedTuple):
    """Columns of pyarrow, and whether each of their rows is a line of the file."""

    path: Path
    dialect: Dialect
    columns: list[Any]
    lines: bool

    def where(self, row: int) -> str:
        """The place of a row in the file."""
        return f"line {row + self.dialect.skipped + 1}" if self.lines else f"row {row + 1} of cells"


def read_csv(path: Path, is_label: Callable[[str], bool], missing: bool | None = None) -> Table:
    """Columns of a text file.

    Those whose names `is_label` accepts are read as text. `missing` reads missing values as NaN.
    """
    if check_regular(path) > LARGEST_TEXT:
        raise InputError(f"{path}: more than {LARGEST_TEXT} bytes: save a part of it")
    pyarrow, _ = require_pyarrow(path)
    try:
        dialect = dialect_of(path)
        labels = [i for i, name in enumerate(dialect.names) if is_label(name)]
        text = path.read_bytes().rstrip(b"\r\n")
        cells = _cells(path, dialect, text, labels)
        doubtful = [i for i, c in enumerate(cells.columns) if i not in labels and _hides(c, text)]
        if doubtful:
            cells = _cells(path, dialect, text, [*labels, *doubtful])
    except (OSError, UnicodeDecodeError, csv.Error, pyarrow.ArrowException) as error:
        what = str(error).split("\n")[0]
        raise InputError(f"{path} cannot be read ({what}): save it as UTF-8 text") from error
    if sum(map(len, cells.columns)) > LARGEST:
        raise InputError(f"{path}: more than {LARGEST} numbers: save a part of them")
    columns = Columns(path, missing, cells.where)
    names = dialect.names or [f"column {i}" for i in range(dialect.width)]
    written = _as_written(cells, [i for i in range(dialect.width) if i not in labels])
    for i, column in enumerate(cells.columns):
        if i in labels:
            columns.add_labels(names[i], column)
        elif i in written:
            gone = np.array([[value is None] for value in written[i]])
            values = np.array(written[i], object)[:, None]
            columns.add_numbers(names[i], np.where(gone, np.nan, values), gone)
        else:
            columns.add(names[i], column)
    table = columns.table(dialect.notes)
    return table if dialect.names else table._replace(names=())


def _cells(path: Path, dialect: Dialect, text: bytes, strings: list[int]) -> _Cells:
    """All rows; columns have the types of their cells, except for those that are read as text."""
    from pyarrow import BufferReader, csv as arrow_csv, string

    if dialect.separator == " ":
        text = b"\n".join(b" ".join(line.split()) for line in text.splitlines())
    ragged: list[Any] = []

    def skip(row: Any) -> str:
        ragged.append(row)
        return "skip"

    names = [str(i) for i in range(dialect.width)]
    table = arrow_csv.read_csv(
        BufferReader(text),
        arrow_csv.ReadOptions(
            use_threads=False,  # else faulty rows have no numbers
            block_size=len(text) + 1,
            skip_rows=dialect.skipped,
            column_names=names,
        ),
        arrow_csv.ParseOptions(
            delimiter=dialect.separator,
            quote_char=False if dialect.separator == " " else '"',
            ignore_empty_lines=False,
            invalid_row_handler=skip,
        ),
        arrow_csv.ConvertOptions(
            column_types={names[i]: string() for i in strings},
            strings_can_be_null=True,
            null_values=["NaN", *(form for word in MISSING for form in _forms(word))],
            true_values=_forms("true"),
            false_values=_forms("false"),
        ),
    )
    rows = dialect.skipped + len(table) + len(ragged)
    found = _Cells(path, dialect, table.columns, rows == len(text.splitlines()))
    if ragged:
        count, hint = ragged[0].actual_columns, "save a full table"
        if dialect.separator == "," and count == 2 * dialect.width:
            hint = "if commas are decimal marks too, separate cells by semicolons"
        elif count == dialect.width + 1:
            hint = "if lines end with a separator, give that column a name or remove it"
        raise InputError(
            f"{path}, {found.where(ragged[0].number - dialect.skipped - 1)}: rows of different "
            f"length ({count} cells, separated by {SEPARATORS[dialect.separator]}, instead of "
            f"{dialect.width}): {hint}"
        )
    return found


def _hides(column: Any, text: bytes) -> bool:
    """Whether pyarrow may have rounded integers of a column, or read hexadecimal ones."""
    from pyarrow import types

    if types.is_floating(column.type):
        return bool((np.abs(column.drop_null().to_numpy()) > EXACT).any())
    return types.is_integer(column.type) and bool(re.search(rb"0[xX]", text))


def _as_written(cells: _Cells, numbers: Iterable[int]) -> dict[int, list[float | None]]:
    """Columns that were read as text, as those with decimal commas or padded cells."""
    from pyarrow import string, types

    path, found, commas, points = cells.path, {}, list[str](), list[str]()
    for i in numbers:
        column = cells.columns[i]
        if types.is_floating(column.type):
            points += [str(v) for v in column.drop_null().to_pylist() if math.isfinite(v) and v % 1]
        elif not any(t(column.type) for t in (types.is_integer, types.is_boolean, types.is_null)):
            own = [(cell or "").strip() for cell in column.cast(string()).to_pylist()]
            for row, cell in enumerate(own):
                if not (is_number(cell) or DECIMAL.fullmatch(cell) or cell.lower() in MISSING):
                    raise _no_number(cells, row, i, cell)
            commas += [cell for cell in own if "," in cell]
            points += [cell for cell in own if "." in cell]
            found[i] = [None if cell.lower() in MISSING else _number(cell) for cell in own]
    if commas and points:
        raise InputError(
            f"{path} has numbers with a comma ({commas[0]!r}) and others with a point "
            f"({points[0]!r}): write all with points, as 1234.5"
        )
    if commas and all(map(_THOUSANDS.fullmatch, commas)):
        raise InputError(
            f"{path}: {commas[0]!r} may be a number with three decimals or thousands, and no "
            "number of the file shows which: write numbers with points, as 1234.5"
        )
    return found


def _number(cell: str) -> float:
    """The number in a cell; integers are exact."""
    return int(cell) if re.fullmatch(r"[+-]?[0-9]+", cell) else float(cell.replace(",", "."))


def _no_number(cells: _Cells, row: int, column: int, cell: str) -> InputError:
    dialect = cells.dialect
    name = f", column {dialect.names[column]!r}" if any(dialect.names[column:][:1]) else ""
    how = f"cells are separated by {SEPARATORS[dialect.separator]} here"
    if re.fullmatch(r"[+-]?\d{1,3}([., ']\d{3})+([.,]\d*)?", cell):
        hint = "write numbers without marks of thousands, as 1234.5"
    elif re.search(r"\d\d\d\d-\d\d|\d:\d\d", cell):
        hint = "write dates and times in seconds, or remove that column"
    elif any(mark in cell for mark in ";,\t"):
        hint = f"{how}; separate all by commas, and write numbers with points"
    else:
        hint = f"remove that row or column, or write classes as 0, 1, 2 ({how})"
    return InputError(f"{cells.path}, {cells.where(row)}{name}: {cell!r} is no number: {hint}")


def _forms(word: str) -> list[str]:
    """A word in the cases that programs write."""
    return [word, word.upper(), word.title()] if word else ["", " "]
