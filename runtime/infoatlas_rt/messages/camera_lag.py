"""By how much the pictures of a camera follow the states of a robot, over the last minute."""

from collections import deque
from io import BytesIO
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..errors import InputError
from ..streams.offsets import Offset, find_offset, motion, unknown

WIDTH = 64  # pixels of a small picture
SAMPLES = 4  # pixels across each of its pixels, at most
PERIOD = 0.1  # s between the pictures that are decoded, and steps of the offset
EARLY = 0.85  # of the period: what comes earlier is left out, as stamps jitter
SPAN = 60.0  # s that are compared, at most
FEWEST = 15.0  # and at least
BAYER = ("rggb", "bggr", "gbrg", "grbg")
# Bytes of a pixel, those whose mean is grey, and the conversion by OpenCV to RGB.
ENCODINGS = {
    "rgb8": (3, slice(3), ""),
    **dict.fromkeys(("bgr8", "8UC3"), (3, slice(3), "BGR2RGB")),
    "rgba8": (4, slice(3), "RGBA2RGB"),
    "bgra8": (4, slice(3), "BGRA2RGB"),
    **dict.fromkeys(("mono8", "8UC1"), (1, slice(1), "GRAY2RGB")),
    **{f"bayer_{own}8": (1, slice(1), f"Bayer{own.upper()}2RGB") for own in BAYER},
    **dict.fromkeys(("yuv422", "uyvy"), (2, slice(1, 2), "YUV2RGB_UYVY")),
    **dict.fromkeys(("yuv422_yuy2", "yuyv"), (2, slice(1), "YUV2RGB_YUY2")),
}


def due(kept: deque[Any], time: float) -> bool:
    """Whether a period has passed since the newest of pairs (s, value), which a restart removes."""
    if kept and time < kept[-1][0] - 1:
        kept.clear()
    return not kept or time >= kept[-1][0] + EARLY * PERIOD


def camera_lag(states: deque[Any], pictures: deque[Any]) -> Offset:
    """Steps of `PERIOD` by which pictures [h, w] follow states [d], both pairs (s, value)."""
    kept = [[*states], [*pictures]]  # other threads append, and copies are atomic
    if not all(kept):
        return unknown(f"there are no {'pictures' if kept[0] else 'states'} with stamps yet")
    same = [[pair for pair in own if pair[1].shape == own[-1][1].shape] for own in kept]
    dated = [np.array([time for time, _ in own]) for own in same]
    end = min(t[-1] for t in dated)  # both may pause for hours, or begin at another date
    ticks = np.arange(max(end - SPAN, *(t[0] for t in dated)), end, PERIOD)
    if len(ticks) * PERIOD < FEWEST:
        return unknown(f"pictures and states share less than {FEWEST:g} s")
    values = [np.stack([value for _, value in own]) for own in same]
    first, second = (motion(own, t, ticks) for own, t in zip(values, dated, strict=True))
    return find_offset([first], [second], 1 / PERIOD)


def small_grey(message: Any) -> NDArray[np.float32]:
    """The grey picture [h, about WIDTH] of a message Image or CompressedImage.

    InputError if its encoding is another one. Compressed ones need Pillow; its errors pass.
    """
    if hasattr(message, "format"):
        pixels = _decompress(bytes(message.data))
    else:
        pixels = pixels_of(message, "the camera")[..., ENCODINGS[message.encoding][1]]
    block = max(1, pixels.shape[1] // WIDTH)
    h, w = (n // block for n in pixels.shape[:2])
    blocks = pixels[: h * block, : w * block].reshape(h, block, w, block, -1)
    some = slice(None, None, -(-block // SAMPLES))
    return np.asarray(blocks[:, some, :, some].mean(axis=(1, 3, 4), dtype=np.float32))


def pixels_of(message: Any, what: str) -> NDArray[np.uint8]:
    """Bytes [h, w, n] of the pixels of a message Image; `what` names it in errors."""
    if message.encoding not in ENCODINGS:
        raise InputError(
            f"{what} has the encoding {message.encoding!r}: record one of {', '.join(ENCODINGS)}"
        )
    width, rows = ENCODINGS[message.encoding][0], np.frombuffer(message.data, np.uint8)
    size = message.width * width
    if message.step < size or len(rows) < message.height * message.step or not size:
        raise InputError(
            f"{what} has {len(rows)} bytes for {message.width} x {message.height} pixels of "
            f"{message.encoding}: record it again"
        )
    rows = rows[: message.height * message.step].reshape(message.height, message.step)[:, :size]
    return rows.reshape(message.height, message.width, width)


def _decompress(content: bytes) -> NDArray[np.uint8]:
    """The grey picture [h, w] of a JPEG or PNG; a JPEG at about the size that is needed."""
    from PIL import Image

    image = Image.open(BytesIO(content))
    image.draft("L", (WIDTH, WIDTH // 2))
    return np.asarray(image.convert("L"))
