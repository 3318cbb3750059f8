"""Durations within which something counts as one event, or as noise; in quick demonstrations, too.

They are in seconds, so that the rate of recording does not change which key states are found.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ...array_types import Int

ONE_EVENT = 0.5  # s: what happens within it is one event, such as a contact and its switch
NEAR = ONE_EVENT / 2  # s: a key state, label or detection and its event are no farther apart
APART = 0.3  # s between two events, at least; a signature describes as much on either side
PAUSE = APART / 2  # s: a shorter slow motion is no pause
MOMENT = 0.25  # s over which positions are filtered and velocities taken: sensors jitter within it
UNHURRIED = 5.0  # s of a demonstration: durations are shorter in quicker ones


def tempo(lengths: Sequence[int] | Int, frequency: float) -> float:
    """Factor of durations, at most 1: demonstrations of less than 5 s are quicker."""
    return min(1.0, float(np.median(lengths)) / frequency / UNHURRIED)
