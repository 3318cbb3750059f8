"""Chooses and checks arrays of demonstrations in HDF5 files, and concatenates their columns."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from infoatlas_rt.errors import InputError
from infoatlas_rt.inputs.arrays import as_shifted
from infoatlas_rt.live import quaternions as live

from ...presentation import shift_notes
from ...trajectories import Stated, Trajectories
from ..numbers import LARGEST
from .arrays import Source, explain_unstored

WIDEST_OBSERVATION = 256  # columns of an observation: wider ones are features of images, or images
ARRAYS_SHOWN = 30  # arrays that an error lists, at most
FLOATS, NUMBERS = "f", "iuf"  # kinds of dtypes


NOTHING = Stated()


@dataclass(frozen=True)
class Demo:
    """A demonstration."""

    name: str
    arrays: dict[str, Source]  # all arrays, by their names in `features`
    default: tuple[str, ...]  # names of those that are read without `features`, if they are numbers
    # Rows of each array; those of the first one that is read unless given.
    length: int | None = None
    poses: frozenset[str] = frozenset()  # names of arrays [T, 4, 4] that are poses
    stated: Stated = NOTHING


class DemoReader:
    """Reads demonstrations one after another.

    `features` are names of arrays to read. Unless given, they are the default ones of the
    demonstrations that have dtypes of `kinds` (`FLOATS` or `NUMBERS`). The path of the data set is
    for errors, and `hint` is advice for the case that there is nothing to read.
    """

    def __init__(
        self,
        path: Path,
        features: Sequence[str] | None,
        kinds: str = NUMBERS,
        hint: str = "choose arrays with features=[...]",
    ) -> None:
        if features is not None:
            names = [] if isinstance(features, str) else list(features)
            if not names or not all(isinstance(name, str) for name in names):
                raise InputError(f"features is {features!r}: pass a list of names, as ['states']")
            if len(set(names)) < len(names):
                raise InputError(f"features are {names}: name each of them once")
            features = names
        self.path, self.kinds, self.hint = path, kinds, hint
        self.keys: list[str] = [] if features is None else list(features)
        self.chosen = features is not None
        self.left_out: dict[str, str] = {}
        self._shifts: list[str] = []
        self.episodes: list[str] = []
        self.lengths: list[int] = []
        self.stated: list[Stated] = []
        self._parts: list[list[NDArray[Any]]] = []
        self._first: Demo | None = None
        self._shapes: dict[str, tuple[int, ...]] = {}
        self._numbers = 0

    def add(self, demo: Demo) -> None:
        """Read a demonstration."""
        path = self.path
        if self._first is None and not self.chosen:
            self._choose(path, demo)
        self._first = self._first or demo
        self._compare(path, demo)
        sources = {key: demo.arrays[key] for key in self.keys}
        rows = demo.length
        for key, (node, inside) in sources.items():
            fault = _fault(node, f"{NUMBERS}b", None, key in demo.poses)
            if fault:
                raise InputError(
                    f"{path}: {inside} of {demo.name} is {fault}: {self._without(key)}"
                )
            shape, before = node.shape[1:], self._shapes.setdefault(key, node.shape[1:])
            if shape != before and demo.name != self._first.name:
                raise InputError(
                    f"{path}: {inside} of {demo.name} has rows of shape {shape}, and that of "
                    f"{self._first.name} {before}: {self._without(key)}"
                )
            rows = len(node) if rows is None else rows
            if len(node) != rows:
                other = "its steps are" if demo.length is not None else f"{self.keys[0]} has"
                raise InputError(
                    f"{path}: {inside} of {demo.name} is {node.dtype} of {node.shape}, and {other} "
                    f"{rows}: {self._without(key)}"
                )
            self._numbers += node.size
        if self._numbers > LARGEST:
            raise InputError(
                f"{path}: more than {LARGEST} numbers: read fewer features, or a part of the file"
            )
        if not rows:
            self.left_out[demo.name] = "it has no steps"
            return
        values = [self._values(path, demo, key, source) for key, source in sources.items()]
        self._parts.append(values)
        self.episodes.append(demo.name)
        self.lengths.append(rows)
        self.stated.append(demo.stated)

    def columns(self) -> tuple[NDArray[np.floating], list[str]]:
        """States [sum(lengths), d] of all demonstrations, and names of the columns."""
        if not self._parts or self._first is None:
            raise InputError(f"{self.path} has no demonstration with steps: record some")
        states, names = [], list[str]()
        for i, key in enumerate(self.keys):
            values = np.concatenate([part[i] for part in self._parts])
            own = _column_names(key, self._shapes[key], self._pose_of(key))
            if values.dtype.kind != "f" or values.dtype.itemsize > 8:
                values, origins = as_shifted(values, key)
                self._shifts += shift_notes(origins, own)
            names += own
            states.append(values)
        twice = [name for name in names if names.count(name) > 1]
        if twice:
            raise InputError(
                f"{self.path}: two columns are called {twice[0]}: choose with features=[...]"
            )
        return np.concatenate(states, axis=1), names

    @property
    def notes(self) -> list[str]:
        """Sentences about what was left out or shifted."""
        left_out = [f"Left out: {where} ({why})." for where, why in self.left_out.items()]
        return left_out + self._shifts

    def _pose_of(self, key: str) -> bool:
        first = self._first
        return first is not None and key in first.poses and self._shapes[key] == (4, 4)

    def _choose(self, path: Path, demo: Demo) -> None:
        """Choose the arrays that are read, by the first demonstration."""
        for key in demo.default:
            fault = self._default_fault(demo, key)
            if fault is None:
                self.keys.append(key)
            else:
                self.left_out[demo.arrays[key].path] = fault
        if not self.keys:
            kinds = "floats" if self.kinds == FLOATS else "numbers"
            raise InputError(
                f"{path}: {demo.name} has no observations that are {kinds} of one or two "
                f"dimensions. It has {_listing(demo)}: {self.hint}"
            )

    def _default_fault(self, demo: Demo, key: str) -> str | None:
        node = demo.arrays[key].node
        if key in demo.poses:
            return None  # refused later if it cannot be read
        fault = _fault(node, self.kinds, WIDEST_OBSERVATION)
        if fault is None and demo.length is not None and len(node) != demo.length:
            return f"{len(node)} rows for {demo.length} samples"
        return fault

    def _compare(self, path: Path, demo: Demo) -> None:
        """Raise InputError if a demonstration has other arrays than the first one."""
        absent = [key for key in self.keys if key not in demo.arrays]
        if self.chosen and absent:
            raise InputError(
                f"{path}: {demo.name} has no {', '.join(absent)} but {_listing(demo)}: pass some "
                "of them"
            )
        double = [key for key in self.keys if f"/{key}" in demo.arrays]
        if self.chosen and double:
            paths = demo.arrays[double[0]].path, f"/{double[0]}"
            raise InputError(
                f"{path}: {demo.name} has two arrays {double[0]}: pass {' or '.join(paths)}"
            )
        first = self._first
        if first is None or self.chosen:
            return
        known = {source.path for source in first.arrays.values()}
        more = [
            key
            for key in demo.default
            if key not in self.keys
            and demo.arrays[key].path not in known
            and self._default_fault(demo, key) is None
        ]
        if absent or more:
            raise InputError(
                f"{path}: {demo.name} and {first.name} do not both have "
                f"{', '.join(absent + more)}: read what they share with features=[...] (--features)"
            )

    def _without(self, key: str) -> str:
        if self.chosen:
            return f"leave {key} out of the features, or record it again"
        return "choose others with features=[...] (--features), or record it again"

    def _values(self, path: Path, demo: Demo, key: str, source: Source) -> NDArray[Any]:
        """Values [T, d] of an array."""
        node, inside = source
        where = f"{path}: {inside} of {demo.name}"
        gone = explain_unstored(node)
        if gone:
            raise InputError(f"{where} {gone}: {self._without(key)}")
        values = np.asarray(node[()])
        if not values.dtype.isnative:
            values = values.astype(values.dtype.newbyteorder("="))
        finite = np.isfinite(values.reshape(len(values), -1))
        bad = np.flatnonzero((~finite & finite.any(axis=0)).any(axis=1))
        if len(bad):
            raise InputError(
                f"{where} is NaN or infinite at {len(bad)} of {len(values)} steps, the first of "
                f"them {bad[0]}: fill in these values, or {self._without(key)}"
            )
        if self._pose_of(key):
            return pose_columns(np.asarray(values, np.float64))
        return values.reshape(len(values), -1)


def make_trajectories(
    reader: DemoReader,
    states: NDArray[np.floating],
    names: Sequence[str],
    rate: float | None,
    notes: Sequence[str],
    lengths: NDArray[np.int64] | None = None,
    episodes: Sequence[str] | None = None,
) -> Trajectories:
    """Trajectories of the demonstrations; those of one file may be divided into `episodes`."""
    try:
        return Trajectories(
            states,
            np.array(reader.lengths) if lengths is None else lengths,
            tuple(names),
            rate,
            tuple(reader.episodes if episodes is None else episodes),
            (*notes, *reader.notes),
            stated=tuple(reader.stated) if episodes is None else (),
        )
    except InputError as error:
        raise InputError(f"{reader.path}: {error}") from error


def _listing(demo: Demo) -> str:
    texts = [f"{name} {source.text}" for name, source in demo.arrays.items()]
    more = f" and {len(texts) - ARRAYS_SHOWN} more" if len(texts) > ARRAYS_SHOWN else ""
    return ", ".join(texts[:ARRAYS_SHOWN]) + more if texts else "no arrays"


def _fault(node: Any, kinds: str, widest: int | None, pose: bool = False) -> str | None:
    """Reason why an array cannot be columns, or None."""
    if node.shape is None:
        return "empty"
    if node.dtype.kind not in kinds:
        what = "text or lists" if node.dtype.kind == "O" else node.dtype
        return f"{what}, no {'float' if kinds == FLOATS else 'number'}"
    if pose:
        return None if node.shape[1:] in ((4, 4), (7,)) else f"of shape {node.shape}, no [T, 4, 4]"
    width = math.prod(node.shape[1:])
    if width != max(node.shape[1:], default=1):  # of several dimensions, as images are, too
        widest = WIDEST_OBSERVATION if widest is None and node.dtype != np.uint8 else 0
    if not node.ndim or not 0 < width <= (LARGEST if widest is None else widest):
        return f"{'' if kinds == FLOATS else 'of '}shape {node.shape}"
    return None


def _column_names(key: str, shape: tuple[int, ...], pose: bool) -> list[str]:
    if pose:
        return [f"{key}.{axis}" for axis in POSE]
    places = product(*(range(size) for size in shape if size > 1))
    return [".".join([key, *map(str, place)]) for place in places]


MATRICES = live.Group(live.MATRIX, tuple(range(9)))
POSE = ("x", "y", "z", "qw", "qx", "qy", "qz")


def pose_columns(matrices: NDArray[np.float64]) -> NDArray[np.float64]:
    """Columns [T, 7] in the order of `POSE` of poses [T, 4, 4]."""
    return np.concatenate([matrices[:, :3, 3], quaternions(matrices[:, :3, :3])], axis=1)


def quaternions(rotation: NDArray[np.float64]) -> NDArray[np.float64]:
    """Unit quaternions w, x, y, z [T, 4] of rotations [T, 3, 3].

    w >= 0 at the first step, and the sign is kept from each step to the next.
    """
    unit = live.quaternions(MATRICES, rotation.reshape(-1, 9))
    turns = np.ones(len(unit))
    turns[:1] = np.where(unit[:1, 0] < 0, -1.0, 1.0)
    turns[1:] = np.where((unit[1:] * unit[:-1]).sum(axis=-1) < 0, -1.0, 1.0)
    return np.asarray(unit * np.cumprod(turns)[:, None])
