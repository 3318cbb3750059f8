"""Detectors: they find steps whose motion resembles that around given steps.

A detector of a kind of key state is a ridge regression from the features of a step to a target: 1
at the key states of demonstrations, 0 elsewhere. The features of a coordinate are the switch of its
energy (`changes.py`), its mean velocity before and after the step over two windows, and its value.
Labels (`labels.py`), reproduction (`reproduction.py`) and the tracker (`tracker.py`) use them. The
tracker's windows end shortly after the step.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .changes import Changes

Float = NDArray[np.float64]
Int = NDArray[np.int64]

CENTRED = ((0.15, 0.15), (0.4, 0.4))  # seconds before and after a step: offline
AHEAD = ((0.2, 0.1), (0.4, 0.2))  # live: shorter after the step, to report soon
RIDGE = 3.0  # times the mean variance of a feature
WIDTH = 2.0  # steps: standard deviation of the target around a key state
HIT, MISS = 2, 5  # steps from a key state: up to HIT a step counts as one, from MISS not
COORDINATES = 24  # at most: those with the largest bursts
LEAST_BURST = 0.3  # nats: weight of a coordinate that never rests


@dataclass(frozen=True, eq=False)
class Features:
    """Features of steps.

    Attributes
    ----------
    columns : [q] int64
        Coordinates that are used.
    windows : tuple of (int, int)
        Steps before and after.
    scale, rest, centre, gain : [q] float64
        Rms increment, energy at rest, central value, and weight divided by the range.
    weight : [q] float64
    """

    columns: Int
    windows: tuple[tuple[int, int], ...]
    scale: Float
    rest: Float
    centre: Float
    gain: Float
    weight: Float

    @property
    def before(self) -> int:
        """Steps before a step that its features depend on."""
        return max(before for before, _ in self.windows)

    @property
    def after(self) -> int:
        """Steps after it."""
        return max(after for _, after in self.windows)

    def compute(self, states: Float, at: Int | None = None) -> Float:
        """Features [..., m, f] at the steps `at` [m], or at all, of working steps [..., T, p]."""
        x = states[..., self.columns]
        count = x.shape[-2] - 1
        energy = np.zeros_like(x)
        np.cumsum(np.diff(x, axis=-2) ** 2, axis=-2, out=energy[..., 1:, :])
        t = np.arange(count + 1) if at is None else at
        here, spent, found = x[..., t, :], energy[..., t, :], []
        for before, after in self.windows:
            first, last = np.maximum(t - before, 0), np.minimum(t + after, count)
            past, next_ = np.maximum(t - first, 1)[:, None], np.maximum(last - t, 1)[:, None]
            ratio = ((energy[..., last, :] - spent) / next_ + self.rest) / (
                (spent - energy[..., first, :]) / past + self.rest
            )
            e = (0.5 * np.log(ratio)).clip(-3, 3) / 2
            few = (t - first < min(2, before)) | (last - t < min(2, after))
            e[..., few, :] = 0.0
            earlier = (here - x[..., first, :]) / before / self.scale
            later = (x[..., last, :] - here) / after / self.scale
            found += [e, *(np.sign(v) * np.log1p(np.abs(v)) for v in (earlier, later))]
        found = [f * self.weight for f in found] + [(here - self.centre) * self.gain]
        return np.concatenate(found, axis=-1)

    def to_dict(self) -> dict[str, Any]:
        """Plain lists, for a JSON file."""
        return {
            name: np.asarray(getattr(self, name)).tolist()
            for name in ("columns", "windows", "scale", "rest", "centre", "gain", "weight")
        }

    @classmethod
    def from_dict(cls, values: dict[str, Any], width: int) -> Features:
        """Inverse of `to_dict`; ValueError, KeyError or TypeError if it does not fit together."""
        columns = np.asarray(values["columns"], np.int64)
        windows = tuple((int(before), int(after)) for before, after in values["windows"])
        rest = [
            np.asarray(values[name], np.float64)
            for name in ("scale", "rest", "centre", "gain", "weight")
        ]
        if columns.ndim != 1 or not ((columns >= 0) & (columns < width)).all():
            raise ValueError(f"columns {columns} of {width} coordinates")
        if not windows or min(min(pair) for pair in windows) < 1:
            raise ValueError(f"windows {windows}")
        if any(a.shape != columns.shape or not np.isfinite(a).all() for a in rest):
            raise ValueError("scales of other coordinates, or not finite")
        if (rest[0] <= 0).any() or (rest[1] < 0).any():
            raise ValueError("scales are not above 0")
        return cls(columns, windows, *rest)


def make_features(
    changes: Changes, states: Sequence[Float], windows: tuple[tuple[float, float], ...]
) -> Features:
    """Features of the coordinates with the largest bursts; windows in seconds."""
    columns = np.sort(np.argsort(-changes.burst, kind="stable")[:COORDINATES])
    columns = columns[changes.rms[columns] > 0]
    weight = np.maximum(changes.burst[columns], LEAST_BURST)
    spread = np.maximum(changes.spread[columns], 1e-300)
    steps = changes.timing.steps
    return Features(
        columns,
        tuple((steps(before, 2), steps(after, 2)) for before, after in windows),
        changes.rms[columns],
        changes.rest[columns] + 1e-300,
        np.mean([s[0, columns] for s in states], axis=0),
        2 * weight / spread,
        weight,
    )


def fit_detectors(features: Sequence[Float], steps: Float) -> tuple[Float, Float]:
    """Ridge regressions of K kinds of key states.

    Parameters
    ----------
    features : sequence of N arrays [T_i, f]
        Features of demonstrations.
    steps : [N, K] float64
        Working steps of the key states; NaN where a demonstration has none.

    Returns
    -------
    coefficients : [K, f] float64
    offset : [K] float64
        A score is features @ coefficients + offset: about 1 at key states, 0 elsewhere. Zeros for
        a kind without any.
    """
    pooled = np.concatenate(features)
    width = steps.shape[1]
    coefficients, offset = np.zeros((width, pooled.shape[1])), np.zeros(width)
    for j in range(width):
        away = np.concatenate(
            [
                np.full(len(f), np.inf) if np.isnan(t) else np.abs(np.arange(len(f)) - t)
                for f, t in zip(features, steps[:, j], strict=True)
            ]
        )
        hit, miss = away <= HIT, away >= MISS
        if not hit.any() or not miss.any():
            continue
        used = hit | miss
        x, target = pooled[used], np.exp(-0.5 * (away[used] / WIDTH) ** 2)
        weight = np.where(hit[used], 1 / hit.sum(), 1 / miss.sum()) / 2
        middle, level = weight @ x, weight @ target
        x = x - middle
        weighted = x * weight[:, None]
        covariance = x.T @ weighted
        covariance[np.diag_indices_from(covariance)] += RIDGE * max(
            float(np.trace(covariance)) / len(covariance), 1e-12
        )
        coefficients[j] = np.linalg.solve(covariance, weighted.T @ (target - level))
        offset[j] = level - middle @ coefficients[j]
    return coefficients, offset
