"""Key states of labelled kinds: labels of a few demonstrations are transferred to the others.

Where all labels of a kind lie on contacts or switches of one name, they stand for these: in the
other demonstrations a detector (`fit_detectors.py`) chooses among them, and the median delay of the
labels is kept. Other kinds are where the detector's score is large, near the place of the labels.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from infoatlas_rt.errors import InputError
from infoatlas_rt.inputs.checks import as_count

from .events import Event
from .fit_detectors import CENTRED, fit_detectors, make_features
from .recordings import Recordings

Float = NDArray[np.float64]

NEAR = 0.25  # seconds between a label and the event that it stands for, at most
SEEN = 2.0  # score of an event like the labelled ones; the detector gives up to 1
ABSENT = 0.4  # of the median score: a demonstration with less, and no event, lacks this kind


def spread_labels(recordings: Recordings, events: list[list[Event]], labels: Float) -> Float:
    """Steps of the labelled kinds in all demonstrations.

    Parameters
    ----------
    recordings : Recordings
    events : sequence of N sequences of Event
    labels : [N, K] float64
        Recorded steps; NaN where there is no label. A demonstration with any label lacks the kinds
        that it has no label of.

    Returns
    -------
    [N, K] float64
        The labels, and the steps that were found; NaN for kinds that a demonstration lacks.
    """
    timing, states, lengths = recordings.timing, recordings.states, recordings.lengths
    given = ~np.isnan(labels).all(axis=1)
    some = np.flatnonzero(given).tolist()
    near = NEAR * timing.frequency * timing.stride
    meant = [_meant(events, column, near) for column in labels.T]
    marked = np.stack([steps for *_, steps in meant], axis=1)
    delay = np.nanmedian(labels - marked, axis=0)
    # Two kinds may stand for one event, with different delays.
    _, first, which = np.unique(np.nan_to_num(marked, nan=-1), True, True, axis=1)
    kinds, marked = [meant[j][:2] for j in first.tolist()], marked[:, first]
    steps = np.minimum(marked // timing.stride, lengths[:, None] - 1)
    features = make_features(recordings.changes, states, CENTRED)
    coefficients, offset = fit_detectors([features.compute(states[i]) for i in some], steps[some])
    place = np.nanmean(steps[some] / lengths[some, None], axis=0)
    order = np.argsort(place, kind="stable")
    rising = all((np.diff(row[~np.isnan(row)]) >= 0).all() for row in steps[some][:, order])
    reached, seen = np.full(steps.shape, np.nan), np.zeros(steps.shape, bool)
    for i in np.flatnonzero(~given).tolist():
        raw = features.compute(states[i]) @ coefficients.T + offset
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
        best = score.argmax(axis=0)
        # Kinds with one such event show whether the order is the same.
        once = order[np.count_nonzero(there, axis=0)[order] == 1]
        if rising and (np.diff(best[once]) >= 0).all():
            best[order] = _ordered(score[:, order])
        for values, chosen in ((marked, recorded), (reached, raw), (seen, there)):
            values[i] = np.take_along_axis(chosen, best[None], axis=0)[0]
    if not given.all():
        marked[(reached < ABSENT * np.nanmedian(reached, axis=0)) & ~seen] = np.nan
    last = timing.stride * lengths[:, None] - 1
    found = np.rint(marked[:, which.ravel()] + delay).clip(0, last)
    found[given] = labels[given]  # labels are kept exactly
    return np.asarray(found)


def _meant(events: Sequence[Sequence[Event]], labels: Float, near: float) -> tuple[Any, ...]:
    """Name, median strength and steps [N] of events that all labels [N] lie on; "", 0, labels."""
    found = [(near, "", 0.0, labels)]
    for name in sorted({event.name for row in events for event in row}):
        steps, strength = np.full((2, len(labels)), np.nan)
        for i in np.flatnonzero(~np.isnan(labels)).tolist():
            own = [
                (abs(e.step - labels[i]), e.step, e.strength) for e in events[i] if e.name == name
            ]
            _, steps[i], strength[i] = min(own, default=(0, np.inf, 0))
        away = np.abs(steps - labels)
        if np.nanmax(away) <= near:
            found.append((float(np.nanmean(away)), name, float(np.nanmedian(strength)), steps))
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


def as_labels(labels: Any, lengths: NDArray[np.int64]) -> tuple[Float, tuple[str, ...]]:
    """Recorded steps [N, K] of labels, NaN where there is none, and K names; [0, 0] without labels.

    Steps without names are matched to named ones in order of time. `lengths`: recorded steps [N].
    """
    if labels is None:
        return np.zeros((0, 0)), ()
    if not isinstance(labels, Mapping) or not labels:
        raise InputError(
            f"labels is {labels!r}: pass steps by demonstration, as {{0: [75, 150]}} or "
            "{0: {'grasp': 75, 'release': 150}}"
        )
    own: dict[int, dict[str, int]] = {}
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
            str(name): as_count(step, f"label {name!r} of demonstration {which}", 0, last)
            for name, step in steps.items()
        }
    orders = {tuple(sorted(d, key=d.__getitem__)) for w, d in own.items() if w not in plain}
    order = orders.pop() if len(orders) == 1 else ()
    for which in plain:
        if len(own[which]) == len(order):
            own[which] = dict(zip(order, sorted(own[which].values()), strict=True))
    names = tuple(dict.fromkeys(name for d in own.values() for name in d))
    every = [max(own, key=lambda which: len(own[which])), *plain]  # these have all names
    if not names or any(len(own[which]) < len(names) for which in every):
        shown = "; ".join(f"{which}: {', '.join(d) or 'none'}" for which, d in own.items())
        raise InputError(
            f"labels of demonstrations cannot be matched ({shown}): give them names, one "
            "demonstration all of them, as {0: {'grasp': 75, 'release': 150}, 3: {'grasp': 60}}"
        )
    found = np.full((len(lengths), len(names)), np.nan)
    for which, d in own.items():
        found[which, [names.index(name) for name in d]] = list(d.values())
    return found, names
