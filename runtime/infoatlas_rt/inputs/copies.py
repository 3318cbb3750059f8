"""Copies of objects that states change: they share nothing that a state changes."""

from __future__ import annotations

from collections.abc import Iterator
from copy import deepcopy
from typing import Any, TypeVar

T = TypeVar("T", bound="Stateful")


class Stateful:
    """Base of what follows a stream: `copy.copy` gives an independent object.

    The default copy would share windows, queues and counts with the original, so that a state
    pushed to one of the two would change both. The estimator is shared: a stream does not change
    it, and a copy of its engine takes time and memory (`copy.deepcopy` makes one).
    """

    def __copy__(self: T) -> T:
        return deepcopy(self, {id(estimator): estimator for estimator in _estimators(self)})


def _estimators(stateful: Stateful) -> Iterator[Any]:
    for name, value in vars(stateful).items():
        if name == "estimator":
            yield value
        for part in value if isinstance(value, tuple) else (value,):
            if isinstance(part, Stateful):
                yield from _estimators(part)
