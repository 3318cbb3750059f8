"""Phases that all trajectories share, and the moments at which one passes into the next.

Every trajectory is cut into the same sequence of phases z, each trajectory at steps of its own. The
cuts are chosen to reduce the entropy of the motion most. The motion ds_t holds the increments of
every coordinate over one and over three lags, as pooled normal scores (a Gaussian copula). A phase
is a Gaussian in that space, and

    gain = h(ds) - h(ds | z) = (1/n) sum_t [log p(ds_t | phase after the cut) - log p(ds_t)]

in nats per step. It is not a mutual information with a bound: a binary phase has at most log 2
nats of information about anything, and every good cut reaches that. The reduction still ranks cuts.

One cut is found by alternating two steps until nothing changes: fit both densities, then move each
trajectory's cut to its best place (hard EM of a left-right hidden Markov model). Further cuts split
the phase whose split gains most. The gain counts every step of a phase, so a release shortly before
the end gains little. The contrast is the log-ratio of the two phases over a few steps on either
side of the cut: it measures how sharp a cut is, but follows noise. Cuts are ranked by the geometric
mean of the two.

A cut is dated to the end of the first increment of its new phase. Where motion ends in rest, the
longer increments end three lags later, and the cut can be late by as much.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .preprocess import normal_scores

SPANS = (1, 3)  # increments over these many lags; the longer one still shows motion under noise
STILL = 1e-4  # of a coordinate's range: a smaller increment is rest
SHRINKAGE = 0.02  # of a phase's covariance towards the pooled one, and the ridge added to it
SHORTEST = 3  # steps of a phase
STARTS = (0.25, 0.5, 0.75)  # of the segment: where the search for a cut starts
ROUNDS = 25
CONVERGED = 1e-4  # nats per step: a round that gains less is the last one
KNOTS = 129  # of the table from an increment to its normal score

Float = NDArray[np.floating[Any]]


@dataclass(frozen=True, eq=False)
class Motion:
    """How states become motion: increments as normal scores.

    Attributes
    ----------
    lag : int
        Steps of the shorter increment.
    width : int
        d, coordinates of a state.
    columns : [p] int64
        Coordinate and span of each score: coordinate + d * span index.
    still : [p] float64
        Increments below it count as 0; units of the coordinate.
    knots, scores : [p, KNOTS] float64
        Table of each column: increments, ascending, and their normal scores of unit variance.
    """

    lag: int
    width: int
    columns: NDArray[np.int64]
    still: Float
    knots: Float
    scores: Float

    @property
    def reach(self) -> int:
        """Steps that the longest increment goes back."""
        return max(SPANS) * self.lag

    def score(self, increments: Float) -> Float:
        """Normal scores [..., p] of increments [..., p], by linear interpolation in the table."""
        x = np.where(np.abs(increments) < self.still, 0.0, increments)
        right = (self.knots <= x[..., None]).sum(axis=-1).clip(1, KNOTS - 1)
        at = np.arange(len(self.columns))
        low, high = self.knots[at, right - 1], self.knots[at, right]
        part = ((x - low) / np.maximum(high - low, 1e-300)).clip(0.0, 1.0)
        return self.scores[at, right - 1] * (1 - part) + self.scores[at, right] * part


@dataclass(frozen=True, eq=False)
class Phases:
    """Fitted phases.

    Attributes
    ----------
    motion : Motion
    mean : [K + 1, p] float64
    whitening : [K + 1, p, p] float64
        Inverse Cholesky factor of each phase's covariance.
    steps : [K + 1] float64
        Mean length of each phase.
    """

    motion: Motion
    mean: Float
    whitening: Float
    steps: Float

    def log_density(self, scores: Float) -> Float:
        """Log-density [n, K + 1] of normal scores [n, p] in every phase, up to a constant."""
        white = np.einsum("kij,nkj->nki", self.whitening, scores[:, None] - self.mean)
        volume = np.log(np.diagonal(self.whitening, axis1=1, axis2=2)).sum(axis=1)
        return volume - 0.5 * (white**2).sum(axis=2)

    def to_dict(self) -> dict[str, Any]:
        """Plain lists, for a JSON file."""
        m = self.motion
        return {
            "lag": m.lag,
            "width": m.width,
            "columns": m.columns.tolist(),
            "still": m.still.tolist(),
            "knots": m.knots.tolist(),
            "scores": m.scores.tolist(),
            "mean": self.mean.tolist(),
            "whitening": self.whitening.tolist(),
            "steps": self.steps.tolist(),
        }

    @classmethod
    def from_dict(cls, values: dict[str, Any]) -> Phases:
        """Inverse of `to_dict`; ValueError, KeyError or TypeError if it does not fit together."""
        motion = Motion(
            int(values["lag"]),
            int(values["width"]),
            np.asarray(values["columns"], np.int64),
            *(np.asarray(values[name], np.float64) for name in ("still", "knots", "scores")),
        )
        mean, whitening, steps = (
            np.asarray(values[name], np.float64) for name in ("mean", "whitening", "steps")
        )
        p, phases = len(motion.columns), len(steps)
        if motion.lag < 1 or motion.width < 1 or not (steps > 0).all():
            raise ValueError(
                f"lag {motion.lag}, {motion.width} coordinates, phases of {steps} steps"
            )
        if not ((motion.columns >= 0) & (motion.columns < len(SPANS) * motion.width)).all():
            raise ValueError(f"columns beyond {motion.width} coordinates")
        shapes = {
            "still": (motion.still, (p,)),
            "knots": (motion.knots, (p, KNOTS)),
            "scores": (motion.scores, (p, KNOTS)),
            "mean": (mean, (phases, p)),
            "whitening": (whitening, (phases, p, p)),
        }
        for name, (array, shape) in shapes.items():
            if array.shape != shape or not np.isfinite(array).all():
                raise ValueError(f"{name} has shape {array.shape}, not {shape}, or is not finite")
        if (np.diff(motion.knots) < 0).any() or (np.diagonal(whitening, 0, 1, 2) <= 0).any():
            raise ValueError("knots descend, or a covariance is not positive")
        return cls(motion, mean, whitening, steps)


def fit_motion(
    states: Sequence[Float], lag: int, resolution: Float | None = None
) -> tuple[Motion, Float]:
    """How the motion of trajectories is scored, and the pooled scores.

    Parameters
    ----------
    states : sequence of [T_i, d] float64, T_i > 3 lag
    lag : int
    resolution : [d] float64, optional
        Increments below it are rest, too.

    Returns
    -------
    Motion, [sum(T_i - 3 lag), p] float64
        Row i of a trajectory holds the increments that end at step i + 3 lag. p is 0 if nothing
        moves.
    """
    reach = max(SPANS) * lag
    increments = np.concatenate(
        [
            np.concatenate(
                [s[reach:] - s[reach - m * lag : len(s) - m * lag] for m in SPANS], axis=1
            )
            for s in states
        ]
    )
    low = np.min([s.min(axis=0) for s in states], axis=0)
    high = np.max([s.max(axis=0) for s in states], axis=0)
    still = STILL * (high - low)
    if resolution is not None:
        still = np.maximum(still, resolution)
    still = np.tile(still, len(SPANS))
    increments[np.abs(increments) < still] = 0.0
    columns = np.flatnonzero((increments != increments[:1]).any(axis=0))
    increments = np.ascontiguousarray(increments[:, columns].T)  # [p, n]
    n = increments.shape[1]
    scores = normal_scores(increments) if len(columns) else increments
    scores = scores / scores.std(axis=1, keepdims=True)
    knots, table = np.empty((2, len(columns), KNOTS))
    for j, (value, score) in enumerate(zip(increments, scores, strict=True)):
        place = np.argsort(value, kind="stable")
        ascending = score[place]
        even = np.linspace(ascending[0], ascending[-1], KNOTS // 2 - 1)  # dense in the tails
        chosen = np.searchsorted(ascending, even - 1e-9).clip(0, n - 1)
        # Values may repeat (rest does): a jump of the score needs a knot on either side.
        rest = np.searchsorted(value[place], 0.0).clip(0, n - 1)
        chosen = np.r_[chosen, chosen - 1, rest - 1].clip(0)
        at = np.unique(np.r_[value[place[chosen]], 0.0])
        near = place[np.searchsorted(value[place], at).clip(0, n - 1)]
        exact = np.where(value[near] == at, score[near], np.interp(at, value[place], ascending))
        pad = KNOTS - len(at)
        knots[j], table[j] = np.pad(at, (0, pad), "edge"), np.pad(exact, (0, pad), "edge")
    return Motion(lag, states[0].shape[1], columns, still[columns], knots, table), scores.T.copy()


class Segmentation:
    """Nested cuts of trajectories into phases that all of them share.

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
        What each cut gains over all steps, nats per step.
    importance : list of float
        Geometric mean of its gain and its contrast, nats per step.
    """

    def __init__(self, scores: Float, lengths: NDArray[np.int64], window: int) -> None:
        self.scores, self.lengths = scores.astype(np.float32), lengths
        self.window = window
        self.starts = np.cumsum(lengths) - lengths
        self.pooled = np.cov(scores.T, bias=True).reshape(scores.shape[1], -1)
        self.bounds = [np.zeros_like(lengths), lengths]
        self.cuts: list[NDArray[np.int64]] = []
        self.gain: list[float] = []
        self.importance: list[float] = []
        self._proposals: list[tuple[NDArray[np.int64], float] | None] = [self._propose(0)]

    @property
    def next_gain(self) -> float:
        """What the next cut gains, nats per step; -inf if every phase is too short for one."""
        proposal = self._proposals[self._best()]
        return -np.inf if proposal is None else proposal[1] / len(self.scores)

    def cut(self) -> None:
        """Split the phase whose split gains most; `next_gain` has to be finite."""
        best = self._best()
        proposal = self._proposals[best]
        assert proposal is not None
        contrast = self._contrast(self.bounds[best], proposal[0], self.bounds[best + 1])
        self.cuts.append(proposal[0])
        self.gain.append(proposal[1] / len(self.scores))
        self.importance.append(float(np.sqrt(self.gain[-1] * max(contrast, 0.0))))
        self.bounds.insert(best + 1, proposal[0])
        self._proposals[best : best + 1] = [self._propose(best), self._propose(best + 1)]

    def null_gains(self, rng: np.random.Generator, count: int) -> Float:
        """What the next cut would gain if its phase had no order that trajectories share [count].

        In each trajectory, the steps of the phase that `cut` would split are rotated by a random
        number of steps. That keeps how it moves, and how neighbouring steps depend on each other,
        but not what comes before what. Nats per step of all trajectories, as `gain`.
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
        """Log-ratio of the phases that a cut parts, over the steps near it; nats per step."""
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
        """The phase whose split gains most."""
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
        return np.log(np.diagonal(whitening)).sum() - 0.5 * squares

    def _gaussian(self, sample: Float) -> tuple[Float, Float]:
        """Mean [p] and inverse Cholesky factor [p, p] of the shrunk covariance of a sample."""
        mean = sample.mean(axis=0, dtype=np.float64)
        centred = sample - mean.astype(sample.dtype)
        covariance = (1 - SHRINKAGE) / len(sample) * (centred.T @ centred) + SHRINKAGE * self.pooled
        covariance[np.diag_indices_from(covariance)] += SHRINKAGE
        return mean, np.linalg.inv(np.linalg.cholesky(covariance))


def _rows(
    starts: NDArray[np.int64], lengths: NDArray[np.int64], turn: NDArray[np.int64] | None = None
) -> NDArray[np.int64]:
    """Rows of segments, end to end; each rotated by `turn` rows."""
    row = np.arange(lengths.sum()) - np.repeat(np.cumsum(lengths) - lengths, lengths)
    if turn is not None:
        row = (row + np.repeat(turn, lengths)) % np.repeat(lengths, lengths)
    return row + np.repeat(starts, lengths)
