"""Progress within each part of a task: a model of one step, fitted to demonstrations.

Each part is split into bins of equal time. The features of a step are the coordinates, relative
positions of tool, held and reference objects, and mean velocities of the last quarter of a second.
They are projected onto the directions that separate the bins (shrunk linear discriminants). There,
each bin is a Gaussian of the same covariance. `progress_filter.py` follows an episode through the
bins.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .coordinates import Coordinates
from .json_file import floats, indices, integer, number

Float = NDArray[np.float64]
Int = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class ProgressModel:
    """Bins of the parts of one tool, and the distribution of states in each."""

    parts: Int  # [P], indices in `Subtasks.parts`, in order of time
    bins: Int  # [P], number of bins of each part; K in all
    # [m, 6], columns of the recorded states: two positions whose difference is a feature.
    pairs: Int
    back: int  # working steps over which velocities are taken
    centre: Float  # [p], mean of each coordinate
    scale: Float  # [p], standard deviation
    rms: Float  # [p], root mean square increment over `back`
    # [5 m], mean of the relative positions, the logarithms of their lengths, and the logarithms of
    # their lengths relative to those at the start.
    centre_between: Float
    scale_between: Float  # [5 m], standard deviation of these
    projection: Float  # [f, q]
    offset: Float  # [q]
    # [K, q], mean of the projected features in each bin; the standard deviation within a bin is 1
    # in all directions.
    means: Float
    end: Float  # [q], mean of the projected features at the ends, at rest
    before: Float  # [P + 1], share of the task's duration before each part, and 1
    start: Float  # [K], probability of each bin at the first step
    # [n, 2] and [n]: a bin and one that a step may lead to, with the probability of that.
    moves: Int
    probabilities: Float
    # Probability that a step leads to any bin of the present part or an earlier one: a retry, or a
    # mistake. Later parts are reached through the bins in between, from the first bin on. With
    # jumps, a pose that occurs in two parts would soon be taken for the later one.
    anywhere: float
    temper: float  # weight of a step's log-likelihood, because successive steps are dependent
    certain: float  # probability from which the part may go back to an earlier one
    near: float  # increments up to this multiple of the rms one leave the state nearly equal
    cap: float  # root mean square distance above which a bin becomes no less likely
    clip: float  # standard deviations of a feature, at most
    resolution: float  # of distances, in their unit

    @property
    def first(self) -> Int:
        """First bin of each part [P]."""
        return np.concatenate([[0], np.cumsum(self.bins)[:-1]]).astype(np.int64)

    @property
    def part(self) -> Int:
        """Part of each bin [K], as index within the tool's parts."""
        return np.repeat(np.arange(len(self.bins)), self.bins)

    def project(self, x: Float, earlier: Float, between: Float, start: Float) -> Float:
        """Projected features [..., q] of working steps.

        `x` and `earlier` [..., p] are coordinates of the step, and of `back` steps before.
        `between` and `start` [..., 3 m] are relative positions at the step, and at the first step
        of the episode, m.
        """
        return self.features(x, earlier, between, start) @ self.projection - self.offset

    def features(self, x: Float, earlier: Float, between: Float, start: Float) -> Float:
        """Features [..., f] of working steps; arguments are those of `project`."""
        long = with_lengths(between, start, self.resolution)
        return np.concatenate(
            [
                ((x - self.centre) / self.scale).clip(-self.clip, self.clip),
                _velocity((x - earlier) / self.rms),
                ((long - self.centre_between) / self.scale_between).clip(-self.clip, self.clip),
            ],
            axis=-1,
        )

    @classmethod
    def from_dict(cls, values: dict[str, Any], coordinates: Coordinates) -> "ProgressModel":
        """From the values of a file; ValueError, KeyError or TypeError if they do not fit."""
        parts, bins = (np.asarray(values[name], np.int64) for name in ("parts", "bins"))
        if parts.ndim != 1 or not len(parts) or parts.shape != bins.shape or bins.min() < 1:
            raise ValueError(f"{parts} parts with {bins} bins")
        pairs = indices(values, "pairs", coordinates.width).reshape(-1, 6)
        back, count, p = integer(values, "back", 1), int(bins.sum()), len(coordinates.parts)
        m, q = 5 * len(pairs), len(values["offset"])
        moves = indices(values, "moves", count).reshape(-1, 2)
        if q < 1:
            raise ValueError(f"{q} directions")
        shapes = {
            "centre": (p,), "scale": (p,), "rms": (p,), "centre_between": (m,),
            "scale_between": (m,), "projection": (2 * p + m, q), "offset": (q,),
            "means": (count, q), "end": (q,), "before": (len(parts) + 1,), "start": (count,),
            "probabilities": (len(moves),),
        }  # fmt: skip
        positive = ("scale", "rms", "scale_between", "probabilities")
        arrays: dict[str, Any] = {
            name: floats(values, name, *shape, positive=name in positive)
            for name, shape in shapes.items()
        }
        if arrays["start"].min() < 0 or not arrays["start"].any():
            raise ValueError(f"start {arrays['start'].tolist()}")
        numbers = ("anywhere", "temper", "certain", "near", "cap", "clip", "resolution")
        settings: dict[str, Any] = {name: number(values, name) for name in numbers}
        if settings["anywhere"] >= 1:
            raise ValueError(f"anywhere is {settings['anywhere']}")
        return cls(parts, bins, pairs, back, **arrays, moves=moves, **settings)


def relative(states: Float, pairs: Int) -> Float:
    """Relative positions [..., 3 m] of recorded states [..., d], for pairs [m, 6] of columns."""
    apart = states[..., pairs[:, 3:]] - states[..., pairs[:, :3]]
    return np.asarray(apart.reshape(*states.shape[:-1], 3 * len(pairs)))


def _velocity(ratio: Float) -> Float:
    return np.asarray(np.sign(ratio) * np.log1p(np.abs(ratio)))


def with_lengths(between: Float, start: Float, resolution: float) -> Float:
    """Relative positions, logarithms of their lengths, and logarithms relative to the start."""
    now, first = _log_length(between, resolution), _log_length(start, resolution)
    return np.concatenate([between, now, now - first], axis=-1)


def _log_length(between: Float, resolution: float) -> Float:
    apart = between.reshape(*between.shape[:-1], -1, 3)
    return np.asarray(np.log(np.sqrt((apart**2).sum(axis=-1)) + resolution))
