"""Writes tables of LeRobot data sets: new columns, names, statistics, links to videos."""

import json
import os
import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...run_folder import making
from .frames import places_of, require_pyarrow

Int = NDArray[np.int64]
Columns = dict[str, list[Any]]  # by name: of each demonstration [T]

LANGUAGE = "language_persistent"
LINKED = 1 << 20  # bytes: larger files are linked
QUANTILES = {"q01": 0.01, "q10": 0.1, "q50": 0.5, "q90": 0.9, "q99": 0.99}
FIELDS = ("role", "content", "style", "timestamp", "camera", "tool_calls")


def link_or_copy(source: str, target: str) -> str:
    """Link a video, an image or another large file, or copy it if small or if links fail."""
    real = os.path.realpath(source)
    parts = Path(target).parts
    if "meta" not in parts and (
        {"videos", "images"} & set(parts) or os.path.getsize(real) > LINKED
    ):
        try:
            os.link(real, target)
        except OSError:  # another disk, or one without links
            with making(Path(target)) as part:
                if part:
                    shutil.copy2(real, part)
        return target
    return str(shutil.copy2(real, target))


def rewrite_frames(
    file: Path, target: Path, places: tuple[Int, Int], numbers: Columns, language: list[Any] | None
) -> None:
    """Copy a table of frames with new columns, one group of rows at a time.

    `places` [n] are the demonstration and step of each row; rows with a step below 0 are left out.
    `numbers` are columns by demonstration, and `language` the rows of `language_persistent` of
    each. A file that is there stays: a run that was interrupted has made it.
    """
    pyarrow, parquet = require_pyarrow(file)
    rows, steps = places
    lists = None if language is None else pyarrow.array(language, _language_type(pyarrow))
    target.parent.mkdir(parents=True, exist_ok=True)
    with parquet.ParquetFile(file) as opened, making(target) as new:
        if new is None:
            return
        writer, first = None, 0
        try:
            groups = range(opened.num_row_groups)
            for table in map(opened.read_row_group, groups) if groups else [opened.read()]:
                own = slice(first, first + len(table))
                first += len(table)
                table = table.filter(pyarrow.array(steps[own] >= 0))
                which, at = (values[own][steps[own] >= 0] for values in (rows, steps))
                own_rows = [*places_of(which)]
                described: dict[str, Any] = {}
                for name, columns in numbers.items():
                    values = np.zeros(len(table), columns[0].dtype)
                    for i, here in own_rows:
                        values[here] = columns[i][at[here]]
                    table = _put(table, name, pyarrow.array(values))
                    described[name] = {"dtype": str(values.dtype), "_type": "Value"}
                if lists is not None:
                    table = _put(table, LANGUAGE, lists.take(pyarrow.array(which)))
                    described[LANGUAGE] = _language_feature()
                table = table.replace_schema_metadata(_describe(table.schema.metadata, described))
                if writer is None:
                    writer = parquet.ParquetWriter(new, table.schema)
                writer.write_table(table)
        finally:
            if writer is not None:
                writer.close()


def with_columns(
    table: Any, about: dict[int, dict[str, Any]], stats: dict[int, dict[str, dict[str, Any]]]
) -> Any:
    """A table of episodes with new columns, and with new statistics if it has any.

    Episodes that are not in `about`, because their data are not on this machine, have nulls.
    """
    import pyarrow

    episodes = [int(episode) for episode in table.column("episode_index").to_pylist()]
    for name in next(iter(about.values())):
        kind = pyarrow.array([values[name] for values in about.values()]).type
        new = [about[episode][name] if episode in about else None for episode in episodes]
        table = _put(table, name, pyarrow.array(new, kind))
    first = next(iter(stats.values()))
    for name in first:
        every = [
            [n for n in table.column_names if n.startswith(f"stats/{feature}/")]
            for feature in (name, "frame_index")
        ]
        for known in every[0] or every[1]:
            key = known.rpartition("/")[2]
            if key in first[name]:
                values = [stats[e][name][key] if e in stats else None for e in episodes]
                kind = table.schema.field(known).type
                table = _put(table, f"stats/{name}/{key}", pyarrow.array(values).cast(kind))
    metadata = dict(table.schema.metadata or {})
    metadata.pop(b"huggingface", None)  # it would have to list the new columns, and types suffice
    return table.replace_schema_metadata(metadata)


def summary(values: NDArray[Any]) -> dict[str, list[float]]:
    """Statistics of a column [T] or of columns [T, d], as LeRobot has them."""
    values = values.reshape(len(values), -1)
    found = {name: getattr(values, name)(axis=0).tolist() for name in ("min", "max", "mean", "std")}
    levels = np.quantile(values, [*QUANTILES.values()], axis=0).tolist()
    return {**found, "count": [len(values)], **dict(zip(QUANTILES, levels, strict=True))}


def names_table(labels: Sequence[str], what: str = "subtask") -> Any:
    """Names of sub-tasks, or of tasks, as pandas writes them, with the names as index."""
    import pyarrow

    number = f"{what}_index"
    numbers = pyarrow.array(range(len(labels)), pyarrow.int64())
    table = pyarrow.table({number: numbers, what: labels})
    column = {"field_name": number, "name": number, "pandas_type": "int64"}
    index = {"field_name": what, "name": what, "pandas_type": "unicode"}
    about = {
        "index_columns": [what],
        "column_indexes": [],
        "columns": [
            {**column, "numpy_type": "int64", "metadata": None},
            {**index, "numpy_type": "object", "metadata": None},
        ],
        "creator": {"library": "pyarrow", "version": pyarrow.__version__},
        "pandas_version": "2.0.0",
    }
    return table.replace_schema_metadata({"pandas": json.dumps(about)})


def _put(table: Any, name: str, column: Any) -> Any:
    """The table with a column, in the place of one of the same name if there is one."""
    if name in table.column_names:
        return table.set_column(table.column_names.index(name), name, column)
    return table.append_column(name, column)


def _language_type(pyarrow: Any) -> Any:
    text, number = pyarrow.string(), pyarrow.float32()
    kinds = (text, text, text, number, text, pyarrow.list_(text))
    return pyarrow.list_(pyarrow.struct(list(zip(FIELDS, kinds, strict=True))))


def _language_feature() -> list[Any]:
    """`language_persistent` as Hugging Face's library describes it: a list of rows."""
    text, time = ({"dtype": kind, "_type": "Value"} for kind in ("string", "float32"))
    return [dict(zip(FIELDS, (text, text, text, time, text, [text]), strict=True))]


def _describe(metadata: dict[bytes, bytes] | None, new: dict[str, Any]) -> dict[bytes, bytes]:
    """Metadata of a table, with the new columns in the list of Hugging Face's library."""
    found = dict(metadata or {})
    if b"huggingface" in found:
        listed = json.loads(found[b"huggingface"])
        listed.get("info", {}).get("features", {}).update(new)
        found[b"huggingface"] = json.dumps(listed).encode()
    return found
