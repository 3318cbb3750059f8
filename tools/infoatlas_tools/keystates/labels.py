"""Key states of labelled kinds: labels of a few demonstrations are transferred to the others.

Where most labels of a kind lie on contacts or switches of one name, they stand for these: in the
other demonstrations a detector (`fit_detectors.py`) chooses among them, and the median delay of the
labels is kept. Other kinds are where the detector's score is large, near the place of the labels.

Labels are kept exactly, kind by kind, also where other kinds of a demonstration are to be found.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from infoatlas_rt.errors import InputError
from infoatlas_rt.inputs.checks import as_count

from ..trajectories import Trajectories
from .events import Event
from .fit_detectors import CENTRED, fit_detectors, make_features
from .marks import Marks, read_labels
from .recordings import Recordings

Float = NDArray[np.float64]

NEAR = 0.25  # seconds between a label and the event that it stands for, at most
MOST = 0.6  # of the labels of a kind that stand for events of one name, at least
SEEN = 2.0  # score of an event like the labelled ones; the detector gives up to 1
KEPT = 10.0  # score of a label: more than any other
LACKS = -1.0  # in place of a step: a person says that the demonstration lacks the kind
RIVAL = 0.5  # seconds from the best step from which another one is a rival
CERTAIN = (-0.6, 3.3, -1.6)  # logistic model of certainty: offset, of the margin, of an event
ABSENT = 0.4  # of the median score: a demonstration with less, and no event, lacks this kind


def spread_labels(
    recordings: Recordings, events: list[list[Event]], labels: Float
) -> tuple[Float, Float]:
    """Steps [N, K] of the labelled kinds in all demonstrations, and their certainty [N, K].

    `labels` [N, K] are recorded steps: LACKS where a demonstration lacks the kind, NaN where it is
    to be found. The steps are the labels, and those that were found; NaN for kinds that a
    demonstration lacks. The certainty is the estimated probability that a step is within 0.25 s of
    where a person would mark it; 1 for labels.
    """
    timing, states, lengths = recordings.timing, recordings.states, recordings.lengths
    said = ~np.isnan(labels)
    near = NEAR * timing.frequency * timing.stride
    given = np.where(labels == LACKS, np.nan, labels)
    meant = [_meant(events, column, near) for column in given.T]
    marked = np.stack([steps for *_, steps in meant], axis=1)
    delay = np.nanmedian(given - marked, axis=0)
    # Two kinds may stand for one event, with different delays.
    same = np.where(said, np.nan_to_num(marked, nan=LACKS), -np.inf)
    _, first, which = np.unique(same, True, True, axis=1)
    kinds, marked = [meant[j][:2] for j in first.tolist()], marked[:, first]
    steps = np.minimum(marked // timing.stride, lengths[:, None] - 1)
    known = np.where(said[:, first], steps, np.inf)
    some = np.flatnonzero(said.any(axis=1)).tolist()
    features = make_features(recordings.changes, states, CENTRED)
    rows = {i: features.compute(states[i]) for i in some}
    coefficients, offset = fit_detectors(list(rows.values()), known[some])
    place = np.nanmean(steps[some] / lengths[some, None], axis=0)
    order = np.argsort(place, kind="stable")
    rising = all((np.diff(row[~np.isnan(row)]) >= 0).all() for row in steps[some][:, order])
    reached, seen, margin = (np.full(steps.shape, value) for value in (np.nan, 0.0, 0.0))
    incomplete = np.flatnonzero(~said.all(axis=1)).tolist()
    for i in incomplete:
        row = rows[i] if i in rows else features.compute(states[i])
        raw = row @ coefficients.T + offset
        score = raw / np.maximum(np.abs(raw).max(axis=0), 1e-9)
        score -= np.abs(np.arange(lengths[i])[:, None] / lengths[i] - place)
        recorded = np.tile(timing.recorded(np.arange(lengths[i]))[:, None], len(kinds))
        there = np.zeros(score.shape)
        for event in events[i]:
            at = min(event.step // timing.stride, int(lengths[i]) - 1)
            for j, (name, strength) in enumerate(kinds):
                if name == event.name:
                    recorded[at, j] = event.step
                    there[at, j] = SEEN / (1 + abs(event.strength - strength))
        score += there
        fixed = np.flatnonzero(np.isfinite(known[i]))  # the labels of an incomplete demonstration
        score[known[i, fixed].astype(int), fixed] += KEPT
        best = score.argmax(axis=0)
        # Kinds with one such event show whether the order is the same.
        once = order[np.count_nonzero(there, axis=0)[order] == 1]
        if rising and (np.diff(best[once]) >= 0).all():
            best[order] = _ordered(score[:, order])
        margin[i] = _margin(score, best, timing.steps(RIVAL))
        for values, chosen in ((marked, recorded), (reached, raw), (seen, there)):
            values[i] = np.take_along_axis(chosen, best[None], axis=0)[0]
    if incomplete:
        marked[(reached < ABSENT * np.nanmedian(reached, axis=0)) & (seen == 0)] = np.nan
    last = timing.stride * lengths[:, None] - 1
    found = np.rint(marked[:, which.ravel()] + delay).clip(0, last)
    found[said] = given[said]  # labels are kept exactly
    sure = 1 / (1 + np.exp(-(CERTAIN[0] + CERTAIN[1] * margin + CERTAIN[2] * (seen > 0))))
    return np.asarray(found), np.where(said, 1.0, sure[:, which.ravel()])


def _margin(score: Float, best: NDArray[np.int64], apart: int) -> Float:
    """Scores [K] at the best steps, less the largest that is more than `apart` steps away."""
    away = np.abs(np.arange(len(score))[:, None] - best) > apart
    rival = np.where(away, score, -np.inf).max(axis=0)
    own = np.take_along_axis(score, best[None], axis=0)[0]
    return np.asarray(np.minimum(own - rival, 2.0))


def _meant(events: Sequence[Sequence[Event]], labels: Float, near: float) -> tuple[Any, ...]:
    """Name, median strength and steps [N] of events that most labels [N] lie on; "", 0, labels."""
    found = [(np.inf, "", 0.0, labels)]
    for name in sorted({event.name for row in events for event in row}):
        steps, strength = labels.copy(), np.full(len(labels), np.nan)
        for i in np.flatnonzero(~np.isnan(labels)).tolist():
            own = [e for e in events[i] if e.name == name and e.away(labels[i]) <= near]
            if own:
                event = min(own, key=lambda e: abs(e.step - labels[i]))
                steps[i], strength[i] = event.step, event.strength
        on = ~np.isnan(strength)
        if on.sum() >= MOST * np.count_nonzero(~np.isnan(labels)):
            away = float(np.abs(steps - labels)[on].mean())
            found.append((away, name, float(np.nanmedian(strength)), steps))
    return min(found, key=lambda one: one[0])[1:]


def _ordered(score: Float) -> NDArray[np.int64]:
    """Ascending steps [K] with the largest sum of scores [T, K], by dynamic programming."""
    length, width = score.shape
    best, came = score[:, 0].copy(), np.zeros((width, length), np.int64)
    for k in range(1, width):
        so_far = np.maximum.accumulate(best)
        came[k] = np.maximum.accumulate(np.where(best >= so_far, np.arange(length), 0))
        best = score[:, k] + np.r_[-np.inf, so_far[:-1]]
        came[k] = np.r_[0, came[k][:-1]]
    steps = [int(best.argmax())]
    for k in range(width - 1, 0, -1):
        steps.insert(0, int(came[k, steps[0]]))
    return np.array(steps, np.int64)


def as_labels(labels: Any, trajectories: Trajectories) -> tuple[Float, tuple[str, ...]]:
    """Recorded steps [N, K] of labels and K names; [0, 0] without labels.

    LACKS where a demonstration lacks a kind, NaN where the kind is to be found. Steps without names
    are matched to named ones in order of time.
    """
    if labels is None:
        return np.zeros((0, 0)), ()
    if isinstance(labels, str | os.PathLike):
        labels = read_labels(labels, trajectories)
    lengths = trajectories.lengths
    if isinstance(labels, Marks):
        return _filled(labels.steps, labels.kinds, len(lengths))
    if not isinstance(labels, Mapping) or not labels:
        raise InputError(
            f"labels is {labels!r}: pass steps by demonstration, as {{0: [75, 150]}} or "
            "{0: {'grasp': 75, 'release': 150}}, or the path of a file of them"
        )
    own: dict[int, dict[str, int | None]] = {}
    plain: set[int] = set()
    for demonstration, steps in labels.items():
        which = as_count(demonstration, "a labelled demonstration", 0, len(lengths) - 1)
        if not isinstance(steps, Mapping):
            if not np.iterable(steps):
                raise InputError(f"labels of {which} are {steps!r}: pass a list of steps")
            plain.add(which)
            steps = {f"label {j + 1}": step for j, step in enumerate(steps)}
        last = int(lengths[which]) - 1
        own[which] = {
            str(name): None
            if step is None
            else as_count(step, f"label {name!r} of demonstration {which}", 0, last)
            for name, step in steps.items()
        }
    named = [d for w, d in own.items() if w not in plain]
    orders = {tuple(sorted((n for n in d if d[n] is not None), key=_step(d))) for d in named}
    order = orders.pop() if len(orders) == 1 else ()
    for which in plain:
        if len(own[which]) == len(order):
            own[which] = dict(zip(order, sorted(map(_step(own[which]), own[which])), strict=True))
    names = tuple(dict.fromkeys(name for d in own.values() for name in d))
    every = [max(own, key=lambda which: len(own[which])), *plain]  # these have all names
    if not names or any(len(own[which]) < len(names) for which in every):
        shown = "; ".join(f"{which}: {', '.join(d) or 'none'}" for which, d in own.items())
        raise InputError(
            f"labels of demonstrations cannot be matched ({shown}): give them names, one "
            "demonstration all of them, as {0: {'grasp': 75, 'release': 150}, 3: {'grasp': 60}}"
        )
    return _filled(own, names, len(lengths))


def _step(own: Mapping[str, int | None]) -> Callable[[str], int]:
    return lambda name: own[name] or 0


def _filled(
    steps: Mapping[int, Mapping[str, int | None]], names: tuple[str, ...], total: int
) -> tuple[Float, tuple[str, ...]]:
    """Labels [N, K] from steps by demonstration and kind."""
    found = np.full((total, len(names)), np.nan)
    for which, own in steps.items():
        for name, step in own.items():
            found[which, names.index(name)] = LACKS if step is None else step
    never = [name for name, column in zip(names, found.T, strict=True) if not (column >= 0).any()]
    if never or not names:
        raise InputError(
            f"no demonstration has a label of {never[0]!r}: mark it in one, or leave it out"
            if never
            else "the file of labels is empty: mark key states of one demonstration first"
        )
    return found, names
