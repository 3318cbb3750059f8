"""Boundaries of phases: cuts of trajectories that reduce the entropy of their motion most.

All trajectories are cut into the same sequence of phases z, each trajectory at steps of its own.
The *gain* of a cut is the reduction of the entropy of the motion ds:

    gain = h(ds) - h(ds | z) = (1/n) sum_t [log p(ds_t | phase after the cut) - log p(ds_t)]

in nats per step. The gain is not a mutual information: a binary phase has at most log 2 nats of
information about anything, and every good cut reaches that. The gain has no such bound and still
ranks cuts.

One cut is found by hard EM of a left-right hidden Markov model. Two steps alternate until nothing
changes: fit both densities, then move each trajectory's cut to its best place. Each further cut
splits the phase where the gain is largest.

The gain counts every step of a phase, so a release shortly before the end gains little. The
*contrast* is the log-ratio of the two phases over a few steps on either side of the cut: it
measures how sharp a cut is, but follows noise. Cuts are ranked by their *strength*, the geometric
mean of gain and contrast.

A cut is dated to the end of the first increment of its new phase. Increments over three lags are
still non-zero up to three lags after a motion has ended, so a cut at rest can be late by as much.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from infoatlas_rt.estimation.canonical import normal_scores

SHRINKAGE = 0.02  # of a phase's covariance towards the pooled one; also the ridge
SHORTEST = 3  # smallest number of steps of a phase
STARTS = (0.25, 0.5, 0.75)  # of the segment: where the search for a cut starts
ROUNDS = 25
CONVERGED = 1e-4  # nats per step: a round that gains less is the last one
REST_RANGE = 1e-4  # of a coordinate's range: a smaller increment is rest
PROPOSALS = 10  # cuts from which the K strongest are chosen; at least K
SPANS = (1, 3)  # increments over these many lags; the longer one still shows motion under noise

Float = NDArray[np.floating[Any]]  # float32 within a segmentation
Int = NDArray[np.int64]


class Segmentation:
    """Nested cuts of trajectories into phases that all trajectories share.

    Parameters
    ----------
    scores : [sum(lengths), p] float64
        Motion of all trajectories, end to end.
    lengths : [N] int64
    window : int
        Rows on either side of a cut over which its contrast is taken.

    Attributes
    ----------
    bounds : list of [N] int64
        First row of every phase in each trajectory, in order of time, and the lengths last.
    cuts : list of [N] int64
        Cuts in the order in which they were made.
    gain : list of float
        Reduction of the entropy of motion by each cut, nats per step.
    strength : list of float
        Geometric mean of the gain and the contrast of each cut, nats per step.
    """

    def __init__(self, scores: Float, lengths: NDArray[np.int64], window: int) -> None:
        self.scores, self.lengths = scores.astype(np.float32), lengths
        self.window = window
        self.starts = np.cumsum(lengths) - lengths
        self.pooled = np.cov(scores.T, bias=True).reshape(scores.shape[1], -1)
        self.bounds = [np.zeros_like(lengths), lengths]
        self.cuts: list[NDArray[np.int64]] = []
        self.gain: list[float] = []
        self.strength: list[float] = []
        self._proposals: list[tuple[NDArray[np.int64], float] | None] = [self._propose(0)]

    @property
    def next_gain(self) -> float:
        """Gain of the next cut, nats per step; -inf if every phase is too short for one."""
        proposal = self._proposals[self._best()]
        return -np.inf if proposal is None else proposal[1] / len(self.scores)

    def cut(self) -> None:
        """Make the cut with the largest gain; `next_gain` has to be finite."""
        best = self._best()
        proposal = self._proposals[best]
        assert proposal is not None
        contrast = self._contrast(self.bounds[best], proposal[0], self.bounds[best + 1])
        self.cuts.append(proposal[0])
        self.gain.append(proposal[1] / len(self.scores))
        self.strength.append(float(np.sqrt(self.gain[-1] * max(contrast, 0.0))))
        self.bounds.insert(best + 1, proposal[0])
        self._proposals[best : best + 1] = [self._propose(best), self._propose(best + 1)]

    def _contrast(
        self, before: NDArray[np.int64], cut: NDArray[np.int64], after: NDArray[np.int64]
    ) -> float:
        """Log-ratio of the phases on either side of a cut, over the steps near it, nats a step."""
        left = self.scores[_rows(self.starts + before, cut - before)]
        right = self.scores[_rows(self.starts + cut, after - cut)]
        total = 0.0
        for sign, first, last in (
            (1, np.maximum(before, cut - self.window), cut),
            (-1, cut, np.minimum(after, cut + self.window)),
        ):
            near = self.scores[_rows(self.starts + first, last - first)]
            ratio = self._log_density(left, near) - self._log_density(right, near)
            total += sign * float(ratio.sum())
        return total / (2 * self.window * len(cut))

    def _best(self) -> int:
        """Index of the phase whose split has the largest gain."""
        return int(np.argmax([-np.inf if p is None else p[1] for p in self._proposals]))

    def _propose(self, phase: int) -> tuple[NDArray[np.int64], float] | None:
        """Best cut of one phase, as rows of each trajectory, and its gain in nats."""
        first, last = self.bounds[phase], self.bounds[phase + 1]
        found = self._split(self.scores[_rows(self.starts + first, last - first)], last - first)
        return None if found is None else (found[0] + first, found[1])

    def _split(
        self, scores: Float, lengths: NDArray[np.int64]
    ) -> tuple[NDArray[np.int64], float] | None:
        """Best common cut of segments [sum(lengths), p] into two phases, and its gain in nats."""
        count = len(lengths)
        # A few segments may be too short for two phases; they are cut in the middle.
        if lengths.min() < 2 or (lengths >= 2 * SHORTEST).mean() < 0.8:
            return None
        which = np.repeat(np.arange(count), lengths)
        row = np.arange(len(scores)) - np.repeat(np.cumsum(lengths) - lengths, lengths)
        place = np.arange(lengths.max() + 1)
        middle = lengths[:, None] // 2
        allowed = (place >= np.minimum(SHORTEST, middle)) & (
            place <= np.maximum(lengths[:, None] - SHORTEST, middle)
        )
        ratio = np.zeros((count, lengths.max()))
        best: tuple[NDArray[np.int64], float] | None = None
        for start in STARTS:
            cut = np.rint(start * lengths).astype(np.int64)
            cut = cut.clip(np.minimum(SHORTEST, lengths // 2), lengths - 1)
            total = -np.inf
            for _ in range(ROUNDS):
                before = row < cut[which]
                left = self._log_density(scores[before], scores)
                right = self._log_density(scores[~before], scores)
                ratio[which, row] = left - right
                gained = np.concatenate([np.zeros((count, 1)), ratio.cumsum(axis=1)], axis=1)
                gained[~allowed] = -np.inf
                new, previous = gained.argmax(axis=1), total
                total = float(right.sum() + gained.max(axis=1).sum())
                if (new == cut).all() or total - previous < CONVERGED * len(scores):
                    break
                cut = new
            if best is None or total > best[1]:
                best = cut, total
        assert best is not None
        return best[0], best[1] - float(self._log_density(scores, scores).sum())

    def _log_density(self, sample: Float, scores: Float) -> Float:
        """Log-density [n] of scores under the Gaussian of a sample, up to a constant."""
        mean, whitening = self._gaussian(sample)
        white = scores @ whitening.T.astype(scores.dtype)
        white -= (whitening @ mean).astype(scores.dtype)
        squares = np.einsum("ij,ij->i", white, white).astype(np.float64)
        return np.asarray(np.log(np.diagonal(whitening)).sum() - 0.5 * squares)

    def _gaussian(self, sample: Float) -> tuple[Float, Float]:
        """Mean [p] and inverse Cholesky factor [p, p] of the shrunk covariance of a sample."""
        mean = sample.mean(axis=0, dtype=np.float64)
        centred = sample - mean.astype(sample.dtype)
        covariance = (1 - SHRINKAGE) / len(sample) * (centred.T @ centred) + SHRINKAGE * self.pooled
        covariance[np.diag_indices_from(covariance)] += SHRINKAGE
        return mean, np.linalg.inv(np.linalg.cholesky(covariance))


def ranked_cuts(
    states: Sequence[NDArray[np.float64]], lag: int, rest: NDArray[np.float64], count: int
) -> tuple[Int, NDArray[np.float64]]:
    """Boundaries of phases, strongest first.

    Parameters
    ----------
    states : sequence of [T_i, p] float64
        Working steps, none of them constant everywhere; T_i > 3 lag.
    lag : int
        Working steps.
    rest : [p] float64
        Increments below it are 0.
    count : int
        K, the number of boundaries to find.

    Returns
    -------
    steps : [N, K'] int64
        Working steps; K' is below K if no more fit into the demonstrations.
    strength : [K'] float64
        Nats per step.
    """
    reach = max(SPANS) * lag
    lengths = np.array([len(s) - reach for s in states])
    scores = motion_scores(states, lag, rest)
    if not scores.shape[1]:  # every increment is rest
        return np.zeros((len(states), 0), np.int64), np.zeros(0)
    segmentation = Segmentation(scores, lengths, reach)
    while len(segmentation.cuts) < max(count, PROPOSALS) and segmentation.next_gain > -np.inf:
        segmentation.cut()
    strength = np.array(segmentation.strength)
    ranked = np.argsort(-strength, kind="stable")[:count]
    if not len(ranked):
        return np.zeros((len(states), 0), np.int64), strength
    steps = np.stack([segmentation.cuts[i] for i in ranked], axis=1) + reach
    return steps.astype(np.int64), strength[ranked]


def motion_scores(
    states: Sequence[NDArray[np.float64]], lag: int, rest: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Increments over one and three lags as pooled normal scores of unit variance.

    Increments below `rest` are set to exactly 0. Otherwise ranks would scale the noise of a robot
    at rest up to the size of its motion.

    Returns
    -------
    [sum(T_i - 3 lag), q] float64
        Row i of a demonstration contains the increments that end at step i + 3 lag.
    """
    motion = np.concatenate(
        [
            np.concatenate(
                [increments(s, m * lag, rest)[(max(SPANS) - m) * lag :] for m in SPANS], axis=1
            )
            for s in states
        ]
    )
    motion = np.ascontiguousarray(motion[:, (motion != motion[:1]).any(axis=0)].T)
    if not len(motion):
        return np.zeros((motion.shape[1], 0))
    scores = normal_scores(motion)
    return np.asarray((scores / scores.std(axis=1, keepdims=True)).T)


def rest_limits(
    states: Sequence[NDArray[np.float64]], resolution: NDArray[np.float64] | None = None
) -> NDArray[np.float64]:
    """Increments of raw states below these count as rest [d].

    The resolution, or REST_RANGE of the coordinate's range between its 0.1% and 99.9% quantiles.
    """
    low, high = np.quantile(np.concatenate(states), [0.001, 0.999], axis=0)
    limits = REST_RANGE * (high - low)
    return np.asarray(limits if resolution is None else np.maximum(limits, resolution))


def increments(
    states: NDArray[np.float64], lag: int, rest: NDArray[np.float64]
) -> NDArray[np.float64]:
    """States [T, p] minus those `lag` steps before [T - lag, p]; 0 where that is below `rest`."""
    found = states[lag:] - states[:-lag]
    return np.asarray(np.where(np.abs(found) < rest, 0.0, found))


def _rows(starts: Int, lengths: Int) -> Int:
    """Rows of segments, end to end."""
    row = np.arange(lengths.sum()) - np.repeat(np.cumsum(lengths) - lengths, lengths)
    return row + np.repeat(starts, lengths)
