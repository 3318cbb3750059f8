"""Where the numbers of a field are in a message: the syntax of fields, checked against a type."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import reduce
from operator import attrgetter, itemgetter
from typing import Any

from ..errors import InputError
from .schema import NUMBERS, FieldType, Schema

UNITS = {"s": 1.0, "ms": 1e-3, "us": 1e-6, "ns": 1e-9}
LATEST = 2.0**31  # seconds, as in a ROS time

NAMES = "name"  # of joints, in the order of the arrays beside it


def has_names(schema: Schema) -> bool:
    """Whether messages name the elements of their arrays, as JointState does."""
    return schema.fields().get(NAMES) == FieldType("string", 0)


@dataclass(frozen=True)
class Leaf:
    """Where numbers are: one (`length` None), or the part from `start` to `stop` of an array."""

    path: str
    get: Callable[[Any], Any]
    length: int | None = None  # as in FieldType
    start: int = 0
    stop: int | None = None  # None: the end, wherever that is
    named: bool = False  # its elements are in the order of the message's names
    joint: str = ""  # the one element that is asked for by name

    @property
    def open(self) -> bool:
        """Whether the number of elements is known from a message only."""
        return self.length == 0 and self.stop is None and not self.joint


def together(leaves: Sequence[Leaf]) -> Callable[[Any], Any] | None:
    """One callable that gets all single numbers of a message."""
    if not leaves:
        return None
    if not any("[" in leaf.path for leaf in leaves):
        return attrgetter(*(leaf.path for leaf in leaves))  # in C, in one call
    getters = [leaf.get for leaf in leaves]
    return lambda message: [get(message) for get in getters]


_WORD = re.compile(
    r"([A-Za-z]\w*)(?:\[(?:(\d+)|(\d*):(\d*)|([A-Za-z_/][^][:]*))\])?"  # the last: a joint
)
_DOT = re.compile(r"\.(?![^[]*\])")  # outside of brackets


def resolve(field: str, schema: Schema) -> list[Leaf]:
    """Where the numbers of a field are, in their order."""
    path = ""
    getters: list[Callable[[Any], Any]] = []
    words = _DOT.split(field)
    for i, word in enumerate(words):
        match = _WORD.fullmatch(word)
        if match is None:
            raise InputError(
                f"field {field!r} cannot be read: write it as in position[:], position[0:6], "
                "position[2], position[elbow] or pose.position.x"
            )
        name, index, first, end, joint = match.groups()
        kind = schema.fields().get(name)
        if kind is None:
            raise InputError(f"field {field!r}: there is no {name!r}. {schema}")
        if kind.length is None and word != name:
            raise InputError(f"field {field!r}: {name} is one {kind}, no array: leave out the []")
        path += f".{name}" if path else name
        getters.append(attrgetter(name))
        start = int(index or first or 0)
        stop = start + 1 if index else int(end) if end else kind.length or None
        named = i == 0 and kind.length == 0 and kind.base in NUMBERS and has_names(schema)
        if joint and not named:
            raise InputError(f"field {field!r}: no names go with {name}, so take it by number")
        if kind.length is not None:
            _check_bounds(field, kind, start, stop)
        if "/" in kind.base:
            if kind.length is not None:
                if not index:
                    raise InputError(f"field {field!r}: take one of {name}, as in {name}[0]")
                path += f"[{start}]"
                getters.append(itemgetter(start))
            schema = schema.nested(kind.base)
        elif i < len(words) - 1:
            raise InputError(f"field {field!r}: {name} is {kind} and has no fields: end with it")
        elif kind.base not in NUMBERS:
            raise InputError(f"field {field!r} is {kind}, no number. {schema}")
        else:
            return [Leaf(path, _chain(getters), kind.length, start, stop, named, joint or "")]
    if not schema.numeric():
        raise InputError(f"field {field!r} holds more than numbers: take some of it. {schema}")
    return [leaf for name in schema.fields() for leaf in _under(path, getters, name, schema)]


def _under(path: str, getters: list[Any], name: str, schema: Schema) -> list[Leaf]:
    """Leaves of a field of a message that has only numbers."""
    kind, path, getters = schema.fields()[name], f"{path}.{name}", [*getters, attrgetter(name)]
    if kind.base in NUMBERS:
        return [Leaf(path, _chain(getters), kind.length, 0, kind.length or None)]
    inner = schema.nested(kind.base)
    return [leaf for field in inner.fields() for leaf in _under(path, getters, field, inner)]


def _check_bounds(field: str, kind: FieldType, start: int, stop: int | None) -> None:
    if stop is not None and stop <= start:
        raise InputError(f"field {field!r} is empty: let it end after its start")
    if kind.length and stop is not None and stop > kind.length:
        raise InputError(f"field {field!r}: {kind} has elements 0 to {kind.length - 1} only")


def _chain(getters: Sequence[Callable[[Any], Any]]) -> Callable[[Any], Any]:
    """One getter after another."""
    if len(getters) == 1:
        return getters[0]
    steps = tuple(getters)
    return lambda message: reduce(lambda value, get: get(value), steps, message)


def stamp_of(field: str, schema: Schema) -> Callable[[Any], float | None]:
    """What reads the stamp out of messages of a type.

    Parameters
    ----------
    field : str
        A number and its unit, as in "timestamp us".
    schema : Schema

    Returns
    -------
    callable
        From a message to seconds; None where the field is 0 (nobody has set it), NaN where it
        holds no time from 0 to 2^31 s.

    Raises
    ------
    InputError
        No such field, no single number, or no unit.
    """
    name, _, unit = field.strip().partition(" ")
    if unit.strip() not in UNITS:
        raise InputError(
            f"stamp_field is {field!r}: write a field and its unit ({', '.join(UNITS)}), as in "
            "'timestamp us'"
        )
    leaves = resolve(name, schema)
    if len(leaves) != 1 or leaves[0].length is not None:
        raise InputError(f"stamp_field is {field!r}, more than one number. {schema}")
    get, scale = leaves[0].get, UNITS[unit.strip()]

    def read(message: Any) -> float | None:
        seconds = float(get(message)) * scale
        return (seconds or None) if 0 <= seconds < LATEST else float("nan")

    return read
