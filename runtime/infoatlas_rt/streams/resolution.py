"""Resolution of the coordinates of a stream, estimated from their noise at rest.

Noise and motion differ in shape. Over a block of steps noise returns to its mean, so the range of
the positions is about the largest increment. A motion continues, so its range is many increments. A
block is at rest if its range is below `RETURNS` times the largest increment, and its ends differ by
at most one such increment. Some blocks of a random walk meet this by chance. So the estimate is
used only if most of the blocks with increments as small are at rest.

A quantised coordinate may have little or no noise at rest. Its increments are multiples of the
smallest one, which then counts as noise.

The estimate is causal, and uses the newest `BLOCKS` blocks. The resolution of a coordinate that
never rests is `FINEST`.
"""

import numpy as np
from numpy.typing import NDArray

FINEST = 1e-5  # resolution of states without noise, in their units
STEPS, STRIDE = 16, 8  # steps of a block, and steps from one block to the next
BLOCKS = 256  # newest blocks that are kept
LEAST_RESTING = 3  # blocks at rest for an estimate
RETURNS = 1.8  # largest range of a block at rest, in units of its largest increment
LEAST_SHARE = 0.5  # of the blocks with increments as small: share that has to be at rest
INCREMENT_QUANTILE = 0.8  # quantile of the increments of a block, which outliers hardly change
TESTED = 8  # non-zero increments that are tested for being multiples of the smallest
TOLERANCE = 0.01  # of the smallest increment, for multiples of it
DEVIATIONS = 2.5  # times that quantile (1.2 standard deviations of normal noise): three deviations
WITHIN = 1.5  # resolutions: range of the noise over hundreds of steps
CLEARLY = 20.0  # resolutions: range of a stream that has clearly moved


class RestingNoise:
    """Estimates the smallest motion within a step that each coordinate of a stream resolves.

    `resolution` [d] is about three standard deviations of the increments at rest, `FINEST` or more;
    None before the first state.
    """

    def __init__(self) -> None:
        self.resolution: NDArray[np.float64] | None = None

    def add(self, change: NDArray[np.float64] | None) -> None:
        """Take the increments [d] of the next step; None if there are none, as after a hole."""
        if change is None:
            self._filled = 0
            return
        if self.resolution is None:
            self.resolution = np.full(change.size, FINEST)
            self._steps = np.zeros((STEPS, change.size))
            self._sizes = np.full((BLOCKS, change.size), np.nan)
            self._rests = np.zeros((BLOCKS, change.size), bool)
            self._smallest = np.full(change.size, np.inf)  # of the increments that are not 0
            self._changes, self._multiples = np.zeros((2, change.size), int)
            self._filled = self._blocks = 0
        self._steps[self._filled] = change
        self._count_multiples(np.abs(change))
        self._filled += 1
        if self._filled == STEPS:
            self._block()
            self._steps[: STEPS - STRIDE] = self._steps[STRIDE:]
            self._filled = STEPS - STRIDE
            self._update()

    def _count_multiples(self, size: NDArray[np.float64]) -> None:
        """Count increments that are multiples of the smallest one; a smaller one restarts it."""
        moved = size > 0
        fewer = moved & (size < (1 - TOLERANCE) * self._smallest)
        self._smallest[fewer] = size[fewer]
        self._changes[fewer] = self._multiples[fewer] = 0
        ratio = size[moved] / self._smallest[moved]
        self._changes[moved] += 1
        self._multiples[moved] += np.abs(ratio - np.round(ratio)) < TOLERANCE

    def _block(self) -> None:
        """Store the size of the block's increments, and whether it is at rest."""
        sizes = np.abs(self._steps)
        path = np.vstack([np.zeros_like(self._steps[:1]), self._steps.cumsum(0)])
        slot = self._blocks % BLOCKS
        largest = sizes.max(0)
        returned = np.abs(path[-1]) <= largest  # not so if a motion ends or begins in the block
        self._rests[slot] = returned & (np.ptp(path, axis=0) <= RETURNS * largest)
        # In quantised coordinates most increments are 0, and the others are one quantisation step.
        ordered = np.sort(sizes, axis=0)
        zeros = (sizes == 0).sum(0)
        rank = np.minimum(zeros + (INCREMENT_QUANTILE * (STEPS - zeros)).astype(int), STEPS - 1)
        self._sizes[slot] = np.take_along_axis(ordered, rank[None], 0)[0]
        self._blocks += 1

    def _update(self) -> None:
        assert self.resolution is not None
        known = min(self._blocks, BLOCKS)
        sizes, rests = self._sizes[:known], self._rests[:known]
        quantised = (self._changes >= TESTED) & (self._multiples >= 0.95 * self._changes)
        for i in range(self.resolution.size):
            resting = np.sort(sizes[rests[:, i], i])
            if len(resting) < LEAST_RESTING:
                continue  # the last estimate is kept
            size = resting[len(resting) // 2]
            if quantised[i]:
                size = max(size, self._smallest[i])
            if rests[sizes[:, i] <= 2 * size, i].mean() >= LEAST_SHARE:
                self.resolution[i] = max(DEVIATIONS * size, FINEST)


class Rest:
    """Decides whether the states of a window differ by their noise at rest alone.

    Noise without motion has the shape of rest, too (vibrations, forces), and may be informative. So
    a stream is never at rest before it has clearly moved.
    """

    def __init__(self) -> None:
        self._noise = RestingNoise()
        self._newest: NDArray[np.float64] | None = None
        self._lowest, self._highest = np.array(np.inf), np.array(-np.inf)

    def add(self, state: NDArray[np.float64] | None) -> None:
        """Take the next state [d]; None if there is none."""
        before, self._newest = self._newest, None if state is None else state.reshape(-1).copy()
        if self._newest is None:
            self._noise.add(None)
            return
        self._noise.add(None if before is None else self._newest - before)
        self._lowest = np.minimum(self._lowest, self._newest)
        self._highest = np.maximum(self._highest, self._newest)

    def within(self, states: NDArray[np.float64]) -> bool:
        """Whether states [n, d] of this stream are at rest."""
        resolution = self._noise.resolution
        if resolution is None or not (np.ptp(states, axis=0) <= WITHIN * resolution).all():
            return False
        return bool((self._highest - self._lowest >= CLEARLY * resolution).any())
