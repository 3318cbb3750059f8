"""What a writer of random data sets gives back, and damage to its files."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from values import Rng, pick

READ, REFUSED, EITHER, ANY = "read", "refused", "either", "any"


@dataclass
class Written:
    """A data set on disk, and what has to come of it.

    Attributes
    ----------
    path : path
    recorded : dict of str to [T, d]
        Trajectories by name. What is read is some of these, as they are.
    outcome : str
        READ: all but `left_out` come out. REFUSED: an `InputError`. EITHER: one of both, with
        any episodes left out. ANY: damage that changes numbers unseen; no other exception.
    left_out : set of str
        Episodes that have to be left out, with a note.
    options : dict
        For `load_trajectories`.
    names : tuple of str, or None
        Of the coordinates; None: not known.
    rate : float, or None
        Hz; `...` if not known.
    """

    path: Path
    recorded: dict[str, np.ndarray]
    outcome: str = READ
    left_out: set[str] = field(default_factory=set)
    options: dict[str, Any] = field(default_factory=dict)
    names: tuple[str, ...] | None = None
    rate: Any = ...
    what: list[str] = field(default_factory=list)  # the damage, for messages


JUNK = (
    *(None, True, 0, -1, 1.5, 10**30, float("nan"), float("inf"), "", "x", "float32", "v3.0"),
    *([], [[]], [None], [1, [2]], [["a", "b"]], {}, {"a": None}, {"a": {"b": ["c"]}}),
)


def damage(rng: Rng, folder: Path) -> str:
    """Cut off a file, flip its bits, or replace it."""
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
