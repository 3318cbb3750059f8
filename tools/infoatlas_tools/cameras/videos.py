"""Decodes the frames of a video that are used, at the size that is used.

A jump to a later frame seeks to the last key frame before it if that saves decoding.
LeRobot's videos have a key frame every two frames, others one in 250.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from infoatlas_rt.errors import InputError

from .images import Image, require, resize


class Video(NamedTuple):
    """A demonstration in a video."""

    path: Path
    begin: float  # time of its first step in the video, seconds
    rate: float  # its steps a second, Hz; each step is a frame
    length: int  # its steps
    times: NDArray[np.float64] | None = None  # of its frames, s; unless they are at an even rate

    def read(self, steps: Sequence[int], width: int) -> Iterator[Image]:
        """As in `Images`, turned as players do; a step is the frame whose time is nearest."""
        half = 0.5 / self.rate if self.times is None else 0.5 * float(np.diff(self.times).min())
        with _open(self.path) as (container, stream), _open(self.path) as (probe, sought):
            begin = self.begin + float((stream.start_time or 0) * stream.time_base)
            frames, now = container.decode(stream), -1.0
            frame: Any = None
            for step in steps:
                time = begin + step / self.rate if self.times is None else self.times[step]
                far = time - now > 3 * half
                if far and now < _key_before(probe, sought, time + half) <= time + half:
                    container.seek(int((time + half) / stream.time_base), stream=stream)
                    frames = container.decode(stream)
                while now < time - half:
                    frame = next(frames, None)
                    if frame is None:
                        raise InputError(
                            f"{self.path} ends {time - now:.3g} s before step {step} of its "
                            "demonstration: load the data set again"
                        )
                    now = float(frame.time)
                if now > time + half or frame.is_corrupt:
                    raise InputError(
                        f"{self.path} has no intact frame at {time:.4g} s, the next is at "
                        f"{now:.4g} s: load the data set again"
                    )
                # Scaling by FFmpeg would halve the resolution of colours.
                shown = np.rot90(frame.to_ndarray(format="rgb24"), round(frame.rotation / 90))
                yield resize(np.ascontiguousarray(shown), width)


def whole_video(path: Path) -> Video:
    """A demonstration that is all of a video, with its own rate or times."""
    with _open(path) as (container, stream):
        rate = float(stream.average_rate or stream.guessed_rate or 0)
        packets = [p for p in container.demux(stream) if p.pts is not None and not p.is_discard]
        times = np.unique([float(p.pts * stream.time_base) for p in packets])
    if not rate or not len(times):
        raise InputError(f"{path} has no frames with times: convert it, as with ffmpeg -r 30")
    even = np.abs(times - times[0] - np.arange(len(times)) / rate).max() < 0.5 / rate
    return Video(path, 0.0, rate, len(times), None if even else times)


def video_faults(videos: Mapping[int, Video]) -> dict[int, str]:
    """Why demonstrations cannot be read, by their numbers, as "has 3 of its 9 frames in ...".

    InputError if a video has another frame rate than the demonstrations in it.
    """
    held: dict[Path, int | str] = {}
    found = {}
    for number, video in videos.items():
        if video.path not in held:
            held[video.path] = _frames_in(video)
        frames, first = held[video.path], round(video.begin * video.rate)
        if isinstance(frames, str):
            found[number] = f"has no video that can be read ({frames})"
        elif frames < first + video.length:
            own = max(0, frames - first)
            found[number] = f"has {own} of its {video.length} frames in {video.path}"
    return found


def _frames_in(video: Video) -> int | str:
    """The number of frames in a file, or why it cannot be decoded."""
    try:
        with _open(video.path) as (container, stream):
            rate = stream.average_rate or stream.guessed_rate
            seconds = float((stream.duration or 0) * stream.time_base)
            seconds = seconds or (container.duration or 0) / 1e6  # .mkv and .webm
            frames = round(seconds * video.rate) or stream.frames
    except InputError as error:
        return str(error)
    if rate and abs(float(rate) / video.rate - 1) > 0.01:  # 29.97 Hz is also stated as 30
        raise InputError(
            f"{video.path} has {float(rate):g} frames a second, and its data set states "
            f"{video.rate:g}: load the data set again, or correct its rate"
        )
    return int(frames)


@contextmanager
def _open(path: Path) -> Iterator[tuple[Any, Any]]:
    """A container and its stream of images; errors of the decoder become an InputError."""
    av = require("av")
    try:
        with av.open(str(path)) as container:
            if not container.streams.video:
                raise InputError(f"{path} contains no video: load the data set again")
            stream = container.streams.video[0]
            if stream.codec_context is None:  # this FFmpeg has no decoder
                raise InputError(
                    f"{path} has the codec {_codec(av, container)}, for which FFmpeg has no "
                    "decoder: convert it to H.264, or record it again"
                )
            # More threads double the work where frames are apart, as each seek empties all of them.
            stream.codec_context.thread_count = 1
            yield container, stream
    except InputError:
        raise
    except (av.FFmpegError, OSError, ValueError) as error:
        what = getattr(error, "strerror", None) or error
        raise InputError(f"{path} cannot be decoded ({what}): load the data set again") from error


def _codec(av: Any, container: Any) -> str:
    """Name of the codec of a stream without a decoder: PyAV has it in FFmpeg's log alone."""
    level = av.logging.get_level()
    av.logging.set_level(av.logging.INFO)
    try:
        found = re.search(r"Video: ([^,]*)", container.dumps_format())
    finally:
        av.logging.set_level(level)
    return found[1].removeprefix("none ") if found else "unknown"


def _key_before(container: Any, stream: Any, time: float) -> float:
    """Time of the last key frame up to a time, seconds."""
    container.seek(int(time / stream.time_base), stream=stream)
    packet = next(container.demux(stream))
    return float("-inf") if packet.pts is None else float(packet.pts * stream.time_base)
