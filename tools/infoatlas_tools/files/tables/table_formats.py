"""The formats of tables: the suffixes and the reader of each.

A new format is a line in `TABLES`. Folders of such files, samples, messages and the help of the
command line follow from it.
"""

from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from infoatlas_rt.errors import InputError

if TYPE_CHECKING:
    from ...trajectories import Trajectories
    from .table import Table


class TableFormat(NamedTuple):
    """A format of tables, read by a function of a module of `tables`."""

    suffixes: tuple[str, ...]  # in lower case, the usual one first
    reader: str
    text: bool = False

    def read(self, *arguments: Any) -> "Table":
        """From a path, whether a name is one of labels, and whether missing values become NaN."""
        # Imported when used: the help of the command line names the formats without NumPy.
        module, function = self.reader.split(".")
        reader = getattr(import_module(f"infoatlas_tools.files.tables.{module}"), function)
        table: Table = reader(*arguments)
        return table


# In a folder with as many files of two formats, the first one is read. A .txt beside others may
# describe them, so it is a format of its own.
TABLES = (
    TableFormat((".parquet", ".pq"), "parquet.read_parquet_table"),
    TableFormat((".csv", ".tsv"), "text.read_csv", text=True),
    TableFormat((".txt",), "text.read_csv", text=True),
)
READERS = {suffix: table.read for table in TABLES for suffix in table.suffixes}
NAMED = sorted(table.suffixes[0] for table in TABLES if table.suffixes[0] != ".txt")


def read_table(path: Path, episode_column: str | None = None) -> "Trajectories":
    """Demonstrations in a table, with `episode_column` as in `load_trajectories`."""
    from .columns import as_demonstrations, label_columns

    table = READERS[path.suffix.lower()](path, label_columns(episode_column))
    try:
        return as_demonstrations(table, episode_column)
    except InputError as error:
        raise InputError(f"{path}: {error}") from error
