"""Dialects of text tables: separators, comments above the header, numbers and words."""

from __future__ import annotations

import csv
import re
from collections.abc import Iterator, Sequence

LONGEST_LINE = 10**7  # characters
MISSING = frozenset({"", "na", "n/a", "nan", "null", "none", "-", "?"})  # in lower case
TRUTHS = {"true": True, "false": False}  # in lower case
SAMPLE = 256  # lines from which the separator is determined
SEPARATORS = {",": "commas", ";": "semicolons", "\t": "tabs", " ": "spaces"}
_COMMENT = re.compile(r"\s*[#%]+\s*|sep=")  # of NumPy's savetxt, Matlab, rostopic, Excel
DECIMAL = re.compile(r"[+-]?(\d+,\d*|,\d+)([eE][+-]?\d+)?")


def beginning(lines: Iterator[str]) -> tuple[list[str], list[str], int]:
    """Comments at the top without their marks, the lines after them, and the line count before."""
    comments: list[str] = []
    sample: list[str] = []
    skipped = size = 0
    for line in lines:
        size += len(line)
        sample.append(line)
        found = _COMMENT.match(line)
        if not "".join(sample[:-1]).strip() and (found or (comments and not line.strip())):
            comments += [line[found.end() :].strip()] if found else []
            skipped += len(sample)
            sample.clear()
        if len(sample) == SAMPLE or size > LONGEST_LINE:
            break
    return comments, sample, skipped


def rows_of(
    lines: Iterator[str] | Sequence[str], separator: str
) -> Iterator[tuple[int, list[str]]]:
    """Number of the last line, and cells, of each row; a blank row has none."""
    if separator == " ":
        for number, line in enumerate(lines, start=1):
            yield number, line.split()
    else:
        reader = csv.reader(lines, delimiter=separator)
        for row in reader:
            # A line of spaces is a missing value; an empty line is a blank row.
            yield reader.line_num, row


def separator_of(sample: list[str]) -> str:
    """Separator of the cells of the first rows.

    With it, all cells below the first row are numbers, in rows of one length. If there is none,
    because of labels, it divides the first two rows into equally many cells, most of them numbers.
    """
    shares: dict[str, float] = {}
    for separator in SEPARATORS:
        rows = [row for _, row in rows_of(sample, separator) if row]
        widths = {len(row) for row in rows}
        cells = [cell.strip() for row in rows[1:] or rows for cell in row]
        cut = separator == "," or widths != {1}
        numbers = sum(map(may_be_number, cells))
        if cut and len(widths) == 1 and numbers == len(cells):
            return separator
        if len(rows) > 1 and len(rows[0]) == len(rows[1]) > 1:
            shares[separator] = numbers / len(cells)
    # Commas and spaces come last, because they may be within cells.
    return max(shares, key=lambda mark: (shares[mark], mark not in ", "), default=",")


def looks_decimal(sample: list[str]) -> bool:
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


def is_header(cells: list[str]) -> bool:
    """Whether a first row has names; the only numbers among them are those of columns."""
    words = [cell for cell in cells if not may_be_number(cell)]
    others = [cell for cell in cells if is_number(cell) or DECIMAL.fullmatch(cell)]
    return bool(words) and all(cell.isdecimal() for cell in others)


def may_be_number(cell: str) -> bool:
    known = cell.lower() in MISSING or cell.lower() in TRUTHS
    return known or is_number(cell) or bool(DECIMAL.fullmatch(cell))


def is_number(cell: str) -> bool:
    try:
        float(cell)
    except ValueError:
        return False
    return "_" not in cell  # 1_000 is a number in source code only
