"""Data of the benchmarks: samples of known mutual information, demonstrations with known events.

All families of distributions have the format :class:`Family`. A :class:`Collection` of families is
a development set if results on it have led to changes of the models, and otherwise a test set.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
Generator = np.random.Generator
Set = Literal["development", "test"]
Sampler = Callable[..., tuple[Array, Array]]


@dataclass(frozen=True)
class Case:
    """Samples of known mutual information."""

    label: dict[str, Any]  # labels that distinguish it from other cases
    truth: float  # nats
    n: int  # samples of a draw
    draws: int
    # Number of the draw -> (x [n, dx], y [n, dy]).
    draw: Callable[[int], tuple[NDArray[np.floating], NDArray[np.floating]]]
    # The samples are states of one path in order of time; only our estimator is given this.
    time_series: bool = False


@dataclass(frozen=True)
class Family:
    """A distribution of pairs."""

    name: str
    kind: str
    description: str  # how y comes from x, in a line
    # (generator, n) -> x [n, dx], y [n, dy].
    sample: Callable[[Generator, int], tuple[Array, Array]]
    compute: Callable[[], float]  # truth in nats

    @cached_property
    def truth(self) -> float:
        """Mutual information, nats."""
        return self.compute()

    def draw(self, n: int, seed: int) -> tuple[Array, Array]:
        """Draw x [n, dx], y [n, dy]; each family has its own random stream."""
        rng = np.random.default_rng([seed, n, *self.name.encode()])
        x, y = self.sample(rng, n)
        return x.reshape(n, -1), y.reshape(n, -1)


@dataclass(frozen=True)
class Collection:
    """Families by the same authors."""

    name: str
    title: str  # of the page of results
    set: Set  # "test" if no results on them have led to changes of the models, else "development"
    about: str  # their origin, and their effect on the models
    families: list[Family] = field(default_factory=list)  # in order of their definition

    def family(self, kind: str, truth: Callable[[], float]) -> Callable[[Sampler], Sampler]:
        """Decorator: a sampler becomes a family under its own name.

        The first line of its docstring is the description.
        """

        def enter(sample: Sampler) -> Sampler:
            name = sample.__name__.replace("_", " ")
            self.families.append(Family(name, kind, sample.__doc__ or "", sample, truth))
            return sample

        return enter
