"""What the page shows and changes: marks, proposals that follow from them, the next episode."""

import os
from itertools import pairwise
from pathlib import Path
from threading import RLock
from typing import Any

import numpy as np

from infoatlas_rt.errors import InputError

from ..annotations.annotate import annotate
from ..annotations.written_formats import FORMATS, check_format
from ..bags.any_recording import Recording
from ..keystates.discovery import discover_keystates
from ..keystates.key_states import KeyStates
from ..keystates.marks import Marks, read_labels, write_marks
from ..keystates.motion.durations import NOMINAL
from ..trajectories import episode_names
from .signals import Signals

UNLIKE = 4.0  # robust standard deviations from which a duration is unlike the others
SETTLED = 0.05  # proposals of an episode that are probably off: with fewer, it needs no label
REMEMBERED = 200  # changes that can be undone
LONGEST = 60  # characters of a name


class Stale(Exception):
    """The marks were changed elsewhere: in another tab, or in the file."""


class Session:
    """Marks of one recording, saved at every change.

    No mark is accepted after the data changed. `path` is the file of labels, which may exist.
    `tools` and `objects` are those of the annotated copy, as in `annotate`.
    """

    def __init__(
        self, recording: Recording, path: Path, *, tools: Any = None, objects: Any = None
    ) -> None:
        self.recording, self.path, self.data = recording, path, recording.path
        self.trajectories = trajectories = recording.trajectories
        self.names, self._bodies = episode_names(trajectories), (tools, objects)
        target = check_format(recording)
        ending = self.data.suffix if FORMATS[target].in_place else FORMATS[target].suffix
        self.copy = f"{self.data.stem}_annotated{ending}"  # the name that the page proposes
        self.signals, self.lock, self.revision = Signals(trajectories), RLock(), 0
        self._marks, self._past = Marks(), list[Marks]()
        self._followed: Marks | None = None  # the marks that proposals follow from
        self._judged = False  # whether proposals have a certainty: those from marks do
        # Step and certainty by episode and kind, and reasons why an episode is unlike the others.
        self._proposals: list[dict[str, tuple[int | None, float | None]]] = [{} for _ in self.names]
        self._unlike: list[list[str]] = [[] for _ in self.names]
        self._opened, self._saved = _stamp(self.data), tuple[int, ...]()
        self._reread()

    def state(self) -> dict[str, Any]:
        """All that the page shows, except for signals and pictures."""
        with self.lock:
            self._reread()
            each = zip(self.names, self.trajectories.lengths.tolist(), self._proposals, strict=True)
            unsure = [
                sum(1 - p for k, (_, p) in own.items() if p is not None and k not in self[i])
                for i, own in enumerate(self._proposals)
            ]
            return {
                "title": self.data.name,
                "labels": str(self.path),
                "copy": self.copy,
                # Without it the page shows steps: where rows are lost, steps / rate are no seconds.
                "rate": None if self.trajectories.times is not None else self.trajectories.rate,
                "episodes": [
                    {"name": name, "length": length, "marks": self[i], "proposals": own}
                    for i, (name, length, own) in enumerate(each)
                ],
                "unlike": self._unlike,
                "kinds": [*dict.fromkeys([*self._marks.kinds, *self._proposals[0]])],
                "groups": self.signals.titles,
                "revision": self.revision,
                "followed": self._marks == self._followed,
                "unsure": sum(unsure),
                "judged": self._judged,
                "next": self._next(unsure),
                "undo": bool(self._past),
            }

    def __getitem__(self, episode: int) -> dict[str, int | None]:
        """What a person marked in an episode."""
        return dict(self._marks.steps.get(episode, {}))

    def change(self, revision: int, do: str, **given: Any) -> None:
        """Make a change, and save the marks.

        Stale if the marks are no longer those of `revision`. InputError if there is no such episode
        or step, a name cannot be used, or the data have changed.
        """
        with self.lock:
            self._check()
            if revision != self.revision:
                raise Stale
            past = self._past
            if do == "undo":
                if not past:
                    raise InputError("There is nothing to undo.")
                *past, new = past
                if self._followed and self._followed.kinds:  # not the names that a kind had
                    self._proposals = [
                        {k: own[k] for k in own if k in new.kinds} for own in self._proposals
                    ]
            else:
                new, past = self._changed(do, **given), [*past[1 - REMEMBERED :], self._marks]
            write_marks(self.path, new, self.trajectories)
            self._marks, self._past, self._saved = new, past, _stamp(self.path)
            self.revision += 1

    def follow(self) -> str:
        """Find the marked kinds in all episodes; without marks, what the states show.

        Returns a sentence if nothing is found.
        """
        with self.lock:
            self._check()
            marks, of = self._marks, self._marks.steps
            seen = {k for own in of.values() for k, step in own.items() if step is not None}
            steps = {i: {k: own[k] for k in own if k in seen} for i, own in of.items()}
            labels = Marks(tuple(k for k in marks.kinds if k in seen), steps) if seen else None
            found = discover_keystates(self.trajectories, "auto", labels=labels)
            table = found.steps.tolist()  # None where an episode lacks a kind
            sure = found.found.certainty
            rows = np.full(found.steps.shape, None) if sure is None else sure.round(3)
            each = [zip(*row, strict=True) for row in zip(table, rows.tolist(), strict=True)]
            names = found.found.names
            self._proposals = [dict(zip(names, own, strict=True)) for own in each]
            self._unlike, self._followed, self._judged = unlike(found), marks, sure is not None
            nothing = "The states show no contact or switch: mark the key states of one episode."
            return "" if names else nothing

    def annotate(self, out: str) -> str:
        """Write an annotated copy, and return a sentence."""
        with self.lock:
            self._check()
            if not any(self._marks.steps.values()):
                raise InputError("There are no marks to annotate with: mark one episode first.")
            if not out.strip():
                raise InputError("The copy has no name: write one.")
            tools, objects = self._bodies
            found = annotate(self.recording, tools=tools, objects=objects, labels=self.path)
            place = Path(out.strip())
            notes = found.write(place)
            texts = [f"Written: {place.absolute()}.", *(f"Left out: {note}." for note in notes)]
            if any("--names" in note for note in notes):  # the page has no field for them
                command = f"infoatlas-rt annotate {self.data} --label {self.path} --names NAMES"
                texts.append(f"With names: {command}.")
            return " ".join(texts)

    def _check(self) -> None:
        """Take over a changed file of labels; InputError if the data have changed."""
        self._reread()
        if _stamp(self.data) != self._opened:
            raise InputError(
                f"{self.data.name} has changed since it was opened: end infoatlas-rt label with "
                f"Ctrl-C and start it again. Your marks are in {self.path}."
            )

    def _reread(self) -> None:
        """Read the file of labels if it is not as it was saved."""
        if (stamp := _stamp(self.path)) == self._saved:
            return
        if stamp:
            given = read_labels(self.path, self.trajectories)
            if not isinstance(given, Marks):
                raise InputError(
                    f"{self.path} has no fingerprint of its data: pass another --labels FILE, "
                    "which is made at the first mark"
                )
            self._marks, self._past = given, []
        self._saved = stamp
        self.revision += 1

    def _next(self, unsure: list[float]) -> dict[str, Any] | None:
        """The episode whose label would help most, why, and how much; None if none would."""
        kinds, lengths = max(len(self._marks.kinds), 1), self.trajectories.lengths
        left = [i for i in range(len(self.names)) if len(self[i]) < kinds]
        if not left:
            return None
        if not (self._judged or any(self._unlike[i] for i in left)):
            best = min(left, key=lambda i: abs(lengths[i] - np.median(lengths)))
            return {"episode": best, "why": "of median length", "gain": 0}
        best = max(left, key=lambda i: unsure[i] + 0.1 * len(self._unlike[i]))
        why = next(iter(self._unlike[best]), "least sure")
        new = self._judged and self._followed == self._marks and self._proposals[best]
        if new and unsure[best] < SETTLED and not self._unlike[best]:
            return None
        return {"episode": best, "why": why, "gain": round(unsure[best], 2)}

    def _changed(
        self,
        do: str,
        episode: int = 0,
        kind: str = "",
        step: int | None = None,
        name: str | None = None,
    ) -> Marks:
        """The marks after a change."""
        marks, own, last = self._marks, self[episode], self.trajectories.lengths[episode] - 1
        if do == "rename":  # everywhere; without a name, the kind is removed
            to = None if name is None else _name(name)
            if to != kind and to in marks.kinds:
                raise InputError(f"{to} is another kind: choose a new name.")
            names = {k: to if k == kind else k for k in marks.kinds}
            steps = {
                i: {n: s for k, s in row.items() if (n := names[k])}
                for i, row in marks.steps.items()
            }
            for row in self._proposals:
                if kind in row and (entry := row.pop(kind)) and to:
                    row[to] = entry
            return Marks(tuple(n for n in names.values() if n), steps)
        if do == "mark":
            if step is not None and not 0 <= step <= last:
                raise InputError(f"Step {step} is outside of the episode: use 0 to {last}.")
            own[_name(kind)] = step
        elif do == "unmark":
            own.pop(kind, None)
        elif do == "accept":  # all proposals of the episode
            own = {k: at for k, (at, _) in self._proposals[episode].items()} | own
        else:
            raise ValueError(do)
        return Marks(tuple(dict.fromkeys([*marks.kinds, *own])), {**marks.steps, episode: own})


def unlike(found: KeyStates) -> list[list[str]]:
    """Reasons why each demonstration is unlike the others; empty if there are none."""
    reasons = [quality.reasons for quality in found.quality]
    names = ["the begin", *found.found.names, "the end"]
    lengths = found.trajectories.lengths[:, None]
    second = found.trajectories.rate or NOMINAL
    steps = np.concatenate([0 * lengths, found.steps.astype(float).filled(np.nan), lengths], axis=1)
    for lasts, (name, after) in zip(np.diff(steps).T, pairwise(names), strict=True):
        middle = float(np.nanmedian(lasts))
        usual = 1.4826 * float(np.nanmedian(np.abs(lasts - middle)))
        limit = UNLIKE * max(usual, 0.1 * middle, 0.25 * second)
        for i in np.flatnonzero(np.abs(lasts - middle) > limit).tolist():
            word = "long" if lasts[i] > middle else "short"
            reasons[i].append(f"{word} from {name} to {after}")
    return reasons


def _name(text: str) -> str:
    name = " ".join(str(text).split())
    if not 0 < len(name) <= LONGEST:
        raise InputError(f"A name has 1 to {LONGEST} characters.")
    return name


def _stamp(path: Path) -> tuple[int, ...]:
    """Number, newest change and size of the files at a path; () if there is none."""
    inside = (Path(at) / name for at, _, names in os.walk(path) for name in names)
    try:
        found = [file.stat() for file in (inside if path.is_dir() else [path])]
    except OSError:
        return ()
    return len(found), max((s.st_mtime_ns for s in found), default=0), sum(s.st_size for s in found)
