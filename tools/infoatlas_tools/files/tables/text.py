"""Tables of numbers in text files (.csv, .tsv, .txt), in the dialects that programs write.

`dialects.py` determines the separator and the names of columns from the first rows, and pyarrow
reads the cells. A column with commas has decimal commas if no number of the file has a point.
"""

from __future__ import annotations

import csv
import math
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

from infoatlas_rt.errors import InputError

from ..lerobot.frames import require_pyarrow
from ..numbers import LARGEST, check_regular
from .dialects import DECIMAL, MISSING, SEPARATORS, Dialect, dialect_of, is_number
from .table import Columns, Table

LARGEST_TEXT = 2**31 - 1  # bytes; pyarrow infers the types of columns from one block
_THOUSANDS = re.compile(r"[+-]?[1-9]\d{0,2},\d{3}")  # or three decimals


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
        pyarrow is not installed; the file is missing, is no table of numbers, has missing values
        without `missing`, or its numbers are ambiguous.
    """
    if check_regular(path) > LARGEST_TEXT:
        raise InputError(f"{path}: more than {LARGEST_TEXT} bytes: save a part of it")
    pyarrow, _ = require_pyarrow(path)
    try:
        dialect = dialect_of(path)
        labels = [i for i, name in enumerate(dialect.names) if is_label(name)]
        cells = _cells(path, dialect, labels, pyarrow).columns
    except (OSError, UnicodeDecodeError, csv.Error, pyarrow.ArrowException) as error:
        what = str(error).split("\n")[0]
        raise InputError(f"{path} cannot be read ({what}): save it as UTF-8 text") from error
    if sum(map(len, cells)) > LARGEST:
        raise InputError(f"{path}: more than {LARGEST} numbers: save a part of them")
    columns = Columns(path, pyarrow, missing, lambda row: f"line {row + dialect.skipped + 1}")
    names = dialect.names or [f"column {i}" for i in range(dialect.width)]
    numbers = {i: cells[i] for i in range(len(cells)) if i not in labels}
    decimals = _decimals(path, dialect, numbers, pyarrow)
    for i, column in enumerate(cells):
        if i in labels:
            columns.add_labels(names[i], column)
        else:
            columns.add(names[i], decimals.get(i, column))
    table = columns.table()
    return table if dialect.names else table._replace(names=())


def _cells(path: Path, dialect: Dialect, labels: list[int], pyarrow: Any) -> Any:
    """All rows as a table of pyarrow, whose columns have the types of their cells."""
    from pyarrow import csv as arrow_csv

    text = path.read_bytes().rstrip(b"\r\n")
    if dialect.separator == " ":
        text = b"\n".join(b" ".join(line.split()) for line in text.splitlines())
    ragged: list[Any] = []

    def skip(row: Any) -> str:
        ragged.append(row)
        return "skip"

    names = [str(i) for i in range(dialect.width)]
    found = arrow_csv.read_csv(
        pyarrow.BufferReader(text),
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
            column_types={names[i]: pyarrow.string() for i in labels},
            strings_can_be_null=True,
            null_values=["NaN", *(form for word in MISSING for form in _forms(word))],
            true_values=_forms("true"),
            false_values=_forms("false"),
        ),
    )
    if ragged:
        count, hint = ragged[0].actual_columns, "save a full table"
        if dialect.separator == "," and count == 2 * dialect.width:
            hint = "if commas are decimal marks too, separate cells by semicolons"
        raise InputError(
            f"{path}, line {ragged[0].number}: rows of different length ({count} cells, separated "
            f"by {SEPARATORS[dialect.separator]}, instead of {dialect.width}): {hint}"
        )
    return found


def _decimals(
    path: Path, dialect: Dialect, numbers: dict[int, Any], pyarrow: Any
) -> dict[int, Any]:
    """Columns with decimal commas or padded cells, as floats, by their place.

    Raises
    ------
    InputError
        A cell is no number, or the file does not show what commas in numbers mean.
    """
    found, commas, points = {}, list[str](), list[str]()
    for i, column in numbers.items():
        kind = column.type
        if pyarrow.types.is_floating(kind):
            points += [str(v) for v in column.drop_null().to_pylist() if math.isfinite(v) and v % 1]
        elif kind not in (pyarrow.int64(), pyarrow.bool_(), pyarrow.null()):
            cells = [(cell or "").strip() for cell in column.cast(pyarrow.string()).to_pylist()]
            for row, cell in enumerate(cells):
                if not (is_number(cell) or DECIMAL.fullmatch(cell) or cell.lower() in MISSING):
                    raise _no_number(path, dialect, row, i, cell)
            commas += [cell for cell in cells if "," in cell]
            points += [cell for cell in cells if "." in cell]
            values = [
                None if cell.lower() in MISSING else float(cell.replace(",", ".")) for cell in cells
            ]
            found[i] = pyarrow.chunked_array([values], pyarrow.float64())
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


def _no_number(path: Path, dialect: Dialect, row: int, column: int, cell: str) -> InputError:
    where = f", column {dialect.names[column]!r}" if any(dialect.names[column:][:1]) else ""
    how = f"cells are separated by {SEPARATORS[dialect.separator]} here"
    if re.fullmatch(r"[+-]?\d{1,3}([., ']\d{3})+([.,]\d*)?", cell):
        hint = "write numbers without marks of thousands, as 1234.5"
    elif re.search(r"\d\d\d\d-\d\d|\d:\d\d", cell):
        hint = "write dates and times in seconds, or remove that column"
    elif any(mark in cell for mark in ";,\t"):
        hint = f"{how}; separate all by commas, and write numbers with points"
    else:
        hint = f"remove that row or column ({how})"
    line = row + dialect.skipped + 1
    return InputError(f"{path}, line {line}{where}: {cell!r} is no number: {hint}")


def _forms(word: str) -> list[str]:
    """A word in the cases that programs write."""
    return [word, word.upper(), word.title()] if word else ["", " "]
