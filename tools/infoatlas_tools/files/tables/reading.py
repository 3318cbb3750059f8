"""Reads tables of any kind of file."""

from __future__ import annotations

from pathlib import Path

from infoatlas_rt.errors import InputError

from ...trajectories import Trajectories
from .columns import as_demonstrations, label_columns
from .parquet import read_parquet_table
from .text import read_csv

READERS = {
    **dict.fromkeys((".csv", ".tsv", ".txt"), read_csv),
    **dict.fromkeys((".parquet", ".pq"), read_parquet_table),
}  # by suffix in lower case


def read_table(path: Path, episode_column: str | None = None) -> Trajectories:
    """Demonstrations in a table, with `episode_column` as in `load_trajectories`."""
    table = READERS[path.suffix.lower()](path, label_columns(episode_column))
    try:
        return as_demonstrations(table, episode_column)
    except InputError as error:
        raise InputError(f"{path}: {error}") from error
