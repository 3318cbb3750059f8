"""Numbers out of ROS messages: which fields make up a state, checked once against a message type.

A field is written as in `position[:]`, `position[0:6]`, `position[2]`, `data`,
`pose.pose.position.x` or `transforms[0].transform.translation`. An array without brackets is the
whole array; a nested message stands for all its numbers, in the order in which it declares them,
if it has nothing but numbers. Coordinates come in the order in which the fields are listed.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import reduce
from operator import attrgetter, itemgetter
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .errors import InputError
from .schema import HEADER, NUMBERS, FieldType, Schema

_ARRAYS = "Float32 Float64 Int8 Int16 Int32 Int64 UInt8 UInt16 UInt32 UInt64".split()
DEFAULT_FIELDS: dict[str, tuple[str, ...]] = {
    "sensor_msgs/msg/JointState": ("position[:]", "velocity[:]"),
    "sensor_msgs/msg/Imu": ("angular_velocity", "linear_acceleration"),
    "nav_msgs/msg/Odometry": ("pose.pose", "twist.twist"),
    "geometry_msgs/msg/PoseWithCovarianceStamped": ("pose.pose",),
    "geometry_msgs/msg/TwistWithCovarianceStamped": ("twist.twist",),
    **{f"std_msgs/msg/{name}MultiArray": ("data[:]",) for name in _ARRAYS},
}


def default_fields(schema: Schema) -> tuple[str, ...]:
    """Fields of a state where none are given.

    Those of `DEFAULT_FIELDS`; of other types all but the header, if that is nothing but numbers
    (Pose, PoseStamped, Twist, WrenchStamped, ...).

    Raises
    ------
    InputError
        The type has other things too.
    """
    if schema.name in DEFAULT_FIELDS:
        return DEFAULT_FIELDS[schema.name]
    fields = {name: kind for name, kind in schema.fields().items() if kind.base != HEADER}
    if not fields or not all(schema.numeric(kind) for kind in fields.values()):
        raise InputError(f"say which fields make up the state: {schema}")
    return tuple(fields)


def stamp(message: Any) -> float | None:
    """Time in a message's header, in seconds.

    As float64, which resolves 0.24 microseconds at today's epoch: messages closer than that have
    the same stamp. None if there is no header with a time in it, or if nobody has set it (zero).
    """
    try:
        time = message.header.stamp
        return (time.sec + 1e-9 * time.nanosec) or None
    except AttributeError:
        return None


@dataclass(frozen=True)
class _Leaf:
    """Where numbers are: one (`length` None), or the part from `start` to `stop` of an array."""

    path: str
    get: Callable[[Any], Any]
    length: int | None = None  # as in FieldType
    start: int = 0
    stop: int | None = None  # None: the end, wherever that is

    @property
    def open(self) -> bool:
        """Whether only a message can tell how many they are."""
        return self.length == 0 and self.stop is None


class Extractor:
    """Turns messages of one type into states.

    Parameters
    ----------
    fields : sequence of str, or None
        See the module's text; `default_fields` of the type if None.
    schema : Schema
        Of the message type.

    Attributes
    ----------
    fields : tuple of str
    dim : int or None
        d; None while it hangs on a first message (the open end of an array of any length).
    names : tuple of str
        What each coordinate is, d of them; empty while `dim` is None.

    Raises
    ------
    InputError
        A field that does not exist, is no number, or lies beyond the end of an array. The message
        names the path and the type, and says which fields there are.
    """

    def __init__(self, fields: Sequence[str] | None, schema: Schema) -> None:
        self.fields = tuple(default_fields(schema) if fields is None else fields)
        if not self.fields:
            raise InputError(f"no fields given: {schema}")
        self.type = schema.name
        self._leaves = [leaf for field in self.fields for leaf in _resolve(field, schema)]
        self.forget()

    def forget(self) -> None:
        """Learn the lengths of arrays anew, from the next message."""
        self.dim: int | None = None
        self.names: tuple[str, ...] = ()
        if not any(leaf.open for leaf in self._leaves):
            self._lay_out([0] * len(self._leaves))

    def __call__(self, message: Any) -> NDArray[np.float64]:
        """The state in a message.

        Parameters
        ----------
        message : a message of the type

        Returns
        -------
        [d] float64
            The same array at every call: copy it to keep it.

        Raises
        ------
        InputError
            An array is longer or shorter than in the first message, so that the dimension would
            change; or the message is of another type.
        """
        try:
            if self.dim is None:
                self._lay_out([len(x.get(message)) if x.open else 0 for x in self._leaves])
            state = self._state
            if self._single is not None:
                state[self._where] = self._single(message)
            for leaf, start, stop, length in self._arrays:
                values = leaf.get(message)
                found = len(values)
                if found != length and (leaf.open or found < length):
                    raise self._changed(leaf, found, length)
                whole = stop - start == found
                state[start:stop] = values if whole else values[leaf.start : leaf.stop]
        except (AttributeError, IndexError) as error:
            raise InputError(
                f"{', '.join(self.fields)}: not in this message, {type(message).__name__} "
                f"({error}): expected a {self.type}"
            ) from error
        return state

    def _lay_out(self, lengths: Sequence[int]) -> None:
        """Give each leaf its place in the state; `lengths` are those of open arrays now."""
        names: list[str] = []
        arrays, single, where = [], [], []
        for leaf, length in zip(self._leaves, lengths, strict=True):
            start = len(names)
            if leaf.length is None:
                single.append(leaf)
                where.append(start)
                names.append(leaf.path)
                continue
            stop = leaf.stop or length
            names += [f"{leaf.path}[{i}]" for i in range(leaf.start, stop)]
            arrays.append((leaf, start, len(names), leaf.length or stop))
        if not names:
            raise InputError(f"no numbers in {', '.join(self.fields)}: the arrays are empty")
        self._arrays, self._single, self._where = (
            arrays,
            _together(single),
            np.array(where, np.intp),
        )
        self._state = np.zeros(len(names))
        self.names, self.dim = tuple(names), len(names)

    def _changed(self, leaf: _Leaf, found: int, length: int) -> InputError:
        if not leaf.open:
            return InputError(
                f"{leaf.path} has {found} elements, but {leaf.stop} are needed: ask for fewer"
            )
        size = max(0, found - leaf.start) - max(0, length - leaf.start)
        return InputError(
            f"dimension {(self.dim or 0) + size}, before it was {self.dim}: {leaf.path} has "
            f"{found} elements, before it had {length}. If two robots share this topic, ask for "
            "the part that both have, or split the topic"
        )


def _together(leaves: Sequence[_Leaf]) -> Callable[[Any], Any] | None:
    """One callable that gets all single numbers of a message."""
    if not leaves:
        return None
    if not any("[" in leaf.path for leaf in leaves):
        return attrgetter(*(leaf.path for leaf in leaves))  # in C, in one call
    getters = [leaf.get for leaf in leaves]
    return lambda message: [get(message) for get in getters]


_WORD = re.compile(r"([A-Za-z]\w*)(?:\[(?:(\d+)|(\d*):(\d*))\])?")


def _resolve(field: str, schema: Schema) -> list[_Leaf]:
    """Where the numbers of a field are, in their order."""
    path = ""
    getters: list[Callable[[Any], Any]] = []
    words = field.split(".")
    for i, word in enumerate(words):
        match = _WORD.fullmatch(word)
        if match is None:
            raise InputError(
                f"field {field!r} cannot be read: write it as in position[:], position[0:6], "
                "position[2] or pose.position.x"
            )
        name, index, first, end = match.groups()
        kind = schema.fields().get(name)
        if kind is None:
            raise InputError(f"field {field!r}: there is no {name!r}. {schema}")
        if kind.length is None and word != name:
            raise InputError(f"field {field!r}: {name} is one {kind}, no array: leave out the []")
        path += f".{name}" if path else name
        getters.append(attrgetter(name))
        start = int(index or first or 0)
        stop = start + 1 if index else int(end) if end else kind.length or None
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
            return [_Leaf(path, _chain(getters), kind.length, start, stop)]
    if not schema.numeric():
        raise InputError(f"field {field!r} holds more than numbers: take some of it. {schema}")
    return [leaf for name in schema.fields() for leaf in _under(path, getters, name, schema)]


def _under(path: str, getters: list[Any], name: str, schema: Schema) -> list[_Leaf]:
    """Leaves of a field of a message that has only numbers."""
    kind, path, getters = schema.fields()[name], f"{path}.{name}", [*getters, attrgetter(name)]
    if kind.base in NUMBERS:
        return [_Leaf(path, _chain(getters), kind.length, 0, kind.length or None)]
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
