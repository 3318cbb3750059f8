"""Whether a running episode is done, or a grasp has failed, in comparison with demonstrations.

An episode is done when it is in its last sub-task, and as near the ends of the demonstrations as
the fit allows. It has failed from a grasp that fails until another one succeeds. A gripper closes
when its opening falls by `change` from its largest value, and the grasp is judged when the opening
has settled. A grasp that fails does not count, so that the next closing is the same grasp.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..inputs.copies import Stateful
from .json_file import floats, indices, integer, number
from .progress_filter import ProgressFilter

Float = NDArray[np.float64]
Int = NDArray[np.int64]
STATES = "running", "done", "failed", "unknown"
RUNNING, DONE, FAILED, UNKNOWN = range(len(STATES))
NOT_BEGUN = "the episode has not begun"
NOT_ENDED = "the last sub-task has not ended"
NEVER = 2**62  # working step
OPEN, CLOSING, HOLDING, PASSED = range(4)  # PASSED: judged, and failed or not in demonstrations


@dataclass(frozen=True)
class Outcome:
    """Outcome of a running episode.

    Attributes
    ----------
    state : {"running", "done", "failed", "unknown"}
        "done" lasts until the episode is reset, and "failed" until a retry succeeds. "unknown" is
        what cannot become "done" with this task.
    since : int
        Step of the episode from which it is so; -1 before the first working step.
    reason : str
        Why, in a sentence.
    false_done : float
        Bound of the share of executions like the demonstrations that are "done" more than 0.5 s
        before their end, also if they stop there. Of N demonstrations it is 1 / (N + 1) or more.
        NaN if unknown.
    found : float
        Share of such executions with "done" within 0.5 s of their end, n / (N + 1) if n of N
        demonstrations that were left out had it; NaN if unknown.
    """

    state: str
    since: int
    reason: str
    false_done: float
    found: float


@dataclass(frozen=True, eq=False)
class Gripper:
    """Coordinates whose weighted sum is the opening of a gripper, 0 to 1, and its n grasps."""

    name: str
    columns: Int  # [m], coordinates
    weights: Float  # [m]
    zero: float  # weighted sum at which it is closed
    change: float  # by which the opening falls or rises when the gripper closes or opens
    jitter: float  # change of a settled opening, at most
    settle: int  # working steps without more, after which an opening has settled
    usual: tuple[str, ...]  # [n], openings in demonstrations, as "30 to 36%"
    least: Float  # [n], opening below which the grasp fails
    early: Float  # [n], progress of the task before which it fails if the gripper opens
    pair: Int  # [n], of the relative positions of tool and object; -1 if not known
    slip: Float  # [n], change of their distance above which the grasp fails
    part: Int  # [n], part before the grasp, beyond which a failed one does not go on

    @classmethod
    def from_dict(cls, values: dict[str, Any], width: int, pairs: int) -> Gripper:
        """From the values of a file; ValueError, KeyError or TypeError if they do not fit."""
        columns, n = indices(values, "columns", width), len(values["early"])
        if any(len(values[name]) != n for name in ("usual", "pair", "part")):
            raise ValueError(f"{n} grasps, and other numbers of their values")
        return cls(
            name=str(values["name"]), columns=columns,
            weights=floats(values, "weights", len(columns)), zero=float(floats(values, "zero")),
            settle=integer(values, "settle", 1),
            pair=indices(values, "pair", pairs, -1), part=indices(values, "part", 2**31),
            change=number(values, "change"), jitter=number(values, "jitter"),
            usual=tuple(map(str, values["usual"])),
            **{name: floats(values, name, n) for name in ("least", "early", "slip")},
        )  # fmt: skip


@dataclass(frozen=True, eq=False)
class OutcomeModel:
    """What the fit decides about `done`, and grippers whose grasps may fail."""

    near: float  # distance of all tools from the ends up to which an episode is there
    wait: int  # working steps there after which it is done; 0 if that is not known
    reason: str  # why it is not known
    false_done: float
    found: float
    about: str  # how far `done` and `failed` can be trusted
    grippers: tuple[Gripper, ...]

    @classmethod
    def from_dict(cls, values: dict[str, Any], width: int, pairs: int) -> OutcomeModel:
        """From the values of a file; ValueError, KeyError or TypeError if they do not fit."""
        false_done, found = (float(floats(values, k, gaps=True)) for k in ("false_done", "found"))
        grippers = tuple(Gripper.from_dict(own, width, pairs) for own in values["grippers"])
        near, wait = float(floats(values, "near")), integer(values, "wait", 0)
        reason, about = (str(values[name]) for name in ("reason", "about"))
        return cls(near, wait, reason, false_done, found, about, grippers)


class GripperFilter(Stateful):
    """Follows a gripper in episodes, one a row, with the progress of the only tool if there is."""

    def __init__(self, gripper: Gripper, rows: int, tool: ProgressFilter | None = None) -> None:
        self.gripper, self._tool = gripper, tool
        # `made` counts the grasps before the present one, and the last one that was judged has
        # `failed`. Openings below `low` or above `high`, and steps from `due` on, may change these.
        self.state, self.made, self._due, self.failed = np.empty((4, rows), np.int64)
        self._low, self._high, self._apart = np.empty((3, rows))
        self.reset(np.arange(rows))

    def reset(self, rows: Int) -> None:
        """Forget some episodes."""
        self.state[rows], self.made[rows], self._due[rows], self.failed[rows] = OPEN, 0, NEVER, 0
        self._low[rows] = self._high[rows] = -np.inf  # the first opening is above

    def push(self, path: Float, between: Float, now: Int, rows: Int) -> list[tuple[int, str]]:
        """Take working steps `now` [m]: coordinates [m, p], and all relative positions [m, 3 k].

        Returns (row, reason) of each present grasp that fails, and with "" if it succeeds.
        """
        own, found = self.gripper, []
        opening = path[:, own.columns] @ own.weights - own.zero
        look = (opening > self._high[rows]) | (opening < self._low[rows]) | (now >= self._due[rows])
        for i in look.nonzero()[0].tolist():
            row = int(rows[i])
            reason = self._look(row, float(opening[i]), between[i], int(now[i]))
            if reason is not None:
                self.failed[row] = reason != ""
                found.append((row, reason))
        return found

    def _look(self, row: int, opening: float, between: Float, now: int) -> str | None:
        """Why the grasp of an episode fails; "" if it succeeds; None for neither."""
        own, state, n = self.gripper, self.state[row], int(self.made[row])
        if opening > self._high[row]:
            self.state[row], self._due[row] = OPEN, NEVER
            self._low[row], self._high[row] = opening - own.change, opening + own.jitter
            ends = state in (CLOSING, HOLDING)
            place = 1.0 if self._tool is None else self._tool.task_progress(row)
            if ends and place < own.early[n]:
                return f"attempt failed: {own.name} opened at {100 * place:.0f}% of the task"
            self.made[row] += state == HOLDING  # another closing has not settled
            return None
        if state in (OPEN, CLOSING) and opening < self._low[row]:
            more = n < len(own.early)
            self.state[row] = CLOSING if more else PASSED
            self._due[row] = now + own.settle if more else NEVER
            self._low[row] = opening - own.jitter if more else -np.inf
            self._high[row] = opening + own.change
            return None
        x, y, z = between[3 * own.pair[n] :][:3].tolist() if own.pair[n] >= 0 else (0.0, 0.0, 0.0)
        apart, reason = float(np.sqrt(x * x + y * y + z * z)), None
        if state == CLOSING:
            self._due[row], self._apart[row], reason = 0 if own.pair[n] >= 0 else NEVER, apart, ""
            self.state[row], self._low[row] = HOLDING, own.least[n]
        if opening < own.least[n]:
            reason = f"{own.name} closed to {100 * opening:.0f}%, usually {own.usual[n]}"
        elif abs(apart - self._apart[row]) > own.slip[n]:
            reason = f"the object does not move with the {own.name}"
        if not reason:
            return reason
        self.state[row], self._low[row], self._due[row] = PASSED, -np.inf, NEVER
        return f"attempt failed: {reason}"


class OutcomeFilter(Stateful):
    """Follows the outcome of episodes, one a row, after the filters of the tools' progress.

    `state` [E] are indices of `STATES`, and `since` [E] steps of the episodes.
    """

    def __init__(self, model: OutcomeModel, tools: tuple[ProgressFilter, ...], rows: int) -> None:
        self.model, self._tools = model, tools
        self._only = tools[0] if len(tools) == 1 else None  # the gripper's tool
        self._grippers = tuple(GripperFilter(own, rows, self._only) for own in model.grippers)
        self.state, self.since, self._inside = np.zeros((3, rows), np.int64)
        self._why = [NOT_ENDED] * rows

    def reset(self, rows: Int) -> None:
        """Forget some episodes."""
        self._inside[rows] = 0
        for row in rows.tolist():
            self._set(row, RUNNING, 0, NOT_ENDED)
        for gripper in self._grippers:
            gripper.reset(rows)

    def outcome(self, row: int) -> Outcome:
        """The outcome of an episode that has begun."""
        own, state, why = self.model, int(self.state[row]), self._why[row]
        if state == RUNNING and not own.wait:
            state, why = UNKNOWN, own.reason
        return Outcome(STATES[state], int(self.since[row]), why, own.false_done, own.found)

    def _set(self, row: int, state: int, since: int, why: str) -> None:
        self.state[row], self.since[row], self._why[row] = state, since, why

    def push(self, path: Float, between: Float, now: Int, step: Int, rows: Int) -> None:
        """Take working steps `now` of states `step` [m].

        `path` [m, p] are coordinates, and `between` [m, 3 n] the relative positions of all tools.
        """
        model = self.model
        for own in self._grippers:
            for row, reason in own.push(path, between, now, rows):
                if self.state[row] == DONE:
                    continue
                state = FAILED if any(g.failed[row] for g in self._grippers) else RUNNING
                if self._only is not None and (reason or state == RUNNING):
                    part = int(own.gripper.part[own.made[row]]) if reason else None
                    self._only.keep_back(row, part)
                if reason or state != self.state[row]:
                    self._set(row, state, int(step[rows == row][0]), reason or NOT_ENDED)
        if not model.wait:
            return
        there = self.state[rows] == RUNNING
        for tool in self._tools:
            there &= tool.part[rows] == tool.last
        if there.any():
            for tool in self._tools:
                there &= tool.apart[rows] <= model.near
            for own in self._grippers:  # each has made its last grasp
                made = own.made[rows] + (own.state[rows] == HOLDING)
                there &= made >= len(own.gripper.early)
        self._inside[rows] = inside = np.where(there, self._inside[rows] + 1, 0)
        for i in (inside >= model.wait).nonzero()[0].tolist():
            self._set(int(rows[i]), DONE, int(step[i]), "the state is that of the end of the task")
