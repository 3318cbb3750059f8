"""Fits a model of progress (`live/progress_model.py`) to demonstrations."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from infoatlas_rt.live.progress_model import ProgressModel, with_lengths

from ...array_types import Float, Int
from ..motion.motion_scales import sensor_noise

BINS = 8  # of a part, at most: few demonstrations describe no more
STEPS_OF_BIN = 2.0  # working steps in the median demonstration, at least
DIRECTIONS = 12  # at most, those that separate the bins best: the others are noise
# The rms increment is at least this multiple of the noise. A step counts as motion by its size
# relative to the rms increment, and a coordinate that only has noise shall not count.
ABOVE_NOISE = 10.0
SHRINK = 0.3  # of the covariance within bins, towards the identity


@dataclass(frozen=True, eq=False)
class Example:
    """One demonstration in working steps."""

    x: Float  # [T, p], coordinates
    between: Float  # [T, 3 m], relative positions
    # [P + 1], steps at which the parts begin, and the end; equal where a part is absent.
    cuts: Float

    def truth(self) -> tuple[Int, Float]:
        """Part [T], and share of its duration that has passed [T], at each step."""
        t = np.arange(len(self.x)) + 0.5
        part = np.searchsorted(self.cuts[1:], t, side="right").clip(0, len(self.cuts) - 2)
        length = np.maximum(np.diff(self.cuts)[part], 1e-9)
        return part.astype(np.int64), ((t - self.cuts[part]) / length).clip(0, 1)


def earlier(x: Float, back: int) -> Float:
    """Rows of x [T, p] from `back` steps before; the first row at the beginning."""
    return x[np.maximum(np.arange(len(x)) - back, 0)]


def rms_increment(states: Sequence[Float], back: int) -> Float:
    """Root mean square increments [p] of states [T, p] over `back` steps, above the noise."""
    increments = np.concatenate([x - earlier(x, back) for x in states])
    noise = sensor_noise(states, increments.shape[1])
    return np.asarray(np.maximum(np.sqrt((increments**2).mean(axis=0)), ABOVE_NOISE * noise))


def fit_progress(examples: Sequence[Example], parts: Int, pairs: Int, back: int) -> ProgressModel:
    """Fit a model to demonstrations; see `ProgressModel`."""
    cuts = np.stack([example.cuts for example in examples])
    lengths = np.diff(cuts, axis=1)
    there = lengths > 0
    median = np.array([np.median(own[own > 0]) if (own > 0).any() else 1.0 for own in lengths.T])
    bins = np.clip(median // STEPS_OF_BIN, 1, BINS).astype(np.int64)
    first = np.concatenate([[0], np.cumsum(bins)[:-1]])
    x, between = (np.concatenate([getattr(e, n) for e in examples]) for n in ("x", "between"))
    before = np.concatenate([earlier(e.x, back) for e in examples])
    start = np.concatenate([np.repeat(e.between[:1], len(e.x), axis=0) for e in examples])
    truths = [e.truth() for e in examples]
    part, share = (np.concatenate([t[i] for t in truths]) for i in (0, 1))
    label = first[part] + np.minimum((share * bins[part]).astype(np.int64), bins[part] - 1)
    resolution = 0.002  # metres
    long = with_lengths(between, start, resolution)
    scale, scale_between = _deviation(x), _deviation(long)
    rms = rms_increment([example.x for example in examples], back)
    duration, absent = np.maximum(median / bins, 1.0), 1 - there.mean(axis=0)
    chain = _chain(bins, duration, absent)
    time = np.bincount(np.repeat(np.arange(len(bins)), bins), np.repeat(duration, bins))
    moves = np.argwhere(chain > 0)
    start_of = np.zeros(len(chain))
    for j, probability in _ahead(first, absent, -1).items():
        start_of[j] = probability
    model = ProgressModel(
        parts, bins, pairs, back, x.mean(axis=0), scale,
        np.where(rms > 1e-9 * scale, rms, scale), long.mean(axis=0), scale_between,
        np.empty((0, 0)), np.empty(0), np.empty((0, 0)), np.empty(0),
        np.concatenate([[0.0], np.cumsum(time) / time.sum()]), start_of, moves,
        chain[moves[:, 0], moves[:, 1]],
        anywhere=1e-6, temper=0.15, certain=0.9, near=0.5, cap=8.0, clip=6.0, resolution=resolution,
    )  # fmt: skip
    features = model.features(x, before, between, start)
    projection, means = _discriminants(features, label, int(bins.sum()))
    offset = features.mean(axis=0) @ projection
    last = np.cumsum([len(e.x) for e in examples]) - 1
    ends = model.features(x[last], x[last], between[last], start[last])  # at rest
    fitted = {"projection": projection, "offset": offset, "means": means - offset}
    fitted["end"] = ends.mean(axis=0) @ projection - offset
    return ProgressModel(**{**vars(model), **fitted})


def _chain(bins: Int, duration: Float, absent: Float) -> Float:
    """Probabilities of the next bin [K, K], from those of the parts [P]."""
    last = np.cumsum(bins) - 1
    first, part = last - bins + 1, np.repeat(np.arange(len(bins)), bins)
    chain = np.zeros((len(part), len(part)))
    for i, p in enumerate(part.tolist()):
        go = min(float(1 / duration[p]), 0.6)  # a bin lasts more than one step
        ahead = _ahead(first, absent, p) if i == last[p] else {i + 1: 1.0}
        chain[i, i] = 1 - go if ahead else 1.0
        for j, probability in ahead.items():
            # A fast episode skips a bin, but only within the part that follows.
            beyond = j + 1 if j < last[part[j]] else j
            chain[i, j] += 0.8 * go * probability
            chain[i, beyond] += 0.2 * go * probability
    return chain


def _ahead(first: Int, absent: Float, part: int) -> dict[int, float]:
    """First bins of the parts that may follow a part, with their probabilities."""
    found, left = {}, 1.0
    for p in range(part + 1, len(first)):
        if p == len(first) - 1 or absent[p] <= 0:
            found[int(first[p])] = left
            break
        found[int(first[p])] = left * (1 - float(absent[p]))
        left *= float(absent[p])
    return {j: share for j, share in found.items() if share > 0}


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


def _deviation(values: Float) -> Float:
    found = values.std(axis=0)
    return np.where(found > 1e-9, found, 1.0)
