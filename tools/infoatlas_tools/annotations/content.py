"""Key states and sub-tasks, frame by frame, as they are written into data sets.

The modules of this folder have functions `write_<format>(annotations, path, out)`. Each writes a
new file or folder `out` from the data set at `path`. It returns sentences about annotations that
the format has no place for. `out` must not exist: `replacing` moves it to its final place.
"""

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from infoatlas_rt.errors import InputError

from ..array_types import Bool, Float, Int
from ..bags.any_recording import Recording
from ..keystates.contacts.event_names import END
from ..keystates.contacts.keystate_steps import ENOUGH
from ..keystates.coordinates import read_coordinates
from ..keystates.key_states import KeyStates
from ..keystates.subtasks import Subtasks
from ..keystates.trust.quality import at_rest
from .review import Review, review
from .written_formats import FORMATS, check_format, check_out, replacing

ELSEWHERE = 15.0  # times the median distance from where most end: a part ends elsewhere


class KeyStateStep(NamedTuple):
    """A key state of one demonstration."""

    demonstration: int
    step: int
    name: str
    column: int  # of `KeyStates.steps`


class Span(NamedTuple):
    """Steps of one demonstration with one label, `end` excluded."""

    start: int
    end: int
    label: int  # index in `Annotations.labels`


@dataclass(frozen=True, eq=False)
class Annotations:
    """Key states and sub-tasks of the N demonstrations of a data set."""

    keystates: KeyStates  # with names that have the objects that a camera sees
    subtasks: Subtasks  # with reference "" if no objects were named
    # Names in the data set: "demo_0", "traj_3", "0", or the name of a bag.
    episodes: tuple[str, ...]
    source: Recording | None = None  # with the actions, and the data that are copied
    # [N], steps that are cut from the start of each demonstration; see `lerobot_episodes.cut`.
    first: Int | None = None

    def __post_init__(self) -> None:
        counts = len(self.keystates.steps), len(self.subtasks.lengths), len(self.episodes)
        if len(set(counts)) > 1:
            raise InputError(
                "key states of {} demonstrations, sub-tasks of {} and names of {}: they should be "
                "of one data set".format(*counts)
            )
        named = self.keystates.named(self.subtasks.keystate_names)
        object.__setattr__(self, "keystates", named)  # all outputs have the same words

    def __str__(self) -> str:
        return f"{self.subtasks}\n{self.keystates}"

    def _repr_html_(self) -> str:
        return self.subtasks._repr_html_() + self.keystates._repr_html_()

    @property
    def actions(self) -> Sequence[Float] | None:
        """N arrays [T or T - 1, q]; None without a recording, or if that has none."""
        return None if self.source is None else self.source.actions

    @cached_property
    def review(self) -> Review:
        """Measures by which demonstrations are ranked for review."""
        found, own = self.keystates, self.keystates.recordings
        replaced = own.coordinates.dropouts or any(q.outliers for q in found.quality)
        again = replaced or own.timing.stride > 1
        paths = read_coordinates(found.trajectories)[2] if again else own.states
        idle = np.array([quality.idle for quality in self.keystates.quality])
        return review(paths, self.actions, idle, self.rate)

    @cached_property
    def elsewhere(self) -> list[list[str]]:
        """Texts about parts that end far from their usual place beside the reference object."""
        found: list[list[str]] = [[] for _ in self.episodes]
        states, places = self.keystates.trajectories.doubles(), self.subtasks.places
        for part, name in zip(self.subtasks.parts, self.subtasks.names, strict=True):
            rows = np.flatnonzero(part.end > part.start)
            if part.reference not in places or len(rows) < ENOUGH:
                continue
            hand, body = list(places[part.tool]), list(places[part.reference])
            ends = [states[i][self.kept(i)][part.end[i] - 1] for i in rows.tolist()]
            beside = np.array([end[hand] - end[body] for end in ends])
            away = np.linalg.norm(beside - np.median(beside, axis=0), axis=1)
            far = away > ELSEWHERE * np.median(away)
            for i, one in zip(rows[far].tolist(), away[far].tolist(), strict=True):
                usual = f"usual up to {away[~far].max():.2g}"
                found[i].append(f"{name} ends {one:.2g} from where most do ({usual})")
        return found

    @property
    def lengths(self) -> Int:
        """Recorded steps of each demonstration [N], without those that are cut."""
        return self.subtasks.lengths

    def kept(self, demonstration: int) -> slice:
        """The recorded steps that are not cut."""
        first = 0 if self.first is None else int(self.first[demonstration])
        return slice(first, first + int(self.lengths[demonstration]))

    @property
    def rate(self) -> float | None:
        """Recorded steps a second (Hz), if it is known."""
        return self.subtasks.rate or self.keystates.trajectories.rate

    def seconds(self, demonstration: int) -> Float:
        """Seconds [T + 1] of the steps that are not cut, and of their end; NaN if not known."""
        return replace(self.subtasks, rate=self.rate).seconds(demonstration)

    @cached_property
    def _labelled(self) -> tuple[tuple[str, ...], tuple[Int, ...]]:
        """Labels, and the index of the label of each step."""
        count, tools = len(self.lengths), self.subtasks.tools
        names = self.subtasks.names
        each = [[self.subtasks.active(i, tool) for tool in tools] for i in range(count)]
        for i, own in enumerate(each):
            for tool, active in zip(tools, own, strict=True):
                if (active < 0).any():
                    raise InputError(
                        f"demonstration {self.episodes[i]}: no sub-task of {tool} at step "
                        f"{int((active < 0).argmax())}: the sub-tasks of a tool should cover "
                        "all steps"
                    )
        if len(tools) == 1:
            return names, tuple(own[0] for own in each)
        places: dict[str, int] = {}
        found = []
        for own in each:
            rows, which = np.unique(np.stack(own), axis=1, return_inverse=True)
            texts = ["; ".join(names[part] for part in row) for row in rows.T.tolist()]
            which = which.reshape(-1)
            first = [int((which == k).argmax()) for k in range(len(texts))]
            for k in np.argsort(first).tolist():
                places.setdefault(texts[k], len(places))
            found.append(np.array([places[text] for text in texts], np.int64)[which])
        return tuple(places), tuple(found)

    @property
    def labels(self) -> tuple[str, ...]:
        """Labels of steps, for formats with one label for each step.

        They are the names of the sub-tasks. With several tools, each is a combination that occurs,
        as "left: reach cube; right: part 1".
        """
        return self._labelled[0]

    @property
    def unnamed(self) -> str:
        """Why the names cannot serve as instructions; empty if they can."""
        parts = zip(self.subtasks.parts, self.subtasks.names, strict=True)
        plain = {n: part.event for part, n in parts if part.named_by_end}
        # After parts that say it, "until end" is the way back.
        way_back = set(plain.values()) <= {END} and len(plain) < len(self.subtasks.parts)
        if self.subtasks.given_names or way_back:
            return ""
        name = next(iter(plain))
        return f"{name!r} does not say what is done: pass --names, or --tool and --object"

    def active(self, demonstration: int) -> Int:
        """Index in `labels` of each step [T]."""
        return self._labelled[1][demonstration]

    def spans(self, demonstration: int) -> list[Span]:
        """Runs of steps with one label, in order of time; they cover the demonstration."""
        active = self.active(demonstration)
        cuts = [0, *(np.flatnonzero(np.diff(active)) + 1).tolist(), len(active)]
        return [Span(start, end, int(active[start])) for start, end in pairwise(cuts)]

    def shares(self, tool: str | None = None) -> Float:
        """Share of the duration of each part of a tool (the first unless given); sum 1.

        Medians over the demonstrations that have the part, scaled to sum 1.
        """
        parts = self.subtasks.of(self.subtasks.tools[0] if tool is None else tool)
        lengths = np.maximum(self.lengths, 1)
        share = np.zeros(len(parts))
        for k, part in enumerate(parts):
            own = ((part.end - part.start) / lengths)[part.end > part.start]
            share[k] = np.median(own) if len(own) else 0.0
        return np.asarray(share / max(share.sum(), 1e-300))

    def progress(self, demonstration: int) -> Float:
        """Progress of the task at each step [T], from 0 to 1.

        As in SARM, it is P(k-1) + alpha_k tau: the shares of the completed parts, plus the elapsed
        share of the present one. An absent part is complete when a later one begins, so the last
        step has progress 1 if the demonstration has the last part. With several tools, it is the
        mean over the tools.
        """
        length = int(self.lengths[demonstration])
        found = np.zeros(length)
        tools = self.subtasks.tools
        for tool in tools:
            share, over = self.shares(tool), 0.0
            own = [
                (int(part.start[demonstration]), int(part.end[demonstration]), k)
                for k, part in enumerate(self.subtasks.of(tool))
            ]
            absent = [k for start, end, k in own if end == start]
            for start, end, k in sorted(span for span in own if span[1] > span[0]):
                over += sum(share[j] for j in absent if j < k)
                absent = [j for j in absent if j > k]
                until = end - 1 if end == length else end  # the last step completes the task
                elapsed = (np.arange(start, end) - start) / max(until - start, 1)
                found[start:end] += over + share[k] * elapsed
                over += share[k]
        return np.minimum(found / max(len(tools), 1), 1.0)

    @cached_property
    def reordered(self) -> Bool:
        """Whether a demonstration has the parts in another order than `subtasks.parts` [N]."""
        other = np.zeros(len(self.lengths), bool)
        for tool in self.subtasks.tools:
            newest = np.zeros(len(self.lengths), np.int64)
            for part in self.subtasks.of(tool):
                there = part.end > part.start
                other |= there & (part.start < newest)
                newest = np.where(there, part.start, newest)
        return other

    def mislabelled(self, demonstration: int) -> bool:
        """Whether contacts have another order than usual, which parts about objects do not show."""
        order = self.keystates.quality[demonstration].order
        return bool(order and self.subtasks.places) and not self.reordered[demonstration]

    @property
    def orders(self) -> dict[str, list[str]]:
        """Episodes by the order of their sub-tasks, as "reach cube > move cube", most first.

        Two key states of it, as "grasp can before grasp cube", if the sub-tasks do not show it.
        """
        found: dict[str, list[str]] = {}
        for i, episode in enumerate(self.episodes):
            order = " > ".join(self.labels[span.label] for span in self.spans(i))
            order = self.keystates.quality[i].order if self.mislabelled(i) else order
            found.setdefault(order, []).append(episode)
        return dict(sorted(found.items(), key=lambda one: -len(one[1])))

    def events(self, demonstration: int | None = None) -> list[KeyStateStep]:
        """Key states of all demonstrations, or of one, in order of time."""
        if demonstration is not None:
            return self._events[demonstration]
        return [event for row in self._events for event in row]

    @cached_property
    def _events(self) -> list[list[KeyStateStep]]:
        """Key states of each demonstration, in order of time."""
        steps, names = self.keystates.steps, self.keystates.found.names
        if self.first is not None:
            steps = (steps - self.first[:, None]).clip(0, self.lengths[:, None] - 1)
        found: list[list[KeyStateStep]] = [[] for _ in self.episodes]
        for i, j in np.argwhere(~np.ma.getmaskarray(steps)).tolist():
            found[i].append(KeyStateStep(i, int(steps.data[i, j]), names[j], j))
        return [sorted(row, key=lambda event: event.step) for row in found]

    def newest(self, demonstration: int) -> Int:
        """Column of the newest key state at each step [T]; -1 before the first."""
        found = np.full(int(self.lengths[demonstration]), -1, np.int64)
        for event in self.events(demonstration):
            found[event.step :] = event.column
        return found

    def idle(self, demonstration: int) -> Bool:
        """Whether every coordinate is at rest at each step [T]."""
        return self._idle[demonstration][self.kept(demonstration)]

    @cached_property
    def _idle(self) -> list[Bool]:
        """The same of all demonstrations and steps."""
        recordings, rows = self.keystates.recordings, list[Bool]()
        lengths = self.keystates.trajectories.lengths.tolist()
        for states, length in zip(recordings.states, lengths, strict=True):
            still, found = at_rest(recordings.scales, states), np.zeros(length, bool)
            own = np.repeat(np.r_[still, still[-1:]], recordings.timing.stride)[:length]
            found[: len(own)] = own
            found[len(own) :] = own[-1:].any()
            rows.append(found)
        return rows

    def outliers(self, demonstration: int) -> Bool:
        """Whether a step was an outlier, and was replaced before the search [T]."""
        found = np.zeros(int(self.keystates.trajectories.lengths[demonstration]), bool)
        found[list(self.keystates.quality[demonstration].outliers)] = True
        return found[self.kept(demonstration)]

    def write(
        self,
        out: str | os.PathLike[str] | None = None,
        *,
        format: str | None = None,
        in_place: bool = False,
        quality: bool = False,
        trim: bool = False,
        language: str | None = None,
        episodes: Sequence[str] | None = None,
        shifts: Mapping[str, int] | None = None,
    ) -> tuple[str, ...]:
        """Write a new file or folder `out`; return sentences about what the format cannot store.

        Parameters
        ----------
        out : path, optional
            What to write; it must not exist.
        format : str, optional
            A name in `written_formats.FORMATS`; unless given, that of the data: a copy of them with
            annotations, or "csv".
        in_place : bool
            Replace the data by the copy instead; if anything fails, they stay as they were.
        quality : bool
            Write what is unusual about an episode, too, if the format can store it.
        trim : bool
            For a LeRobot data set: leave out frames at the ends at which nothing moves.
        language : "subtask" or "motion", optional
            For a LeRobot data set: style of rows of `language_persistent`.
        episodes : sequence of str, optional
            For "rerun": names of the demonstrations to write; all unless given.
        shifts : dict of str to int, optional
            For a LeRobot data set of v3.0: frames by which the pictures of a camera are late, by
            its feature; below 0 they are ahead. Its episodes begin so much later in the videos.

        Raises
        ------
        InputError
            The place or an option is not for this format, or the format not for these data.
        OutputError
            Nothing can be written there.
        """
        name = check_format(self.source, format, language=language, trim=trim)
        if (out is None) != in_place or (in_place and not FORMATS[name].in_place):
            raise InputError(f"pass out for a new file of {name}, or in_place to replace a copy")
        data = self.source.path if self.source else Path(str(out))
        target = data if out is None else Path(out)
        if not in_place:
            check_out(self.source, target, name)
        options: dict[str, Any] = {"quality": quality} if FORMATS[name].quality else {}
        content: Any = data
        if name == "lerobot" and self.source and self.source.dataset:
            options |= {"style": language, "trim": trim, "shifts": shifts}
            content = self.source.dataset.content
        if name == "rerun" and episodes:
            options["episodes"] = episodes
        if name == "mcap" and self.source:
            options["topic"] = self.source.messages["topic"]
        with replacing(target, overwrite=in_place, resume=name == "lerobot") as new:
            return FORMATS[name].write(self, content, new, **options)
