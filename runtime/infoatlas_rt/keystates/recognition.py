"""Which columns of recorded states hold a rotation, a wrapped angle or a clock."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..errors import InputError
from .orientation import (
    ANGLE,
    EULER,
    MATRIX,
    QUATERNION,
    SIX,
    SIZES,
    VECTOR,
    Group,
    angles_between,
    quaternions,
)

Float = NDArray[np.float64]
Bool = NDArray[np.bool_]

GIVEN = {
    "quaternion": (QUATERNION, False),
    "quaternion_wxyz": (QUATERNION, False),
    "quaternion_xyzw": (QUATERNION, False),
    "rotation_vector": (VECTOR, False),
    "rotation_vector_degrees": (VECTOR, True),
    "euler": (EULER, False),
    "euler_degrees": (EULER, True),
    "matrix": (MATRIX, False),
    "rotation_6d": (SIX, False),
    "angle": (ANGLE, False),
    "angle_degrees": (ANGLE, True),
}
NAMED = (  # endings of the names of adjacent columns, in the order of the kind
    (QUATERNION, ("qw", "qx", "qy", "qz")),
    (EULER, ("roll", "pitch", "yaw")),
    (VECTOR, ("rx", "ry", "rz")),
)
UNIT = 2e-3  # by which the norm of a quaternion may be off


def find_groups(
    pooled: Float,
    first: Bool,
    names: Sequence[str],
    orientation: Any,
    left_out: set[int],
) -> tuple[list[Group], list[str]]:
    """Rotations and wrapped angles: given, named, or recognised by their values; and notes.

    Parameters
    ----------
    pooled : [n, d]
        All demonstrations, end to end.
    first : [n] bool
        First row of each.
    names : sequence of str
    orientation : None, "none", or dict
    left_out : set of int
        Columns that are not looked at.
    """
    width = pooled.shape[1]
    if isinstance(orientation, str):
        if orientation != "none":
            raise InputError(
                f"orientation is {orientation!r}: pass columns and their kind, as "
                "{'tool.q': 'quaternion_wxyz'}, or 'none'"
            )
        return [], []
    groups, notes = _given(orientation, names, width), []
    taken = {c for group in groups for c in group.columns} | left_out
    finite = np.abs(pooled) < 1e6
    if orientation is None:
        for group in _named(names):
            values = pooled[:, list(group.columns)]
            usual = np.abs(values[finite[:, list(group.columns)].all(axis=1)])
            if not taken & set(group.columns) and np.quantile(usual, 0.99) <= 2 * np.pi + 0.1:
                groups.append(group)
                taken |= set(group.columns)
        found = _recognised(pooled, first, taken)
        for group in found:
            at = ", ".join(names[c] if names else str(c) for c in group.columns)
            what = {
                QUATERNION: "a quaternion: they have unit norm everywhere",
                MATRIX: "a rotation matrix: they are orthonormal everywhere",
                VECTOR: "a rotation vector: it changes its representation near a half turn",
                ANGLE: "an angle that wraps",
            }[group.kind]
            notes.append(f"Columns {at} are {what}. Increments on the manifold are compared.")
        groups += found
    return groups, notes


def is_clock(values: Float, first: Bool) -> bool:
    """Whether a column increases by the same step everywhere, as an index or a time does."""
    steps = np.diff(values)[~first[1:]]
    if len(steps) < 3 or not steps.min() > 0:
        return False
    step = np.median(steps)
    return bool((np.abs(steps - step) <= 1e-3 * step).all())


def _given(orientation: Any, names: Sequence[str], width: int) -> list[Group]:
    if orientation is None:
        return []
    if not isinstance(orientation, Mapping):
        raise InputError(
            f"orientation is {orientation!r}: pass columns and their kind, as "
            "{'tool.q': 'quaternion_wxyz', (3, 4, 5): 'rotation_vector'}, or 'none'"
        )
    groups: list[Group] = []
    for where, kind in orientation.items():
        if kind not in GIVEN:
            raise InputError(f"orientation has kind {kind!r}: use one of {', '.join(GIVEN)}")
        columns = _columns(where, names, width)
        name, degrees = GIVEN[kind]
        if len(columns) != SIZES[name]:
            raise InputError(
                f"orientation {where!r} has {len(columns)} columns, and {kind} has {SIZES[name]}"
            )
        if kind == "quaternion_xyzw":
            columns = [columns[3], *columns[:3]]
        if {c for group in groups for c in group.columns} & set(columns):
            raise InputError(f"orientation {where!r}: a column is given twice")
        groups.append(Group(name, tuple(columns), degrees))
    return groups


def _columns(where: Any, names: Sequence[str], width: int) -> list[int]:
    """Columns of a key: numbers, "3:7", or the beginning of names."""
    if isinstance(where, str):
        if match := re.fullmatch(r"(\d+)(?::(\d+))?", where):
            last = int(match[2]) if match[2] else int(match[1]) + 1
            found = list(range(int(match[1]), last))
        else:
            found = [i for i, name in enumerate(names) if name.startswith(where)]
    else:
        found = [int(c) for c in np.atleast_1d(where)]
    if not found or not all(0 <= c < width for c in found):
        raise InputError(
            f"orientation has {where!r}, which names no columns: use numbers from 0 to "
            f"{width - 1}, '3:7', or the beginning of names"
        )
    return found


def _named(names: Sequence[str]) -> list[Group]:
    groups = []
    lower = [name.lower() for name in names]
    for i in range(len(lower)):
        for kind, endings in NAMED:
            some = lower[i : i + len(endings)]
            last = [re.split(r"[._/ ]", name)[-1] for name in some]
            bases = {name[: len(name) - len(end)] for name, end in zip(some, last, strict=True)}
            if sorted(last) == sorted(endings) and len(bases) == 1:
                groups.append(Group(kind, tuple(i + last.index(end) for end in endings)))
    return groups


def _recognised(pooled: Float, first: Bool, taken: set[int]) -> list[Group]:
    """Groups by their values."""
    width, groups = pooled.shape[1], []
    taken = set(taken)
    varies = (pooled != pooled[:1]).any(axis=0)

    def free(c: int, size: int) -> bool:
        return c + size <= width and not taken & set(range(c, c + size))

    def add(kind: str, c: int, degrees: bool = False) -> None:
        groups.append(Group(kind, tuple(range(c, c + SIZES[kind])), degrees))
        taken.update(range(c, c + SIZES[kind]))

    for c in range(width):
        if free(c, 9) and varies[c : c + 9].sum() >= 4 and _orthonormal(pooled[:, c : c + 9]):
            add(MATRIX, c)
    unit = [
        (float(np.abs(np.sqrt((pooled[:, c : c + 4] ** 2).sum(axis=1)) - 1).mean()), c)
        for c in range(width - 3)
        if varies[c : c + 4].sum() >= 2 and _unit(pooled[:, c : c + 4])
    ]
    for _, c in sorted(unit):  # a neighbour near 0 may take the place of one of the four
        if free(c, 4):
            add(QUATERNION, c)
    within = ~first[1:]
    for c in range(width):
        if free(c, 3) and varies[c : c + 3].all() and _flips(pooled[:, c : c + 3], within):
            add(VECTOR, c)
    for c in range(width):
        if free(c, 1) and varies[c]:
            for turn, degrees in ((2 * np.pi, False), (360.0, True)):
                if _wraps(pooled[:, c], within, turn):
                    add(ANGLE, c, degrees)
                    break
    return groups


def _unit(values: Float) -> bool:
    """Unit norm in all rows but a few bad ones, and not by a switch alone."""
    norm = np.sqrt((values**2).sum(axis=1))
    away = np.abs(norm - 1) > UNIT
    several = (np.abs(values) > 0.02).sum(axis=1) >= 2
    binary = ((values == 0) | (np.abs(values) == 1)).all(axis=1)
    rich = several.mean() > 0.1 or ((values != values[:1]).any(axis=0).sum() >= 3)
    return bool(away.mean() < 0.01 and rich and not binary.mean() > 0.99)


def _orthonormal(values: Float) -> bool:
    m = values.reshape(-1, 3, 3)
    product = np.einsum("nij,nkj->nik", m, m) - np.eye(3)
    return bool((np.abs(product).max(axis=(1, 2)) > 5e-3).mean() < 0.01)


def _flips(values: Float, within: Bool) -> bool:
    """A rotation vector that changes its representation: a jump through almost no rotation."""
    norm = np.sqrt((values**2).sum(axis=1))
    near = np.quantile(norm, 0.99) <= 2 * np.pi + 0.1
    jump = np.sqrt((np.diff(values, axis=0) ** 2).sum(axis=1))
    at = np.flatnonzero(within & (jump > np.pi) & (norm[1:] > 2) & (norm[:-1] > 2))
    if not near or not len(at):
        return False
    q = quaternions(Group(VECTOR, (0, 1, 2)), values)
    return bool((angles_between(q[at], q[at + 1]) < 0.6).mean() > 0.8)


def _wraps(values: Float, within: Bool, turn: float) -> bool:
    """Jumps of a full turn between neighbours, and values within a little more than a turn."""
    low, high = np.quantile(values, [0.001, 0.999])
    jump = np.abs(np.diff(values)[within])
    large = jump[jump > turn / 2]
    if high - low > 1.05 * turn or high - low < 0.8 * turn or not len(large):
        return False
    regular = jump[jump <= turn / 2]
    full = np.abs(large - turn) < 0.1 * turn
    return bool(full.mean() > 0.9 and np.quantile(regular, 0.99) < 0.1 * turn)
