"""Steps of key states: one column for each key state, masked where a demonstration lacks it."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True, eq=False)
class Steps:
    """Key states of N demonstrations, K columns.

    Attributes
    ----------
    steps : [N, K] masked array of int64
        Recorded steps; masked where a demonstration lacks the key state.
    strength : [K] float64
    kind : [K] int64
        Columns with the same number are one kind of event, repeated.
    shared : [K] bool
        False for columns that gather events like no other.
    origin : tuple of K str
        "event", "phase", or the name of a label.
    following : tuple of float
        Strengths of the candidates that follow the weakest column.
    """

    steps: Any
    strength: NDArray[np.float64]
    kind: NDArray[np.int64] = field(default_factory=lambda: np.zeros(0, np.int64))
    shared: NDArray[np.bool_] = field(default_factory=lambda: np.zeros(0, bool))
    origin: tuple[str, ...] = ()
    following: tuple[float, ...] = ()

    def __post_init__(self) -> None:
        count = len(self.strength)
        if not len(self.kind):
            object.__setattr__(self, "kind", np.arange(count))
        if not len(self.shared):
            object.__setattr__(self, "shared", np.ones(count, bool))
        if not self.origin:
            object.__setattr__(self, "origin", ("",) * count)

    def take(self, columns: NDArray[np.int64]) -> Steps:
        """Some of the columns, in the order given."""
        return Steps(
            self.steps[:, columns],
            self.strength[columns],
            np.unique(self.kind[columns], return_inverse=True)[1].astype(np.int64),
            self.shared[columns],
            tuple(self.origin[j] for j in columns.tolist()),
            self.following,
        )

    def strongest(self, share: float) -> Steps:
        """Shared columns of at least this share of the largest strength."""
        shared = np.where(self.shared, self.strength, -np.inf)
        top = shared.max(initial=0.0)
        return self.take(np.flatnonzero(shared >= share * top) if top > 0 else np.arange(0))

    def in_time(self, lengths: NDArray[np.int64]) -> Steps:
        """Columns in order of their median place within a demonstration."""
        place: Any = np.ma.median(  # type: ignore[no-untyped-call]
            self.steps / np.maximum(lengths[:, None] - 1, 1), axis=0
        )
        return self.take(np.argsort(np.ma.filled(place, 1.0), kind="stable"))


def kind_letter(kind: int) -> str:
    """Letter of a kind in tables: A, B, and so on; A again after Z."""
    return chr(65 + kind % 26)


def empty_steps(demonstrations: int, count: int) -> Any:
    """Steps [N, K] that are all masked."""
    shape = (demonstrations, count)
    return np.ma.masked_array(np.zeros(shape, np.int64), np.ones(shape, bool))
