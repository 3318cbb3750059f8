"""Convert results of the library to messages of the node."""

from __future__ import annotations

from typing import Any

from infoatlas_msgs.msg import Coupling, Extremum, KeyState, MutualInformation, Subtask


def estimate(found: Any, header: Any, age: float, lag_seconds: float = 0.0) -> MutualInformation:
    """The message of an estimate, with the header of the window's newest state."""
    own = found.estimate
    return MutualInformation(
        header=header,
        value=own.mi,
        standard_error=own.stderr,
        noise=own.noise,
        local_value=found.local,
        samples=own.samples,
        effective_samples=own.effective_samples,
        slices=own.slices,
        k=own.k or 0,
        lag=found.lag,
        lag_seconds=lag_seconds,
        fill=found.fill,
        saturated=own.saturated,
        degenerate=own.degenerate,
        age=age,
    )


def extremum(found: Any, header: Any, detected: Any) -> Extremum:
    """The message of an extremum, with the header of the state that it is dated to."""
    return Extremum(
        header=header,
        kind=found.kind,
        value=found.value,
        prominence=found.prominence,
        z=found.z,
        index=found.index,
        detected_at=found.detected_at,
        detected_stamp=detected,
    )


def keystate(event: Any, header: Any, detected: Any) -> KeyState:
    """The message of a key state, with the header of the state that it is dated to."""
    return KeyState(
        header=header,
        keystate=event.keystate,
        score=event.score,
        subtask=event.subtask or "",
        step=event.step,
        detected_step=event.detected_step,
        detected_stamp=detected,
    )


def coupling(event: Any, header: Any, detected: Any) -> Coupling:
    """The message of a coupling, with the header of the state that it is dated to."""
    return Coupling(
        header=header,
        kind=event.kind,
        value=event.value,
        standard_error=event.stderr,
        z=event.z,
        step=event.step,
        detected_step=event.detected_step,
        detected_stamp=detected,
    )


def subtask(tool: str, state: Any, header: Any) -> Subtask:
    """The message of the sub-task of a tool, with the header of the newest state.

    A `state` of None means that the sub-task is unknown.
    """
    if state is None:
        return Subtask(header=header, index=-1, tool=tool)
    return Subtask(
        header=header,
        index=state.index,
        name=state.name,
        tool=tool,
        reference=state.reference,
        held=state.held,
        progress=state.progress,
        task_progress=state.task_progress,
        stalled=state.stalled,
        waiting=state.waiting,
        seconds=state.seconds,
    )
