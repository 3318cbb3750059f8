"""Objects of first images: blobs of one colour that lie elsewhere in every demonstration."""

from dataclasses import dataclass

import numpy as np

from ..array_types import Bool, Float, Int
from .images import FEWEST
from .scene import Image, Scene

DIFFERS = 9.0  # delta E from what is usual, from which a pixel is of something that lies elsewhere
COLOURS = 8  # of the palette: more would split one object
SMALLEST = 8  # pixels of an object: fewer are noise
BESIDE = 0.04  # of the width: blobs nearer than this may be faces of one object
STEADY = 1.8  # ratio of the quartiles of its area, at most: what varies more is no one thing
RIGID = 0.8  # share of the variance of a face's place that the place of another one explains


@dataclass(frozen=True, eq=False)
class ImageObject:
    """Something that lies elsewhere in every first image."""

    # [N, 2], its centre (right, down) in pixels of the scene; NaN where it is not seen.
    points: Float
    boxes: Int  # [N, 4], left, top, width and height
    pixels: Int  # [N], of its blob
    colours: tuple[int, ...]  # of its faces: indices in the palette
    twin: bool  # most demonstrations have two blobs of its colour, which may be confused
    left: int = 0  # place, from 1, of what leaves from there among all that leaves or arrives

    @property
    def seen(self) -> Bool:
        """Whether each demonstration has it [N]."""
        return np.isfinite(self.points[:, 0])


def find_objects(scene: Scene) -> tuple[list[ImageObject], Image]:
    """Objects that half of the demonstrations have, largest first, and the palette [k, 3]."""
    mask = unusual(scene.first, scene)
    pixels = scene.first[mask]
    if len(pixels) < COLOURS * SMALLEST:
        return [], np.zeros((0, 3), np.float32)
    palette = _palette(pixels)
    faces = colour_of(scene.first, scene, palette)
    every = [locate(faces, (k,)) for k in range(len(palette))]
    joined = _join([one for one in every if one.seen.mean() >= 1 / 2], faces)
    things = [one for one in joined if _steady(one)]
    if len(things) > 1:
        things = _distinct(things)
    return sorted(things, key=lambda one: -np.median(_areas(one))), palette


def unusual(images: Image, scene: Scene) -> Bool:
    """Pixels [N, h, w] that differ from the background and from the usual first image."""
    import cv2

    found = np.zeros(images.shape[:3], bool)
    kernel = np.ones((2, 2), np.uint8)  # opens: single pixels are noise
    for own, image in zip(found, images, strict=True):
        far = [np.linalg.norm(image - usual, axis=-1) for usual in (scene.background, scene.usual)]
        differs = (np.minimum(*far) > DIFFERS).astype(np.uint8)
        own[:] = cv2.morphologyEx(differs, cv2.MORPH_OPEN, kernel) > 0
    return found


def colour_of(images: Image, scene: Scene, palette: Image) -> Int:
    """Nearest colour of the palette of each pixel [N, h, w]; -1 where a pixel is usual."""
    found = np.full(images.shape[:3], -1)
    mask = unusual(images, scene)
    for own, image, there in zip(found, images, mask, strict=True):
        own[there] = np.linalg.norm(image[there][:, None] - palette, axis=-1).argmin(axis=1)
    return found


def locate(faces: Int, colours: tuple[int, ...]) -> ImageObject:
    """The largest blob of some colours in each image [N, h, w] of `colour_of`."""
    import cv2

    points, boxes = np.full((len(faces), 2), np.nan), np.zeros((len(faces), 4), np.int64)
    pixels, second = np.zeros(len(faces), np.int64), np.zeros(len(faces))
    for i, mask in enumerate(np.isin(faces, colours).astype(np.uint8)):
        closed = cv2.morphologyEx(mask, cv2.MORPH_CLOSE, np.ones((3, 3), np.uint8))
        _, _, stats, centres = cv2.connectedComponentsWithStats(closed)
        area = stats[1:, cv2.CC_STAT_AREA]
        if area.max(initial=0) >= SMALLEST:
            largest = 1 + int(area.argmax())
            points[i], boxes[i] = centres[largest], stats[largest, :4]
            pixels[i] = area.max()
            second[i] = np.sort(area)[-2] / area.max() if len(area) > 1 else 0
    there = np.isfinite(points[:, 0])
    # A second object of this colour is more than half as large.
    twin = bool(there.any() and np.median(second[there]) > 1 / 2)
    return ImageObject(points, boxes, pixels, colours, twin)


def _palette(pixels: Image) -> Image:
    """Colours [k, 3] of pixels [n, 3] by k-means."""
    import cv2

    cv2.setRNGSeed(0)
    some = pixels[np.random.default_rng(0).permutation(len(pixels))[:20_000]]  # enough
    stop = (cv2.TERM_CRITERIA_EPS + cv2.TERM_CRITERIA_MAX_ITER, 30, 0.1)
    labels = np.zeros(0, np.int32)
    return np.asarray(cv2.kmeans(some, COLOURS, labels, stop, 3, cv2.KMEANS_PP_CENTERS)[2])


def _join(found: list[ImageObject], faces: Int) -> list[ImageObject]:
    """Blobs that touch each other in most images, and move together, as faces of one object."""
    near = BESIDE * faces.shape[2]
    kept: list[ImageObject] = []
    for one in found:
        for j, other in enumerate(kept):
            both = one.seen & other.seen
            # Half of the fewest demonstrations: as many have an object.
            if 2 * both.sum() < FEWEST or not _touch(one.boxes[both], other.boxes[both], near):
                continue
            if _explain(one.points[both], other.points[both]) >= RIGID:
                kept[j] = locate(faces, one.colours + other.colours)
                break
        else:
            kept.append(one)
    return kept


def _distinct(found: list[ImageObject]) -> list[ImageObject]:
    """Objects without those that have the box of a larger blob in most images, as rims have."""
    boxes = np.stack([one.boxes for one in found], axis=1)  # [N, O, 4]
    first, last = boxes[..., :2], boxes[..., :2] + boxes[..., 2:]
    low = np.maximum(first[:, :, None], first[:, None])
    high = np.minimum(last[:, :, None], last[:, None])
    shared = np.maximum(high - low, 0).prod(axis=-1)  # [N, O, O], pixels
    area, pixels = boxes[..., 2:].prod(axis=-1), np.stack([one.pixels for one in found], axis=1)
    # More than half of the area of two boxes together is in both.
    same = 2 * shared > area[:, :, None] + area[:, None] - shared
    rim = (same & (pixels[:, :, None] < pixels[:, None])).any(axis=-1)
    return [one for o, one in enumerate(found) if rim[one.seen, o].mean() < RIGID]


def _areas(one: ImageObject) -> Int:
    """Pixels of its box in each image that has it."""
    return np.asarray(one.boxes[one.seen, 2:].prod(axis=1))


def _steady(one: ImageObject) -> bool:
    """Whether it has about the same size in most images."""
    low, high = np.quantile(_areas(one), (0.25, 0.75))
    return bool(high <= STEADY * low)


def _touch(a: Int, b: Int, near: float) -> bool:
    """Whether boxes [n, 4] are near each other in most images."""
    low = np.maximum(a[:, :2], b[:, :2])
    high = np.minimum(a[:, :2] + a[:, 2:], b[:, :2] + b[:, 2:])
    return bool((((low - high).max(axis=1)) <= near).mean() >= RIGID)


def _explain(a: Float, b: Float) -> float:
    """Share of the variance of places [n, 2] that a linear map of others explains."""
    design = np.column_stack([np.ones(len(b)), b])
    rest = a - design @ np.linalg.lstsq(design, a, rcond=None)[0]
    return 1 - float((rest**2).sum() / max(((a - a.mean(axis=0)) ** 2).sum(), 1e-12))
