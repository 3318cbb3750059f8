"""Writes tables in each format that is read, for the tests of tables and of folders of them."""

import csv
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

Columns = Mapping[str, Any]  # values [n] by name; without a header, names are ""


def _parquet(path: Path, columns: Columns, group: int = 64) -> None:
    none = pa.float32()  # a type for columns of nulls
    own = {n: pa.array(v, none if all(x is None for x in v) else None) for n, v in columns.items()}
    pq.write_table(pa.table(own), path, group)


def _text(separator: str) -> Callable[..., None]:
    def write(path: Path, columns: Columns, end: str = "\n", quoting: int = 0) -> None:
        with path.open("w", newline="", encoding="utf-8") as file:
            writer = csv.writer(file, delimiter=separator, lineterminator=end, quoting=quoting)
            writer.writerow(columns)
            writer.writerows(zip(*columns.values(), strict=True))

    return write


# A function of a path, columns and options of the format, by suffix. tests/fuzz and
# tests/tools/files/test_folders.py use all of them.
WRITERS: dict[str, Callable[..., None]] = {
    ".parquet": _parquet,
    ".csv": _text(","),
    ".tsv": _text("\t"),
    ".txt": _text("\t"),
}
