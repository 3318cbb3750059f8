"""When things truly happened, by a simulator's flags, and how near the key states come.

This is the only module that reads flags, and nothing in it or behind it estimates anything: flags
are compared with, never an input.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .data import read_numpy


@dataclass(frozen=True)
class Event:
    """When something truly happened, over trajectories.

    Attributes
    ----------
    name : str
    q1, median, q3 : float
        First time that the flag was true: step, or fraction of the trajectory.
    count : int
        Trajectories in which it happened.
    """

    name: str
    q1: float
    median: float
    q3: float
    count: int


def load_flags(path: str | os.PathLike[str]) -> dict[str, NDArray[np.bool_]]:
    """Boolean arrays [sum] of an .npz: what truly happened, to compare key states with.

    They are never an input of an estimate. Files of other kinds have none.
    """
    path = Path(path)
    if path.suffix != ".npz":
        return {}
    arrays = read_numpy(path)
    return {
        name: array
        for name, array in arrays.items()
        if array.dtype == np.bool_ and array.shape == arrays["states"].shape[:1]
    }


def event(
    name: str, flag: NDArray[np.bool_], lengths: NDArray[np.int64], normalised: bool
) -> Event | None:
    """First time that a flag [sum(lengths)] is true; None if it never is.

    Parameters
    ----------
    name : str
    flag : [sum(lengths)] bool
    lengths : [N] int
    normalised : bool
        As a fraction of the trajectory (first state 0, last state 1), not as a step.
    """
    times = []
    for part in np.split(flag, np.cumsum(lengths)[:-1]):
        if part.any():
            times.append(part.argmax() / (max(len(part) - 1, 1) if normalised else 1))
    if not times:
        return None
    q1, median, q3 = np.percentile(times, [25, 50, 75])
    return Event(name, float(q1), float(median), float(q3), len(times))


def compare(
    events: Sequence[Event], moments: Sequence[float], start: float, end: float
) -> dict[str, Any]:
    """How near moments come to the events, beside as many that are evenly spaced.

    Parameters
    ----------
    events : sequence of Event
    moments : sequence of float, at least one
        In the units of the events.
    start, end : float
        Where the curve starts and ends: the guesses are the middles of equal parts of it.

    Returns
    -------
    dict
        "count" of the moments; "distance" and "uniform": for each event, from its median to the
        nearest moment, and to the nearest guess.
    """
    guesses = start + (np.arange(len(moments)) + 0.5) / len(moments) * (end - start)
    return {
        "count": len(moments),
        "distance": [float(np.abs(e.median - np.asarray(moments)).min()) for e in events],
        "uniform": [float(np.abs(e.median - guesses).min()) for e in events],
    }
