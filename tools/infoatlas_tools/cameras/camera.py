"""`Camera`: the images of one camera, step by step beside the states."""

import os
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from infoatlas_rt.errors import InputError

from .images import ArrayImages, Image, Images, size_at
from .videos import Video

THREADS = min(4, os.cpu_count() or 1)  # demonstrations that are decoded at a time


class Camera:
    """Images of one camera for N demonstrations; nothing is decoded before `read`.

    `lengths` [N] are the steps of each. `on_read` is called after each `read`, as to show progress.
    `changes` is what `find_changes` keeps, and `clock` what `camera_clock` keeps. `late` is the
    number of steps by which images are later than the states: `read` then returns those of the
    states' times, or the nearest ones at the ends.
    """

    def __init__(
        self, name: str, lengths: NDArray[np.int64], demonstrations: Sequence[Images]
    ) -> None:
        self.name, self.lengths = name, lengths
        self.demonstrations = demonstrations
        self.episodes = tuple(map(str, range(len(lengths))))  # names for messages
        self._shape: tuple[int, ...] = ()
        self.on_read: Callable[[], object] = lambda: None
        self.changes: Any = None
        self.clock: Any = None
        self.late = 0

    def read(self, demonstration: int, steps: Sequence[int], width: int) -> Image:
        """Images [n, h, width, 3] of ascending steps, uint8 RGB, each pixel a mean over its area.

        InputError if one is missing, cannot be decoded, or has other proportions than those before.
        """
        return next(self.read_each([(demonstration, steps)], width))

    def read_each(self, wanted: Iterable[tuple[int, Sequence[int]]], width: int) -> Iterator[Image]:
        """As `read`, of demonstrations with their steps in turn; the next ones are decoded then."""
        pool, every = ThreadPoolExecutor(THREADS), iter(wanted)
        coming = ((i, pool.submit(self._decode, i, steps, width)) for i, steps in every)
        ahead = deque(islice(coming, THREADS + 1))  # no more are in memory
        try:
            while ahead:
                images = self._stacked(*ahead.popleft())
                ahead.extend(islice(coming, 1))
                yield images
        finally:  # also if no more are asked for
            pool.shutdown(cancel_futures=True)

    def _decode(self, demonstration: int, steps: Sequence[int], width: int) -> Any:
        wanted = np.asarray(steps, np.int64)
        length = int(self.lengths[demonstration])
        if not len(wanted) or wanted[0] < 0 or wanted[-1] >= length or (np.diff(wanted) < 0).any():
            raise InputError(f"steps are {list(steps)[:8]}: pass ascending ones below {length}")
        wanted = np.clip(wanted + self.late, 0, length - 1)
        once, places = np.unique(wanted, return_inverse=True)
        return [*self.demonstrations[demonstration].read(once.tolist(), width)], places

    def _stacked(self, demonstration: int, decoded: Any) -> Image:
        found, places = decoded.result()
        self._shape = self._shape or found[0].shape
        for image in found:
            if image.shape[:2] != size_at(found[0].shape[1], self._shape)[::-1]:
                raise InputError(
                    f"images of camera {self.name} have {image.shape[:2]} pixels in demonstration "
                    f"{self.episodes[demonstration]}, and other proportions before: leave that "
                    "recording out"
                )
        self.on_read()
        return np.stack([found[place] for place in places])

    def video(self, demonstration: int) -> tuple[Path, float, float] | None:
        """The video of a demonstration, and the seconds at which it begins and ends there."""
        own = self.demonstrations[demonstration]
        if not isinstance(own, Video):
            return None
        return own.path, own.begin, own.begin + own.length / own.rate


def as_camera(given: Any, lengths: NDArray[np.int64], episodes: Sequence[str] = ()) -> Camera:
    """A camera of demonstrations with these lengths, from one or from N arrays [T_i, H, W, 3].

    `episodes` are their names, if they have any.
    """
    camera = given
    if not isinstance(camera, Camera):
        if isinstance(given, str) or not hasattr(given, "__len__"):
            raise InputError(
                f"camera is {given!r:.60}: pass N arrays [T, H, W, 3], or its name to "
                "load_trajectories"
            )
        for i, images in enumerate(given):
            shape: tuple[int, ...] = tuple(getattr(images, "shape", ()))
            dtype = getattr(images, "dtype", None)
            if len(shape) != 4 or shape[3] != 3 or not all(shape) or dtype != np.uint8:
                raise InputError(
                    f"images of demonstration {i} have shape {shape} {dtype}: pass RGB "
                    "[T, H, W, 3] uint8"
                )
        counts = np.array([len(images) for images in given], np.int64)
        camera = Camera("images", counts, [ArrayImages(images) for images in given])
    if len(camera.lengths) != len(lengths):
        raise InputError(
            f"the camera has {len(camera.lengths)} demonstrations, and there are {len(lengths)}: "
            "pass images of the same"
        )
    camera.episodes = tuple(episodes) or camera.episodes
    other = np.flatnonzero(camera.lengths != lengths)
    if len(other):
        i = int(other[0])
        raise InputError(
            f"demonstration {camera.episodes[i]} has {camera.lengths[i]} images and {lengths[i]} "
            "steps: pass an image for each step"
        )
    return camera
