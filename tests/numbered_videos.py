"""Pictures that contain a number, and videos of them."""

from __future__ import annotations

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


def write_video(path, shown, codec="libx264", fps=20, **options):
    """Write a video of numbered pictures; LeRobot's are of libsvtav1 with g=2 and crf=30."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with av.open(str(path), "w") as container:
        given = {name: str(value) for name, value in options.items()}
        stream = container.add_stream(codec, rate=fps, options=given)
        stream.width, stream.height, stream.pix_fmt = 64, 48, "yuv420p"
        for number in shown:
            frame = av.VideoFrame.from_ndarray(picture(number), format="rgb24")
            container.mux(stream.encode(frame))
        container.mux(stream.encode(None))
    return path
