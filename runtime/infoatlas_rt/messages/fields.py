"""Extracts states from ROS messages; the fields are checked once against the message type.

A field is written as in `position[:]`, `position[0:6]`, `position[2]`, `position[elbow]`, `data`,
`pose.pose.position.x` or `transforms[child_frame_id=tool0].transform.translation`. An array without
brackets means all its elements. A nested message means all its numbers, in the order of its
definition, if it has nothing but numbers. Coordinates come in the order in which the fields are
listed. `[child_frame_id=base].pose.pose` reads the messages of one body (`identity`), and
`[child_frame_id=base]` alone the default fields of them.

If messages name the elements of their arrays (JointState), the order is that of the names in the
first message, or of the requested joints. Later messages may have another order.
"""

from collections import deque
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..errors import InputError
from ..inputs.arrays import EXACT
from ..inputs.copies import Stateful
from .bodies import MAJORITY, RECENT, Bodies
from .defaults import chosen_fields
from .field_syntax import Leaf, has_names, resolve, stamp, stamp_of, together
from .identity import Missing, PassedOver
from .schema import Schema

# Layouts of the last RECENT messages are kept. The state changes to another layout when MAJORITY of
# them have it, or MAJORITY_IF_WIDER of them if it has more coordinates. So a few odd messages at
# the start have no effect, and an arm is preferred to a gripper of the same rate.
MAJORITY_IF_WIDER = 10


class Extractor(Stateful):
    """Turns messages of one type into states.

    Parameters
    ----------
    fields : sequence of str, or None
        Fields in the syntax above; `default_fields` of the type if None.
    schema : Schema
        Definition of the message type.
    joints : sequence of str
        Names of the elements of arrays to use, in this order. If empty, all elements, in the order
        of the first message.
    stamp_field : str
        A field with the time of a message, and its unit, as in "timestamp us"; the header's stamp
        if empty.

    Attributes
    ----------
    fields, joints : tuple of str
    stamp : callable
        From a message to its stamp in seconds; None if it has none. If the message has no header,
        the stamp is that of the element of an array that is used.
    dated : bool
        Whether the stamp is another one than that of the message's own header.
    places : tuple of Place
        Places of the messages that have one of several bodies.
    dim : int or None
        d; None before the first message if it depends on the length of an array.
    names : tuple of str
        Names of the d coordinates, by joint if messages have names; empty while `dim` is None.
    notice : str
        Set when the last message changed the layout. The caller clears it.

    Raises
    ------
    InputError
        A field does not exist, is no number, or is beyond the end of an array. The message names
        the path and the type, and lists the existing fields.
    """

    def __init__(
        self,
        fields: Sequence[str] | None,
        schema: Schema,
        joints: Sequence[str] = (),
        stamp_field: str = "",
    ) -> None:
        self.stamp_field = stamp_field
        self.type, self.joints = schema.name, tuple(joints)
        self.fields, wanted, paths = chosen_fields(fields, schema)
        self._leaves = [leaf for path in paths for leaf in resolve(path, schema)]
        self._has_names = has_names(schema) and any(leaf.named for leaf in self._leaves)
        self._bodies = Bodies(schema, wanted, self._leaves)
        self.places = self._bodies.places
        self.stamp = stamp_of(stamp_field, schema, self._leaves)
        self.dated = self.stamp is not stamp
        if self.joints:
            self._check_joints()
        self.notice = ""
        self.forget()

    @property
    def body(self) -> str:
        """The identity of the states that was not chosen by fields; empty if joints have names.

        Joints with names are the same, independent of the frame in the header.
        """
        return "" if self._has_names else self._bodies.describe()

    def _check_joints(self) -> None:
        wanted = ", ".join(self.joints)
        if not self._has_names:
            raise InputError(
                f"joints are {wanted}, but no array of {', '.join(self.fields)} comes with names "
                f"in {self.type}: leave them out"
            )
        if len(set(self.joints)) < len(self.joints):
            raise InputError(f"joints are {wanted}: name each once")
        for leaf in self._leaves:
            if leaf.named and not leaf.open and not leaf.joint:
                raise InputError(
                    f"joints are taken out of open arrays: write {leaf.path}[:], or leave them out"
                )

    def forget(self) -> None:
        """Determine the layout of the messages, and the body of the states, from the next one."""
        self.dim: int | None = None
        self.names: tuple[str, ...] = ()
        self._laid_out = False
        self._recent: deque[Any] = deque(maxlen=RECENT)
        self._bodies.forget()
        learnt = [leaf for leaf in self._leaves if leaf.open and not (self.joints and leaf.named)]
        # If there are several arrays with joints, drivers leave some of them empty.
        self._learns = bool(learnt) or sum(leaf.open for leaf in self._leaves) > 1
        if not self._learns:
            sizes = [len(self.joints) if leaf.open else 0 for leaf in self._leaves]
            self._lay_out((), sizes)
            # The order of the names is only known from a message.
            numbered = any(leaf.named and not leaf.joint for leaf in self._leaves)
            self._laid_out = bool(self.joints) or not numbered

    def __call__(self, message: Any) -> NDArray[np.float64]:
        """The state in a message, [d] float64: the same array at every call, so copy it to keep it.

        PassedOver if the message has none of the joints, or is of another body. InputError if the
        joints are other ones than before, or arrays have another length, so that the dimension
        would change. If most of the last messages have the same layout, the state changes to it
        instead, and `notice` is set. InputError also if the message is of another type, or has an
        integer beyond 2^53.
        """
        try:
            bodies = self._bodies
            if bodies.select is not None:
                bodies.check_choice(message)
            try:
                state = self._extract(message)
            except InputError:
                if not self._takes_over(message):
                    raise
                state = self._extract(message)
            if bodies.watch is not None and bodies.watch.takes_over(message):
                state = self._read_body_of(message)
        except Missing:
            raise self._bodies.explain_missing(message) from None
        except (AttributeError, IndexError) as error:
            raise InputError(
                f"{', '.join(self.fields)}: not in this message, {type(message).__name__} "
                f"({error}): expected a {self.type}"
            ) from error
        if self._learns:
            self._recent.append(self._layout)
        return state

    def _read_body_of(self, message: Any) -> NDArray[np.float64]:
        """Use the body of this message from now on."""
        watch = self._bodies.watch
        assert watch is not None
        now, before = watch.write(watch.read(message)), watch.write(watch.body)
        self.forget()
        state = self._extract(message)
        watch.takes_over(message)
        self.notice = (
            f"most messages are of another body than the first: a state is of {now} now, before "
            f"it was of {before}; the window starts anew"
        )
        return state

    def _extract(self, message: Any) -> NDArray[np.float64]:
        if not self._laid_out:
            if self.joints:
                self._check_holds(message.name, self.joints, ())
            self._layout = self._layout_of(message)
            self._lay_out(list(message.name) if self._has_names else (), self._layout[1])
        if self._has_names and message.name != self._given:
            self._find(list(message.name))
        state = self._state
        if self._single is not None:
            state[self._where] = self._single(message)
        for (leaf, start, stop, length, joints), at in zip(self._arrays, self._at, strict=True):
            values = leaf.get(message)
            found = len(values)
            if joints:
                _check_length(leaf, found, self._given)
                state[start:stop] = values if at is None else np.asarray(values)[at]
                continue
            if found != length and (leaf.open or found < length):
                raise self._changed(leaf, found, length)
            complete = stop - start == found
            state[start:stop] = values if complete else values[leaf.start : leaf.stop]
        if len(self._long) and np.abs(state[self._long]).max() >= EXACT:
            raise InputError(
                "an integer beyond 2^53, which float64 rounds: publish it relative to the first one"
            )
        return state

    def _lay_out(self, given: Sequence[str], lengths: Sequence[int]) -> None:
        """Give each leaf its place in the state.

        `given` are the names in a message, or empty, and `lengths` those of open arrays, one a
        leaf.
        """
        _check_distinct(given)
        names: list[str] = []
        arrays, single, where, long = [], [], [], list[int]()
        for leaf, length in zip(self._leaves, lengths, strict=True):
            start = len(names)
            if leaf.length is None:
                single.append(leaf)
                where.append(start)
                long += [start] if leaf.long else []
                names.append(leaf.path)
                continue
            joints: tuple[str, ...] = (leaf.joint,) if leaf.joint else ()
            stop = leaf.stop or length
            if leaf.open and leaf.named and self.joints:
                joints = self.joints if length else ()
            elif given and leaf.named and not leaf.joint and stop:
                if leaf.open:
                    _check_length(leaf, length, given)
                if len(given) < stop:
                    raise self._changed(leaf, len(given), stop)
                joints = tuple(given[leaf.start : leaf.stop])
            names += [f"{leaf.path}[{i}]" for i in joints or range(leaf.start, stop)]
            long += range(start, len(names)) if leaf.long else ()
            arrays.append((leaf, start, len(names), leaf.length or stop, joints))
        if not names:
            raise InputError(f"no numbers in {', '.join(self.fields)}: the arrays are empty")
        self._arrays, self._single = arrays, together(single)
        self._where, self._long = np.array(where, np.intp), np.array(long, np.intp)
        self._order = tuple(given)
        self._needed = list(dict.fromkeys(name for row in arrays for name in row[-1]))
        self._given: list[str] = []  # names in the last message
        self._at: list[NDArray[np.intp] | None] = [None] * len(arrays)  # indices of joints in it
        self._state = np.zeros(len(names))
        self.names, self.dim, self._laid_out = tuple(names), len(names), True

    def _find(self, given: list[str]) -> None:
        """Find the joints among the names of a message."""
        learns = self._learns and not self.joints
        new = [name for name in given if name not in self._order] if learns else []
        self._check_holds(given, self._needed, new)
        _check_distinct(given)
        self._at = []
        for *_, joints in self._arrays:
            at = np.array([given.index(name) for name in joints], np.intp)
            self._at.append(None if np.array_equal(at, np.arange(len(given))) else at)
        self._given = given

    def _check_holds(self, given: Sequence[str], needed: Sequence[str], new: Sequence[str]) -> None:
        """Raise InputError if the names of a message lack joints of the state, or have new ones."""
        missing = [name for name in needed if name not in given]
        if not missing and not new:
            return
        changes = [f"without {', '.join(missing)}"] * bool(missing)
        changes += [f"with {', '.join(new)}"] * bool(new)
        why = f"the joints of this message are others: {' and '.join(changes)}"
        if given and len(missing) == len(needed) > 0:
            raise PassedOver(why, "not asked for" if self.joints else "other joints")
        raise InputError(why)

    def _layout_of(self, message: Any) -> tuple[tuple[str, ...], tuple[int, ...]]:
        """Names and lengths of open arrays, which decide the coordinates."""
        lengths = tuple(len(x.get(message)) if x.open else 0 for x in self._leaves)
        if self.joints:  # any message that has them has the same layout
            sizes = zip(self._leaves, lengths, strict=True)
            return (), tuple(min(n, len(self.joints)) if x.named else n for x, n in sizes)
        return tuple(sorted(message.name)) if self._has_names else (), lengths

    def _takes_over(self, message: Any) -> bool:
        """Whether the layout of a message that does not fit has become the most frequent one."""
        if not self._learns or self.dim is None:
            return False
        if self.joints and not set(self.joints) <= set(message.name):
            return False
        layout = self._layout_of(message)
        self._recent.append(layout)
        width = sum(
            max(0, (length if leaf.open else leaf.stop or 1) - leaf.start)
            for leaf, length in zip(self._leaves, layout[1], strict=True)
        )
        least = MAJORITY_IF_WIDER if width > self.dim else MAJORITY
        if not width or layout == self._layout or self._recent.count(layout) < least:
            return False
        recent, before = self._recent, self.names
        self.forget()
        self._extract(message)
        recent.pop()  # added again with those that fit
        self._recent = recent
        self.notice = (
            f"most messages are others than the first: a state has {self.dim} coordinates now "
            f"({_few(self.names)}), before it had {len(before)} ({_few(before)}); the window "
            "starts anew"
        )
        return True

    def _changed(self, leaf: Leaf, found: int, length: int) -> InputError:
        if not leaf.open:
            return InputError(
                f"{leaf.path} has {found} elements, but {leaf.stop} are needed: ask for fewer"
            )
        size = max(0, found - leaf.start) - max(0, length - leaf.start)
        if self.joints and leaf.named:
            size = len(self.joints)
        return InputError(
            f"dimension {(self.dim or 0) + size}, before it was {self.dim}: {leaf.path} has "
            f"{found} elements, before it had {length}. If two robots share this topic, ask for "
            "the part that both have, or split the topic"
        )


def _check_length(leaf: Leaf, found: int, given: Sequence[str]) -> None:
    if found != len(given):
        raise InputError(f"{leaf.path} has {found} elements for {len(given)} names")


def _check_distinct(given: Sequence[str]) -> None:
    if len(set(given)) < len(given):
        raise InputError(f"the names of this message are not distinct: {', '.join(given)}")


def _few(names: Sequence[str]) -> str:
    """Text of names, with the middle left out if there are many."""
    return ", ".join(names if len(names) < 5 else [*names[:2], "...", names[-1]])
