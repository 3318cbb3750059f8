"""The body of the states: the one that was requested, or that of the first message."""

from collections import Counter, deque
from collections.abc import Sequence
from operator import attrgetter
from typing import Any

from ..errors import InputError
from .field_syntax import Leaf
from .identity import (
    ANY,
    BODIES_LISTED,
    PassedOver,
    Place,
    find_distinguishing_keys,
    keys_of,
    values,
)
from .schema import Schema

RECENT, MAJORITY = 20, 15  # a body is used if MAJORITY of the RECENT last messages are of it
BODIES_KEPT = 100  # bodies of a stream that are kept


class Bodies:
    """Selects messages of a topic, and elements of their arrays, for the states.

    `wanted` is the identity of the requested messages, by key, and `leaves` the numbers of the
    state. `places` are those of messages that have one of several bodies. `select` returns the keys
    of `wanted` in a message, and `watch` watches the identity that was not requested; None if there
    is none.
    """

    def __init__(self, schema: Schema, wanted: dict[str, Any], leaves: Sequence[Leaf]) -> None:
        asked = {leaf.path for leaf in leaves}  # a coordinate of the state is no identity
        keys = tuple(key for key in keys_of(schema) if key not in asked)
        root = Place("", "", lambda message: [message], lambda message: message, keys, wanted)
        inner = {place.path: place for leaf in leaves for place in leaf.places}
        self.places = (*([root] if keys or wanted else []), *inner.values())
        compared = {key: value for key, value in wanted.items() if value != ANY}
        self.select = attrgetter(*compared) if compared else None
        self._wanted = compared
        watched = [place for place in self.places if place.watched()]
        self.watch = Watch(watched) if watched else None
        self._chosen = [place for place in inner.values() if place.chosen]

    def forget(self) -> None:
        """Use the body of the next message, if none was requested."""
        if self.watch is not None:
            self.watch.forget()

    def describe(self) -> str:
        """The identity of the states that was not requested."""
        return "" if self.watch is None else self.watch.describe()

    def check_choice(self, message: Any) -> None:
        """Raise PassedOver if a message is of another body than the requested one."""
        assert self.select is not None
        keys = [*self._wanted]
        found = values(self.select(message), keys)
        if found != tuple(self._wanted.values()):
            own = ", ".join(f"{key}={value}" for key, value in zip(keys, found, strict=True))
            raise PassedOver(f"a message of {own}", "not asked for")

    def explain_missing(self, message: Any) -> InputError:
        """Why requested elements are not in a message."""
        absent = [place.path for place in self._chosen if not place.there(message)]
        if len(absent) == len(self._chosen):
            return PassedOver(f"a message without {' and '.join(absent)}", "not asked for")
        return InputError(
            f"a message without {' and '.join(absent)}: a state needs all in one message, so read "
            "one of them, or the other with --with-topic (topic_b)"
        )


class Watch:
    """The body of the states if it was not requested: that of the first message."""

    def __init__(self, places: Sequence[Place]) -> None:
        self.places = places
        parts = [place.watch() for place in places]
        self.read = parts[0] if len(parts) == 1 else lambda m: tuple(part(m) for part in parts)
        self.forget()

    def forget(self) -> None:
        """Use the body of the next message."""
        self.body: Any = None
        self._seen: dict[Any, None] = {}  # in the order of their first messages
        self._turns: deque[Any] = deque(maxlen=RECENT)  # from the second body on

    def takes_over(self, message: Any) -> bool:
        """Whether most of the last messages are of this message's body, which is a new one.

        PassedOver if the message is of another body than the state.
        """
        body = self.read(message)
        if body == self.body:
            if self._turns:
                self._turns.append(body)
            return False
        if self.body is None:
            self.body = body
            self._seen = {body: None}
            return False
        self._turns.append(body)
        if len(self._seen) < BODIES_KEPT:
            self._seen[body] = None
        if self._turns.count(body) >= MAJORITY:
            return True
        others = ", ".join(self.write(seen) for seen in [*self._seen][:BODIES_LISTED])
        raise PassedOver(
            f"{self.write(body)} is another body than {self.write(self.body)}, which the state is "
            f"of; name one of {others}",
            "other bodies",
        )

    def write(self, body: Any) -> str:
        """Text that distinguishes a body from all others so far."""
        texts = []
        for i, place in enumerate(self.places):
            keys = place.watched()
            seen = Counter(self._part(each, i) for each in self._seen)
            if len(seen) > 1:
                own = self._part(body, i)
                differs = {keys[j]: own[j] for j in find_distinguishing_keys(keys, seen)}
                texts.append(place.write({**place.wanted, **differs}))
        return " and ".join(texts)

    def describe(self) -> str:
        """The complete identity of the states."""
        texts = []
        for i, place in enumerate(self.places):
            own = zip(place.watched(), self._part(self.body, i), strict=True)
            texts.append(place.write({**place.wanted, **dict(own)}))
        return " and ".join(texts)

    def _part(self, body: Any, place: int) -> tuple[Any, ...]:
        """Values of the watched keys of one place."""
        part = body if len(self.places) == 1 else body[place]
        return part if isinstance(part, tuple) else (part,)
