"""Fits detectors: they find steps whose motion resembles that around given steps.

A detector of a kind of key state is a ridge regression from the features of a step to a target: 1
at the key states of demonstrations, 0 elsewhere. `live/motion_features.py` has the features. Labels
(`labels.py`), reproduction (`trust.py`) and the tracker (`detector_thresholds.py`) use detectors.
The tracker's windows end shortly after the step.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from infoatlas_rt.live.motion_features import Features

from ...array_types import Float
from ..motion.motion_scales import MotionScales

CENTRED = ((0.15, 0.15), (0.4, 0.4))  # s before and after a step, of both windows: offline
AHEAD = ((0.2, 0.1), (0.4, 0.2))  # s: live, shorter after the step, to report soon
RIDGE = 3.0  # times the mean variance of a feature: few demonstrations, many features
# Working steps from a key state. Up to HIT a step counts as one, and so wide is the target; from
# MISS it does not count as one.
HIT, MISS = 2, 5
COORDINATES = 24  # at most, those with the largest bursts: the time grows with them
LEAST_BURST = 0.3  # nats: weight of a coordinate that never rests, which may still inform


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
