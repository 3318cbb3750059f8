"""Clocks of a recording: by how much cameras, grippers and commands are beside the states."""

import os
import re
from collections.abc import Callable, Sequence
from concurrent.futures import Executor
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np

from infoatlas_rt.errors import InputError
from infoatlas_rt.streams.offsets import WIDEST, WINDOW, Offset, find_offset, speeds, unknown

from ..array_types import Float
from ..bags.any_recording import Recording, open_recording
from ..cameras.camera import Camera
from ..clocks.pictures import BUDGET, arm_columns, camera_clock
from ..columns import GRIPPER
from ..each_episode import each
from ..presentation import Shown, axes_of
from ..trajectories import Trajectories, as_trajectories, episode_names

LISTED = 5  # episodes that are named, at most
REPEATED = 0.02  # of the pictures while the robot moves: share of equal ones that is reported
SIDES = re.compile(r"left|right", re.IGNORECASE)
GRIPPERS = re.compile(rf"(?!.*(veloc|effort|torque|current|force)).*({GRIPPER.pattern}|hand)", re.I)


@dataclass(frozen=True, eq=False)
class Clock(Shown):
    """The offset of a camera, or of commands, against the states; below 0, it is before them."""

    name: str  # "camera front", "commands", "commands of the left gripper"
    offset: Offset  # steps
    rate: float | None = None  # Hz
    episodes: tuple[str, ...] = ()  # names of those that were compared
    total: int = 0
    moved: Sequence[Float] = ()  # speeds of the states [T - window], of each episode
    other: Sequence[Float] = ()  # the same of the pictures or commands
    pictures: int = 0  # of steps at which the robot moves
    equal: int = 0  # of these pictures, those equal to the one before
    cause: str = ""  # whether the camera or the states are off, if commands show that

    def to_dict(self) -> dict[str, Any]:
        """JSON-safe; None for an offset that is not known, and for seconds without a rate."""
        own = self.offset
        steps = None if own.why else [float(own.steps), *map(float, own.interval)]
        return {
            "name": self.name,
            "steps": steps,  # and both ends of the interval
            "seconds": [v / self.rate for v in steps] if steps and self.rate else None,
            "episodes": len(self.episodes),
            "other_offsets": {self.episodes[i]: float(own.own[i]) for i in own.others},
            "drift_steps": own.drift,
            "pictures": self.pictures,
            "equal_pictures": self.equal,
            "text": str(self),
        }

    def __str__(self) -> str:
        own, count, rate = self.offset, len(self.episodes), self.rate or 1.0
        text = [f"not known, because {own.why}"]
        if not own.why:
            side = -1 if own.steps < 0 else 1
            best, low, high = side * np.array([own.steps, *own.interval[::side]]) / rate
            unit, form = ("s", ".3f") if self.rate else ("steps", ".1f")
            steps = f"; {abs(own.steps):.1f} steps" if self.rate else ""
            agree = int((np.abs(own.own - own.steps) <= max(WIDEST[0], WIDEST[1] * rate)).sum())
            text = [
                f"{best:{form}} {unit} ({low:{form}} to {high:{form}}{steps}) "
                f"{'before' if side < 0 else 'after'} the states, in {agree} of {count} episodes"
            ]
        text += [self.cause] * bool(self.cause)
        if own.others:
            named = [f"{self.episodes[i]} ({own.own[i]:+.0f} steps)" for i in own.others[:LISTED]]
            more = ["..."] * (len(own.others) > LISTED)
            text.append(f"other offsets in {', '.join([*named, *more])}")
        if own.drift:
            text.append(f"second halves of episodes {own.drift:+.1f} steps later than first ones")
        if self.equal > REPEATED * self.pictures:
            text.append(f"{self.equal} of {self.pictures} pictures equal to the one before")
        if 0 < count < self.total:
            text.append(f"{count} of {self.total} episodes were read")
        return f"{self.name}: {'; '.join(text)}"

    def plot(self, ax: Any = None) -> Any:
        """Draw the curves of the longest episode over each other; the second is moved, too.

        Parameters
        ----------
        ax : matplotlib axes, optional
            Where to draw; a new figure unless given.
        """
        axes = axes_of(ax)
        if not len(self.moved):
            raise InputError(f"{self.name}: there are no curves, because {self.offset.why}")
        longest = int(np.argmax([len(own) for own in self.moved]))
        step = np.arange(len(self.moved[longest])) / (self.rate or 1.0)
        late = 0.0 if self.offset.why else self.offset.steps / (self.rate or 1.0)
        for values, move, label in (
            (self.moved[longest], 0.0, "states"),
            (self.other[longest], 0.0, self.name),
            (self.other[longest], -late, f"{self.name}, moved by {-late:.3g}"),
        ):
            own = values[: len(step)]
            scaled = (own - own.mean()) / max(own.std(), 1e-12)
            axes.plot(step[: len(own)] + move, scaled, label=label)
        axes.set(xlabel="s" if self.rate else "steps", ylabel="motion, standard deviations")
        axes.legend()
        return axes


@dataclass(frozen=True)
class Clocks(Shown):
    """Offsets of all that is recorded beside the states, a row each."""

    rows: tuple[Clock, ...]

    def to_dict(self) -> list[dict[str, Any]]:
        """A JSON-safe table."""
        return [row.to_dict() for row in self.rows]

    def __str__(self) -> str:
        return "\n".join(map(str, self.rows))


def clock_offsets(
    demonstrations: Recording | Trajectories | Sequence[Any] | str | os.PathLike[str],
    *,
    actions: Sequence[Any] | None = None,
    budget: float = BUDGET,
    executor: Executor | None = None,
    progress: Callable[[float], object] = lambda share: None,
) -> Clocks:
    """By how much the pictures of cameras and the commands are before or after the states.

    Parameters
    ----------
    demonstrations : path, Recording, Trajectories, or sequence of N arrays [T_i, d]
        A data set, or what `open_recording` opened. Cameras are those that were chosen there, or
        else all of a LeRobot data set or of bags; of trajectories, their `camera`.
    actions : sequence of N arrays [T_i or T_i - 1, q], optional
        Commands; those of a recording unless given. If they have as many columns as the states,
        arms and grippers are compared by the names of the columns; otherwise all are one.
    budget : float
        Seconds for the images of each camera: then the episodes that were read are compared.
    executor : concurrent.futures.Executor, optional
        Compares groups of commands at once; in this process unless given.
    progress : callable, optional
        Called with the completed share of a camera, 0 to 1.

    Returns
    -------
    Clocks
        Its `rows` are of a camera or a group of commands: the offset in steps, its 90% interval, or
        the reason why it is not known. It prints as sentences; `to_dict()` is a table.

    Raises
    ------
    InputError
        The states cannot be read, or commands are not numbers. Faults of images are in the rows.

    Examples
    --------
    >>> import numpy as np
    >>> from infoatlas_tools.annotations.clock_offsets import clock_offsets
    >>> rng = np.random.default_rng(0)
    >>> states = [rng.normal(size=(200, 2)).cumsum(0).cumsum(0) for _ in range(6)]
    >>> commands = [np.roll(own, -3, axis=0) for own in states]
    >>> round(clock_offsets(states, actions=commands).rows[0].offset.steps)
    -3
    """
    if isinstance(demonstrations, str | os.PathLike):
        demonstrations = open_recording(demonstrations)
    found, names = [], list[str]()
    if isinstance(demonstrations, Recording):
        source, given = demonstrations, demonstrations.trajectories
        names += source.camera_names or source.all_cameras
        actions = source.actions if actions is None else actions
    else:
        given = as_trajectories(demonstrations)
        names += [given.camera.name] if given.camera is not None else []
    for name in names:
        try:
            seen, camera = given, given.camera
            if isinstance(demonstrations, Recording):
                own = source if source.camera_names else replace(source, camera_names=(name,))
                seen, camera = own.trajectories, own.cameras[name]  # episodes that have images
            found.append(_of_camera(seen, camera, budget, progress))
        except InputError as error:  # an extra is not installed, or files are absent
            found.append(Clock(f"camera {name}", unknown(str(error))))
    if actions is not None:
        found += _of_commands(given, [np.asarray(own) for own in actions], executor)
    return Clocks(tuple(_find_cause(row, found) for row in found))


def _of_camera(
    given: Trajectories, camera: Camera, budget: float, progress: Callable[[float], object]
) -> Clock:
    names, rate = episode_names(given), given.rate or 20.0
    own = camera_clock(camera, given.split(), given.names, rate, budget, progress)
    read = tuple(names[i] for i in own.episodes)
    return Clock(
        f"camera {camera.name}", own.offset, given.rate, read, len(names), own.moved, own.changed,
        own.pictures, own.equal,
    )  # fmt: skip


def _find_cause(row: Clock, rows: Sequence[Clock]) -> Clock:
    """A camera with its cause: nothing moves before its command; otherwise the last is late."""
    arms = [own for own in rows if re.match("commands(?!.*gripper)", own.name)]
    known = [own.offset for own in arms if not own.offset.why]
    if not (known and row.name.startswith("camera ") and row.offset.apart):
        return row
    behind = -max(known, key=lambda own: own.correlation).steps
    seen = behind + row.offset.steps
    both = sorted([(behind, "the states are"), (seen, "the camera is")])
    off = f"{both[0][1]} early" if both[0][0] < -1 else f"{both[1][1]} late"
    text = f"states follow the commands by {behind:.1f} steps, and pictures by {seen:.1f}: {off}"
    return replace(row, cause=text)


def _of_commands(
    given: Trajectories, actions: Sequence[Float], executor: Executor | None
) -> list[Clock]:
    """Offsets of commands: of each arm and each gripper, or of all as one."""
    states, rate, names = given.split(), given.rate or 20.0, episode_names(given)
    window, width = max(1, round(WINDOW * rate)), states[0].shape[1]
    groups = {"commands": (arm_columns(given.names, width), [*range(actions[0].shape[1])])}
    if actions[0].shape[1] == width and given.names:
        groups = {name: (own, own) for name, own in command_groups(given.names).items()}
    pairs = list[tuple[list[Float], list[Float]]]()
    for own, commanded in groups.values():
        moved = speeds(states, window, own)
        summed = (a.cumsum(axis=0, dtype=np.float64) for a in actions)  # relative: increments
        pairs += [(moved, speeds(values, window, commanded)) for values in (actions, summed)]
    compare, both = partial(find_offset, rate=rate), zip(*pairs, strict=True)
    offsets, found = each(compare, *both, executor=executor, piece=1), []
    for k, name in enumerate(groups):
        ways = [*zip(offsets, pairs, strict=True)][2 * k : 2 * k + 2]
        best, pair = max(ways, key=lambda way: np.nan_to_num(way[0].correlation, nan=-1.0))
        found.append(Clock(name, best, given.rate, names, len(names), *pair))
    return found


def command_groups(names: Sequence[str]) -> dict[str, list[int]]:
    """Columns of each arm and of each gripper or hand, by the names of their rows."""
    arms, found = {*arm_columns(names, len(names))}, dict[str, list[int]]()
    for i, name in enumerate(names):
        side = SIDES.search(name)
        whose = f"{side[0].lower()} " if side else ""
        if i in arms:
            found.setdefault(f"commands of the {whose}arm" if side else "commands", []).append(i)
        elif GRIPPERS.search(name):
            found.setdefault(f"commands of the {whose}gripper", []).append(i)
    return found
