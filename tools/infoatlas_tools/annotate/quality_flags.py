"""Quality of demonstrations as flags of frames, and as reasons to drop an episode."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..keystates.quality import COMMON
from .content import Annotations

Int = NDArray[np.int64]

IDLE, OUTLIER, DROP = 1, 2, 4  # flags, which are added: at rest, replaced, of an episode to drop
RESTING = 0.5  # share of the time at rest from which an episode should be dropped


def frame_flags(annotations: Annotations, demonstration: int) -> Int:
    """Flags of each step [T]: 1 at rest, 2 outlier and replaced, 4 of an episode to drop."""
    drop = bool(episode_reasons(annotations, demonstration))
    return np.asarray(
        IDLE * annotations.idle(demonstration)
        + OUTLIER * annotations.outliers(demonstration)
        + DROP * drop,
        np.int64,
    )


def episode_reasons(annotations: Annotations, demonstration: int) -> str:
    """Why an episode should be dropped, as text; empty if there is no reason.

    A grasp has failed, it lacks a contact, a switch or a label that nine of ten have, or it is at
    rest for more than half of the time. Missing parts alone are no reason.
    """
    quality = annotations.keystates.quality[demonstration]
    found = quality.failures
    if quality.missing:
        found.append(f"lacks {', '.join(missing(annotations, demonstration))}")
    if quality.idle > RESTING:
        found.append(f"idle {quality.idle:.0%} of the time")
    return "; ".join(found)


def missing(annotations: Annotations, demonstration: int) -> list[str]:
    """Names of events and parts that nine of ten demonstrations have, and this one lacks."""
    parts, names = annotations.subtasks.parts, annotations.subtasks.names
    found = list(annotations.keystates.quality[demonstration].missing)
    for part, name in zip(parts, names, strict=True):
        there = part.end > part.start
        if not there[demonstration] and there.mean() >= COMMON:
            found.append(name)
    return found


def quality_table(annotations: Annotations) -> list[dict[str, Any]]:
    """A row for each demonstration.

    The keys are `episode`, `frames`, `idle` (share of the time), `idle_start` and `idle_end` (steps
    at rest at the start and at the end) and `outliers` (steps). Further keys are `attempts`
    (texts), `missing` (names of events and parts), `repeated` (names of events), `drop` (bool) and
    `reasons` (text). `lag`, `jerk`, `surprise` and `unusual` are those of `Review`, `why` its
    reason to look at the demonstration, and `review` its rank, from 1.
    """
    found, seen = [], annotations.review
    rank = (-seen.unusual).argsort(kind="stable").argsort() + 1
    for i, episode in enumerate(annotations.episodes):
        reasons = episode_reasons(annotations, i)
        quality = annotations.keystates.quality[i]
        idle = annotations.idle(i)
        moving = np.flatnonzero(~idle)
        found.append(
            {
                "episode": episode,
                "frames": len(idle),
                "idle": quality.idle,
                "idle_start": int(moving[0]) if len(moving) else len(idle),
                "idle_end": int(len(idle) - 1 - moving[-1]) if len(moving) else len(idle),
                "outliers": list(quality.outliers),
                "attempts": quality.failures,
                "missing": missing(annotations, i),
                "repeated": list(quality.repeated),
                "drop": bool(reasons),
                "reasons": reasons,
                **{k: float(getattr(seen, k)[i]) for k in ("lag", "jerk", "surprise", "unusual")},
                "why": seen.why[i],
                "review": int(rank[i]),
            }
        )
    return found
