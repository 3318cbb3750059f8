"""The result of a writer of random data sets, and damage to files."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from values import Rng, pick

from infoatlas_tools import load_trajectories
from infoatlas_tools.trajectories import Trajectories

READ, REFUSED, EITHER, ANY = "read", "refused", "either", "any"


class Found(NamedTuple):
    """Data that was read: arrays [T, d] by name, names of coordinates, rate in Hz, notes."""

    episodes: dict[str, np.ndarray]
    names: tuple[str, ...]
    rate: float | None
    notes: tuple[str, ...]


def found(own: Trajectories) -> Found:
    """Trajectories by episode; episodes without names are numbered."""
    parts = np.split(np.asarray(own.states), np.cumsum(own.lengths)[:-1])
    names = own.episodes or tuple(map(str, range(len(parts))))
    assert len(set(names)) == len(names) == len(parts), names
    return Found(dict(zip(names, parts, strict=True)), own.names, own.rate, own.notes)


def load(path: Path, **options: Any) -> Found:
    return found(load_trajectories(path, **options))


@dataclass
class Written:
    """A data set on disk, and the expected result.

    Attributes
    ----------
    path : path
    recorded : dict of str to [T, d]
        Trajectories by name. A valid result is some of these, unchanged and in order.
    outcome : str
        READ: all except `left_out` are read. REFUSED: an `InputError`. EITHER: one of both. ANY:
        undetectable damage may change numbers, but there is no other exception.
    left_out : set of str, or None
        Episodes that have to be left out, with a note. None: any may be, with a note.
    options : dict
        Options of `load`.
    load : function of `path` and `options`
    names : tuple of str, or None
        Names of the coordinates; None if unknown.
    in_order : bool
        Whether the coordinates are in the order of `names`.
    holes : bool
        Whether rows may be missing. The result is then a part of the rows of one trajectory with
        any name, in order.
    rate : float, or None
        Hz; `...` if unknown.
    """

    path: Path
    recorded: dict[str, np.ndarray]
    outcome: str = READ
    left_out: set[str] | None = field(default_factory=set)
    options: dict[str, Any] = field(default_factory=dict)
    load: Callable[..., Found] = load
    names: tuple[str, ...] | None = None
    in_order: bool = True
    holes: bool = False
    rate: Any = ...
    what: list[str] = field(default_factory=list)  # the damage, for messages


JUNK = (
    *(None, True, 0, -1, 1.5, 10**30, float("nan"), float("inf"), "", "x", "float32", "v3.0"),
    *([], [[]], [None], [1, [2]], [["a", "b"]], {}, {"a": None}, {"a": {"b": ["c"]}}),
)


def damage(rng: Rng, folder: Path) -> str:
    """Truncate a file, flip some of its bits, or replace it."""
    files = sorted(path for path in folder.rglob("*") if path.is_file())
    file = files[int(rng.integers(len(files)))]
    content = bytearray(file.read_bytes())
    kind = pick(rng, ("cut", "flip", "flip", "text", "empty", "gone", "pointer", "folder"))
    if kind == "cut":
        content = content[: int(rng.integers(len(content)))]
    elif kind == "flip":
        for _ in range(int(rng.integers(1, 8))):
            content[int(rng.integers(len(content)))] ^= 1 << int(rng.integers(8))
    elif kind == "text":
        content = bytearray(json.dumps(pick(rng, JUNK)).encode())
    elif kind == "empty":
        content = bytearray()
    elif kind == "pointer":
        content = bytearray(b"version https://git-lfs.github.com/spec/v1\noid sha256:0\nsize 9\n")
    if kind in ("gone", "folder"):
        file.unlink()
        if kind == "folder":
            file.mkdir()
    else:
        file.write_bytes(content)
    return f"{kind}: {file.name}"
