"""Quality of demonstrations as flags of frames, and as reasons to look at an episode."""

from dataclasses import replace
from typing import Any

import numpy as np

from ..array_types import Int
from ..keystates.contacts.event_names import CONTACT, MOTION
from .content import Annotations

MISLABELLED = "(its steps are labelled in the usual order)"
IDLE, OUTLIER, LOOK = 1, 2, 4  # flags, which are added: at rest, replaced, of an episode to look at


def frame_flags(annotations: Annotations, demonstration: int) -> Int:
    """Flags of each step [T]: 1 at rest, 2 outlier and replaced, 4 of an episode with a reason."""
    return np.asarray(
        IDLE * annotations.idle(demonstration)
        + OUTLIER * annotations.outliers(demonstration)
        + LOOK * bool(episode_reasons(annotations, demonstration)),
        np.int64,
    )


def episode_reasons(annotations: Annotations, demonstration: int) -> str:
    """Why to look at an episode first, as text; empty if it is not unusual, or without a rate."""
    if annotations.rate is None:
        return ""
    quality = annotations.keystates.quality[demonstration]
    missing = (*quality.missing, *missing_parts(annotations, demonstration))
    elsewhere = annotations.elsewhere[demonstration]
    if annotations.mislabelled(demonstration):
        quality, elsewhere = replace(quality, order=f"{quality.order} {MISLABELLED}"), []
    found = replace(quality, missing=missing).reasons
    return "; ".join([*found, *elsewhere, *annotations.review.why[demonstration]])


def missing_parts(annotations: Annotations, demonstration: int) -> list[str]:
    """Names of parts that most demonstrations have, and this one lacks.

    Parts between key states without objects are left out: the key states are missing, too. So are
    those named by a contact, which is then missing, and those between changes of the motion, which
    may be absent from a good demonstration.
    """
    found, subtasks = annotations.keystates.found, annotations.subtasks
    unknown = annotations.mislabelled(demonstration)
    if unknown or any(part.event and part.event.source == MOTION for part in subtasks.parts):
        return []
    known = {event.name for event in found.events if event.source == CONTACT}
    known |= {*annotations.keystates.quality[demonstration].missing}
    lacks = []
    for part, name in zip(subtasks.parts, subtasks.names, strict=True):
        there = part.end > part.start
        if part.reference and not there[demonstration] and there.mean() > 0.5:
            by_end = part.named_by_end and not subtasks.given_names
            lacks += [] if by_end and part.until in known else [name]
    return lacks


def quality_table(annotations: Annotations) -> list[dict[str, Any]]:
    """A row for each demonstration.

    The keys are `episode`, `frames`, `idle` (share of the time), `idle_start` and `idle_end` (steps
    at rest at the start and at the end) and `outliers` (steps). Further keys are `attempts`,
    `missing` (names of events and parts), `repeated` (names of events), `faults` and `reasons`
    (texts). `lag`, `jerk`, `surprise` and `unusual` are those of `Review`.
    """
    found, seen = [], annotations.review
    for i, episode in enumerate(annotations.episodes):
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
                "missing": [*quality.missing, *missing_parts(annotations, i)],
                "repeated": list(quality.repeated),
                "faults": list(quality.faults),
                "reasons": episode_reasons(annotations, i),
                **{k: float(getattr(seen, k)[i]) for k in ("lag", "jerk", "surprise", "unusual")},
            }
        )
    return found
