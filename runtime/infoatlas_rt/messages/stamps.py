"""When a message counts as of: the time in its header, or in a field of its own."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..errors import InputError
from .paths import resolve
from .schema import Schema

UNITS = {"s": 1.0, "ms": 1e-3, "us": 1e-6, "ns": 1e-9}
LATEST = 2.0**31  # seconds, as in a ROS time


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
