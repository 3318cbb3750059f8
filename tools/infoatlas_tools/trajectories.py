"""`Trajectories`: recorded trajectories of one robot or task, end to end."""

import os
from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass, replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from infoatlas_rt.errors import InputError
from infoatlas_rt.inputs.arrays import as_reals, as_shifted, column_label, column_names, is_table
from infoatlas_rt.inputs.checks import as_count, as_rate, as_resolution, as_samples

from .cameras.camera import as_camera
from .columns import as_columns, as_grippers, as_orientation
from .presentation import first_names, shift_notes, with_count


class Doubles(Sequence[NDArray[np.float64]]):
    """Rows [n, d] by trajectory: N arrays [T_i, d] float64, each made when it is used."""

    def __init__(self, rows: NDArray[Any], lengths: NDArray[np.int64]) -> None:
        ends = np.cumsum(lengths).tolist()
        self.rows = rows
        self._slices = [*map(slice, [0, *ends[:-1]], ends)]

    def __len__(self) -> int:
        return len(self._slices)

    def __getitem__(self, trajectory: Any) -> Any:
        return np.asarray(self.rows[self._slices[trajectory]], np.float64)


def end_to_end(states: Sequence[NDArray[Any]]) -> NDArray[Any]:
    """States [T_i, d] of all trajectories [n, d], without a copy of `Doubles`."""
    return states.rows if isinstance(states, Doubles) else np.concatenate(states)


class Stated(NamedTuple):
    """What a file states of a trajectory."""

    task: str = ""  # empty if it names none
    success: bool | None = None  # at the end; None if it states none


APART = 0.2  # of the usual step of time: another rate that is given contradicts the times
EMPTY_SHOWN = 5  # columns in a note, at most


@dataclass(frozen=True, eq=False)
class Trajectories:
    """Recorded trajectories, end to end, and what is known about their columns.

    Columns are given by number, by name, by the beginning of names, or by a range such as "3:7".
    `gripper`, `ignore` and `orientation` then hold numbers of columns, and `resolution` a value for
    each column: give them again when `dataclasses.replace` changes the columns.

    Parameters
    ----------
    states : array-like [sum(lengths), d], or sequence of N arrays [T_i, d]
        Real numbers; an array of floats is used as it is. A column of one array with integers
        beyond 2^53 has its first value subtracted, so that differences are exact; a note names it.
        So does a note of columns without any finite value, which become 0 and so have no motion.
    lengths : array-like [N] int, optional
        Steps of each trajectory of one array.
    names : sequence of str, d of them, or empty
        Names of the coordinates; by default the columns of a pandas DataFrame.
    rate : float, optional
        Recorded steps a second (Hz) of all trajectories; None if unknown. It converts windows and
        tolerances of key states from seconds to steps; without it, a working step counts as 0.05 s.
    episodes : sequence of str, N of them, or empty
        Names of the trajectories in the file that they are from.
    notes : sequence of str
        Sentences about what was decided or left out when they were read.
    stride : int, optional
        Recorded steps of a working step of key states. Derived from the rate, or from the motion,
        unless given.
    gripper : column or sequence of columns
        Coordinates of the gripper, whose switches are key states. A list or a range in the sequence
        is one gripper, as the joints of a hand: [[7, 8, 9], [17, 18, 19]]. Unless given, grippers
        are recognised by names and values.
    ignore : column or sequence of columns
        Coordinates without key states, such as flags that contain the answer.
    orientation : dict or "none", optional
        Kinds of orientations by their columns, as {"tool.r": "rotation_vector"} or {4:
        "angle_degrees"}: "quaternion_wxyz", "quaternion_xyzw", "rotation_vector", "euler",
        "matrix", "rotation_6d", "angle"; kinds of angles also with "_degrees". "none": there are no
        orientations. Unless given, they are recognised by names and values.
    resolution : float or [d], optional
        Smallest difference that the sensors resolve, in the units of the states: smaller increments
        are rest.
    times : array-like [sum(lengths)], optional
        Seconds since the start of the trajectory. Unless given, steps divided by the rate. Those of
        a file are read if its rows are not at even times, as after lost messages.
    camera : sequence of N arrays [T_i, H, W, 3] uint8, or Camera, optional
        Images (RGB) of one camera, one for each step. `load_trajectories(path, camera=NAME)` reads
        those of a data set.
    stated : sequence of Stated, N of them, or empty
        What the file states of each trajectory: `task`, and `success` at its end.

    Raises
    ------
    InputError
        The arguments do not fit together; states are not numbers, or are masked, NaN or infinite;
        columns do not exist, or a setting is out of range.

    Examples
    --------
    >>> demos = Trajectories([[[0.0, 1.0], [0.5, 1.0]], [[0.1, 0.0]]], rate=20, gripper=1)
    >>> demos.states.shape, demos.lengths.tolist(), demos.gripper
    ((3, 2), [2, 1], (1,))
    >>> [states.tolist() for states in demos.split()]
    [[[0.0, 1.0], [0.5, 1.0]], [[0.1, 0.0]]]
    """

    states: Any
    lengths: Any = None
    names: tuple[str, ...] = ()
    rate: float | None = None
    episodes: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    _: KW_ONLY
    stride: int | None = None
    gripper: Any = ()
    ignore: Any = ()
    orientation: Any = None
    resolution: Any = None
    times: Any = None
    camera: Any = None
    stated: tuple[Stated, ...] = ()

    def __post_init__(self) -> None:
        if hasattr(self.names, "tolist"):  # an array, or an index of pandas
            object.__setattr__(self, "names", self.names.tolist())
        if self.lengths is None:
            given, lengths, names = _join(self.states)
        else:
            given, lengths, names = self.states, self.lengths, column_names(self.states)
        short = type(given) is np.ndarray and given.dtype in (np.float16, np.float32)
        states, origins = (given, {}) if short else as_shifted(given, "states")
        if states.ndim != 2 or states.size == 0:
            raise InputError(f"states have shape {states.shape}: store numbers [n, d]")
        labels = [column_label(given, column) for column in range(states.shape[1])]
        if isinstance(self.names, list | tuple) and len(self.names) == states.shape[1]:
            labels = [repr(name) for name in self.names]
        notes, finite = [*self.notes], np.isfinite(states)
        empty = ~finite.any(axis=0)
        if empty.any() and not empty.all():
            found = first_names((labels[c] for c in np.flatnonzero(empty)), EMPTY_SHOWN)
            notes.append(f"Left out, as it has no values (they are read as 0): column {found}.")
            states = np.array(states)
            states[:, empty], finite[:, empty] = 0, True
        if not finite.all():
            bad = np.argwhere(~finite)
            row, column = bad[0].tolist()
            raise InputError(
                f"states have {with_count(len(bad), 'NaN, masked or infinite value')}, the first "
                f"at row {row}, column {labels[column]}: cut those trajectories, or fill in these "
                "values"
            )
        checked, d = as_lengths(lengths, len(states)), states.shape[1]
        names = names if self.names == () else self.names
        if not isinstance(names, list | tuple) or not all(isinstance(n, str) for n in names):
            raise InputError(f"names are {names!r}: pass a tuple of str, or none at all: ()")
        if names and len(names) != d:
            raise InputError(f"{len(names)} names for {d} coordinates: store one for each")
        if self.episodes and len(self.episodes) != len(checked):
            raise InputError(
                f"{len(self.episodes)} episodes for {len(checked)} trajectories: name each of them"
            )
        if self.stated and len(self.stated) != len(checked):
            raise InputError(
                f"stated has {len(self.stated)} entries for {len(checked)} trajectories: pass one "
                "for each"
            )
        ignore = as_columns(self.ignore, names, d, "ignore")
        for name, value in {
            "states": states,
            "lengths": checked,
            "names": tuple(names),
            "rate": None if self.rate is None else as_rate(self.rate, "rate"),
            "episodes": tuple(self.episodes),
            "notes": (*notes, *shift_notes(origins, names)),
            "stride": None if self.stride is None else as_count(self.stride, "stride", 1),
            "gripper": as_grippers(self.gripper, names, d, "gripper"),
            "ignore": ignore,
            "orientation": as_orientation(self.orientation, names, d, ignore),
            "resolution": as_resolution(self.resolution, d, "resolution"),
            "times": None if self.times is None else as_times(self.times, checked),
            "camera": None
            if self.camera is None
            else as_camera(self.camera, checked, self.episodes),
        }.items():
            object.__setattr__(self, name, value)

    def described(self, **fields: Any) -> "Trajectories":
        """The same with other descriptions of the data.

        Parameters
        ----------
        **fields
            Fields of this class, as `rate`. With a rate, notes that it is not known are left out,
            and so are times whose usual step is another one.
        """
        if rate := fields.get("rate"):
            if self.times is not None:
                step = np.diff(self.times)
                usual = float(np.median(step[step > 0])) if (step > 0).any() else 0.0
                if abs(usual * as_rate(rate, "rate") - 1) > APART:
                    fields.setdefault("times", None)
            fields["notes"] = tuple(note for note in self.notes if "No rate" not in note)
        return replace(self, **fields) if fields else self

    def seconds(self, trajectory: int) -> NDArray[np.float64]:
        """Seconds [T + 1] of the steps of a trajectory and of its end; NaN without rate or times.

        Parameters
        ----------
        trajectory : int
            Its place, from 0.
        """
        times = self.split_times()
        length = int(self.lengths[trajectory])
        return step_seconds(length, self.rate, times[trajectory] if times else None)

    def split_times(self) -> list[NDArray[np.float64]]:
        """The times of each trajectory, N views [T_i]; empty if steps are at an even rate."""
        if self.times is None:
            return []
        return np.split(self.times, np.cumsum(self.lengths)[:-1])

    @property
    def moving_gripper(self) -> list[int | tuple[int, ...]]:
        """Columns of `gripper` that move and are not ignored; a tuple is one gripper."""
        if not self.gripper:
            return []
        moving = set(np.flatnonzero(np.ptp(self.states, axis=0)).tolist()) - {*self.ignore}
        found: list[int | tuple[int, ...]] = []
        for own in self.gripper:
            usable = [c for c in (own if isinstance(own, tuple) else (own,)) if c in moving]
            found += [tuple(usable)] if len(usable) > 1 else usable
        return found

    def doubles(self) -> Doubles:
        """The states of each trajectory, N arrays [T_i, d] float64, made when they are used."""
        return Doubles(self.states, self.lengths)

    def split(self) -> list[NDArray[Any]]:
        """The states of each trajectory, N views [T_i, d]."""
        ends = np.cumsum(self.lengths).tolist()  # np.split needs ten times as long
        return [
            self.states[end - n : end] for n, end in zip(self.lengths.tolist(), ends, strict=True)
        ]


def episode_names(trajectories: Trajectories) -> tuple[str, ...]:
    """Names of the trajectories in their file, or else their positions."""
    return trajectories.episodes or tuple(map(str, range(len(trajectories.lengths))))


def as_trajectories(values: Trajectories | Sequence[Any]) -> Trajectories:
    """Trajectories unchanged, or made from a sequence of [T_i, d] arrays."""
    return values if isinstance(values, Trajectories) else Trajectories(values)


def _join(values: Any) -> tuple[NDArray[np.floating], list[int], tuple[str, ...]]:
    """The states of a sequence end to end, their lengths, and the names of tables."""
    if isinstance(values, str | os.PathLike):
        raise InputError(f"trajectories is the path {str(values)!r}: pass load_trajectories(path)")
    if is_table(values):
        raise InputError(
            "trajectories is one table: pass a list of tables, one for each trajectory, as in "
            "[t.drop(columns='episode') for _, t in table.groupby('episode')]"
        )
    if getattr(values, "ndim", 3) != 3:
        raise InputError(
            f"trajectories is one array of shape {np.shape(values)}: pass a list of [T, d] arrays, "
            "or Trajectories(states, lengths)"
        )
    try:
        given = list(values)
    except TypeError as error:
        raise InputError(f"trajectories cannot be iterated ({error}): pass a list") from error
    states = [as_samples(s, f"trajectory {i}", shift=False) for i, s in enumerate(given)]
    if not states:
        raise InputError("there are no trajectories: pass at least one [T, d] array")
    names = column_names(given[0])
    for i, s in enumerate(states):
        if s.shape[1] != states[0].shape[1]:
            raise InputError(
                f"trajectory {i} has {s.shape[1]} coordinates, trajectory 0 has "
                f"{states[0].shape[1]}: pass the same ones"
            )
        if column_names(given[i]) != names:
            raise InputError(
                f"trajectory {i} has the columns {column_names(given[i])}, trajectory 0 has "
                f"{names}: pass the same ones in the same order"
            )
    return np.concatenate(states), [len(s) for s in states], names


def step_seconds(
    length: int, rate: float | None, times: NDArray[np.float64] | None = None
) -> NDArray[np.float64]:
    """Seconds [length + 1] of steps and of the end, by times [length] or else the rate, or NaN."""
    if times is None:
        return np.arange(length + 1) / (rate or np.nan)
    usual = 1 / rate if rate else float(np.median(np.diff(times))) if length > 1 else np.nan
    return np.append(times, times[-1] + usual)


def as_times(values: Any, lengths: NDArray[np.int64]) -> NDArray[np.float64]:
    """Times [sum(lengths)] of trajectories: finite seconds that do not go back."""
    times = as_reals(values, "times")
    if times.shape != (lengths.sum(),) or not np.isfinite(times).all():
        raise InputError(
            f"times have shape {times.shape}: pass finite seconds [{lengths.sum()}], one for each "
            "step, or leave them out"
        )
    if (np.delete(np.diff(times), np.cumsum(lengths)[:-1] - 1) < 0).any():
        raise InputError("times go back within a trajectory: sort its steps, or leave times out")
    return times


def as_lengths(values: Any, total: int) -> NDArray[np.int64]:
    """Lengths [N] int64 of trajectories end to end: integers above 0 whose sum is the total."""
    try:
        lengths = np.asarray(values)
    except Exception as error:
        raise InputError(f"lengths cannot be read as a NumPy array: {error}") from error
    kind = f"lengths {lengths.shape} {lengths.dtype}"
    way_out = "pass the steps of each trajectory, end to end"
    if lengths.ndim != 1 or lengths.dtype.kind not in "ui" or not lengths.size:
        raise InputError(f"{kind} are no list of integers: {way_out}")
    if lengths.min() < 1 or lengths.max() > total:
        raise InputError(
            f"{kind} are from {lengths.min()} to {lengths.max()}, but there are {total} states, "
            f"and each trajectory has one at least: {way_out}"
        )
    if lengths.sum() != total:
        raise InputError(f"lengths sum to {lengths.sum()}, but there are {total} states: {way_out}")
    return lengths.astype(np.int64)
