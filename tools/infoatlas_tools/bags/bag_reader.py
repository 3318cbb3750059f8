"""Decodes the messages of a bag by the definitions in it.

A channel that cannot be decoded (JSON, Protobuf, service events, an invalid definition) is set
aside with the reason, and the others are read.
"""

import re
from collections.abc import Collection, Iterator
from pathlib import Path
from typing import Any

from infoatlas_rt.messages.schema import FieldType, Schema

from ..presentation import require
from .bag_files import BagFiles
from .storages import Channel

IDL_RULE = "=" * 80 + "\n"  # before each definition, in MCAP
# Supported languages of definitions.
MSG, IDL = ("ros1msg", "ros2msg"), ("ros2idl", "omgidl")
_WIDE = re.compile(r"(?:^|[{;<])\s*wstring\b", re.MULTILINE)  # the type of a field


class BagReader(BagFiles):
    """An open bag with its types.

    `unreadable` has why messages of a channel cannot be decoded, by index in `channels`. The
    `typestore` has the types of the bag's definitions, and those of the newest distribution where
    it has none.
    """

    def __init__(self, source: Path) -> None:
        require("rosbags.typesys", "bags are read with rosbags, which", "bags")
        super().__init__(source)
        self.unreadable: dict[int, str] = {}
        try:
            self.typestore = self._types()
        except BaseException:
            self.close()
            raise

    def decoded(self, topics: Collection[str]) -> Iterator[tuple[str, int, Any]]:
        """Topic, time of arrival (ns) and message, in the order of their arrival."""
        chosen = {
            i
            for i, channel in enumerate(self.channels)
            if channel.topic in topics and i not in self.unreadable
        }
        for time, place, data in self.messages(chosen):
            yield self.channels[place].topic, time, self._decode(data, self.channels[place])

    def _decode(self, data: bytes, channel: Channel) -> Any:
        """A message; rclpy's `serialize_message` adds up to 8 bytes after empty last arrays."""
        if channel.encoding == "ros1":
            return self.typestore.deserialize_ros1(data, channel.type)
        for surplus in (0, 4, 8):
            try:
                return self.typestore.deserialize_cdr(data[: len(data) - surplus], channel.type)
            except Exception:
                if surplus == 8:
                    raise

    def _types(self) -> Any:
        """Types from the definitions; recordings of older distributions have none."""
        from rosbags.typesys import Stores, get_typestore

        latest, found = get_typestore(Stores.LATEST), dict[str, Any]()
        known: dict[Channel, str] = {}  # split bags have each definition many times
        for i, channel in enumerate(self.channels):
            key = channel._replace(topic="", messages=0)
            if key not in known:
                known[key] = _add(found, channel, latest)
            if known[key]:
                self.unreadable[i] = known[key]
        if not found:
            return latest
        store = get_typestore(Stores.EMPTY)
        store.register(found)
        for i, channel in enumerate(self.channels):
            if i not in self.unreadable and channel.syntax in MSG + IDL:
                missing = [n for n in _needed(store, channel.type) if n not in store.fielddefs]
                if missing:
                    self.unreadable[i] = f"no definition of {missing[0]}"
        return store


def _add(found: dict[str, Any], channel: Channel, latest: Any) -> str:
    """Add types of a channel, if they agree with those of the others and with its hash.

    Without a definition, they are those of the typestore `latest`. The result is why its messages
    cannot be decoded; empty if they can, or if the type is not known.
    """
    from rosbags.typesys import Stores, get_typestore

    if channel.encoding not in ("cdr", "ros1"):
        return f"{channel.encoding or 'unknown'} encoding"
    defined = channel.syntax in MSG + IDL
    if defined and _WIDE.search(channel.definition):
        return "a wstring is not read, a string is"
    parsed = defined and (channel.encoding == "ros1" or channel.definition.strip() != "")
    if not parsed and channel.type not in latest.fielddefs:
        return "its definition is empty" if defined else ""
    try:
        own = (
            _parse(channel)
            if parsed
            else {name: latest.fielddefs[name] for name in _needed(latest, channel.type)}
        )
        for name, (_, fields) in own.items():
            if name in found and found[name][1] != fields:
                return f"two definitions of {name}"
        if channel.digest:
            store = get_typestore(Stores.EMPTY)
            store.register(found | own)
            ros1 = channel.encoding == "ros1"
            kind = channel.type
            digest = store.generate_msgdef(kind)[1] if ros1 else store.hash_rihs01(kind)
            if digest != channel.digest:
                return f"its definition of {kind} is not the one of its hash"
    except Exception:  # parsers raise many kinds
        return "its definition cannot be read"
    found |= own
    return ""


def _parse(channel: Channel) -> dict[str, Any]:
    from rosbags.typesys import get_types_from_idl, get_types_from_msg

    text = channel.definition.replace("\r\n", "\n")  # of recorders on Windows
    if channel.syntax in MSG:
        return dict(get_types_from_msg(text, channel.type))
    if not text.startswith(f"{IDL_RULE}IDL: "):
        return dict(get_types_from_idl(text))
    found: dict[str, Any] = {}
    for part in text.split(IDL_RULE)[1:]:
        found |= get_types_from_idl(part.partition("\n")[2])
    return found


def _needed(store: Any, kind: str) -> list[str]:
    """Names of the types that a message needs: its own, and those in it that are defined or not."""
    seen, left = list[str](), [kind]
    while left:
        name = left.pop()
        if name in seen:
            continue
        seen.append(name)
        if name in store.fielddefs:
            fields = schema_of(store, name).fields().values()
            left += [field.base for field in fields if "/" in field.base]
    return seen


def schema_of(store: Any, name: str) -> Schema:
    """The definition of a type in a typestore of rosbags."""

    def lookup(wanted: str) -> dict[str, FieldType]:
        return {field: _field_type(desc) for field, desc in store.fielddefs[wanted][1]}

    return Schema(name, lookup)


def _field_type(desc: Any) -> FieldType:
    kind, value = desc
    if kind.name in ("ARRAY", "SEQUENCE"):
        length = value[1] if kind.name == "ARRAY" else 0
        return FieldType(_field_type(value[0]).base, length)
    return FieldType(value if kind.name == "NAME" else value[0])
