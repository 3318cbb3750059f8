"""Are x and y independent? A permutation test with the mutual information as its statistic.

Samples of y are dealt out anew, which keeps both sides as they are and breaks every dependence
between them, and the model reads each of the new pairings like the given one: same slices, same
shuffle, same shifts. Under independence the given pairing is one among equals, so its rank is
uniform and the level of the test holds exactly, whatever the model is worth and however few the
samples are; a better model makes it more powerful. (With ties, as between discrete sides, the level
is held and not used up.)

Ranks and whitening of a side do not depend on the pairing, so they are computed once; what is done
again is the canonical rotation and the reading, a batch of pairings in one call of the backend.
"""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Iterable
from dataclasses import dataclass, fields
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .discrete import bounded
from .entry import Entry
from .errors import ModelError
from .estimator import Estimator, as_estimator
from .inputs import as_count
from .preprocess import Side, pair, whiten

PERMUTATIONS = 199


@dataclass(frozen=True, eq=False)
class TestResult:
    """What a test of independence found.

    Attributes
    ----------
    mi : float
        Nats; of the given pairing, as `Estimator.estimate` reads it.
    p_value : float
        Share of pairings, the given one included, that read at least as much: (1 + #{null >= mi})
        / (1 + B). It cannot be below 1 / (1 + B).
    null : [B] float64
        Nats; the readings of B pairings without dependence, in the order in which they were drawn.
    method : {"permutation", "circular shift"}
    samples : int
        n.
    slices : int
        S; 1 if both sides entered whole.
    k : int or None
        Dimensions of a slice; None if both sides entered whole.
    seed : int
        Of the pairings, the projections, the shuffle and the shifts.
    provider, model : str
    degenerate : bool
        A side is constant, so there is no dependence: `mi` and `null` are exactly 0, `p_value` 1.
    """

    __test__ = False  # no test case of pytest's

    mi: float
    p_value: float
    null: NDArray[np.float64]
    method: str
    samples: int
    slices: int
    k: int | None
    seed: int
    provider: str
    model: str
    degenerate: bool

    def __str__(self) -> str:
        """One line."""
        how = "unsliced" if self.k is None else f"{self.slices} slices, k={self.k}"
        return (
            f"I = {self.mi:.3f} nats, p = {self.p_value:.3g} ({len(self.null)} "
            f"{self.method}s, n={self.samples}, {how}, {self.model} on {self.provider})"
            + (" [degenerate]" if self.degenerate else "")
        )

    def to_dict(self) -> dict[str, Any]:
        """Everything as JSON-safe values."""
        values = {field.name: getattr(self, field.name) for field in fields(self)}
        return values | {"null": self.null.tolist()}


def independence_test(
    x: Any,
    y: Any,
    estimator: Estimator | str | os.PathLike[str] | None = None,
    *,
    permutations: int = PERMUTATIONS,
    time_series: bool = False,
    resolution_x: Any = None,
    resolution_y: Any = None,
    progress: Callable[[int, int], None] | None = None,
) -> TestResult:
    """Test whether x and y are independent, by permutations of y.

    Parameters
    ----------
    x, y : array-like [n] or [n, d]
        Paired samples, as in `Estimator.estimate`.
    estimator : Estimator or str or path, optional
        The estimator to use, or a model to make one of; the shipped model unless given.
    permutations : int
        B, pairings without dependence. 199 tell p-values down to 0.005.
    time_series : bool
        The samples are in time order and neighbours depend on each other. Then y is shifted in a
        circle, which keeps its memory; so there are n - 1 pairings, and fewer are used than asked
        for if n is small. Small shifts count too: without them the given pairing would not be
        one among equals, for where it reads much by chance, so do its neighbours. Both series
        have to be stationary, and the series long beside their memory: where they drift (random
        walks) or are short, the seam of the circle tells, and independent series are called
        dependent too often. It is a test of two series; that a series depends on its own past
        needs none.
    resolution_x, resolution_y : float or [d], optional
        As in `Estimator.estimate`.
    progress : callable, optional
        Called with (readings done, readings in all).

    Returns
    -------
    TestResult

    Raises
    ------
    InputError, ModelError
        As `Estimator.estimate`; or `permutations` is not a positive integer.
    """
    count = as_count(permutations, "permutations", 1, 10**7)
    estimator = as_estimator(estimator)
    entry = estimator.enter(x, y, time_series, resolution_x, resolution_y)
    pairings = _Pairings(entry, count, time_series, estimator.seed)
    values = np.zeros(len(pairings))
    if not entry.degenerate:
        _read(estimator, entry, pairings, values, progress)
    if not np.isfinite(values).all():
        raise ModelError(
            f"model {estimator.bundle.name} gave values that are not finite on "
            f"{estimator.backend.provider}: use provider='cpu' or another model, and please report"
        )
    mi, null = values[0], values[1:]
    return TestResult(
        mi=float(mi),
        p_value=float((1 + (null >= mi).sum()) / (1 + len(null))),
        null=null,
        method=pairings.method,
        samples=len(entry.order),
        slices=entry.plan.slices,
        k=entry.plan.k,
        seed=estimator.seed,
        provider=estimator.backend.provider,
        model=estimator.bundle.name,
        degenerate=entry.degenerate,
    )


class _Pairings:
    """Which sample of y goes to which of x: pairing 0 is the given one.

    Indices are positions in the shuffled samples. Each pairing is drawn anew when it is asked for,
    from a stream of its own: all of them at once could be much larger than the samples.
    """

    def __init__(self, entry: Entry, count: int, time_series: bool, seed: int) -> None:
        self.method = "circular shift" if time_series else "permutation"
        self._order, self._place = entry.order, entry.sequence
        self._seed, self._count = seed, count
        if time_series:
            drawn = np.random.default_rng([seed, 1])
            self._shifts = (1 + drawn.permutation(len(self._order) - 1))[:count]
            self._count = len(self._shifts)

    def __len__(self) -> int:
        return 1 + self._count

    def __getitem__(self, number: int) -> NDArray[np.int64]:
        n = len(self._order)
        if number == 0:
            return np.arange(n)
        if self.method == "permutation":
            return np.random.default_rng([self._seed, 0, number]).permutation(n)
        return self._place[(self._order - self._shifts[number - 1]) % n]


def _read(
    estimator: Estimator,
    entry: Entry,
    pairings: _Pairings,
    values: NDArray[np.float64],
    progress: Callable[[int, int], None] | None,
) -> None:
    """Add up the readings of all slices for each pairing, and divide: `values` [1 + B]."""
    slices, done = entry.plan.slices, 0
    for part in entry.parts():
        x, y = (whiten(side) for side in entry.slices(part))
        width = part.stop - part.start
        size = max(1, entry.chunk // width)
        for first in range(0, len(values), size):
            batch = range(first, min(first + size, len(values)))
            data = pair(
                _rearranged(x, [slice(None)] * len(batch)),
                _rearranged(y, [pairings[i] for i in batch]),
                estimator.bundle.dim,
            )
            inputs = np.ascontiguousarray(data.x), np.ascontiguousarray(data.y)
            mi, *_ = estimator.backend.run(*inputs, entry.shifts, entry.sequence)
            ceilings: Any = math.inf
            if entry.repeats is not None:  # (of slices of one pairing, one after the other)
                each = [entry.repeats.ceiling(pairings[i]) for i in batch]
                ceilings = np.repeat(each, width)
            of_slices = bounded(mi, ceilings).reshape(len(batch), width)
            values[batch.start : batch.stop] += of_slices.sum(axis=1) / slices
            done += len(batch) * width
            if progress is not None:
                progress(done, len(values) * slices)


def _rearranged(side: Side, orders: Iterable[Any]) -> Side:
    """The side [S, ...] once for each order of its samples: [len(orders) S, ...]."""
    scores = [side.scores[..., order] for order in orders]
    whitener, kept = ([values] * len(scores) for values in (side.whitener, side.kept))
    return Side(*(np.concatenate(values) for values in (scores, whitener, kept)))
