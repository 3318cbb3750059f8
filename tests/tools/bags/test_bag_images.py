"""Cameras of ROS bags: raw and compressed images beside the states."""

import cv2
import numpy as np
import pytest
from rosbags.rosbag2 import StoragePlugin

from infoatlas_rt.cli import main
from infoatlas_tools.bags.bag_images import ENCODINGS, image_of
from infoatlas_tools.bags.demonstrations import load_demonstrations
from mcap_files import write_channels
from numbered_videos import numbers, picture
from recorded_bags import TYPES, header, joint_state, write_bag
from refusals import refuses

RAW, PACKED = "/top/image_raw", "/top/image_raw/compressed"
IMAGE, COMPRESSED = "sensor_msgs/msg/Image", "sensor_msgs/msg/CompressedImage"
STEP, FRAME = 50_000_000, 70_000_000  # ns between states, and between images
LENGTHS = (30, 22)


def raw(image, encoding="rgb8", surplus=0):
    """A message of an image, with unused bytes at the end of each row."""
    height, width = image.shape[:2]
    rows = np.pad(image.reshape(height, -1), ((0, 0), (0, surplus)))
    return TYPES[IMAGE](header(0), height, width, encoding, 0, rows.shape[1], rows.ravel())


def jpeg(image):
    content = cv2.imencode(".jpg", image[..., ::-1])[1]
    return TYPES[COMPRESSED](header(0), "rgb8; jpeg compressed bgr8", content)


def write_run(path, steps, storage, frames=None):
    """States at 20 Hz and images from 10 ms later; the number of an image is its place."""
    messages = []
    for s in range(steps):
        message = joint_state(0, list("abcdefghi"), np.full(18, s / 9))
        messages.append(("/joint_states", 10**18 + s * STEP, message))
    for i in range(steps * STEP // FRAME) if frames is None else frames:
        time = 10**18 + 10_000_000 + i * FRAME
        messages.append((RAW, time, raw(picture(i), surplus=5)))
        messages.append((PACKED, time, jpeg(picture(i))))
    write_bag(path, sorted(messages, key=lambda own: own[1]), storage)


@pytest.fixture(scope="module", params=[StoragePlugin.MCAP, StoragePlugin.SQLITE3], ids=str)
def folder(request, tmp_path_factory):
    path = tmp_path_factory.mktemp("bags")
    for i, steps in enumerate(LENGTHS):
        write_run(path / f"demo_{i}", steps, request.param)
    return path


@pytest.mark.parametrize("topic", [RAW, PACKED])
def test_a_step_has_the_nearest_image(folder, topic):
    found = load_demonstrations(folder, "/joint_states", ["position[:]"], camera=topic)
    assert found.camera.name == topic
    for i, steps in enumerate(LENGTHS):
        count = steps * STEP // FRAME
        times = 10_000_000 + np.arange(count) * FRAME
        nearest = np.abs(np.arange(steps)[:, None] * STEP - times).argmin(axis=1)
        assert numbers(found.camera.read(i, range(steps), 32)) == nearest.tolist()
        some = [0, 1, 2, 11, steps - 1]
        images = found.camera.read(i, some, 64)
        assert images.shape == (5, 48, 64, 3) and numbers(images) == nearest[some].tolist()
        assert found.camera.video(i) is None


def test_errors_name_the_way_out(folder, tmp_path, capsys):
    assert main.main(["keystates", str(folder), "--topic", "/joint_states", "--camera", "x"]) == 2
    assert f"no images on 'x': topics of images are {RAW}, {PACKED}" in capsys.readouterr().err
    for i in range(2):
        write_run(tmp_path / f"demo_{i}", 30, StoragePlugin.MCAP, frames=range(5))
    camera = load_demonstrations(tmp_path, "/joint_states", ["position[:]"], camera=RAW).camera
    assert numbers(camera.read(1, [0, 10], 32)) == [0, 4]
    refuses(r"nearest to a state is 1.2 s away, more than 0.5 s", camera.read, 1, [29], 32)


COLOUR = np.array([200, 90, 40], np.uint8)


@pytest.mark.parametrize("encoding", ENCODINGS)
def test_encodings(encoding):
    image = np.empty((8, 8, 3), np.uint8)
    image[:] = COLOUR
    expected = COLOUR
    if encoding in ("bgr8", "8UC3"):
        image = image[..., ::-1]
    elif encoding in ("rgba8", "bgra8"):
        alpha = np.full((8, 8, 1), 7, np.uint8)
        image = np.concatenate([image[..., :: 1 if encoding == "rgba8" else -1], alpha], axis=2)
    elif encoding in ("mono8", "8UC1"):
        image, expected = image[..., :1], COLOUR[[0, 0, 0]]
    elif encoding.startswith("bayer"):
        places = ["rgb".index(c) for c in encoding[6:10]]
        image = np.tile(COLOUR[places].reshape(2, 2), (4, 4))[..., None]
    elif encoding != "rgb8":
        y, u, v = cv2.cvtColor(COLOUR[None, None], cv2.COLOR_RGB2YUV)[0, 0].astype(float)
        y, u, v = 16 + y * 219 / 255, 128 + (u - 128) * 1.14, 128 + (v - 128) * 0.8
        pair = [u, y, v, y] if encoding in ("yuv422", "uyvy") else [y, u, y, v]
        image = np.tile(np.array(pair, np.uint8).reshape(2, 2), (8, 4, 1))
    found = image_of(raw(np.ascontiguousarray(image), encoding, surplus=3), "image")
    assert found.shape == (8, 8, 3)
    assert np.abs(found[4, 4].astype(int) - expected).max() <= (12 if "u" in encoding[:5] else 1)


@pytest.mark.parametrize(
    ("message", "why"),
    [
        (raw(picture(1), "16UC1"), "has the encoding '16UC1': record one of rgb8, "),
        (raw(picture(1)[:, :20], "bgra8"), "bytes for 20 x 48 pixels of bgra8"),
        (TYPES[COMPRESSED](header(0), "h264", np.zeros(9, np.uint8)), "no image that OpenCV"),
    ],
    ids=["kind", "short", "video"],
)
def test_messages_without_an_image(message, why):
    refuses(f"topic.*{why}", image_of, message, "topic")


def test_a_schema_by_foxglove(tmp_path):
    """A bag by the writer of MCAP, with a type that is in no distribution of ROS."""
    text = "builtin_interfaces/Time timestamp\nstring frame_id\nuint8[] data\nstring format\n"
    text += f"{'=' * 80}\nMSG: builtin_interfaces/Time\nint32 sec\nuint32 nanosec\n"
    content = cv2.imencode(".png", picture(77))[1].tobytes()
    head = b"\0\1\0\0" + bytes(8) + b"\2\0\0\0c\0\0\0" + len(content).to_bytes(4, "little")
    tail = bytes(-len(content) % 4) + b"\4\0\0\0png\0"
    channels = (
        ("/state", "std_msgs/msg/Float64", b"float64 data"),
        ("/images", "foxglove_msgs/msg/CompressedImage", text.encode()),
    )
    rows = [
        (time, b"\0\1\0\0" + np.float64(time).tobytes(), head + content + tail)
        for time in range(0, 10 * STEP, STEP)
    ]
    for i in range(2):
        write_channels(tmp_path / f"{i}.mcap", channels, rows)
    found = load_demonstrations(tmp_path, "/state", ["data"], camera="/images")
    assert numbers(found.camera.read(0, [0, 9], 32)) == [77, 77]
