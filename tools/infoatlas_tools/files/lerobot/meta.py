"""Metadata of a LeRobot data set: `meta/info.json` and the lengths of its episodes."""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from infoatlas_rt.errors import InputError

from ..numbers import check_regular
from .frames import counters, read_parquet

PLACES = ("data/chunk_index", "data/file_index")  # of an episode's frames (v3)


def info_file(folder: Path) -> Path:
    """`meta/info.json`, or that of v1, which is in `meta_data`."""
    new, old = (folder / name / "info.json" for name in ("meta", "meta_data"))
    return old if old.is_file() and not new.is_file() else new


def lance_tables(folder: Path) -> list[Path]:
    """Tables of Lance in a folder."""
    try:
        return sorted([*folder.glob("*.lance"), *folder.glob("data/*.lance")])
    except OSError:
        return []


def is_others(folder: Path) -> bool:
    """Whether `meta/info.json` is of another program: LeRobot's has `codebase_version`."""
    try:
        info = json.loads(info_file(folder).read_text(encoding="utf-8-sig"))
    except (OSError, ValueError, RecursionError):
        return False
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
        tables and not any((folder / "data").glob("*/*.parquet"))
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


def stated_files(
    files: list[Path], folder: Path, info: dict[str, Any], episodes: Iterable[int]
) -> list[Path]:
    """Tables of frames that the metadata name; all if they name none of them."""
    try:
        pattern, size = info["data_path"], info.get("chunks_size", 1000)
        if is_new(info):
            places: set[tuple[int, int]] = set()
            for file in sorted((folder / "meta" / "episodes").glob("*/*.parquet")):
                table = read_parquet(file, PLACES)
                places |= {*zip(*(counters(table, n, file).tolist() for n in PLACES), strict=True)}
            named = {folder / pattern.format(chunk_index=c, file_index=f) for c, f in places}
        else:
            named = {
                folder / pattern.format(episode_chunk=e // size, episode_index=e) for e in episodes
            }
    except (InputError, LookupError, TypeError, ValueError, AttributeError, ArithmeticError):
        return files  # older writers have no such places
    return [file for file in files if file in named] or files


def is_new(info: dict[str, Any]) -> bool:
    """Whether a data set is of v3."""
    return str(info["codebase_version"]).startswith("v3.")


def episode_lengths(folder: Path, info: dict[str, Any]) -> dict[int, int]:
    """Frames of each episode, by the metadata of the version."""
    found: dict[int, int] = {}
    pairs: list[tuple[int, int]] = []
    if is_new(info):
        what = folder / "meta" / "episodes"
        for file in sorted(what.glob("*/*.parquet")):
            table = read_parquet(file, ["episode_index", "length"])
            columns = (counters(table, name, file) for name in ("episode_index", "length"))
            pairs += zip(*(column.tolist() for column in columns), strict=True)
    else:
        what = folder / "meta" / "episodes.jsonl"
        if what.is_file():
            check_regular(what)
        try:
            text = what.read_text(encoding="utf-8-sig") if what.is_file() else ""
            rows = [json.loads(line) for line in text.splitlines() if line.strip()]
            pairs = [(_count(row["episode_index"]), _count(row["length"])) for row in rows]
        except (OSError, ValueError, KeyError, TypeError, RecursionError) as error:
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
        version = info["codebase_version"]
        raise InputError(
            f"{what} has no episodes, and meta/info.json has {version}: load the data set again, "
            "or convert it with LeRobot's own scripts"
        )
    return found


def _count(value: Any) -> int:
    if type(value) is not int or value < 0:
        raise ValueError(f"{value!r:.20} is no count")
    return value
