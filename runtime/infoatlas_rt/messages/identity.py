"""Identifies the body of a message by strings and numbers in it.

A topic may have several bodies: transforms of a robot's frames, poses of several objects, markers.
Their states are never mixed: one body is chosen by its identity, or that of the first message is
used.
"""

import re
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from operator import attrgetter
from typing import Any

from ..errors import InputError
from .schema import NUMBER_TYPES, FieldType, Schema

# Fields that are an identity, the most specific ones first.
KEYS = (
    "child_frame_id,name,object_id,id,marker_id,track_id,tracking_id,ns,header.frame_id,frame_id"
).split(",")
NAME_LISTS = ("name", "joint_names")  # names of the elements of the other arrays
ANY = "*"  # instead of a value: all values are one body
BODIES_LISTED = 12  # in an error, at most


class Missing(Exception):
    """A message has no element of the requested identity."""


class PassedOver(InputError):
    """A message of another body than the state: no step, but no fault; `fate` is its count."""

    def __init__(self, why: str, fate: str) -> None:
        super().__init__(why)
        self.fate = fate


def _type_at(schema: Schema, key: str) -> FieldType | None:
    """Type of a field of a message, given as a path with dots; None if there is none."""
    *parents, last = key.split(".")
    for word in parents:
        kind = schema.fields().get(word)
        if kind is None or kind.length is not None or "/" not in kind.base:
            return None
        schema = schema.nested(kind.base)
    return schema.fields().get(last)


def _whole(kind: FieldType) -> bool:
    return kind.length is None and kind.base in NUMBER_TYPES and "int" in kind.base


def _text(kind: FieldType) -> bool:
    return kind.length is None and kind.base.startswith(("string", "wstring"))


def keys_of(schema: Schema) -> tuple[str, ...]:
    """Fields of a type that are an identity."""
    kinds = {key: _type_at(schema, key) for key in KEYS}
    return tuple(key for key, kind in kinds.items() if kind and (_text(kind) or _whole(kind)))


def parse(field: str, text: str, schema: Schema) -> dict[str, Any]:
    """Values by key, from text such as child_frame_id=tool0,header.frame_id=map.

    InputError if a key is neither a string nor an integer of the type.
    """
    found: dict[str, Any] = {}
    for part in re.split(r",(?=\s*[A-Za-z][\w.]*\s*=)", text):
        key, equals, value = (piece.strip() for piece in part.partition("="))
        kind = _type_at(schema, key)
        if not equals or kind is None or not (_text(kind) or _whole(kind)) or key in found:
            keys = " or ".join(f"{key}=..." for key in keys_of(schema)) or "a string of it, once"
            raise InputError(f"field {field!r}: {part!r} chooses nothing: write {keys}. {schema}")
        found[key] = value
        if _whole(kind) and value != ANY:
            try:
                found[key] = int(value)
            except ValueError:
                raise InputError(f"field {field!r}: {key} is {kind}: write {key}=7") from None
    return found


def values(raw: Any, keys: Sequence[str]) -> tuple[Any, ...]:
    """The values that attrgetter returned for these keys, always as a tuple."""
    return (raw,) if len(keys) == 1 else raw


def chooser(wanted: dict[str, Any], path: str) -> Callable[[Sequence[Any]], Any]:
    """A callable that finds the only element of an array with these values."""
    compared = {key: value for key, value in wanted.items() if value != ANY}
    read = attrgetter(*compared) if compared else None
    aim = next(iter(compared.values())) if len(compared) == 1 else tuple(compared.values())

    def choose(elements: Sequence[Any]) -> Any:
        found = [element for element in elements if read is None or read(element) == aim]
        if len(found) == 1:
            return found[0]
        if not found:
            raise Missing
        raise InputError(f"{path} is {len(found)} elements of this message: name one of them")

    return choose


@dataclass(frozen=True)
class Place:
    """Place of one of several bodies: the message, or an element of an array in it."""

    path: str  # as in a field; empty for the message
    array: str  # path of the array
    every: Callable[[Any], Sequence[Any]]  # from a message to all elements
    # From a message to the element that is used; raises Missing if there is none.
    get: Callable[[Any], Any]
    keys: tuple[str, ...]  # identity of an element
    wanted: dict[str, Any]  # values by which the element is chosen
    names: str = ""  # field with the names of the elements; empty if there is none
    index: int | None = None  # of the element, if it is chosen by index
    name: str = ""  # of the element, if it is chosen by name

    @property
    def chosen(self) -> bool:
        """Whether a message without the element is of another body."""
        return bool(self.wanted or self.name) and bool(self.array)

    def there(self, message: Any) -> bool:
        """Whether a message has the element."""
        try:
            self.get(message)
        except Missing:
            return False
        return True

    def watched(self) -> tuple[str, ...]:
        """Keys that were not chosen and could change."""
        own = tuple(key for key in self.keys if key not in self.wanted)
        return (self.names, *own) if self.names and self.index is not None else own

    def watch(self) -> Callable[[Any], Any]:
        """A callable that returns the values of `watched` in a message."""
        own = tuple(key for key in self.keys if key not in self.wanted)
        if not self.array:
            return attrgetter(*own)
        read = attrgetter(*own) if own else None
        get, names, index = self.get, self.names, self.index

        def values_of(message: Any) -> Any:
            found = () if read is None else values(read(get(message)), own)
            if index is None or not names:
                return found
            given = getattr(message, names)  # empty if the elements have no names
            return (given[index] if index < len(given) else "", *found)

        return values_of

    def write(self, identity: dict[str, Any]) -> str:
        """The text of a field that chooses this identity."""
        if self.names in identity:
            return f"{self.array}[{identity[self.names]}]"
        return f"{self.array}[{','.join(f'{key}={value}' for key, value in identity.items())}]"


def find_distinguishing_keys(keys: Sequence[str], bodies: Counter[tuple[Any, ...]]) -> list[int]:
    """The first key that distinguishes all bodies, or all keys that differ."""
    columns = [{body[i] for body in bodies} for i in range(len(keys))]
    for i, column in enumerate(columns):
        if len(column) == len(bodies):
            return [i]
    return [i for i, column in enumerate(columns) if len(column) > 1] or [0]
