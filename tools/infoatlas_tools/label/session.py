"""What the page shows and changes: marks, proposals that follow from them, the next episode."""

from collections.abc import Iterator
from contextlib import contextmanager
from functools import cached_property
from itertools import pairwise
from pathlib import Path
from threading import RLock
from typing import Any

import numpy as np

from infoatlas_rt.errors import InputError

from ..annotations.annotate import annotate, follow_reading
from ..annotations.content import Annotations
from ..annotations.written_formats import FORMATS, check_format
from ..bags.any_recording import Recording
from ..cameras.camera import Camera
from ..clocks.pictures import camera_clock
from ..files.hub import name_of
from ..keystates.discovery import discover_keystates
from ..keystates.key_states import KeyStates
from ..keystates.marks import Marks, read_labels, write_marks
from ..keystates.motion.durations import NOMINAL
from ..run_folder import stamp
from ..trajectories import episode_names
from .signals import Signals
from .work import Work

UNLIKE = 4.0  # robust standard deviations from which a duration is unlike the others
SETTLED = 0.05  # proposals of an episode that are probably off: with fewer, it needs no label
REMEMBERED = 200  # changes that can be undone
CLOCKS = 10.0  # seconds for the clock of a camera
LONGEST = 60  # characters of a name


class Stale(Exception):
    """The marks were changed elsewhere: in another tab, or in the file."""


class Session:
    """Marks of one recording, saved at every change, also while something is computed.

    No mark is accepted after the data changed. `path` is the file of labels, which may exist.
    `tools` and `objects` are those of the annotated copy, as in `annotate`.
    """

    def __init__(
        self, recording: Recording, path: Path, *, tools: Any = None, objects: Any = None
    ) -> None:
        self.recording, self.path, self.data = recording, path, recording.path
        self.trajectories = trajectories = recording.trajectories
        self.names, self._bodies = episode_names(trajectories), {"tools": tools, "objects": objects}
        target = check_format(recording)
        ending = self.data.suffix if FORMATS[target].in_place else FORMATS[target].suffix
        self.title = name_of(self.data)
        self.copy = f"{Path(self.title).stem}_annotated{ending}"  # the name that the page proposes
        self.signals, self.lock, self.revision = Signals(trajectories), RLock(), 0
        self._marks, self._past = Marks(), list[Marks]()
        self.work: Work | None = None
        self.object_names: dict[int, str] = {}  # of objects that the camera sees
        self._followed: Marks | None = None  # the marks that proposals follow from
        self._judged = False  # whether proposals have a certainty: those from marks do
        # Step and certainty by episode and kind, and reasons why an episode is unlike the others.
        self._proposals: list[dict[str, tuple[int | None, float | None]]] = [{} for _ in self.names]
        self._unlike: list[list[str]] = [[] for _ in self.names]
        self._opened, self._saved = stamp(self.data), ""
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
                "title": self.title,
                "labels": str(self.path),
                "notes": self.trajectories.notes,
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
            self._marks, self._past, self._saved = new, past, stamp(self.path)
            self.revision += 1

    def follow(self) -> str:
        """Find the marked kinds in all episodes; without marks, what states and images show.

        Returns a sentence if nothing is found.
        """
        with self._working("Follow") as work:
            marks, of = self._marks, self._marks.steps
            seen = {k for own in of.values() for k, step in own.items() if step is not None}
            steps = {i: {k: own[k] for k in own if k in seen} for i, own in of.items()}
            labels = Marks(tuple(k for k in marks.kinds if k in seen), steps) if seen else None
            found = discover_keystates(self.trajectories, "auto", labels=labels)
            work.advance(1.0)  # what was cancelled changes nothing
        with self.lock:
            table = found.steps.tolist()  # None where an episode lacks a kind
            sure = found.found.certainty
            rows = np.full(found.steps.shape, None) if sure is None else sure.round(3)
            each = [zip(*row, strict=True) for row in zip(table, rows.tolist(), strict=True)]
            names = found.found.names
            self._proposals = [dict(zip(names, own, strict=True)) for own in each]
            for gone in {*marks.kinds} - {*self._marks.kinds}:  # renamed or removed meanwhile
                self._proposals = [{k: own[k] for k in own if k != gone} for own in self._proposals]
            self._unlike, self._followed, self._judged = unlike(found), marks, sure is not None
            nothing = "The states show no contact or switch: mark the key states of one episode."
            return "" if names else nothing

    def annotate(self, out: str) -> str:
        """Write an annotated copy, and return a sentence."""
        with self._working("Annotate") as work:
            if not any(self._marks.steps.values()):
                raise InputError("There are no marks to annotate with: mark one episode first.")
            if not out.strip():
                raise InputError("The copy has no name: write one.")
            found = self._annotated(work)
            place = Path(out.strip())
            notes = found.write(place)
            texts = [f"Written: {place.absolute()}.", *(f"Left out: {note}." for note in notes)]
            if any("--names" in note for note in notes):  # the page has no field for them
                command = f"infoatlas-rt annotate {self.data} --label {self.path} --names NAMES"
                texts.append(f"With names: {command}.")
            return " ".join(texts)

    def objects(self) -> dict[str, Any]:
        """Objects that the first camera sees, with boxes in first images; InputError if none."""
        with self._working("Objects") as work:
            found = self._annotated(work).subtasks
        if (seen := found.seen) is None:
            raise InputError(" ".join(["The camera shows no objects.", *found.notes]))
        about = {"boxes": seen.boxes.tolist(), "size": seen.images.shape[1:3]}
        return {"numbers": seen.numbers, "names": seen.names, **about}

    @cached_property
    def clocks(self) -> dict[str, int]:
        """Steps by which the pictures of each camera are later than the states; 0 if unknown."""
        given, found = self.trajectories, dict[str, int]()
        about = given.split(), given.names, given.rate or NOMINAL, CLOCKS
        for name, camera in self.recording.cameras.items():
            own = Camera(name, camera.lengths, camera.demonstrations)  # `late` stays 0
            offset = camera_clock(own, *about).offset
            found[name] = round(offset.steps) if offset.apart else 0
        return found

    def _annotated(self, work: Work) -> Annotations:
        """The annotations by the marks, or without any."""
        about = self._bodies | {"object_names": self.object_names or None}
        labels = self.path if any(self._marks.steps.values()) else None
        found = annotate(self.recording, labels=labels, progress=work.advance, **about)
        work.advance(1.0)
        return found

    @contextmanager
    def _working(self, name: str) -> Iterator[Work]:
        """Let the page show and cancel what is computed; InputError if something else is."""
        with self.lock:
            self._check()
            if self.work:
                raise InputError(f"{self.work.name} is at work: wait for it, or cancel it.")
            self.work = work = Work(name)
        if self.trajectories.camera is not None:
            follow_reading(self.trajectories.camera, work.advance)
        try:
            yield work
        finally:
            self.work = None

    def _check(self) -> None:
        """Take over a changed file of labels; InputError if the data have changed."""
        self._reread()
        if stamp(self.data) != self._opened:
            raise InputError(
                f"{self.title} has changed since it was opened: end infoatlas-rt label with "
                f"Ctrl-C and start it again. Your marks are in {self.path}."
            )

    def _reread(self) -> None:
        """Read the file of labels if it is not as it was saved."""
        if (saved := stamp(self.path)) == self._saved:
            return
        if saved:
            given = read_labels(self.path, self.trajectories)
            if not isinstance(given, Marks):
                raise InputError(
                    f"{self.path} has no fingerprint of its data: pass another --labels FILE, "
                    "which is made at the first mark"
                )
            self._marks, self._past = given, []
        self._saved = saved
        self.revision += 1

    def _next(self, unsure: list[float]) -> dict[str, Any] | None:
        """The episode whose label would help most, why, and how much; None if none would."""
        kinds, lengths = max(len(self._marks.kinds), 1), self.trajectories.lengths
        left = [i for i in range(len(self.names)) if len(self[i]) < kinds]
        if not left:
            return None
        if not (self._judged or any(self._unlike[i] for i in left)):
            best = left[int(np.abs(lengths[left] - np.median(lengths)).argmin())]
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
            known = {k.casefold(): k for k in [*self._proposals[episode], *marks.kinds]}
            own[known.get((new := _name(kind)).casefold(), new)] = step
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
