"""`KeyStateTracker` on episodes that it was not fitted on."""

from dataclasses import dataclass
from time import perf_counter

import numpy as np

from infoatlas_rt import KeyStateTracker
from infoatlas_tools import discover_keystates

from ..tasks.demonstrations import Demonstrations
from .ours import as_recorded

SEEN = 30  # demonstrations, at most
SHARE = 2 / 3
NEAR = 0.5  # seconds
NOMINAL = 20.0  # steps a second where the rate is not known


@dataclass(frozen=True)
class Online:
    """Results for one event over held-out episodes."""

    episodes: float  # with the event
    recall: float  # share of them with a report whose time is within 0.5 s of the event
    own_recall: float  # the same for reports of the event's key state
    false_reports: float  # other reports of that key state, for each episode
    delay: float  # median seconds from the event to its report; NaN without reports
    microseconds: float  # mean of `push`


def follow(demos: Demonstrations, seen: int = SEEN, seed: int = 0) -> dict[str, Online]:
    """Fit on some demonstrations and follow the others; results by event.

    The key state of an event is the nearest one in the fitted demonstrations, on average. The
    choice uses the flags of these demonstrations; the tracker gets states only.
    """
    count = len(demos.trajectories)
    order = np.random.default_rng(seed).permutation(count)
    some = min(seen, max(2, int(SHARE * count)))
    fitted, unseen = demos.subset(np.sort(order[:some])), demos.subset(np.sort(order[some:]))
    found = discover_keystates(as_recorded(fitted), 5)
    rate = NOMINAL if demos.rate is None else demos.rate
    tracker, reports, seconds, pushes = KeyStateTracker(found), [], 0.0, 0
    for states in unseen.trajectories:
        tracker.reset()
        start = perf_counter()
        reports.append([event for state in states for event in tracker.push(state)])
        seconds += perf_counter() - start
        pushes += len(states)
    results = {}
    for e, name in enumerate(demos.events):
        away = np.ma.abs(found.steps - np.ma.masked_invalid(fitted.times[:, e : e + 1]))
        share = (~np.ma.getmaskarray(away)).mean(axis=0)
        column = int(np.argmin(np.ma.filled(away.mean(axis=0), 1e9) + 1e6 * (share < 0.3)))
        hits, own_hits, false, delays, there = 0, 0, 0, [], 0
        for reported, truth in zip(reports, unseen.times[:, e], strict=True):
            own = [event for event in reported if event.keystate == column]
            if np.isnan(truth):
                false += len(own)
                continue
            there += 1
            hits += any(abs(event.step - truth) <= NEAR * rate for event in reported)
            right = [event for event in own if abs(event.step - truth) <= NEAR * rate]
            own_hits += bool(right)
            false += len(own) - bool(right)
            delays += [(event.detected_step - truth) / rate for event in right[:1]]
        results[name] = Online(
            episodes=float(there),
            recall=hits / max(there, 1),
            own_recall=own_hits / max(there, 1),
            false_reports=false / max(len(reports), 1),
            delay=float(np.median(delays)) if delays else float("nan"),
            microseconds=seconds / max(pushes, 1) * 1e6,
        )
    return results
