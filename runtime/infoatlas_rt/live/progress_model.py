"""Progress within each part of a task: a model of one step, fitted to demonstrations.

Each part is split into bins of equal time. The features of a step are the coordinates, relative
positions of tool, held and reference objects, and mean velocities of the last quarter of a second.
They are projected onto the directions that separate the bins (shrunk linear discriminants). There,
each bin is a Gaussian of the same covariance. `filter.py` follows an episode through the bins.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

Float = NDArray[np.float64]
Int = NDArray[np.int64]

BINS = 8  # of a part, at most
FEWEST_STEPS = 2.0  # working steps of a bin in the median demonstration, at least
BACK = 0.25  # seconds over which velocities are taken
NEAREST = 0.002  # metres: the resolution of distances
DIRECTIONS = 12  # at most: those that separate the bins best
SHRINK = 0.3  # of the covariance within bins, towards the identity
CLIP = 6.0  # standard deviations of a feature, at most


@dataclass(frozen=True, eq=False)
class ProgressModel:
    """Bins of the parts of one tool, and the distribution of states in each.

    Attributes
    ----------
    parts : [P] int64
        Indices in `Subtasks.parts`, in order of time.
    bins : [P] int64
        Number of bins of each part; K in all.
    pairs : [m, 6] int64
        Columns of the recorded states: two positions whose difference is a feature.
    back : int
        Working steps over which velocities are taken.
    centre, scale, rms : [p] float64
        Mean, standard deviation, and root mean square increment over `back`, of each coordinate.
    centre_between, scale_between : [5 m] float64
        The same of the relative positions, the logarithms of their lengths, and the logarithms of
        their lengths relative to those at the start.
    projection : [f, q] float64
    offset : [q] float64
    means : [K, q] float64
        Mean of the projected features in each bin; the standard deviation within a bin is 1 in all
        directions.
    duration : [K] float64
        Working steps of a bin in the median demonstration.
    absent : [P] float64
        Share of the demonstrations that lack the part.
    """

    parts: Int
    bins: Int
    pairs: Int
    back: int
    centre: Float
    scale: Float
    rms: Float
    centre_between: Float
    scale_between: Float
    projection: Float
    offset: Float
    means: Float
    duration: Float
    absent: Float

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

        Parameters
        ----------
        x, earlier : [..., p] float64
            Coordinates of the step, and of `back` steps before.
        between, start : [..., 3 m] float64
            Relative positions at the step, and at the first step of the episode, m.
        """
        return self._features(x, earlier, between, start) @ self.projection - self.offset

    def _features(self, x: Float, earlier: Float, between: Float, start: Float) -> Float:
        return np.concatenate(
            [
                ((x - self.centre) / self.scale).clip(-CLIP, CLIP),
                _velocity((x - earlier) / self.rms),
                ((_with_lengths(between, start) - self.centre_between) / self.scale_between).clip(
                    -CLIP, CLIP
                ),
            ],
            axis=-1,
        )

    def to_dict(self) -> dict[str, Any]:
        """Plain lists, for a JSON file."""
        return {name: np.asarray(value).tolist() for name, value in vars(self).items()}

    @classmethod
    def from_dict(cls, values: dict[str, Any], coordinates: int, columns: int) -> ProgressModel:
        """Inverse of `to_dict`; ValueError, KeyError or TypeError if it does not fit together."""
        parts, bins = (np.asarray(values[name], np.int64) for name in ("parts", "bins"))
        pairs = np.asarray(values["pairs"], np.int64).reshape(-1, 6)
        if parts.ndim != 1 or not len(parts) or parts.shape != bins.shape or bins.min() < 1:
            raise ValueError(f"{parts} parts with {bins} bins")
        if not ((pairs >= 0) & (pairs < columns)).all():
            raise ValueError(f"positions in columns {pairs} of {columns}")
        back, count = int(values["back"]), int(bins.sum())
        offset = np.asarray(values["offset"], np.float64)
        width, q = 2 * coordinates + 5 * len(pairs), len(offset)
        shapes = {
            "centre": (coordinates,), "scale": (coordinates,), "rms": (coordinates,),
            "centre_between": (5 * len(pairs),), "scale_between": (5 * len(pairs),),
            "projection": (width, q), "offset": (q,), "means": (count, q), "duration": (count,),
            "absent": (len(parts),),
        }  # fmt: skip
        arrays = {}
        for name, shape in shapes.items():
            array = arrays[name] = np.asarray(values[name], np.float64)
            if array.shape != shape and array.size != int(np.prod(shape)):
                raise ValueError(f"{name} has shape {array.shape}, and needs {shape}")
            arrays[name] = array = array.reshape(shape)
            if not np.isfinite(array).all():
                raise ValueError(f"{name} is not finite")
        for name in ("scale", "rms", "scale_between", "duration"):
            if (arrays[name] <= 0).any():
                raise ValueError(f"{name} is not above 0")
        if back < 1 or q < 1:
            raise ValueError(f"back {back}, {q} directions")
        return cls(parts, bins, pairs, back, **arrays)


@dataclass(frozen=True, eq=False)
class Example:
    """One demonstration in working steps.

    Attributes
    ----------
    x : [T, p] float64
        Coordinates.
    between : [T, 3 m] float64
        Relative positions.
    cuts : [P + 1] float64
        Steps at which the parts begin, and the end; equal where a part is absent.
    """

    x: Float
    between: Float
    cuts: Float

    @property
    def lacks(self) -> NDArray[np.bool_]:
        """Parts that the demonstration does not have [P]."""
        return np.diff(self.cuts) <= 0

    def truth(self) -> tuple[Int, Float]:
        """Part [T], and share of its duration that has passed [T], at each step."""
        t = np.arange(len(self.x)) + 0.5
        part = np.searchsorted(self.cuts[1:], t, side="right").clip(0, len(self.cuts) - 2)
        length = np.maximum(np.diff(self.cuts)[part], 1e-9)
        return part.astype(np.int64), ((t - self.cuts[part]) / length).clip(0, 1)


def earlier(x: Float, back: int) -> Float:
    """Rows of x [T, p] from `back` steps before; the first row at the beginning."""
    return x[np.maximum(np.arange(len(x)) - back, 0)]


def fit_progress(examples: Sequence[Example], parts: Int, pairs: Int, back: int) -> ProgressModel:
    """Fit a model to demonstrations; see `ProgressModel`."""
    cuts = np.stack([example.cuts for example in examples])
    lengths = np.diff(cuts, axis=1)
    there = lengths > 0
    median = np.array(
        [
            np.median(own[has]) if has.any() else 1.0
            for own, has in zip(lengths.T, there.T, strict=True)
        ]
    )
    bins = np.clip(median // FEWEST_STEPS, 1, BINS).astype(np.int64)
    first = np.concatenate([[0], np.cumsum(bins)[:-1]])
    x, between = (np.concatenate([getattr(e, n) for e in examples]) for n in ("x", "between"))
    before = np.concatenate([earlier(e.x, back) for e in examples])
    start = np.concatenate([np.repeat(e.between[:1], len(e.x), axis=0) for e in examples])
    truths = [e.truth() for e in examples]
    part, share = (np.concatenate([t[i] for t in truths]) for i in (0, 1))
    label = first[part] + np.minimum((share * bins[part]).astype(np.int64), bins[part] - 1)
    long = _with_lengths(between, start)
    scale, scale_between = _deviation(x), _deviation(long)
    rms = np.sqrt(((x - before) ** 2).mean(axis=0))
    model = ProgressModel(
        parts, bins, pairs, back, x.mean(axis=0), scale,
        np.where(rms > 1e-9 * scale, rms, scale), long.mean(axis=0), scale_between,
        np.empty((0, 0)), np.empty(0), np.empty((0, 0)),
        np.repeat(np.maximum(median / bins, 1.0), bins), 1 - there.mean(axis=0),
    )  # fmt: skip
    features = model._features(x, before, between, start)
    projection, means = _discriminants(features, label, int(bins.sum()))
    offset = features.mean(axis=0) @ projection
    return ProgressModel(
        **{**vars(model), "projection": projection, "offset": offset, "means": means - offset}
    )


def _discriminants(features: Float, label: Int, count: int) -> tuple[Float, Float]:
    """Directions [f, q] that separate `count` labels, scaled to unit variance within; and means."""
    number = np.bincount(label, minlength=count)
    sums = np.zeros((count, features.shape[1]))
    np.add.at(sums, label, features)
    means = sums / np.maximum(number, 1)[:, None]
    _fill(means, number)
    rest = features - means[label]
    within = rest.T @ rest / len(rest)
    level = max(float(np.trace(within)) / len(within), 1e-9)
    within = (1 - SHRINK) * within + SHRINK * level * np.eye(len(within))
    value, vector = np.linalg.eigh(within)
    white = vector / np.sqrt(np.maximum(value, 1e-12))
    centred = (means - means.mean(axis=0)) @ white
    _, size, turn = np.linalg.svd(centred, full_matrices=False)
    kept = turn[: min(DIRECTIONS, max(1, int((size > 1e-6 * max(size[0], 1e-12)).sum())))]
    projection = white @ kept.T
    return projection, means @ projection


def _fill(means: Float, number: Int) -> None:
    """Means of labels without steps, from the nearest ones."""
    have = np.flatnonzero(number)
    for i in np.flatnonzero(number == 0):
        means[i] = means[have[np.abs(have - i).argmin()]]


def _velocity(ratio: Float) -> Float:
    return np.asarray(np.sign(ratio) * np.log1p(np.abs(ratio)))


def _with_lengths(between: Float, start: Float) -> Float:
    """Relative positions, logarithms of their lengths, and logarithms relative to the start."""
    now, first = _log_length(between), _log_length(start)
    return np.concatenate([between, now, now - first], axis=-1)


def _log_length(between: Float) -> Float:
    apart = between.reshape(*between.shape[:-1], -1, 3)
    return np.asarray(np.log(np.sqrt((apart**2).sum(axis=-1)) + NEAREST))


def _deviation(values: Float) -> Float:
    found = values.std(axis=0)
    return np.where(found > 1e-9, found, 1.0)
