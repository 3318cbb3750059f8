"""Images of a demonstration: arrays and encoded files, in RGB and at the width that is used."""

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from infoatlas_rt.errors import InputError

from .. import presentation

Image = NDArray[np.uint8]  # [h, w, 3], RGB
FEWEST = 8  # demonstrations: fewer have no common background, and a robot passes for an object
MOVING = 0.4  # share of the pixels that differs from the background if the camera moves
LIGHTNESS = 0.6  # weight of lightness beside colour, as shadows change lightness


class Images(Protocol):
    """Images of one demonstration."""

    def read(self, steps: Sequence[int], width: int) -> Iterable[Image]:
        """The images of ascending steps, each `width` pixels wide."""


def require(module: str) -> Any:
    """A package of the extra `camera`; InputError if it is not installed."""
    name = {"cv2": "opencv-python-headless"}.get(module, module)
    return presentation.require(module, f"images of cameras need {name}, which", "camera")


def size_at(width: int, shape: Sequence[int]) -> tuple[int, int]:
    """Width and height of an image of this shape [h, w, ...] at another width."""
    return width, max(1, round(shape[0] * width / shape[1]))


def resize(image: Image, width: int) -> Image:
    """An image at this width; each pixel is a mean over its area."""
    if image.shape[1] == width:
        return image
    cv2 = require("cv2")
    return np.asarray(cv2.resize(image, size_at(width, image.shape), interpolation=cv2.INTER_AREA))


def lab(image: Image, blur: float) -> NDArray[np.float32]:
    """CIE L*a*b* [h, w, 3] of an image, L* times LIGHTNESS, blurred by so many pixels."""
    cv2 = require("cv2")
    blurred = cv2.GaussianBlur(image, (0, 0), blur).astype(np.float32) / 255
    values = cv2.cvtColor(blurred, cv2.COLOR_RGB2LAB)
    return np.asarray(values * np.array([LIGHTNESS, 1, 1], np.float32))


def median(parts: Sequence[NDArray[Any]]) -> NDArray[Any]:
    """Median [h, w, c] over all images of parts [n, h, w, c], without a copy of all of them."""
    rows = range(len(parts[0][0]))
    return np.stack([np.median(np.concatenate([p[:, y] for p in parts]), axis=0) for y in rows])


def decode(content: bytes, what: str) -> Image:
    """The image in the bytes of a file of PNG, JPEG or the like; `what` names it in the error."""
    cv2 = require("cv2")
    found = cv2.imdecode(np.frombuffer(content, np.uint8), cv2.IMREAD_COLOR) if content else None
    if found is None:
        raise InputError(f"{what} is no image that OpenCV decodes: load or record it again")
    return np.asarray(cv2.cvtColor(found, cv2.COLOR_BGR2RGB))


class ArrayImages(NamedTuple):
    """Images in an array-like [T, H, W, 3] uint8, read row by row as they are used."""

    array: Any

    def read(self, steps: Sequence[int], width: int) -> Iterator[Image]:
        for step in steps:
            yield resize(np.ascontiguousarray(self.array[step]), width)


class FileImages(NamedTuple):
    """Files of images, one for each step."""

    files: tuple[Path, ...]

    @property
    def length(self) -> int:
        """Number of its steps."""
        return len(self.files)

    def read(self, steps: Sequence[int], width: int) -> Iterator[Image]:
        for step in steps:
            try:
                content = self.files[step].read_bytes()
            except OSError as error:
                raise InputError(f"{self.files[step]} cannot be read: {error}") from error
            yield resize(decode(content, str(self.files[step])), width)
