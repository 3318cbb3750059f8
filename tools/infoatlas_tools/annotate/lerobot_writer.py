"""Writes annotations into a copy of a LeRobot data set.

What is written, with the software that reads it (huggingface/lerobot unless named):

- on request, column `language_persistent` (v3.0): a row for each part, at the time of its first
  frame: LeRobot 0.6; earlier versions cannot open such a data set;
- column `subtask_index`, with names in `meta/subtasks.parquet` (v2: `.jsonl`): LeRobot 0.4 and 0.5;
- `dense_subtask_*` of episodes, `meta/temporal_proportions_dense.json`: SARM, a reward model;
- `sarm_progress.parquet`: policies trained with RA-BC weights;
- column `key_state`: the newest key state, as in `info["key_state"]` of `KeyStateWrapper`.
"""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from infoatlas_rt.errors import InputError
from infoatlas_rt.inputs.checks import as_choice

from ..files.lerobot.frames import counters, data_files, read_parquet, require_pyarrow, scalars
from ..files.lerobot.meta import episode_lengths, is_new, read_info
from ..files.lerobot.written_tables import (
    LANGUAGE,
    Columns,
    link_or_copy,
    names_table,
    rewrite_frames,
    summary,
    with_columns,
)
from .content import Annotations
from .quality_flags import episode_reasons, frame_flags

Int = NDArray[np.int64]

KEY_STATE, SUBTASK, QUALITY = "key_state", "subtask_index", "quality_flag"
STYLES = ("subtask", "motion")
STAGES = ("names", "start_frames", "end_frames", "start_times", "end_times")  # of SARM


def write_lerobot(
    annotations: Annotations,
    path: Path,
    out: Path,
    *,
    style: str | None = None,
    quality: bool = False,
) -> tuple[str, ...]:
    """Write a copy of a LeRobot data set with the annotations.

    Other content is copied; videos, images and files of more than 1 MiB are hard links where the
    disk allows them. Columns of an earlier annotation are replaced.

    Parameters
    ----------
    annotations, path, out
        The episodes are those that `read_lerobot(path)` returns.
    style : {"subtask", "motion"}, optional
        Style of the rows of `language_persistent`; no rows without it. PyTorch's default_collate
        refuses such rows, and LeRobot before 0.6 the data set.
    quality : bool
        Write the column `quality_flag` and the reasons to drop an episode.
    """
    if style is not None:
        as_choice(style, "style", STYLES)
    info = read_info(path)
    lengths = episode_lengths(path, info)
    episodes = _check(annotations, path, lengths)
    if path.resolve() in out.resolve().parents:
        raise InputError(f"{out} is inside {path}: choose a folder outside of it")
    new = is_new(info)
    files = data_files(path)
    frames = _Frames(files, episodes, annotations.lengths)
    numbers = _numbers(annotations, quality)
    language = None
    if style and new and not annotations.unnamed:
        language = _language(annotations, frames, style, path)
    meta = sorted((path / "meta" / "episodes").glob("*/*.parquet"))
    rewritten = {path / "meta" / "info.json", *files, *meta}
    rewritten |= {path / "meta" / name for name in ("subtasks.parquet", "subtasks.jsonl")}
    shutil.copytree(
        path,
        out,
        copy_function=link_or_copy,
        ignore=lambda folder, names: [n for n in names if Path(folder, n) in rewritten],
    )
    for file in files:
        rewrite_frames(file, out / file.relative_to(path), frames.places(file), numbers, language)
    _write_info(info, out, numbers, language is not None)
    _write_episodes(annotations, path, out, meta, episodes, frames, numbers, quality)
    _write_names(annotations, out, new)
    _write_progress(annotations, path, out, frames)
    notes = list(frames.notes)
    if len(episodes) < len(lengths):
        notes.append(
            f"{len(lengths) - len(episodes)} of {len(lengths)} episodes are not on this machine "
            "and not annotated: load the entire data set before files of the copy join the others"
        )
    if annotations.unnamed:
        notes.append(f"text of sub-tasks, because {annotations.unnamed}")
    elif style and not new:
        notes.append(
            f"LeRobot {info['codebase_version']} has no place for {LANGUAGE}: convert to v3.0 first"
        )
    if language is None and LANGUAGE in info["features"]:
        notes.append(f"changes of {LANGUAGE}: the data set has rows, which are kept")
    if len(annotations.subtasks.tools) > 1:
        notes.append("SARM has one sequence of stages: those of several tools are not written")
    elif annotations.reordered:
        notes.append(
            f"{annotations.reordered} episodes have the parts in another order, which SARM "
            "counts as going back"
        )
    return tuple(notes)


class _Frames:
    """Episode, step, time and number of every frame of a data set.

    Attributes
    ----------
    times : list of [T] float32
        Times of the frames of each episode, seconds.
    index : list of [T] int64
        Numbers of its frames in the data set.
    notes : list of str
    """

    def __init__(self, files: list[Path], episodes: list[int], lengths: Int) -> None:
        row_of = {episode: row for row, episode in enumerate(episodes)}
        columns = ["episode_index", "frame_index", "timestamp", "index"]
        own = {file: read_parquet(file, columns) for file in files}
        frames: list[list[Any]] = [[] for _ in episodes]
        self.notes: list[str] = []
        self._rows: dict[Path, tuple[Int, Int]] = {}
        for file, table in own.items():
            given, frame, index = (counters(table, columns[i], file) for i in (0, 1, 3))
            time = scalars(table, "timestamp", file)
            unknown = set(given.tolist()) - set(row_of)
            if unknown:
                raise InputError(
                    f"{file} has episode {min(unknown)}, which has no annotation (incomplete "
                    "episodes are left out): delete it with LeRobot's delete_episodes, or load the "
                    "data set again"
                )
            rows = np.array([row_of[episode] for episode in given.tolist()], np.int64)
            self._rows[file] = rows, frame
            for row in np.unique(rows).tolist():
                here = rows == row
                frames[row].append(np.stack([frame[here], index[here]]).astype(np.int64))
                frames[row].append(time[here].astype(np.float32))
        self.times: list[NDArray[np.float32]] = []
        self.index: list[Int] = []
        self._order: list[Int] = []
        for episode, parts, length in zip(episodes, frames, lengths.tolist(), strict=True):
            count = sum(part.shape[1] for part in parts[0::2])
            if count != length:
                raise InputError(
                    f"{files[0].parent.parent} has {count} frames of episode {episode}, and its "
                    f"annotations {length}: discover them again"
                )
            frame, index = np.concatenate(parts[0::2], axis=1)
            order = np.argsort(frame, kind="stable")
            self._order.append(frame[order])
            self.index.append(index[order])
            self.times.append(np.concatenate(parts[1::2])[order])

    def places(self, file: Path) -> tuple[Int, Int]:
        """Demonstration and step of each row of a file [n]."""
        rows, frame = self._rows[file]
        steps = np.zeros(len(rows), np.int64)
        for row in np.unique(rows).tolist():
            steps[rows == row] = np.searchsorted(self._order[row], frame[rows == row])
        return rows, steps


def _check(annotations: Annotations, path: Path, lengths: dict[int, int]) -> list[int]:
    """Number of the episode of each demonstration."""
    names = annotations.episodes
    episodes = [int(name) if name.isdecimal() else -1 for name in names]
    if len(set(episodes)) < len(episodes) or not set(episodes) <= set(lengths):
        raise InputError(
            f"{path} has {len(lengths)} episodes, and the annotations are of {len(names)}, "
            f"{sum(episode not in lengths for episode in episodes)} of them not among these: "
            "annotate the data set itself"
        )
    for episode, given in zip(episodes, annotations.lengths.tolist(), strict=True):
        if lengths[episode] != given:
            raise InputError(
                f"{path}: episode {episode} has {lengths[episode]} frames, and its annotations "
                f"{given}: annotate the data set itself"
            )
    return episodes


def _numbers(annotations: Annotations, quality: bool) -> Columns:
    """New columns of numbers, by name: of each demonstration [T] int64."""
    every = range(len(annotations.lengths))
    found = {
        SUBTASK: [annotations.active(i) for i in every],
        KEY_STATE: [annotations.newest(i) for i in every],
    }
    if quality:
        found[QUALITY] = [frame_flags(annotations, i) for i in every]
    return found


def _language(annotations: Annotations, frames: _Frames, style: str, path: Path) -> list[Any]:
    """Rows of `language_persistent` of each demonstration: new ones, and old ones of other styles.

    The text of a label is repeated where the label recurs: a row applies until the next one.
    """
    kept: list[list[Any]] = [[] for _ in annotations.lengths]
    if LANGUAGE in read_info(path)["features"]:
        lost = 0
        for file in data_files(path):
            rows, _ = frames.places(file)
            column = read_parquet(file, [LANGUAGE]).column(LANGUAGE)
            for row in np.unique(rows).tolist():
                old = column[int((rows == row).argmax())].as_py() or []
                kept[row] = [_plain(one) for one in old if one["style"] != style]
                lost += len(old) - len(kept[row])
        if lost:
            frames.notes.append(f"{lost} rows of {LANGUAGE} of style {style} are replaced")
    found = []
    for i, old in enumerate(kept):
        new = [
            {
                "role": "assistant",
                "content": annotations.labels[span.label],
                "style": style,
                "timestamp": float(frames.times[i][span.start]),
                "camera": None,
                "tool_calls": None,
            }
            for span in annotations.spans(i)
        ]
        found.append(sorted([*old, *new], key=lambda one: (one["timestamp"], one["style"] or "")))
    return found


def _plain(row: dict[str, Any]) -> dict[str, Any]:
    """A row of the file, with calls of tools as JSON."""
    calls = row.get("tool_calls")
    if calls is not None:
        calls = [call if isinstance(call, str) else json.dumps(call) for call in calls]
    return {**row, "tool_calls": calls}


def _write_info(info: dict[str, Any], out: Path, numbers: Columns, language: bool) -> None:
    features = info["features"]
    for name in numbers:
        features[name] = {"dtype": "int64", "shape": [1], "names": None}
    if language:
        features[LANGUAGE] = {"dtype": "language", "shape": [1], "names": None}
    text = json.dumps(info, indent=4, ensure_ascii=False)
    (out / "meta" / "info.json").write_text(text, encoding="utf-8")


def _write_episodes(
    annotations: Annotations,
    path: Path,
    out: Path,
    meta: list[Path],
    episodes: list[int],
    frames: _Frames,
    numbers: Columns,
    quality: bool,
) -> None:
    """SARM's stages, reasons to drop an episode, and statistics of the new columns."""
    about: dict[int, dict[str, Any]] = {episode: {} for episode in episodes}
    if len(annotations.subtasks.tools) == 1:
        for i, episode in enumerate(episodes):
            about[episode] = _stages(annotations, i, frames.times[i])
    if quality:
        for i, episode in enumerate(episodes):
            about[episode]["quality_reasons"] = episode_reasons(annotations, i)
    stats = {
        episode: {name: summary(columns[i]) for name, columns in numbers.items()}
        for i, episode in enumerate(episodes)
    }
    for file in meta:
        table = with_columns(read_parquet(file), about, stats)
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


def _write_names(annotations: Annotations, out: Path, new: bool) -> None:
    meta = out / "meta"
    if new and not annotations.unnamed:
        _, parquet = require_pyarrow(meta)
        parquet.write_table(names_table(annotations.labels), meta / "subtasks.parquet")
    elif not annotations.unnamed:
        lines = [
            json.dumps({"subtask_index": i, "subtask": label}, ensure_ascii=False)
            for i, label in enumerate(annotations.labels)
        ]
        (meta / "subtasks.jsonl").write_text("\n".join(lines) + "\n", encoding="utf-8")
    if len(annotations.subtasks.tools) == 1:
        shares = dict(zip(annotations.labels, annotations.shares().tolist(), strict=True))
        text = json.dumps(shares, indent=2, ensure_ascii=False)
        (meta / "temporal_proportions_dense.json").write_text(text, encoding="utf-8")


def _write_progress(annotations: Annotations, path: Path, out: Path, frames: _Frames) -> None:
    """Write `sarm_progress.parquet`; other columns of an existing file are kept."""
    pyarrow, parquet = require_pyarrow(path)
    every = range(len(frames.times))
    index = np.concatenate(frames.index)
    episodes = [int(name) for name in annotations.episodes]
    order = np.argsort(index, kind="stable")
    columns = {
        "index": index,
        "episode_index": np.repeat(episodes, annotations.lengths),
        "frame_index": np.concatenate([np.arange(len(frames.times[i])) for i in every]),
        "progress_dense": np.concatenate([annotations.progress(i) for i in every]).astype(
            np.float32
        ),
    }
    table = pyarrow.table({name: column[order] for name, column in columns.items()})
    file = out / "sarm_progress.parquet"
    if file.is_file():
        old = read_parquet(file)
        if old.column_names[:1] == ["index"] and old.column("index").equals(table.column("index")):
            for name in set(old.column_names) - set(table.column_names):
                table = table.append_column(name, old.column(name))
        file.unlink()  # it may be a link
    parquet.write_table(table, file)
