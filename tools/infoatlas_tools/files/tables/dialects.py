"""Dialects of text tables: separators, comments above the header, numbers and words."""

import csv
import re
from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path
from typing import IO, NamedTuple

from infoatlas_rt.errors import InputError

from ..rates import is_time

LONGEST_LINE = 10**7  # characters
MISSING = frozenset({"", "na", "n/a", "nan", "null", "none", "-", "?"})  # in lower case
SAMPLE = 256  # lines from which the separator is determined
SEPARATORS = {",": "commas", ";": "semicolons", "\t": "tabs", " ": "spaces"}
_COMMENT = re.compile(r"\s*[#%]+\s*|sep=")  # of NumPy's savetxt, Matlab, rostopic, Excel
DECIMAL = re.compile(r"[+-]?(\d+,\d*|,\d+)([eE][+-]?\d+)?")


class Dialect(NamedTuple):
    """How a text file is written: its names are empty if it has none."""

    separator: str
    names: list[str]
    width: int  # columns
    skipped: int  # lines above the first row of cells
    notes: tuple[str, ...] = ()  # sentences about the header


def dialect_of(path: Path) -> Dialect:
    """The dialect of a text file, from its first rows."""
    with path.open(newline="", encoding="utf-8-sig") as file:
        comments, sample, skipped = _beginning(file, path)
    separator = _separator_of(sample)
    if separator == "," and _looks_decimal(sample):
        raise InputError(
            f"{path}: the commas look like decimal marks ({sample[0].strip()[:40]!r}), and "
            "they separate cells: write numbers with points, and without leading zeros"
        )
    rows = _rows_of(sample, separator)
    first = next((row for row in rows if row), [])
    cells = [cell.strip() for cell in first]
    commented, notes = _names_in_comment(comments, separator, rows, path)
    faulty = bool(commented) and any(map(_may_be_number, cells))  # a row below the names
    header = rows[:1] == [first] and _is_header(cells) and not faulty
    if not any(rows[header:]):
        raise InputError(f"{path}: no rows, or no columns of numbers: save a full table")
    lines = 1 + "".join(first).count("\n") if header else 0  # a quoted name may span lines
    names, notes = (cells, ()) if header else (commented, notes)
    return Dialect(separator, names, len(cells), skipped + lines, notes)


def _beginning(file: IO[str], path: Path) -> tuple[list[str], list[str], int]:
    """Comments at the top without their marks, the lines after them, and the line count before."""
    comments: list[str] = []
    sample: list[str] = []
    skipped = 0
    while len(sample) < SAMPLE and (line := file.readline(LONGEST_LINE)):
        if len(line) == LONGEST_LINE:
            raise InputError(f"{path} has a line of {LONGEST_LINE} characters: is it a CSV file?")
        sample.append(line)
        found = _COMMENT.match(line)
        if not "".join(sample[:-1]).strip() and (found or (comments and not line.strip())):
            comments += [line[found.end() :].strip()] if found else []
            skipped += len(sample)
            sample.clear()
    return comments, sample, skipped


def _rows_of(lines: Sequence[str], separator: str) -> list[list[str]]:
    """Cells of each row; a blank row has none."""
    if separator == " ":
        return [line.split() for line in lines]
    return list(csv.reader(lines, delimiter=separator))


def _separator_of(sample: list[str]) -> str:
    """Separator of the cells of the first rows.

    With it, all cells below the first row are numbers, in rows of one length. If there is none,
    because of labels, it divides the first two rows into equally many cells, most of them numbers.
    """
    shares: dict[str, float] = {}
    for separator in SEPARATORS:
        rows = [row for row in _rows_of(sample, separator) if row]
        widths = {len(row) for row in rows}
        cells = [cell.strip() for row in rows[1:] or rows for cell in row]
        cut = separator == "," or widths != {1}
        numbers = sum(map(_may_be_number, cells))
        if cut and len(widths) == 1 and numbers == len(cells):
            return separator
        if len(rows) > 1 and len(rows[0]) == len(rows[1]) > 1:
            shares[separator] = numbers / len(cells)
    # Commas and spaces come last, because they may be within cells.
    return max(shares, key=lambda mark: (shares[mark], mark not in ", "), default=",")


def _looks_decimal(sample: list[str]) -> bool:
    """Whether rows such as 0,346 and -0,054 are numbers with a decimal comma, not two integers."""
    rows = [line.strip().split(",") for line in sample if line.strip()]
    cells = [(row[0::2], row[1::2]) for row in rows]
    wholes = [cell for before, _ in cells for cell in before]
    parts = [cell for _, after in cells for cell in after]
    return (
        all(len(row) % 2 == 0 for row in rows)
        and all(re.fullmatch(r"\d+([eE][+-]?\d+)?", cell) for cell in parts)
        and all(cell.removeprefix("-").isdecimal() for cell in wholes)
        and ("-0" in wholes or any(re.match(r"0\d|\d\d+[eE]", cell) for cell in parts))
    )


def _names_in_comment(
    comments: list[str], separator: str, rows: list[list[str]], path: Path
) -> tuple[list[str], tuple[str, ...]]:
    """Names in the last comment above the numbers, with any separator, and notes; or none.

    If the words have the separator of the numbers but another count, the numbers are separated
    wrongly: their commas are decimal marks. Of too many names, the first ones are used if the
    column of a time among them rises.
    """
    width, others = len(next((row for row in rows if row), [])), list[str]()
    for mark in (separator, *SEPARATORS) if comments else ():
        names = [cell.strip().strip(",;") for row in _rows_of(comments[-1:], mark) for cell in row]
        if not all(names) or not _is_header(names):
            continue
        if len(names) == width:
            return names, ()
        words = len(names) > 1 and not any(" " in name for name in names)
        if mark == separator != " " and words:
            raise InputError(
                f"{path}: the comment {comments[-1][:40]!r} names {len(names)} columns, and rows "
                f"have {width} cells, separated by {SEPARATORS[mark]}: name all columns; where "
                "commas are decimal marks, separate by semicolons"
            )
        others = others if len(others) > 1 else names
    if len(others) < 2:
        return [], ()
    first = others[:width] if len(others) > width and _has_clock(others[:width], rows) else []
    use = f"the first {width} are names of columns" if first else "so it is no header with names"
    text = f"The comment {comments[-1][:40]!r} has {len(others)} words for {width} columns: {use}."
    return first, (text,)


def _has_clock(names: list[str], rows: list[list[str]]) -> bool:
    """Whether the names differ, and one is of a time whose column rises."""
    column = next((i for i, name in enumerate(names) if is_time(name)), len(names))
    cells = [row[column] for row in rows if len(row) > column]
    times = [float(cell) for cell in cells if is_number(cell)]
    rises = len(times) > 1 and times[0] < times[-1] and all(a <= b for a, b in pairwise(times))
    return rises and len(set(names)) == len(names)


def _is_header(cells: list[str]) -> bool:
    """Whether a first row has names; the only numbers among them are those of columns."""
    words = [cell for cell in cells if not _may_be_number(cell)]
    others = [cell for cell in cells if is_number(cell) or DECIMAL.fullmatch(cell)]
    return bool(words) and all(cell.isdecimal() for cell in others)


def _may_be_number(cell: str) -> bool:
    known = cell.lower() in MISSING | {"true", "false"}
    return known or is_number(cell) or bool(DECIMAL.fullmatch(cell))


def is_number(cell: str) -> bool:
    try:
        float(cell)
    except ValueError:
        return False
    return "_" not in cell  # 1_000 is a number in source code only
