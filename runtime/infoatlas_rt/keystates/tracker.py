"""Key states and sub-tasks in a running episode, by models that demonstrations have fitted.

`live.py` has those of key states, `live_subtasks.py` those of sub-tasks.
"""

from __future__ import annotations

import os
from collections import deque
from dataclasses import replace
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..errors import InputError
from ..inputs.arrays import state_names
from ..inputs.checks import as_flag, as_rate, as_samples
from ..inputs.ring import Ring
from ..streams.events import KEY_STATE, Event
from .live import LiveModel
from .live_subtasks import STALLED, LiveSubtasks, SubtaskState, relative
from .progress_filter import ProgressFilter
from .result import KeyStates
from .subtasks import Subtasks

Float = NDArray[np.float64]
Int = NDArray[np.int64]

REMEMBERED = 2000  # stamps of an episode's newest states
TIMED = 10  # states from whose stamps the rate is taken


class KeyStateTracker:
    """Follows the key states of one episode at a time.

    Parameters
    ----------
    keystates : KeyStates or path
        Or a file of `KeyStates.save`.
    rate : float, optional
        States a second (Hz) that are pushed. Unless given, it is taken from the stamps of the
        first ten states where these are given and the rate of the demonstrations is known, and is
        that of the demonstrations otherwise. States are averaged to the working steps of the
        demonstrations, or interpolated.
    every : bool
        Follow key states and sub-tasks that cannot be followed well, too.
    subtasks : Subtasks or LiveSubtasks, optional
        To be followed: of the same demonstrations, or from `KeyStates.follow`. Unless given, those
        that were saved with the key states, if there are any.

    Attributes
    ----------
    keystates : KeyStates
    followed : [K] bool
        Key states that are reported.
    subtask : SubtaskState or None
        Where the episode is, by the first tool; None without sub-tasks, before the first working
        step, and in a part that cannot be followed.
    subtask_states : tuple of SubtaskState or None
        The same for each tool.
    step : int
        Of the newest state; -1 before the first.

    Raises
    ------
    InputError
        Key states without detectors, a file that cannot be read, a rate without one of the
        demonstrations; sub-tasks of other demonstrations.
    """

    def __init__(
        self,
        keystates: KeyStates | str | os.PathLike[str],
        *,
        rate: float | None = None,
        every: bool = False,
        subtasks: Subtasks | LiveSubtasks | None = None,
    ) -> None:
        self.keystates, model = live_model(keystates)
        self.live_subtasks = live_subtasks(self.keystates, subtasks)
        self._width = model.coordinates.width
        self._model, self._every = model, as_flag(every, "every")
        self._filter = LiveFilter(model, 1, rate, self._every, self.live_subtasks)
        self._timed = rate is not None or model.timing.rate is None  # the rate is settled
        self._waiting: list[tuple[Float, float]] = []
        self._row = np.zeros(1, np.int64)
        self._stamps: deque[float | None] = deque(maxlen=REMEMBERED)

    @property
    def followed(self) -> NDArray[np.bool_]:
        """Key states that are reported [K]."""
        return self._filter.followed

    @property
    def step(self) -> int:
        """Of the newest state; -1 before the first."""
        return int(self._filter.step[0]) + len(self._waiting)

    @property
    def subtask(self) -> SubtaskState | None:
        """Where the episode is, by the first tool."""
        return self._filter.subtask_state(0) if self.live_subtasks is not None else None

    @property
    def subtask_states(self) -> tuple[SubtaskState | None, ...]:
        """Where the episode is, by each tool."""
        tools = () if self.live_subtasks is None else self.live_subtasks.tools
        return tuple(self._filter.subtask_state(0, i) for i in range(len(tools)))

    def reset(self) -> None:
        """Forget the episode; the next state is the first of a new one."""
        self._filter.reset(self._row)
        self._waiting.clear()
        self._stamps.clear()

    def describe(self) -> str:
        """What is followed, and how well it was in the demonstrations."""
        model, lines = self._model, []
        for j, followed in enumerate(self.followed):
            if np.isnan(model.recall[j]):
                figures = "not judged" if np.isfinite(model.threshold[j]) else "not shared"
            else:
                figures = (
                    f"found in {model.recall[j]:.0%}, median delay {model.delay[j]:.2f} s, "
                    f"{model.false_reports[j]:.1f} false reports an episode"
                )
            name = self.keystates.name(j)
            lines.append(
                f"key state {j + 1}{f' ({name})' if name else ''}: "
                f"{'followed' if followed else 'NOT followed'}; {figures}"
            )
        if self.live_subtasks is not None:
            lines.append(self.live_subtasks.describe())
        return "\n".join(lines) or "no key states"

    def push(self, state: Any, stamp: float | None = None) -> list[Event]:
        """Take the next state of the episode.

        Parameters
        ----------
        state : array-like [d]
            The coordinates of the demonstrations, in their order. Names of a pandas Series are
            compared with those of the demonstrations.
        stamp : float, optional
            Seconds; events have the stamps of their steps.

        Returns
        -------
        list of Event
            Key states detected with this state, mostly none.

        Raises
        ------
        InputError
            Another number of coordinates, NaN or infinite values; the episode stays as it is.
        """
        own, names = self.keystates.names, state_names(state)
        if own and names and own != names:
            raise InputError(
                f"state has the coordinates {names}, and the key states were found with {own}: "
                "pass the same ones in the same order"
            )
        given = np.atleast_1d(np.asarray(state))
        if given.shape != (self._width,):
            raise InputError(
                f"state has shape {given.shape}, and the key states were found with "
                f"{self._width} coordinates: pass [{self._width}], in the same order"
            )
        now = as_samples(given[None], "state (skip it; [0, coordinate])")
        self._stamps.append(stamp)
        found = self._take(now, stamp)
        if not found:
            return []
        oldest, subtask = self.step + 1 - len(self._stamps), self.subtask
        return [
            replace(
                event,
                stamp=self._stamps[max(event.step - oldest, 0)],
                detected_stamp=stamp,
                subtask=None if subtask is None else subtask.name,
            )
            for _, event in found
        ]

    def _take(self, state: Float, stamp: float | None) -> list[tuple[int, Event]]:
        """Push a state, or keep it until the rate of the stream is known."""
        if not self._timed and stamp is None:
            self._timed = True
        if not self._timed and stamp is not None:
            self._waiting.append((state, stamp))
            if len(self._waiting) < TIMED:
                return []
            gap = float(np.median(np.diff([s for _, s in self._waiting])))
            own, self._timed = self._model.timing.rate, True
            if own is not None and gap > 0 and not 0.8 < own * gap < 1.25:
                self._filter = LiveFilter(self._model, 1, 1 / gap, self._every, self.live_subtasks)
        elif not self._waiting:
            return self._filter.push(self._row, state)
        else:
            self._waiting.append((state, np.nan))
        waiting, self._waiting = self._waiting, []
        return [event for s, _ in waiting for event in self._filter.push(self._row, s)]


def live_model(keystates: KeyStates | str | os.PathLike[str]) -> tuple[KeyStates, LiveModel]:
    """Key states, read from their file if need be, and their detectors.

    Raises
    ------
    InputError
        Key states without demonstrations or detectors, or a file that cannot be read.
    """
    if not isinstance(keystates, KeyStates):
        keystates = KeyStates.load(keystates)
    return keystates, keystates.live


def live_subtasks(
    keystates: KeyStates, subtasks: Subtasks | LiveSubtasks | None
) -> LiveSubtasks | None:
    """Sub-tasks to follow: those given, else those that were saved, if any.

    Raises
    ------
    InputError
        Sub-tasks of other demonstrations, or of key states that were loaded from a file.
    """
    if subtasks is None:
        return keystates.live_subtasks
    return keystates.follow(subtasks) if isinstance(subtasks, Subtasks) else subtasks


class LiveFilter:
    """Follows episodes, one a row.

    Parameters
    ----------
    model : LiveModel
    rows : int
        E, episodes.
    rate : float, optional
        States a second; that of the demonstrations unless given.
    every : bool
        Follow key states and sub-tasks that cannot be followed well, too.
    subtasks : LiveSubtasks, optional

    Attributes
    ----------
    step : [E] int64
        Of the newest state of each episode; -1 before the first.
    followed : [K] bool
    progress : tuple of ProgressFilter
        Of each tool.
    """

    def __init__(
        self,
        model: LiveModel,
        rows: int,
        rate: float | None = None,
        every: bool = False,
        subtasks: LiveSubtasks | None = None,
    ) -> None:
        self._model = model
        self.followed = np.isfinite(model.threshold) if every else model.followed
        self._stride, self._parts = _pace(model, rate)
        self._path = model.coordinates.begin(rows)
        self._subtasks, self._every = subtasks, every
        tools = () if subtasks is None else subtasks.tools
        self.progress: tuple[ProgressFilter, ...] = tuple(tool.filter(rows) for tool in tools)
        self._pairs = np.concatenate(
            [np.empty((0, 6), np.int64), *(tool.model.pairs for tool in tools)]
        )
        ends = np.cumsum([0, *(3 * len(tool.model.pairs) for tool in tools)]).tolist()
        self._own = [slice(a, b) for a, b in pairwise(ends)]  # of each tool
        self._width = width = len(model.coordinates.names)
        features = model.features
        self._depth = features.before + features.after + 1
        self._recent = Ring(self._depth, rows, width)
        self._sum, self._newest = np.zeros((2, rows, width + 3 * len(self._pairs)))
        self._scores = np.full((rows, 2, len(model.offset)), -np.inf)  # of the last two steps
        self._last = np.empty((rows, len(model.offset)), np.int64)  # reported working step
        self.step = np.empty(rows, np.int64)
        self._working = np.empty(rows, np.int64)
        self.reset(np.arange(rows))

    def reset(self, rows: Int) -> None:
        """Forget some episodes; their next state is the first of a new one."""
        self.step[rows] = self._working[rows] = -1
        self._sum[rows] = 0.0
        self._scores[rows] = -np.inf
        self._last[rows] = np.iinfo(np.int64).min // 2
        self._path.reset(rows)
        for own in self.progress:
            own.reset(rows)

    def place(self, tool: int = 0) -> tuple[Int, Float, Float, Float]:
        """Where each episode is, by one of the tools.

        Returns
        -------
        index : [E] int64
            Of `Subtasks.parts`; -1 before the first working step, and in a part that is not
            followed.
        progress, total : [E] float64
            Of the part and of the task; 0 where the index is -1.
        waiting : [E] float64
            Time without progress over the longest usual one.
        """
        assert self._subtasks is not None  # there is a tool
        about, own = self._subtasks.tools[tool], self.progress[tool]
        part = np.maximum(own.part, 0)
        told = (own.part >= 0) & (self._every | about.followed[part])
        before = about.before
        total = before[part] + own.progress * (before[part + 1] - before[part])
        return (
            np.where(told, about.model.parts[part], -1),
            np.where(told, own.progress, 0.0),
            np.where(told, total, 0.0),
            about.waiting(own),
        )

    def subtask_state(self, row: int, tool: int = 0) -> SubtaskState | None:
        """Where one episode is, by one of the tools; None if that is not known."""
        assert self._subtasks is not None  # there is a tool
        about, own = self._subtasks.tools[tool], self.progress[tool]
        part = int(own.part[row])
        if part < 0 or not (self._every or about.followed[part]):
            return None
        index, progress = int(about.model.parts[part]), float(own.progress[row])
        one, before = self._subtasks.subtasks.parts[index], about.before
        waiting = float(own.waiting[row] / about.usual[part])
        return SubtaskState(
            index, self._subtasks.names[index], one.tool, one.reference, one.held,
            progress, float(before[part] + progress * (before[part + 1] - before[part])),
            waiting > STALLED, waiting, int(own.inside[row]) / self._model.timing.frequency,
        )  # fmt: skip

    def push(self, rows: Int, states: Float) -> list[tuple[int, Event]]:
        """Take the next state [m, d], finite, of the episodes in `rows` [m], all different.

        Returns rows and the key states detected there, without stamps.
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
                found += self._advance(rows[now], between[now])
            return found
        self._sum[rows] += path
        full = (self.step[rows] + 1) % self._stride == 0
        mean = self._sum[rows[full]] / self._stride
        self._sum[rows[full]] = 0.0
        return self._advance(rows[full], mean)

    def _advance(self, rows: Int, path: Float) -> list[tuple[int, Event]]:
        """Take a working step."""
        self._working[rows] += 1
        path, apart = path[:, : self._width], path[:, self._width :]
        self._recent[self._working[rows], rows] = path
        for own, columns in zip(self.progress, self._own, strict=True):
            own.push(rows, path, apart[:, columns])
        ahead = self._model.features.after
        found: list[tuple[int, Event]] = []
        for length in np.unique(np.minimum(self._working[rows] + 1, self._depth)).tolist():
            if length <= ahead:
                continue
            same = rows[np.minimum(self._working[rows] + 1, self._depth) == length]
            back = self._working[same, None] - np.arange(length - 1, -1, -1)
            states = self._recent[back, same[:, None]]
            at = np.array([length - 1 - ahead])
            features = self._model.features.compute(states, at)[:, 0]
            score = features @ self._model.coefficients.T + self._model.offset
            found += self._maxima(same, score)
        return found

    def _maxima(self, rows: Int, score: Float) -> list[tuple[int, Event]]:
        """Events at the working step before the one that `score` [m, K] belongs to."""
        model, earlier, middle = self._model, self._scores[rows, 0], self._scores[rows, 1]
        step = self._working[rows] - model.features.after - 1
        peak = (middle > earlier) & (middle >= score) & (middle > model.threshold) & self.followed
        peak &= np.isfinite(earlier)
        wait = np.where(model.once, np.iinfo(np.int64).max // 4, model.gap)
        peak &= step[:, None] - self._last[rows] >= wait
        self._scores[rows, 0], self._scores[rows, 1] = middle, score
        found = []
        for i, j in zip(*np.nonzero(peak), strict=True):
            row = int(rows[i])
            self._last[row, j] = step[i]
            recorded = self._recorded(int(step[i]))
            score_there = float(np.clip(middle[i, j], 0.0, 1.0))
            now = int(self.step[row])
            found.append((row, Event(KEY_STATE, recorded, None, now, None, int(j), score_there)))
        return found

    def _recorded(self, working: int) -> int:
        if self._parts > 1:
            return -(-working // self._parts)
        return working * self._stride + (self._stride - 1) // 2


def _pace(model: LiveModel, rate: float | None) -> tuple[int, int]:
    """States of a working step, and working steps of a state; one of them is 1."""
    if rate is None:
        return model.timing.stride, 1
    rate = as_rate(rate, "rate")
    if model.timing.rate is None:
        raise InputError(
            f"rate is {rate:g} Hz, and that of the demonstrations is not known: discover the key "
            "states with their rate=, or push states at the same rate and leave it out here"
        )
    ratio = rate / model.timing.frequency
    return (max(1, round(ratio)), 1) if ratio >= 0.75 else (1, max(1, round(1 / ratio)))
