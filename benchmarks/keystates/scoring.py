"""Found key states compared with true events; no code is shared with the methods.

The end of a trajectory is given to every method and is not counted. A trajectory without key states
is scored as if "the end" had been found, with no event.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from . import segments

STEPS, MANY_STEPS = 2, 5
SECONDS = (0.1, 0.25, 0.5, 1.0)
KINDS_NEAR = 0.5  # seconds
NEAR = 0.05  # of a trajectory
ROUNDING = 1e-9  # steps; the limit itself is within


@dataclass(frozen=True)
class Score:
    """Means over trajectories and events.

    `recall_2_steps` and the next five are the share of events with a found key state within so many
    steps or ms (NaN without a rate), `recall` that within 0.05 of the trajectory, a wide tolerance
    on long ones. `f1_10` to `accuracy` are of segments (`segments.figures`). `purity` and
    `completeness` are of kinds (`segments.kinds`), within 0.5 s; NaN without a rate.
    """

    recall_2_steps: float
    recall_5_steps: float
    recall_100_ms: float
    recall_250_ms: float
    recall_500_ms: float
    recall_1000_ms: float
    recall: float
    recall_se: float  # standard error of `recall_5_steps` over trajectories; 0 for a single one
    # Share of found key states that are paired with an event within 5 steps, each event with one
    # key state only; NaN if nothing was found.
    precision_5_steps: float
    # Distance of an event to the nearest found key state, as a fraction of the trajectory.
    error: float
    f1_10: float
    f1_25: float
    f1_50: float
    edit: float
    accuracy: float
    purity: float
    completeness: float
    found: float  # number of key states of a trajectory
    # `recall_2_steps`, `recall_5_steps`, `recall_250_ms` and `recall` of each event by its name.
    events: dict[str, dict[str, float]]


def score(
    found: Sequence[ArrayLike],
    times: NDArray[np.floating],
    lengths: ArrayLike,
    names: Sequence[str] | None = None,
    rate: float | None = None,
    kinds: Sequence[ArrayLike] | None = None,
) -> Score:
    """Compare found key states with true events.

    `found` are the steps of each trajectory, without the end; NaN and masked steps are ignored.
    `times` [N, E] are steps of the true events, NaN where a trajectory has none. Events whose
    `names` differ in a number at the end ("touch#2") are of one kind. The rate is in Hz. `kinds`
    are those of the steps in `found`; unless given, their numbers in order of time. ValueError if
    the numbers of trajectories differ, or a step lies outside of its trajectory.
    """
    times = np.asarray(times, np.float64)
    spans = np.asarray(lengths, np.float64) - 1
    if not len(found) == len(times) == len(spans):
        raise ValueError(f"{len(found)} finds, {len(times)} truths, {len(spans)} lengths")
    names = [f"event {i}" for i in range(times.shape[1])] if names is None else list(names)
    types = [re.sub(r"[#_]\d+$", "", name) for name in names]
    distances = np.full(times.shape, np.nan)  # steps; "the end" if nothing was found
    nearest = np.full(times.shape, np.nan)  # steps; infinite if nothing was found
    cuts, true_cuts = [], []
    paired = total = 0
    for i, (given, truth, span) in enumerate(zip(found, times, spans, strict=True)):
        steps, there = np.ma.filled(np.ma.asarray(given).astype(float), np.nan), ~np.isnan(truth)
        kept = ~np.isnan(steps)
        steps = steps[kept]
        if len(steps) and not (0 <= steps.min() and steps.max() <= span):
            raise ValueError(f"trajectory {i} has {span + 1:.0f} steps, but {steps} were found")
        apart = np.abs(steps[:, None] - truth[None, there])  # [found, events]
        nearest[i, there] = apart.min(axis=0, initial=np.inf)
        distances[i, there] = nearest[i, there] if len(steps) else np.abs(span - truth[there])
        paired += pairs(apart <= MANY_STEPS + ROUNDING)
        total += len(steps)
        own = np.argsort(np.argsort(steps)) if kinds is None else np.asarray(kinds[i])[kept]
        cuts.append(list(zip(steps.tolist(), own.tolist(), strict=True)))
        true_cuts.append([(float(truth[e]), types[e]) for e in np.flatnonzero(there)])
    limit = KINDS_NEAR * rate + ROUNDING if rate else -1.0
    purity, completeness = segments.kinds(cuts, true_cuts, limit)
    fractions = distances / spans[:, None]
    hits = {
        "recall_2_steps": _within(nearest, STEPS),
        "recall_5_steps": _within(nearest, MANY_STEPS),
        **{
            f"recall_{1000 * limit:.0f}_ms": _within(nearest, limit * rate if rate else np.nan)
            for limit in SECONDS
        },
        "recall": _within(nearest, NEAR * spans[:, None]),
    }
    present = (~np.isnan(times)).any(axis=1)
    each = np.nanmean(hits["recall_5_steps"][present], axis=1)
    by_event = ("recall_2_steps", "recall_5_steps", "recall_250_ms", "recall")
    return Score(
        **{name: _mean(hit) for name, hit in hits.items()},
        recall_se=float(each.std(ddof=1) / np.sqrt(len(each))) if len(each) > 1 else 0.0,
        precision_5_steps=paired / total if total else float("nan"),
        error=_mean(fractions),
        **segments.figures(cuts, true_cuts, (spans + 1).astype(np.int64)),
        purity=purity,
        completeness=completeness,
        found=total / len(found),
        events={
            name: {figure: _mean(hits[figure][:, e]) for figure in by_event}
            for e, name in enumerate(names)
            if not np.isnan(times[:, e]).all()
        },
    )


def pairs(near: NDArray[np.bool_]) -> int:
    """Maximum number of pairs of a found key state and an event, each used once.

    `near` [found, events]: whether a pair is within the limit. Both are few.
    """
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


def _within(nearest: NDArray[np.float64], limit: ArrayLike) -> NDArray[np.float64]:
    """1 where an event has a key state within `limit` steps, 0 where not; NaN without event."""
    limit = np.broadcast_to(limit, nearest.shape)
    hit = (nearest <= limit + ROUNDING).astype(np.float64)
    return np.where(np.isnan(nearest) | np.isnan(limit), np.nan, hit)


def _mean(values: NDArray[np.float64]) -> float:
    """Mean without NaN; NaN if all are NaN."""
    there = values[~np.isnan(values)]
    return float(there.mean()) if len(there) else float("nan")
