"""Tables of a LeRobot data set that is annotated: its frames, and what `meta/` has of episodes."""

import json
from collections import defaultdict
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from infoatlas_rt.errors import InputError

from ..array_types import Int
from ..files.lerobot.features import NUMBERS, kind_of_feature, shape_of
from ..files.lerobot.frames import TIME, counters, places_of, read_parquet, require_pyarrow, scalars
from ..files.lerobot.meta import COUNTERS, LeRobotFolder
from ..files.lerobot.written_tables import LANGUAGE, summary, with_columns
from ..files.numbers import LARGEST
from ..keystates.motion.durations import NOMINAL
from ..keystates.motion.motion_scales import quanta, root_mean_square
from ..keystates.trust.quality import IDLE, dithers
from .content import Annotations
from .quality_flags import episode_reasons

ENDS = ("start", "end")  # of a part
STAGES = ("names", "start_frames", "end_frames", "start_times", "end_times")  # of SARM


class DatasetFrames:
    """Episode, step, time and number of every frame of a data set.

    `times` and `index` are lists of [T]: the times of the frames of each episode, seconds, and
    their numbers in the data set. Complete episodes without annotations, `others`, come last. If
    some frames are cut, `cut` has new columns of those that remain, and
    `starts` [N] the times of the first of them. `shifts` are seconds by which videos of cameras
    begin later than their states, by names of features.
    """

    def __init__(self, folder: LeRobotFolder, episodes: list[int], lengths: Int) -> None:
        row_of = {episode: row for row, episode in enumerate(episodes)}
        frames: dict[int, list[Any]] = defaultdict(list)
        self.notes: list[str] = []
        self._rows: dict[Path, tuple[Int, Int]] = {}
        for file in folder.files:
            table = read_parquet(file, COUNTERS)
            given, frame, index = (counters(table, COUNTERS[i], file) for i in (0, 1, 3))
            time = scalars(table, TIME, file)
            numbers, at, which = np.unique(given, return_index=True, return_inverse=True)
            for episode in numbers[np.argsort(at)].tolist():
                row_of.setdefault(episode, len(row_of))
            rows = np.array([row_of[episode] for episode in numbers.tolist()], np.int64)[which]
            self._rows[file] = rows, frame
            for row, here in places_of(rows):
                frames[row].append(np.stack([frame[here], index[here]]).astype(np.int64))
                frames[row].append(time[here].astype(np.float32))
        self.others = [*row_of][len(episodes) :]
        for row, episode in enumerate(self.others, start=len(episodes)):
            count = sum(part.shape[1] for part in frames[row][0::2])
            if count != folder.lengths.get(episode):
                raise InputError(
                    f"{folder.path} has episode {episode}, which has no annotation (incomplete "
                    "episodes are left out): delete it with LeRobot's delete_episodes, or load the "
                    "data set again"
                )
            lengths = np.r_[lengths, count]
        self.cut: dict[str, list[Any]] = {}
        self.shifts: dict[str, float] = {}
        self.starts = np.zeros(len(row_of))
        self._first = np.zeros(len(row_of), np.int64)
        self.times: list[NDArray[np.float32]] = []
        self.index: list[Int] = []
        self._order: list[Int] = []
        for (episode, row), length in zip(row_of.items(), lengths.tolist(), strict=True):
            parts = frames[row]
            count = sum(part.shape[1] for part in parts[0::2])
            if count != length:
                raise InputError(
                    f"{folder.path / 'data'} has {count} frames of episode {episode}, and its "
                    f"annotations {length}: discover them again"
                )
            frame, index = np.concatenate(parts[0::2], axis=1)
            order = np.argsort(frame, kind="stable")
            self._order.append(frame[order])
            self.index.append(index[order])
            self.times.append(np.concatenate(parts[1::2])[order])

    def trim(self, first: Int, lengths: Int, why: str) -> None:
        """Keep `lengths` frames of each episode, from frame `first` on; the others are `why`."""
        before = sum(map(len, self.times))
        own = [slice(i, i + n) for i, n in zip(first.tolist(), lengths.tolist(), strict=True)]
        times = [t[kept] for t, kept in zip(self.times, own, strict=True)]
        self.index = [index[kept] for index, kept in zip(self.index, own, strict=True)]
        number = np.sort(np.concatenate(self.index))
        self.index = [np.searchsorted(number, index) for index in self.index]
        self.starts = np.array([t[0] for t in times], np.float64)
        self.times = [(t - t[0].astype(np.float64)).astype(np.float32) for t in times]
        self._first = first
        steps = [np.arange(n) for n in lengths]
        self.cut = {"timestamp": self.times, "frame_index": steps, "index": self.index}
        self.notes.append(f"{before - len(number)} of {before} frames, {why}")

    def places(self, file: Path) -> tuple[Int, Int]:
        """Demonstration and step of each row of a file [n]; the step is -1 if it is cut."""
        rows, frame = self._rows[file]
        steps = np.zeros(len(rows), np.int64)
        for row, here in places_of(rows):
            own = np.searchsorted(self._order[row], frame[here]) - self._first[row]
            steps[here] = np.where(own < len(self.times[row]), own.clip(-1), -1)
        return rows, steps


def moving_bounds(annotations: Annotations) -> Int:
    """First step, and end [N, 2], between which something moves or an action changes."""
    bounds, actions = [], annotations.actions
    if actions is not None:
        limit, quantum = IDLE * root_mean_square(actions), quanta(actions)
        low, high = (f([f(own, axis=0) for own in actions], axis=0) for f in (np.min, np.max))
        quantum[high - low < 2.5 * quantum] = 0.0  # a switch
    for i, length in enumerate(annotations.lengths.tolist()):
        moving = ~annotations.idle(i)
        if actions is not None:
            own = np.diff(actions[i], axis=0)
            noise = dithers(actions[i], quantum, annotations.rate or NOMINAL)
            changes = ((np.abs(own) > limit) & ~noise).any(axis=1)
            moving[: len(own)] |= changes
        at = np.flatnonzero(moving[:-1])
        bounds.append((at[0], at[-1] + 2) if len(at) else (0, length))
    return np.array(bounds, np.int64)


def cut(annotations: Annotations, bounds: Int) -> Annotations:
    """The same without the steps before and after `bounds` [N, 2]."""
    first, last = bounds.T
    parts = tuple(
        replace(part, **{k: (getattr(part, k) - first).clip(0, last - first) for k in ENDS})
        for part in annotations.subtasks.parts
    )
    subtasks = annotations.subtasks
    times = [t[a:b] - t[a] for t, a, b in zip(subtasks.times, first, last, strict=False)]
    subtasks = replace(subtasks, parts=parts, lengths=last - first, times=times)
    return replace(annotations, subtasks=subtasks, first=first)


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
    about: dict[int, dict[str, Any]] = {}
    for i, episode in enumerate(episodes):
        one = len(annotations.subtasks.tools) == 1
        own = about[episode] = _stages(annotations, i, frames.times[i]) if one else {}
        if quality:
            own["quality_reasons"] = episode_reasons(annotations, i)
        if frames.cut:
            own["length"] = len(frames.times[i])
        if frames.cut and meta:
            first, last = int(frames.index[i].min()), int(frames.index[i].max())
            own |= {"dataset_from_index": first, "dataset_to_index": last + 1}
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
    place = {episode: i for i, episode in enumerate(episodes)}
    own = [place[episode] for episode in table.column("episode_index").to_pylist()]
    for name in (n for n in table.column_names if n.endswith("/from_timestamp")):
        for i, begins in zip(own, table.column(name).to_pylist(), strict=True):
            start = begins + round(float(frames.starts[i]) * fps) / fps
            start += frames.shifts.get(name.split("/")[1], 0.0)
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
        elif key == "stats":  # only the statistics that the data set has
            known = {name for one in own.values() for name in one}
            added = {f: {k: v for k, v in s.items() if k in known} for f, s in added.items()}
        own.update(added or {})
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
    here = dict(places_of(np.concatenate([part.episodes for part in parts])))
    found = dict(new)
    for i, name in enumerate(named):
        values = np.concatenate([part.values[i] for part in parts])
        found[name] = [values[here[episode]] for episode in episodes]
    kept = sorted(set(every) - set(found) - {LANGUAGE})
    return found, [f"new statistics of {', '.join(kept)}"] * bool(kept)
