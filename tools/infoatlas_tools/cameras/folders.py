"""The camera of a folder with a video or a folder of images for each demonstration.

A new format of exported images is an entry of `FILES` or `SINGLE`.
"""

import re
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from infoatlas_rt.errors import InputError

from ..episode_numbers import episode_numbers
from ..folder_entries import entries
from ..presentation import first_names
from .camera import Camera
from .images import FileImages, require
from .videos import whole_video

# Files with all images of a demonstration: the reader of each suffix, of a path, which gives
# `Images` with a `length`.
FILES: dict[str, Callable[[Path], Any]] = dict.fromkeys(
    (".mp4", ".mkv", ".mov", ".webm"), whole_video
)
# Files of single images that OpenCV decodes, in a folder for each demonstration.
SINGLE = (".png", ".jpg", ".jpeg", ".bmp", ".webp")


def folder_camera(given: str, episodes: Sequence[str], count: int) -> Camera:
    """The camera of a folder, in which each image or frame is a step.

    The folder has an entry for each demonstration: a video, or a folder of images. If each of
    `episodes` is the name of an entry, or its number is that of one, the others are left out.
    Without numbers, the entries are in the order of their names. InputError if an episode has no
    entry.
    """
    folder = Path(given)
    if not folder.is_dir():
        raise InputError(
            f"camera is {given!r}, which is neither a camera of the data nor a folder that exists: "
            "pass a folder with a video or a folder of images for each demonstration"
        )
    found = _in_order(e for e in entries(folder) if e.is_dir() or e.suffix.lower() in FILES)
    named = {entry.stem: entry for entry in found}
    numbers = dict(zip(episode_numbers([*named]), named.values(), strict=True))
    own = episode_numbers(episodes)
    if episodes and set(episodes) <= set(named):
        found = [named[episode] for episode in episodes]
    elif all(own) and all(numbers) and len(numbers) == len(found) and len({*own}) == count:
        absent = [name for name, number in zip(episodes, own, strict=True) if number not in numbers]
        if absent:
            raise InputError(
                f"{folder} has no video or folder with the number of {first_names(absent, 8)}, but "
                f"{first_names(named, 8)}: give each the name of its demonstration"
            )
        found = [numbers[number] for number in own]
    if len(found) != count:
        raise InputError(
            f"{folder} has {len(found)} videos and folders, and there are {count} "
            "demonstrations: store one for each"
        )
    require("cv2")
    images = [_open(entry) for entry in found]
    return Camera(folder.name, np.array([own.length for own in images], np.int64), images)


def _open(entry: Path) -> Any:
    """The images of an entry of the folder."""
    if not entry.is_dir():
        return FILES[entry.suffix.lower()](entry)
    single = (file for file in entries(entry) if file.suffix.lower() in SINGLE)
    return FileImages(tuple(_in_order(single)))


def _in_order(paths: Iterable[Path]) -> list[Path]:
    """Paths in the order of their names, with 2 before 10."""

    def key(path: Path) -> list[tuple[str, int]]:
        return [(text, int(n or -1)) for text, n in re.findall(r"(\D*)(\d*)", path.name)]

    return sorted(paths, key=key)
