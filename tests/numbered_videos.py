"""Pictures that contain a number, and videos of them."""

from concurrent.futures import ThreadPoolExecutor
from fractions import Fraction

import av
import numpy as np

BITS = 8


def picture(number, height=48, width=64):
    """[height, width, 3]: black and white bars, the binary digits of a number, above grey."""
    image = np.full((height, width, 3), 128, np.uint8)
    for bit in range(BITS):
        image[: height // 2, width * bit // BITS : width * (bit + 1) // BITS] = 255 * (
            number >> bit & 1
        )
    return image


def numbers(images):
    """The numbers in pictures of any size."""
    _, height, width, _ = np.shape(images)
    middles = [width * (2 * bit + 1) // (2 * BITS) for bit in range(BITS)]
    bars = np.asarray(images)[:, height // 4, middles].mean(axis=-1) > 127
    return (bars << np.arange(BITS)).sum(axis=1).tolist()


def write_video(path, shown, codec="libx264", fps=20, turn=0, times=(), **options):
    """Write a video of numbered pictures, or of images; LeRobot's are AV1 with g=2 and crf=30.

    A player turns the pictures counterclockwise by `turn` degrees. The `times` of the frames are
    multiples of 1 / fps; successive ones unless given.
    """
    images = [item if np.ndim(item) else picture(item) for item in shown]
    path.parent.mkdir(parents=True, exist_ok=True)
    # In a thread of its own: SVT-AV1 gives the calling thread real-time priority if the user is
    # root, and all later processes of the tests would starve others.
    with ThreadPoolExecutor(1) as thread:
        thread.submit(_encode, path, images, codec, fps, turn, times, options).result()
    return path


def _encode(path, images, codec, fps, turn, times, options):
    with av.open(str(path), "w") as container:
        given = {name: str(value) for name, value in options.items()}
        stream = container.add_stream(codec, rate=fps, options=given)
        stream.height, stream.width = images[0].shape[:2]
        stream.pix_fmt = "yuv420p"
        stream.set_display_rotation(turn)
        for number, image in enumerate(images):
            frame = av.VideoFrame.from_ndarray(image, format="rgb24")
            frame.pts, frame.time_base = [*times, *range(len(images))][number], Fraction(1, fps)
            container.mux(stream.encode(frame))
        container.mux(stream.encode(None))
