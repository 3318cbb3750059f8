"""What the page shows and changes: marks, what follows from them, and which episode comes next."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from itertools import pairwise
from pathlib import Path
from threading import RLock
from typing import Any

import numpy as np

from infoatlas_rt.errors import InputError
from infoatlas_rt.live.timing import NOMINAL

from ..keystates.discovery import discover_keystates
from ..keystates.key_states import KeyStates
from ..keystates.marks import Marks, episode_names, read_labels, write_marks
from ..trajectories import Trajectories
from .signals import Signals

UNLIKE = 4.0  # robust standard deviations from which a duration is unlike the others
REMEMBERED = 200  # changes that can be undone


class Stale(Exception):
    """The marks were changed elsewhere: in another tab, or in the file."""


class Session:
    """Marks of one data set, saved at every change.

    Parameters
    ----------
    trajectories : Trajectories
    data : Path
        The data set; no mark is made after it changed.
    path : Path
        The file of labels, which may exist.
    annotate : function of a file of labels and a target
        Writes an annotated copy, and returns a sentence.
    copy : str
        Name that is proposed for the copy.
    """

    def __init__(
        self,
        trajectories: Trajectories,
        data: Path,
        path: Path,
        annotate: Callable[[Path, Path], str],
        copy: str,
    ) -> None:
        self.trajectories, self.data, self.path = trajectories, data, path
        self.names, self.copy, self._annotate = episode_names(trajectories), copy, annotate
        self.signals = Signals(trajectories)
        self.lock = RLock()
        self.revision = 0
        self.found: KeyStates | None = None
        self._marks, self._followed = Marks(), Marks()
        self._past: list[Marks] = []
        self._opened, self._saved = _stamp(data), _stamp(path)
        if path.exists():
            self._read()

    def state(self) -> dict[str, Any]:
        """All that the page shows, except for signals and pictures."""
        with self.lock:
            self._reread()
            kinds = list(self._marks.kinds)
            proposals: list[dict[str, list[Any]]] = [{} for _ in self.names]
            if self.found is not None:
                kinds += [name for name in self._proposed() if name not in kinds]
                for i, own in enumerate(proposals):
                    for j, name in enumerate(self._proposed()):
                        step = self.found.steps[i, j]
                        sure = self.found.found.certainty
                        own[name] = [
                            None if step is np.ma.masked else int(step),
                            None if sure is None else round(float(sure[i, j]), 3),
                        ]
            unsure: list[float] = [
                sum(1.0 - (p[1] or 0.0) for name, p in own.items() if name not in self._of(i))
                for i, own in enumerate(proposals)
            ]
            return {
                "title": self.data.name,
                "labels": str(self.path),
                "copy": self.copy,
                "rate": self.trajectories.rate,
                "episodes": [
                    {"name": name, "length": int(n), "marks": self._of(i), "proposals": own}
                    for i, (name, n, own) in enumerate(
                        zip(self.names, self.trajectories.lengths, proposals, strict=True)
                    )
                ],
                "unlike": [] if self.found is None else unlike(self.found),
                "kinds": kinds,
                "groups": self.signals.titles,
                "revision": self.revision,
                "followed": self.found is not None and self._marks == self._followed,
                "unsure": sum(unsure),
                "next": self._next(unsure),
                "undo": bool(self._past),
            }

    def change(self, revision: int, do: str, **given: Any) -> None:
        """Make a change, and save the marks.

        Raises
        ------
        Stale
            The marks are no longer those of `revision`.
        InputError
            There is no such episode, step or kind, or the data have changed.
        """
        with self.lock:
            self._reread()
            if revision != self.revision:
                raise Stale
            self.check_data()
            if do == "undo":
                if not self._past:
                    raise InputError("There is nothing to undo.")
                new = self._past.pop()
            else:
                new = getattr(self, f"_do_{do}")(**given)
                self._past = [*self._past[1 - REMEMBERED :], self._marks]
            write_marks(self.path, new, self.trajectories)
            self._marks, self._saved = new, _stamp(self.path)
            self.revision += 1

    def follow(self) -> None:
        """Find the marked kinds in all demonstrations; without marks, what the states show."""
        with self.lock:
            self._reread()
            self.check_data()
            marks = self._marks
            steps = {i: own for i, own in marks.steps.items() if own}
            seen = {k for own in steps.values() for k, step in own.items() if step is not None}
            kept = Marks(
                tuple(kind for kind in marks.kinds if kind in seen),
                {i: {k: s for k, s in own.items() if k in seen} for i, own in steps.items()},
            )
            self.found = discover_keystates(
                self.trajectories, "auto", labels=kept if kept.kinds else None
            )
            self._followed = marks

    def annotate(self, out: str) -> str:
        """Write an annotated copy, and return a sentence."""
        with self.lock:
            self._reread()
            self.check_data()
            if not any(self._marks.steps.values()):
                raise InputError("There are no marks to annotate with: mark one episode first.")
            if not out.strip():
                raise InputError("The copy has no name: write one.")
            return self._annotate(self.path, Path(out.strip()))

    def check_data(self) -> None:
        """Raise InputError if the data have changed since they were read."""
        if _stamp(self.data) != self._opened:
            raise InputError(
                f"{self.data.name} has changed since it was opened: end infoatlas-rt label with "
                f"Ctrl-C and start it again. Your marks are in {self.path}."
            )

    def _proposed(self) -> list[str]:
        assert self.found is not None
        return [self.found.name(j) for j in range(self.found.steps.shape[1])]

    def _of(self, episode: int) -> dict[str, int | None]:
        return dict(self._marks.steps.get(episode, {}))

    def _read(self) -> None:
        given = read_labels(self.path, self.trajectories)
        if not isinstance(given, Marks):
            raise InputError(
                f"{self.path} has no fingerprint of its data: pass another --labels FILE, which "
                "is made at the first mark"
            )
        self._marks, self._saved, self._past = given, _stamp(self.path), []

    def _reread(self) -> None:
        """Take over a file of labels that another program changed."""
        if _stamp(self.path) != self._saved:
            if self.path.exists():
                self._read()
            else:
                self._saved = _stamp(self.path)
            self.revision += 1

    def _next(self, unsure: list[float]) -> dict[str, Any] | None:
        """The episode whose label would help most, why, and how much it would bring."""
        kinds = max(len(self._marks.kinds), 1)
        left = [i for i in range(len(self.names)) if len(self._of(i)) < kinds]
        if not left:
            return None
        if self.found is None:
            middle = float(np.median(self.trajectories.lengths))
            best = min(left, key=lambda i: (abs(self.trajectories.lengths[i] - middle), i))
            return {"episode": best, "why": "its length is the median", "gain": None}
        odd = unlike(self.found)
        best = max(left, key=lambda i: (unsure[i] + 0.1 * len(odd[i]), -i))
        why = odd[best][0] if odd[best] else "least sure"
        return {"episode": best, "why": why, "gain": round(unsure[best], 2)}

    def _do_mark(self, episode: int, kind: str, step: int | None) -> Marks:
        kind = _name(kind)
        if not 0 <= episode < len(self.names):
            raise InputError(f"There is no episode {episode}.")
        last = int(self.trajectories.lengths[episode]) - 1
        if step is not None and not 0 <= step <= last:
            raise InputError(f"Step {step} is outside of the episode: use 0 to {last}.")
        kinds = self._marks.kinds
        kinds = kinds if kind in kinds else (*kinds, kind)
        return Marks(kinds, {**self._marks.steps, episode: {**self._of(episode), kind: step}})

    def _do_unmark(self, episode: int, kind: str) -> Marks:
        own = {name: step for name, step in self._of(episode).items() if name != kind}
        return Marks(self._marks.kinds, {**self._marks.steps, episode: own})

    def _do_accept(self, episode: int) -> Marks:
        """Make marks of all that is proposed for an episode."""
        marks = self._marks
        proposed = self.state()["episodes"][episode]["proposals"]
        for kind, (step, _) in proposed.items():
            if kind not in self._of(episode):
                self._marks = self._do_mark(episode, kind, step)
        new, self._marks = self._marks, marks
        return new

    def _do_rename(self, kind: str, name: str | None) -> Marks:
        """Rename a kind everywhere; without a name, remove it."""
        to = None if name is None else _name(name)
        if to != kind and to in self._marks.kinds:
            raise InputError(f"{to} is another kind: choose a new name.")

        def changed(names: Mapping[str, Any]) -> dict[str, Any]:
            pairs = {to if k == kind else k: v for k, v in names.items()}
            return {k: v for k, v in pairs.items() if k is not None}

        self.found = None  # it has the old name
        kinds = tuple(changed(dict.fromkeys(self._marks.kinds)))
        return Marks(kinds, {i: changed(own) for i, own in self._marks.steps.items()})


def unlike(found: KeyStates) -> list[list[str]]:
    """Reasons why each demonstration is unlike the others; empty if there are none."""
    reasons: list[list[str]] = [
        [*(f"lacks {name}" for name in q.missing), *(f"repeats {name}" for name in q.repeated),
         *q.failures]
        for q in found.quality
    ]  # fmt: skip
    names = ["the begin", *(found.name(j) for j in range(found.steps.shape[1])), "the end"]
    lengths = found.trajectories.lengths[:, None]
    second = found.trajectories.rate or NOMINAL
    steps = np.concatenate([0 * lengths, found.steps.astype(float).filled(np.nan), lengths], axis=1)
    for j, (name, after) in enumerate(pairwise(names)):
        lasts = steps[:, j + 1] - steps[:, j]
        middle = float(np.nanmedian(lasts))
        usual = 1.4826 * float(np.nanmedian(np.abs(lasts - middle)))
        limit = UNLIKE * max(usual, 0.1 * middle, 0.25 * second)
        for i in np.flatnonzero(np.abs(lasts - middle) > limit).tolist():
            word = "long" if lasts[i] > middle else "short"
            reasons[i].append(f"{word} from {name} to {after}")
    return reasons


def _name(text: str) -> str:
    name = " ".join(str(text).split())
    if not name or len(name) > 60:
        raise InputError("A name has 1 to 60 characters.")
    return name


def _stamp(path: Path) -> tuple[int, ...]:
    """Times of change and sizes of a file, or of the files in a folder."""
    try:
        if not path.is_dir():
            found = [path.stat()]
        else:
            files = (Path(at) / name for at, _, names in os.walk(path) for name in names)
            found = [file.stat() for file in files]
    except OSError:
        return ()
    return len(found), max((s.st_mtime_ns for s in found), default=0), sum(s.st_size for s in found)
