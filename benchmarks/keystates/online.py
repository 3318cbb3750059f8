"""Key states as they happen: `KeyStateTracker` on episodes that it has not seen."""

from __future__ import annotations

from dataclasses import dataclass
from time import perf_counter

import numpy as np

from infoatlas_rt import KeyStateTracker, discover_keystates

from ..tasks.demonstrations import Demonstrations
from .scoring import STEPS

SEEN = 15  # demonstrations


@dataclass(frozen=True)
class Online:
    """One event over unseen episodes.

    Attributes
    ----------
    episodes : int
    recall : float
        Share of episodes in which the event is reported with a step within 2 of the true one.
    in_time : float
        Share of episodes in which the report itself comes at most 2 steps after the event, and
        not more than 2 before it.
    delay_median, delay_90 : float
        Steps from the event to the report, over episodes with a report; NaN without any.
    false_alarms : float
        Share of episodes in which the report comes more than 2 steps before the event.
    microseconds : float
        Mean of `push`.
    """

    episodes: int
    recall: float
    in_time: float
    delay_median: float
    delay_90: float
    false_alarms: float
    microseconds: float


def follow(demos: Demonstrations, k: int = 5, seen: int = SEEN, seed: int = 0) -> dict[str, Online]:
    """Fit on some demonstrations, follow the others; by event.

    The key state of an event is the one nearest to it in the demonstrations that were fitted, on
    average. That choice needs the flags of those; the tracker sees states alone.
    """
    order = np.random.default_rng(seed).permutation(len(demos.trajectories))
    fitted, unseen = demos.subset(np.sort(order[:seen])), demos.subset(np.sort(order[seen:]))
    found = discover_keystates(fitted.trajectories, k=k)
    tracker = KeyStateTracker(found)
    reports, seconds, pushes = [], 0.0, 0
    for states in unseen.trajectories:
        tracker.reset()
        start = perf_counter()
        events = [event for state in states for event in tracker.push(state)]
        seconds += perf_counter() - start
        pushes += len(states)
        reports.append({event.keystate: event for event in events})
    results = {}
    for e, name in enumerate(demos.events):
        apart = np.abs(found.steps - fitted.times[:, e : e + 1])
        column = int(np.nanmean(apart, axis=0).argmin())
        truth = unseen.times[:, e]
        there = ~np.isnan(truth)
        events = [report.get(column) for report in reports]
        step = np.array([np.nan if event is None else event.step for event in events])
        at = np.array([np.nan if event is None else event.detected_step for event in events])
        delay = (at - truth)[there]
        reported = delay[~np.isnan(delay)]
        results[name] = Online(
            episodes=int(there.sum()),
            recall=float((np.abs(step - truth)[there] <= STEPS).mean()),
            in_time=float((np.abs(delay) <= STEPS).mean()),
            delay_median=float(np.median(reported)) if len(reported) else np.nan,
            delay_90=float(np.quantile(reported, 0.9)) if len(reported) else np.nan,
            false_alarms=float((delay < -STEPS).mean()),
            microseconds=seconds / pushes * 1e6,
        )
    return results
