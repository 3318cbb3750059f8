"""Convert results of the library to messages of the node.

The header of a message is that of the state that it is dated to.
"""

from typing import Any

from infoatlas_msgs.msg import Coupling, Extremum, KeyState, MutualInformation, Outcome, Subtask


def filled(kind: Any, found: Any, **given: Any) -> Any:
    """A message with these fields; the others are those of a result with the same names."""
    others = kind.get_fields_and_field_types().keys() - given.keys()
    return kind(**given, **{name: getattr(found, name) for name in others})


def estimate(found: Any, header: Any, age: float, lag_seconds: float = 0.0) -> MutualInformation:
    """The message of an estimate over a window."""
    own = found.estimate
    return filled(
        MutualInformation,
        own,
        header=header,
        value=own.mi,
        standard_error=own.stderr,
        local_value=found.local,
        k=own.k or 0,
        lag=found.lag,
        lag_seconds=lag_seconds,
        fill=found.fill,
        age=age,
    )


def extremum(found: Any, header: Any, detected: Any) -> Extremum:
    """The message of an extremum."""
    return filled(Extremum, found, header=header, detected_stamp=detected)


def keystate(event: Any, header: Any, detected: Any) -> KeyState:
    """The message of a key state."""
    known = event.subtask or ""
    return filled(KeyState, event, header=header, detected_stamp=detected, subtask=known)


def coupling(event: Any, header: Any, detected: Any) -> Coupling:
    """The message of a coupling."""
    error = event.stderr
    return filled(Coupling, event, header=header, detected_stamp=detected, standard_error=error)


def outcome(found: Any, header: Any) -> Outcome:
    """The message of an outcome, with the header of the newest state."""
    return Outcome(header=header, **vars(found))


def subtask(tool: str, state: Any, header: Any) -> Subtask:
    """The message of the sub-task of a tool; a `state` of None means that it is unknown."""
    if state is None:
        return Subtask(header=header, index=-1, tool=tool)
    return filled(Subtask, state, header=header, tool=tool)
