"""Images of a camera in ROS bags, by the times at which they and the states arrived."""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from infoatlas_rt.errors import InputError
from infoatlas_rt.messages.camera_lag import ENCODINGS, pixels_of

from ..cameras.images import Image, decode, require, resize
from .states import Bag

FARTHEST = 0.5  # s between a state and the nearest image, at most


class BagImages(NamedTuple):
    """Images on a topic of a bag; `times` [T] are those at which the states arrived, seconds."""

    path: Path
    topic: str
    times: NDArray[np.float64]

    def read(self, steps: Sequence[int], width: int) -> Iterator[Image]:
        """As in `Images`: of each state the image that arrived nearest in time."""
        with Bag(self.path) as bag:
            messages = bag.messages(self.topic)
            earlier = later = next(messages, None)
            used, image = None, np.zeros(0, np.uint8)
            for time in self.times[np.asarray(steps)]:
                while later and later[1] < time:
                    earlier, later = later, next(messages, None)
                near = min((own for own in (earlier, later) if own), key=lambda m: abs(m[1] - time))
                if abs(near[1] - time) > FARTHEST:
                    raise InputError(
                        f"{self.path}: the image on {self.topic} nearest to a state is "
                        f"{abs(near[1] - time):.2g} s away, more than {FARTHEST} s: cut the bag to "
                        "the time of both, or leave it out"
                    )
                if near is not used:
                    used = near
                    image = resize(image_of(near[2], f"{self.path}: {self.topic}"), width)
                yield image


def image_topics(bag: Bag) -> list[str]:
    """Topics of images."""
    kinds = ("Image", "CompressedImage")
    return [n for n, own in bag.topics.items() if own.type.rpartition("/")[2] in kinds]


def check_camera(bag: Bag, topic: str) -> None:
    """Raise InputError if a bag has no images on a topic; the message lists those that have."""
    require("cv2")
    cameras = image_topics(bag)
    if topic not in cameras:
        held = f"topics of images are {', '.join(cameras)}" if cameras else bag.listing()
        raise InputError(f"{bag.path} has no images on {topic!r}: {held}")
    bag.schema(topic)


def image_of(message: Any, what: str) -> Image:
    """The image in a message of type Image or CompressedImage; `what` names it in errors."""
    if hasattr(message, "format"):
        return decode(bytes(message.data), what)
    pixels, code = np.ascontiguousarray(pixels_of(message, what)), ENCODINGS[message.encoding][2]
    if not code:
        return pixels
    cv2 = require("cv2")
    return np.asarray(cv2.cvtColor(pixels, getattr(cv2, f"COLOR_{code}")))
