"""Figures of temporal action segmentation, for key states as cuts between segments.

The cuts of a demonstration divide its steps into segments; a segment begins at its cut. Its class
is the kind of that cut with its number among the cuts of this kind in the demonstration ("second
grasp"). Cuts are key states or true events; the kinds of a method that has none are the numbers of
its cuts, so its classes are ordinal. The steps before the first cut are a class of their own. Found
classes are matched one to one with true classes over all demonstrations of a set, so that most
steps agree (Hungarian algorithm); classes without a partner match nothing.
"""

from collections import Counter
from collections.abc import Hashable, Sequence

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import linear_sum_assignment

Cuts = Sequence[tuple[float, Hashable]]  # (step, kind) of a demonstration
Segment = tuple[int, int, Hashable]  # first step, step after the last one, class
OVERLAPS = (10, 25, 50)  # percent
START = "start"


def figures(
    found: Sequence[Cuts], truth: Sequence[Cuts], lengths: NDArray[np.int64]
) -> dict[str, float]:
    """Figures of a set of N demonstrations: f1_10, f1_25, f1_50, edit and accuracy.

    f1 is 2 tp / (found + true segments), summed over demonstrations. A found segment is a true
    positive if the intersection over union of it and a true segment of its class is at least 10, 25
    or 50%; a true segment counts once. edit is 1 - Levenshtein distance of the two sequences of
    classes over the length of the longer one, mean over demonstrations. accuracy is the share of
    steps whose class is right.
    """
    pairs = [
        (segments(own, int(n)), segments(true, int(n)))
        for own, true, n in zip(found, truth, lengths, strict=True)
    ]
    partner = matched(pairs)
    hits, edits, right, total = dict.fromkeys(OVERLAPS, 0), [], 0, 0
    for own, true in pairs:
        own = [(a, b, partner.get(kind)) for a, b, kind in own]
        shared = np.array([[_shared(x, y) * (x[2] == y[2]) for y in true] for x in own])
        joint = np.array([[max(x[1], y[1]) - min(x[0], y[0]) for y in true] for x in own])
        for percent in hits:
            hits[percent] += int((shared >= percent / 100 * joint).any(axis=0).sum())
        edits.append(1 - _edits([x[2] for x in own], [y[2] for y in true]))
        right += int(shared.sum())
        total += len(own) + len(true)
    return {
        **{f"f1_{percent}": 2 * hit / total for percent, hit in hits.items()},
        "edit": float(np.mean(edits)),
        "accuracy": right / int(np.sum(lengths)),
    }


def segments(cuts: Cuts, length: int) -> list[Segment]:
    """Segments of a demonstration of `length` steps; of cuts at one step the last one counts."""
    times: Counter[Hashable] = Counter()
    starts: dict[int, Hashable] = {0: START}
    for step, kind in sorted(cuts, key=lambda cut: cut[0]):
        times[kind] += 1
        starts[int(np.ceil(step))] = (kind, times[kind])
    return [
        (first, end, kind)
        for (first, kind), end in zip(starts.items(), [*list(starts)[1:], length], strict=True)
        if end > first
    ]


def matched(pairs: Sequence[tuple[list[Segment], list[Segment]]]) -> dict[Hashable, Hashable]:
    """The true class of each found class; classes without a partner are left out."""
    steps: Counter[tuple[Hashable, Hashable]] = Counter()
    for own, true in pairs:
        for x in own:
            for y in true:
                steps[x[2], y[2]] += _shared(x, y)
    rows, columns, table = _table(steps)
    best = zip(*linear_sum_assignment(table, maximize=True), strict=True)
    return {rows[i]: columns[j] for i, j in best}


def _shared(x: Segment, y: Segment) -> int:
    """Steps of both."""
    return max(0, min(x[1], y[1]) - max(x[0], y[0]))


def _edits(one: Sequence[Hashable], other: Sequence[Hashable]) -> float:
    """Levenshtein distance over the length of the longer sequence."""
    row = list(range(len(other) + 1))
    for i, x in enumerate(one, start=1):
        last, row[0] = row[0], i
        for j, y in enumerate(other, start=1):
            last, row[j] = row[j], min(row[j] + 1, row[j - 1] + 1, last + (x != y))
    return row[-1] / max(len(one), len(other))


def kinds(found: Sequence[Cuts], truth: Sequence[Cuts], limit: float) -> tuple[float, float]:
    """Purity and completeness of kinds; NaN without hits.

    Purity: of the key states within `limit` steps of an event, the share whose nearest event is the
    commonest one of their kind. Completeness: of the events within `limit` steps of a key state,
    the share whose nearest key state is of the commonest kind of that event.
    """
    return _commonest(found, truth, limit), _commonest(truth, found, limit)


def _commonest(some: Sequence[Cuts], others: Sequence[Cuts], limit: float) -> float:
    """Share of `some` whose nearest of the `others` is the commonest one of their kind."""
    hits: Counter[tuple[Hashable, Hashable]] = Counter()
    for own, other in zip(some, others, strict=True):
        for step, kind in own:
            near = min(other, key=lambda cut: abs(cut[0] - step), default=(np.inf, None))
            if abs(near[0] - step) <= limit:
                hits[kind, near[1]] += 1
    return float(_table(hits)[2].max(axis=1).sum() / sum(hits.values())) if hits else float("nan")


def _table(
    counts: Counter[tuple[Hashable, Hashable]],
) -> tuple[list[Hashable], list[Hashable], NDArray[np.int64]]:
    """Rows, columns and counts of pairs."""
    rows, columns = (list(dict.fromkeys(names)) for names in zip(*counts, strict=True))
    return rows, columns, np.array([[counts[row, column] for column in columns] for row in rows])
