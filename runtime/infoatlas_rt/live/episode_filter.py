"""Follows episodes side by side: working steps, detectors of key states, progress of sub-tasks.

`KeyStateTracker` (`tracker.py`) has one episode, `VectorTracker` one for each environment.
"""

from dataclasses import replace
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from ..errors import InputError
from ..inputs.checks import as_rate
from ..inputs.copies import Stateful
from ..inputs.ring import Ring
from ..streams.events import KEY_STATE, Event
from .coordinates import Follower
from .detectors import Detectors
from .outcome import NOT_BEGUN, STATES, UNKNOWN, Outcome, OutcomeFilter
from .progress_filter import ProgressFilter
from .progress_model import relative
from .subtasks import SubtaskState
from .task import Task

Float = NDArray[np.float64]
Int = NDArray[np.int64]
FOREVER = 2**62  # working steps


class LiveFilter(Stateful):
    """Follows episodes, one a row.

    `rate` is in states a second (Hz), that of the demonstrations unless given. With `follow_all`,
    key states and sub-tasks that cannot be followed well are followed, too. `step` [E] is that of
    the newest state of each episode, -1 before the first. `followed` [K] are key states, and
    `progress` has a filter for each tool.
    """

    def __init__(
        self, task: Task, rows: int, rate: float | None = None, follow_all: bool = False
    ) -> None:
        self._detectors = own = task.detectors
        self.followed = own.reported(follow_all)
        self._stride, self._parts = _pace(own, rate)
        self._path = Follower(own.coordinates, rows)
        self._subtasks, self._follow_all = task.subtasks, follow_all
        tools = () if task.subtasks is None else task.subtasks.tools
        self.progress: tuple[ProgressFilter, ...] = tuple(tool.filter(rows) for tool in tools)
        self._pairs = np.concatenate(
            [np.empty((0, 6), np.int64), *(tool.model.pairs for tool in tools)]
        )
        ends = np.cumsum([0, *(3 * len(tool.model.pairs) for tool in tools)]).tolist()
        self._own = [slice(a, b) for a, b in pairwise(ends)]  # of each tool
        self.outcomes = OutcomeFilter(task.outcome, self.progress, rows)
        self._width = width = len(own.coordinates.parts)
        self._depth = own.features.before + own.features.after + 1
        self._recent = Ring(self._depth, rows, width)
        self._sum, self._newest = np.zeros((2, rows, width + 3 * len(self._pairs)))
        self._scores = np.full((rows, 2, len(own.offset)), -np.inf)  # of the last two steps
        # Working step from which a key state may be reported, and parts of the tools at its report.
        self._free = np.empty((rows, len(own.offset)), np.int64)
        self._parts_then = np.zeros((rows, len(own.offset), len(tools)), np.int64)
        self.step, self._working = np.empty((2, rows), np.int64)
        self.reset(np.arange(rows))

    def reset(self, rows: Int) -> None:
        """Forget some episodes; their next state is the first of a new one."""
        self.step[rows] = self._working[rows] = -1
        self._sum[rows] = 0.0
        self._scores[rows] = -np.inf
        self._free[rows] = 0
        self._path.reset(rows)
        for progress in self.progress:
            progress.reset(rows)
        self.outcomes.reset(rows)

    def place(self, tool: int = 0) -> tuple[Int, Float, Float, Float]:
        """Sub-task and progress of each episode, for one tool: index, progress, total, waiting [E].

        The index is in `LiveSubtasks.parts`; -1 before the first working step, and in a part that
        is not followed. The progress is that within the part, and the total that within the task; 0
        if the index is -1. Waiting is the time without progress, divided by the usual longest time.
        """
        assert self._subtasks is not None  # there is a tool
        about, own = self._subtasks.tools[tool], self.progress[tool]
        part = np.maximum(own.part, 0)
        known = (own.part >= 0) & (self._follow_all | about.followed[part])
        before = about.model.before
        total = before[part] + own.progress * (before[part + 1] - before[part])
        return (
            np.where(known, about.model.parts[part], -1),
            np.where(known, own.progress, 0.0),
            np.where(known, total, 0.0),
            own.waiting / about.usual[part],
        )

    def subtask_state(self, row: int, tool: int = 0) -> SubtaskState | None:
        """Sub-task and progress of an episode, for one tool; None if that is not known."""
        assert self._subtasks is not None  # there is a tool
        index, progress, total, waiting = (values[row].item() for values in self.place(tool))
        if index < 0:
            return None
        one, inside = self._subtasks.parts[index], int(self.progress[tool].inside[row])
        return SubtaskState(
            index, one.name, one.tool, one.reference, one.held, progress, total,
            waiting > self._subtasks.stalled, waiting, inside / self._detectors.timing.frequency,
        )  # fmt: skip

    def outcome(self, row: int) -> Outcome:
        """The outcome of an episode."""
        own = self.outcomes.outcome(row)
        if self._working[row] >= 0:
            return own
        return replace(own, state=STATES[UNKNOWN], since=-1, reason=NOT_BEGUN)

    def push(self, states: Float, rows: Int) -> list[tuple[int, Event]]:
        """Take the next state [m, d], finite, of the episodes in `rows` [m], all different.

        Returns (row, event) for each key state that is detected, without stamps.
        """
        if not len(rows):
            return []
        self.step[rows] += 1
        path = self._path.push(states, rows)
        if len(self._pairs):
            path = np.concatenate([path, relative(states, self._pairs)], axis=1)
        if self._parts > 1:  # slower than the demonstrations: working steps in between
            before = np.where(self.step[rows, None] > 0, self._newest[rows], path)
            self._newest[rows] = path
            first = self.step[rows] == 0
            found = []
            for part in range(1, self._parts + 1):
                now = np.flatnonzero(~first) if part < self._parts else np.arange(len(rows))
                between = before + (path - before) * (part / self._parts)
                found += self._advance(between[now], rows[now])
            return found
        self._sum[rows] += path
        full = (self.step[rows] + 1) % self._stride == 0
        mean = self._sum[rows[full]] / self._stride
        self._sum[rows[full]] = 0.0
        return self._advance(mean, rows[full])

    def _advance(self, path: Float, rows: Int) -> list[tuple[int, Event]]:
        """Take a working step."""
        if not len(rows):
            return []
        self._working[rows] += 1
        path, apart = path[:, : self._width], path[:, self._width :]
        self._recent[self._working[rows], rows] = path
        for progress, columns in zip(self.progress, self._own, strict=True):
            progress.push(path, apart[:, columns], rows)
        self.outcomes.push(path, apart, self._working[rows], self.step[rows], rows)
        own, ahead = self._detectors, self._detectors.features.after
        found: list[tuple[int, Event]] = []
        lengths = np.minimum(self._working[rows] + 1, self._depth)
        for length in sorted(set(lengths.tolist())):
            if length <= ahead:
                continue
            same = rows[lengths == length]
            back = self._working[same, None] - np.arange(length - 1, -1, -1)
            states = self._recent[back, same[:, None]]
            features = own.features.compute(states, np.array([length - 1 - ahead]))[:, 0]
            found += self._maxima(features @ own.coefficients.T + own.offset, same)
        return found

    def _maxima(self, score: Float, rows: Int) -> list[tuple[int, Event]]:
        """Events at the working step before the one that `score` [m, K] belongs to."""
        own, earlier, middle = self._detectors, self._scores[rows, 0], self._scores[rows, 1]
        step = self._working[rows, None] - own.features.after - 1
        parts = np.reshape([p.part[rows] for p in self.progress], (len(self.progress), len(rows))).T
        retry = (parts[:, None] < self._parts_then[rows]).any(axis=-1)  # a tool went back
        self._free[rows] = free = np.where(retry, self._free[rows] % FOREVER, self._free[rows])
        peak = (middle > earlier + own.rise) & (middle >= score - own.rise)
        peak &= np.isfinite(earlier) & (middle > own.threshold) & self.followed & (step >= free)
        peak &= (parts[:, None] >= own.earliest).all(axis=-1)
        self._scores[rows, 0], self._scores[rows, 1] = middle, score
        found = []
        for i, j in zip(*np.nonzero(peak), strict=True):
            row = int(rows[i])
            self._free[row, j] = step[i, 0] + own.gap + FOREVER * own.once[j]
            self._parts_then[row, j] = parts[i]
            recorded, now = self._recorded(int(step[i, 0])), int(self.step[row])
            score_there = float(np.clip(middle[i, j], 0.0, 1.0))
            found.append((row, Event(KEY_STATE, recorded, None, now, None, int(j), score_there)))
        return found

    def _recorded(self, working: int) -> int:
        if self._parts > 1:
            return -(-working // self._parts)
        return working * self._stride + (self._stride - 1) // 2


def _pace(detectors: Detectors, rate: float | None) -> tuple[int, int]:
    """States of a working step, and working steps of a state; one of them is 1."""
    timing = detectors.timing
    if rate is None:
        return timing.stride, 1
    rate = as_rate(rate, "rate")
    if timing.rate is None:
        raise InputError(
            f"rate is {rate:g} Hz, and that of the demonstrations is unknown: find "
            "the key states with their rate, or push states at the same rate and leave it out here"
        )
    ratio = rate / timing.frequency
    if ratio >= detectors.stream.averaged:
        return max(1, round(ratio)), 1
    return 1, max(1, round(1 / ratio))
