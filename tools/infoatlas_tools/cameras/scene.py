"""The scene of a camera: first images of all demonstrations, and what all of them share."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .camera import Camera
from .images import lab, median

Image = NDArray[np.float32]

WIDTH = 256  # pixels of the images: smaller objects are lost below
FIRST = 0.1  # seconds whose median is the first image: later ones may show the arm on its way
SHARED = 600  # images of the background in all, which bounds the memory
EACH = 20  # images of one demonstration for the background, at most
ALIKE = 0.3  # correlation of edges: 0.6 from a fixed camera, 0.1 from one on a wrist
BLUR = 0.8  # pixels: less noise of an image
REACH = 0.06  # of the width: largest shift of the camera that is looked for
CLEARLY = 0.05  # correlation of edges that a shift gains, at least


@dataclass(frozen=True, eq=False)
class Scene:
    """First images, aligned in place and colour."""

    first: Image  # [N, h, w, 3], Lab by `images.lab`, as the median over the first 0.1 s
    usual: Image  # [h, w, 3], median over the first images of all demonstrations
    background: Image  # [h, w, 3], median over images of all steps of all demonstrations
    images: NDArray[np.uint8]  # [N, h, w, 3], RGB, for pictures
    # [N, 2], pixels (right, down) from the camera's place in the median demonstration.
    shift: NDArray[np.float64]
    colour: Image  # [N, 3], median difference (Lab) from the median demonstration
    after: NDArray[np.uint8]  # [N, h, w, 3], RGB, last images, for pictures


def read_scene(camera: Camera, rate: float) -> Scene:
    """First images and background of a camera's demonstrations; the rate is in Hz."""
    count = len(camera.lengths)
    each = max(2, min(EACH, SHARED // count))
    start, images, after, later = [], [], [], []
    wanted = []
    for length in camera.lengths.tolist():
        opening = np.unique(np.linspace(0, min(FIRST * rate, length - 1), 3).astype(int))
        spread = np.linspace(0, length - 1, each).astype(int)
        wanted.append((opening, spread, np.unique(np.r_[opening, spread])))
    reading = camera.read_each(enumerate(both.tolist() for *_, both in wanted), WIDTH)
    for (opening, spread, both), found in zip(wanted, reading, strict=True):
        begin = found[: len(opening)]
        images.append(np.median(begin, axis=0).astype(np.uint8))
        start.append(lab(images[-1], BLUR))
        later.append(found[np.searchsorted(both, spread)])
        after.append(found[-1])
    background = lab(median(later).astype(np.uint8), BLUR)
    first = np.array(start)
    del start, later  # the largest part of the memory
    return _align(first, background, np.array(images), np.array(after))


def read_between(
    camera: Camera, scene: Scene, begin: NDArray[np.int64], end: NDArray[np.int64]
) -> Image:
    """Medians of nine images between two steps of each demonstration, as `Scene.first`.

    Bodies that move, such as the arm, are not in the median. A demonstration without the steps,
    which are -1 there, has its first image.
    """
    found = scene.first.copy()
    wanted = {
        i: np.unique(np.linspace(a, b, 9).astype(int)).tolist()
        for i, (a, b) in enumerate(zip(begin.tolist(), end.tolist(), strict=True))
        if 0 <= a < b
    }
    for i, images in zip(wanted, camera.read_each(wanted.items(), WIDTH), strict=True):
        image = lab(np.median(images, axis=0).astype(np.uint8), BLUR)
        found[i] = _back(image, scene.shift[i]) - scene.colour[i]
    return np.asarray(found)


def same_view(images: Image, scene: Scene) -> bool:
    """Whether the edges of most images [N, h, w, 3] lie where those of the first images do."""
    usual = _edges(scene.usual).ravel()
    alike = [np.corrcoef(_edges(image).ravel(), usual)[0, 1] for image in images]
    return bool(np.median(alike) > ALIKE)


def _align(
    first: Image, background: Image, images: NDArray[np.uint8], after: NDArray[np.uint8]
) -> Scene:
    """Images displaced back by the shift of the camera, in the median colours."""
    import cv2

    usual = median([first])
    reach = round(REACH * first.shape[2])
    inner = np.ascontiguousarray(_edges(usual)[reach:-reach, reach:-reach])
    fixed = _edges(background)[reach:-reach, reach:-reach]
    shift = np.zeros((len(first), 2))
    for i, image in enumerate(first):
        edges = _edges(image)
        likeness = cv2.matchTemplate(edges, inner, cv2.TM_CCOEFF_NORMED)
        y, x = np.unravel_index(likeness.argmax(), likeness.shape)
        if likeness[y, x] > likeness[reach, reach] + CLEARLY:
            here, there = (
                edges[b : b + fixed.shape[0], a : a + fixed.shape[1]]
                for a, b in ((reach, reach), (x, y))
            )
            if _closer(there, here, fixed) > 2 / 3:  # an arm or an object changes fewer blocks
                shift[i] = x - reach, y - reach
    for i in range(len(first)):
        first[i], images[i], after[i] = (_back(own[i], shift[i]) for own in (first, images, after))
    usual = median([first])
    colour = np.array([np.median(image - usual, axis=(0, 1)) for image in first])
    first -= colour[:, None, None]
    usual = median([first])
    return Scene(first, usual, background, images, shift, colour, after)


def _closer(one: Image, other: Image, fixed: Image) -> float:
    """Share of 8 x 8 blocks, if they have fixed edges, in which `one` is closer than `other`."""
    import cv2

    amount, first, second = (
        cv2.resize(each, (8, 8), interpolation=cv2.INTER_AREA)  # means of blocks
        for each in (fixed, np.abs(one - fixed), np.abs(other - fixed))
    )
    return float((first < second)[amount > amount.mean()].mean())


def _back(image: NDArray[Any], shift: NDArray[np.float64]) -> NDArray[Any]:
    """An image displaced by the opposite of a shift of the camera, in pixels."""
    import cv2

    if not shift.any():
        return image
    back = np.array([[1, 0, -shift[0]], [0, 1, -shift[1]]], np.float32)
    size = image.shape[1], image.shape[0]
    return np.asarray(cv2.warpAffine(image, back, size, borderMode=cv2.BORDER_REPLICATE))


def _edges(image: Image) -> Image:
    import cv2

    grey = np.ascontiguousarray(image[..., 0])
    right, down = (cv2.Sobel(grey, cv2.CV_32F, *axis) for axis in ((1, 0), (0, 1)))
    return np.asarray(np.hypot(right, down))
