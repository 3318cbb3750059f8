"""Small pictures of messages; `tests/ros2/test_camera.py` has the lag."""

from __future__ import annotations

from io import BytesIO
from types import SimpleNamespace

import numpy as np
import pytest

from infoatlas_rt.messages.camera_lag import ENCODINGS, small_grey


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
