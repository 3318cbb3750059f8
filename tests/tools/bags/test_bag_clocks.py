"""Offsets of topics in a bag, by stamps and by arrival."""

import json

import numpy as np
import pytest

from command_line import printed
from infoatlas_rt.cli.main import main
from recorded_bags import START, TYPES, header, pose, write_bag

STEP, STEPS, LATE, DELAY = 50_000_000, 400, 3, 0.4  # ns, messages, steps, s


@pytest.fixture(scope="module")
def path(tmp_path_factory):
    """A pose, pictures of it LATE steps later by their stamps, which arrive DELAY s late."""
    rng, kernel = np.random.default_rng(0), np.hanning(12)[1:-1]
    speed = np.abs(rng.normal(size=STEPS + 9)) * (rng.random(STEPS + 9) < 0.1)
    way = np.convolve(speed, kernel, "valid").cumsum()
    messages = []
    for i in range(STEPS):
        time, still = START + i * STEP, np.r_[np.zeros(3), 1, np.zeros(3)]
        wave = np.sin((np.arange(64) - 4 * way[max(i - LATE, 0)]) / 3) * 90 + 128
        pixels = np.broadcast_to(wave[None], (48, 64)).astype(np.uint8)
        image = TYPES["sensor_msgs/msg/Image"](header(time), 48, 64, "mono8", 0, 64, pixels.ravel())
        messages += [
            ("/pose", time, pose(time, np.r_[way[i], still[1:]])),
            ("/top", time + round(DELAY * 1e9), image),
            ("/still", time, pose(time, still)),
        ]
    messages.sort(key=lambda one: one[1])
    return write_bag(tmp_path_factory.mktemp("clock") / "bag", messages)


def test_pairs_by_stamps_and_by_arrival(path, tmp_path, capsys):
    assert main(["bag", str(path), "--clock", "--json", str(tmp_path / "clock.json")]) == 0
    found = json.loads((tmp_path / "clock.json").read_text())
    (pair,) = found["pairs"]
    assert pair["topics"] == ["/pose", "/top"]
    for name, late in (("stamps", LATE * STEP / 1e9), ("arrivals", LATE * STEP / 1e9 + DELAY)):
        best, low, high = pair[name]
        assert abs(best - late) < 0.03 and low - 0.02 < late < high + 0.02
    assert found["delays"] == pytest.approx({"/pose": 0, "/top": DELAY})
    assert found["left_out"] == {"/still": "its values do not change"}
    assert "/pose > /top" in printed(capsys, "bag", path, "--clock")
    assert main(["bag", str(path), "--clock", "--topic", "/pose"]) == 2
