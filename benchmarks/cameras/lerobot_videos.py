"""Write the stack of two as a LeRobot data set with two cameras, and without names of objects.

    python -m benchmarks.cameras.lerobot_videos --out build/cameras
    python -m benchmarks.cameras.lerobot_videos --example    # writes examples/data/stack

It has the layout of v3.0, with several episodes in a video (AV1). The frames are LeRobot's own in
size, key frames and quality, at 20 per second. The example has one camera, fewer key frames and a
lower quality, to be small.
"""

import argparse
import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import av
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray
from tqdm import tqdm

from . import stacks
from .image_files import CAMERAS, HEIGHT, OUT, WIDTH, Demonstration, render
from .kinematic_arm import build

FPS = int(stacks.RATE)
TEXT = "do what was shown"
STATE = [*(f"joint{i + 1}.pos" for i in range(6)), "gripper.pos"]
EXAMPLE = Path(__file__).parents[2] / "examples/data/stack"


DATA = "data/chunk-{chunk_index:03d}/file-{file_index:03d}.parquet"
VIDEO = "videos/{video_key}/chunk-{chunk_index:03d}/file-{file_index:03d}.mp4"


@dataclass(frozen=True)
class Form:
    """Options of the encoder, number of episodes in a file, and cameras."""

    options: dict[str, str]
    per_file: int
    cameras: tuple[str, ...] = CAMERAS

    @property
    def keys(self) -> dict[str, str]:
        """Names of the columns of images."""
        return {camera: f"observation.images.{camera}" for camera in self.cameras}


WHOLE = Form({"crf": "30", "g": "2", "preset": "12", "svtav1-params": "lp=1"}, 6)
SMALL = Form({"crf": "50", "g": "40", "preset": "6", "svtav1-params": "lp=1"}, 20, ("front",))


def place(template: str, number: int, key: str = "") -> str:
    """Path of the file with a number."""
    return template.format(chunk_index=0, file_index=number, video_key=key)


def encode(path: Path, form: Form, episodes: Iterator[Iterator[NDArray[np.uint8]]]) -> None:
    """Write frames [h, w, 3] of episodes, one after the other, each with an encoder of its own.

    LeRobot joins files of one episode, too. One AV1 encoder for several, with key frames on
    request, did not return.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    with av.open(str(path), "w") as file, TemporaryDirectory() as folder:
        whole, offset = None, 0
        for frames in episodes:
            with av.open(f"{folder}/one.mp4", "w") as one:
                stream = one.add_stream("libsvtav1", rate=FPS, options=form.options)
                stream.width, stream.height, stream.pix_fmt = WIDTH, HEIGHT, "yuv420p"
                for image in frames:
                    one.mux(stream.encode(av.VideoFrame.from_ndarray(image, format="rgb24")))
                one.mux(stream.encode())
            with av.open(f"{folder}/one.mp4") as one:
                source = one.streams.video[0]
                whole = whole or file.add_stream_from_template(source, opaque=True)
                end = offset
                for packet in one.demux(source):
                    if packet.dts is not None:
                        packet.stream = whole
                        packet.pts, packet.dts = packet.pts + offset, packet.dts + offset
                        end = max(end, packet.pts + packet.duration)
                        file.mux(packet)
                offset = end


def write(folder: Path, form: Form, demos: Sequence[Demonstration]) -> Path:
    """Write a data set into a new folder."""
    (folder / "meta").mkdir(parents=True)
    lengths = [len(demo.states) for demo in demos]
    _table(folder, form, demos)
    size = form.per_file
    files = [range(i, min(i + size, len(demos))) for i in range(0, len(demos), size)]
    for camera, key in form.keys.items():
        for number, own in enumerate(tqdm(files, f"{folder.name}, {camera}")):
            episodes = (render([demos[i]], [np.arange(lengths[i])], camera) for i in own)
            encode(folder / place(VIDEO, number, key), form, episodes)
    info = json.dumps(_info(form, lengths), indent=2)
    (folder / "meta/info.json").write_text(info, encoding="utf-8")
    _metadata(folder, form, lengths, files)
    return folder


def _table(folder: Path, form: Form, demos: Sequence[Demonstration]) -> None:
    """The files of frames."""
    index = 0
    for number, start in enumerate(range(0, len(demos), form.per_file)):
        tables = []
        for episode, demo in enumerate(demos[start : start + form.per_file], start):
            n, d = demo.states.shape
            actions = np.concatenate([demo.states[1:], demo.states[-1:]])
            columns = {
                "observation.state": pa.FixedSizeListArray.from_arrays(demo.states.ravel(), d),
                "action": pa.FixedSizeListArray.from_arrays(actions.ravel(), d),
                "timestamp": pa.array(np.arange(n) / FPS, pa.float32()),
                "frame_index": np.arange(n),
                "episode_index": np.full(n, episode),
                "index": index + np.arange(n),
                "task_index": np.zeros(n, np.int64),
            }
            tables.append(pa.table(columns))
            index += n
        path = folder / place(DATA, number)
        path.parent.mkdir(parents=True, exist_ok=True)
        pq.write_table(pa.concat_tables(tables), path)


def _info(form: Form, lengths: Sequence[int]) -> dict[str, Any]:
    video = {
        "dtype": "video",
        "shape": [HEIGHT, WIDTH, 3],
        "names": ["height", "width", "channels"],
        "info": {
            "video.height": HEIGHT,
            "video.width": WIDTH,
            "video.codec": "av1",
            "video.pix_fmt": "yuv420p",
            "video.is_depth_map": False,
            "video.fps": FPS,
            "video.channels": 3,
            "has_audio": False,
        },
    }
    vector = {"dtype": "float32", "shape": [len(STATE)], "names": STATE}
    scalars = {
        name: {"dtype": "float32" if name == "timestamp" else "int64", "shape": [1], "names": None}
        for name in ("timestamp", "frame_index", "episode_index", "index", "task_index")
    }
    return {
        "codebase_version": "v3.0",
        "robot_type": "six_joints",
        "total_episodes": len(lengths),
        "total_frames": sum(lengths),
        "total_tasks": 1,
        "chunks_size": 1000,
        "data_files_size_in_mb": 100,
        "video_files_size_in_mb": 200,
        "fps": FPS,
        "splits": {"train": f"0:{len(lengths)}"},
        "data_path": DATA,
        "video_path": VIDEO,
        "features": {
            "observation.state": vector,
            "action": vector,
            **{key: video for key in form.keys.values()},
            **scalars,
        },
    }


def _metadata(folder: Path, form: Form, lengths: Sequence[int], files: Sequence[range]) -> None:
    """Episodes and tasks."""
    ends = np.cumsum(lengths)
    rows = []
    for number, own in enumerate(files):
        before = ends[own.start] - lengths[own.start]
        for episode in own:
            first, last = ends[episode] - lengths[episode], ends[episode]
            row = {
                "episode_index": episode,
                "tasks": [TEXT],
                "length": lengths[episode],
                "data/chunk_index": 0,
                "data/file_index": number,
                "dataset_from_index": int(first),
                "dataset_to_index": int(last),
                "meta/episodes/chunk_index": 0,
                "meta/episodes/file_index": 0,
            }
            for key in form.keys.values():
                row[f"videos/{key}/chunk_index"] = 0
                row[f"videos/{key}/file_index"] = number
                row[f"videos/{key}/from_timestamp"] = float(first - before) / FPS
                row[f"videos/{key}/to_timestamp"] = float(last - before) / FPS
            rows.append(row)
    path = folder / "meta/episodes/chunk-000/file-000.parquet"
    path.parent.mkdir(parents=True)
    pq.write_table(pa.Table.from_pylist(rows), path)
    # LeRobot reads tasks with pandas, the text as the index.
    columns = [("task_index", "int64", "int64"), ("task", "unicode", "object")]
    pandas = {
        "index_columns": ["task"],
        "column_indexes": [],
        "columns": [
            {"name": n, "field_name": n, "pandas_type": p, "numpy_type": t, "metadata": None}
            for n, p, t in columns
        ],
        "pandas_version": "2.0.0",
    }
    tasks = pa.table({"task_index": [0], "task": [TEXT]})
    pq.write_table(
        tasks.replace_schema_metadata({"pandas": json.dumps(pandas)}), folder / "meta/tasks.parquet"
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--number", type=int, default=20, help="episodes (%(default)s)")
    parser.add_argument("--out", type=Path, default=OUT, help="folder (%(default)s)")
    parser.add_argument("--example", action="store_true", help="write the example data set")
    chosen = parser.parse_args()
    task = stacks.TASKS["stack2"]
    model = build(task.things)
    demos = [stacks.demonstrate(task, model, seed) for seed in range(chosen.number)]
    folder, form = (EXAMPLE, SMALL) if chosen.example else (chosen.out / "lerobot_v3", WHOLE)
    print(write(folder, form, demos))


if __name__ == "__main__":
    main()
