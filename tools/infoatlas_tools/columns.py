"""Columns of recorded states by number or name, and the kinds of orientations in them."""

import operator
import re
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from infoatlas_rt.errors import InputError
from infoatlas_rt.live.quaternions import ANGLE, EULER, MATRIX, QUATERNION, SIX, SIZES, VECTOR

from .presentation import first_names

GRIPPER = re.compile(r"finger|grip|jaw|knuckle|claw", re.IGNORECASE)
STATE = "observation.state."  # LeRobot's names of coordinates begin with it
_UNIT = re.compile(
    r"(\s+[\[(][^\])]*[\])]|[\[(](?!([wxyz]|\d+)[\])])[^\])]*[\])]|[._ ](rad|deg|degrees))\s*$",
    re.I,
)  # "qw []", "q_w()", "roll [rad]" and "roll_deg", but not "q[w]" and "q[0]"
# Kind, order of the columns, and a full turn of angles (None: decided by the values).
KINDS: dict[str, tuple[str, tuple[int, ...] | None, float | None]] = {
    "quaternion_wxyz": (QUATERNION, (0, 1, 2, 3), None),
    "quaternion_xyzw": (QUATERNION, (3, 0, 1, 2), None),
    "rotation_vector": (VECTOR, None, None),
    "rotation_vector_degrees": (VECTOR, None, 360.0),
    "euler": (EULER, None, None),
    "euler_degrees": (EULER, None, 360.0),
    "matrix": (MATRIX, None, None),
    "rotation_6d": (SIX, None, None),
    "angle": (ANGLE, None, None),
    "angle_degrees": (ANGLE, None, 360.0),
}


def as_orientation(
    orientation: Any, names: Sequence[str], d: int, ignored: Sequence[int]
) -> dict[tuple[int, ...], str] | None:
    """Kinds of orientations by their columns; none for "none", and None unless given.

    InputError if columns do not exist, are ignored or are in two orientations; or if a kind does
    not exist or needs another number of columns.
    """
    if orientation is None:
        return None
    if isinstance(orientation, str) and orientation == "none":
        return {}
    if not isinstance(orientation, Mapping):
        raise InputError(
            f"orientation is {orientation!r}: pass columns and kinds, as in "
            '{"tool.q": "quaternion_wxyz", (3, 4, 5): "rotation_vector"}, or "none"'
        )
    found: dict[tuple[int, ...], str] = {}
    taken: set[int] = set()
    for key, kind in orientation.items():
        what = f"orientation[{key!r}]"
        if not isinstance(kind, str) or kind not in KINDS:
            raise InputError(f"{what} is {kind!r}: use one of {', '.join(KINDS)}")
        size = SIZES[KINDS[kind][0]]
        at = columns_of(key, names, d, what)
        if len(at) != size:
            raise InputError(
                f"{what} is {kind!r}, which needs {size} columns, not {len(at)} "
                f"{tuple(names[c] for c in at) if names else tuple(at)}: pass their numbers or "
                "names"
            )
        if set(at) & set(ignored):
            raise InputError(
                f"{what} has columns that are ignored, {[c for c in at if c in ignored]}: leave "
                "them out of ignore, or leave this orientation out"
            )
        if len({*at, *taken}) < len(at) + len(taken):
            raise InputError(f"{what} has columns that are named twice: {tuple(at)}")
        taken.update(at)
        found[tuple(at)] = kind
    return found


def as_columns(value: Any, names: Sequence[str], d: int, what: str) -> tuple[int, ...]:
    """Numbers of the columns that a name, a number or a sequence of them stands for."""
    entries = [value] if isinstance(value, str) or not np.iterable(value) else list(value)
    return tuple(sorted({c for entry in entries for c in columns_of(entry, names, d, what)}))


def as_grippers(
    value: Any, names: Sequence[str], d: int, what: str
) -> tuple[int | tuple[int, ...], ...]:
    """Columns of grippers: numbers, and a tuple for each list or range, which are one gripper."""
    entries = [value] if isinstance(value, str) or not np.iterable(value) else list(value)
    found: dict[int | tuple[int, ...], None] = {}
    for entry in entries:
        own = tuple(sorted(set(columns_of(entry, names, d, what))))
        listed = not isinstance(entry, str) and np.iterable(entry)
        one = len(own) > 1 and (listed or re.fullmatch(r"\d+:\d+", str(entry)))
        found |= {own: None} if one else dict.fromkeys(own)
    return tuple(sorted(found, key=lambda own: own if isinstance(own, tuple) else (own,)))


def full_name(key: str, names: Sequence[str]) -> str:
    """Full beginning of names for `key`: `key` itself if names begin with it, otherwise "".

    The beginning that all names share, up to a dot, may be left out, and so may LeRobot's
    "observation.state.": "left" stands for "observation.state.left".
    """
    shared = ""
    for parts in zip(*(name.split(".")[:-1] for name in names), strict=False):
        if len(set(parts)) > 1:
            break
        shared += f"{parts[0]}."
    for beginning in ("", shared, STATE):
        if key and any(name.startswith(beginning + key) for name in names):
            return beginning + key
    return ""


def short_name(name: str) -> str:
    """A name without LeRobot's "observation.state.", unless a number is left; see `full_name`."""
    short = name.removeprefix(STATE)
    return name if short.isdecimal() else short


def without_unit(name: str) -> str:
    """A name without the unit at its end, as "q_w" of "q_w []"."""
    return _UNIT.sub("", name)


def columns_of(key: Any, names: Sequence[str], d: int, what: str) -> list[int]:
    """Columns by number, (short) name, beginning of a name, range ("3:7"), or a tuple of these."""
    if isinstance(key, tuple | list | range | np.ndarray):
        return [c for part in key for c in columns_of(part, names, d, what)]
    if isinstance(key, str):
        if key in names:
            return [c for c, name in enumerate(names) if name == key]
        at = [c for c, name in enumerate(names) if key and name.startswith(key)]
        if not at and (found := re.fullmatch(r"(\d+)(?::(\d+))?", key)):
            low = int(found[1])
            at = list(range(low, int(found[2]) if found[2] else low + 1))
        elif not at and (full := full_name(key, names)):
            return columns_of(full, names, d, what)
    else:
        try:
            at = [operator.index(key)]
        except TypeError:
            at = []
    if not at or not all(0 <= c < d for c in at):
        known = f"columns are 0 to {d - 1}"
        if names:
            known += f", or {first_names(names, 4)}"
        raise InputError(f"{what} names {key!r}, and there is no such column: {known}")
    return at


def listed(text: str | None) -> list[str]:
    """Names or numbers, separated by commas; ranges as 18:21."""
    found: list[str] = []
    for part in (text or "").split(","):
        if match := re.fullmatch(r"(\d+):(\d+)", part.strip()):
            found += map(str, range(int(match[1]), int(match[2])))
        elif part.strip():
            found.append(part.strip())
    return found
