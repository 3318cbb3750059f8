"""Writes what `meta/` of a LeRobot data set has about each episode: stages, reasons, statistics."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..files.lerobot.features import NUMBERS, kind_of_feature, shape_of
from ..files.lerobot.frames import read_parquet, require_pyarrow
from ..files.lerobot.meta import LeRobotFolder
from ..files.lerobot.written_tables import LANGUAGE, summary, with_columns
from ..files.numbers import LARGEST
from .content import Annotations
from .lerobot_frames import DatasetFrames
from .quality_flags import episode_reasons

STAGES = ("names", "start_frames", "end_frames", "start_times", "end_times")  # of SARM


def write_episodes(
    annotations: Annotations,
    path: Path,
    out: Path,
    meta: list[Path],
    episodes: list[int],
    frames: DatasetFrames,
    numbers: dict[str, list[NDArray[Any]]],
    quality: bool,
    info: dict[str, Any],
) -> None:
    """SARM's stages, reasons to look at an episode, and statistics of the new columns."""
    about: dict[int, dict[str, Any]] = {episode: {} for episode in episodes}
    if len(annotations.subtasks.tools) == 1:
        for i, episode in enumerate(episodes):
            about[episode] = _stages(annotations, i, frames.times[i])
    if quality:
        for i, episode in enumerate(episodes):
            about[episode]["quality_reasons"] = episode_reasons(annotations, i)
    for i, episode in enumerate(episodes if frames.cut else ()):
        about[episode]["length"] = len(frames.times[i])
        if meta:
            first, last = int(frames.index[i].min()), int(frames.index[i].max())
            about[episode] |= {"dataset_from_index": first, "dataset_to_index": last + 1}
    stats = {
        episode: {name: summary(columns[i]) for name, columns in numbers.items()}
        for i, episode in enumerate(episodes)
    }
    for file in meta:
        table = read_parquet(file)
        if frames.cut:
            _cut_videos(table, about, episodes, frames, float(info["fps"]))
        table = with_columns(table, about, stats)
        require_pyarrow(file)[1].write_table(table, out / file.relative_to(path))
    lines: tuple[tuple[str, str | None, dict[int, dict[str, Any]]], ...] = (
        ("episodes.jsonl", None, about),
        ("episodes_stats.jsonl", "stats", stats),
    )
    for name, key, new in lines:
        file = out / "meta" / name
        if file.is_file():
            _update_lines(file, key, new)
    file = out / "meta" / "stats.json"
    if file.is_file():
        known = json.loads(file.read_text(encoding="utf-8"))
        quantiles = {key for one in known.values() for key in one}
        for name, columns in numbers.items():
            whole = summary(np.concatenate(columns))
            known[name] = {key: v for key, v in whole.items() if key in quantiles or not known}
        file.write_text(json.dumps(known, indent=4), encoding="utf-8")


def _cut_videos(
    table: Any,
    about: dict[int, dict[str, Any]],
    episodes: list[int],
    frames: DatasetFrames,
    fps: float,
) -> None:
    """New times of the episodes in the videos, from a table of episodes."""
    own = [episodes.index(episode) for episode in table.column("episode_index").to_pylist()]
    for name in (n for n in table.column_names if n.endswith("/from_timestamp")):
        for i, begins in zip(own, table.column(name).to_pylist(), strict=True):
            start = begins + round(float(frames.starts[i]) * fps) / fps
            ends = start + len(frames.times[i]) / fps
            until = name.replace("/from_", "/to_")
            about[episodes[i]] |= {name: start, until: ends}


def _stages(annotations: Annotations, i: int, times: NDArray[np.float32]) -> dict[str, Any]:
    """SARM's columns of an episode; its end frames are the last ones of a stage."""
    spans = annotations.spans(i)
    start, end = [span.start for span in spans], [span.end - 1 for span in spans]
    values = (
        [annotations.labels[span.label] for span in spans],
        start,
        end,
        times[start].astype(np.float64).tolist(),
        times[end].astype(np.float64).tolist(),
    )
    return {f"dense_subtask_{name}": v for name, v in zip(STAGES, values, strict=True)}


def _update_lines(file: Path, key: str | None, new: dict[int, dict[str, Any]]) -> None:
    """Add values to the lines of a file of v2, one for each episode."""
    lines = []
    for line in filter(str.strip, file.read_text(encoding="utf-8").splitlines()):
        row = json.loads(line)
        own = row if key is None else row.setdefault(key, {})
        added = new.get(int(row["episode_index"]))
        if added is None:  # the data of the episode are not on this machine
            for name in next(iter(new.values())):
                own.pop(name, None)
            lines.append(json.dumps(row, ensure_ascii=False))
            continue
        if key == "stats":  # only the statistics that the data set has
            known = {name for one in own.values() for name in one}
            added = {f: {k: v for k, v in s.items() if k in known} for f, s in added.items()}
        own.update(added)
        lines.append(json.dumps(row, ensure_ascii=False))
    file.write_text("\n".join(lines) + "\n", encoding="utf-8")


def feature_values(
    info: dict[str, Any], out: Path, episodes: list[int], new: dict[str, list[NDArray[Any]]]
) -> tuple[dict[str, list[NDArray[Any]]], list[str]]:
    """Features of numbers of the frames in the copy, by name: of each episode [T, d]."""
    every = info["features"]
    named = [n for n, about in every.items() if kind_of_feature(about) == NUMBERS]
    named = [n for n in named if len(shape_of(every[n]) or (1,)) == 1]
    copy = LeRobotFolder(out)
    parts = [copy.read_frames(file, named, False, LARGEST) for file in copy.data_files]
    which = np.concatenate([part.episodes for part in parts])
    found = dict(new)
    for i, name in enumerate(named):
        values = np.concatenate([part.values[i] for part in parts])
        found[name] = [values[which == episode] for episode in episodes]
    kept = sorted(set(every) - set(found) - {LANGUAGE})
    return found, [f"new statistics of {', '.join(kept)}"] * bool(kept)
