"""The definition of a ROS message type, from rclpy's classes or from the definitions in a bag.

ROS is not imported: rclpy's classes describe themselves.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from importlib import import_module
from typing import Any

HEADER_TYPE = "std_msgs/msg/Header"
# rclpy's names of types that differ from those in message definitions.
_ROS = {"double": "float64", "float": "float32", "boolean": "bool"}
_SIZES = ("8", "16", "32", "64")
NUMBER_TYPES = {"bool", "float32", "float64"} | {f"{u}int{n}" for u in ("", "u") for n in _SIZES}
LONG_TYPES = {"int64", "uint64"}


@dataclass(frozen=True)
class FieldType:
    """Type of a field: `base` (float64, or a message type), and number of values.

    `length` is None for one value, 0 for an array of any length, n for an array of n.
    """

    base: str
    length: int | None = None

    def __str__(self) -> str:
        return self.base + ("" if self.length is None else f"[{self.length or ''}]")


class Schema:
    """The definition of a message type such as sensor_msgs/msg/JointState.

    `lookup` returns the fields of a message type by its name, in their order.
    """

    def __init__(self, name: str, lookup: Callable[[str], Mapping[str, FieldType]]) -> None:
        self.name, self._lookup = name, lookup

    @classmethod
    def of_class(cls, message_class: Any) -> "Schema":
        """Schema of a message class of rclpy."""
        name = f"{message_class.__module__.split('.')[0]}/msg/{message_class.__name__}"

        def lookup(wanted: str) -> dict[str, FieldType]:
            package, _, last = wanted.split("/")
            same = wanted == name
            found = message_class if same else getattr(import_module(f"{package}.msg"), last)
            fields = found.get_fields_and_field_types()
            return {field: _from_rclpy(text) for field, text in fields.items()}

        return cls(name, lookup)

    def fields(self) -> Mapping[str, FieldType]:
        """Fields and their types, in their order."""
        return self._lookup(self.name)

    def nested(self, name: str) -> "Schema":
        """Schema of another type, from the same source."""
        return Schema(name, self._lookup)

    def numeric(self, field: FieldType | None = None) -> bool:
        """Whether the message, or one of its fields, consists of numbers alone.

        An array of messages does not: a field has to name one of them.
        """
        if field is None:
            return all(self.numeric(field) for field in self.fields().values())
        if "/" in field.base:
            return field.length is None and self.nested(field.base).numeric()
        return field.base in NUMBER_TYPES

    def __str__(self) -> str:
        return f"{self.name} has {', '.join(f'{n} ({t})' for n, t in self.fields().items())}"


def _from_rclpy(text: str) -> FieldType:
    """Read double, double[36], sequence<double>, sequence<double, 3>, geometry_msgs/Pose."""
    length: int | None = None
    if text.startswith("sequence<"):
        text, length = text[len("sequence<") : -1].split(",")[0].strip(), 0
    elif text.endswith("]"):
        text, _, size = text[:-1].rpartition("[")
        length = int(size)
    package, slash, name = text.partition("/")
    return FieldType(f"{package}/msg/{name}" if slash else _ROS.get(text, text), length)
