"""Key states without a shared order: changes that recur in other demonstrations, and their kinds.

Every demonstration is searched separately (`changes.py`). A match of two candidates is the squared
cosine of their signatures times the other one's score of change. The *support* of a candidate is
the mean, over the other demonstrations, of its best match there. Candidates are ranked by score of
change times support. No order is assumed, and a demonstration may lack a kind of event or repeat
it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from .changes import Changes

Float = NDArray[np.float64]
Int = NDArray[np.int64]

SUPPORTED = 4  # demonstrations: with fewer, support is not used
BEST = 0.8  # of the other demonstrations, those with the best matches: support is their mean
MATCHED = 100  # demonstrations that a candidate is compared with, at most
ONE_KIND = 0.3  # cosine of the signatures of one kind, at least
REPEAT = 0.8  # cosine of the signatures from which two kinds count as one kind, repeated
KEPT = 0.2  # share of the demonstrations that have a kind, at least
DUPLICATE = 0.1  # seconds from a better candidate within which a boundary of phases is dropped
STEADY = 1.5  # nats: mean of the two largest b, below which no coordinate moves in bursts
BOUNDARY = 0.25  # seconds: a change within them of a boundary of phases is that boundary


@dataclass(frozen=True, eq=False)
class Candidates:
    """Candidates of one demonstration, best first.

    Attributes
    ----------
    steps : [m] int64
        Working steps.
    score : [m] float64
        Score of change times support.
    signature : [m, q] float64
        Unit vectors.
    """

    steps: Int
    score: Float
    signature: Float

    def take(self, rows: Int) -> Candidates:
        """Some of them."""
        return Candidates(self.steps[rows], self.score[rows], self.signature[rows])


@dataclass(frozen=True, eq=False)
class Kind:
    """A kind of event.

    Attributes
    ----------
    members : dict of int to int
        Demonstration to row of its candidates.
    strength : float
        Mean score of the members times the share of demonstrations that have one.
    shared : bool
        False for the remaining events, which match no others.
    origin : str
        "event" or "phase".
    """

    members: dict[int, int]
    strength: float
    shared: bool
    origin: str = "event"


def find_candidates(changes: Changes, states: Sequence[Float]) -> list[Candidates]:
    """Ranked candidates of every demonstration.

    Parameters
    ----------
    changes : Changes
    states : sequence of [T_i, p] float64
        Working steps.

    Returns
    -------
    list of Candidates
    """
    made = [_search(changes, s) for s in states]
    if len(made) < SUPPORTED:
        return made
    rng = np.random.default_rng(0)
    compared = np.sort(rng.permutation(len(made))[:MATCHED])
    ranked = []
    for i, own in enumerate(made):
        matches = [_match(own, made[j]) for j in compared.tolist() if j != i]
        best = np.sort(matches, axis=0)[::-1]
        score = own.score * best[: int(np.ceil(BEST * len(best)))].mean(axis=0)
        order = np.argsort(-score, kind="stable")
        ranked.append(Candidates(own.steps, score, own.signature).take(order))
    return ranked


def _search(changes: Changes, states: Float) -> Candidates:
    steps, scores = changes.candidates(states)
    return Candidates(steps, scores, changes.signatures(states, steps))


def _match(own: Candidates, other: Candidates) -> Float:
    """Best match of each candidate among those of another demonstration [m]."""
    if not len(other.steps):
        return np.zeros(len(own.steps))
    cosine = np.maximum(own.signature @ other.signature.T, 0.0)
    return np.asarray((cosine**2 * other.score).max(axis=1, initial=0.0))


def interleave(
    changes: Changes,
    states: Sequence[Float],
    candidates: Sequence[Candidates],
    boundaries: Int,
    count: int,
) -> list[Candidates]:
    """The best `count` of each demonstration, two candidates and one boundary of phases in turn.

    If hardly any coordinate moves in bursts, candidates are ranked poorly; then two boundaries and
    one candidate are taken in turn.

    Parameters
    ----------
    changes, states, candidates
        As in `find_candidates`.
    boundaries : [N, J] int64
        Working steps of boundaries that all demonstrations share, strongest first; J may be 0.
    count : int

    Returns
    -------
    list of Candidates
        In order of rank. Boundaries within 0.1 s of a better candidate are dropped.
    """
    apart = changes.timing.steps(DUPLICATE)
    steady = np.sort(changes.burst)[-2:].mean() < STEADY
    chosen = []
    for own, phases, x in zip(candidates, boundaries.tolist(), states, strict=True):
        events = list(zip(own.steps.tolist(), range(len(own.steps)), strict=True))
        cuts = [(step, -1) for step in phases]
        taken: list[tuple[int, int]] = []
        for turn in range(3 * (len(events) + len(cuts))):
            queue = cuts if (turn % 3 == 2) != steady else events
            while queue and len(taken) < count:
                step, row = queue.pop(0)
                if all(abs(step - other) > apart for other, _ in taken):
                    taken.append((step, row))
                    break
        steps = np.array([step for step, _ in taken], np.int64)
        score = np.array([own.score[row] if row >= 0 else np.nan for _, row in taken])
        for i in np.flatnonzero(np.isnan(score)):  # a boundary has the score of the one before it
            score[i] = score[i - 1] if i else own.score.max(initial=0.0)
        chosen.append(Candidates(steps, score, changes.signatures(x, steps)))
    return chosen


def group(
    chosen: Sequence[Candidates], lengths: Int, near: int, boundaries: Int | None = None
) -> list[Kind]:
    """Kinds of the chosen events, each with at most one event of each demonstration.

    Parameters
    ----------
    chosen : sequence of Candidates
        Events of each demonstration.
    lengths : [N] int64
        Working steps of each demonstration.
    near : int
        An event within so many steps of a boundary of phases is that boundary.
    boundaries : [N, J] int64, optional
        Boundaries of phases, strongest first.

    Returns
    -------
    list of Kind
        Strongest first; kinds that are not shared come last.
    """
    total = len(chosen)
    owner = np.concatenate([np.full(len(c.steps), i) for i, c in enumerate(chosen)]).astype(int)
    row = np.concatenate([np.arange(len(c.steps)) for c in chosen]).astype(int)
    steps = np.concatenate([c.steps for c in chosen])
    score = np.concatenate([c.score for c in chosen])
    signature = np.concatenate([c.signature for c in chosen])
    time = steps / np.maximum(lengths[owner] - 1, 1)
    free = np.ones(len(owner), bool)
    kinds: list[Kind] = []

    def add(which: Int, shared: bool, origin: str) -> None:
        free[which] = False
        members = dict(zip(owner[which].tolist(), row[which].tolist(), strict=True))
        strength = float(score[which].mean()) * len(which) / total
        kinds.append(Kind(members, strength, shared, origin))

    for j in range(0 if boundaries is None else boundaries.shape[1]):
        assert boundaries is not None
        apart = np.where(free, np.abs(steps - boundaries[owner, j]), near + 1)
        which = _best_of_each(owner, -apart.astype(float), -near)
        if len(which) > total / 2:
            add(which, True, "phase")
    seeds = np.random.default_rng(0).permutation(len(owner))[:300]
    cosine = np.maximum(signature[seeds] @ signature.T, 0.0)
    similarity = np.where(
        cosine >= ONE_KIND, cosine**2 * (1 - 0.25 * np.abs(time[seeds, None] - time)), 0.0
    )
    while total > 1 and free[seeds].any():
        value = np.zeros((len(seeds), total))
        usable = np.flatnonzero(free)
        np.maximum.at(value.T, owner[usable], similarity[:, usable].T)
        value = value.mean(axis=1) * score[seeds] * free[seeds]
        best = int(value.argmax())
        which = _best_of_each(owner, np.where(free, similarity[best], 0.0), 1e-9)
        if value[best] <= 0 or len(which) < max(2, KEPT * total):
            break
        add(which, True, "event")
    kinds.sort(key=lambda kind: -kind.strength)
    while free.any():
        add(_best_of_each(owner, np.where(free, score + 1e-9, -1.0), 0.0), total == 1, "event")
    return kinds


def _best_of_each(owner: Int, value: Float, least: float) -> Int:
    """The entry of each owner with the largest value, where that is at least `least`."""
    order = np.lexsort((-value, owner))
    first = np.r_[True, owner[order][1:] != owner[order][:-1]] if len(order) else order
    best = order[first.astype(bool)]
    return np.asarray(best[value[best] >= least], np.int64)


def repeated_kinds(kinds: Sequence[Kind], chosen: Sequence[Candidates]) -> Int:
    """Number of each kind [K]; kinds with the same signature have the same number."""
    if not kinds:
        return np.zeros(0, np.int64)
    centre = np.array(
        [
            np.mean([chosen[i].signature[row] for i, row in kind.members.items()], axis=0)
            for kind in kinds
        ]
    )
    centre /= np.maximum(np.linalg.norm(centre, axis=1, keepdims=True), 1e-12)
    number = np.arange(len(kinds))
    for i in range(len(kinds)):
        if kinds[i].shared:
            same = [j for j in range(i) if kinds[j].shared and centre[i] @ centre[j] >= REPEAT]
            if same:
                number[i] = number[same[0]]
    return np.unique(number, return_inverse=True)[1].astype(np.int64)
