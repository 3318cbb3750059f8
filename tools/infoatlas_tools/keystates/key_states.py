"""Key states: boundaries between the sub-tasks of each demonstration.

`discover_keystates` (`discovery.py`) finds them in recorded demonstrations, and `KeyStateTracker`
follows them in a running episode.
"""

import os
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from infoatlas_rt.estimation.estimator import Estimator
from infoatlas_rt.live.detectors import Detectors
from infoatlas_rt.live.task import Task

from ..presentation import Content, Shown, with_count
from ..trajectories import Trajectories, episode_names
from . import summary as tables
from .contacts.contact_events import Evidence
from .contacts.keystate_steps import Steps
from .coordinates import warn
from .fits.fit_detectors import fit_live
from .fits.fit_outcome import fit_outcome
from .fits.fit_subtasks import fit_subtasks
from .motion.durations import NEAR, tempo
from .motion.motion_scales import Recordings
from .subtasks.find_subtasks import subtasks_of
from .subtasks.subtask_results import Subtasks
from .trust.quality import Quality
from .trust.trust import data_reasons, reasons, repetition


@dataclass(frozen=True, eq=False)
class KeyStates(Shown):
    """Key states of N demonstrations.

    Attributes
    ----------
    found : Steps
        Steps, strengths and kinds; `steps`, `strength`, `kind` and `shared` are its fields.
    trajectories : Trajectories
        The demonstrations, with bad frames replaced.
    recordings : Recordings
        The data that detectors are fitted to.
    quality : tuple of Quality
        Quality of each demonstration.
    labels : tuple of str
        Names of the labelled kinds.
    evidence : Evidence
        Contacts and switches that the states show.
    reproduced : [K] float64
        Share of each key state that detectors fitted to other demonstrations find again within
        0.25 s, corrected for that of evenly spaced steps: 0 for as many, 1 for all. NaN with one
        demonstration, or if evenly spaced steps are nearly always found.
    met : float
        Share of the contacts and switches that have a key state within 0.25 s, less that of evenly
        spaced steps; NaN if the states show none. With labels, the share of the key states that are
        within 0.25 s of a contact or a switch.
    notes : tuple of str
        Sentences about what the search recognised, left out or replaced.
    """

    found: Steps
    trajectories: Trajectories = field(repr=False)
    recordings: Recordings = field(repr=False)
    evidence: Evidence = field(repr=False)
    quality: tuple[Quality, ...] = field(repr=False)
    labels: tuple[str, ...]
    reproduced: NDArray[np.float64]
    met: float
    notes: tuple[str, ...] = field(default=(), repr=False)

    @property
    def steps(self) -> Any:
        """Recorded steps, a masked array [N, K] of int64.

        Column j is the same key state in all demonstrations; an entry is masked where a
        demonstration lacks it. Columns are in order of their median place, as a share of the
        demonstration. A demonstration has at most `count` key states, but there may be more columns
        than that. The end is not among them.
        """
        return self.found.steps

    @property
    def agreement(self) -> float:
        """`met` times the mean of `reproduced`, not below 0; NaN if either is not known.

        The product ranks data sets as their share of right key states does, less that of evenly
        spaced steps. Neither of the two does so alone.
        """
        share = self.met * repetition(self.found, self.reproduced)
        return share if share != share else max(share, 0.0)

    @cached_property
    def _spans(self) -> tuple[Any, Any]:
        timing, lengths = self.recordings.timing, self.trajectories.lengths
        frequency = timing.frequency * timing.stride
        near = NEAR * tempo(lengths, frequency) * frequency if self.labels else -1
        return self.evidence.spans(self.steps, near)

    @property
    def begins(self) -> Any:
        """Steps [N, K] at which the switches of grippers begin, masked as `steps`.

        They are `steps` where there is no switch.
        """
        return self._spans[0]

    @property
    def ends(self) -> Any:
        """Steps [N, K] at which the switches of grippers end, masked as `steps`.

        They are `steps` where there is no switch.
        """
        return self._spans[1]

    @property
    def strength(self) -> NDArray[np.float64]:
        """Strength of each column [K].

        Contacts and switches: 1 and more. Other changes of the motion: below 1. With labels: the
        share of the demonstrations that have it.
        """
        return self.found.strength

    @property
    def kind(self) -> NDArray[np.int64]:
        """Kind of each column [K]: columns with the same number are one kind, repeated."""
        return self.found.kind

    @property
    def shared(self) -> NDArray[np.bool_]:
        """False for the column of changes that match no others [K]."""
        return self.found.shared

    @property
    def order(self) -> NDArray[np.int64]:
        """Columns from the strongest to the weakest [K]; those that are not shared come last."""
        return np.lexsort((-self.strength, ~self.shared)).astype(np.int64)

    @cached_property
    def detectors(self) -> Detectors:
        """Detectors of the key states for running episodes, with their recall and delay.

        They are fitted and cross-validated at the first access, without sub-tasks.
        """
        return fit_live(self.recordings, self.found)

    def table(self) -> Any:
        """A pandas DataFrame with a row for each key state of each demonstration.

        Columns: demonstration (row of `steps`), key_state (column of `steps`), kind, name, source,
        shared, step, begins, ends, seconds (of the step; NaN without a rate), strength.

        Raises
        ------
        InputError
            pandas is not installed.
        """
        return tables.data_frame(self.found, self.begins, self.ends, self.trajectories)

    def to_dict(self) -> dict[str, Any]:
        """JSON-safe values; "keystates" is a list with a dict for each column of `steps`."""
        return {
            "stride": self.recordings.timing.stride,
            "rate": self.trajectories.rate,
            "trajectories": len(self.steps),
            **tables.finite({"met": self.met}),
            "notes": [*self.trajectories.notes, *self.notes],
            "warnings": list(self.warnings),
            "quality": [tables.finite(asdict(quality)) for quality in self.quality],
            "keystates": [
                {
                    "steps": self.steps[:, column].tolist(),
                    "begins": self.begins[:, column].tolist(),
                    "ends": self.ends[:, column].tolist(),
                    "strength": float(self.strength[column]),
                    "kind": int(self.kind[column]),
                    "name": self.name(column),
                    "source": self.found.source[column],
                    "shared": bool(self.shared[column]),
                    **tables.finite({"reproduced": float(self.reproduced[column])}),
                }
                for column in range(self.steps.shape[1])
            ],
        }

    def name(self, column: int) -> str:
        """Name of a key state, as "grasp cube", "gripper opens", "change A" or that of a label.

        Parameters
        ----------
        column : int
            Column of `steps`.
        """
        return self.found.names[column]

    def sure(self, column: int) -> str:
        """What a key state rests on: "contact seen", "switch seen", "repeats" or "unsure".

        Labels: "labelled in 3, followed in 23".

        Parameters
        ----------
        column : int
            Column of `steps`.
        """
        return tables.how_sure(self.found, self.reproduced)[column]

    def named(self, names: Mapping[str, str]) -> "KeyStates":
        """A copy in which some key states have other names.

        Parameters
        ----------
        names : dict of str to str
            New names by the present ones: {"gripper closes": "grasp cube"}.
        """
        events = tuple(replace(e, words=names.get(e.name, e.words)) for e in self.found.events)
        quality = tuple(
            replace(own, missing=tuple(names.get(name, name) for name in own.missing))
            for own in self.quality
        )
        return replace(self, found=replace(self.found, events=events), quality=quality)

    @property
    def warnings(self) -> tuple[str, ...]:
        """Reasons not to rely on the key states, as sentences; empty if there is none."""
        data = self.trajectories
        found = (
            *warn(self.recordings.coordinates.dropouts, episode_names(data)),
            *data_reasons(data.lengths, data.rate, bool(self.labels)),
        )
        if self.labels:
            return found
        return (*found, *reasons(self.found, self.evidence, self.reproduced))

    def subtasks(
        self,
        tool: Any = None,
        objects: Any = None,
        *,
        object_names: Mapping[int, str] | None = None,
        estimator: Estimator | str | os.PathLike[str] | None = None,
    ) -> Subtasks:
        """Sub-tasks (parts) of each demonstration, and the reference object of each.

        With poses of objects in the states, cuts are contacts of the tool with them, at the steps
        of key states or of their labels. Otherwise they are the shared key states. The chosen
        sequence has the most information between the places where parts end and the poses of their
        references.

        Without poses, a camera of the demonstrations gives references: objects whose points in the
        first images have information about the joints at the end of a part. This needs eight
        demonstrations with objects of different colours at different places.

        Parameters
        ----------
        tool : Pose, Position, or dict of str to these, optional
            Columns of the tool, or of each of several, as {"left": Pose("left"), "right": ...}.
        objects : dict of str to Pose or Position, optional
            Columns of the possible reference objects, as {"cube": Pose("cube"), "goal":
            Position("goal")}. Without tool and objects, the parts are those between shared key
            states.
        object_names : dict of int to str, optional
            Names of objects that a camera sees, by their numbers: {1: "bottle"} for "object 1".
        estimator : Estimator, or name or path of a model, optional
            The model also estimates the information of the chosen parts, if there are enough
            demonstrations for it; the shipped model unless given.

        Raises
        ------
        InputError
            Columns do not exist, or a name stands for two bodies.

        Examples
        --------
        >>> from infoatlas_tools import discover_keystates
        >>> moves = [np.repeat([[1, 0], [0, 1]], [20 + i, 20], axis=0) for i in range(6)]
        >>> found = discover_keystates([v.cumsum(axis=0) for v in moves], count=1)
        >>> parts = found.subtasks()
        >>> parts.names, parts.parts[0].end.tolist()
        (('until change A', 'until end'), [19, 20, 21, 22, 23, 24])
        """
        return subtasks_of(
            self.trajectories, self.found, self.evidence, self.recordings.timing.stride,
            tool, objects, object_names or {}, estimator,
        )  # fmt: skip

    def follow(self, subtasks: Subtasks | None = None, false_done: float | None = None) -> Task:
        """What a tracker needs to follow the key states, cross-validated on the demonstrations.

        Parameters
        ----------
        subtasks : Subtasks, optional
            Sub-tasks of these demonstrations, to be followed, too.
        false_done : float, optional
            Largest share of executions in which `outcome` may be "done" more than 0.5 s before the
            end. If the demonstrations are too few for it, `outcome` is never "done" but "unknown".
            Unless given, it is 0.1, or what they can give.

        Returns
        -------
        Task
            For `KeyStateTracker` or `VectorTracker`.

        Raises
        ------
        InputError
            The sub-tasks are of other demonstrations, or cannot be followed; or `false_done` is
            not between 0 and 1.

        Examples
        --------
        >>> from infoatlas_tools import discover_keystates
        >>> moves = [np.repeat([[1, 0], [0, 1]], [20 + i, 20], axis=0) for i in range(6)]
        >>> found = discover_keystates([v.cumsum(axis=0) for v in moves], count=1)
        >>> for part in str(found.follow()).split("; "):
        ...     print(part)
        key state 1 (change A): followed
        found in 93%, median delay 0.25 s, 0.1 false reports per demonstration
        """
        names = tuple(self.name(j) for j in range(self.steps.shape[1]))
        data = self.recordings, self.evidence, self.trajectories
        if subtasks is None:
            outcome = fit_outcome(*data, None, None, [], false_done)
            return Task(names, self.trajectories.names, self.detectors, outcome)
        models, parts, followed, ends = fit_subtasks(self.recordings, self.trajectories, subtasks)
        names = tuple(subtasks.keystate_names.get(name, name) for name in names)
        detectors = fit_live(self.recordings, self.found, parts)
        outcome = fit_outcome(*data, models, followed, ends, false_done)
        return Task(names, self.trajectories.names, detectors, outcome, models)

    def save(self, path: str | os.PathLike[str], subtasks: Subtasks | None = None) -> None:
        """Write `follow(subtasks)` to a .json file.

        Parameters
        ----------
        path : path
            The file to write; one that exists is replaced.
        subtasks : Subtasks, optional
            Sub-tasks of these demonstrations, to be followed, too.

        Raises
        ------
        InputError
            The file cannot be written, or the sub-tasks are of other demonstrations.
        """
        self.follow(subtasks).save(path)

    def _content(self) -> Content:
        rate = "" if self.trajectories.rate is None else f" at {self.trajectories.rate:g} Hz"
        most = int(self.steps.count(axis=1).max(initial=0))
        shared = with_count(int(self.shared.sum()), "key state")
        head = f"{shared} of {with_count(len(self.steps), 'demonstration')}{rate}"
        rows, notes = tables.rows(self.found, self.reproduced)
        notes += [*tables.agreement(self.agreement), *self.warnings]
        return f"{head}, up to {most} in each", rows, notes

    def __str__(self) -> str:
        head, rows, notes = self._content()
        return "\n".join([head, *tables.lines(rows), *notes])
