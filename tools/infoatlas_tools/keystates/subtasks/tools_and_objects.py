"""Positions of tools and objects in recorded states, and pairs whose distance a part changes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from .recorded_subtasks import WORLD, Subtask, Subtasks

Int = NDArray[np.int64]

AXES = ("x", "y", "z")


def positions_of(subtasks: Subtasks, names: Sequence[str]) -> dict[str, list[int]]:
    """Columns of the positions of tools and objects, three of each.

    The columns that the sub-tasks were found with; otherwise, for an object "cube", those named
    "cube.x", "cube.y" and "cube.z".
    """
    if subtasks.places:
        return {body: list(at) for body, at in subtasks.places.items() if len(at) == len(AXES)}
    at = {name: column for column, name in enumerate(names)}
    found = {}
    for part in subtasks.parts:
        for body in (part.tool, part.reference, part.held):
            columns = [at.get(f"{body}.{axis}", -1) for axis in AXES]
            if body and min(columns) >= 0:
                found[body] = columns
    return found


def pairs_of(parts: Sequence[Subtask], bodies: Mapping[str, list[int]]) -> Int:
    """Columns [m, 6] of the two bodies whose relative position a part changes."""
    found: dict[tuple[str, str], list[int]] = {}
    for part in parts:
        reference = part.reference if part.reference not in ("", WORLD) else part.held
        for a, b in ((part.tool, reference), (part.held, reference), (part.tool, part.held)):
            if a in bodies and b in bodies and a != b:
                found[a, b] = [*bodies[a], *bodies[b]]
    return np.array(list(found.values()), np.int64).reshape(-1, 6)
