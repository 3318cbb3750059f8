"""Fits detectors of key states for running episodes, and judges them on demonstrations.

Cross-validation in up to ten folds chooses the threshold of each detector (`live/detectors.py`). It
is judged on demonstrations to which neither the detector nor the threshold was fitted.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from infoatlas_rt.live.coordinates import Coordinates
from infoatlas_rt.live.detectors import Detectors
from infoatlas_rt.live.timing import Timing
from infoatlas_rt.streams.event_thresholds import KEYSTATE_GAP, KEYSTATE_RISE

from .fit_detectors import AHEAD, fit_detectors, make_features
from .recordings import Recordings
from .steps import Steps

Float = NDArray[np.float64]
Int = NDArray[np.int64]

THRESHOLDS = np.linspace(0.1, 1.0, 19)
PRIOR = 0.5  # one more demonstration counts: half of a hit, and half of a false report
FOLDS = 10
JUDGED = 40  # demonstrations, at most


def fit_live(recordings: Recordings, found: Steps) -> Detectors:
    """Detectors of the key states of demonstrations, judged by cross-validation.

    Columns that are not common are not followed: in few demonstrations, motions that are alike by
    chance pass for a key state.
    """
    timing, states = recordings.timing, recordings.states
    masked = np.ma.getmaskarray(found.steps) | ~found.common
    limit = recordings.lengths[:, None] - 1
    steps = np.where(masked, np.nan, np.minimum(found.steps.filled(0) // timing.stride, limit))
    features = make_features(recordings.changes, states, AHEAD)
    some = np.sort(np.random.default_rng(0).permutation(len(states))[:JUDGED])
    rows = [features.compute(states[i]) for i in some]
    steps = steps[some]
    coefficients, offset = fit_detectors(rows, steps)
    count = steps.shape[1]
    threshold = np.where(found.common, 0.5, np.inf)
    once = np.ones(count, bool)
    recall, delay, false = np.full((3, count), np.nan)
    if len(some) > 1:
        scores = _left_out(rows, steps)
        wait = (features.after + 1) / timing.frequency
        for j in np.flatnonzero(found.common):
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
    """Threshold, once or not, recall, median delay and false reports of one key state.

    A report is right within the time that two reports are apart at least.
    """
    gap = timing.steps(KEYSTATE_GAP)
    reports = np.zeros((len(scores), 2, len(THRESHOLDS)))
    away = np.full(reports.shape, np.nan)  # of the nearest report
    for i, (score, step) in enumerate(zip(scores, steps.tolist(), strict=True)):
        peak = maxima(score)
        for j, threshold in enumerate(THRESHOLDS.tolist()):
            every = _spaced(peak[score[peak] > threshold], gap)
            for repeats, found in enumerate((every[:1], every)):
                reports[i, repeats, j] = len(found)
                if len(found):
                    away[i, repeats, j] = found[np.abs(found - step).argmin()] - step
    hits, there = np.abs(away) <= gap, ~np.isnan(steps)
    # A demonstration is judged with the setting that the others choose.
    others = [np.arange(len(scores)) != i for i in range(len(scores))]
    chosen = [(i, *_best(hits[o], reports[o], there[o])) for i, o in enumerate(others)]
    right, all_reports = (sum(of[where] for where in chosen) for of in (hits, reports))
    repeats, j = _best(hits, reports, there)
    late = away[hits[:, repeats, j], repeats, j]
    return (
        float(THRESHOLDS[j]), not repeats, (right + PRIOR) / (there.sum() + 2 * PRIOR),
        float(np.median(late)) / timing.frequency + wait if len(late) else float("nan"),
        (all_reports - right + PRIOR) / (len(scores) + 2 * PRIOR),
    )  # fmt: skip


def _best(hits: Any, reports: Float, there: NDArray[np.bool_]) -> tuple[int, int]:
    """Repeats or not, and threshold, with the largest F1; of equal thresholds the middle one."""
    f1 = hits.sum(axis=0) / np.maximum(reports.sum(axis=0) + there.sum(), 1)
    repeats = int(f1.max(axis=1).argmax())
    best = np.flatnonzero(f1[repeats] == f1[repeats].max())
    return repeats, int(best[len(best) // 2])


def maxima(score: Float) -> Int:
    """Steps at which a score [T] is larger than before and not smaller than after."""
    low = score - KEYSTATE_RISE
    inner = np.flatnonzero((low[1:-1] > score[:-2]) & (score[1:-1] >= low[2:])) + 1
    return np.asarray(inner, np.int64)


def _spaced(steps: Int, gap: int) -> Int:
    """Steps, first to last, without those that follow another by less than `gap`."""
    kept: list[int] = []
    for step in steps.tolist():
        if not kept or step - kept[-1] >= gap:
            kept.append(step)
    return np.array(kept, np.int64)
