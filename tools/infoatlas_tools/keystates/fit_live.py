"""Fits detectors of key states for running episodes, and judges them on demonstrations.

Cross-validation in up to ten folds chooses the threshold of each detector (`live/detectors.py`) and
judges it on demonstrations that it was not fitted to.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from infoatlas_rt.live.coordinates import Coordinates
from infoatlas_rt.live.detectors import Detectors
from infoatlas_rt.live.timing import Timing
from infoatlas_rt.streams.event_thresholds import KEYSTATE_GAP

from .fit_detectors import AHEAD, fit_detectors, make_features
from .recordings import Recordings
from .steps import Steps

Float = NDArray[np.float64]
Int = NDArray[np.int64]

THRESHOLDS = np.linspace(0.1, 1.0, 19)
RIGHT = 0.5  # seconds: a report within them of the key state is right
FOLDS = 10
JUDGED = 40  # demonstrations, at most


def fit_live(recordings: Recordings, found: Steps) -> Detectors:
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
    own = recordings.coordinates
    return Detectors(
        Coordinates(own.width, own.groups, own.parts), timing, features, coefficients, offset,
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
    near, gap = timing.steps(RIGHT), timing.steps(KEYSTATE_GAP)
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
