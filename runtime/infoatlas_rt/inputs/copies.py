"""Copies of objects that follow a stream, independent of the original."""

from collections.abc import Iterator
from copy import deepcopy
from typing import Any, TypeVar

T = TypeVar("T", bound="Stateful")


class Stateful:
    """Base class of objects that follow a stream: `copy.copy` returns an independent object.

    The default copy would share windows, queues and counts with the original, so that a state
    pushed to one of the two would change both. The estimator is shared, because a stream does not
    change it and a copy of its engine needs time and memory (`copy.deepcopy` makes one).
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
