"""Results: sub-tasks of recorded demonstrations, with their reference objects."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from infoatlas_rt.errors import InputError
from infoatlas_rt.estimation.result import INTERVAL

from ...array_types import Float, Int
from ...presentation import Content, Rows, Shown, require_pandas, with_count
from ...trajectories import step_seconds
from ..contacts.event_names import END, EventKind, add_number

WORLD = "world"  # reference of a part that no object is informative about
WIDTHS = (">3", "<28", ">5", ">7", "<12", "<13", ">5", "<12", ">5")  # of printed columns


@dataclass(frozen=True, eq=False)
class Subtask:
    """One sub-task (part) of all demonstrations: the motion of one tool from one cut to the next.

    Attributes
    ----------
    tool : str
        Name of the tool that moves; "" if none was named.
    start, end : [N] int64
        Recorded steps of each demonstration, `end` excluded. Equal where a demonstration lacks the
        part.
    event : EventKind, optional
        What happens at the cut that ends the part; `until` is its name.
    reference : str
        Name of the reference object; "world" if no object is informative about where the part ends,
        "" if no objects were named.
    orientation : {"position", "pose", "half turns", "quarter turns"}
        Relevant part of the reference's pose: its position alone, the full pose, or the pose up to
        half or quarter turns about the vertical.
    held : str
        Name of the object that moves with the tool; "" if none. It is the reference itself where
        the part both reaches and moves it.
    information : float
        Information between the place where the part ends and the reference's pose where it starts,
        nats (Gaussian form). NaN without a reference.
    runner_up : str
        The object with the next most information, or "world".
    runner_up_information : float
        Nats.
    stderr : float
        Standard error of `information` - `runner_up_information`, nats (jackknife over
        demonstrations).
    model_information, model_stderr : float
        The model's estimate of `information`, and its standard error, nats; NaN with fewer
        demonstrations than the model needs.
    left : float
        Share of the demonstrations in which a camera sees that the reference leaves its place where
        the part ends, or that something arrives at it. 0 if the reference is by information.
    """

    tool: str
    start: Int
    end: Int
    event: EventKind | None = None
    reference: str = ""
    orientation: str = "position"
    held: str = ""
    information: float = float("nan")
    runner_up: str = ""
    runner_up_information: float = float("nan")
    stderr: float = float("nan")
    model_information: float = float("nan")
    model_stderr: float = float("nan")
    left: float = 0.0

    @property
    def until(self) -> str:
        """Name of the cut that ends the part, as "grasp cube", "change A" or "end"; "" if none."""
        return self.event.name if self.event else ""

    @property
    def named_by_end(self) -> bool:
        """Whether only the end of the part is known: neither a reference nor a held object."""
        return self.reference in ("", WORLD) and not self.held

    @property
    def certain(self) -> bool:
        """Whether the reference left its place, or exceeds the runner-up by 1.645 errors."""
        lead = self.information - self.runner_up_information
        return bool(self.left or lead > INTERVAL * self.stderr)

    @property
    def nats(self) -> tuple[str, str]:
        """Text of the information of the reference object and of the runner-up; "-" if none."""
        own = self.information if self.reference != WORLD else float("nan")
        values = own, self.runner_up_information
        first, second = ("-" if value != value else f"{value:.1f}" for value in values)
        return first, second

    @property
    def duration(self) -> float:
        """Median number of recorded steps in the demonstrations that have the part."""
        own = (self.end - self.start)[self.end > self.start]
        return float(np.median(own)) if len(own) else 0.0


@dataclass(frozen=True, eq=False)
class SeenObjects:
    """Objects that a camera sees, and their information about the joints at each cut.

    Attributes
    ----------
    camera : str
        Its name in the recordings.
    names : tuple of O str
        "object 1" and so on, unless they are given.
    numbers : tuple of O int
        From the largest in the images, with the robot and what else is not among the objects.
    images : [N, h, w, 3] uint8
        First image of each demonstration.
    boxes : [N, O, 4] int64
        Left, top, width and height in pixels; 0 where an object is not seen.
    cuts : tuple of C str
        Names of the key states between the parts.
    nats, stderr : [C, O] float64
        Information and its standard error (jackknife); NaN with too few demonstrations.
    references : tuple of C str
        Name of each cut's reference; "world" without one.
    after : [N, h, w, 3] uint8
        Last image of each demonstration.
    left : [C, O] float64
        Share of the demonstrations in which the object leaves its place at a cut, or lies where
        something arrives.
    """

    camera: str
    names: tuple[str, ...]
    numbers: tuple[int, ...]
    images: NDArray[np.uint8]
    boxes: Int
    cuts: tuple[str, ...]
    nats: Float
    stderr: Float
    references: tuple[str, ...]
    after: NDArray[np.uint8]
    left: Float

    @property
    def informative(self) -> list[int]:
        """References and objects whose information exceeds its error, the most of it first."""
        lead = np.nan_to_num(self.nats - self.stderr, nan=-1.0).max(axis=0, initial=-1.0)
        objects = [o for o, name in enumerate(self.names) if lead[o] > 0 or name in self.references]
        return sorted(objects, key=lambda o: -lead[o])


@dataclass(frozen=True, eq=False)
class Subtasks(Shown):
    """Sub-tasks of N demonstrations.

    Attributes
    ----------
    parts : tuple of Subtask
        Parts of one tool after those of another, each in order of time. The parts of a tool cover
        each demonstration completely.
    lengths : [N] int64
        Recorded steps of each demonstration.
    rate : float or None
        Recorded steps a second (Hz).
    given_names : tuple of str
        Names of the parts, in their order; if empty, `names` makes them from the references.
    notes : tuple of str
        Sentences about how the parts were found.
    places : dict of str to tuple of int
        Columns of the position of each tool and object.
    seen : SeenObjects, or None
        The objects that a camera sees, if the references are such.
    keystate_names : dict of str to str
        Names of key states with the object that a camera sees, as "grasp bottle" for "gripper
        closes".
    times : sequence of [T] float64
        Seconds of the steps of each demonstration; empty if they are at an even rate.
    """

    parts: tuple[Subtask, ...]
    lengths: Int
    rate: float | None = None
    given_names: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    places: Mapping[str, tuple[int, ...]] = field(default_factory=dict)
    seen: SeenObjects | None = field(default=None, repr=False)
    keystate_names: Mapping[str, str] = field(default_factory=dict)
    times: Sequence[Float] = field(default=(), repr=False)

    def __post_init__(self) -> None:
        if self.given_names and len(self.given_names) != len(self.parts):
            raise InputError(
                f"{len(self.given_names)} names for {len(self.parts)} sub-tasks: pass one for each"
            )
        if len(set(self.given_names)) < len(self.given_names):
            raise InputError(f"names are {self.given_names}: pass different ones")

    @property
    def tools(self) -> tuple[str, ...]:
        """Names of the tools, in the order of the parts."""
        return tuple(dict.fromkeys(part.tool for part in self.parts))

    def indices(self, tool: str) -> list[int]:
        """Indices in `parts` of the parts of one tool, in order of time.

        Parameters
        ----------
        tool : str
            One of `tools`.
        """
        return [i for i, part in enumerate(self.parts) if part.tool == tool]

    def of(self, tool: str) -> tuple[Subtask, ...]:
        """The parts of one tool, in order of time.

        Parameters
        ----------
        tool : str
            One of `tools`.
        """
        return tuple(self.parts[i] for i in self.indices(tool))

    @property
    def names(self) -> tuple[str, ...]:
        """A different name for each part, as "reach cube" or "carry cube to goal"."""
        if self.given_names:
            return self.given_names
        several, names = len(self.tools) > 1, list[str]()
        for tool in self.tools:
            names += [
                (f"{tool}: " if several else "") + _name(part, number)
                for number, part in enumerate(self.of(tool), start=1)
            ]
        return tuple(add_number(name, names[: i + 1].count(name)) for i, name in enumerate(names))

    def active(self, demonstration: int, tool: str | None = None) -> Int:
        """Index in `parts` of the part that each step belongs to.

        Parameters
        ----------
        demonstration : int
            Number of the demonstration, from 0.
        tool : str, optional
            Name of the tool; the first unless given.

        Returns
        -------
        [T] int64
            -1 where no part of the tool has the step.
        """
        tool = self.tools[0] if tool is None else tool
        active = np.full(int(self.lengths[demonstration]), -1, np.int64)
        for i in self.indices(tool):
            part = self.parts[i]
            active[part.start[demonstration] : part.end[demonstration]] = i
        return active

    @property
    def completed(self) -> Int:
        """Number of demonstrations that complete each part [P]: they do not end within it.

        They complete the last part of a tool if they also have the part before.
        """
        found = []
        for i, p in enumerate(self.parts):
            over = (p.end < self.lengths) | (p.event is None)
            if p.event == END:
                before = [self.parts[j] for j in self.indices(p.tool) if j < i][-1:]
                over |= np.all([b.end > b.start for b in before], axis=0)
            found.append(((p.end > p.start) & over).sum())
        return np.array(found, np.int64)

    def seconds(self, demonstration: int) -> Float:
        """Seconds [T + 1] of the steps and the end of a demonstration; NaN if not known.

        Parameters
        ----------
        demonstration : int
            Its place, from 0.
        """
        times = self.times[demonstration] if self.times else None
        return step_seconds(int(self.lengths[demonstration]), self.rate, times)

    def table(self) -> Any:
        """A pandas DataFrame with a row for each part of each demonstration that has it.

        Columns: demonstration, tool, subtask (index in `parts`), name, reference, orientation,
        held, start, end, start_seconds, end_seconds (NaN without a rate), information, runner_up,
        certain.

        Raises
        ------
        InputError
            pandas is not installed.
        """
        pandas = require_pandas("table()")
        names = self.names
        return pandas.DataFrame(
            {
                "demonstration": demonstration, "tool": part.tool, "subtask": i, "name": names[i],
                "reference": part.reference, "orientation": part.orientation, "held": part.held,
                "start": start, "end": end, "start_seconds": seconds[start],
                "end_seconds": seconds[end], "information": part.information,
                "runner_up": part.runner_up, "certain": part.certain,
            }
            for demonstration in range(len(self.lengths))
            for seconds in [self.seconds(demonstration)]
            for i, part in enumerate(self.parts)
            for start, end in [(int(part.start[demonstration]), int(part.end[demonstration]))]
            if start < end
        )  # fmt: skip

    @property
    def warnings(self) -> tuple[str, ...]:
        """Reasons not to rely on the parts, as sentences; empty if there is none."""
        found = []
        for part, name in zip(self.parts, self.names, strict=True):
            if part.reference not in ("", WORLD) and not part.certain:
                found.append(
                    f"The reference of {name!r} is uncertain: {part.reference} "
                    f"{part.information:.1f} nats, {part.runner_up} "
                    f"{part.runner_up_information:.1f}, standard error of the difference "
                    f"{part.stderr:.1f}. Demonstrations with more different places decide it."
                )
            beyond = part.information - part.model_information
            if beyond > INTERVAL * (part.model_stderr + part.stderr):
                found.append(
                    f"The information of {name!r} is uncertain: {part.information:.1f} nats by the "
                    f"Gaussian form, {part.model_information:.1f} by the model, with a standard "
                    f"error of {part.model_stderr:.1f}."
                )
        return tuple(found)

    def _content(self) -> Content:
        total = len(self.lengths)
        head = f"{with_count(len(self.parts), 'sub-task')} of {with_count(total, 'demonstration')}"
        headers = ("#", "sub-task", "steps", "in", "reference", "orientation", "nats", "runner-up")
        rows: Rows = [(*headers, "nats")]
        parts = zip(self.parts, self.names, self.completed.tolist(), strict=True)
        for i, (part, name, present) in enumerate(parts, start=1):
            own, other = part.nats
            about = part.reference or "-", part.orientation, own, part.runner_up or "-", other
            rows.append((str(i), name, f"{part.duration:.0f}", f"{present:>3}/{total:<3}", *about))
        return head, rows, [*self.notes, *self.warnings]

    def __str__(self) -> str:
        head, rows, notes = self._content()
        lines = ["  ".join(map(format, row, WIDTHS)) for row in rows]
        return "\n".join([head, *lines, *notes])


def _name(part: Subtask, number: int) -> str:
    if part.named_by_end:
        return f"until {part.until}" if part.until else f"part {number}"
    if part.reference in ("", WORLD, part.held):
        return f"move {part.held}"
    return f"carry {part.held} to {part.reference}" if part.held else f"reach {part.reference}"
