"""Increments of two groups, with noise of the size of the smallest motion; what rests, what moves.

`KnownMotions` is for a resolution that is given, `LearnedMotions` for one that is estimated from
the stream. Noise hides slow motions, so where the resolution is that of noise three rules differ:

1. A side rests if the *path* of several steps stays within its resolution, not each step alone.
2. A rest counts against a coupling only if the other side has meanwhile moved so far that this one
   would have been seen to move. How far that is follows from the pairs of this coupling in which
   both moved.
3. Noise of a third of the resolution is added, for the increments have their own.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..errors import InputError
from ..inputs.checks import as_resolution
from .resolution import FLOOR, RestingNoise

JITTER = 0.03
REST = 6
CLEAR = 3.0  # resolutions that a side has to have moved, by the motion of the other one
BOTH = 3  # pairs in which both move, for a coupling to begin

Array = NDArray[np.float64]


class KnownMotions:
    """Motions above a resolution that is given.

    Parameters
    ----------
    resolution : float or (float or [d], float or [d'])
    seed : int
        Of the noise.

    Attributes
    ----------
    rest : int
        Newest pairs in a row in which one side moved and the other did not.
    active : int
        Pairs in which anything moved.
    both : [n] bool
        Pairs in which both sides moved.
    can_begin : bool
        Whether the newest pairs allow a coupling to begin.

    Raises
    ------
    InputError
    """

    def __init__(self, resolution: Any, seed: int) -> None:
        pair = resolution if isinstance(resolution, tuple) else (resolution, resolution)
        if len(pair) != 2:
            raise InputError(f"resolution is {resolution!r}: pass one, or a pair, one for each")
        for value in pair:
            as_resolution(value, np.size(value), "resolution")
        self._resolution, self._seed = pair, seed
        self.rest = self.active = 0
        self.both: NDArray[np.bool_] = np.zeros(0, bool)

    @property
    def can_begin(self) -> bool:
        return not self.rest

    def with_noise(self, x: Array, y: Array) -> tuple[Array, Array]:
        """Increments [n, d] and [n, d'] with noise; a side that rests is constant."""
        noise = np.random.default_rng(self._seed)
        entered: list[Array] = []
        moves: list[NDArray[np.bool_]] = []
        still: list[NDArray[np.bool_]] = []
        for side, resolution in zip((x, y), self._resolution, strict=True):
            floor = as_resolution(resolution, side.shape[1], "resolution")
            assert floor is not None
            size = np.abs(side)
            step = jitter(side, floor)
            still.append(np.asarray((size <= floor).all(axis=1)))
            moves.append(np.asarray((size > step).any(axis=1)))
            noisy = step * noise.standard_normal(side.shape)
            # A side that rests through the window is constant, and the estimate degenerate.
            entered.append(np.zeros_like(side) if still[-1].all() else side + noisy)
        self.both = np.logical_not(still[0] | still[1])
        self.active = int((~(still[0] & still[1])).sum())
        alone = (still[0] & moves[1]) | (still[1] & moves[0])
        self.rest = int(np.argmin(alone[::-1])) if not alone.all() else len(alone)
        return entered[0], entered[1]


def jitter(side: Array, floor: Array) -> Array:
    """Size of the noise for increments [n, d].

    Of the third largest, so that the single jump of a robot that is put back has no effect.
    """
    largest = np.sort(np.abs(side).max(axis=1))[-3]
    return np.asarray(np.maximum(JITTER * largest, floor))


class LearnedMotions:
    """Motions above the noise that the coordinates have at rest; as `KnownMotions` else."""

    def __init__(self, seed: int) -> None:
        self._seed = seed
        self.sides = RestingNoise(), RestingNoise()
        self.rest = self.active = 0
        self.both: NDArray[np.bool_] = np.zeros(0, bool)
        self.can_begin = False
        self._powers: tuple[Array, Array] | None = None  # of both, where both move

    def learn(self, pair: tuple[Array, Array] | None) -> None:
        """Take the newest increments [d] and [d']; None if there are none."""
        for side, change in zip(self.sides, pair or (None, None), strict=True):
            side.add(change)

    def with_noise(self, x: Array, y: Array, coupled: bool) -> tuple[Array, Array]:
        """Increments [n, d] and [n, d'] with noise; a side that rests is constant."""
        noise = np.random.default_rng(self._seed)
        entered: list[Array] = []
        sizes: list[Array] = []
        runs: list[int] = []
        paths: list[Array] = []
        for side, learned in zip((x, y), self.sides, strict=True):
            assert learned.resolution is not None
            relative = side / learned.resolution
            size = np.abs(relative).max(axis=1)
            path = np.abs(relative[::-1].cumsum(0)).max(axis=1)  # back from the newest
            runs.append(int(np.argmax(path > 1)) if (path > 1).any() else len(path))
            sizes.append(size)
            paths.append(path)
            noisy = jitter(side, np.maximum(learned.resolution / 3, FLOOR))
            noisy = noisy * noise.standard_normal(side.shape)
            entered.append(np.zeros_like(side) if size.max() <= 1 else side + noisy)
        a, b = sizes
        self.both = np.asarray((a > 1) & (b > 1))
        self.can_begin = max(runs) < REST and self.both.sum() >= BOTH
        self._remember(x, y, coupled)
        ratio = self._ratio()
        # How far each moved, in its own resolutions or in those of the other, whichever are fewer.
        least = min(ratio, 1.0), min(1 / ratio, 1.0)
        self.active = int(((a * least[0] > 1) | (b * least[1] > 1)).sum())
        far = paths[0] * least[0], paths[1] * least[1]
        self.rest = 0
        for run, moved in ((runs[0], far[1]), (runs[1], far[0])):
            if run and moved[:run].max() >= CLEAR:
                self.rest = max(self.rest, run)
        return entered[0], entered[1]

    def _remember(self, x: Array, y: Array, coupled: bool) -> None:
        """Sum the squares of the pairs in which both move, of the window and since a coupling."""
        if not coupled or self._powers is None:
            self._powers = (x[self.both] ** 2).sum(0), (y[self.both] ** 2).sum(0)
        elif self.both[-1]:
            self._powers = self._powers[0] + x[-1] ** 2, self._powers[1] + y[-1] ** 2

    def _ratio(self) -> float:
        """Resolutions that the second side moves when the first one moves by one of its own."""
        assert self._powers is not None
        powers = []
        for power, side in zip(self._powers, self.sides, strict=True):
            assert side.resolution is not None
            powers.append((power / side.resolution**2).sum())
        return float(np.sqrt(powers[1] / powers[0])) if min(powers) > 0 else 1.0
