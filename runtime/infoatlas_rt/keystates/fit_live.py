"""Detectors of key states in a running episode, judged on demonstrations before they are used.

A detector (`detector.py`) scores a step 0.2 s after it. A key state is reported at a maximum of its
score above a threshold. Cross-validation in up to ten folds chooses the threshold and judges the
detector on demonstrations that it was not fitted to. A key state is not followed if it is found in
less than 0.6 of them, or reported falsely more than once in two of them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .coordinates import Coordinates
from .detector import AHEAD, Features, fit_detectors, make_features
from .recordings import Recordings
from .steps import Steps
from .timing import Timing

Float = NDArray[np.float64]
Int = NDArray[np.int64]

THRESHOLDS = np.linspace(0.1, 1.0, 19)
GAP = 0.5  # seconds between two reports of one key state, at least
NEAR = 0.5  # seconds: a report within them of the key state is right
FOLLOWED = 0.6  # recall from which a key state is followed
FALSE = 0.5  # false reports an episode up to which it is followed
FOLDS = 10
JUDGED = 40  # demonstrations, at most


@dataclass(frozen=True, eq=False)
class LiveModel:
    """Detectors of K key states, and their recall, delay and false reports.

    Attributes
    ----------
    coordinates : Coordinates
    timing : Timing
    features : Features
    coefficients : [K, f] float64
    offset : [K] float64
    threshold : [K] float64
        A score above it is a report.
    once : [K] bool
        Reported once an episode: it never repeats in the demonstrations.
    recall : [K] float64
        Share of the demonstrations left out in which it is reported within 0.5 s; NaN if it was
        not judged (one demonstration).
    delay : [K] float64
        Median seconds from a key state to its report; NaN without any. A working step counts as
        0.05 s if the rate is not known.
    false_reports : [K] float64
        False reports in an episode, on average.
    """

    coordinates: Coordinates
    timing: Timing
    features: Features
    coefficients: Float
    offset: Float
    threshold: Float
    once: NDArray[np.bool_]
    recall: Float
    delay: Float
    false_reports: Float

    @property
    def followed(self) -> NDArray[np.bool_]:
        """Whether each key state can be followed [K]."""
        good = (self.recall >= FOLLOWED) & (self.false_reports <= FALSE)
        return np.isfinite(self.threshold) & (good | np.isnan(self.recall))

    @property
    def gap(self) -> int:
        """Working steps between two reports of one key state, at least."""
        return self.timing.steps(GAP)

    def to_dict(self) -> dict[str, Any]:
        """Plain values, for a JSON file."""
        return {
            "coordinates": self.coordinates.to_dict(),
            "stride": self.timing.stride,
            "rate": self.timing.rate,
            "features": self.features.to_dict(),
            "coefficients": self.coefficients.tolist(),
            "offset": self.offset.tolist(),
            "once": self.once.tolist(),
            **{
                name: [float(v) if np.isfinite(v) else None for v in getattr(self, name)]
                for name in ("threshold", "recall", "delay", "false_reports")
            },
        }

    @classmethod
    def from_dict(cls, values: dict[str, Any]) -> LiveModel:
        """Inverse of `to_dict`; ValueError, KeyError or TypeError if it does not fit together."""
        coordinates = Coordinates.from_dict(values["coordinates"])
        rate = values["rate"]
        timing = Timing(int(values["stride"]), None if rate is None else float(rate))
        if timing.stride < 1 or (rate is not None and not 0 < timing.frequency < np.inf):
            raise ValueError(f"stride {timing.stride}, rate {rate}")
        features = Features.from_dict(values["features"], len(coordinates.names))
        coefficients = np.asarray(values["coefficients"], np.float64)
        offset = np.asarray(values["offset"], np.float64)
        width = len(features.columns) * (3 * len(features.windows) + 1)
        coefficients = coefficients.reshape(len(offset), width)
        if coefficients.shape != (len(offset), width) or not np.isfinite(coefficients).all():
            raise ValueError(f"coefficients have shape {coefficients.shape}")
        listed = [
            np.array([missing if v is None else v for v in values[name]], np.float64)
            for name, missing in (
                ("threshold", np.inf), ("recall", np.nan), ("delay", np.nan),
                ("false_reports", np.nan),
            )
        ]  # fmt: skip
        once = np.asarray(values["once"], bool)
        if any(len(a) != len(offset) for a in (*listed, once)):
            raise ValueError("figures of other key states")
        threshold, *figures = listed
        return cls(coordinates, timing, features, coefficients, offset, threshold, once, *figures)


def fit_live(recordings: Recordings, found: Steps) -> LiveModel:
    """Detectors of the key states of demonstrations, judged by cross-validation.

    Columns that are not shared are not followed.
    """
    timing, states = recordings.timing, recordings.states
    masked = np.ma.getmaskarray(found.steps) | ~found.shared
    limit = recordings.lengths[:, None] - 1
    steps = np.where(masked, np.nan, np.minimum(found.steps.filled(0) // timing.stride, limit))
    features = make_features(recordings.changes, states, AHEAD)
    some = np.sort(np.random.default_rng(0).permutation(len(states))[:JUDGED])
    rows = [features.compute(states[i]) for i in some]
    steps = steps[some]
    coefficients, offset = fit_detectors(rows, steps)
    count = steps.shape[1]
    threshold = np.where(found.shared, 0.5, np.inf)
    once = np.ones(count, bool)
    recall, delay, false = np.full((3, count), np.nan)
    if len(some) > 1:
        scores = _left_out(rows, steps)
        wait = (features.after + 1) / timing.frequency
        for j in np.flatnonzero(found.shared):
            threshold[j], once[j], recall[j], delay[j], false[j] = _judge(
                [s[:, j] for s in scores], steps[:, j], timing, wait
            )
    return LiveModel(
        recordings.coordinates, timing, features, coefficients, offset,
        threshold, once, recall, delay, false,
    )  # fmt: skip


def _left_out(rows: Sequence[Float], steps: Float) -> list[Float]:
    """Scores [T_i, K] of every demonstration by detectors that are fitted to the others."""
    count = len(rows)
    fold = np.random.default_rng(1).permutation(count) % min(FOLDS, count)
    scores: list[Float] = [np.empty(0)] * count
    for number in range(fold.max() + 1):
        fitted = np.flatnonzero(fold != number)
        coefficients, offset = fit_detectors([rows[i] for i in fitted.tolist()], steps[fitted])
        for i in np.flatnonzero(fold == number).tolist():
            scores[i] = rows[i] @ coefficients.T + offset
    return scores


def _judge(
    scores: Sequence[Float], steps: Float, timing: Timing, wait: float
) -> tuple[float, bool, float, float, float]:
    """Threshold, once or not, recall, median delay and false reports of one key state."""
    near, gap = timing.steps(NEAR), timing.steps(GAP)
    peaks = [maxima(score) for score in scores]
    there, best = ~np.isnan(steps), (-1.0, 0.5, True, 0.0, float("nan"), 0.0)
    for once in (True, False):
        for threshold in THRESHOLDS.tolist():
            hits, delays, reports = 0, [], 0
            for score, peak, step in zip(scores, peaks, steps, strict=True):
                found = _spaced(peak[score[peak] > threshold], gap)[: 1 if once else None]
                reports += len(found)
                away = found - step
                if len(found) and np.abs(away).min(initial=np.inf) <= near:
                    hits += 1
                    delays.append(float(away[np.abs(away).argmin()]) / timing.frequency + wait)
            f1 = 2 * hits / max(reports + int(there.sum()), 1)
            if f1 > best[0] + 1e-9:
                best = (
                    f1, threshold, once, hits / max(int(there.sum()), 1),
                    float(np.median(delays)) if delays else float("nan"),
                    (reports - hits) / len(scores),
                )  # fmt: skip
    return best[1:]


def maxima(score: Float) -> Int:
    """Steps at which a score [T] is larger than before and not smaller than after."""
    inner = np.flatnonzero((score[1:-1] > score[:-2]) & (score[1:-1] >= score[2:])) + 1
    return np.asarray(inner, np.int64)


def _spaced(steps: Int, gap: int) -> Int:
    """Steps, first to last, without those that follow another by less than `gap`."""
    kept: list[int] = []
    for step in steps.tolist():
        if not kept or step - kept[-1] >= gap:
            kept.append(step)
    return np.array(kept, np.int64)
