"""Motion of trajectories as normal scores, and the phases that are fitted to it.

The motion ds_t holds the increments of every coordinate over one and over three lags, as pooled
normal scores (a Gaussian copula). A phase is a Gaussian in that space. `segmentation.py` finds
where the phases begin, and `tracker.py` filters a running episode through them.

Increments too small to mean anything are rest, exactly 0: ranks would scale the numerical noise of
a robot at rest up to the size of its motion.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..estimation.canonical import normal_scores

Float = NDArray[np.float64]

STILL = 1e-4  # of a coordinate's range: a smaller increment is rest

SPANS = (1, 3)  # increments over these many lags; the longer one still shows motion under noise
KNOTS = 129  # of the table from an increment to its normal score


@dataclass(frozen=True, eq=False)
class Motion:
    """The map from states to motion: increments as normal scores.

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
        x = without_rest(increments, self.still)
        right = (self.knots <= x[..., None]).sum(axis=-1).clip(1, KNOTS - 1)
        at = np.arange(len(self.columns))
        low, high = self.knots[at, right - 1], self.knots[at, right]
        part = ((x - low) / np.maximum(high - low, 1e-300)).clip(0.0, 1.0)
        return np.asarray(self.scores[at, right - 1] * (1 - part) + self.scores[at, right] * part)


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
        return np.asarray(volume - 0.5 * (white**2).sum(axis=2))

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
    """Fit the map from increments to normal scores to trajectories, and apply it to them.

    Parameters
    ----------
    states : sequence of [T_i, d] float64, T_i > 3 lag
    lag : int
    resolution : [d] float64, optional
        What the sensors resolve: increments below it are rest.

    Returns
    -------
    Motion, [sum(T_i - 3 lag), p] float64
        Row i of a trajectory holds the increments that end at step i + 3 lag. p is 0 if all
        coordinates are constant.
    """
    limits = rest_limits(states, resolution)
    motion = np.concatenate(
        [
            np.concatenate(
                [increments(s, m * lag, limits)[(max(SPANS) - m) * lag :] for m in SPANS], axis=1
            )
            for s in states
        ]
    )
    columns = np.flatnonzero((motion != motion[:1]).any(axis=0))
    motion = np.ascontiguousarray(motion[:, columns].T)  # [p, n]
    n = motion.shape[1]
    scores = normal_scores(motion) if len(columns) else motion
    scores = scores / scores.std(axis=1, keepdims=True)
    knots, table = np.empty((2, len(columns), KNOTS))
    for j, (value, score) in enumerate(zip(motion, scores, strict=True)):
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
    still = np.tile(limits, len(SPANS))[columns]
    return Motion(lag, states[0].shape[1], columns, still, knots, table), scores.T.copy()


def rest_limits(states: Sequence[Float], resolution: Float | None = None) -> Float:
    """Increments below these count as rest.

    Parameters
    ----------
    states : sequence of [T_i, d]
        All trajectories.
    resolution : [d], optional
        What the sensors resolve, in the units of the states.

    Returns
    -------
    [d]
        The resolution, or `STILL` of the coordinate's range, whichever is larger.
    """
    low = np.min([s.min(axis=0) for s in states], axis=0)
    high = np.max([s.max(axis=0) for s in states], axis=0)
    limits = STILL * (high - low)
    return np.asarray(limits if resolution is None else np.maximum(limits, resolution))


def without_rest(increments: Float, limits: Float) -> Float:
    """The same increments, with 0 where they are below the limits of their coordinates."""
    return np.where(np.abs(increments) < limits, 0.0, increments)


def increments(states: Float, lag: int, limits: Float) -> Float:
    """States [T, d] minus those `lag` steps before, without rest: [T - lag, d]."""
    return without_rest(states[lag:] - states[:-lag], limits)
