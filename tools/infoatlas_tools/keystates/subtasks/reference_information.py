"""The reference object of a part: information between its end and the pose of each object.

If a part has a reference object, its end moves with that object. Over the demonstrations, the end
varies less in the object's frame than in the world. Half the log-ratio of the variances is the
mutual information of a Gaussian model in which the end is the object's pose plus noise. The model
needs few demonstrations, because it has no slope to fit.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from ...array_types import Bool, Float, Int
from ..contacts.keystate_steps import ENOUGH
from .poses import Track
from .subtask_results import WORLD

FLOOR = 0.003  # m: sensors and grasps do not distinguish smaller spreads
FLOOR_ANGLE = 0.05  # rad: the same for headings
DISPLACED = 0.010  # m: an object that is farther from its place has been moved
STEPS = 2  # recorded steps of a part, at least: it has a start and an end
CONCENTRATED = 0.9  # resultant length of headings, at least: they are one angle plus noise
BETTER = 0.3  # share of the circular variance in the world, below which an orientation counts
TURNS = {1: "pose", 2: "half turns", 4: "quarter turns"}


@dataclass(frozen=True, eq=False)
class ReferenceInformation:
    """Information about where a part ends."""

    nats: dict[str, float]  # of each possible reference; 0 for "world"
    left_out: dict[str, Float]  # [n], the same with one demonstration left out
    held: str  # object that the tool carries, or ""
    rows: Int  # [n], demonstrations that were used
    place: Float  # [n, 3], where the part ends: place of the tool, or of the carried object

    def best(self) -> str:
        """The reference with the most information."""
        return max(self.nats, key=lambda name: self.nats[name])

    def stderr(self, one: str, other: str) -> float:
        """Jackknife standard error of the difference, nats."""
        difference = self.left_out[one] - self.left_out[other]
        n = len(difference)
        return float(np.sqrt((n - 1) / n * ((difference - difference.mean()) ** 2).sum()))


def reference_information(
    tool: Sequence[Track], objects: Mapping[str, Sequence[Track]], start: Int, end: Int, there: Bool
) -> ReferenceInformation | None:
    """Information between the end of a part and each object's pose at its start.

    `start` and `end` [N] are steps, `end` excluded. `there` [N] are demonstrations that have both
    cuts. None if too few demonstrations have the part.
    """
    rows = np.flatnonzero(there & (end - start >= STEPS))
    if len(rows) < max(ENOUGH, len(start) / 2):
        return None
    first, last = start[rows], end[rows] - 1
    held = find_carried(tool, objects, rows, first, last)
    places = [(_at(tool, rows, last), _at(tool, rows, first))]
    if held:
        places.append((_at(objects[held], rows, last), _at(objects[held], rows, first)))
    # All demonstrations, then without each of them.
    subsets = np.vstack([np.ones(len(rows), bool), ~np.eye(len(rows), dtype=bool)])
    nats, best_place = {WORLD: np.zeros(len(subsets))}, places[0][0]
    most = -np.inf
    for name, tracks in objects.items():
        lies, turned = _at(tracks, rows, first), _read_rotations(tracks, rows, first)
        begun = np.linalg.norm(lies - _at(tracks, rows, np.zeros_like(first)), axis=1)
        if name == held and np.median(begun) > DISPLACED:
            continue  # its place is a result of the tool's motion
        gains = []
        for place, before in places:
            own = [place - lies]
            if turned is not None:
                own.append(np.einsum("nji,nj->ni", turned, place - lies))
            world = np.minimum(_spread(place, subsets), _spread(place - before, subsets))
            gains.append(0.5 * (world - np.min([_spread(p, subsets) for p in own], axis=0)))
        chosen = int(np.argmax([gain[0] for gain in gains]))
        nats[name] = gains[chosen]
        if gains[chosen][0] > most:
            most, best_place = gains[chosen][0], places[chosen][0]
    every = {name: float(values[0]) for name, values in nats.items()}
    left_out = {name: values[1:] for name, values in nats.items()}
    return ReferenceInformation(every, left_out, held, rows, best_place)


def find_carried(
    tool: Sequence[Track], objects: Mapping[str, Sequence[Track]], rows: Int, first: Int, last: Int
) -> str:
    """The object that moves with the tool in most demonstrations, for the longest time; or ""."""
    found, longest = "", 0.0
    for name, tracks in objects.items():
        with_it, times = [], []
        for i, a, b in zip(rows.tolist(), first.tolist(), last.tolist(), strict=True):
            p = tracks[i].position[a : b + 1]
            way = float(np.linalg.norm(p[-1] - p[0]))
            # From the step at which the object leaves its first place to that at which it reaches
            # the last.
            left = a + int((np.linalg.norm(p - p[0], axis=1) > FLOOR).argmax())
            come = a + int((np.linalg.norm(p - p[-1], axis=1) < FLOOR).argmax())
            turn = _within(tool[i], tracks[i], come) - _within(tool[i], tracks[i], left)
            with_it.append(way > DISPLACED and float(np.linalg.norm(turn)) < 0.5 * way)
            times.append(come - left)
        if np.mean(with_it) > 0.5 and np.median(times) > longest:
            found, longest = name, float(np.median(times))
    return found


def orientation(
    tool: Sequence[Track],
    reference: Sequence[Track] | None,
    rows: Int,
    first: Int,
    last: Int,
    held: Sequence[Track] | None = None,
) -> str:
    """How far the tool follows the reference's orientation at the end of a part.

    The heading of the tool relative to the reference is compared over the demonstrations, also
    modulo half and quarter turns: "position", "pose", "half turns" or "quarter turns". `rows` [n]
    are demonstrations that have the part, `first` and `last` [n] its first and last step in these.
    Of the carried object and the tool, the one that follows the reference more is compared.
    """
    if reference is None:
        return "position"
    theirs = _heading(reference, rows, first)
    found = []
    for body in (tool, held):
        own = None if body is None else _heading(body, rows, last)
        if own is None or theirs is None:
            continue
        for turns, name in TURNS.items():
            floor = (FLOOR_ANGLE * turns) ** 2 / 2
            relative, world = (
                1 - float(np.abs(np.exp(1j * turns * angles).mean())) + floor
                for angles in (own - theirs, own)
            )
            if relative < 1 - CONCENTRATED + floor and relative < BETTER * world:
                found.append((turns, name))
                break
    return min(found)[1] if found else "position"


def _spread(place: Float, subsets: Bool) -> Float:
    """Sum over axes of the log of the variance, with a floor, in each subset [1 + n]."""
    weights = subsets / subsets.sum(axis=1, keepdims=True)
    centre = place.mean(axis=0)
    mean = weights @ (place - centre)
    square = weights @ (place - centre) ** 2
    count = subsets.sum(axis=1, keepdims=True)
    variance = np.maximum(square - mean**2, 0.0) * count / (count - 1)
    return np.asarray(np.log(variance + FLOOR**2).sum(axis=1))


def _at(tracks: Sequence[Track], rows: Int, steps: Int) -> Float:
    return np.array(
        [tracks[i].position[s] for i, s in zip(rows.tolist(), steps.tolist(), strict=True)]
    )


def _read_rotations(tracks: Sequence[Track], rows: Int, steps: Int) -> Float | None:
    """Rotations [n, 3, 3] at the steps, or None."""
    own = [tracks[i].rotation for i in rows.tolist()]
    found = [r[s] for r, s in zip(own, steps.tolist(), strict=True) if r is not None]
    return np.array(found) if len(found) == len(own) else None


def _within(tool: Track, body: Track, step: int) -> Float:
    """Place of a body in the tool's frame; without an orientation, relative to its place."""
    away = body.position[step] - tool.position[step]
    return away if tool.rotation is None else np.asarray(tool.rotation[step].T @ away)


def _heading(tracks: Sequence[Track], rows: Int, steps: Int) -> Float | None:
    """Turn about the vertical from the first of the demonstrations to each [n], radians.

    The rotation about z that is nearest to R_i R_0^T: it does not depend on which of the body's
    axes are horizontal.
    """
    rotations = _read_rotations(tracks, rows, steps)
    if rotations is None:
        return None
    m = rotations @ rotations[0].T
    return np.asarray(np.arctan2(m[:, 1, 0] - m[:, 0, 1], m[:, 0, 0] + m[:, 1, 1]))
