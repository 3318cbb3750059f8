"""Increments of two groups, with added noise; finds the sides that rest and that move.

`KnownMotions` is for a resolution that is given, `LearnedMotions` for one that is estimated from
the stream. Noise at rest hides slow motions, so `LearnedMotions` has four other rules:

1. A side rests while its *path* over several steps stays within its resolution. Motion adds up and
   noise does not, so a slow motion does not count as rest, nor an outlier as motion.
2. A rest ends a coupling only if the other side has meanwhile moved so far that a coupled side
   would have moved visibly. The ratio of the two motions follows from the steps of this coupling in
   which both move. The rest of a side with noise has to fill the window. While an arm carries an
   object, it may turn its wrist alone, or brake, and the object hardly moves.
3. A coupling begins only if both sides have moved within the newest `REST` steps. A coordinate
   without a known noise, of a side with noise, has to move by `RETURNS` of its largest increment.
4. The added noise is a third of the resolution, because the increments have noise of their own.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..errors import InputError
from ..inputs.checks import as_resolution
from .resolution import FINEST, RETURNS, RestingNoise

JITTER = 0.03  # added noise, as a share of the third largest increment of a window
REST = 6  # steps without motion after which a side is at rest
CLEAR = 6.0  # resolutions by which a coupled side would have moved at least

Array = NDArray[np.float64]


class KnownMotions:
    """Motions above a resolution that is given: one, or a pair of one for each side."""

    until_left = 2  # estimates in a row below `leave` that end a coupling

    def __init__(self, resolution: Any, seed: int) -> None:
        pair = resolution if isinstance(resolution, tuple) else (resolution, resolution)
        if len(pair) != 2:
            raise InputError(f"resolution is {resolution!r}: pass one, or a pair, one for each")
        for value in pair:
            as_resolution(value, np.size(value), "resolution")
        self._given, self._seed = pair, seed
        # Smallest motion within a step of both sides; None if not known yet.
        self.resolution: tuple[Array, Array] | None = (np.asarray(pair[0]), np.asarray(pair[1]))
        self.rest = 0  # newest pairs in a row in which one side moved and the other did not
        self.active = 0  # pairs in which a side moved
        self.both: NDArray[np.bool_] = np.zeros(0, bool)  # [n], pairs in which both sides moved
        self.can_begin = False  # the newest pairs allow a coupling to begin

    def learn(self, pair: tuple[Array, Array] | None) -> None:
        """Ignore the newest increments: the resolution is given."""

    def with_noise(self, x: Array, y: Array, coupled: bool) -> tuple[Array, Array]:
        """Increments [n, d] and [n, d'] with noise; a side that rests is constant."""
        noise = np.random.default_rng(self._seed)
        entered: list[Array] = []
        moves, still = (list[NDArray[np.bool_]]() for _ in range(2))
        for side, resolution in zip((x, y), self._given, strict=True):
            floor = as_resolution(resolution, side.shape[1], "resolution")
            assert floor is not None
            size, step = np.abs(side), _jitter(side, floor)
            still.append(np.asarray((size <= floor).all(axis=1)))
            moves.append(np.asarray((size > step).any(axis=1)))
            jitter = step * noise.standard_normal(side.shape)
            # A side that rests during the entire window is constant, and the estimate degenerate.
            entered.append(np.zeros_like(side) if still[-1].all() else side + jitter)
        self.both = np.logical_not(still[0] | still[1])
        self.active = int((~(still[0] & still[1])).sum())
        alone = (still[0] & moves[1]) | (still[1] & moves[0])
        self.rest = int(np.argmin(alone[::-1])) if not alone.all() else len(alone)
        self.can_begin = not self.rest
        return entered[0], entered[1]


class LearnedMotions:
    """Motions above the noise that the coordinates have at rest; attributes as `KnownMotions`."""

    until_left = 4

    def __init__(self, seed: int) -> None:
        self._seed = seed
        self._sides = RestingNoise(), RestingNoise()
        self.rest = self.active = 0
        self.both: NDArray[np.bool_] = np.zeros(0, bool)
        self.can_begin = False
        self._powers: tuple[Array, Array] | None = None  # [d], [d'] of steps in which both move
        self._noiseless = KnownMotions(FINEST, seed)

    @property
    def resolution(self) -> tuple[Array, Array] | None:
        """Resolutions [d] and [d'] as estimated so far; None before there is an increment."""
        first, second = (side.resolution for side in self._sides)
        return None if first is None or second is None else (first.copy(), second.copy())

    def learn(self, pair: tuple[Array, Array] | None) -> None:
        """Take the newest increments [d] and [d']; None if there are none."""
        for side, change in zip(self._sides, pair or (None, None), strict=True):
            side.add(change)

    def with_noise(self, x: Array, y: Array, coupled: bool) -> tuple[Array, Array]:
        """Increments [n, d] and [n, d'] with noise; a side that rests is constant."""
        resolutions = self.resolution
        assert resolutions is not None
        if max(side.max() for side in resolutions) <= FINEST:
            known = self._noiseless
            entered = known.with_noise(x, y, coupled)
            self.rest, self.active, self.both = known.rest, known.active, known.both
            self.can_begin, self._powers = known.can_begin, None
            return entered
        return self._with_noise(x, y, resolutions, coupled)

    def _with_noise(
        self, x: Array, y: Array, resolutions: tuple[Array, Array], coupled: bool
    ) -> tuple[Array, Array]:
        noise = np.random.default_rng(self._seed)
        entered, sizes, paths, nets = (list[Array]() for _ in range(4))
        for side, resolution in zip((x, y), resolutions, strict=True):
            sizes.append(_size(side, resolution))
            paths.append(_size(side[::-1].cumsum(0), resolution))  # back from the newest step
            nets.append(_sums(side, resolution))
            jitter = _jitter(side, np.maximum(resolution / 3, FINEST))
            jitter = jitter * noise.standard_normal(side.shape)
            entered.append(np.zeros_like(side) if sizes[-1].max() <= 1 else side + jitter)
        moved = (_size(nets[0], resolutions[0]) > 1) & (_size(nets[1], resolutions[1]) > 1)
        self.can_begin = bool(moved[-1])
        self._remember(nets, moved, coupled)
        self.both = np.asarray((sizes[0] > 1) & (sizes[1] > 1))
        # Motion of a side in resolutions, its own or those of the other side, whichever is less.
        ratio = self._ratio(resolutions)
        share = min(ratio, 1.0), min(1 / ratio, 1.0)
        self.active = int(((sizes[0] * share[0] > 1) | (sizes[1] * share[1] > 1)).sum())
        self.rest = 0
        for still, other in ((0, 1), (1, 0)):
            beyond = paths[still] > 1
            run = int(beyond.argmax()) if beyond.any() else len(beyond)
            noisy = (resolutions[still] > FINEST).any()
            if (
                run >= (len(beyond) if noisy else REST)
                and paths[other][:run].max() * share[other] >= CLEAR
            ):
                self.rest = max(self.rest, run)
        return entered[0], entered[1]

    def _remember(self, nets: list[Array], moved: NDArray[np.bool_], coupled: bool) -> None:
        """Sum the squares of the steps in which both move, of the window and since a coupling."""
        if not coupled or self._powers is None:
            self._powers = (nets[0][moved] ** 2).sum(0), (nets[1][moved] ** 2).sum(0)
        elif moved[-1]:
            self._powers = self._powers[0] + nets[0][-1] ** 2, self._powers[1] + nets[1][-1] ** 2

    def _ratio(self, resolutions: tuple[Array, Array]) -> float:
        """Motion of the second side for one resolution of the first, in its own resolutions."""
        assert self._powers is not None
        first, second = (
            float((power / resolution**2).sum())
            for power, resolution in zip(self._powers, resolutions, strict=True)
        )
        return float(np.sqrt(second / first)) if min(first, second) > 0 else 1.0


def _jitter(side: Array, floor: Array) -> Array:
    """Size [d] of the noise for increments [n, d].

    It follows from the third largest increment, so that a single jump at a reset has no effect.
    """
    largest = np.sort(np.abs(side).max(axis=1))[-3]
    return np.asarray(np.maximum(JITTER * largest, floor))


def _size(changes: Array, resolution: Array) -> Array:
    """Largest increment over the coordinates [n], in resolutions."""
    return np.asarray(np.abs(changes / resolution).max(axis=1))


def _sums(changes: Array, resolution: Array) -> Array:
    """Sums [n - REST + 1, d] of `REST` increments in a row; 0 for what may be unknown noise."""
    path = np.vstack([np.zeros_like(changes[:1]), changes.cumsum(0)])
    sums = path[REST:] - path[:-REST]
    largest = np.lib.stride_tricks.sliding_window_view(np.abs(changes), REST, axis=0).max(-1)
    unknown = (resolution <= FINEST) & (resolution.max() > FINEST)
    return np.where(unknown & (np.abs(sums) <= RETURNS * largest), 0.0, sums)
