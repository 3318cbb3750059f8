"""Executions of one task in long recordings: finds them, prints, stores and applies the list."""

import json
import os
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from infoatlas_rt.errors import InputError

from ..keystates.labels import as_labels
from ..keystates.motion.durations import ONE_EVENT
from ..presentation import Shown, first_names, with_count
from ..trajectories import Trajectories, as_trajectories, episode_names
from .cycles import ALIKE, Marks, alikeness, find_pairs, way_of
from .rests import read_motion

MANY = 3  # times that an event occurs, at least, if there may be several executions
# Of the median length: a shorter execution may be cut off or given up, a longer one has a pause.
SHORT, LONG = 0.7, 1.5
SHOWN = 5  # demonstrations in a note, at most
FIELDS = ("names", "rate", "gripper", "ignore", "orientation", "resolution")
WAY_OUT = "write the list again, with infoatlas-rt cut DATA --json FILE"


@dataclass(frozen=True)
class Execution:
    """One execution: steps from `start` to before `end` of a demonstration of a recording."""

    episode: str
    start: int
    end: int
    events: tuple[str, ...]  # in it, in order of time
    remark: str  # what it lacks, or has more than the usual execution
    sure_start: bool  # pose, motion, event and rest are those at which others begin
    sure_end: bool


@dataclass(frozen=True)
class Cuts(Shown):
    """The executions of recordings, in order of time."""

    executions: tuple[Execution, ...]
    lengths: Mapping[str, int]  # steps of each demonstration of the recording
    rate: float | None  # steps a second
    notes: tuple[str, ...]

    @property
    def left_out(self) -> list[tuple[str, int, int]]:
        """Demonstration, start and end of each part that is in no execution: rests and returns."""
        found = []
        for name, length in self.lengths.items():
            own = [t for e in self.executions if e.episode == name for t in (e.start, e.end)]
            pairs = zip([0, *own[1::2]], [*own[::2], length], strict=True)
            found += [(name, start, end) for start, end in pairs if start < end]
        return found

    @property
    def rows(self) -> list[Any]:
        """Rows [T] of each execution, of the recordings end to end."""
        first = dict(zip(self.lengths, np.cumsum([0, *self.lengths.values()]), strict=False))
        return [first[own.episode] + np.arange(own.start, own.end) for own in self.executions]

    def apply(self, given: Trajectories) -> Trajectories:
        """The executions as trajectories; InputError for another recording, or with a camera."""
        lengths = dict(zip(episode_names(given), given.lengths.tolist(), strict=True))
        if [*lengths.items()] != [*self.lengths.items()] or given.camera is not None:
            raise InputError(
                f"the list is of {sum(self.lengths.values())} steps in {len(self.lengths)} "
                f"demonstrations, without images, and the data are others: {WAY_OUT}, or write the "
                "executions with --out COPY"
            )
        rows, whole, times = self.rows, np.concatenate(self.rows), given.times
        tasks = dict(zip(lengths, given.stated, strict=False))
        return replace(
            given,
            states=given.states[whole],
            lengths=[len(own) for own in rows],
            episodes=tuple(map(str, range(len(rows)))),
            times=None if times is None else np.concatenate([times[r] - times[r[0]] for r in rows]),
            stated=tuple(tasks[e.episode]._replace(success=None) for e in self.executions if tasks),
        )

    def to_dict(self) -> dict[str, Any]:
        """A JSON-safe table, which `read_cuts` reads."""
        return {**asdict(self), "left_out": self.left_out}

    def seconds(self, steps: int) -> str:
        """A number of steps as text, in seconds if the rate is known."""
        return f"{steps / self.rate:.1f} s" if self.rate else f"{steps} steps"

    def __str__(self) -> str:
        kept, total = sum(map(len, self.rows)), sum(self.lengths.values())
        text = f"{with_count(len(self.executions), 'execution')}, {self.seconds(kept)} of "
        text += f"{self.seconds(total)}; {len(self.left_out)} rests and returns are left out."
        return "\n".join([text, *self.notes])


def read_cuts(path: str | os.PathLike[str]) -> Cuts:
    """The list in a file that `infoatlas-rt cut --json` wrote; InputError for another file."""
    try:
        content = json.loads(Path(path).read_text(encoding="utf-8"))
        own = [Execution(**{**e, "events": tuple(e["events"])}) for e in content["executions"]]
        found = Cuts(tuple(own), content["lengths"], content["rate"], tuple(content["notes"]))
        if not own or any(not 0 <= e.start < e.end <= found.lengths[e.episode] for e in own):
            raise ValueError("no executions, or steps that do not exist")
    except (OSError, ValueError, LookupError, TypeError) as error:
        other = isinstance(error, (UnicodeError, json.JSONDecodeError, LookupError, TypeError))
        why = "it was written otherwise" if other else error
        raise InputError(f"{path} has no list of executions ({why}): {WAY_OUT}") from error
    return found


def find_executions(recording: Trajectories | Sequence[Any], *, labels: Any = None) -> Cuts:
    """Find the executions of a task that recordings contain one after another.

    What repeats is found from the motion between rests. Executions end as the recording does, and
    returns lie between them. Failed attempts do not divide an execution.

    Parameters
    ----------
    recording : Trajectories, or sequence of N arrays [T_i, d]
        One or more demonstrations. Each is searched by itself.
    labels : dict, path or Marks, optional
        Executions that a person marked, as {0: {"start": 75, "end": 400}} for steps of
        demonstration 0, or a file of these; others as "start 2" and "end 2". They are kept
        exactly, and others begin at their pose. An end at the last step includes it.

    Returns
    -------
    Cuts
        `executions`, and what is `left_out`; `apply(recording)` is a trajectory for each.

    Raises
    ------
    InputError
        The recording cannot be read, or labels are no pairs of a start and an end.
    """
    given = as_trajectories(recording)
    marked, names = _marked_steps(labels, given), episode_names(given)
    executions, alone_in = list[Execution](), dict[str, list[str]]()
    for i, (name, states) in enumerate(zip(names, given.split(), strict=True)):
        about = {field: getattr(given, field) for field in FIELDS}
        alone = Trajectories([states], episodes=(name,), **about)
        own, why = _cut_one(alone, marked.get(i, []))
        executions += own
        alone_in.setdefault(why, []).append(name)
    notes = [f"{first_names(own, SHOWN)}: {why}." for why, own in alone_in.items() if why]
    lengths = dict(zip(names, given.lengths.tolist(), strict=True))
    return Cuts(tuple(executions), lengths, given.rate, (*given.notes, *notes))


def _marked_steps(labels: Any, given: Trajectories) -> dict[int, list[tuple[int, int]]]:
    """Starts and ends of marked executions by demonstration, in order of time."""
    steps, names = as_labels(labels, given)
    found = {}
    for i, row in enumerate(steps.tolist()):
        own = sorted((int(t), n.split()[0]) for t, n in zip(row, names, strict=True) if t >= 0)
        if [kind for _, kind in own] != ["start", "end"] * (len(own) // 2):
            raise InputError(
                f"labels of {episode_names(given)[i]} are {own}: name them start and end, in turn"
            )
        last = int(given.lengths[i]) - 1  # an end there is that of the recording
        times = [t + (kind == "end" and t == last) for t, kind in own]
        found[i] = list(zip(times[::2], times[1::2], strict=True))
    return found


def _cut_one(given: Trajectories, marked: list[tuple[int, int]]) -> tuple[list[Execution], str]:
    """Executions of one trajectory, and why there may be others."""
    motion, fixed = read_motion(given, [t for pair in marked for t in pair]), None
    length, stride, rests = int(given.lengths[0]), motion.stride, motion.rests
    names = [event.kind.first.name for event in motion.events]
    if marked:
        row, pairs = rests[:, 0], np.array(marked) // stride
        inside = np.any([(row > a) & (row < b) for a, b in pairs], axis=0)
        starts, ends = np.searchsorted(row, pairs).T.tolist()
        fixed = Marks(starts, ends, inside)
    found, recurs = find_pairs(motion, fixed)
    chosen = np.array(found)
    lead, first, last = ONE_EVENT * motion.rate, rests[chosen[:, 0]], rests[chosen[:, 1]]
    begin = np.maximum(first[:, 0], first[:, 1] - 1 - lead)  # with a part of each rest
    end = np.minimum(last[:, 1], last[:, 0] + 1 + lead)
    borders = np.rint(np.stack([begin, end], axis=1) * stride).clip(0, length).astype(int)
    borders = np.maximum.accumulate(borders.ravel()).reshape(-1, 2)
    for start, end in marked:
        k = int(np.abs(borders[:, 0] - start).argmin())
        borders[:k], borders[k + 1 :] = borders[:k].clip(None, start), borders[k + 1 :].clip(end)
        borders[k], recurs[k] = (start, end), True
    arm = motion.poses[:, motion.arm]
    ways = [way_of(arm[i : max(j, i + 1)]) for i, j in borders // stride]
    kept = np.flatnonzero(borders[:, 0] < borders[:, 1]).tolist()
    size = np.diff(borders)[:, 0] / np.median(np.diff(borders[kept]))
    alike = alikeness([ways[k] for k in kept if size[k] >= SHORT])
    if not marked and not alike >= ALIKE:
        kept, borders, recurs = [0], np.array([[0, length]]), np.ones((1, 2), bool)
        size = np.ones(1)
    at = np.array([event.step for event in motion.events])
    inside = [np.flatnonzero((at >= start) & (at < end)) for start, end in borders[kept]]
    events = [tuple(names[j] for j in own) for own in inside]
    usual = Counter(Counter(events).most_common(1)[0][0])
    executions = []
    for k, own in zip(kept, events, strict=True):
        lacks, more = usual - Counter(own), Counter(own) - usual
        texts = ["long"] * int(size[k] > LONG)
        texts += ["cut off?" if k == kept[-1] else "given up?"] * int(size[k] < SHORT)
        texts += [f"{word} {', '.join(w)}" for word, w in (("lacks", lacks), ("again", more)) if w]
        (start, end), sure = borders[k].tolist(), recurs[k].tolist()
        executions.append(Execution(given.episodes[0], start, end, own, "; ".join(texts), *sure))
    why = "one execution: nothing repeats" if len(kept) == 1 else ""
    most, times = Counter([*names, ""]).most_common(1)[0]
    if why and times >= MANY:
        why = (
            f"one execution, or several: {most} occurs {times} times, but no pose and no motion "
            "recur with it. Mark one by labels of its start and its end"
        )
    return executions, why
