"""Key states of labelled kinds: labels of a few demonstrations are transferred to the others.

Where most labels of a kind lie on contacts or switches of one kind, they stand for these. In the
other demonstrations a detector (`fit_detectors.py`) chooses among them, and the median delay of the
labels is kept. Other kinds are where the detector's score is large, near the place of the labels.
The kinds of a demonstration ascend in an order of the labels, and it may lack some of them.

Labels are kept exactly, kind by kind, also where other kinds of a demonstration are to be found.
"""

import os
from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeAlias

import numpy as np

from infoatlas_rt.errors import InputError
from infoatlas_rt.inputs.checks import as_count

from ..array_types import Bool, Float, Int
from ..cameras.camera import Camera
from ..cameras.leave_and_arrive import find_changes
from ..clocks.pictures import correct_clock
from ..episode_numbers import find_episode
from ..trajectories import Trajectories, episode_names
from .contacts.contact_events import Event
from .fits.fit_detectors import CENTRED, fit_detectors, make_features
from .marks import Marks, read_labels
from .motion.durations import NEAR, ONE_EVENT
from .motion.motion_scales import Recordings

Labels: TypeAlias = Mapping[int, Any] | Marks | str | os.PathLike[str]

STAND_FOR = 0.6  # of the labels of a kind: if so many lie on events of one kind, these are meant
SEEN = 2.0  # score of an event like the labelled ones; the detector gives up to 1
KEPT = 5 * SEEN  # score of a label: more than any other
FEW = 12  # demonstrations whose images show whether labels lie on changes
LACKS = -1.0  # in place of a step: a person marked that the demonstration lacks the kind
CERTAIN = (-0.6, 3.3, -2.1)  # logistic model of certainty: offset, of the margin, of an event
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
    meant = [_find_meant(events, column, near) for column in given.T]
    marked = np.stack([steps for *_, steps in meant], axis=1)
    delay = np.nanmedian(given - marked, axis=0)
    # Two kinds may stand for one event, with different delays.
    same = np.where(said, np.nan_to_num(marked, nan=LACKS), -np.inf)
    _, first, which = np.unique(same, True, True, axis=1)
    kinds, marked = [meant[j][:4] for j in first.tolist()], marked[:, first]
    steps = np.minimum(marked // timing.stride, lengths[:, None] - 1)
    known = np.where(said[:, first], steps, np.inf)
    some = np.flatnonzero(said.any(axis=1)).tolist()
    features = make_features(recordings.scales, states, CENTRED)
    rows = {i: features.compute(states[i]) for i in some}
    coefficients, offset = fit_detectors(list(rows.values()), known[some])
    place = np.nanmean(steps[some] / lengths[some, None], axis=0)
    # Kinds at events of one kind that are far apart: an event is of one of them.
    every, apart = [kind for kind, *_ in kinds], timing.steps(ONE_EVENT)
    event_of = np.array([every.index(kind) if kind else -1 for kind in every])
    far = ~(np.abs(steps[some, :, None] - steps[some, None]) <= apart).any(axis=0)
    alike = 1 + ((event_of == event_of[:, None]) & far & (event_of >= 0)).sum(axis=0)
    groups = np.where(alike > 1, event_of, len(kinds) + np.arange(len(kinds)))
    orders = _orders(steps[some], place, groups, apart)
    reached, seen, margin, out = (np.full(steps.shape, v) for v in (np.nan, 0.0, 0.0, 0.0))
    incomplete = np.flatnonzero(~said.all(axis=1)).tolist()
    for i in incomplete:
        row = rows[i] if i in rows else features.compute(states[i])
        raw = row @ coefficients.T + offset
        score = raw / np.maximum(np.abs(raw).max(axis=0), 1e-9)
        recorded = np.tile(timing.recorded(np.arange(lengths[i]))[:, None], len(kinds))
        there = _score_events(events[i], kinds, recorded, timing.stride)
        score += there
        count = np.count_nonzero(there, axis=0)
        fewer = (count < alike) & (alike > 1)  # then it may be cut off: place is by time
        score[:, fewer] -= SEEN * (there[:, fewer] == 0)  # no such kind is without an event
        length = np.median(lengths[some]) if fewer.any() else lengths[i]
        score -= np.abs(np.arange(lengths[i])[:, None] / length - place)
        fixed = np.flatnonzero(np.isfinite(known[i]))  # the labels of an incomplete demonstration
        score[known[i, fixed].astype(int), fixed] += KEPT
        score[:, np.isnan(known[i])] -= KEPT  # kinds that it lacks
        # Kinds with one event, of a name of their own, show which orders are possible.
        top, once = score.argmax(axis=0), (alike == 1) & (count == 1)
        own = [order for order in orders if (np.diff(top[order[once[order]]]) >= 0).all()]
        best, margin[i], out[i] = _likeliest(score, own, apart)
        for values, chosen in ((marked, recorded), (reached, raw), (seen, there)):
            values[i] = np.take_along_axis(chosen, best[None], axis=0)[0]
    seen[out > 0] = 0.0
    if incomplete:
        little = (reached < ABSENT * np.nanmedian(reached, axis=0)) & (seen == 0)
        marked[little | (out > 0)] = np.nan
    last = timing.stride * lengths[:, None] - 1
    found = np.rint(marked[:, which.ravel()] + delay).clip(0, last)
    found[said] = given[said]  # labels are kept exactly
    sure = 1 / (1 + np.exp(-(CERTAIN[0] + CERTAIN[1] * margin + CERTAIN[2] * (seen > 0))))
    return np.asarray(found), np.where(said, 1.0, sure[:, which.ravel()])


def lie_on_changes(
    labels: Float, camera: Camera, states: Sequence[Float], names: Sequence[str], frequency: float
) -> bool:
    """Whether a label [N, K] lies on a change before a camera; few demonstrations are decoded."""
    labelled = np.flatnonzero((labels >= 0).any(axis=1))[:FEW]
    few = np.unique([*labelled, *np.linspace(0, len(labels) - 1, FEW).astype(int)])
    part = Camera(camera.name, camera.lengths[few], [camera.demonstrations[i] for i in few])
    part.episodes, part.on_read = tuple(camera.episodes[i] for i in few), camera.on_read
    own = [states[i] for i in few]
    correct_clock(part, own, names, frequency)
    return any(
        (np.abs(labels[i] - change.step) <= NEAR * frequency).any()
        for i, row in zip(few, find_changes(part, own, frequency)[0], strict=True)
        for change in row
    )


def _score_events(
    events: Sequence[Event], kinds: Sequence[Any], recorded: Int, stride: int
) -> Float:
    """Scores [T, K] of the events of a demonstration that are like the labelled ones; others 0.

    `kinds` are kind, strength, grip and date of the K labelled ones; `recorded` [T, K] gets their
    steps.
    """
    score = np.zeros(recorded.shape)
    for event in events:
        for j, (kind, strength, grip, date) in enumerate(kinds):
            if kind == event.kind:
                step = getattr(event, date)
                at = min(step // stride, len(score) - 1)
                recorded[at, j] = step
                # A failed attempt is short, and what slips out ends no grip.
                short = max(1 - event.grip / grip, 0) if grip and not event.unpaired else 0
                score[at, j] = SEEN / (1 + abs(event.strength - strength) + short)
    return score


def _orders(steps: Float, place: Float, groups: Int, apart: int) -> list[Int]:
    """Possible orders [K] of the kinds: that of all labels [n, K], or else those of complete ones.

    In the first case, two objects may be exchanged, with all their kinds of the same groups.
    """
    order = np.argsort(place, kind="stable")
    if not all((np.diff(row[~np.isnan(row)]) >= 0).all() for row in steps[:, order]):
        complete = steps[~np.isnan(steps).any(axis=1)]
        if (np.diff(np.sort(complete, axis=1), axis=1) <= apart).any():
            return []  # kinds at almost the same time have no order
        return list(np.unique(np.argsort(complete, axis=1, kind="stable"), axis=0))
    own = groups[order].tolist()
    numbers = [own[:k].count(group) for k, group in enumerate(own)]
    places = {key: k for k, key in enumerate(zip(own, numbers, strict=True))}
    orders = [order]
    for n in range(max(numbers)):
        other = {n: n + 1, n + 1: n}
        entries = enumerate(zip(own, numbers, strict=True))
        new = [places.get((group, other.get(number, number)), k) for k, (group, number) in entries]
        orders.append(order[new])
    return orders


def _likeliest(score: Float, orders: list[Int], apart: int) -> tuple[Int, Float, Bool]:
    """Steps [K] with the largest sum of scores [T, K], their margins, and which kinds are absent.

    The steps ascend in one of the orders, and kinds may be absent. Without orders each kind is
    alone. A margin is what the sum loses if the kind is absent or more than `apart` steps away.
    """
    each, out = (np.full(shape, -np.inf) for shape in (score.shape, score.shape[1]))
    for order in orders:
        (to, before), (back, after) = _sums(score[:, order]), _sums(score[::-1, order[::-1]])
        each[:, order] = np.maximum(each[:, order], to + back[::-1, ::-1] - score[:, order])
        without = (before[:-1] + after[-2::-1, ::-1]).max(axis=1)
        out[order] = np.maximum(out[order], without)
    each = each if orders else score
    best, own = each.argmax(axis=0), each.max(axis=0)
    away = np.abs(np.arange(len(score))[:, None] - best) > apart
    rival = np.maximum(np.where(away, each, -np.inf).max(axis=0), out)
    return best, np.minimum(np.where(out > own, out - own, own - rival), 2.0), out > own


def _sums(score: Float) -> tuple[Float, Float]:
    """Largest sums of scores [T, K] of ascending steps, by dynamic programming.

    [T, K]: up to a step of a kind; [K + 1, T + 1]: of the first kinds, before a step.
    """
    found, before = np.zeros(score.shape), np.zeros((score.shape[1] + 1, len(score) + 1))
    for k in range(score.shape[1]):
        found[:, k] = score[:, k] + before[k, :-1]
        before[k + 1, 1:] = np.maximum.accumulate(found[:, k])
        before[k + 1] = np.maximum(before[k + 1], before[k])  # without the kind
    return found, before


def _find_meant(events: Sequence[Sequence[Event]], labels: Float, near: float) -> tuple[Any, ...]:
    """Kind, median strength and grip, date and steps [N], of events that most labels [N] lie on.

    The date is the one of `step`, `begins` and `ends` from which labels have the most equal delays;
    `step` if there is one label. None, 0, 0, "step" and the labels if there are none.
    """
    found: list[tuple[Any, ...]] = [(np.inf, None, 0.0, 0.0, "step", labels)]
    given = np.flatnonzero(~np.isnan(labels)).tolist()
    for kind in sorted({event.kind for row in events for event in row}, key=lambda k: k.name):
        nearest: dict[int, Event] = {}
        for i in given:
            own = [e for e in events[i] if e.kind == kind and e.away(labels[i]) <= near]
            if own:
                nearest[i] = min(own, key=lambda e: abs(e.step - labels[i]))
        on = list(nearest)
        if len(on) < STAND_FOR * len(given):
            continue
        choices = []
        for date in ("step", "begins", "ends"):
            steps = labels.copy()
            steps[on] = [getattr(event, date) for event in nearest.values()]
            delay = (labels - steps)[on]
            choices.append((float(np.ptp(delay)), float(np.abs(delay).mean()), date, steps))
        _, away, date, steps = min(choices, key=lambda choice: choice[0])
        middle = (
            float(np.median([getattr(e, name) for e in nearest.values()]))
            for name in ("strength", "grip")
        )
        found.append((away, kind, *middle, date, steps))
    return min(found, key=lambda one: one[0])[1:]


def as_labels(labels: Any, trajectories: Trajectories) -> tuple[Float, tuple[str, ...]]:
    """Recorded steps [N, K] of labels and K names; [0, 0] without labels.

    LACKS where a demonstration lacks a kind, NaN where the kind is to be found. Steps without names
    are matched to named ones in order of time.
    """
    if labels is None:
        return np.zeros((0, 0)), ()
    if isinstance(labels, str | os.PathLike):
        labels = read_labels(labels, trajectories)
    lengths, episodes = trajectories.lengths, episode_names(trajectories)
    if isinstance(labels, Marks):
        return _fill(labels.steps, labels.kinds, len(lengths))
    if not isinstance(labels, Mapping) or not labels:
        raise InputError(
            f"labels is {labels!r}: pass steps by demonstration, as {{0: [75, 150]}} or "
            "{0: {'grasp': 75, 'release': 150}}, or the path of a file of them"
        )
    own: dict[int, dict[str, int | None]] = {}
    plain: set[int] = set()
    for demonstration, steps in labels.items():
        if isinstance(demonstration, str):
            which = find_episode(demonstration, episodes)
        else:
            which = as_count(demonstration, "a labelled demonstration", 0, len(lengths) - 1)
        if not isinstance(steps, Mapping):
            if not np.iterable(steps):
                raise InputError(f"labels of {episodes[which]} are {steps!r}: pass a list of steps")
            plain.add(which)
            steps = {f"label {j + 1}": step for j, step in enumerate(steps)}
        last = int(lengths[which]) - 1
        own[which] = {
            str(name): None
            if step is None
            else as_count(step, f"label {name!r} of demonstration {episodes[which]}", 0, last)
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
        shown = "; ".join(
            f"{episodes[which]}: {', '.join(d) or 'none'}" for which, d in own.items()
        )
        raise InputError(
            f"labels of demonstrations cannot be matched ({shown}): give them names, one "
            "demonstration all of them, as {0: {'grasp': 75, 'release': 150}, 3: {'grasp': 60}}"
        )
    return _fill(own, names, len(lengths))


def _step(own: Mapping[str, int | None]) -> Callable[[str], int]:
    return lambda name: own[name] or 0


def _fill(
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
