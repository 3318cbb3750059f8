"""The node's messages, made from the library's results."""

from __future__ import annotations

from typing import Any

from infoatlas_msgs.msg import KeyState, MutualInformation


def reading(found: Any, header: Any, lag_seconds: float = 0.0) -> MutualInformation:
    """A reading, with the header of its window's newest state."""
    estimate = found.estimate
    return MutualInformation(
        header=header,
        value=estimate.mi,
        standard_error=estimate.stderr,
        noise=estimate.noise,
        local_value=found.local,
        samples=estimate.samples,
        effective_samples=estimate.effective_samples,
        slices=estimate.slices,
        k=estimate.k or 0,
        lag=found.lag,
        lag_seconds=lag_seconds,
        fill=found.fill,
        saturated=estimate.saturated,
        degenerate=estimate.degenerate,
    )


def keystate(found: Any, header: Any, detected: Any) -> KeyState:
    """A key state of any kind, with the header of the state that it is dated to."""
    message = KeyState(
        header=header,
        kind=found.kind,
        index=found.index,
        detected_at=found.detected_at,
        detected_stamp=detected,
        keystate=-1,
    )
    if found.kind == KeyState.PHASE:
        message.posterior, message.keystate = found.posterior, found.keystate
        return message
    message.value, message.z = found.value, found.z
    if found.kind in (KeyState.COUPLED, KeyState.DECOUPLED):
        message.standard_error = found.stderr
    else:
        message.prominence = found.prominence
    return message
