"""The formats of tables: the suffixes and the reader of each.

A new format is a line in `TABLES`. Folders of such files, samples, messages and the help of the
command line follow from it.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

from infoatlas_rt.errors import InputError

from ...trajectories import Trajectories
from .columns import as_demonstrations, label_columns
from .parquet import read_parquet_table
from .table import Table
from .text import read_csv


class TableFormat(NamedTuple):
    """A format of tables."""

    suffixes: tuple[str, ...]  # in lower case, the usual one first
    # From a path, whether a name is one of labels, and whether missing values become NaN.
    read: Callable[..., Table]
    text: bool = False


# In a folder with as many files of two formats, the first one is read. A .txt beside others may
# describe them, so it is a format of its own.
TABLES = (
    TableFormat((".parquet", ".pq"), read_parquet_table),
    TableFormat((".csv", ".tsv"), read_csv, text=True),
    TableFormat((".txt",), read_csv, text=True),
)
READERS = {suffix: table.read for table in TABLES for suffix in table.suffixes}
NAMED = sorted(table.suffixes[0] for table in TABLES if table.suffixes[0] != ".txt")


def read_table(path: Path, episode_column: str | None = None) -> Trajectories:
    """Demonstrations in a table, with `episode_column` as in `load_trajectories`."""
    table = READERS[path.suffix.lower()](path, label_columns(episode_column))
    try:
        return as_demonstrations(table, episode_column)
    except InputError as error:
        raise InputError(f"{path}: {error}") from error
