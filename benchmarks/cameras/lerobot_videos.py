"""Write the stack of two as a LeRobot data set with a camera, and without names of objects.

    python -m benchmarks.cameras.lerobot_videos    # writes examples/data/stack, a new folder

It has the layout of v3.0, with all episodes in a video (AV1). The frames are LeRobot's own in size,
at 20 per second; few key frames and a low quality make the example small.
"""

import json
from collections.abc import Iterator, Sequence
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
from .image_files import HEIGHT, WIDTH, Demonstration, render
from .kinematic_arm import build

FPS = int(stacks.RATE)
TEXT = "do what was shown"
STATE = [*(f"joint{i + 1}.pos" for i in range(6)), "gripper.pos"]
EXAMPLE = Path(__file__).parents[2] / "examples/data/stack"
NUMBER = 20  # episodes
CAMERA = "front"
KEY = f"observation.images.{CAMERA}"
DATA = "data/chunk-{chunk_index:03d}/file-{file_index:03d}.parquet"
VIDEO = "videos/{video_key}/chunk-{chunk_index:03d}/file-{file_index:03d}.mp4"
FILE = {"chunk_index": 0, "file_index": 0}
ENCODER = {"crf": "50", "g": "40", "preset": "6", "svtav1-params": "lp=1"}


def encode(path: Path, episodes: Iterator[Iterator[NDArray[np.uint8]]]) -> None:
    """Write frames [h, w, 3] of episodes, one after the other, each with an encoder of its own.

    LeRobot joins files of one episode, too. One AV1 encoder for several, with key frames on
    request, did not return.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    with av.open(str(path), "w") as file, TemporaryDirectory() as folder:
        whole, offset = None, 0
        for frames in episodes:
            with av.open(f"{folder}/one.mp4", "w") as one:
                stream = one.add_stream("libsvtav1", rate=FPS, options=ENCODER)
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


def write(folder: Path, demos: Sequence[Demonstration]) -> Path:
    """Write a data set into a new folder."""
    (folder / "meta").mkdir(parents=True)
    lengths = [len(demo.states) for demo in demos]
    _table(folder / DATA.format(**FILE), demos)
    episodes = (
        render([demo], [np.arange(length)], CAMERA)
        for demo, length in zip(tqdm(demos, folder.name), lengths, strict=True)
    )
    encode(folder / VIDEO.format(video_key=KEY, **FILE), episodes)
    info = json.dumps(_info(lengths), indent=2)
    (folder / "meta/info.json").write_text(info, encoding="utf-8")
    _metadata(folder, lengths)
    return folder


def _table(path: Path, demos: Sequence[Demonstration]) -> None:
    """The file of frames."""
    index, tables = 0, []
    for episode, demo in enumerate(demos):
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
    path.parent.mkdir(parents=True, exist_ok=True)
    pq.write_table(pa.concat_tables(tables), path)


def _info(lengths: Sequence[int]) -> dict[str, Any]:
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
        "features": {"observation.state": vector, "action": vector, KEY: video, **scalars},
    }


def _metadata(folder: Path, lengths: Sequence[int]) -> None:
    """Episodes and tasks."""
    rows, ends = [], np.cumsum(lengths)
    for episode, (length, end) in enumerate(zip(lengths, ends, strict=True)):
        rows.append(
            {
                "episode_index": episode,
                "tasks": [TEXT],
                "length": length,
                **{f"data/{name}": number for name, number in FILE.items()},
                "dataset_from_index": int(end - length),
                "dataset_to_index": int(end),
                **{f"meta/episodes/{name}": number for name, number in FILE.items()},
                **{f"videos/{KEY}/{name}": number for name, number in FILE.items()},
                f"videos/{KEY}/from_timestamp": float(end - length) / FPS,
                f"videos/{KEY}/to_timestamp": float(end) / FPS,
            }
        )
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
    task = stacks.TASKS["stack2"]
    model = build(task.things)
    print(write(EXAMPLE, [stacks.demonstrate(task, model, seed) for seed in range(NUMBER)]))


if __name__ == "__main__":
    main()
