"""Fits detectors: they find steps whose motion resembles that around given steps.

A detector of a kind of key state is a ridge regression from the features of a step to a target: 1
at the key states of demonstrations, 0 elsewhere. `live/motion_features.py` has the features. Labels
(`labels.py`), reproduction (`trust.py`) and the tracker use detectors. The tracker's windows end
shortly after the step.

Cross-validation in up to ten folds chooses the threshold of each of the tracker's detectors
(`live/detectors.py`). It is judged on demonstrations to which neither was fitted.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np

from infoatlas_rt.live.coordinates import Coordinates
from infoatlas_rt.live.detectors import Detectors
from infoatlas_rt.live.motion_features import Features
from infoatlas_rt.live.timing import StreamRate, Timing

from ...array_types import Bool, Float, Int
from ..contacts.keystate_steps import Steps
from ..motion.durations import ONE_EVENT
from ..motion.motion_scales import MotionScales, Recordings

CENTRED = ((0.15, 0.15), (0.4, 0.4))  # s before and after a step, of both windows: offline
AHEAD = ((0.2, 0.1), (0.4, 0.2))  # s: live, shorter after the step, to report soon
RIDGE = 3.0  # times the mean variance of a feature: few demonstrations, many features
# Working steps from a key state. Up to HIT a step counts as one, and so wide is the target; from
# MISS it does not count as one.
HIT, MISS = 2, 5
COORDINATES = 24  # at most, those with the largest bursts: the time grows with them
LEAST_BURST = 0.3  # nats: weight of a coordinate that never rests, which may still inform
THRESHOLDS = np.linspace(0.1, 1.0, 19)
RISE = 1e-9  # increase of a score; smaller ones are rounding, as while a robot rests
RECALL = 0.6  # share of a key state that is reported, from which it is followed
FALSE_REPORTS = 0.5  # in an episode, up to which it is followed
PRIOR = 0.5  # one more demonstration counts: half of a hit, and half of a false report
FOLDS = 10  # of the cross-validation, at most: the time grows with them
JUDGED = 40  # demonstrations of the cross-validation, at most: the time grows with them
ANY = 2**31  # a part that is not known
# Shares of the demonstrations that may have a key state in earlier parts than those in which it is
# reported. The largest is the share that may lack a common key state.
EARLIER = 0.0, 0.1, 0.2, 0.3


def make_features(
    scales: MotionScales, states: Sequence[Float], windows: tuple[tuple[float, float], ...]
) -> Features:
    """Features of the coordinates with the largest bursts; windows in seconds."""
    columns = np.sort(np.argsort(-scales.burst, kind="stable")[:COORDINATES])
    columns = columns[scales.rms[columns] > 0]
    weight = np.maximum(scales.burst[columns], LEAST_BURST)
    spread = np.maximum(scales.spread[columns], 1e-300)
    steps = scales.timing.steps
    return Features(
        columns,
        tuple((steps(before, 2), steps(after, 2)) for before, after in windows),
        scales.rms[columns],
        scales.rest_energy[columns] + 1e-300,
        np.mean([s[0, columns] for s in states], axis=0),
        2 * weight / spread,
        weight,
        clip=3.0,  # a resting coordinate that moves: a factor of 400, which any energy exceeds
        fewest=2,  # one increment alone is mostly noise
    )


def fit_detectors(features: Sequence[Float], steps: Float) -> tuple[Float, Float]:
    """Ridge regressions of K kinds of key states: coefficients [K, f] and offset [K].

    `features` [T, f] are of N demonstrations, and `steps` [N, K] the working steps of the key
    states. A step is NaN where a demonstration has none. It is infinite, and not used, where that
    is not known. A score is features @ coefficients + offset: about 1 at key states, 0 elsewhere.
    Zeros for a kind without any.
    """
    pooled, lengths = np.concatenate(features), [len(f) for f in features]
    width = steps.shape[1]
    coefficients, offset = np.zeros((width, pooled.shape[1])), np.zeros(width)
    for j in range(width):
        at = np.where(np.isnan(steps[:, j]), np.inf, steps[:, j])
        at[np.isinf(steps[:, j])] = np.nan
        away = np.abs(np.concatenate([np.arange(n) - t for n, t in zip(lengths, at, strict=True)]))
        hit, miss = away <= HIT, away >= MISS
        if not hit.any() or not miss.any():
            continue
        used = hit | miss
        x, target = pooled[used], np.exp(-0.5 * (away[used] / HIT) ** 2)
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


def fit_live(
    recordings: Recordings, found: Steps, followed: Sequence[Int] | None = None
) -> Detectors:
    """Detectors of the key states of demonstrations, judged by cross-validation.

    `followed` are the live parts of the tools, as of `fit_subtasks`.

    Columns that are not common are not followed: in few demonstrations, motions that are similar
    by chance pass for a key state.
    """
    timing, states = recordings.timing, recordings.states
    steps = recordings.reached(found.steps, found.common)
    features = make_features(recordings.scales, states, AHEAD)
    some = np.sort(np.random.default_rng(0).permutation(len(states))[:JUDGED])
    rows = [features.compute(states[i]) for i in some]
    steps = steps[some]
    coefficients, offset = fit_detectors(rows, steps)
    count, wait = steps.shape[1], features.after + 1
    parts = [np.zeros((len(row), 1), np.int64) for row in rows] if followed is None else followed
    at = [part[np.minimum(np.arange(len(part)) + wait, len(part) - 1)] for part in parts]
    threshold = np.where(found.common, 0.5, np.inf)
    once, earliest = np.ones(count, bool), np.zeros((count, parts[0].shape[1]), np.int64)
    recall, delay, false = np.full((3, count), np.nan)
    if len(some) > 1:
        scores = _score_left_out(rows, steps)
        for j in np.flatnonzero(found.common):
            threshold[j], once[j], earliest[j], recall[j], delay[j], false[j] = _judge(
                [s[:, j] for s in scores], steps[:, j], at, timing, wait / timing.frequency
            )
    own = recordings.coordinates
    stream = StreamRate(
        stamps_kept=2000,  # 2 s at 1 kHz: a key state is reported within half a second
        stamps_for_rate=10,  # half a second at 20 Hz, before any report
        usual=(0.5, 1.5),
        same=(0.8, 1.25),  # demonstrations differ as much in their speed
        averaged=0.75,  # one state a working step for every ratio from there to 1.5
    )
    good = np.isnan(recall) | ((recall >= RECALL) & (false <= FALSE_REPORTS))
    return Detectors(
        Coordinates(own.width, own.groups, own.parts), timing, stream, features, coefficients,
        offset, threshold, once, earliest[:, : 0 if followed is None else None], recall, delay,
        false, np.isfinite(threshold) & good, timing.steps(ONE_EVENT), RISE,
    )  # fmt: skip


def _score_left_out(rows: Sequence[Float], steps: Float) -> list[Float]:
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
    scores: Sequence[Float], steps: Float, parts: Sequence[Int], timing: Timing, wait: float
) -> tuple[float, bool, Int, float, float, float]:
    """Threshold, once or not, earliest parts, recall, delay and false reports of one key state.

    `parts` [T, tools] are those in which a report of each step would be made. A report is right
    within the time that two reports are apart at least. A demonstration is judged with the settings
    that the others choose.
    """
    gap, count = timing.steps(ONE_EVENT), len(scores)
    peaks = [maxima(score) for score in scores]
    # Parts of the tools in which the key state of each demonstration can be reported. Of two
    # demonstrations, the other one alone does not show how they vary.
    own = np.full((count, parts[0].shape[1]), ANY)
    for i, (peak, step) in enumerate(zip(peaks, steps.tolist(), strict=True)):
        near = peak[np.abs(peak - step) <= gap]
        if len(near) and count > 2:
            own[i] = parts[i][near[scores[i][near].argmax()]]
    rest = ~np.eye(count, dtype=bool)
    made = [
        _reports(scores[i], peaks[i], parts[i], float(steps[i]), _earliest(own[others]), gap)
        for i, others in enumerate(rest)
    ]
    reports, away = (np.stack([row[n] for row in made]) for n in (0, 1))
    hits, there = np.abs(away) <= gap, ~np.isnan(steps)
    chosen = [(i, *_best(hits[o], reports[o], there[o])) for i, o in enumerate(rest)]
    right, total = (sum(float(of[where]) for where in chosen) for of in (hits, reports))
    gate, repeats, j = _best(hits, reports, there)
    late = away[hits[:, gate, repeats, j], gate, repeats, j]
    return (
        float(THRESHOLDS[j]), not repeats, _earliest(own)[gate],
        (right + PRIOR) / (there.sum() + 2 * PRIOR),
        float(np.median(late)) / timing.frequency + wait if len(late) else float("nan"),
        (total - right + PRIOR) / (count + 2 * PRIOR),
    )  # fmt: skip


def _earliest(parts: Int) -> Int:
    """Candidates of the earliest part of each tool [G, tools], from parts [N, tools] of N reports.

    A share of the demonstrations, none in the first candidate, has a report in an earlier part. The
    last candidate is 0.
    """
    known = np.sort(parts[(parts < ANY).any(axis=1)], axis=0)
    least = np.zeros((len(EARLIER) + 1, parts.shape[1]), np.int64)
    if len(known):
        least[:-1] = known[[int(share * len(known)) for share in EARLIER]]
    return np.where(least == ANY, 0, least)


def _reports(
    score: Float, peak: Int, parts: Int, step: float, earliest: Int, gap: int
) -> tuple[Float, Float]:
    """Number of reports, and steps from the key state to the nearest one [G, 2, thresholds].

    As in `LiveFilter`: reports come from the earliest part on. The first of the two repeats none,
    but after a tool has gone back to an earlier part.
    """
    reports = np.zeros((len(earliest), 2, len(THRESHOLDS)))
    away = np.full(reports.shape, np.nan)
    for g, least in enumerate(earliest):
        late = peak[(parts[peak] >= least).all(axis=1)]
        for j, threshold in enumerate(THRESHOLDS.tolist()):
            every = _space(late[score[late] > threshold], gap)
            once: list[int] = []
            for t in every.tolist():
                if not once or (parts[once[-1] : t + 1] < parts[once[-1]]).any():
                    once.append(t)
            for repeats, found in enumerate((np.array(once, np.int64), every)):
                reports[g, repeats, j] = len(found)
                if len(found):
                    away[g, repeats, j] = found[np.abs(found - step).argmin()] - step
    return reports, away


def _best(hits: Any, reports: Float, there: Bool) -> tuple[int, int, int]:
    """Earliest parts, repeats or not, and threshold, with the largest F1.

    Of equal ones the first of the former two, and the middle threshold.
    """
    f1 = hits.sum(axis=0) / np.maximum(reports.sum(axis=0) + there.sum(), 1)
    gate, repeats = divmod(int(f1.max(axis=2).argmax()), 2)
    best = np.flatnonzero(f1[gate, repeats] == f1.max())
    return gate, repeats, int(best[len(best) // 2])


def maxima(score: Float) -> Int:
    """Steps at which a score [T] is larger than before and not smaller than after."""
    low = score - RISE
    inner = np.flatnonzero((low[1:-1] > score[:-2]) & (score[1:-1] >= low[2:])) + 1
    return np.asarray(inner, np.int64)


def _space(steps: Int, gap: int) -> Int:
    """Steps, first to last, without those that follow another by less than `gap`."""
    kept: list[int] = []
    for step in steps.tolist():
        if not kept or step - kept[-1] >= gap:
            kept.append(step)
    return np.array(kept, np.int64)
