"""Small pictures of messages, and a clock that is set; `tests/ros2/test_camera.py` has the lag."""

from collections import deque
from io import BytesIO
from types import SimpleNamespace

import numpy as np
import pytest

from infoatlas_rt.messages.camera_lag import ENCODINGS, camera_lag, small_grey


@pytest.mark.parametrize("encoding", [*ENCODINGS, "JPEG", "PNG"])
def test_encodings_of_one_picture(encoding):
    grey = np.tile((np.sin(np.arange(128) / 6) * 90 + 128).astype(np.uint8), (96, 1))
    if encoding in ENCODINGS:
        pixels = np.full((96, 128, ENCODINGS[encoding][0]), 255, np.uint8)
        pixels[..., ENCODINGS[encoding][1]] = grey[..., None]
        rows = np.pad(pixels.reshape(96, -1), ((0, 0), (0, 5)))  # 5 unused bytes
        sizes = {"height": 96, "width": 128, "step": rows.shape[1]}
        message = SimpleNamespace(encoding=encoding, data=rows.tobytes(), **sizes)
    else:
        file = BytesIO()
        pytest.importorskip("PIL.Image").fromarray(grey).save(file, encoding)
        message = SimpleNamespace(format=encoding, data=file.getvalue())
    expected = grey[::2, ::2] / 2 + grey[::2, 1::2] / 2
    np.testing.assert_allclose(small_grey(message), expected, atol=30 * (encoding == "JPEG"))


def test_the_lag_after_the_clock_is_set():
    """No more than the last minute is compared, so the decades before do not fill the memory."""
    places = np.abs(np.random.default_rng(0).normal(size=600) / 4).cumsum()
    times = np.arange(600) * 0.1 + (np.arange(600) > 300) * 1.7e9
    wave = (np.sin(np.arange(64) / 6 - places[:, None]) * 90 + 128).astype(np.float32)
    states = deque(zip(times, places[:, None], strict=True))
    pictures = deque(zip(times[3:], wave[:-3, None], strict=True))
    assert abs(camera_lag(states, pictures).steps - 3) < 0.3
