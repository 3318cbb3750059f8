"""The syntax of fields: finds the numbers of a field in messages of a type."""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import reduce
from itertools import groupby
from operator import attrgetter, itemgetter
from typing import Any

from ..errors import InputError
from .identity import NAME_LISTS, Missing, Place, chooser, keys_of, parse
from .schema import HEADER_TYPE, LONG_TYPES, NUMBER_TYPES, FieldType, Schema

UNITS = {"s": 1.0, "ms": 1e-3, "us": 1e-6, "ns": 1e-9}
LATEST = 2.0**31  # seconds, as in a ROS time


def has_names(schema: Schema) -> bool:
    """Whether messages name the elements of their arrays in `name`, as JointState does."""
    return schema.fields().get("name") == FieldType("string", 0)


@dataclass(frozen=True)
class Leaf:
    """Place of numbers: a single one (`length` None), or the part `start` to `stop` of an array.

    `places` are the elements of arrays of messages that contain it, the outermost first; `inner` is
    the path in the innermost of them.
    """

    path: str
    get: Callable[[Any], Any]
    length: int | None = None  # as in FieldType
    start: int = 0
    stop: int | None = None  # None: the end of the array
    named: bool = False  # its elements are in the order of the message's names
    joint: str = ""  # the requested element, by name
    places: tuple[Place, ...] = ()
    inner: str = ""
    long: bool = False  # integers of 64 bits, which float64 may round

    @property
    def open(self) -> bool:
        """Whether the number of elements depends on the message."""
        return self.length == 0 and self.stop is None and not self.joint


def together(leaves: Sequence[Leaf]) -> Callable[[Any], Any] | None:
    """One callable that returns all single numbers of a message."""
    if not leaves:
        return None
    if not any(leaf.places for leaf in leaves):
        return attrgetter(*(leaf.inner for leaf in leaves))  # in C, in one call
    parts = []  # an element is searched once for all its numbers
    for places, some in groupby(leaves, lambda leaf: leaf.places):
        inner = [leaf.inner for leaf in some]
        element = places[-1].get if places else None
        parts.append((element, attrgetter(*inner), len(inner) == 1))

    def get(message: Any) -> list[Any]:
        found: list[Any] = []
        for element, read, one in parts:
            got = read(message if element is None else element(message))
            found.append(got) if one else found.extend(got)
        return found

    return get


_WORD = re.compile(
    r"([A-Za-z]\w*)(?:\[(?:(\d+)|(\d*):(\d*)|([^][=]+=[^][]*)|([A-Za-z_/][^][:=]*))\])?"
)  # number, part, identity, name
_DOT = re.compile(r"\.(?![^[]*\])")  # outside of brackets
_CHOICE = re.compile(r"\[([^][]*)\]\.?(.*)", re.DOTALL)


def choice_of(field: str, schema: Schema) -> tuple[dict[str, Any], str]:
    """The identity by which a field chooses messages, as in [child_frame_id=base].pose.pose.

    Returns its values by key, empty if the field is for all messages; and the field without it,
    empty if it is an identity alone.
    """
    match = _CHOICE.fullmatch(field.strip())
    return ({}, field) if match is None else (parse(field, match[1], schema), match[2])


def resolve(field: str, schema: Schema) -> list[Leaf]:
    """Places of the numbers of a field, in their order."""
    path = inner = ""
    places: list[Place] = []
    getters: list[Callable[[Any], Any]] = []
    words = _DOT.split(field)
    for i, word in enumerate(words):
        match = _WORD.fullmatch(word)
        if match is None:
            raise InputError(
                f"field {field!r} cannot be read: write it as in position[:], position[0:6], "
                "position[2], position[elbow], pose.position.x or "
                "transforms[child_frame_id=tool0].transform"
            )
        name, index, first, end, identity, joint = match.groups()
        kind = schema.fields().get(name)
        if kind is None:
            raise InputError(f"field {field!r}: there is no {name!r}. {schema}")
        if kind.length is None and word != name:
            raise InputError(f"field {field!r}: {name} is one {kind}, no array: leave out the []")
        path += f".{name}" if path else name
        inner += f".{name}" if inner else name
        if "/" in kind.base and kind.length is not None:
            place = _place(field, name, schema, getters, path, match)
            places.append(place)
            path = place.path
            getters, inner, schema = [place.get], "", schema.nested(kind.base)
            continue
        getters.append(attrgetter(name))
        start = int(index or first or 0)
        stop = start + 1 if index else int(end) if end else kind.length or None
        named = i == 0 and kind.length == 0 and kind.base in NUMBER_TYPES and has_names(schema)
        if identity or (joint and not named):
            raise InputError(
                f"field {field!r}: {name} is {kind}, and no names go with it: write {name}[2] or "
                f"{name}[0:6]"
            )
        if kind.length is not None:
            _check_bounds(field, kind, start, stop)
        if "/" in kind.base:
            schema = schema.nested(kind.base)
        elif i < len(words) - 1:
            raise InputError(f"field {field!r}: {name} is {kind} and has no fields: end with it")
        elif kind.base not in NUMBER_TYPES:
            raise InputError(f"field {field!r} is {kind}, no number. {schema}")
        else:
            where = (tuple(places), inner, kind.base in LONG_TYPES)
            return [
                Leaf(path, _chain(getters), kind.length, start, stop, named, joint or "", *where)
            ]
    if not schema.numeric():
        raise InputError(f"field {field!r} has more than numbers: choose some of it. {schema}")
    return [
        leaf
        for name in schema.fields()
        for leaf in _under(path, inner, getters, name, schema, tuple(places))
    ]


def _place(
    field: str,
    name: str,
    schema: Schema,
    getters: Sequence[Callable[[Any], Any]],
    array: str,
    match: re.Match[str],
) -> Place:
    """One element of an array of messages, from the brackets after its name."""
    _, index, _, _, identity, joint = match.groups()
    kind = schema.fields()[name]
    element = schema.nested(kind.base)
    keys = keys_of(element)
    names = "" if getters else names_of(schema)
    ways = [f"{name}[NAME]"] * bool(names) + [f"{name}[{key}=...]" for key in keys[:2]]
    every = _chain([*getters, attrgetter(name)])
    path = array + match[0][len(name) :]
    if index:
        _check_bounds(field, kind, int(index), int(index) + 1)
        get = _chain([*getters, attrgetter(name), itemgetter(int(index))])
        return Place(path, array, every, get, keys, {}, names, int(index))
    if identity:
        wanted = parse(field, identity, element)
        get = _chain([*getters, attrgetter(name), chooser(wanted, path)])
        return Place(path, array, every, get, keys, wanted, names)
    if joint and names:
        get = _by_name(name, names, joint)
        return Place(path, array, every, get, keys, {}, names, name=joint)
    ways = ways or [f"{name}[0]"]
    raise InputError(f"field {field!r}: take one of {name}, as in {' or '.join(ways)}")


def names_of(schema: Schema) -> str:
    """Field with the names of the elements of a message's arrays; empty if there is none."""
    lists = [each for each in NAME_LISTS if schema.fields().get(each) == FieldType("string", 0)]
    return lists[0] if lists else ""


def _by_name(array: str, names: str, name: str) -> Callable[[Any], Any]:
    """A callable that returns the element of an array with a name in the list of names."""

    def get(message: Any) -> Any:
        given = getattr(message, names)
        if name not in given:
            raise Missing
        return getattr(message, array)[given.index(name)]

    return get


def _under(
    path: str, inner: str, getters: list[Any], name: str, schema: Schema, places: tuple[Place, ...]
) -> list[Leaf]:
    """Leaves of a field of a message that has only numbers."""
    kind, path, getters = schema.fields()[name], f"{path}.{name}", [*getters, attrgetter(name)]
    inner = f"{inner}.{name}" if inner else name
    if kind.base in NUMBER_TYPES:
        stop = kind.length or None
        where = (places, inner, kind.base in LONG_TYPES)
        return [Leaf(path, _chain(getters), kind.length, 0, stop, False, "", *where)]
    nested = schema.nested(kind.base)
    return [
        leaf
        for field in nested.fields()
        for leaf in _under(path, inner, getters, field, nested, places)
    ]


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


def stamp(message: Any) -> float | None:
    """Time in a message's header, in seconds.

    float64 resolves 0.24 microseconds at present, so messages closer than that have the same stamp.
    None if there is no header with a time, or if the time is not set (zero).
    """
    try:
        time = message.header.stamp
        return (time.sec + 1e-9 * time.nanosec) or None
    except AttributeError:
        return None


def stamp_of(field: str, schema: Schema, leaves: Sequence[Leaf]) -> Callable[[Any], float | None]:
    """A callable from messages of a type to their stamp in seconds.

    It returns None if the field is 0 (not set), and NaN if it is no time from 0 to 2^31 s. The
    field has a number and its unit, as in "timestamp us"; InputError if it is none. If empty, the
    stamp is that of the header of the message, or of the element that contains the leaves, the
    numbers of the state.
    """
    if not field:
        outer = {leaf.places[0].path: leaf.places[0] for leaf in leaves if leaf.places}
        if schema.fields().get("header") == FieldType(HEADER_TYPE) or len(outer) != 1:
            return stamp
        (place,) = outer.values()
        return lambda message: stamp(place.get(message))
    name, _, unit = field.strip().partition(" ")
    if unit.strip() not in UNITS:
        raise InputError(
            f"stamp_field is {field!r}: write a field and its unit ({', '.join(UNITS)}), as in "
            "'timestamp us'"
        )
    numbers = resolve(name, schema)
    if len(numbers) != 1 or numbers[0].length is not None:
        raise InputError(f"stamp_field is {field!r}, more than one number. {schema}")
    get, scale = numbers[0].get, UNITS[unit.strip()]

    def read(message: Any) -> float | None:
        seconds = float(get(message)) * scale
        return (seconds or None) if 0 <= seconds < LATEST else float("nan")

    return read
