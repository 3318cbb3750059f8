"""Boundaries of phases: cuts of trajectories that reduce the entropy of their motion most.

All trajectories are cut into the same sequence of phases z, each trajectory at steps of its own.
The *gain* of a cut is the reduction of the entropy of the motion ds (`phases.py`) that it makes:

    gain = h(ds) - h(ds | z) = (1/n) sum_t [log p(ds_t | phase after the cut) - log p(ds_t)]

in nats per step. It is not a mutual information with a bound: a binary phase has at most log 2
nats of information about anything, and every good cut reaches that. The reduction still ranks cuts.

One cut is found by alternating two steps until nothing changes: fit both densities, then move each
trajectory's cut to its best place (hard EM of a left-right hidden Markov model). Each further cut
splits the phase where the gain is largest.

The gain counts every step of a phase, so a release shortly before the end gains little. The
*contrast* is the log-ratio of the two phases over a few steps on either side of the cut: it
measures how sharp a cut is, but follows noise. Cuts are ranked by their *strength*, the geometric
mean of gain and contrast.

A cut is dated to the end of the first increment of its new phase. Where motion ends in rest, the
longer increments end three lags later, and the cut can be late by as much.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..errors import InputError
from .phases import Motion, Phases, fit_motion

SHRINKAGE = 0.02  # of a phase's covariance towards the pooled one, and the ridge added to it
SHORTEST = 3  # steps of a phase
STARTS = (0.25, 0.5, 0.75)  # of the segment: where the search for a cut starts
ROUNDS = 25
CONVERGED = 1e-4  # nats per step: a round that gains less is the last one
PROPOSALS = 10  # cuts from which the K strongest are taken; more if K is more
ROTATIONS = 19  # of the null: the smallest p-value is 1 / (ROTATIONS + 1) = 0.05

Float = NDArray[np.floating[Any]]  # float32, but for what is kept of a phase


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
        In the order in which they were made.
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

    def null_gains(self, rng: np.random.Generator, count: int) -> Float:
        """Gains of the next cut where trajectories share no order within its phase [count].

        In each trajectory, the steps of the phase that `cut` would split are rotated by a random
        number of steps. Rotation keeps the motion and the dependence of neighbouring steps, and
        removes the order that trajectories share. Nats per step of all trajectories, as `gain`.
        """
        best = self._best()
        first = self.bounds[best]
        lengths = self.bounds[best + 1] - first
        gains = np.zeros(count)
        for i in range(count):
            rows = _rows(self.starts + first, lengths, rng.integers(lengths))
            found = self._split(self.scores[rows], lengths)
            gains[i] = 0.0 if found is None else found[1] / len(self.scores)
        return gains

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

    def fit_phases(self, motion: Motion, cuts: Sequence[NDArray[np.int64]]) -> Phases:
        """Densities of the phases between some of the cuts, given in order of time."""
        bounds = [self.bounds[0], *cuts, self.lengths]
        parts = [(bounds[i], bounds[i + 1]) for i in range(len(bounds) - 1)]
        fits = [self._gaussian(self.scores[_rows(self.starts + a, b - a)]) for a, b in parts]
        return Phases(
            motion,
            np.stack([mean for mean, _ in fits]),
            np.stack([whitening for _, whitening in fits]),
            np.array([float((b - a).mean()) for a, b in parts]),
        )

    def _best(self) -> int:
        """The phase whose split has the largest gain."""
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
        white = (scores - mean.astype(scores.dtype)) @ whitening.T.astype(scores.dtype)
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
    states: Sequence[NDArray[np.float64]],
    lag: int,
    count: int,
    resolution: NDArray[np.float64] | None,
) -> tuple[Motion, Segmentation, NDArray[np.intp]]:
    """Proposed cuts of trajectories, and their order by strength.

    Parameters
    ----------
    states : sequence of [T_i, d] float64
    lag : int
    count : int
        K, cuts that are needed.
    resolution : [d], optional

    Returns
    -------
    Motion
    Segmentation
        With max(K, 10) cuts, or as many as fit.
    [cuts] int
        Numbers of the cuts, strongest first.

    Raises
    ------
    InputError
        All coordinates are constant, or fewer than K cuts fit.
    """
    motion, scores = fit_motion(states, lag, resolution)
    if not len(motion.columns):
        raise InputError(
            "all coordinates are constant in these trajectories: record states that move"
        )
    lengths = np.array([len(s) - motion.reach for s in states])
    segmentation = Segmentation(scores, lengths, motion.reach)
    while len(segmentation.cuts) < max(count, PROPOSALS) and segmentation.next_gain > -np.inf:
        segmentation.cut()
    if len(segmentation.cuts) < count:
        raise InputError(
            f"only {len(segmentation.cuts)} key states fit into these trajectories, and k is "
            f"{count}: pass a smaller k, or longer trajectories"
        )
    return motion, segmentation, np.argsort(-np.array(segmentation.strength), kind="stable")


def p_values(segmentation: Segmentation, chosen: NDArray[np.intp]) -> NDArray[np.float64]:
    """p-values of chosen cuts, by making all cuts again and comparing each with its null.

    The p-value of a cut is at least that of every cut that was made before it, for the best of many
    candidates is chosen each time.
    """
    rng = np.random.default_rng(0)
    again = Segmentation(segmentation.scores, segmentation.lengths, segmentation.window)
    found = np.empty(max(chosen) + 1)
    for i in range(len(found)):
        null = again.null_gains(rng, ROTATIONS)
        found[i] = (1 + (null >= again.next_gain).sum()) / (ROTATIONS + 1)
        again.cut()
    return np.asarray(np.maximum.accumulate(found)[chosen], np.float64)


def _rows(
    starts: NDArray[np.int64], lengths: NDArray[np.int64], turn: NDArray[np.int64] | None = None
) -> NDArray[np.int64]:
    """Rows of segments, end to end; each rotated by `turn` rows."""
    row = np.arange(lengths.sum()) - np.repeat(np.cumsum(lengths) - lengths, lengths)
    if turn is not None:
        row = (row + np.repeat(turn, lengths)) % np.repeat(lengths, lengths)
    return row + np.repeat(starts, lengths)
