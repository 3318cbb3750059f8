"""What is detected in a running stream: one record for events of every kind."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Event:
    """An event of a stream, detected some time after the step that it is dated to."""
