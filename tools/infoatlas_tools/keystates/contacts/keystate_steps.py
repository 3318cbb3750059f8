"""Steps of key states: one column for each key state, masked where a demonstration lacks it."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from ...array_types import Bool, Float, Int
from .event_names import EventKind

# Shares of the demonstrations, at least: something is in ... of them.
SHARED = 0.2  # several: demonstrations share it; what fewer have is an exception
COMMON = 0.5  # half: it is followed in running episodes, and kept by count="auto"
MOST = 0.7  # most: sub-tasks may end at it, and what others do is unusual
NEARLY_ALL = 0.9  # nearly all: one without it lacks something
ENOUGH = 4  # demonstrations, from which they can be compared with each other


@dataclass(frozen=True, eq=False)
class Steps:
    """Key states of N demonstrations, K columns."""

    steps: Any  # [N, K] masked int64, recorded; masked where a demonstration lacks the key state
    strength: Float  # [K]
    events: tuple[EventKind, ...]  # what happens at each column; no two are equal
    kind: Int  # [K]; columns with the same number are one kind of event, repeated
    shared: Bool  # [K]; False for the column of changes that match no others
    # [N, K], with labels: estimated probability that a step is within 0.25 s of where a person
    # would mark it; 1 for labels.
    certainty: Float | None = None

    @cached_property
    def names(self) -> tuple[str, ...]:
        """Name of each column, as "grasp cube", "change A" or that of a label; all differ."""
        return tuple(event.name for event in self.events)

    @cached_property
    def source(self) -> tuple[str, ...]:
        """What shows each column: "contact", "gripper", "motion" or "label"."""
        return tuple(event.source for event in self.events)

    @property
    def common(self) -> Bool:
        """Shared columns that half of the demonstrations have [K]."""
        there = ~np.ma.getmaskarray(self.steps)
        return np.asarray(self.shared & (there.mean(axis=0) >= COMMON))

    def take(self, columns: Int) -> "Steps":
        """Some of the columns, in the order given."""
        return Steps(
            self.steps[:, columns],
            self.strength[columns],
            tuple(self.events[j] for j in columns.tolist()),
            np.unique(self.kind[columns], return_inverse=True)[1].astype(np.int64),
            self.shared[columns],
            None if self.certainty is None else self.certainty[:, columns],
        )


def order_in_time(steps: Any, lengths: Int) -> Int:
    """Columns of steps [N, K] in order of their median place within a demonstration."""
    place = steps / np.maximum(lengths[:, None] - 1, 1)
    median: Any = np.ma.median(place, axis=0)  # type: ignore[no-untyped-call]
    return np.argsort(np.ma.filled(median, 1.0), kind="stable")


def as_columns(members: Sequence[Mapping[int, int]], demonstrations: int) -> Any:
    """Masked steps [N, K] from the step of each demonstration that has a column, by column."""
    steps = np.full((demonstrations, len(members)), -1, np.int64)
    for j, own in enumerate(members):
        steps[list(own), j] = list(own.values())
    return np.ma.masked_array(steps, steps < 0)  # its mask is an array even if all are there
