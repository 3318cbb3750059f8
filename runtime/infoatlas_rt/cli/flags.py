"""Times of true events, by a simulator's flags, and distances of key states and extrema to them.

This is the only module that reads flags. They are compared with results and never used in an
estimate.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ..files.numbers import read_numpy

if TYPE_CHECKING:
    from ..inputs.trajectories import Trajectories
    from ..keystates.result import KeyStates


@dataclass(frozen=True)
class FlagTimes:
    """When a flag becomes true: quartiles over trajectories.

    Attributes
    ----------
    name : str
    q1, median, q3 : float
        First time that the flag was true: step, or fraction of the trajectory.
    count : int
        Number of trajectories in which it happened.
    """

    name: str
    q1: float
    median: float
    q3: float
    count: int


def load_flags(path: str | os.PathLike[str]) -> dict[str, NDArray[np.bool_]]:
    """Boolean arrays [sum] of an .npz file, as simulators write them; empty for other files."""
    path = Path(path)
    if path.suffix != ".npz":
        return {}
    arrays = read_numpy(path)
    return {
        name: array
        for name, array in arrays.items()
        if array.dtype == np.bool_ and array.shape == arrays["states"].shape[:1]
    }


def flag_times(
    name: str, flag: NDArray[np.bool_], lengths: NDArray[np.int64], normalised: bool
) -> FlagTimes | None:
    """When a flag [sum(lengths)] becomes true; None if it never does.

    Parameters
    ----------
    name : str
    flag : [sum(lengths)] bool
    lengths : [N] int
    normalised : bool
        Return fractions of the trajectory (first state 0, last state 1), not steps.
    """
    times = []
    for part in np.split(flag, np.cumsum(lengths)[:-1]):
        if part.any():
            times.append(part.argmax() / (max(len(part) - 1, 1) if normalised else 1))
    if not times:
        return None
    q1, median, q3 = np.percentile(times, [25, 50, 75])
    return FlagTimes(name, float(q1), float(median), float(q3), len(times))


def compare_moments(
    events: Sequence[FlagTimes], moments: Sequence[float], start: float, end: float
) -> dict[str, Any]:
    """Distances of events to the nearest moment, and to as many evenly spaced moments.

    Parameters
    ----------
    events : sequence of FlagTimes
    moments : sequence of float, at least one
        In the units of the events.
    start, end : float
        Ends of the curve; the evenly spaced moments are the middles of equal parts of it.

    Returns
    -------
    dict
        "count" of the moments. "distance" and "uniform": for each event, the distance from its
        median to the nearest moment, and to the nearest evenly spaced one.
    """
    uniform = start + (np.arange(len(moments)) + 0.5) / len(moments) * (end - start)
    return {
        "count": len(moments),
        "distance": [float(np.abs(e.median - np.asarray(moments)).min()) for e in events],
        "uniform": [float(np.abs(e.median - uniform).min()) for e in events],
    }


def event_steps(
    flags: dict[str, NDArray[np.bool_]], lengths: NDArray[np.int64]
) -> dict[str, NDArray[np.float64]]:
    """Step of each event in each trajectory.

    Parameters
    ----------
    flags : dict of [sum(lengths)] bool
    lengths : [N] int64

    Returns
    -------
    dict of [N] float64
        In order of time: the first step at which a flag is true. If it is false again at the end of
        most trajectories, also the last such step, as "NAME ends". NaN if it does not happen. A
        flag that is true from the first step on has no first step.
    """
    found = {}
    for name, flag in flags.items():
        first, last = np.full((2, len(lengths)), np.nan)
        for i, part in enumerate(np.split(flag, np.cumsum(lengths)[:-1])):
            if part.any():
                if not part[0]:
                    first[i] = part.argmax()
                if not part[-1]:
                    last[i] = len(part) - 1 - part[::-1].argmax()
        if not np.isnan(first).all():
            found[name] = first
        if np.isfinite(last).mean() > 0.5:
            found[f"{name} ends"] = last
    return dict(sorted(found.items(), key=lambda item: float(np.nanmedian(item[1]))))


def compare_keystates(
    found: KeyStates, trajectories: Trajectories, times: dict[str, Any]
) -> list[dict[str, Any]]:
    """Distances of events to the nearest key state, and to as many baseline steps.

    Returns
    -------
    list of dict
        "name", "count" of trajectories, "steps" [N] (None if it does not happen), "found", "even"
        (evenly spaced) and "slow" (slowest moments). Each of the last three has "error" (mean
        distance in steps) and "within_2" (share of the events within two steps).
    """
    lengths = trajectories.lengths
    own = [row.compressed() for row in found.steps]
    k = max(1, round(float(np.mean([len(steps) for steps in own]))))
    methods = {
        "found": own,
        "even": evenly_spaced(lengths, k),
        "slow": slowest(trajectories.states, lengths, k),
    }
    rows = []
    for name, at in times.items():
        row: dict[str, Any] = {
            "name": name,
            "count": int(np.isfinite(at).sum()),
            "steps": [None if np.isnan(t) else int(t) for t in at],
        }
        for method, steps in methods.items():
            apart = distances(steps, at, lengths)
            row[method] = {
                "error": float(np.nanmean(apart)),
                "within_2": float((apart[np.isfinite(apart)] <= 2).mean()),
            }
        rows.append(row)
    return rows


def distances(
    steps: Sequence[NDArray[np.int64]], times: NDArray[np.float64], lengths: NDArray[np.int64]
) -> NDArray[np.float64]:
    """Steps from the event of each trajectory to its nearest key state, or to its end [N].

    Parameters
    ----------
    steps : N arrays of int64
    times : [N] float64
        NaN if there is no event; the distance is NaN then.
    lengths : [N] int64
    """
    ends = lengths - 1
    return np.array(
        [
            np.abs(np.r_[own, end] - time).min()
            for own, time, end in zip(steps, times, ends, strict=True)
        ]
    )


def evenly_spaced(lengths: NDArray[np.int64], k: int) -> list[NDArray[np.int64]]:
    """K steps of each trajectory, at equal distances from each other and from its ends."""
    return [np.rint(np.arange(1, k + 1) / (k + 1) * (n - 1)).astype(np.int64) for n in lengths]


def slowest(
    states: NDArray[np.floating], lengths: NDArray[np.int64], k: int
) -> list[NDArray[np.int64]]:
    """The K slowest local minima of the speed of each trajectory; coordinates count equally."""
    spread = np.ptp(states, axis=0)
    scaled = np.asarray(states, np.float64)[:, spread > 0] / spread[spread > 0]
    found = []
    for part in np.split(scaled, np.cumsum(lengths)[:-1]):
        speed = np.linalg.norm(np.diff(part, axis=0), axis=1)
        speed = np.convolve(np.pad(speed, 2, mode="edge"), np.full(5, 0.2), "valid")
        inner = np.flatnonzero((speed[1:-1] <= speed[:-2]) & (speed[1:-1] < speed[2:])) + 1
        found.append(np.sort(inner[np.argsort(speed[inner], kind="stable")[:k]]))
    return found
