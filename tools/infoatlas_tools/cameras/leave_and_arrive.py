"""Lasting changes before a fixed camera: an object leaves its place, and arrives at another one.

A pixel of an object's first place looks as at the start until the object leaves, and never again.
A pixel of its last place looks as at the end from the arrival on. Without the object, both show the
background of the data set: the median over images of all demonstrations. Pixels of one object
change at one moment, but some are hidden by the hand before the object leaves, and others are
hidden until after it arrives. So the date is a late one of a blob that leaves, and an early one of
a blob that arrives.

The robot, too, leaves places and arrives. But the colour of an object appears nowhere else before
it leaves and after it arrives, and the colours of a robot do so whenever it moves.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from .camera import Camera
from .images import FEWEST, MOVING, lab, median, require

Pixels = NDArray[np.floating]  # [..., h, w, 3]: CIE L*a*b*, L* times LIGHTNESS
Colour = tuple[float, float, float]  # of a pixel

WIDTH = 96  # pixels of an image
RATE = 10.0  # images a second
ENDS = 0.4  # seconds whose median shows the scene at the start and at the end
BACKGROUND = 2000  # images in the background, of all demonstrations: bounds the memory
BLUR = 1.0  # pixels: less noise of video
SAME = 7.0  # delta E below which a pixel looks the same: noise of video is below 3
OTHER = 1.5 * SAME  # delta E above which a pixel shows something else
WAY = (0.08, 0.97)  # share of the robot's way: before and after, the robot changes places itself
BLOB = 0.0008  # of the pixels of an image: 5 of 96 x 72 (fewer are noise)
LATE = 0.8  # quantile of the pixels of a blob: some of them are hidden before
MOMENT = 0.5  # seconds from the date within which pixels agree: a grasp or a release lasts less
COLOUR = 12.0  # delta E within which blobs are the same object in other demonstrations
AGREED = 0.2  # share of a blob's pixels that agree, at least: slow changes have no date


@dataclass(frozen=True)
class Change:
    """An object leaves its place or arrives at one."""

    step: int  # recorded
    leaves: bool  # False if the object arrives
    place: tuple[float, float]  # right and down from the upper left corner, in widths of the image
    box: tuple[float, float, float, float]  # left, top, width and height, in widths of the image
    colour: Colour  # CIE L*a*b*, L* times LIGHTNESS
    size: float  # share of the image
    # Share of the pixels that change within half a second of the step: low if the date is wrong.
    agreement: float
    number: int = 0  # of the object, from 1; the same in all demonstrations


class Seen(NamedTuple):
    """What one demonstration shows."""

    first: Pixels  # [h, w, 3] float16, the scene at the start
    last: Pixels  # and at the end
    left: NDArray[np.uint16]  # [h, w], the last image in which a pixel looks as at the start
    arrived: NDArray[np.uint16]  # [h, w], the first image in which it looks as at the end
    stayed: NDArray[np.bool_]  # [h, w], whether most images before look as at the start
    stays: NDArray[np.bool_]  # [h, w], whether most images after look as at the end
    way: NDArray[np.float64]  # [n], share of its way that the robot has gone at each image
    numbers: NDArray[np.int64]  # [k], of the images in `samples`
    samples: Pixels  # [k, h, w, 3] float16


def find_changes(
    camera: Camera, states: Sequence[NDArray[Any]], rate: float
) -> tuple[list[list[Change]], list[str]]:
    """Changes that half of the demonstrations share, in order of time, by demonstration; notes.

    The notes say how many demonstrations show some, or why there are none. `states` [T, d] are
    those of the robot, whose own first and last motions are left out; `rate` is in Hz. The camera
    keeps the result, as all images are read for it.
    """
    if camera.changes is None:
        camera.changes = _find(camera, states, rate)
    found: tuple[list[list[Change]], list[str]] = camera.changes
    return found


def _find(
    camera: Camera, states: Sequence[NDArray[Any]], rate: float
) -> tuple[list[list[Change]], list[str]]:
    """As `find_changes`."""
    if len(states) < FEWEST:
        note = f"Camera {camera.name} dates no objects: that needs {FEWEST} demonstrations."
        return [[] for _ in states], [note]
    stride = max(1, round(rate / RATE))
    window, reach = max(1, round(ENDS * rate / stride)), MOMENT * rate / stride
    count = min(40, max(1, BACKGROUND // len(states)))  # more images show the same background
    seen: list[Seen] = []
    like: Pixels | None = None
    steps = [range(0, len(own), stride) for own in states]
    for i, images in enumerate(camera.read_each(enumerate(steps), WIDTH)):
        like = lab(images[0], BLUR) if like is None else like
        seen.append(_compare(images, like, window, count, _way(states[i][::stride])))
    background = median([one.samples for one in seen])
    other = [np.mean(_apart(one.samples, background) > OTHER) for one in seen]
    if np.median(other) > MOVING:
        return [[] for _ in states], [
            f"Camera {camera.name} moves, or its images share no background: it gives no dates."
        ]
    left = [_blobs(one, background, reach) for one in seen]
    colours = {c.number: c.colour for row in _choose_shared(left) for c in row}
    put = [_blobs(one, background, reach, [*colours.values()]) for one in seen]
    found = _choose_shared([a + b for a, b in zip(left, put, strict=True)])
    shown = sum(map(bool, found))
    note = (
        f"Camera {camera.name} shows objects that leave their places or arrive in {shown} of "
        f"{len(found)} demonstrations."
    )
    return [[replace(c, step=c.step * stride) for c in row] for row in found], [note]


def _level(image: Any, like: Pixels) -> Pixels:
    """An image in CIE L*a*b*, as bright and white as `like`: lamps flicker, cameras adapt."""
    pixels = lab(image, BLUR)
    return pixels - np.median((pixels - like)[::4, ::4], axis=(0, 1))


def _apart(one: Pixels, other: Pixels) -> NDArray[np.floating]:
    """Delta E of pixels."""
    apart = np.asarray(one - other, np.float32)
    return np.asarray(np.sqrt(np.einsum("...i,...i", apart, apart)))


def _compare(images: Any, like: Pixels, window: int, count: int, way: NDArray[Any]) -> Seen:
    """What the images [n, h, w, 3] of a demonstration show; `window` of them show either end."""
    ends = range(len(images))[:window], range(len(images))[-window:]
    levelled = {n: _level(images[n], like) for n in {*ends[0], *ends[1]}}
    first, last = (np.median([levelled[n] for n in part], axis=0) for part in ends)
    seen = np.zeros((2, *first.shape[:2]), np.uint16)  # images that look as at the ends
    left, before, arrived = np.zeros((3, *first.shape[:2]), np.uint16)
    numbers = np.unique(np.linspace(0, len(images) - 1, count).round().astype(int))
    samples: list[Pixels] = []
    recent: list[NDArray[np.bool_]] = []
    for number, image in enumerate(images):
        pixels = levelled[number] if number in levelled else _level(image, like)
        if number in numbers:
            samples.append(pixels.astype(np.float16))
        recent = [*recent[-2:], np.array([_apart(pixels, end) < SAME for end in (first, last)])]
        same = np.sum(recent, axis=0) * 2 > len(recent)  # one bad image changes nothing
        arrived[same[1] & (seen[1] == 0)] = number
        seen += same
        left[same[0]], before[same[0]] = number, seen[0][same[0]]
    stayed, stays = before * 2 > left, seen[1] * 2 > len(images) - arrived
    scene = first.astype(np.float16), last.astype(np.float16)
    return Seen(*scene, left, arrived, stayed, stays, way, numbers, np.array(samples))


def _way(states: NDArray[Any]) -> NDArray[Any]:
    """Share of its way that a robot has gone at each step of [n, d]."""
    ranges = np.ptp(states, axis=0)
    ranges = np.maximum(ranges, 0.1 * ranges.max(initial=1e-300))  # noise of joints at rest
    gone = np.cumsum(np.abs(np.diff(states, axis=0, prepend=states[:1])) / ranges, axis=0).sum(1)
    return np.asarray(gone / max(gone[-1], 1e-300))


def _blobs(
    seen: Seen, background: Pixels, reach: float, left: Sequence[Colour] | None = None
) -> list[Change]:
    """What leaves in one demonstration, or arrives if colours `left` before; steps are of images.

    What left differs by its colour from a hand that stays at it.
    """
    cv2 = require("cv2")
    leaves, times = left is None, seen.left if left is None else seen.arrived
    scene, empty = (seen.first, seen.last) if leaves else (seen.last, seen.first)
    way, rests = seen.way[times], seen.stayed if leaves else seen.stays
    mask = rests & (way > WAY[0]) & (_apart(scene, empty) > OTHER)
    mask &= (_apart(scene, background) > OTHER) & (_apart(empty, background) <= OTHER)
    free, found = mask.copy(), list[Change]()
    for own in (None, *(left or ())):
        part = free & (way < WAY[1] if own is None else _apart(scene, np.array(own)) < COLOUR)
        clean = cv2.morphologyEx(part.astype(np.uint8), cv2.MORPH_OPEN, np.ones((2, 2)))
        count, labels = cv2.connectedComponents(cv2.dilate(clean, np.ones((3, 3))))
        for label in range(1, count):
            blob = (labels == label) & part
            if blob.mean() < BLOB:
                continue
            steps = times[blob].astype(np.int64)
            step = int(np.quantile(steps, LATE if leaves else 1 - LATE))
            agreement = float(np.mean(np.abs(steps - step) <= reach))
            around = cv2.dilate(blob.astype(np.uint8), np.ones((7, 7))).astype(bool)
            around &= ~(blob if own is None else mask)
            edge, other_edge = (
                _apart(np.median(s[blob], axis=0), np.median(s[around], axis=0))
                for s in (scene, empty)
            )
            # An object that nearly always lies in one place is background, and its absence is not.
            if agreement < AGREED or edge < other_edge:
                continue
            colour, still = np.median(scene[blob], axis=0), seen.numbers <= step
            if not leaves:  # a hand that stays has moved before, and left no place
                known = any(_apart(np.array(c), colour) < COLOUR for c in left or ())
                still = (seen.numbers >= step) | (not known)
            # A blob with more new pixels of its colour elsewhere than of its own is the robot.
            samples = seen.samples[still].astype(np.float32)
            new = [_apart(samples, other) > OTHER for other in (scene, background)]
            alike = np.all([*new, _apart(samples, colour) < COLOUR], axis=0)
            if alike.sum(axis=(1, 2)).max(initial=0) > blob.sum():
                continue
            at = np.argwhere(blob)[:, ::-1] / mask.shape[1]
            place, corner = tuple(at.mean(axis=0).tolist()), at.min(axis=0)
            box = (*corner.tolist(), *(at.max(axis=0) - corner + 1 / mask.shape[1]).tolist())
            size = float(blob.mean())
            found.append(Change(step, leaves, place, box, tuple(colour.tolist()), size, agreement))
            free &= ~blob
    return found


def _choose_shared(rows: Sequence[Sequence[Change]]) -> list[list[Change]]:
    """Changes of objects that half of the demonstrations share, with the objects' numbers.

    The largest blob that is left gives an object its colour; each demonstration adds its largest
    blob of that colour.
    """
    left = [list(row) for row in rows]
    found: list[list[Change]] = [[] for _ in rows]
    colours: list[Any] = []
    while any(left):
        largest = max((c for row in left for c in row), key=lambda c: c.size)
        colour = np.array(largest.colour)
        members = {}
        for i, row in enumerate(left):
            alike = [
                c
                for c in row
                if c.leaves == largest.leaves and np.linalg.norm(colour - c.colour) < COLOUR
            ]
            if alike:
                members[i] = max(alike, key=lambda c: c.size)
            left[i] = [c for c in row if c not in alike]
        if 2 * len(members) < len(rows):
            continue
        same = [n for n, other in enumerate(colours) if np.linalg.norm(colour - other) < COLOUR]
        if not same:
            colours.append(colour)
        number = same[0] + 1 if same else len(colours)
        for i, change in members.items():
            found[i].append(replace(change, number=number))
    return [sorted(row, key=lambda c: c.step) for row in found]
