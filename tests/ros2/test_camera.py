"""The lag of a camera on /diagnostics."""

from types import SimpleNamespace

import numpy as np
import pytest
from diagnostic_msgs.msg import DiagnosticStatus
from harness import CAMERA, feed, in_turn, joint_states, values
from sensor_msgs.msg import Image

STEPS, STEP, LATE = 900, 33_333_333, 11  # ns; LATE are 0.37 s


@pytest.mark.parametrize("moves", [True, False])
def test_a_camera_that_is_late(bench, moves):
    """Pictures of stripes that move with the place of an arm, LATE steps after it."""
    rng, smooth = np.random.default_rng(0), np.hanning(22)[1:-1]
    speed = np.abs(rng.normal(size=STEPS + 19)) * (rng.random(STEPS + 19) < 0.05) * moves
    places = np.convolve(speed, smooth, "valid").cumsum() / 10
    arm = joint_states(np.stack([places] * 4, axis=1), step=STEP)
    seen = 40 * places[np.maximum(np.arange(STEPS) - LATE, 0)]
    wave = np.sin((np.arange(64) - seen[:, None]) / 6) * 90 + 128
    size = {"height": 48, "width": 64, "step": 64, "encoding": "mono8"}
    images = [
        Image(header=state.header, data=np.tile(row.astype(np.uint8), 48).tobytes(), **size)
        for state, row in zip(arm, wave, strict=True)
    ]
    bench.up(image_topic=CAMERA)
    assert bench.diagnosis(lambda s: "no states with stamps yet" in values(s)["camera lag"])
    topics = {Image: bench.publisher(Image, CAMERA), type(arm[0]): bench.publisher()}
    both = SimpleNamespace(publish=lambda message: topics[type(message)].publish(message))
    feed(both, in_turn(arm, images), rate=1000.0)
    if not moves:
        assert bench.diagnosis(lambda s: "hardly move together" in values(s)["camera lag"])
        return
    status = bench.diagnosis(lambda s: values(s)["camera lag"].startswith("0."))
    assert abs(float(values(status)["camera lag"].split()[0]) - LATE * STEP / 1e9) < 0.04
    assert status.level == DiagnosticStatus.WARN
    assert "pictures follow the states by 0." in status.message
