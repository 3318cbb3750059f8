"""Metadata of a LeRobot data set: `meta/info.json` and the lengths of its episodes."""

import json
import os
from collections.abc import Sequence
from functools import cached_property
from pathlib import Path
from typing import Any

from infoatlas_rt.errors import InputError

from ...folder_entries import entries
from ..numbers import check_regular, is_pointer, read_json
from .frames import (
    EPISODE,
    FRAME,
    SUCCESS,
    TASK,
    TIME,
    Frames,
    as_frames,
    check_columns,
    counters,
    read_parquet,
)

PLACES = ("data/chunk_index", "data/file_index")  # of an episode's frames (v3)
VIDEO_PLACES = ("chunk_index", "file_index", "from_timestamp")  # of its frames in a video (v3)
COUNTERS = (EPISODE, FRAME, TIME, "index")  # columns of frames that writers need
# What a file of JSON that is damaged, or not as expected, can raise.
DAMAGES = (OSError, ValueError, LookupError, TypeError, AttributeError, RecursionError)


class LeRobotFolder:
    """A LeRobot data set, opened once for all that reads it or writes a copy.

    `info` is `meta/info.json`. Tables of episodes are read once.
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.path = Path(path)
        self.info = read_info(self.path)
        self._tables: dict[Path, Any] = {}

    @property
    def is_new(self) -> bool:
        """Whether the data set is of v3."""
        return str(self.info["codebase_version"]).startswith("v3.")

    @cached_property
    def data_files(self) -> list[Path]:
        """Tables of frames that are on this machine; InputError if there are none."""
        files = entries(self.path / "data", "*.parquet", "*/*.parquet")
        if not files:
            raise InputError(
                f"{self.path} has no data/*/*.parquet: load the data set with its data"
            )
        here = [file for file in files if not is_pointer(file)]
        if not here:
            raise InputError(f"{self.path}: Git LFS has not loaded data/: run git lfs pull")
        return here

    @cached_property
    def files(self) -> list[Path]:
        """Tables of frames that the metadata name; all if they name none of them."""
        info, path = self.info, self.path
        try:
            pattern, size = info["data_path"], info.get("chunks_size", 1000)
            if self.is_new:
                places: set[tuple[int, int]] = set()
                for file in self.episode_files:
                    table = self.episodes(file, PLACES)
                    numbers = [counters(table, name, file).tolist() for name in PLACES]
                    places |= {*zip(*numbers, strict=True)}
                named = {path / pattern.format(chunk_index=c, file_index=f) for c, f in places}
            else:
                named = {
                    path / pattern.format(episode_chunk=e // size, episode_index=e)
                    for e in self.lengths
                }
        except (InputError, LookupError, TypeError, ValueError, AttributeError, ArithmeticError):
            return self.data_files  # older writers have no such places
        return [file for file in self.data_files if file in named] or self.data_files

    @cached_property
    def task_names(self) -> dict[int, str]:
        """Names of tasks by their numbers, of `meta/tasks`; empty if it cannot be read."""
        meta, names = self.path / "meta", dict[int, str]()
        try:
            if (meta / "tasks.parquet").is_file():
                rows = read_parquet(meta / "tasks.parquet").to_pylist()
            else:
                rows = _json_lines(meta / "tasks.jsonl")
            for row in rows:
                number, *texts = row.pop(TASK), *(v for v in row.values() if isinstance(v, str))
                names[_count(number)] = texts[0]
        except (InputError, *DAMAGES):
            return {}
        return names

    @cached_property
    def episode_tasks(self) -> dict[int, str]:
        """Tasks of episodes by the table of episodes, those of one joined; empty without any."""
        try:
            if self.is_new:
                tables = [self.episodes(file, [EPISODE, "tasks"]) for file in self.episode_files]
                rows = [row for t in tables for row in t.select([EPISODE, "tasks"]).to_pylist()]
            else:
                rows = _json_lines(self.path / "meta" / "episodes.jsonl")
            return {_count(row[EPISODE]): "; ".join(map(str, row["tasks"])) for row in rows}
        except (InputError, *DAMAGES):
            return {}

    @cached_property
    def lengths(self) -> dict[int, int]:
        """Frames of each episode, by the metadata of the version."""
        found: dict[int, int] = {}
        pairs: list[tuple[int, int]] = []
        if self.is_new:
            what = self.path / "meta" / "episodes"
            for file in self.episode_files:
                names = (EPISODE, "length")
                table = self.episodes(file, names)
                columns = (counters(table, name, file) for name in names)
                pairs += zip(*(column.tolist() for column in columns), strict=True)
        else:
            what = self.path / "meta" / "episodes.jsonl"
            if what.is_file():
                check_regular(what)
            try:
                rows = _json_lines(what) if what.is_file() else []
                pairs = [(_count(row["episode_index"]), _count(row["length"])) for row in rows]
            except DAMAGES as error:
                raise InputError(
                    f"{what} is damaged ({error!r:.80}): load the data set again"
                ) from error
        for episode, length in pairs:
            if found.setdefault(episode, length) != length:
                raise InputError(
                    f"{what} has episode {episode} with {found[episode]} and with {length} frames: "
                    "keep the row that is right, or load the data set again"
                )
        if not found:
            version = self.info["codebase_version"]
            raise InputError(
                f"{what} has no episodes, and meta/info.json has {version}: load the data set "
                "again, or convert it with LeRobot's own scripts"
            )
        return found

    @cached_property
    def episode_files(self) -> list[Path]:
        """Tables of episodes (v3)."""
        return entries(self.path / "meta" / "episodes", "*/*.parquet")

    def episodes(self, file: Path, columns: Sequence[str]) -> Any:
        """Columns of a table of episodes."""
        if file not in self._tables:
            videos = [f"videos/{n}/{own}" for n in self.info["features"] for own in VIDEO_PLACES]
            also = [EPISODE, "length", "tasks", *PLACES, *videos]
            self._tables[file] = read_parquet(file, (), also=also)
        check_columns(self._tables[file].column_names, columns, file)
        return self._tables[file]

    def read_frames(self, file: Path, features: Sequence[str], timed: bool, most: int) -> Frames:
        """Features of numbers of at most `most` rows; `timed` is for `timestamp`, too."""
        own = dict.fromkeys([*features, EPISODE, FRAME, *([TIME] if timed else [])])
        table = read_parquet(file, list(own), most, also=(TASK, *SUCCESS))
        return as_frames(table, features, timed, file)


def info_file(folder: Path) -> Path:
    """`meta/info.json`, or that of v1, which is in `meta_data`."""
    new, old = (folder / name / "info.json" for name in ("meta", "meta_data"))
    return old if old.is_file() and not new.is_file() else new


def lance_tables(folder: Path) -> list[Path]:
    """Tables of Lance in a folder."""
    try:
        return entries(folder, "*.lance", "data/*.lance")
    except OSError:
        return []


def is_others(folder: Path) -> bool:
    """Whether `meta/info.json` is of another program: LeRobot's has `codebase_version`."""
    info = read_json(info_file(folder))
    return isinstance(info, dict) and "codebase_version" not in info


def read_info(folder: Path) -> dict[str, Any]:
    """`meta/info.json` of a data set; InputError if it is not LeRobot's, or of another version."""
    tables, file = lance_tables(folder), info_file(folder)
    if tables and not file.is_file():
        raise InputError(_lance_text(tables[0]))
    size = check_regular(file)
    try:
        info = json.loads(file.read_text(encoding="utf-8-sig"))
    except (OSError, ValueError, RecursionError) as error:
        what = error if size else "it is empty"
        raise InputError(f"{file} cannot be read ({what}): load the data set again") from error
    if not isinstance(info, dict):
        raise InputError(f"{file} is no table of values: load the data set again")
    stored = info.get("storage_format")
    if (isinstance(stored, str) and stored.lower() == "lance") or (
        tables and not entries(folder / "data", "*/*.parquet")
    ):
        raise InputError(_lance_text(tables[0] if tables else folder))
    version = str(info.get("codebase_version", "none"))
    if not version.startswith(("v2.", "v3.")):
        raise InputError(
            f"{folder} is a LeRobot data set of version {version:.20}: convert it to v2.1 or v3.0 "
            "with LeRobot's own scripts"
        )
    if not isinstance(info.get("features"), dict):
        raise InputError(f"{folder}/meta/info.json has no features: load the data set again")
    return dict(info)


def _lance_text(path: Path) -> str:
    return (
        f"{path} is stored by Lance, which is not read. Load a copy of the data set with "
        "data/*/*.parquet, or save the frames in the layout of v3.0 "
        "(lance.dataset(PATH).to_table(), then pyarrow.parquet.write_table)"
    )


def _json_lines(file: Path) -> list[Any]:
    text = file.read_text(encoding="utf-8-sig")
    return [json.loads(line) for line in text.splitlines() if line.strip()]


def _count(value: Any) -> int:
    if type(value) is not int or value < 0:
        raise ValueError(f"{value!r:.20} is no count")
    return value
