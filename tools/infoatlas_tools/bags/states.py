"""Reads ROS bags (folders, .mcap and .db3 files) message by message, without ROS.

`demonstrations` reads a folder of them as trajectories.
"""

import os
from collections import Counter
from collections.abc import Iterator, Sequence
from operator import attrgetter
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from infoatlas_rt.errors import InputError
from infoatlas_rt.messages.field_syntax import names_of
from infoatlas_rt.messages.fields import Extractor
from infoatlas_rt.messages.identity import (
    ANY,
    BODIES_LISTED,
    Place,
    find_distinguishing_keys,
    keys_of,
    values,
)
from infoatlas_rt.messages.receiver import Receiver
from infoatlas_rt.messages.schema import Schema

from ..files.numbers import check_regular
from ..folder_entries import entries
from .bag_files import reading, way_out
from .bag_reader import BagReader, schema_of
from .storages import PACKED

SUFFIXES = tuple(kind + end for end in ("", *PACKED) for kind in (".mcap", ".db3", ".bag"))
TOPICS_LISTED = 10  # in a notice, at most


class Topic(NamedTuple):
    """A topic of a bag: type and number of its messages, and why they cannot be decoded."""

    type: str
    messages: int
    unreadable: str = ""


class Bag:
    """An open bag, which is closed at the end of `with`.

    `topics` are by name. `notices` are sentences about what was left out.
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.path = Path(path)
        check_regular(self.path)
        files = entries(self.path, *(f"*{end}" for end in SUFFIXES))
        if self.path.is_dir() and not (self.path / "metadata.yaml").exists():
            hint = f"pass {files[0]}, or" if files else "pass a bag, or"
            raise InputError(f"{path} has no metadata.yaml: {hint} run `ros2 bag reindex` on it")
        for file in files:
            check_regular(file)
        self.notices: list[str] = []
        with reading(self.path):
            self._reader = reader = BagReader(self.path)
        channels = [*enumerate(reader.channels)]
        self.topics: dict[str, Topic] = {}
        for name in sorted({each.topic for _, each in channels}):
            own = [(i, each) for i, each in channels if each.topic == name]
            some = [(i, each) for i, each in own if i not in reader.unreadable] or own
            kinds = sorted({each.type for _, each in some})
            kind, why = " and ".join(kinds), reader.unreadable.get(some[0][0], "")
            if len(kinds) > 1:
                why = f"{len(kinds)} types on one topic"
            count = sum(each.messages for _, each in some) + reader.missing.get(name, 0)
            self.topics[name] = Topic(kind, count, why)
        aside = {
            f"{each.topic} ({each.type}: {reader.unreadable[i]})": None
            for i, each in channels
            if i in reader.unreadable
        }
        if aside:
            names = shorten([*aside], TOPICS_LISTED)
            self.notices.append(f"topics that cannot be decoded are left out: {names}")

    def __enter__(self) -> "Bag":
        return self

    def __exit__(self, *_: object) -> None:
        self._reader.close()

    def schema(self, topic: str) -> Schema:
        """The definition of a topic's messages."""
        if topic not in self.topics:
            raise InputError(f"{self.path} has no topic {topic!r}. {self.listing()}")
        kind, messages, why = self.topics[topic]
        if why:
            way = "as a ROS message" if why.endswith("encoding") else "again without this fault"
            raise InputError(
                f"{self.path}: messages of {topic} ({kind}) cannot be decoded ({why}): read "
                f"another topic, or record it {way}. {self.listing()}"
            )
        if messages == 0:
            raise InputError(f"{self.path} has no messages on {topic}. {self.listing()}")
        if kind not in self._reader.typestore.fielddefs:
            way = "convert the bag to mcap where that type is installed"
            if self.path.suffix == ".mcap" or entries(self.path, "*.mcap"):
                way = "record it again where that type is installed"  # its schema is missing
            raise InputError(
                f"{self.path} has no definition of the messages of {topic} ({kind}): {way}, "
                "or ask for another topic"
            )
        return schema_of(self._reader.typestore, kind)

    def extractor(
        self, topic: str, fields: Sequence[str] | None = None, joints: Sequence[str] = ()
    ) -> Extractor:
        """Make an extractor of the states of one body from a topic's messages.

        Arguments are as in `Extractor`. If messages have an identity, all of them are checked
        first. This needs a small part of the time of the estimates.
        """
        schema = self.schema(topic)
        try:
            extractor = Extractor(fields, schema, joints)
        except InputError as error:
            held = self._bodies(topic, _every_place(schema))
            raise InputError(f"{error}{'. ' + held if held else ''}") from error
        if extractor.places:
            receiver = Receiver(extractor)
            fates = set()
            self.anchor(topic, receiver)
            for _, received, message in self.messages(topic):
                fates.add(receiver.receive(message, received).skip)
                if "other bodies" in fates:
                    raise self.several(topic, extractor)
            if fates == {"not asked for"}:
                raise self.nothing(topic, extractor)
            receiver.forget()
        return extractor

    def anchor(self, topic: str, receiver: Receiver) -> None:
        """Let a receiver date messages before the first stamp on the clock of the stamps."""
        for _, received, message in self.messages(topic):
            time = receiver.time(message, np.inf)
            if np.isfinite(time):
                receiver.ahead = received - time
            if np.isfinite(time) or not (receiver.extractor.dated or hasattr(message, "header")):
                return

    def several(self, topic: str, extractor: Extractor) -> InputError:
        """The error for a topic with several bodies if the fields choose none."""
        return InputError(
            f"{self.path}: {topic} has several bodies, and a state is of one: choose one with "
            f"--field ({ANY} as a value: all as one). {self._bodies(topic, extractor.places)}"
        )

    def nothing(self, topic: str, extractor: Extractor) -> InputError:
        """The error for a topic without the requested fields or joints."""
        wanted = ", ".join([*extractor.fields, *extractor.joints])
        held = self._bodies(topic, extractor.places)
        return InputError(f"{self.path}: no message on {topic} is one of {wanted}. {held}".strip())

    def _bodies(self, topic: str, places: Sequence[Place]) -> str:
        """Text: bodies in the messages, with numbers of messages; empty if there is only one."""
        found = [Counter[tuple[Any, ...]]() for _ in places]
        for _, _, message in self.messages(topic) if places else ():
            for place, bodies in zip(places, found, strict=True):
                bodies.update(_bodies_of(place, message))
        some = [_listing(p, bodies) for p, bodies in zip(places, found, strict=True) if bodies]
        return f"It has {', '.join(some)}" if some else ""

    def listing(self) -> str:
        """Its topics, in one line."""
        topics = [
            f"{name} ({kind}, {f'left out: {why}' if why else n})"
            for name, (kind, n, why) in self.topics.items()
        ]
        return f"It has {', '.join(topics)}" if topics else "It is empty"

    def messages(self, *topics: str) -> Iterator[tuple[int, float, Any]]:
        """Messages one by one, in the order of their arrival: side, time of arrival (s), message.

        The side is the index in `topics`. If a topic is there twice, as for two bodies on it, each
        message is returned for both. For an .mcap file without an index, they are in the order of
        the file.
        """
        sides: dict[str, list[int]] = {}
        for side, topic in enumerate(topics):
            sides.setdefault(topic, []).append(side)
        found = 0
        with reading(self.path):
            for topic, nanoseconds, message in self._reader.decoded(sides):
                for side in sides[topic]:
                    yield side, nanoseconds / 1e9, message
                    found += 1
        expected = sum(self.topics[topic].messages for topic in topics)
        if found != expected:  # readers skip a damaged part
            raise InputError(
                f"{self.path} is damaged: it contains {found} of {expected} messages on "
                f"{' and '.join(topics)}: {way_out(self.path)}"
            )


def undated_notice(topic: str, undated: int, of: int) -> list[str]:
    """A sentence on messages without stamps, if there are any."""
    if undated == of:
        return [f"{topic} has no stamps: times are those of arrival in the bag"] if of else []
    text = "have no stamps: they are dated by their arrival, on the clock of the others"
    return [f"{undated} of {of} messages on {topic} {text}"] if undated else []


def _every_place(schema: Schema) -> list[Place]:
    """Places of bodies in messages of a type: the message, and its arrays of messages."""
    places = []
    own = keys_of(schema)
    if own:
        places.append(Place("", "", lambda message: [message], lambda message: message, own, {}))
    for name, kind in schema.fields().items():
        if "/" in kind.base and kind.length is not None:
            keys, names = keys_of(schema.nested(kind.base)), names_of(schema)
            get = attrgetter(name)
            places += [Place(name, name, get, get, keys, {}, names)] * bool(keys or names)
    return places


def _bodies_of(place: Place, message: Any) -> list[tuple[Any, ...]]:
    """Identity of each element of a message: its name if it has one, and its keys."""
    found = [
        values(attrgetter(*place.keys)(element), place.keys) if place.keys else ()
        for element in place.every(message)
    ]
    if place.names:
        names = getattr(message, place.names)
        found = [(name, *body) for name, body in zip(names, found, strict=False)]
    return found


def _listing(place: Place, bodies: Counter[tuple[Any, ...]]) -> str:
    """Text: how to choose each body, and its number of messages."""
    keys = (place.names, *place.keys) if place.names else place.keys
    asked = [keys.index(key) for key in place.wanted if key in keys]
    shown = dict.fromkeys([*asked, *find_distinguishing_keys(keys, bodies)])
    texts: Counter[str] = Counter()
    for body, count in bodies.items():
        texts[place.write({keys[i]: body[i] for i in shown})] += count
    return shorten([f"{text} ({count})" for text, count in texts.most_common()], BODIES_LISTED)


def shorten(texts: Sequence[str], most: int = 5) -> str:
    """The first `most` texts, and the number of the others."""
    more = f" and {len(texts) - most} more" if len(texts) > most else ""
    return f"{', '.join(texts[:most])}{more}"


def bags_in(path: str | os.PathLike[str]) -> list[Path]:
    """The bags in a folder that is no bag itself, by name; empty if there are fewer than two.

    A folder of a bag without its metadata.yaml is included, so that `Bag` refuses it.
    """
    folder = Path(path)
    if not folder.is_dir() or (folder / "metadata.yaml").exists():
        return []
    found = [
        entry
        for entry in entries(folder)
        if entry.name.endswith(SUFFIXES)
        or (entry / "metadata.yaml").is_file()
        or any(inside.name.endswith(SUFFIXES) for inside in entries(entry))
    ]
    return found if len(found) > 1 else []
