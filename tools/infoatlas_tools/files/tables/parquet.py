"""Tables of numbers in .parquet files, as pandas, polars and LeRobot write them."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

from infoatlas_rt.errors import InputError

from ..lerobot.frames import opened_parquet
from ..numbers import LARGEST
from .table import Columns, Table, is_list


def read_parquet_table(
    path: Path, is_label: Callable[[str], bool], missing: bool | None = None
) -> Table:
    """Columns of a .parquet file.

    Numbers are columns, and lists of one length are as many columns (`name.0`, `name.1`). Dates and
    durations are whole numbers of their unit. Columns whose names `is_label` accepts are read as
    text. Other text, images and other types are left out. `missing` reads nulls as NaN.
    """
    with opened_parquet(path, "save it again") as opened:
        about = opened.metadata
        groups = [about.row_group(i) for i in range(about.num_row_groups)]
        schema = opened.schema_arrow
        wanted = [f for f in schema if is_label(f.name) or _is_number(f.type)]
        names = [field.name for field in wanted]
        other = [f"{f.name} ({str(f.type).partition('<')[0]})" for f in schema if f not in wanted]
        if len(set(names)) < len(names):
            raise InputError(f"{path}: two columns have one name: rename one")
        # The elements of lists count, too, so that a false size in the file needs no memory.
        if sum(_count(group, name) for group in groups for name in names) > LARGEST:
            raise InputError(f"{path}: more than {LARGEST} numbers: save a part of them")
        read = Columns(path, missing)
        table = opened.read(names)
        for field in wanted:
            add = read.add_labels if is_label(field.name) else read.add
            add(field.name, table.column(field.name))
    notes = (f"Left out: {', '.join(other)} (no numbers).",) if other else ()
    return read.table(notes)


def _count(group: Any, name: str) -> int:
    """Number of numbers in a column, with the elements of lists, in a group of rows."""
    columns = (group.column(i) for i in range(group.num_columns))
    return sum(c.num_values for c in columns if f"{c.path_in_schema}.".startswith(f"{name}."))


def _is_number(kind: Any) -> bool:
    """Whether a type is of numbers, times, truth values, or of lists of them."""
    from pyarrow import types

    kind = kind.value_type if is_list(kind) else kind
    names = ("integer", "floating", "boolean", "decimal", "timestamp", "duration")
    return any(getattr(types, f"is_{name}")(kind) for name in names)
