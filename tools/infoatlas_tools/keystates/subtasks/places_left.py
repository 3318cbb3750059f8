"""What leaves its place at a cut, or arrives at one, by the lasting changes before a fixed camera.

The object that was taken is the one that lay where something is now missing. So a thing that leaves
is a row of its own, whatever its colours: it joins the blob that lay there, and replaces the blobs
that are parts of it.
"""

from collections.abc import Collection, Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from ...array_types import Bool, Float, Int
from ...cameras.first_image_objects import ImageObject, colour_of, locate
from ...cameras.leave_and_arrive import Change
from ...cameras.scene import Image, Scene
from ..contacts.keystate_steps import COMMON
from .subtask_results import WORLD

SURE = 0.8  # share of the demonstrations in which a place is that of one object, at least
RIVAL = 0.2  # and in which it is that of another one, at most
SAME = 0.4  # of the area of a blob and of what left, together, that both have
MARGIN = 3  # pixels around a box: images of changes are smaller


class Moved(NamedTuple):
    """Something that leaves its place or arrives, in N demonstrations."""

    leaves: bool
    steps: Int  # [N], -1 where it does not
    points: Float  # [N, 2], pixels of the scene; NaN where it does not
    boxes: Int  # [N, 4], left, top, width and height; 0 where it does not

    def within(self, first: Int, last: Int) -> float:
        """Share of the demonstrations with both in which it happens in steps `first` to `last`."""
        both = (self.steps >= 0) & (first >= 0)
        if both.sum() < COMMON * max((first >= 0).sum(), 1):
            return 0.0
        return float(((self.steps >= first) & (self.steps <= last))[both].mean())


def moved(changes: Sequence[Sequence[Change]], scene: Scene) -> list[Moved]:
    """Changes [N] of one object and direction, the k-th of each demonstration together."""
    found: dict[tuple[int, bool, int], Moved] = {}
    width, count = scene.first.shape[2], len(changes)
    for i, row in enumerate(changes):
        seen: list[tuple[int, bool]] = []
        for change in row:
            kind = change.number, change.leaves
            own = found.setdefault(
                (*kind, seen.count(kind)),
                Moved(change.leaves, np.full(count, -1), np.full((count, 2), np.nan),
                      np.zeros((count, 4), np.int64)),
            )  # fmt: skip
            seen.append(kind)
            own.steps[i], own.points[i] = change.step, np.array(change.place) * width
            own.points[i] -= scene.shift[i]
            box = np.array(change.box) * width - (*scene.shift[i], 0, 0)
            own.boxes[i] = box.round()
    return [found[key] for key in sorted(found)]


def holds(boxes: Int, points: Float) -> Bool:
    """Whether boxes [N, 4] contain points [N, 2]; False where there is none."""
    low, high = boxes[:, :2] - MARGIN, boxes[:, :2] + boxes[:, 2:] + MARGIN
    return np.asarray((boxes[:, 2] > 0) & ((points >= low) & (points <= high)).all(axis=1))


def with_left(
    objects: Sequence[ImageObject], things: Sequence[Moved], scene: Scene, palette: Image
) -> list[ImageObject]:
    """Objects, with a row for each of the things that leave; `left` is its place there, from 1.

    Things that no object matches come last.
    """
    rows = list(objects)
    faces: Int | None = None
    for k, thing in enumerate(things, start=1):
        there = thing.steps >= 0
        if not thing.leaves or there.mean() < COMMON:
            continue
        overlap = [_shared(one.boxes[there], thing.boxes[there]) for one in rows]
        best = max(range(len(rows)), key=lambda o: overlap[o], default=-1)
        own = ImageObject(thing.points, thing.boxes, thing.boxes[:, 2:].prod(axis=1), (), False, k)
        if best >= 0 and overlap[best] >= SAME and not rows[best].left:
            one = rows[best]
            boxes = np.where(there[:, None], thing.boxes, one.boxes)
            own = replace(one, boxes=boxes, twin=False, left=k)
            rows[best : best + 1] = [own, one] if one.twin else [own]
        else:
            rows.append(own)
        kept = []
        for one in rows:
            both = there & one.seen
            middle = one.boxes[both, :2] + one.boxes[both, 2:] / 2
            if one.left or not both.any() or holds(thing.boxes[both], middle).mean() < SURE:
                kept.append(one)
        for one in [one for one in kept if one.twin]:
            faces = colour_of(scene.first, scene, palette) if faces is None else faces
            for i, (x, y, w, h) in enumerate(thing.boxes.tolist()):
                faces[i, max(0, y) : y + h, max(0, x) : x + w] = -1
            other = locate(faces, one.colours)  # the one of its colour that stays
            at = kept.index(one)
            there = other.seen  # the faces of several colours become those of one object
            double = (holds(o.boxes[there], other.points[there]) for o in kept[:at] if not o.left)
            lost = there.mean() < COMMON or any(own.mean() >= SURE for own in double)
            kept[at : at + 1] = [] if lost else [other]
        rows = kept
    return rows


def shares_left(
    objects: Sequence[ImageObject], things: Sequence[Moved], first: Int, last: Int
) -> Float:
    """Share of the demonstrations in which each object leaves in steps `first` to `last` [N]."""
    shares = [0.0, *(thing.within(first, last) for thing in things)]
    return np.array([shares[one.left] for one in objects])


def shares_below(
    objects: Sequence[ImageObject],
    things: Sequence[Moved],
    first: Int,
    last: Int,
    gone: Collection[int],
) -> Float:
    """Share of the demonstrations in which each object lies where something arrives then.

    That is where the middle of what arrives is, or the middle of its lower edge: it may be higher.
    Objects of the indices `gone` no longer lie where they lay, or lie below others.
    """
    found = np.zeros(len(objects))
    arrives = [t for t in things if not t.leaves and t.within(first, last) >= SURE]
    if len(arrives) == 1:
        there = arrives[0].steps >= 0
        lower = arrives[0].boxes[:, :2] + arrives[0].boxes[:, 2:] * (0.5, 1)
        for o, one in enumerate(objects):
            both = there & (one.boxes[:, 2] > 0)
            if o not in gone and both.sum() >= COMMON * there.sum():
                own = (holds(one.boxes, at) for at in (arrives[0].points, lower))
                found[o] = np.any([*own], axis=0)[both].mean()
    return found


def windows(steps: Int, handles: Sequence[int], lengths: Int, near: float) -> list[tuple[Int, Int]]:
    """First and last step [N] of what leaves or arrives at each cut of steps [C, N]; -1 without.

    What is taken leaves until it is put, as the hand hides its place, and what is put arrives until
    the next is taken. At other cuts it happens within `near` steps.
    """
    found = []
    for c, own in enumerate(steps):
        end = own + near
        if handles[c]:
            later = [s for s, h in zip(steps, handles, strict=True) if h * handles[c] < 0]
            after = [np.where(s > own, s, lengths) for s in later]
            end = np.min([lengths, *after], axis=0) + near
        found.append((np.where(own < 0, -1, np.maximum(own - near, 0)), end))
    return found


def agree(shares: Float, names: Sequence[str], reference: str, note: str) -> tuple[str, str]:
    """The reference by images that change and by information, or "world"; and a note on why.

    `shares` [O] are those of the demonstrations in which the place of each object changes;
    `reference` and `note` are by information alone.
    """
    order = np.argsort(-shares, kind="stable").tolist()
    if not order or shares[order[0]] < SURE:
        return reference, note
    best, *others = (names[o] for o in order if shares[o] > RIVAL)
    if others:
        if reference in (best, *others):
            return reference, note
        if reference == WORLD:
            return WORLD, note or f"the places of {best} and {others[0]} change together."
    elif reference in (WORLD, best):
        return best, ""
    return WORLD, (
        f"the place of {best} changes ({shares[order[0]]:.0%} of the demonstrations), and the "
        f"joints depend on {reference}: check the contact sheet."
    )


def _shared(a: Int, b: Int) -> float:
    """Median share of the area of two boxes [n, 4] together that is in both."""
    low = np.maximum(a[:, :2], b[:, :2])
    high = np.minimum(a[:, :2] + a[:, 2:], b[:, :2] + b[:, 2:])
    both = np.maximum(high - low, 0).prod(axis=1)
    return float(np.median(both / (a[:, 2:].prod(axis=1) + b[:, 2:].prod(axis=1) - both)))
