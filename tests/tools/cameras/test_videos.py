"""Frames of videos by their numbers, which are painted into them."""

import re

import numpy as np
import pytest

from infoatlas_rt import InputError
from infoatlas_tools.cameras.camera import Camera
from infoatlas_tools.cameras.folders import folder_camera
from infoatlas_tools.cameras.videos import Video, video_faults, whole_video
from numbered_videos import numbers, picture, write_video
from refusals import refuses

CODECS = {
    "AV1, a key frame every 2": ("libsvtav1", {"g": 2, "crf": 30, "preset": 12}),
    "H.264, one key frame": ("libx264", {}),
    "H.264, a key frame every 30": ("libx264", {"g": 30, "bf": 3}),
}


@pytest.fixture(scope="module", params=CODECS)
def video(request, tmp_path_factory):
    """A video of 200 frames."""
    codec, options = CODECS[request.param]
    return write_video(tmp_path_factory.mktemp("v") / "all.mp4", range(200), codec, **options)


@pytest.mark.parametrize("begin", [0, 90])
@pytest.mark.parametrize(
    "steps",
    [range(100), range(5), range(0, 100, 9), [0, 1, 40, 41, 42, 60, 99], [99], [0, 0, 29, 30, 30]],
    ids=str,
)
def test_frames_are_those_of_the_steps(video, begin, steps):
    camera = Camera("top", np.array([100]), [Video(video, begin / 20, 20.0, 100)])
    images = camera.read(0, steps, 32)
    assert images.shape == (len(steps), 24, 32, 3) and images.dtype == np.uint8
    assert numbers(images) == [begin + step for step in steps]
    assert camera.video(0) == (video, begin / 20, begin / 20 + 5)


def test_a_begin_that_is_rounded_does_no_harm(video):
    for off in (-0.02, 0.02):
        own = Video(video, 90 / 20 + off, 20.0, 100)
        assert numbers([*own.read([0, 50], 64)]) == [90, 140] and not video_faults({0: own})


def test_frames_are_turned_as_players_do(tmp_path):
    for turn in (0, 90, 180, 270):
        stored = [np.rot90(picture(number), -turn // 90) for number in range(8)]
        write_video(tmp_path / f"v{turn}.mp4", stored, turn=turn)
    camera = folder_camera(str(tmp_path), (), 4)
    for i in range(4):
        assert numbers(camera.read(i, range(8), 64)) == [*range(8)]


@pytest.mark.parametrize("end", [".mp4", ".mkv"])
@pytest.mark.parametrize("options", [{}, {"g": 5, "bf": 2}])
def test_each_frame_is_a_step_at_a_variable_rate(tmp_path, end, options):
    """As phones and screen recorders write them: frames are late, or left out."""
    times = np.cumsum(np.random.default_rng(0).choice([1, 1, 2, 7], 60)).tolist()
    write_video(tmp_path / "set" / f"0{end}", range(60), fps=30, times=times, **options)
    camera = folder_camera(str(tmp_path / "set"), (), 1)
    assert camera.lengths.tolist() == [60]
    for steps in (range(60), [0, 30, 31, 59], [59]):
        assert numbers(camera.read(0, steps, 64)) == [*steps]


def test_short_videos_and_other_rates(video):
    found = video_faults({3: Video(video, 5.0, 20.0, 100), 4: Video(video, 5.0, 20.0, 101)})
    assert found == {4: f"has 100 of its 101 frames in {video}"}
    refuses(r"20 frames a second.*states 30", video_faults, {0: Video(video, 0.0, 30.0, 100)})
    with pytest.raises(InputError, match="ends"):
        [*Video(video, 5.0, 20.0, 120).read([0, 110], 64)]


def test_a_damaged_video_is_an_input_error(video, tmp_path):
    bad = tmp_path / "bad.mp4"
    bad.write_bytes(b"no video" * 100)
    found = video_faults({0: Video(bad, 0.0, 20.0, 10)})
    assert re.search(r"no video that can be read .*bad.mp4 cannot be decoded", found[0])
    half = video.read_bytes()
    bad.write_bytes(half[: len(half) // 2])
    assert "no video that can be read" in video_faults({0: Video(bad, 0.0, 20.0, 10)})[0]
    content = bytearray(video.read_bytes())
    start = content.index(b"mdat") + 4
    content[start : start + len(content) // 2] = bytes(len(content) // 2)
    bad.write_bytes(content)
    with pytest.raises(InputError, match=r"bad.mp4"):
        [*Video(bad, 0.0, 20.0, 200).read(range(200), 64)]


def test_a_video_without_a_decoder_names_its_codec(tmp_path):
    bad = write_video(tmp_path / "bad.mp4", range(20), "libx264")
    bad.write_bytes(bad.read_bytes().replace(b"avc1", b"zzzz").replace(b"avcC", b"zzzC"))
    found = video_faults({0: Video(bad, 0.0, 20.0, 10)})
    assert re.search(r"bad.mp4 has the codec \(zzzz .*no decoder: convert it", found[0])
    refuses(r"bad.mp4 has the codec", whole_video, bad)
