"""LeRobot data sets (v2.0, v2.1, v3.0) as trajectories.

`meta/info.json` describes the features; `data/` has .parquet files with a row for each frame, one
episode a file (v2) or many (v3); the lengths of episodes are in `meta/episodes.jsonl` (v2) or in
`meta/episodes/` (v3). The layouts are those of huggingface/lerobot, `lerobot/datasets/utils.py`.
Videos are not read. It takes pyarrow alone. `lerobot_annotations.py` writes.
"""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..errors import InputError
from ..inputs.trajectories import Trajectories
from .numbers import LARGEST
from .rates import stated_rate

STATE = "observation.state"


def is_lerobot(path: str | os.PathLike[str]) -> bool:
    """Whether a path is the folder of a LeRobot data set."""
    return (Path(path) / "meta" / "info.json").is_file()


def read_lerobot(path: str | os.PathLike[str], features: Sequence[str] = (STATE,)) -> Trajectories:
    """Read features of all episodes of a LeRobot data set, in order of `episode_index`.

    Parameters
    ----------
    path : path
        Its folder.
    features : sequence of str
        Features of numbers, such as "observation.state" or "action"; side by side if several.

    Returns
    -------
    Trajectories
        With the names that `meta/info.json` gives the features, and its `fps` as their rate, Hz
        (None without a number above 0).

    Raises
    ------
    InputError
        pyarrow is not installed; a file is missing or damaged; there is no such feature; or the
        episodes are not those of the metadata.
    """
    folder = Path(path)
    info = read_info(folder)
    known = {
        name: feature
        for name, feature in info["features"].items()
        if str(feature.get("dtype", "")).startswith(("float", "int", "uint"))
    }
    missing = [name for name in features if name not in known]
    if missing or not features:
        raise InputError(
            f"{folder} has no feature {', '.join(missing) or 'named'}: pass some of "
            f"{', '.join(sorted(known))} as read_lerobot(path, features=[...])"
        )
    names = tuple(name for f in features for name in _names(f, known[f]))
    if len(names) * int(info.get("total_frames", 0)) > LARGEST:
        raise InputError(f"{folder}: more than {LARGEST} numbers: take a part of the episodes")
    tables = [
        read_parquet(file, [*features, "episode_index", "frame_index"])
        for file in data_files(folder)
    ]
    states = np.concatenate(
        [np.concatenate([_matrix(t.column(f), f, folder) for f in features], 1) for t in tables]
    )
    if states.shape[1] != len(names):
        raise InputError(
            f"{folder}: {states.shape[1]} columns, and meta/info.json has {len(names)}: they "
            "should be of one data set"
        )
    episodes, frames = (
        np.concatenate([t.column(name).to_numpy() for t in tables])
        for name in ("episode_index", "frame_index")
    )
    order = np.lexsort((frames, episodes))
    found, lengths = np.unique(episodes, return_counts=True)
    expected = episode_lengths(folder)
    if dict(zip(found.tolist(), lengths.tolist(), strict=True)) != expected:
        raise InputError(
            f"{folder}: data/ has {len(found)} episodes of {lengths.sum()} frames, and meta/ has "
            f"{len(expected)} of {sum(expected.values())}: finish the recording, or load it again"
        )
    rate = stated_rate(info.get("fps"))
    return Trajectories(states[order], lengths, names, rate, tuple(map(str, found)))


def read_info(folder: Path) -> dict[str, Any]:
    """`meta/info.json` of a data set; InputError if it is none, or of another version."""
    try:
        info = json.loads((folder / "meta" / "info.json").read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise InputError(
            f"{folder} is no LeRobot data set ({error}): pass the folder that holds meta/info.json"
        ) from error
    version = str(info.get("codebase_version", "none")) if isinstance(info, dict) else "none"
    if not version.startswith(("v2.", "v3.")) or not isinstance(info.get("features"), dict):
        raise InputError(
            f"{folder} is a LeRobot data set of version {version}: convert it to v2.1 or v3.0 with "
            "LeRobot's own scripts"
        )
    return dict(info)


def _names(feature: str, about: dict[str, Any]) -> list[str]:
    """Names of a feature's columns: its own list, a dictionary of lists, or numbers."""
    given, width = about.get("names"), int(np.prod(about.get("shape", [1])))
    if isinstance(given, dict):
        given = [name for part in given.values() for name in np.atleast_1d(part)]
    if isinstance(given, list) and len(given) == width and width > 1:
        return [f"{feature}.{name}" for name in given]
    return [feature] if width == 1 else [f"{feature}.{column}" for column in range(width)]


def data_files(folder: Path) -> list[Path]:
    """Tables of frames; InputError if there are none."""
    files = sorted((folder / "data").glob("*/*.parquet"))
    if not files:
        raise InputError(f"{folder} has no data/*/*.parquet: load the data set with its data")
    return files


def episode_lengths(folder: Path) -> dict[int, int]:
    """Frames of each episode, by the metadata."""
    lines = folder / "meta" / "episodes.jsonl"
    files = sorted((folder / "meta" / "episodes").glob("*/*.parquet"))
    try:
        if lines.is_file():
            text = lines.read_text(encoding="utf-8").splitlines()
            rows = [json.loads(line) for line in text if line.strip()]
            return {int(row["episode_index"]): int(row["length"]) for row in rows}
        found: dict[int, int] = {}
        for file in files:
            table = read_parquet(file, ["episode_index", "length"])
            columns = (table.column(name).to_pylist() for name in ("episode_index", "length"))
            found.update(zip(*columns, strict=True))
        return found
    except InputError:
        raise
    except (ValueError, KeyError, TypeError) as error:
        raise InputError(
            f"{folder}/meta has damaged episodes ({error}): load the data set again"
        ) from error


def read_parquet(file: Path, columns: Sequence[str] | None = None) -> Any:
    """A table of some columns, or of all; InputError if it is damaged or lacks one."""
    pyarrow, parquet = require_pyarrow(file)
    try:
        with parquet.ParquetFile(file) as opened:
            missing = sorted(set(columns or ()) - set(opened.schema_arrow.names))
            if missing:
                raise InputError(
                    f"{file} has no column {', '.join(missing)}: load the data set again"
                )
            return opened.read(columns)
    except (OSError, pyarrow.ArrowException) as error:
        what = str(error).splitlines()[0]
        raise InputError(f"{file} cannot be read ({what}): load the data set again") from error


def require_pyarrow(path: Path) -> tuple[Any, Any]:
    """pyarrow and pyarrow.parquet; InputError if they are not installed."""
    try:
        import pyarrow
        import pyarrow.parquet
    except ImportError as error:
        raise InputError(
            f"{path}: pyarrow reads it and is not installed: pip install 'infoatlas-rt[datasets]'"
        ) from error
    return pyarrow, pyarrow.parquet


def _matrix(column: Any, feature: str, folder: Path) -> NDArray[Any]:
    """Numbers [n, d] of a column of numbers, or of lists of numbers of one length."""
    values = column.combine_chunks()
    if hasattr(values, "flatten") and hasattr(values.type, "value_type"):
        lengths = values.value_lengths()
        if values.null_count or len(lengths.unique()) != 1:
            raise InputError(f"{folder}: {feature} has rows of different lengths: fill them")
        values = values.flatten()
    if values.null_count:
        raise InputError(f"{folder}: {feature} has {values.null_count} missing values: fill them")
    return np.asarray(values.to_numpy(zero_copy_only=False)).reshape(len(column), -1)
