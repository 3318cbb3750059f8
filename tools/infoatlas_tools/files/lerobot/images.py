"""Images of one camera in a LeRobot data set: its videos, or encoded images in the tables.

A video is of one episode (v2), or of many, and the metadata have the time at which each begins
(v3). Names of files follow the template `video_path` in `meta/info.json`.
"""

from collections.abc import Collection, Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from infoatlas_rt.errors import InputError

from ...cameras.images import Image, Images, decode, require, resize
from ...cameras.videos import Video, video_faults
from ..numbers import is_pointer
from ..rates import stated_rate
from .features import PICTURES, kind_of_feature
from .frames import EPISODE, FRAME, Int, counters, opened_parquet, places_of, read_parquet, scalars
from .meta import VIDEO_PLACES, LeRobotFolder

OLD_PATH = "videos/chunk-{episode_chunk:03d}/{video_key}/episode_{episode_index:06d}.mp4"
NEW_PATH = "videos/{video_key}/chunk-{chunk_index:03d}/file-{file_index:03d}.mp4"
BATCH = 16  # rows with images that are in memory together


def choose_camera(features: dict[str, Any], wanted: str, folder: Path) -> str:
    """The feature of images with this name or this end of its name."""
    cameras = [name for name, about in features.items() if kind_of_feature(about) == PICTURES]
    found = [name for name in cameras if name == wanted] or [
        name for name in cameras if name.endswith(f".{wanted}")
    ]
    if len(found) != 1:
        which = "several cameras" if found else "no camera"
        ways = f"its cameras are {', '.join(cameras)}" if cameras else "it has no camera"
        raise InputError(f"{folder} has {which} {wanted!r}: {ways}")
    return found[0]


def images_of_episodes(
    folder: LeRobotFolder, camera: str
) -> tuple[dict[int, Images], dict[int, str]]:
    """Images of episodes, and why others have none, by their numbers."""
    require("cv2")
    if str(folder.info["features"][camera]["dtype"]).startswith("image"):
        return _in_tables(folder, camera)
    require("av")
    rate = stated_rate(folder.info.get("fps"))
    if rate is None:
        raise InputError(
            f"{folder.path}/meta/info.json has no rate `fps`, so frames of videos cannot be found: "
            "load the data set again"
        )
    videos = {
        episode: Video(file, begin, rate, folder.lengths[episode])
        for episode, (file, begin) in video_places(folder, camera, folder.lengths).items()
    }
    lost = {}
    for episode, video in videos.items():
        if not video.path.is_file():
            lost[episode] = f"has no video {video.path}"
        elif is_pointer(video.path):
            lost[episode] = f"has a pointer of Git LFS in place of its video {video.path}"
    lost |= video_faults({episode: own for episode, own in videos.items() if episode not in lost})
    return {**videos}, lost


def video_places(
    folder: LeRobotFolder, camera: str, episodes: Collection[int]
) -> dict[int, tuple[Path, float]]:
    """Video of each of these episodes, and the time at which the episode begins in it, seconds."""
    places: dict[int, tuple[dict[str, int], float]] = {}
    info = folder.info
    if folder.is_new:
        *names, start = (f"videos/{camera}/{own}" for own in VIDEO_PLACES)
        for file in folder.episode_files:
            table = folder.episodes(file, [EPISODE, *names, start])
            begins = scalars(table, start, file).tolist()
            numbers = [counters(table, name, file).tolist() for name in (EPISODE, *names)]
            for episode, chunk, number, begin in zip(*numbers, begins, strict=True):
                places[episode] = {"chunk_index": chunk, "file_index": number}, float(begin)
    else:
        size = info.get("chunks_size")
        size = size if type(size) is int and size > 0 else 1000
        for episode in episodes:
            places[episode] = {"episode_chunk": episode // size, "episode_index": episode}, 0.0
    template = info.get("video_path") or (NEW_PATH if folder.is_new else OLD_PATH)
    try:
        return {
            episode: (_present(folder.path, template.format(video_key=camera, **place)), begin)
            for episode, (place, begin) in places.items()
            if episode in episodes
        }
    except (AttributeError, KeyError, IndexError, ValueError) as error:
        raise InputError(
            f"{folder.path}/meta/info.json has the video_path {template!r:.80}, which is no "
            f"template of its version ({error!r}): load the data set again"
        ) from error


def _present(folder: Path, name: str) -> Path:
    """The file of a template; of `video` for `videos`, or the reverse, if only that has its folder.

    Some uploads rename the folder, and `meta/info.json` keeps its old name.
    """
    first, _, rest = name.partition("/")
    other = folder / {"videos": "video", "video": "videos"}.get(first, first) / rest
    return other if other.parent.is_dir() and not (folder / name).is_file() else folder / name


class TableImages(NamedTuple):
    """Encoded images in rows of a table; `rows` has the row of each step."""

    file: Path
    column: str
    rows: Int
    folder: Path

    def read(self, steps: Sequence[int], width: int) -> Iterator[Image]:
        """As in `Images`; one group of rows after the other."""
        wanted = self.rows[np.asarray(steps)]
        found: dict[int, Image] = {}
        first = 0
        with opened_parquet(self.file) as opened:
            for group in range(opened.num_row_groups):
                end = first + opened.metadata.row_group(group).num_rows
                batches = opened.iter_batches(BATCH, [group], [self.column])
                for batch in batches if ((wanted >= first) & (wanted < end)).any() else ():
                    column = batch.column(self.column)
                    for row in wanted[(wanted >= first) & (wanted < first + len(batch))]:
                        image = self._decoded(column[int(row) - first].as_py(), int(row))
                        found[int(row)] = resize(image, width)
                    first += len(batch)
                first = end
        yield from (found[row] for row in wanted.tolist())

    def _decoded(self, stored: Any, row: int) -> Image:
        """The image in a cell: bytes, or a path from the folder of the data set."""
        stored = stored if isinstance(stored, dict) else {"bytes": stored}
        content = stored.get("bytes")
        if content is None and stored.get("path"):
            content = (self.folder / stored["path"]).read_bytes()
        return decode(content or b"", f"{self.file}: row {row} of {self.column}")


def _in_tables(folder: LeRobotFolder, camera: str) -> tuple[dict[int, Images], dict[int, str]]:
    """As in `images_of_episodes`, of a feature of images."""
    found: dict[int, Images] = {}
    lost: dict[int, str] = {}
    for file in folder.files:
        table = read_parquet(file, [EPISODE, FRAME])
        episodes, frames = (counters(table, name, file) for name in (EPISODE, FRAME))
        for episode, rows in places_of(episodes):
            if episode in found:
                lost[episode] = "has its images in two files"
            found[episode] = TableImages(file, camera, rows[np.argsort(frames[rows])], folder.path)
    return found, lost
