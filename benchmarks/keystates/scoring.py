"""How near found key states are to true events. Shares nothing with what it judges.

The end of a trajectory is known to every method, so it is none of its finds: a method that finds
nothing in a trajectory is scored as if it had answered "the end", with no event found.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

NEAR = 0.05  # of a trajectory
STEPS = 2
TOLERANCES = ("near", "steps")


@dataclass(frozen=True)
class Score:
    """Means over trajectories and events.

    Attributes
    ----------
    error, error_steps : float
        Distance of an event to the nearest found key state, as a fraction of the trajectory and
        in steps.
    recall, recall_steps : float
        Share of events with a found key state within 0.05 of the trajectory, or within 2 steps.
    recall_se : float
        Standard error of `recall` over trajectories; 0 for a single one.
    precision, precision_steps : float
        Share of found key states that have an event so near; NaN if nothing was found. Of a task
        with one event, five found key states that are apart have a precision of 0.2 at most.
    distinct : float
        As `precision`, but each event counts for one found key state only.
    found : float
        Key states of a trajectory.
    events : dict
        `recall_steps` and mean `error` of each event by its name.
    """

    error: float
    error_steps: float
    recall: float
    recall_steps: float
    recall_se: float
    precision: float
    precision_steps: float
    distinct: float
    found: float
    events: dict[str, dict[str, float]]


def score(
    found: Sequence[ArrayLike],
    times: NDArray[np.floating],
    lengths: ArrayLike,
    names: Sequence[str] | None = None,
) -> Score:
    """Compare found key states with true events.

    Parameters
    ----------
    found : N arrays of steps
        Of each trajectory, any number of them, without the end.
    times : [N, E]
        Steps of the true events; NaN where a trajectory has none.
    lengths : [N]
        Steps of each trajectory.
    names : E str, optional
        Of the events.

    Returns
    -------
    Score

    Raises
    ------
    ValueError
        The numbers of trajectories differ, or a step lies outside of its trajectory.
    """
    times = np.asarray(times, np.float64)
    spans = np.asarray(lengths, np.float64) - 1
    if not len(found) == len(times) == len(spans):
        raise ValueError(f"{len(found)} finds, {len(times)} truths, {len(spans)} lengths")
    names = [f"event {i}" for i in range(times.shape[1])] if names is None else list(names)
    distances = np.full(times.shape, np.nan)  # steps
    hit = {tolerance: np.full(times.shape, np.nan) for tolerance in TOLERANCES}
    good = {tolerance: 0 for tolerance in TOLERANCES}
    distinct = total = 0
    for i, (steps, truth, span) in enumerate(zip(found, times, spans, strict=True)):
        steps = np.asarray(steps, np.float64).ravel()
        if len(steps) and not (0 <= steps.min() and steps.max() <= span):
            raise ValueError(f"trajectory {i} has {span + 1:.0f} steps, but {steps} were found")
        there = ~np.isnan(truth)
        apart = np.abs(steps[:, None] - truth[None, there])  # [found, events]
        limits = {"near": NEAR * span, "steps": float(STEPS)}
        distances[i, there] = (
            apart.min(axis=0) if len(steps) else np.abs(span - truth[there])  # "the end"
        )
        for tolerance, limit in limits.items():
            within = apart <= limit + 1e-9
            hit[tolerance][i, there] = within.any(axis=0)
            good[tolerance] += int(within.any(axis=1).sum())
        distinct += _matching(apart <= limits["near"] + 1e-9)
        total += len(steps)
    fractions = distances / spans[:, None]
    present = (~np.isnan(times)).any(axis=1)
    each = np.nanmean(hit["near"][present], axis=1)
    return Score(
        error=float(np.nanmean(fractions)),
        error_steps=float(np.nanmean(distances)),
        recall=float(np.nanmean(hit["near"])),
        recall_steps=float(np.nanmean(hit["steps"])),
        recall_se=float(each.std(ddof=1) / np.sqrt(len(each))) if len(each) > 1 else 0.0,
        precision=good["near"] / total if total else float("nan"),
        precision_steps=good["steps"] / total if total else float("nan"),
        distinct=distinct / total if total else float("nan"),
        found=total / len(found),
        events={
            name: {
                "error": float(np.nanmean(fractions[:, e])),
                "recall": float(np.nanmean(hit["near"][:, e])),
                "recall_steps": float(np.nanmean(hit["steps"][:, e])),
            }
            for e, name in enumerate(names)
            if not np.isnan(times[:, e]).all()
        },
    )


def _matching(near: NDArray[np.bool_]) -> int:
    """The most pairs of a found key state and an event, each used once (both are few)."""
    partner: dict[int, int] = {}  # event -> found

    def place(find: int, tried: set[int]) -> bool:
        for event in np.flatnonzero(near[find]).tolist():
            if event not in tried:
                tried.add(event)
                if event not in partner or place(partner[event], tried):
                    partner[event] = find
                    return True
        return False

    return sum(place(find, set()) for find in range(len(near)))
