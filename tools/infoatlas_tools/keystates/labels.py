"""Key states of labelled kinds: labels of a few demonstrations are transferred to the others."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from infoatlas_rt.errors import InputError
from infoatlas_rt.inputs.checks import as_count

from .changes import change_curves
from .events import Event
from .fit_detectors import CENTRED, fit_detectors, make_features
from .recordings import Recordings

Float = NDArray[np.float64]

CHANGE = 0.5  # weight of the score of change, added to the detector's score
PLACE = 0.3  # weight of the place within the demonstration
TOLERANCE = 0.15  # of a demonstration: tolerance of the place
NEAR = 0.25  # seconds: a label nearer than this to an event stands for it
SHARP = 0.1  # seconds from a label within which a change counts
HIGH = 0.98  # quantile of the curve of change that counts as a change
ABSENT = 0.4  # of the median score: a demonstration with less lacks this kind


def spread_labels(
    recordings: Recordings, events: Sequence[Sequence[Event]], labels: Float, unit: float
) -> Float:
    """Steps of the labelled kinds in all demonstrations.

    A kind whose labels lie at events of one name is that event, and a fixed delay. Other kinds are
    where a detector, the change of the motion and the place say.

    Parameters
    ----------
    recordings : Recordings
    events : sequence of N sequences of Event
    labels : [N, K] float64
        Recorded steps; NaN where a demonstration has no label. A demonstration with any label is
        labelled: the kinds that it has no label of are absent in it.
    unit : float
        Recorded steps of a second; fewer in quick demonstrations (`contact.tempo`).

    Returns
    -------
    [N, K] float64
        The labels, and in the other demonstrations the steps that were found; NaN for kinds that a
        demonstration lacks.
    """
    timing, states, changes = recordings.timing, recordings.states, recordings.changes
    lengths = recordings.lengths
    given = ~np.isnan(labels).all(axis=1)
    some = np.flatnonzero(given)
    matches = [_event(events, labels[:, j], NEAR * unit) for j in range(labels.shape[1])]
    anchors = np.stack([steps for _, steps in matches], axis=1)
    delay = np.nanmedian(labels - anchors, axis=0)
    _, first, which = np.unique(
        np.nan_to_num(anchors, nan=-1), axis=1, return_index=True, return_inverse=True
    )
    names = [matches[j][0] for j in first.tolist()]
    steps = np.minimum(anchors[:, first] // timing.stride, lengths[:, None] - 1)
    features = make_features(changes, states, CENTRED)
    rows = [features.compute(s) for s in states]
    near = changes.timing.steps(SHARP)
    scores = [
        _height(curve, near) for curve in change_curves(changes, states, changes.timing.frequency)
    ]
    coefficients, offset = fit_detectors([rows[i] for i in some], steps[some])
    place = np.nanmean(steps[some] / lengths[some, None], axis=0)
    order = _order(steps[some], place)
    found: Float = anchors[:, first]
    reached = np.full(steps.shape, np.nan)
    for i in np.flatnonzero(~given):
        raw = _smooth(rows[i] @ coefficients.T + offset)
        away = (np.arange(lengths[i])[:, None] / lengths[i] - place) / TOLERANCE
        score = raw / np.maximum(np.abs(raw).max(axis=0), 1e-9)
        score = score - PLACE * np.minimum(away**2, 4) / 4 + CHANGE * scores[i][:, None]
        at = [np.array([e.step for e in events[i] if e.name == name]) for name in names]
        for j, candidates in enumerate(at):
            if len(candidates):
                off = np.ones(lengths[i], bool)
                off[np.minimum(candidates // timing.stride, lengths[i] - 1)] = False
                score[off, j] -= 1000
        if order is None:
            chosen = np.asarray(score.argmax(axis=0), np.int64)
        else:
            chosen = _ordered(score[:, order])[np.argsort(order)]
        reached[i] = raw[chosen, np.arange(len(chosen))]
        found[i] = timing.recorded(chosen)
        for j, candidates in enumerate(at):
            if len(candidates):
                k = np.abs(candidates // timing.stride - chosen[j]).argmin()
                found[i, j] = candidates[k] if score[chosen[j], j] > -500 else np.nan
                reached[i, j] = np.inf
            elif names[j] and NONE=='absent': found[i,j]=np.nan
    if not given.all():
        found[reached < ABSENT * np.nanmedian(np.where(np.isinf(reached),np.nan,reached), axis=0)] = np.nan
    found = np.rint(found[:, which.ravel()] + delay).clip(0, timing.stride*lengths[:,None] - 1)
    found[given] = labels[given]
    return found

import os
NONE=os.environ.get('NONE','own')

def _event(
    events: Sequence[Sequence[Event]], labels: Float, near: float
) -> tuple[str, Float]:
    """Name and steps [N] of the event within `near` steps of all labels [N], or "" and the labels."""
    best, least = ("", labels), np.inf
    for name in sorted({event.name for row in events for event in row}):
        steps = np.full(len(labels), np.nan)
        for i in np.flatnonzero(~np.isnan(labels)):
            own = [e.step for e in events[i] if e.name == name]
            steps[i] = min(own, key=lambda step: abs(step - labels[i]), default=np.inf)
        away = np.nanmax(np.abs(steps - labels))
        if away <= near and np.nanmean(np.abs(steps - labels)) < least:
            best, least = (name, steps), np.nanmean(np.abs(steps - labels))
    return best


def _height(curve: Float, near: int) -> Float:
    """Height of a curve of change within `near` steps of each step [T], 0 to 1."""
    height = np.minimum(curve / max(float(np.quantile(curve, HIGH)), 1e-300), 1.0)
    padded = np.pad(height, near)
    return np.asarray(np.lib.stride_tricks.sliding_window_view(padded, 2 * near + 1).max(axis=1))


def _order(steps: Float, place: Float) -> NDArray[np.intp] | None:
    """Order in time that all labelled demonstrations share, or None."""
    order = np.argsort(place, kind="stable")
    if MODE=='strict' and np.isnan(steps).any(): return None
    rising = all((np.diff(row[~np.isnan(row)]) >= 0).all() for row in steps[:, order])
    return order if rising and len(order)>1 else None
MODE=os.environ.get('MODE','loose')

def _ordered(score: Float) -> NDArray[np.int64]:
    """Ascending steps [K] with the largest sum of scores [T, K], by dynamic programming."""
    length, width = score.shape
    best, came = score[:, 0].copy(), np.zeros((width, length), np.int64)
    for k in range(1, width):
        so_far = np.maximum.accumulate(best)
        came[k] = np.maximum.accumulate(np.where(best >= so_far, np.arange(length), 0))
        best = score[:, k] + np.r_[-np.inf, so_far[:-1]]
        came[k] = np.r_[0, came[k][:-1]]
    steps = np.zeros(width, np.int64)
    steps[-1] = int(best.argmax())
    for k in range(width - 1, 0, -1):
        steps[k - 1] = came[k, steps[k]]
    return steps


def _smooth(score: Float) -> Float:
    padded = np.pad(score, ((1, 1), (0, 0)), "edge")
    return np.asarray((padded[:-2] + 2 * padded[1:-1] + padded[2:]) / 4)


def as_labels(labels: Any, lengths: NDArray[np.int64]) -> tuple[Float, tuple[str, ...]]:
    """Checked labels.

    Parameters
    ----------
    labels : None, or dict of int to sequence of int or to dict of str to int
        Steps of labelled demonstrations, in the order of the kinds or by their names.
    lengths : [N] int64
        Recorded steps of each demonstration.

    Returns
    -------
    [N, K] float64
        Recorded steps; NaN where there is no label. [0, 0] without labels.
    names : tuple of K str

    Raises
    ------
    InputError
        No such demonstration or step, or different numbers of steps without names.
    """
    if labels is None:
        return np.zeros((0, 0)), ()
    if not isinstance(labels, Mapping) or not labels:
        raise InputError(
            f"labels is {labels!r}: pass steps by demonstration, as {{0: [75, 150]}} or "
            "{0: {'grasp': 75, 'release': 150}}"
        )
    named: dict[int, dict[str, Any]] = {}
    for demonstration, steps in labels.items():
        which = as_count(demonstration, "a labelled demonstration", 0, len(lengths) - 1)
        if not isinstance(steps, Mapping):
            try:
                steps = {f"label {j + 1}": step for j, step in enumerate(steps)}
            except TypeError as error:
                raise InputError(
                    f"labels of demonstration {which} are {steps!r}: pass a list of steps"
                ) from error
        named[which] = {str(name): step for name, step in steps.items()}
    unnamed = {len(own) for own in named.values() if all(n.startswith("label ") for n in own)}
    if len(unnamed) > 1:
        raise InputError(
            f"demonstrations have {' and '.join(map(str, sorted(unnamed)))} labels: give them "
            "names, as {0: {'grasp': 75, 'release': 150}, 3: {'grasp': 60}}"
        )
    names = tuple(dict.fromkeys(name for own in named.values() for name in own))
    if not names:
        raise InputError("labels hold no steps: pass some, as {0: [75, 150]}")
    found = np.full((len(lengths), len(names)), np.nan)
    for which, own in named.items():
        for name, step in own.items():
            limit = int(lengths[which]) - 1
            found[which, names.index(name)] = as_count(
                step, f"label {name!r} of demonstration {which}", 0, limit
            )
    return found, names
