"""Writes annotations into a copy of a LeRobot data set.

What is written, with the software that reads it (huggingface/lerobot unless named):

- on request, column `language_persistent` (v3.0): a row for each part, at the time of its first
  frame: LeRobot 0.6; earlier versions cannot open such a data set;
- column `subtask_index`, with names in `meta/subtasks.parquet` (v2: `.jsonl`): LeRobot 0.4 and 0.5;
- `dense_subtask_*` of episodes, `meta/temporal_proportions_dense.json`: SARM, a reward model;
- `sarm_progress.parquet`: policies trained with RA-BC weights;
- column `key_state`: the newest key state, as in `info["key_state"]` of `KeyStateWrapper`.
"""

import json
import shutil
from collections.abc import Iterable, Mapping
from copy import deepcopy
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from infoatlas_rt.errors import InputError
from infoatlas_rt.inputs.checks import as_choice

from ..files.lerobot.frames import places_of, read_parquet, require_pyarrow
from ..files.lerobot.images import choose_camera
from ..files.lerobot.meta import LeRobotFolder
from ..files.lerobot.written_tables import (
    LANGUAGE,
    Columns,
    link_or_copy,
    names_table,
    rewrite_frames,
)
from ..run_folder import keep_finished, stamp
from .content import Annotations
from .lerobot_episodes import DatasetFrames, cut, feature_values, moving_bounds, write_episodes
from .quality_flags import frame_flags

PROGRESS = "sarm_progress.parquet"
KEY_STATE, SUBTASK, QUALITY = "key_state", "subtask_index", "quality_flag"
STYLES = ("subtask", "motion")
OTHERS = "not annotated"  # sub-task of episodes that were not chosen


def write_lerobot(
    annotations: Annotations,
    data: LeRobotFolder | Path,
    out: Path,
    *,
    style: str | None = None,
    quality: bool = False,
    trim: bool = False,
    shifts: Mapping[str, int] | None = None,
) -> tuple[str, ...]:
    """Write a copy of a LeRobot data set with the annotations.

    Other content is copied; videos, images and files of more than 1 MiB are hard links where the
    disk allows them. Columns of an earlier annotation are replaced. The episodes are those that
    `read_lerobot` returns.

    A `style`, "subtask" or "motion", is that of the rows of `language_persistent`; no rows without
    it. PyTorch's default_collate refuses such rows, and LeRobot before 0.6 the data set. With
    `quality`, the column `quality_flag` and the reasons to look at an episode are written. With
    `trim`, the frames outside of `moving_bounds` are left out. Videos stay as they are: in
    v3.0 their times in `meta/episodes` change. v2 has no such times, so its videos are refused.
    `shifts` are frames by which cameras are late, by their names; below 0 they are ahead. Their
    videos begin so much later, and states without a picture are left out.
    """
    if style is not None:
        as_choice(style, "style", STYLES)
    folder = data if isinstance(data, LeRobotFolder) else LeRobotFolder(data)
    path, info, lengths, new = folder.path, deepcopy(folder.info), folder.lengths, folder.is_new
    episodes = _check(annotations, path, lengths)
    if path.resolve() in out.resolve().parents:
        raise InputError(f"{out} is inside {path}: choose a folder outside of it")
    files = folder.files
    frames = DatasetFrames(folder, episodes, annotations.lengths)
    features = info["features"]
    shifts = {choose_camera(features, name, path): own for name, own in (shifts or {}).items()}
    if trim or shifts:
        _check_cut(folder, len(episodes) < len(lengths), shifts)
        late, lengths_now = [0, *shifts.values()], annotations.lengths
        bounds = moving_bounds(annotations) if trim else np.outer(lengths_now, (0, 1))
        first = np.maximum(bounds[:, 0], -min(late))
        last = np.minimum(bounds[:, 1], lengths_now - max(late))
        if (last <= first).any():
            raise InputError(f"{path} has episodes that would lose all frames: leave them out")
        annotations = cut(annotations, np.stack([first, last], axis=1))
        ends = ["at rest at an end"] * trim + ["without pictures of their time"] * bool(shifts)
        frames.trim(np.asarray(annotations.first), annotations.lengths, " or ".join(ends))
        frames.shifts = {name: own / float(info["fps"]) for name, own in shifts.items()}
        if trim and annotations.actions is None:
            frames.notes.append("actions, because none were read: rest is that of the states")
    numbers = _numbers(annotations, quality, map(len, frames.times[len(episodes) :]))
    if frames.others:
        frames.notes.append(
            f"{len(frames.others)} of {len(lengths)} episodes, of other tasks, without success or "
            f"incomplete: their sub-task is {OTHERS!r}"
        )
    if lacking := _no_text(annotations, folder, style):
        frames.notes.append(lacking)
    for name, own in features.items():
        if own["dtype"] == "video" and not any(path.glob(f"video*/**/{name}/**/*.mp4")):
            frames.notes.append(f"videos of {name}, which are not on this machine")
    style = style if new and not annotations.unnamed else None
    language = None
    if style or (frames.cut and LANGUAGE in info["features"]):
        language = _language(annotations, frames, style, folder)
    meta = folder.episode_files
    rewritten = {path / "meta" / "info.json", path / PROGRESS, *files, *meta}
    rewritten |= {path / "meta" / name for name in ("subtasks.parquet", "subtasks.jsonl")}
    places = [annotations.first, annotations.lengths, episodes]
    keep_finished(out, [numbers, frames.cut, language, places, stamp(path)])
    shutil.copytree(
        path,
        out,
        copy_function=link_or_copy,
        ignore=lambda folder, names: [n for n in names if Path(folder, n) in rewritten],
        dirs_exist_ok=True,
    )
    for file in files:
        target, columns = out / file.relative_to(path), {**frames.cut, **numbers}
        rewrite_frames(file, target, frames.places(file), columns, language)
    _write_info(info, out, numbers, language is not None, int(annotations.lengths.sum()))
    values: dict[str, list[NDArray[Any]]] = dict(numbers)
    if frames.cut:
        values, note = feature_values(info, out, episodes, values)
        frames.notes += note
    write_episodes(annotations, path, out, meta, episodes, frames, values, quality, info)
    _write_names(annotations, out, new, [*annotations.labels, *[OTHERS] * bool(frames.others)])
    _write_progress(annotations, path, out, frames)
    notes = list(frames.notes)
    absent = len(lengths) - len(episodes) - len(frames.others)
    if absent:
        notes.append(
            f"{absent} of {len(lengths)} episodes are not on this machine "
            "and not annotated: load the entire data set before files of the copy join the others"
        )
    if style is None and LANGUAGE in info["features"]:
        notes.append(f"changes of {LANGUAGE}: the data set has rows, which are kept")
    return (*notes, *_stage_notes(annotations))


def _no_text(annotations: Annotations, folder: LeRobotFolder, style: str | None) -> str:
    """Why no text of the sub-tasks is written; empty if it is, or none is wanted."""
    if annotations.unnamed:
        return f"text of sub-tasks, because {annotations.unnamed}"
    version = folder.info["codebase_version"]
    lacking = f"LeRobot {version} has no place for {LANGUAGE}: convert to v3.0 first"
    return lacking if style and not folder.is_new else ""


def _stage_notes(annotations: Annotations) -> list[str]:
    """Sentences about what SARM's stages cannot store."""
    if len(annotations.subtasks.tools) > 1:
        return ["SARM has one sequence of stages: those of several tools are not written"]
    number = int(annotations.reordered.sum())
    own = "episode has" if number == 1 else "episodes have"
    way = "the sub-tasks in another order, which SARM counts as going back"
    return [f"{number} {own} {way}"] * bool(number)


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


def _check_cut(folder: LeRobotFolder, partly: bool, shifts: Mapping[str, int]) -> None:
    """Raise InputError if frames cannot be cut, or pictures not be moved."""
    path, info = folder.path, folder.info
    for name in shifts:
        if not folder.is_new or info["features"][name]["dtype"] != "video":
            raise InputError(
                f"{path} has pictures of {name} without times of their own "
                f"({info['codebase_version']}, {info['features'][name]['dtype']}), so they cannot "
                "be moved: convert to v3.0 with videos first, or leave --fix-clock out"
            )
    if partly:
        raise InputError(
            f"{path} lacks episodes, or they are left out: load the entire data set, or delete the "
            "others with LeRobot's delete_episodes, before --trim or --fix-clock"
        )
    every = [about for about in info["features"].values() if isinstance(about, dict)]
    if any(about.get("dtype") == "video" for about in every) and not folder.is_new:
        raise InputError(
            f"{path} is of {info['codebase_version']} with a video for each episode, which has no "
            "place for its first frame: convert to v3.0 first, or leave --trim out"
        )


def _numbers(annotations: Annotations, quality: bool, others: Iterable[int]) -> Columns:
    """New columns of numbers, by name: of each demonstration, and each other episode, [T] int64.

    `others` are the lengths of the other episodes.
    """
    every = range(len(annotations.lengths))
    found = {
        SUBTASK: [annotations.active(i) for i in every],
        KEY_STATE: [annotations.newest(i) for i in every],
    }
    if quality:
        found[QUALITY] = [frame_flags(annotations, i) for i in every]
    for length in others:
        for name, own in found.items():
            other = {SUBTASK: len(annotations.labels), QUALITY: 0}.get(name, -1)
            own.append(np.full(length, other))
    return found


def _language(
    annotations: Annotations, frames: DatasetFrames, style: str | None, folder: LeRobotFolder
) -> list[Any]:
    """Rows of `language_persistent` of each demonstration: new ones, and old ones of other styles.

    The text of a label is repeated where the label recurs: a row applies until the next one.
    """
    kept: list[list[Any]] = [[] for _ in frames.times]
    if LANGUAGE in folder.info["features"]:
        lost = 0
        for file in folder.files:
            rows, _ = frames.places(file)
            column = read_parquet(file, [LANGUAGE]).column(LANGUAGE)
            for row, here in places_of(rows):
                old = column[int(here[0])].as_py() or []
                before = len(old)
                old = [one for one in old if style is None or one["style"] != style]
                kept[row] = [_plain(one, frames.starts[row]) for one in old]
                lost += before - len(old)
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
            for span in (annotations.spans(i) if style and i < len(annotations.lengths) else ())
        ]
        found.append(sorted([*old, *new], key=lambda one: (one["timestamp"], one["style"] or "")))
    return found


def _plain(row: dict[str, Any], start: float) -> dict[str, Any]:
    """A row of the file, with calls of tools as JSON, and its time since the first frame."""
    calls = row.get("tool_calls")
    if calls is not None:
        calls = [call if isinstance(call, str) else json.dumps(call) for call in calls]
    return {**row, "tool_calls": calls, "timestamp": max(row["timestamp"] - start, 0.0)}


def _write_info(
    info: dict[str, Any], out: Path, numbers: Columns, language: bool, total: int
) -> None:
    features = info["features"]
    if "total_frames" in info:
        info["total_frames"] = total
    for name in numbers:
        features[name] = {"dtype": "int64", "shape": [1], "names": None}
    if language:
        features[LANGUAGE] = {"dtype": "language", "shape": [1], "names": None}
    text = json.dumps(info, indent=4, ensure_ascii=False)
    (out / "meta" / "info.json").write_text(text, encoding="utf-8")


def _write_names(annotations: Annotations, out: Path, new: bool, labels: list[str]) -> None:
    meta = out / "meta"
    if new and not annotations.unnamed:
        _, parquet = require_pyarrow(meta)
        parquet.write_table(names_table(labels), meta / "subtasks.parquet")
    elif not annotations.unnamed:
        lines = [
            json.dumps({"subtask_index": i, "subtask": label}, ensure_ascii=False)
            for i, label in enumerate(labels)
        ]
        (meta / "subtasks.jsonl").write_text("\n".join(lines) + "\n", encoding="utf-8")
    if len(annotations.subtasks.tools) == 1:
        shares = dict(zip(annotations.labels, annotations.shares().tolist(), strict=True))
        text = json.dumps(shares, indent=2, ensure_ascii=False)
        (meta / "temporal_proportions_dense.json").write_text(text, encoding="utf-8")


def _write_progress(annotations: Annotations, path: Path, out: Path, frames: DatasetFrames) -> None:
    """Write SARM's progress; other columns of an existing file are kept."""
    pyarrow, parquet = require_pyarrow(path)
    every = range(len(annotations.lengths))
    index = np.concatenate([frames.index[i] for i in every])
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
    if (path / PROGRESS).is_file():
        old = read_parquet(path / PROGRESS)
        if old.column_names[:1] == ["index"] and old.column("index").equals(table.column("index")):
            for name in set(old.column_names) - set(table.column_names):
                table = table.append_column(name, old.column(name))
    parquet.write_table(table, out / PROGRESS)
