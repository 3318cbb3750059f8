"""Kinds of key states: columns that stand for the same event in all demonstrations.

Contacts and switches have names, and a column for each occurrence of a name. Other changes of the
motion are grouped by their signatures (`motion_scales.py`), in any order. A demonstration may lack
a kind.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ..array_types import Float, Int
from .contacts.keystate_steps import SHARED

ONE_KIND = 0.3  # cosine of the signatures of one kind, at least
SIMILAR = 0.8  # cosine of the signatures from which two kinds count as one kind, repeated
SEEDS = 300  # events around which kinds are looked for, at most: the time grows with them


@dataclass(frozen=True, eq=False)
class Others:
    """Other changes of the motion of one demonstration, best first."""

    steps: Int  # [m], recorded
    score: Float  # [m], 1 for the best one, 1/2 for the next, and so on
    signature: Float  # [m, q], unit vectors


@dataclass(frozen=True, eq=False)
class Kind:
    """A kind of change."""

    members: dict[int, int]  # demonstration to recorded step
    strength: float  # mean score of the members times the share of demonstrations that have one
    shared: bool  # False for the remaining changes, which match no others
    signature: Float  # [q], mean of the members


def group(chosen: Sequence[Others], lengths: Int) -> list[Kind]:
    """Kinds of the chosen changes, each with at most one of each demonstration.

    The strongest is first; kinds that are not shared come last.
    """
    total = len(chosen)
    owner = np.concatenate([np.full(len(c.steps), i) for i, c in enumerate(chosen)]).astype(int)
    steps, score, signature = (
        np.concatenate([getattr(c, name) for c in chosen])
        for name in ("steps", "score", "signature")
    )
    free = np.ones(len(owner), bool)
    kinds: list[Kind] = []

    def add(which: Int, shared: bool) -> None:
        free[which] = False
        members = dict(zip(owner[which].tolist(), steps[which].tolist(), strict=True))
        strength = float(score[which].mean()) * len(which) / total
        kinds.append(Kind(members, strength, shared, signature[which].mean(axis=0)))

    seeds = np.random.default_rng(0).permutation(len(owner))[:SEEDS]
    similarity = signature[seeds] @ signature.T  # changed in place, as it is large
    similarity[similarity < ONE_KIND] = 0.0
    similarity *= similarity
    starts = np.flatnonzero(np.diff(owner, prepend=-1))
    while total > 1 and free[seeds].any():
        similarity[:, ~free] = 0.0
        value = np.zeros((len(seeds), total))
        value[:, owner[starts]] = np.maximum.reduceat(similarity, starts, axis=1)
        value = value.mean(axis=1) * score[seeds] * free[seeds]
        best = int(value.argmax())
        which = _best_of_each(owner, np.where(free, similarity[best], 0.0), 1e-9)
        if value[best] <= 0 or len(which) < max(2, SHARED * total):
            break
        add(which, True)

    def rank(kind: Kind) -> tuple[float, float]:  # of equal ones, the earlier comes first
        place = np.mean([step / lengths[i] for i, step in kind.members.items()])
        return -round(kind.strength, 9), float(place)

    kinds.sort(key=rank)
    while free.any():
        add(_best_of_each(owner, np.where(free, score, -1.0), 0.0), total == 1)
    return kinds


def _best_of_each(owner: Int, value: Float, least: float) -> Int:
    """The entry of each owner with the largest value, where that is at least `least`."""
    order = np.lexsort((-value, owner))
    first = np.r_[True, owner[order][1:] != owner[order][:-1]] if len(order) else order
    best = order[first.astype(bool)]
    return np.asarray(best[value[best] >= least], np.int64)


def number_kinds(kinds: Sequence[Kind]) -> list[int]:
    """Number of each kind; kinds with the same signature have the same number."""
    number = list(range(len(kinds)))
    units = [k.signature / max(float(np.linalg.norm(k.signature)), 1e-12) for k in kinds]
    for i, kind in enumerate(kinds):
        same = [j for j in range(i) if kinds[j].shared and units[i] @ units[j] >= SIMILAR]
        if kind.shared and same:
            number[i] = number[same[0]]
    return number
