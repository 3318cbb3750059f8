"""Frames of a LeRobot data set that is annotated: their episodes, steps, times and numbers."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from infoatlas_rt.errors import InputError
from infoatlas_rt.live.timing import NOMINAL

from ..files.lerobot.frames import TIME, counters, scalars
from ..files.lerobot.meta import COUNTERS, LeRobotFolder
from ..keystates.motion.motion_scales import quanta
from ..keystates.trust.quality import IDLE, dithers
from .content import Annotations

Int = NDArray[np.int64]

ENDS = ("start", "end")  # of a part


class DatasetFrames:
    """Episode, step, time and number of every frame of a data set.

    `times` and `index` are lists of [T]: the times of the frames of each episode, seconds, and
    their numbers in the data set. If some are cut, `cut` has new columns of those that remain, and
    `starts` [N] the times of the first of them.
    """

    def __init__(self, folder: LeRobotFolder, episodes: list[int], lengths: Int) -> None:
        row_of = {episode: row for row, episode in enumerate(episodes)}
        frames: list[list[Any]] = [[] for _ in episodes]
        self.notes: list[str] = []
        self._rows: dict[Path, tuple[Int, Int]] = {}
        for file in folder.files:
            table = folder.counters(file, COUNTERS)
            given, frame, index = (counters(table, COUNTERS[i], file) for i in (0, 1, 3))
            time = scalars(table, TIME, file)
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
        self.cut: dict[str, list[Any]] = {}
        self.starts = np.zeros(len(episodes))
        self._first = np.zeros(len(episodes), np.int64)
        self.times: list[NDArray[np.float32]] = []
        self.index: list[Int] = []
        self._order: list[Int] = []
        for episode, parts, length in zip(episodes, frames, lengths.tolist(), strict=True):
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

    def trim(self, first: Int, lengths: Int) -> None:
        """Keep `lengths` frames of each episode, from frame `first` on."""
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
        self.notes.append(f"{before - len(number)} of {before} frames, at rest at an end")

    def places(self, file: Path) -> tuple[Int, Int]:
        """Demonstration and step of each row of a file [n]; the step is -1 if it is cut."""
        rows, frame = self._rows[file]
        steps = np.zeros(len(rows), np.int64)
        for row in np.unique(rows).tolist():
            own = np.searchsorted(self._order[row], frame[rows == row]) - self._first[row]
            steps[rows == row] = np.where(own < len(self.times[row]), own.clip(-1), -1)
        return rows, steps


def trimmed(annotations: Annotations) -> Annotations:
    """The same without the first and last steps at which nothing moves and no action changes."""
    bounds, actions = [], annotations.actions
    if actions is not None:
        steps = [np.diff(own, axis=0) for own in actions]
        limit = IDLE * np.sqrt((np.concatenate(steps) ** 2).mean(axis=0))
        quantum = quanta(steps)
        spread = np.ptp(np.concatenate(actions), axis=0)
        quantum[spread < 2.5 * quantum] = 0.0  # a switch
    for i, length in enumerate(annotations.lengths.tolist()):
        moving = ~annotations.idle(i)
        if actions is not None:
            own = np.diff(actions[i], axis=0)
            noise = dithers(actions[i], quantum, annotations.rate or NOMINAL)
            changes = ((np.abs(own) > limit) & ~noise).any(axis=1)
            moving[: len(changes)] |= changes
        at = np.flatnonzero(moving[:-1])
        bounds.append((at[0], at[-1] + 2) if len(at) else (0, length))
    first, last = np.array(bounds, np.int64).T
    parts = tuple(
        replace(part, **{k: (getattr(part, k) - first).clip(0, last - first) for k in ENDS})
        for part in annotations.subtasks.parts
    )
    subtasks = replace(annotations.subtasks, parts=parts, lengths=last - first)
    return replace(annotations, subtasks=subtasks, first=first)
