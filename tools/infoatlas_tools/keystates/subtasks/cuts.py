"""Cuts: steps at which parts of a demonstration may begin and end."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ...array_types import Bool, Int
from ..contacts.event_names import END, EventKind
from ..contacts.keystate_steps import MOST, order_in_time


@dataclass(frozen=True, eq=False)
class Cuts:
    """Steps that may separate parts."""

    # [N, C] masked int64, recorded; columns by their median place; masked where a demonstration has
    # none.
    steps: Any
    events: tuple[EventKind, ...]  # what happens at each one
    lengths: Int  # [N], recorded steps of each demonstration
    # What too few demonstrations have for a cut, as "release cube 2 (3 of 10)".
    rare: tuple[str, ...] = ()

    @property
    def names(self) -> list[str]:
        """Name of each one, as "grasp cube"."""
        return [event.name for event in self.events]

    def in_order(self) -> Cuts:
        """The same cuts; steps that break the order of the columns are masked."""
        steps = np.ma.array(self.steps, copy=True)
        newest = np.zeros(len(self.lengths), np.int64)
        for column in range(steps.shape[1]):
            own = np.ma.filled(steps[:, column], -1)
            bad = own < newest
            steps[bad, column] = np.ma.masked
            newest = np.where(bad, newest, own)
        return Cuts(steps, self.events, self.lengths)

    def moved_to(self, steps: Any, labels: Sequence[EventKind], near: float) -> Cuts:
        """The same cuts at steps [N, K] that a person marked, where these are the same contacts.

        The median distance of such a column of `steps` is at most `near`. The cut becomes the label
        of the nearest column.
        """
        events = list(self.events)
        moved = np.ma.array(self.steps, copy=True)
        for column, own in enumerate(self.steps.T):
            away = [np.ma.median(np.abs(own - marked)) for marked in steps.T]  # type: ignore[no-untyped-call]
            away = [float(np.ma.filled(one, np.inf)) for one in away]
            if min(away, default=np.inf) <= near:
                nearest = int(np.argmin(away))
                moved[:, column] = steps[:, nearest]
                if labels[nearest] not in events:
                    events[column] = labels[nearest]
        return Cuts(moved, tuple(events), self.lengths, self.rare)

    @property
    def ordered(self) -> bool:
        """Whether most demonstrations have each cut in the order of the columns."""
        there = ~np.ma.getmaskarray(self.steps)
        kept = ~np.ma.getmaskarray(self.in_order().steps)
        return bool((kept.sum(axis=0) >= MOST * there.sum(axis=0)).all())

    @property
    def present(self) -> Bool:
        """Whether a demonstration has each cut [N, C + 2], beginning and end included."""
        there = ~np.ma.getmaskarray(self.steps)
        return np.pad(there, ((0, 0), (1, 1)), constant_values=True)

    def filled(self) -> Int:
        """Steps with beginning and end [N, C + 2]; a missing cut has the step of the next one."""
        n, count = self.steps.shape
        steps = np.zeros((n, count + 2), np.int64)
        steps[:, -1] = self.lengths
        own = np.ma.filled(self.steps, -1)
        for j in range(count, 0, -1):
            steps[:, j] = np.where(own[:, j - 1] < 0, steps[:, j + 1], own[:, j - 1])
        return steps

    def spans(self) -> list[tuple[EventKind, Int, Int]]:
        """Event at each part's end, its start and its end [N]; the last one ends the demonstration.

        A part begins at the cut that precedes its end in the demonstration, in any order.
        """
        ends = np.column_stack([np.ma.filled(self.steps, -1), self.lengths])
        found = []
        for j, event in enumerate((*self.events, END)):
            end = ends[:, j]
            # Of two cuts at one step, the later column has the empty part.
            earlier = (ends < end[:, None]) | (
                (ends == end[:, None]) & (np.arange(len(ends.T)) < j)
            )
            start = np.where(earlier, ends, 0).max(axis=1)
            found.append((event, np.where(end < 0, 0, start), np.maximum(end, 0)))
        return found


def make_cuts(steps: Any, events: Sequence[EventKind], lengths: Int, present: float = MOST) -> Cuts:
    """Cuts, masked steps [N, C], that at least a share `present` of the demonstrations have."""
    steps = np.ma.array(steps, dtype=np.int64).reshape(len(lengths), len(events))
    there, total = (~np.ma.getmaskarray(steps)).sum(axis=0), len(lengths)
    common = there / total >= present
    kept = np.flatnonzero(common)
    order = kept[order_in_time(steps[:, kept], lengths)]
    few = np.flatnonzero(~common & (there > 0)).tolist()
    rare = [f"{events[j].name} ({there[j]} of {total})" for j in few]
    return Cuts(steps[:, order], tuple(events[j] for j in order.tolist()), lengths, tuple(rare))
