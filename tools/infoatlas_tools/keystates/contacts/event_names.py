"""What happens at an event, as data, and the name that is made of it.

A name is for people. No other module reads one: a person may call a label "release the button".
"""

from dataclasses import dataclass, replace
from enum import Enum

CONTACT, GRIPPER, MOTION, LABEL = "contact", "gripper", "motion", "label"


class What(Enum):
    """What happens, as the form of its name."""

    GRASP = "grasp {body}{by}"
    RELEASE = "release {body}{by}"
    CLOSES = "{gripper} closes"
    OPENS = "{gripper} opens"
    BEGINS = "{body} begins to move"
    RESTS = "{body} comes to rest"
    LEAVES = "{body} leaves its place"
    ARRIVES = "{body} arrives"
    PASSES = "{body} passes from {gripper}"
    LEFT = "the tool leaves {body}"
    CHANGE = "change {letter}"
    LABEL = "label"
    END = "end"


SOURCES = {
    What.CLOSES: GRIPPER,
    What.OPENS: GRIPPER,
    What.CHANGE: MOTION,
    What.END: "",
    What.LABEL: LABEL,
}
TAKES = What.GRASP, What.CLOSES, What.LEAVES
PUTS = What.RELEASE, What.OPENS, What.ARRIVES


@dataclass(frozen=True)
class EventKind:
    """Kind of an event: what happens to what, and how many times it has happened.

    Attributes
    ----------
    what : What
    body : str
        That is grasped, released or moves; "" for a switch without a known body.
    gripper : str
        That closes or opens; of a grasp or a release, only if there are several. "left to right"
        if a body passes from one mover to another.
    occurrence : int
        1 for the first in a demonstration.
    number : int
        Of a change of the motion: the same for similar changes, 0 for the strongest.
    words : str
        Words of a person in place of the name; those of a label.
    """

    what: What
    body: str = ""
    gripper: str = ""
    occurrence: int = 1
    number: int = 0
    words: str = ""

    @property
    def source(self) -> str:
        """What shows the event: "contact", "gripper", "motion", "label"; "" for an end."""
        return SOURCES.get(self.what, CONTACT)

    @property
    def name(self) -> str:
        """As "grasp cube", "gripper closes 2", "grasp cube (left)" or the words of a person."""
        if self.words:
            return self.words
        what = self.what
        if self.body:  # a camera shows the body in the gripper
            what = {What.CLOSES: What.GRASP, What.OPENS: What.RELEASE}.get(what, what)
        text = what.value.format(
            body=self.body,
            gripper=self.gripper,
            by=f" ({self.gripper})" if self.gripper else "",
            letter=_letter(self.number),
        )
        return add_number(text, self.occurrence)

    @property
    def first(self) -> "EventKind":
        """The kind of its first occurrence."""
        return replace(self, occurrence=1)

    def with_object(self, reference: str, held: str) -> "EventKind":
        """The kind with the object that a camera sees, as "grasp bottle" for "gripper closes".

        `reference` is the object near the event, `held` the one that moves with the tool; "" if
        not known. Labels stay, and so do contacts, whose body is known, and several grippers.
        """
        alone = self.what in (What.CLOSES, What.OPENS) and self.gripper == "gripper"
        if not alone and self.what not in (What.LEAVES, What.ARRIVES):
            return self
        body = reference if self.what in TAKES else held
        return replace(self, body=body, gripper="", occurrence=1) if body else self


END = EventKind(What.END)  # of a demonstration


def label_kind(name: str) -> EventKind:
    """The kind of a label, which a person has named."""
    return EventKind(What.LABEL, words=name)


def unnamed_object(number: int, several: bool) -> str:
    """Name of an object, from 1, that is seen to leave its place: "object", or "object A"."""
    return f"object {_letter(number - 1)}" if several else "object"


def _letter(number: int) -> str:
    return chr(65 + number % 26)


def add_number(name: str, number: int) -> str:
    """The name of the second or a later thing of one name."""
    if number == 1:
        return name
    return f"{name} ({number})" if name[-1].isdigit() else f"{name} {number}"
